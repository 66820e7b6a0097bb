//! Edits of a JSON text that keep every other byte, comments and blank lines included.
//!
//! The crate `jsonc-parser` also edits JSON with comments, but it breaks one-line objects into
//! several lines, deletes blank lines, and deletes comments beside a removed element.

use std::ops::Range;

use super::scan::{ConfigNode, ConfigNodeKind, JsonSlot, JsonSyntaxError, scan};

/// A step of the path to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JsonPathStep {
    Key(String),
    Index(usize),
}

/// Why a text cannot be changed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum JsonEditError {
    #[error(transparent)]
    Malformed(#[from] JsonSyntaxError),
    #[error("{path} is not {wanted}")]
    WrongType { path: String, wanted: &'static str },
}

/// Appends a value, given as JSON, to the list at `path`. Missing members of the path are created.
pub(crate) fn append(text: &str, path: &[&str], value: &str) -> Result<String, JsonEditError> {
    let root = scan(text)?;
    let (node, rest) = walk(&root, path)?;
    match rest {
        [] => match &node.kind {
            ConfigNodeKind::Array(_) => Ok(insert(text, node, None, value, 0)),
            _ => Err(wrong_type(path, "a list")),
        },
        [key, below @ ..] => {
            let value = nest(below, &format!("[{value}]"));
            Ok(insert(text, node, Some(key), &value, 1 + below.len()))
        }
    }
}

/// Sets the member at `path` to a value, given as JSON, unless the member exists.
pub(crate) fn set(text: &str, path: &[&str], value: &str) -> Result<String, JsonEditError> {
    let root = scan(text)?;
    let (node, rest) = walk(&root, path)?;
    match rest {
        [] => Ok(text.to_owned()),
        [key, below @ ..] => {
            let value = nest(below, value);
            Ok(insert(text, node, Some(key), &value, below.len()))
        }
    }
}

/// Removes the value at `path`, if it exists.
pub(crate) fn remove(text: &str, path: &[JsonPathStep]) -> Result<String, JsonEditError> {
    let root = scan(text)?;
    let Some((last, parents)) = path.split_last() else {
        return Ok(text.to_owned());
    };
    let mut node = &root;
    for step in parents {
        match find(node, step) {
            Some(at) => node = &node.slots()[at].value,
            None => return Ok(text.to_owned()),
        }
    }
    Ok(match find(node, last) {
        Some(at) => remove_spans(text, removal_spans(text, node, at)),
        None => text.to_owned(),
    })
}

fn find(node: &ConfigNode, step: &JsonPathStep) -> Option<usize> {
    let slots = node.slots();
    match (step, &node.kind) {
        (JsonPathStep::Index(at), ConfigNodeKind::Array(_)) => (*at < slots.len()).then_some(*at),
        (JsonPathStep::Key(key), ConfigNodeKind::Object(_)) => slots
            .iter()
            .rposition(|slot| slot.key.as_deref() == Some(key)),
        _ => None,
    }
}

/// Follows a path as far as it exists, and returns the last node and the rest of the path.
fn walk<'n, 'p>(
    root: &'n ConfigNode,
    path: &'p [&'p str],
) -> Result<(&'n ConfigNode, &'p [&'p str]), JsonEditError> {
    let mut node = root;
    for (depth, key) in path.iter().enumerate() {
        if !matches!(node.kind, ConfigNodeKind::Object(_)) {
            return Err(wrong_type(&path[..depth], "an object"));
        }
        match node.member(key) {
            Some(slot) => node = &slot.value,
            None => return Ok((node, &path[depth..])),
        }
    }
    Ok((node, &[]))
}

fn wrong_type(path: &[&str], wanted: &'static str) -> JsonEditError {
    JsonEditError::WrongType {
        path: if path.is_empty() {
            "the file".to_owned()
        } else {
            path.join(".")
        },
        wanted,
    }
}

fn nest(keys: &[&str], value: &str) -> String {
    let wrap = |inner: String, key: &&str| format!("{{{}:{inner}}}", quoted(key));
    keys.iter().rev().fold(value.to_owned(), wrap)
}

fn quoted(key: &str) -> String {
    serde_json::Value::from(key).to_string()
}

/// Inserts a member or an element after the last one. The outer `levels` of the value are written
/// on several lines, so that others can add to them; inner values are on one line if they fit.
fn insert(text: &str, node: &ConfigNode, key: Option<&str>, value: &str, levels: usize) -> String {
    let style = InsertStyle::of(text, node);
    let mut added = String::new();
    if let Some(key) = key {
        added = format!("{}: ", quoted(key));
    }
    added += &style.lay_out(value, levels);
    let Some(last) = node.slots().last() else {
        return insert_first(text, node, &style, &added);
    };
    let lead = match &style.indent {
        Some(indent) => format!("{}{indent}", style.newline),
        None => " ".to_owned(),
    };
    let end = last.value.span.end;
    let (comma, behind) = match last.comma {
        Some(comma) => ("", comma + 1),
        None => (",", end),
    };
    // A comment after the last element stays with that element.
    let at = behind + trailing_comment_end(&text[behind..node.span.end]);
    let trailing = if last.comma.is_some() { "," } else { "" };
    [
        &text[..end],
        comma,
        &text[end..at],
        &lead,
        &added,
        trailing,
        &text[at..],
    ]
    .concat()
}

/// Inserts into an object or list that contains only whitespace and comments.
fn insert_first(text: &str, node: &ConfigNode, style: &InsertStyle, added: &str) -> String {
    let inner = &text[node.span.start + 1..node.span.end - 1];
    let at = node.span.start + 1 + inner.trim_end().len();
    let Some(indent) = &style.indent else {
        return [&text[..at], added, &text[at..]].concat();
    };
    let closing = if text[at..node.span.end].contains('\n') {
        String::new()
    } else {
        format!("{}{}", style.newline, style.base)
    };
    let lead = format!("{}{indent}", style.newline);
    [&text[..at], &lead, added, &closing, &text[at..]].concat()
}

/// Returns the length of the comments on the same line.
fn trailing_comment_end(text: &str) -> usize {
    let mut end = 0;
    loop {
        let rest = &text[end..];
        let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let rest = &rest[blank..];
        if rest.starts_with("//") {
            return end + blank + rest.find(['\r', '\n']).unwrap_or(rest.len());
        }
        let Some(close) = rest.strip_prefix("/*").and_then(|rest| rest.find("*/")) else {
            return end;
        };
        if rest[..close + 2].contains('\n') {
            return end;
        }
        end += blank + close + 4;
    }
}

/// The parts of a text that are removed with a slot.
struct RemovalSpans {
    slot: Range<usize>,
    /// Its comma or the comma before it, unless that is inside of the first part.
    comma: Option<Range<usize>>,
}

fn removal_spans(text: &str, node: &ConfigNode, at: usize) -> RemovalSpans {
    let slots = node.slots();
    let slot = &slots[at];
    let end = slot.value.span.end;
    let comma = slot.comma.map(|comma| comma..comma + 1);
    if slots.len() == 1 {
        return spans_of_only_slot(text, node, slot);
    }
    if let (0, Some(comma)) = (at, comma.clone()) {
        let behind = &text[comma.end..];
        let blank = behind.len() - behind.trim_start().len();
        return RemovalSpans {
            slot: slot.start..end,
            comma: Some(comma.start..comma.end + blank),
        };
    }
    let behind = comma.as_ref().map_or(end, |comma| comma.end);
    let before = blanks_before(text, slot.start, behind);
    let comma = comma.or_else(|| {
        let previous = slots.get(at.checked_sub(1)?)?;
        previous.comma.map(|comma| comma..comma + 1)
    });
    match comma {
        // The comma may be right before the whitespace that is removed.
        Some(comma) if comma.end == before => RemovalSpans {
            slot: comma.start..end,
            comma: None,
        },
        comma => RemovalSpans {
            slot: before..end,
            comma,
        },
    }
}

/// Returns the spans of the only slot: everything between the brackets, if only whitespace is left.
fn spans_of_only_slot(text: &str, node: &ConfigNode, slot: &JsonSlot) -> RemovalSpans {
    let (open, close) = (node.span.start + 1, node.span.end - 1);
    let end = slot.value.span.end;
    let comma = slot.comma.map(|comma| comma..comma + 1);
    let is_bare = text[open..slot.start].trim().is_empty()
        && text[end..close].trim().trim_start_matches(',').is_empty();
    if is_bare {
        return RemovalSpans {
            slot: open..close,
            comma: None,
        };
    }
    let behind = comma.as_ref().map_or(end, |comma| comma.end);
    let before = blanks_before(text, slot.start, behind).max(open);
    RemovalSpans {
        slot: before..end,
        comma,
    }
}

/// Returns the start of the whitespace before `start` that is removed with the text up to `end`. It
/// is kept if the rest of the line would otherwise become part of a line comment.
fn blanks_before(text: &str, start: usize, end: usize) -> usize {
    let rest = text[end..].trim_start_matches([' ', '\t', '\r']);
    if rest.starts_with('\n') || rest.starts_with("//") || !text[..start].contains("//") {
        text[..start].trim_end().len()
    } else {
        start
    }
}

fn remove_spans(text: &str, cuts: RemovalSpans) -> String {
    let mut parts: Vec<_> = cuts.comma.into_iter().chain([cuts.slot]).collect();
    parts.sort_by_key(|part| part.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for part in parts {
        out.push_str(&text[at..part.start]);
        at = part.end;
    }
    out.push_str(&text[at..]);
    out
}

/// The layout of the text around an insertion.
struct InsertStyle {
    newline: &'static str,
    /// One level of indentation.
    unit: String,
    /// The indentation of the line with the closing bracket.
    base: String,
    /// The indentation of the inserted text; `None` to insert it on the same line.
    indent: Option<String>,
}

impl InsertStyle {
    fn of(text: &str, node: &ConfigNode) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let unit = unit(text);
        let span = &text[node.span.clone()];
        let is_one_line = match node.slots() {
            [] => !text.trim().contains('\n') && text.trim().len() > 2,
            _ => !span.contains('\n'),
        };
        let closing = if span.contains('\n') {
            indentation(text, node.span.end - 1)
        } else {
            None
        };
        let base = closing.unwrap_or_else(|| line_indentation(text, node.span.start));
        let of_slot = |slot: &JsonSlot| indentation(text, slot.start);
        let beside = node.slots().iter().rev().find_map(of_slot);
        let indent = beside.unwrap_or_else(|| format!("{base}{unit}"));
        Self {
            newline,
            unit,
            base,
            indent: (!is_one_line).then_some(indent),
        }
    }

    /// Formats a JSON value in this layout.
    fn lay_out(&self, value: &str, levels: usize) -> String {
        let Ok(node) = scan(value) else {
            return value.to_owned();
        };
        let Some(indent) = &self.indent else {
            return on_one_line(value, &node);
        };
        let mut out = String::new();
        self.write(value, &node, indent, levels, &mut out);
        out
    }

    fn write(&self, value: &str, node: &ConfigNode, indent: &str, levels: usize, out: &mut String) {
        let line = on_one_line(value, node);
        if node.slots().is_empty() || (levels == 0 && line.len() <= LINE_BYTES_MAX) {
            out.push_str(&line);
            return;
        }
        let (open, close) = brackets(node);
        out.push_str(open);
        let deeper = format!("{indent}{}", self.unit);
        for (at, slot) in node.slots().iter().enumerate() {
            out.push_str(if at == 0 { "" } else { "," });
            out.push_str(self.newline);
            out.push_str(&deeper);
            out.push_str(&label(slot));
            self.write(value, &slot.value, &deeper, levels.saturating_sub(1), out);
        }
        *out += &format!("{}{indent}{close}", self.newline);
    }
}

/// Longer values are written on several lines.
const LINE_BYTES_MAX: usize = 120;

fn on_one_line(value: &str, node: &ConfigNode) -> String {
    if node.slots().is_empty() {
        return value[node.span.clone()].to_owned();
    }
    let part = |slot: &JsonSlot| label(slot) + &on_one_line(value, &slot.value);
    let parts: Vec<_> = node.slots().iter().map(part).collect();
    let (open, close) = brackets(node);
    let gap = if open == "{" { " " } else { "" };
    format!("{open}{gap}{}{gap}{close}", parts.join(", "))
}

fn brackets(node: &ConfigNode) -> (&'static str, &'static str) {
    match node.kind {
        ConfigNodeKind::Array(_) => ("[", "]"),
        _ => ("{", "}"),
    }
}

fn label(slot: &JsonSlot) -> String {
    let key = slot.key.as_ref();
    key.map_or_else(String::new, |key| format!("{}: ", quoted(key)))
}

/// Returns the blanks before `at` when nothing else stands before it on its line.
fn indentation(text: &str, at: usize) -> Option<String> {
    let start = text[..at].rfind('\n')? + 1;
    let lead = &text[start..at];
    lead.trim().is_empty().then(|| lead.to_owned())
}

/// Returns the indentation of the line of `at`.
fn line_indentation(text: &str, at: usize) -> String {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = &text[start..at];
    let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
    line[..blank].to_owned()
}

/// Returns the first indentation in the text, as its unit.
fn unit(text: &str) -> String {
    let lead = |line: &str| {
        let blank = line.len() - line.trim_start_matches([' ', '\t']).len();
        let lead = &line[..blank];
        (blank > 0 && line.len() > blank).then(|| lead.to_owned())
    };
    let first = text.lines().find_map(lead);
    match first {
        Some(lead) if lead.starts_with('\t') => "\t".to_owned(),
        Some(lead) if lead.len() <= 8 => lead,
        _ => "  ".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(key: &str) -> JsonPathStep {
        JsonPathStep::Key(key.to_owned())
    }

    /// Sets `k`, compares the text, and removes it again.
    #[track_caller]
    fn check(before: &str, after: &str) {
        let added = set(before, &["k"], "{\"a\":1}").unwrap();
        assert_eq!(added, after);
        assert_eq!(remove(&added, &[key("k")]).unwrap(), before);
    }

    #[test]
    fn a_member_is_inserted_in_the_style_of_the_file() {
        check("{}", "{\n  \"k\": { \"a\": 1 }\n}");
        check("{\"x\":1}", "{\"x\":1, \"k\": { \"a\": 1 }}");
        check("{ \"x\": 1 }\n", "{ \"x\": 1, \"k\": { \"a\": 1 } }\n");
        check(
            "{\n\t\"x\": 1\n}",
            "{\n\t\"x\": 1,\n\t\"k\": { \"a\": 1 }\n}",
        );
        check(
            "{\r\n    \"x\": 1,\r\n}\r\n",
            "{\r\n    \"x\": 1,\r\n    \"k\": { \"a\": 1 },\r\n}\r\n",
        );
        check(
            "{\n  \"x\": 1 // one\n  // end\n}",
            "{\n  \"x\": 1, // one\n  \"k\": { \"a\": 1 }\n  // end\n}",
        );
        check(
            "{ \"x\": 1 /* one */ }",
            "{ \"x\": 1, /* one */ \"k\": { \"a\": 1 } }",
        );
        check("{ // nothing\n}", "{ // nothing\n  \"k\": { \"a\": 1 }\n}");
    }

    #[test]
    fn missing_members_of_the_path_are_created() {
        let made = append("{\n  \"x\": 1\n}\n", &["h", "e"], "{\"c\":\"t\"}").unwrap();
        let expected =
            "{\n  \"x\": 1,\n  \"h\": {\n    \"e\": [\n      { \"c\": \"t\" }\n    ]\n  }\n}\n";
        assert_eq!(made, expected);
        let again = append(&made, &["h", "e"], "2").unwrap();
        let first = [key("h"), key("e"), JsonPathStep::Index(0)];
        assert!(again.contains(" },\n      2\n    ]"), "{again}");
        let less = remove(&again, &first).unwrap();
        assert!(less.contains("\"e\": [\n      2\n    ]"), "{less}");
    }

    #[test]
    fn long_values_are_written_on_several_lines() {
        let long = format!("{{\"a\":\"{}\",\"b\":[1,2]}}", "x".repeat(130));
        let added = set("{\n \"x\": 1\n}", &["k"], &long).unwrap();
        assert!(added.ends_with("\",\n  \"b\": [1, 2]\n }\n}"), "{added}");
    }

    #[test]
    fn a_value_of_another_type_is_refused() {
        let refused = |text, path: &[&str]| append(text, path, "1").unwrap_err().to_string();
        assert_eq!(refused("[]", &["h"]), "the file is not an object");
        assert_eq!(refused("{\"h\": 1}", &["h"]), "h is not a list");
        assert_eq!(refused("{\"h\": []}", &["h", "e"]), "h is not an object");
    }

    #[test]
    fn any_element_can_be_removed() {
        let text = "[\n  1, // a\n  2, // b\n  3 // c\n]";
        let left = |at| remove(text, &[JsonPathStep::Index(at)]).unwrap();
        assert_eq!(left(0), "[\n  // a\n  2, // b\n  3 // c\n]");
        assert_eq!(left(1), "[\n  1, // a // b\n  3 // c\n]");
        assert_eq!(left(2), "[\n  1, // a\n  2 // b // c\n]");
    }

    #[test]
    fn nothing_becomes_part_of_a_comment() {
        let text = "[1, // a\n 2, 3]";
        let left = remove(text, &[JsonPathStep::Index(1)]).unwrap();
        assert_eq!(scan(&left).unwrap().to_value(), serde_json::json!([1, 3]));
        let left = remove("{ // a\n \"k\": 1 }", &[key("k")]).unwrap();
        assert_eq!(scan(&left).unwrap().to_value(), serde_json::json!({}));
    }
}
