//! A first look at a name and the text behind it, without decoding or allocating.
//!
//! Most names in a log are followed by no secret (`"input_tokens": 812`). A text in which every
//! name is rejected here is not decoded at all, so this check must accept whatever [`super::find`]
//! would.

use super::names::{self, NameStrength};
use super::{NEARBY_BYTES_MAX, name_end, name_start, pair, separator};

/// JSON in JSON in JSON has many backslashes before each quote; so many of them are skipped.
const ESCAPES_MAX: usize = 1024;

/// Says cheaply, of text that may still be escaped, whether the word at `start..end` could name a
/// secret with a value.
pub(crate) fn may_find(text: &str, start: usize, end: usize) -> bool {
    let bytes = text.as_bytes();
    let to = name_end(bytes, end);
    if !separator::may_precede_value(bytes, to) {
        return false;
    }
    let mut from = name_start(bytes, start);
    // The letter of an escape such as `\n` is not part of the name.
    if from > 0 && bytes[from - 1] == b'\\' && from < start {
        from += 1;
    }
    let Some(strength) = names::classify_name(&text[from..to]) else {
        return false;
    };
    may_be_value(bytes, to, strength)
        || pair::follows_naming_word(&bytes[..from])
        || has_long_token(&bytes[to..])
}

/// True when the text behind the name could be its value. Quotes and escapes are skipped.
fn may_be_value(bytes: &[u8], to: usize, strength: NameStrength) -> bool {
    let (mut gap, mut signs) = (0, 0);
    while signs < 32
        && bytes
            .get(to + gap)
            .is_some_and(|b| b"\"'`\\ \t:=>?|!~+-,()[]*{&$#\r\n".contains(b))
    {
        let is_escape =
            bytes[to + gap] == b'\\' && matches!(bytes.get(to + gap + 1), Some(b'n' | b't' | b'r'));
        signs += usize::from(bytes[to + gap] != b'\\' || gap >= ESCAPES_MAX);
        gap += 1 + usize::from(is_escape);
    }
    let rest = &bytes[to + gap..];
    // A here-document has its value on the next line.
    if rest.starts_with(b"<<") {
        return true;
    }
    let len = rest
        .iter()
        .take(32)
        .take_while(|b| !b.is_ascii_whitespace() && !b"\"'`<>\\,;".contains(b))
        .count();
    let value = &rest[..len];
    // A verb, a scheme, a type or a prompt's default stands before the value proper.
    let precedes_value = [
        &b"is"[..],
        b"was",
        b"are",
        b"to",
        b"Bearer",
        b"Basic",
        b"Token",
        b"token",
        b"None]:",
    ]
    .contains(&value);
    if precedes_value || rest[len..].starts_with(b" = ") || rest[len..].starts_with(b" \\\"") {
        return true;
    }
    let len_min = match strength {
        NameStrength::Weak | NameStrength::Token => 10,
        NameStrength::Password => 5,
    };
    len >= len_min
        && !value
            .iter()
            .all(|b| b.is_ascii_lowercase() || b"_.".contains(b))
}

/// True when a long token follows on the same line, as [`super::find`] searches for it.
pub(crate) fn has_long_token(rest: &[u8]) -> bool {
    const TOKEN_BYTES_MIN: usize = 20;
    let is_token = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'_' | b'-');
    let is_end = |b: &u8| matches!(b, b'\n' | b'}' | b']' | b',');
    let rest = &rest[..rest.len().min(NEARBY_BYTES_MAX + TOKEN_BYTES_MIN)];
    let mut start = 0;
    // A token cannot start before the last other byte of a window of its length.
    while let Some(window) = rest.get(start..start + TOKEN_BYTES_MIN) {
        if let Some(last) = window.iter().rposition(|b| !is_token(b)) {
            start += last + 1;
            continue;
        }
        if rest[..start].iter().any(is_end) {
            return false;
        }
        let len = rest[start..].iter().take_while(|b| is_token(b)).count();
        if start + len == rest.len() || may_be_generated(&rest[start..start + len]) {
            return true;
        }
        start += len;
    }
    false
}

/// True for a run with a digit or a capital. Without one it is a path or a name.
pub(crate) fn may_be_generated(run: &[u8]) -> bool {
    run.iter()
        .any(|b| b.is_ascii_digit() || b.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads every byte.
    fn has_long_token_slowly(rest: &[u8]) -> bool {
        let rest = &rest[..rest.len().min(NEARBY_BYTES_MAX + 20)];
        let is_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/_-".contains(byte);
        let mut end = 0;
        for run in rest.split(|byte| !is_token(byte)) {
            end += run.len();
            if run.len() >= 20 && (end == rest.len() || may_be_generated(run)) {
                return true;
            }
            if rest.get(end).is_some_and(|byte| b"\n}],".contains(byte)) {
                return false;
            }
            end += 1;
        }
        false
    }

    proptest! {
        #[test]
        fn skipping_bytes_changes_nothing(
            rest in "([ab+/_-]{0,24}1?[a-c]{0,8}[ :,}]){0,5}[a-cX]{0,24}",
        ) {
            let rest = rest.as_bytes();
            prop_assert_eq!(has_long_token(rest), has_long_token_slowly(rest));
        }
    }
}
