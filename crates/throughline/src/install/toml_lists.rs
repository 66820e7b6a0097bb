//! Adds our entries to the arrays of tables of a TOML text and removes them, and keeps every other
//! byte.

use std::ops::Range;

use toml_edit::{ArrayOfTables, Document, Item};

use super::our_entries::{is_our_tool, runs_our_hook};
use super::toml::{TomlEditError, parse, remove_lines, whole_lines};

/// The lists that contain Throughline's entries: hooks, and permissions to use a tool.
const LISTS: &[&[&str]] = &[&["hooks"], &["permission", "rules"]];

/// One table of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TomlListEntry {
    /// The dotted name of the list.
    pub(crate) list: &'static str,
    /// The lines below the header.
    pub(crate) lines: String,
}

/// Returns whether the lists contain exactly these of Throughline's entries.
pub(crate) fn has_entries_for(
    text: &str,
    entries: &[TomlListEntry],
) -> Result<bool, TomlEditError> {
    let expected = our_values(&add_list_entries("", entries)?)?;
    let found = our_values(text)?;
    Ok(found.len() == expected.len() && expected.iter().all(|entry| found.contains(entry)))
}

/// Returns whether the lists contain an entry of Throughline.
pub(crate) fn has_list_entries(text: &str) -> Result<bool, TomlEditError> {
    Ok(!our_values(text)?.is_empty())
}

/// Adds entries at the end.
pub(crate) fn add_list_entries(
    text: &str,
    entries: &[TomlListEntry],
) -> Result<String, TomlEditError> {
    parse(text)?;
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut after = text.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        after += newline;
    }
    for TomlListEntry { list, lines } in entries {
        if !after.trim().is_empty() {
            after += newline;
        }
        after += &format!("[[{list}]]{newline}");
        for line in lines.lines() {
            after += &format!("{line}{newline}");
        }
    }
    // An inline list cannot be added to from outside.
    match parse(&after) {
        Ok(_) => Ok(after),
        Err(_) => Err(TomlEditError::InlineTable),
    }
}

/// Removes our entries.
pub(crate) fn remove_list_entries(text: &str) -> Result<String, TomlEditError> {
    let document = parse(text)?;
    let mut blocks: Vec<Range<usize>> = LISTS
        .iter()
        .filter_map(|path| find_list(&document, path))
        .flat_map(ArrayOfTables::iter)
        .filter(|table| is_our_entry(|key| table.get(key).and_then(Item::as_str)))
        .filter_map(|table| {
            let values = table.iter().filter_map(|(_, item)| item.span());
            let end = values.map(|span| span.end).max();
            let start = table.span()?.start;
            Some(whole_lines(text, start..end.unwrap_or(start)))
        })
        .collect();
    blocks.sort_by_key(|block| block.start);
    let mut after = text.to_owned();
    for block in blocks.into_iter().rev() {
        after = remove_lines(&after, block);
    }
    if has_list_entries(&after)? {
        return Err(TomlEditError::InlineTable);
    }
    Ok(after)
}

fn find_list<'d>(document: &'d Document<&str>, path: &[&str]) -> Option<&'d ArrayOfTables> {
    let mut item = document.as_item();
    for key in path {
        item = item.get(key)?;
    }
    item.as_array_of_tables()
}

/// Returns our entries in the lists, however the lists are written.
fn our_values(text: &str) -> Result<Vec<toml::Value>, TomlEditError> {
    parse(text)?;
    let root: toml::Table = text.parse().unwrap_or_default();
    let root = toml::Value::Table(root);
    let lists = LISTS.iter().filter_map(|path| {
        let start = Some(&root);
        path.iter().fold(start, |at, key| at?.get(key))?.as_array()
    });
    let is_ours = |entry: &&toml::Value| is_our_entry(|key| entry.get(key)?.as_str());
    Ok(lists.flatten().filter(is_ours).cloned().collect())
}

/// Returns whether an entry runs our hook or allows one of our tools.
fn is_our_entry<'t>(member: impl Fn(&str) -> Option<&'t str>) -> bool {
    member("command").is_some_and(runs_our_hook) || member("pattern").is_some_and(is_our_tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<TomlListEntry> {
        vec![
            TomlListEntry {
                list: "hooks",
                lines: "event = \"Stop\"\ncommand = \"throughline hook --agent kimi\"".to_owned(),
            },
            TomlListEntry {
                list: "permission.rules",
                lines: "decision = \"allow\"\npattern = \"mcp__throughline__memory_get\""
                    .to_owned(),
            },
        ]
    }

    #[test]
    fn entries_are_added_beside_those_of_the_user_and_removed() {
        for before in [
            "",
            "a = 1\n",
            "a = 1",
            "# mine\r\n[[hooks]]\r\nevent = \"Stop\"\r\ncommand = \"lint\"\r\n\r\n[b]\r\nc = 2\r\n",
            "[[permission.rules]]\ndecision = \"deny\"\npattern = \"Bash\"\n",
        ] {
            let after = add_list_entries(before, &entries()).unwrap();
            assert!(has_entries_for(&after, &entries()).unwrap(), "{after}");
            assert!(!has_entries_for(&after, &entries()[..1]).unwrap());
            let removed = remove_list_entries(&after).unwrap();
            assert_eq!(removed.trim_end(), before.trim_end(), "{after}");
            assert!(!has_list_entries(before).unwrap());
        }
    }

    #[test]
    fn an_inline_list_is_refused() {
        let inline = "hooks = [{ event = \"Stop\", command = \"throughline hook\" }]\n";
        assert!(has_list_entries(inline).unwrap());
        assert_eq!(remove_list_entries(inline), Err(TomlEditError::InlineTable));
        let refused = add_list_entries("hooks = []\n", &entries());
        assert_eq!(refused, Err(TomlEditError::InlineTable));
    }
}
