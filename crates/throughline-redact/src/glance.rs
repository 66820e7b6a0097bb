//! A first look at a name and what follows, without decoding or allocating.
//!
//! Most names in a log are followed by no secret (`"input_tokens": 812`); what a glance turns down is not
//! decoded at all. It must let through whatever the context rules could take.

use super::context::{NEARBY_BYTES_MAX, is_name_byte, may_precede_value};
use super::pair;
use super::words::{self, NAME_BYTES_MAX, NameStrength};

/// How many backslashes between a name and its value are passed over.
const ESCAPES_MAX: usize = 1024;

/// Says cheaply whether the context rules could find something at the word, escaped or not.
pub(super) fn may_find(text: &str, start: usize, end: usize) -> bool {
    let bytes = text.as_bytes();
    let to = end
        + bytes[end..]
            .iter()
            .take(NAME_BYTES_MAX)
            .take_while(|&&b| is_name_byte(b))
            .count();
    if !may_precede_value(bytes, to) {
        return false;
    }
    let mut from = start
        - bytes[..start]
            .iter()
            .rev()
            .take(NAME_BYTES_MAX)
            .take_while(|&&b| is_name_byte(b))
            .count();
    // The letter of an escape such as `\n` is no part of the name.
    if from > 0 && bytes[from - 1] == b'\\' && from < start {
        from += 1;
    }
    let Some(promise) = words::classify_name(&text[from..to]) else {
        return false;
    };
    may_be_value(bytes, to, promise)
        || pair::follows_naming_word(&bytes[..from])
        || has_long_token(&bytes[to..])
}

/// True when what follows the name could pass for its value. Quotes and escapes are skipped over.
fn may_be_value(bytes: &[u8], to: usize, promise: NameStrength) -> bool {
    let (mut gap, mut signs) = (0, 0);
    while signs < 32
        && bytes
            .get(to + gap)
            .is_some_and(|b| b"\"'`\\ \t:=>?|!~+-,()[]*{&$#".contains(b))
    {
        let escape =
            bytes[to + gap] == b'\\' && matches!(bytes.get(to + gap + 1), Some(b'n' | b't' | b'r'));
        // JSON in JSON in JSON has many backslashes before each quote.
        signs += usize::from(bytes[to + gap] != b'\\' || gap >= ESCAPES_MAX);
        gap += 1 + usize::from(escape);
    }
    let rest = &bytes[to + gap..];
    let run = rest
        .iter()
        .take(32)
        .take_while(|b| !b.is_ascii_whitespace() && !b"\"'`<>\\,;".contains(b))
        .count();
    let value = &rest[..run];
    // A verb, a scheme or a type stands before the value proper.
    let leads = [
        &b"is"[..],
        b"was",
        b"are",
        b"to",
        b"Bearer",
        b"Basic",
        b"Token",
        b"token",
    ]
    .contains(&value);
    if leads || rest[run..].starts_with(b" = ") || rest[run..].starts_with(b" \\\"") {
        return true;
    }
    let len_min = match promise {
        NameStrength::Weak | NameStrength::Token => 10,
        NameStrength::Password => 5,
    };
    run >= len_min
        && !value
            .iter()
            .all(|b| b.is_ascii_lowercase() || b"_.".contains(b))
}

/// A long token within reach, as the context rules look for it.
pub(super) fn has_long_token(rest: &[u8]) -> bool {
    let mut run = 0;
    for byte in rest.iter().take(NEARBY_BYTES_MAX + 20) {
        if b"\n}],".contains(byte) {
            return false;
        }
        run = if byte.is_ascii_alphanumeric() || b"+/_-".contains(byte) {
            run + 1
        } else {
            0
        };
        if run >= 20 {
            return true;
        }
    }
    false
}
