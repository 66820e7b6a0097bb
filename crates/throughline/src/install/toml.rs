//! Adds the table `[mcp_servers.throughline]` to a TOML text and removes it, and keeps every other
//! byte.

use std::ops::Range;

use toml_edit::{Document, Item, Key, Table};

/// The table of MCP servers, in all agents that use TOML.
const SERVERS_TABLE: &str = "mcp_servers";

/// Why a text cannot be changed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TomlEditError {
    #[error("{0}")]
    Malformed(String),
    #[error("`{SERVERS_TABLE}`, `hooks` or `permission` is an inline table or list")]
    InlineTable,
}

/// Returns whether our server is there and starts this program.
pub(crate) fn has_server_for(text: &str, program: &str) -> Result<bool, TomlEditError> {
    let document = parse(text)?;
    let command = server(&document).and_then(|item| item.get("command"));
    Ok(command.and_then(Item::as_str) == Some(program))
}

/// Returns whether there is a server with our name.
pub(crate) fn has_server(text: &str) -> Result<bool, TomlEditError> {
    Ok(server(&parse(text)?).is_some())
}

/// Adds our server at the end.
pub(crate) fn add_server(text: &str, program: &str) -> Result<String, TomlEditError> {
    parse(text)?;
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let program = toml_edit::Value::from(program);
    let lines = [
        format!("[{SERVERS_TABLE}.throughline]"),
        format!("command ={}", program.decorated(" ", "")),
        "args = [\"mcp\"]".to_owned(),
    ];
    let mut after = text.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        after += newline;
    }
    if !text.trim().is_empty() {
        after += newline;
    }
    for line in lines {
        after += &line;
        after += newline;
    }
    // An inline table cannot be added to from outside.
    match parse(&after) {
        Ok(_) => Ok(after),
        Err(_) => Err(TomlEditError::InlineTable),
    }
}

/// Removes our server, with everything that was added to its table.
pub(crate) fn remove_server(text: &str) -> Result<String, TomlEditError> {
    let document = parse(text)?;
    let Some((key, item)) = entry(&document) else {
        return Ok(text.to_owned());
    };
    let mut blocks = Vec::new();
    collect_blocks(text, key, item, &mut blocks);
    blocks.sort_by_key(|block| block.start);
    let mut after = text.to_owned();
    for block in blocks.into_iter().rev() {
        after = remove_lines(&after, block);
    }
    match parse(&after)?
        .get(SERVERS_TABLE)
        .and_then(|it| it.get("throughline"))
    {
        None => Ok(after),
        Some(_) => Err(TomlEditError::InlineTable),
    }
}

pub(super) fn parse(text: &str) -> Result<Document<&str>, TomlEditError> {
    Document::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let line = 1 + text[..at.min(text.len())].matches('\n').count();
        TomlEditError::Malformed(format!("line {line}: {}", error.message()))
    })
}

fn server<'d>(document: &'d Document<&str>) -> Option<&'d Item> {
    document.get(SERVERS_TABLE)?.get("throughline")
}

fn entry<'d>(document: &'d Document<&str>) -> Option<(&'d Key, &'d Item)> {
    let servers = document.get(SERVERS_TABLE)?.as_table()?;
    servers.get_key_value("throughline")
}

/// Collects the lines of an entry: those of its table, of the tables below it, or of its value.
fn collect_blocks(text: &str, key: &Key, item: &Item, blocks: &mut Vec<Range<usize>>) {
    let starts = key.span().map(|span| span.start);
    match item {
        Item::Table(table) if !table.is_dotted() => {
            let own = table_lines(text, starts, table);
            blocks.extend(own);
            for (key, item) in child_items(table) {
                if item.is_table() || item.is_array_of_tables() {
                    collect_blocks(text, key, item, blocks);
                }
            }
        }
        Item::Table(table) => {
            for (key, item) in child_items(table) {
                collect_blocks(text, key, item, blocks);
            }
        }
        item => {
            let end = item.span().map(|span| span.end);
            if let (Some(start), Some(end)) = (starts, end) {
                blocks.push(whole_lines(text, start..end));
            }
        }
    }
}

