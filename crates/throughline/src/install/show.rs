//! Shows exactly what changes in a file, and as little as possible of what else is in it.

use similar::{ChangeTag, TextDiff};

use super::document::ConfigFormat;
use super::plan::ConfigFileChange;
use crate::output::table::{count, truncate};
use crate::output::text::{TextStyle, sanitize};

/// A line is shown so far.
const LINE_CHARS_MAX: usize = 160;
/// Of a file that is wholly ours so much is shown.
const HEAD_LINES: usize = 2;
/// Changes further apart than this are shown on their own.
const CONTEXT_LINES: usize = 1;

/// Returns the lines that come and go, each with its number; those around them only as far as they
/// say where that is, since configurations hold secrets.
pub(crate) fn diff(change: &ConfigFileChange, paint: TextStyle) -> String {
    let before = change.before.as_deref().unwrap_or_default();
    let Some(after) = &change.after else {
        let lines = count(before.lines().count(), "line");
        return diff_line('-', &format!("the whole file, {lines}"), paint);
    };
    if ConfigFormat::of(&change.path) == ConfigFormat::WholeFile {
        let head = after.lines().take(HEAD_LINES);
        let mut out: String = head.map(|line| diff_line('+', line, paint)).collect();
        out += &diff_line(
            '+',
            &format!("… {} in all", count(after.lines().count(), "line")),
            paint,
        );
        return out;
    }
    let diff = TextDiff::from_lines(before, after.as_str());
    let mut out = String::new();
    for group in diff.grouped_ops(CONTEXT_LINES) {
        let changes: Vec<_> = group.iter().flat_map(|op| diff.iter_changes(op)).collect();
        let first = changes.iter().find_map(similar::Change::new_index);
        out += &format!("    line {}\n", first.unwrap_or(0) + 1);
        let mut left = changes.as_slice();
        while let [change, rest @ ..] = left {
            left = rest;
            let line = change.value().trim_end_matches(['\r', '\n']);
            match (change.tag(), rest.first()) {
                (ChangeTag::Equal, _) => out += &diff_line(' ', &mask_values(line), paint),
                // The line only gets more behind it: a comma, or all there is.
                (ChangeTag::Delete, Some(next)) if next.tag() == ChangeTag::Insert => {
                    let (lead, added) =
                        inserted_part(line, next.value().trim_end_matches(['\r', '\n']));
                    if matches!(added, "" | ",") {
                        out += &diff_line(' ', &mask_values(line), paint);
                        left = &rest[1..];
                    } else if let Some(added) = lead.then_some(added) {
                        out += &diff_line('+', &format!("… {added} …"), paint);
                        left = &rest[1..];
                    } else {
                        out += &diff_line('-', &mask_values(line), paint);
                    }
                }
                (ChangeTag::Delete, _) => out += &diff_line('-', &mask_values(line), paint),
                (ChangeTag::Insert, _) => {
                    out += &diff_line('+', &truncate(line, LINE_CHARS_MAX), paint)
                }
            }
        }
    }
    out
}

/// Returns what stands in the new line beyond the old one, and whether that is all that differs.
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

/// Returns as much of somebody else's line as says where we are: no value.
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
        diff(&change, TextStyle { color: false })
    }

    #[test]
    fn what_is_added_is_shown_and_secrets_beside_it_are_not() {
        insta::assert_snapshot!(shown(
            "{\n  \"token\": \"sk-secret\",\n  \"key\": \"sk-secret\"\n}\n",
            "{\n  \"token\": \"sk-secret\",\n  \"key\": \"sk-secret\",\n  \"k\": {\n    \"a\": 1\n  }\n}\n",
        ), @r#"
            line 2
                "token": …
                "key": …
            +   "k": {
            +     "a": 1
            +   }
              }
        "#);
        insta::assert_snapshot!(shown("{\"t\":\"sk-secret\"}", "{\"t\":\"sk-secret\", \"k\": 1}"), @r#"
            line 1
            + … , "k": 1 …
        "#);
    }
}
