//! Shows the changed lines of a file, and as little as possible of its other content.

use similar::{ChangeTag, TextDiff};

use super::document::ConfigFormat;
use super::plan::ConfigFileChange;
use crate::output::table::count;
use crate::output::text::{TextStyle, sanitize};
use crate::output::wrap::truncate;

/// Longer lines are truncated.
const LINE_CHARS_MAX: usize = 160;
/// The number of added lines shown of one file before the user is asked.
const ADDED_LINES_MAX: usize = 12;
/// The number of lines shown around a change.
const CONTEXT_LINES: usize = 1;

/// How many of the added lines are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiffLength {
    Beginning,
    Whole,
}

/// Returns the added and removed lines with their numbers. Values in the surrounding lines are
/// masked, because configuration files contain secrets.
pub(crate) fn format_diff(
    change: &ConfigFileChange,
    length: DiffLength,
    paint: TextStyle,
) -> String {
    let added_lines_max = match length {
        DiffLength::Beginning => ADDED_LINES_MAX,
        DiffLength::Whole => usize::MAX,
    };
    let before = change.before.as_deref().unwrap_or_default();
    let Some(after) = &change.after else {
        let lines = count(before.lines().count(), "line");
        return diff_line('-', &format!("the whole file, {lines}"), paint);
    };
    if ConfigFormat::of(&change.path) == ConfigFormat::WholeFile {
        let lines = count(after.lines().count(), "line");
        return diff_line('+', &format!("{lines} of Throughline"), paint);
    }
    let diff = TextDiff::from_lines(before, after.as_str());
    let mut out = String::new();
    let mut added_lines = 0;
    for group in diff.grouped_ops(CONTEXT_LINES) {
        let changes: Vec<_> = group.iter().flat_map(|op| diff.iter_changes(op)).collect();
        let first = changes.iter().find_map(similar::Change::new_index);
        out += &format!("    line {}\n", first.unwrap_or(0) + 1);
        let mut remaining = changes.as_slice();
        while let [change, rest @ ..] = remaining {
            remaining = rest;
            let line = change.value().trim_end_matches(['\r', '\n']);
            match (change.tag(), rest.first()) {
                (ChangeTag::Equal, _) => out += &diff_line(' ', &mask_values(line), paint),
                // The line is only extended: by a comma, or by our entries.
                (ChangeTag::Delete, Some(next)) if next.tag() == ChangeTag::Insert => {
                    let (lead, added) =
                        inserted_part(line, next.value().trim_end_matches(['\r', '\n']));
                    if lead && matches!(added, "" | ",") {
                        out += &diff_line(' ', &mask_values(line), paint);
                        remaining = &rest[1..];
                    } else if let Some(added) = lead.then_some(added) {
                        out += &diff_line('+', &format!("… {added} …"), paint);
                        remaining = &rest[1..];
                    } else {
                        out += &diff_line('-', &mask_values(line), paint);
                    }
                }
                (ChangeTag::Delete, _) => out += &diff_line('-', &mask_values(line), paint),
                (ChangeTag::Insert, _) => {
                    added_lines += 1;
                    if added_lines <= added_lines_max {
                        out += &diff_line('+', &truncate(line, LINE_CHARS_MAX), paint);
                    }
                }
            }
        }
    }
    if let Some(more) = added_lines
        .checked_sub(added_lines_max)
        .filter(|more| *more > 0)
    {
        let more = count(more, "more line");
        out += &diff_line('+', &format!("… {more}; --dry-run shows them"), paint);
    }
    out
}

/// Returns the text that was inserted into a line, and whether that is the only difference.
fn inserted_part<'n>(old: &str, new: &'n str) -> (bool, &'n str) {
    let head = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b);
    let head = new.floor_char_boundary(head.count());
    let tail = old[old.floor_char_boundary(head)..]
        .bytes()
        .rev()
        .zip(new[head..].bytes().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let end = new.ceil_char_boundary(new.len() - tail);
    (head + tail >= old.len(), &new[head..end])
}

/// Masks the value in a line of the user.
fn mask_values(line: &str) -> String {
    let open = |c: char| c == ':' || c == '=';
    match line.split_once(open) {
        Some((key, value)) if !matches!(value.trim(), "{" | "[") => {
            let sign = &line[key.len()..=key.len()];
            truncate(&format!("{key}{sign} …"), LINE_CHARS_MAX)
        }
        _ if line.trim().len() > 3 && !line.trim_end().ends_with(['{', '[', ']']) => {
            let indent = line.len() - line.trim_start().len();
            format!("{}…", &line[..indent])
        }
        _ => truncate(line, LINE_CHARS_MAX),
    }
}

fn diff_line(sign: char, line: &str, paint: TextStyle) -> String {
    let text = format!("{sign} {}", sanitize(line));
    let text = if sign == ' ' {
        paint.dim(&text)
    } else {
        paint.bold(&text)
    };
    format!("    {text}\n")
}

#[cfg(test)]
mod tests {
    use memory::Flavor;

    use super::*;
    use crate::install::plan::OriginalCopy;

    fn shown(before: &str, after: &str) -> String {
        let change = ConfigFileChange {
            agent: Flavor::Claude,
            path: "x".into(),
            before: Some(before.into()),
            after: Some(after.into()),
            original: OriginalCopy::Discard,
            created_members: Vec::new(),
        };
        format_diff(&change, DiffLength::Beginning, TextStyle { color: false })
    }

    #[test]
    fn a_long_addition_is_shown_whole_on_request() {
        let lines: String = (0..20).map(|line| format!("  \"k{line}\": 1,\n")).collect();
        let change = ConfigFileChange {
            agent: Flavor::Claude,
            path: "x".into(),
            before: None,
            after: Some(format!("{{\n{lines}}}\n")),
            original: OriginalCopy::Discard,
            created_members: Vec::new(),
        };
        let plain = TextStyle { color: false };
        let short = format_diff(&change, DiffLength::Beginning, plain);
        assert!(
            short.ends_with("… 10 more lines; --dry-run shows them\n"),
            "{short}"
        );
        let whole = format_diff(&change, DiffLength::Whole, plain);
        assert!(whole.contains("\"k19\": 1"), "{whole}");
    }

    #[test]
    fn additions_are_shown_and_secrets_beside_them_are_masked() {
        insta::assert_snapshot!(shown(
            "{\n  \"token\": \"sk-secret\",\n  \"key\": \"sk-secret\"\n}\n",
            concat!(
                "{\n  \"token\": \"sk-secret\",\n  \"key\": \"sk-secret\",\n",
                "  \"k\": {\n    \"a\": 1\n  }\n}\n"
            ),
        ), @r#"
            line 2
                "token": …
                "key": …
            +   "k": {
            +     "a": 1
            +   }
              }
        "#);
        let one_line = shown("{\"t\":\"sk-secret\"}", "{\"t\":\"sk-secret\", \"k\": 1}");
        insta::assert_snapshot!(one_line, @r#"
            line 1
            + … , "k": 1 …
        "#);
    }
}