fn child_items(table: &Table) -> impl Iterator<Item = (&Key, &Item)> {
    table
        .iter()
        .filter_map(|(name, _)| table.get_key_value(name))
}

/// Returns the lines from the header of a table to its last value.
fn table_lines(text: &str, header: Option<usize>, table: &Table) -> Option<Range<usize>> {
    if table.is_implicit() {
        return None;
    }
    let header = header?;
    let ends = table
        .iter()
        .filter(|(_, item)| item.is_value())
        .filter_map(|(_, item)| item.span())
        .map(|span| span.end);
    Some(whole_lines(text, header..ends.max().unwrap_or(header)))
}

/// Extends a span to whole lines.
pub(super) fn whole_lines(text: &str, span: Range<usize>) -> Range<usize> {
    let start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[span.end..]
        .find('\n')
        .map_or(text.len(), |at| span.end + at + 1);
    start..end
}

/// Removes lines, and the blank line before them if a blank line or nothing follows.
pub(super) fn remove_lines(text: &str, block: Range<usize>) -> String {
    let (before, after) = (&text[..block.start], &text[block.end..]);
    let is_separated = after.is_empty() || after.starts_with(['\n', '\r']);
    let before = ["\r\n", "\n"].into_iter().find_map(|newline| {
        let shorter = before.strip_suffix(newline)?;
        (is_separated && (shorter.ends_with('\n') || shorter.trim().is_empty())).then_some(shorter)
    });
    [before.unwrap_or(&text[..block.start]), after].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str) -> String {
        let after = add_server(before, "throughline").unwrap();
        assert!(has_server_for(&after, "throughline").unwrap());
        assert!(!has_server_for(&after, "/opt/throughline").unwrap());
        assert_eq!(remove_server(&after).unwrap(), before);
        after
    }

    #[test]
    fn the_server_is_added_and_removed() {
        let after = check("# mine\nmodel = \"m\" # why\n\n[mcp_servers.other]\ncommand = 'x'\n");
        let ours = "\n[mcp_servers.throughline]\ncommand = \"throughline\"\nargs = [\"mcp\"]\n";
        assert!(after.ends_with(ours), "{after}");
        check("");
        check("a = 1\r\n\r\n[b]\r\nc = 2\r\n");
        check("mcp_servers.other.command = \"x\"\n");
        check("a = '''\n[mcp_servers.throughline]\n'''\n\n\n");
        check("[mcp_servers]\n# none yet\n");
    }

    #[test]
    fn only_the_table_of_the_server_is_removed() {
        let after = add_server("a = 1\n", "throughline").unwrap();
        let end = "X = \"1\"\n\n[zzz]\nb = 2\n";
        let edited = format!(
            "# first\n{after}enabled = true # ours\n\n[mcp_servers.throughline.env]\n{end}"
        );
        assert_eq!(
            remove_server(&edited).unwrap(),
            "# first\na = 1\n\n[zzz]\nb = 2\n"
        );
        let dotted =
            "mcp_servers.throughline.command = \"t\"\nmcp_servers.throughline.args = [\n]\nb = 1\n";
        assert_eq!(remove_server(dotted).unwrap(), "b = 1\n");
        let inline = "[mcp_servers]\nthroughline = { command = \"t\" }\nx = { command = \"x\" }\n";
        assert_eq!(
            remove_server(inline).unwrap(),
            "[mcp_servers]\nx = { command = \"x\" }\n"
        );
    }

    #[test]
    fn an_inline_table_is_refused() {
        let refused = |text| add_server(text, "throughline").unwrap_err();
        assert_eq!(
            refused("mcp_servers = { x = { command = 'x' } }\n"),
            TomlEditError::InlineTable
        );
        let wrong = refused("a = 1\nb = = 2\n").to_string();
        assert!(wrong.starts_with("line 2: "), "{wrong}");
        assert!(has_server("mcp_servers = { throughline = {} }").unwrap());
    }
}
