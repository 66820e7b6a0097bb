//! Splits a physical line into the JSON objects on it: normally one, sometimes damaged.
//!
//! An intact line costs one parse. Only if that fails are other causes tried: padding, a byte-order
//! mark, two objects on one line, a torn object before a whole one, half of a surrogate pair, a
//! duplicate key.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::{InputLine, ParseOutput, SkipReason};

/// How many positions of a damaged line are tried as the start of an object.
const STARTS_TRIED_MAX: usize = 64;

/// Calls `read` with each JSON object of a line, and records in `out` what could not be read.
/// `read` must fail only on JSON it cannot parse.
pub fn for_each_object(
    line: InputLine<'_>,
    out: &mut ParseOutput,
    mut read: impl FnMut(&str, &mut ParseOutput) -> serde_json::Result<()>,
) {
    let text = trim(line.text);
    if text.is_empty() {
        return;
    }
    if text.starts_with('{') && read(text, out).is_ok() {
        return;
    }
    let text = replace_lone_surrogates(text);
    let mut whole = true;
    let mut any = false;
    let mut rest: &str = &text;
    while let Some(start) = next_object(rest) {
        whole &= rest[..start].trim().is_empty();
        let mut pieces =
            serde_json::Deserializer::from_str(&rest[start..]).into_iter::<&RawValue>();
        let Some(Ok(piece)) = pieces.next() else {
            break;
        };
        let end = start + pieces.byte_offset();
        let understood =
            read(piece.get(), out).is_ok() || read_with_last_key(piece.get(), out, &mut read);
        any |= understood;
        whole &= understood;
        rest = trim(&rest[end..]);
    }
    whole &= rest.is_empty();
    match (any, whole) {
        (true, true) => {}
        (true, false) => out.skip_line(line, SkipReason::Torn),
        (false, _) => out.skip_line(line, unreadable_reason(&text)),
    }
}

/// Returns `text` without white space, padding and byte-order mark at its ends.
fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == '\0' || c == '\u{feff}')
}

/// Returns the position of the next complete object.
fn next_object(text: &str) -> Option<usize> {
    text.match_indices('{')
        .map(|(start, _)| start)
        .take(STARTS_TRIED_MAX)
        .find(|&start| {
            let mut pieces =
                serde_json::Deserializer::from_str(&text[start..]).into_iter::<&RawValue>();
            // An object nested in a torn one is not an entry; entries have a type or an id.
            matches!(pieces.next(), Some(Ok(piece)) if start == 0 || looks_like_entry(piece.get()))
        })
}

fn looks_like_entry(object: &str) -> bool {
    ["\"type\"", "\"uuid\"", "\"timestamp\"", "\"sessionId\""]
        .iter()
        .filter(|key| object.contains(*key))
        .count()
        >= 2
}

/// Reads an object with duplicate keys, of which the last counts, as in most parsers.
fn read_with_last_key(
    object: &str,
    out: &mut ParseOutput,
    read: &mut impl FnMut(&str, &mut ParseOutput) -> serde_json::Result<()>,
) -> bool {
    serde_json::from_str::<serde_json::Value>(object)
        .is_ok_and(|value| value.is_object() && read(&value.to_string(), out).is_ok())
}

/// Replaces the escapes of unpaired surrogates, which JSON allows but Unicode does not.
fn replace_lone_surrogates(text: &str) -> Cow<'_, str> {
    if !text.contains("\\ud") && !text.contains("\\uD") {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut mended = String::with_capacity(text.len());
    let mut kept = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &bytes[at..]) {
        let start = at + found;
        match (escape_at(bytes, start), escape_at(bytes, start + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at = start + 12,
            (Some(0xd800..=0xdfff), _) => {
                mended.push_str(&text[kept..start]);
                mended.push_str("\\ufffd");
                kept = start + 6;
                at = kept;
            }
            // Skips the escaped character after a backslash.
            _ => at = (start + 2).min(bytes.len()),
        }
    }
    mended.push_str(&text[kept..]);
    Cow::Owned(mended)
}

/// Returns the code of a `\uXXXX` escape at `start`.
fn escape_at(bytes: &[u8], start: usize) -> Option<u16> {
    let escape = bytes.get(start..start + 6)?;
    let digits = std::str::from_utf8(escape.strip_prefix(b"\\u")?).ok()?;
    u16::from_str_radix(digits, 16).ok()
}

fn unreadable_reason(text: &str) -> SkipReason {
    match serde_json::from_str::<serde_json::Value>(text) {
        Err(error) if error.to_string().contains("recursion limit") => SkipReason::TooDeep,
        _ => SkipReason::Malformed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Entry {
        #[serde(rename = "type")]
        kind: String,
        uuid: String,
    }

    #[track_caller]
    fn check(text: &str, expected: &str, why: Option<SkipReason>) {
        let mut out = ParseOutput::default();
        let mut read = Vec::new();
        for_each_object(
            InputLine {
                text,
                number: 1,
                offset: 0,
            },
            &mut out,
            |object, _| {
                let entry: Entry = serde_json::from_str(object)?;
                read.push(format!("{}/{}", entry.kind, entry.uuid));
                Ok(())
            },
        );
        assert_eq!(read.join(" "), expected);
        assert_eq!(out.skipped.first().map(|skipped| skipped.reason), why);
    }

    #[test]
    fn healthy_and_padded() {
        check(r#"{"type":"a","uuid":"1"}"#, "a/1", None);
        check(
            "\u{feff}{\"type\":\"a\",\"uuid\":\"1\"}\0\0\0\r",
            "a/1",
            None,
        );
        check("   \t", "", None);
    }

    #[test]
    fn glued_objects_are_two() {
        check(
            r#"{"type":"a","uuid":"1"}{"type":"b","uuid":"2"}"#,
            "a/1 b/2",
            None,
        );
    }

    #[test]
    fn the_object_behind_a_torn_stub_is_kept() {
        check(
            r#"{"type":"x","uu{"type":"b","uuid":"2"}"#,
            "b/2",
            Some(SkipReason::Torn),
        );
        check(
            r#"{"type":"a","uuid":"1"}{"type":"b","uu"#,
            "a/1",
            Some(SkipReason::Torn),
        );
    }

    #[test]
    fn half_a_surrogate_pair_is_replaced() {
        check(
            r#"{"type":"\ud83d x \ud83d\ude00","uuid":"\\ud83d"}"#,
            "\u{fffd} x 😀/\\ud83d",
            None,
        );
    }

    #[test]
    fn the_last_of_two_equal_keys_counts() {
        check(r#"{"type":"a","type":"b","uuid":"1"}"#, "b/1", None);
    }

    #[test]
    fn numbers_beyond_all_measure_are_passed_over() {
        check(r#"{"type":"a","uuid":"1","n":1e400}"#, "a/1", None);
    }

    #[test]
    fn what_is_no_entry_is_named() {
        check("42", "", Some(SkipReason::Malformed));
        check("[1,2]", "", Some(SkipReason::Malformed));
        check(r#"{"type":"#, "", Some(SkipReason::Malformed));
        let deep = format!(r#"{{"type":{}{}}}"#, "[".repeat(5000), "]".repeat(5000));
        check(&deep, "", Some(SkipReason::TooDeep));
    }
}
