//! `name = value` in its many spellings.

use super::scan::{Found, Tier};
use super::value;
use super::words::{self, Promise};

const NAME_BYTES_MAX: usize = 80;
const VALUE_BYTES_MAX: usize = 4096;

/// Looks at the name around the word at `start..end` and at the value after it.
pub(super) fn find(text: &str, start: usize, end: usize, found: &mut Vec<Found>) {
    let bytes = text.as_bytes();
    let is_name =
        |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-' || b == b'.' || b == b'$';
    let mut to = end;
    while to < bytes.len() && to - end < NAME_BYTES_MAX && is_name(bytes[to]) {
        to += 1;
    }
    let Some(slot) = slot(text, to) else { return };
    let mut from = start;
    while from > 0 && start - from < NAME_BYTES_MAX && is_name(bytes[from - 1]) {
        from -= 1;
    }
    let Some(promise) = words::judge(&text[from..to]) else {
        return;
    };
    let Some((from, to)) = extent(text, slot) else {
        return;
    };
    let value = &text[from..to];
    let fits = match promise {
        Promise::Weak => value::is_random(value, 20),
        Promise::Token => value::is_random(value, 12),
        Promise::Password => value::is_password(value) || value::is_random(value, 8),
    };
    if fits {
        found.push(Found {
            rule: "assigned-secret",
            tier: Tier::Probable,
            start: from,
            end: to,
        });
    }
}

/// Where the value of a name that ends at `at` starts.
fn slot(text: &str, at: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = at;
    let mut closed = 0;
    while closed < 3 && bytes.get(at).is_some_and(|b| b"\"'`])*".contains(b)) {
        at += 1;
        closed += 1;
    }
    let spaced = skip_blanks(bytes, at);
    let operator = bytes[spaced..]
        .iter()
        .take(5)
        .take_while(|b| b"=:?|!>+~".contains(b))
        .count();
    let sign = &bytes[spaced..spaced + operator];
    if sign.iter().any(|b| b"=:>".contains(b)) {
        return Some(skip_blanks(bytes, spaced + operator));
    }
    if operator == 0 && bytes.get(spaced) == Some(&b',') {
        let at = skip_blanks(bytes, spaced + 1);
        return bytes
            .get(at)
            .is_some_and(|b| b"\"'`".contains(b))
            .then_some(at);
    }
    None
}

fn skip_blanks(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..]
        .iter()
        .take(32)
        .take_while(|b| b" \t".contains(b))
        .count()
}

/// The bytes of the value that starts at `at`, without its quotes.
fn extent(text: &str, at: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let quote = *bytes.get(at)?;
    if b"\"'`".contains(&quote) {
        let body = &bytes[at + 1..];
        let len = body
            .iter()
            .take(VALUE_BYTES_MAX)
            .position(|&b| b == quote || b == b'\n')?;
        return Some((at + 1, at + 1 + len));
    }
    let len = bytes[at..]
        .iter()
        .take(VALUE_BYTES_MAX)
        .take_while(|b| !b.is_ascii_whitespace() && !b"\"'`<>".contains(b))
        .count();
    let mut end = super::scan::floor(text, at + len);
    while end > at && b",;.)]}".contains(&bytes[end - 1]) {
        end -= 1;
    }
    Some((at, end))
}
