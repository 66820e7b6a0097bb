//! Where a value ends: at its quote, at whitespace, or where the next field begins.

use super::VALUE_BYTES_MAX;
use crate::format::seams;
use crate::scan::progress::ScanProgress;

/// Returns the bytes of the value that starts at `at`, without its quotes, and whether it had
/// quotes.
pub(crate) fn value_extent(
    text: &str,
    at: usize,
    progress: &mut ScanProgress,
) -> Option<(usize, usize, bool)> {
    let bytes = text.as_bytes();
    let at = at + string_prefix_len(&bytes[at.min(bytes.len())..]);
    let quote = *bytes.get(at)?;
    if b"\"'`".contains(&quote) {
        let open = at + opening_quotes(&bytes[at..], quote);
        let len = bytes[open..]
            .iter()
            .take(VALUE_BYTES_MAX)
            .position(|&b| b == quote || b == b'\n');
        progress.count_work(len.unwrap_or(0));
        let len = match len {
            Some(len) => len,
            // A log cuts lines; what is left of the value is still the value.
            None if bytes.len() - open <= VALUE_BYTES_MAX => bytes.len() - open,
            None => return None,
        };
        let end = seams::concatenation_end(text, open + len, quote);
        return Some((open, end, true));
    }
    let end = progress.field_end(bytes, at).max(at);
    let end = text.floor_char_boundary(end.min(at + VALUE_BYTES_MAX));
    let mut end = at + next_field_offset(&text[at..end]);
    progress.count_work(end - at);
    while end > at && b",;.)]}|".contains(&bytes[end - 1]) {
        end -= 1;
    }
    Some((at, end, false))
}

/// How many quotes open a string: three in Python, two around a quoted string inside a string
/// (`"\"value\""`, whose backslashes the decoder has removed), else one.
fn opening_quotes(bytes: &[u8], quote: u8) -> usize {
    if bytes.starts_with(&[quote; 3]) {
        3
    } else if bytes.starts_with(&[quote; 2]) && bytes.get(2).is_some_and(u8::is_ascii_alphanumeric)
    {
        2
    } else {
        1
    }
}

/// Length of the text before a string's quote: `b"…"`, `f'…'`, `String::from("…")`,
/// `new SecureString("…")`.
fn string_prefix_len(rest: &[u8]) -> usize {
    let name = rest
        .iter()
        .take(32)
        .take_while(|b| b.is_ascii_alphanumeric() || b"_.: ".contains(b))
        .count();
    let open = name + usize::from(rest.get(name) == Some(&b'('));
    let is_quoted = rest.get(open).is_some_and(|b| b"\"'`".contains(b));
    if is_quoted && (open > name || name <= 2) && !rest[..name].contains(&b' ') {
        open
    } else {
        0
    }
}

/// Where an unquoted value ends because another `name=value` follows its separator.
fn next_field_offset(value: &str) -> usize {
    let bytes = value.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        if !b"&;,|".contains(&byte) {
            continue;
        }
        let rest = &bytes[at + 1..];
        let name = rest
            .iter()
            .take(40)
            .take_while(|b| b.is_ascii_alphanumeric() || b"_-.".contains(b))
            .count();
        let is_joined = matches!(rest.get(name), Some(b'=' | b':'));
        if (name > 0 && is_joined) || rest.is_empty() || byte == b';' && name == rest.len() {
            return at;
        }
    }
    value.len()
}
