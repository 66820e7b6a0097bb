//! Formats without a literal: a sign with parts of fixed length and alphabet around it.
//!
//! The scanner needs letters to look for. These formats have none, so their sign is searched for
//! instead, and the bytes at fixed distances from it turn down nearly every candidate.

use std::ops::Range;

use crate::scan::{Confidence, Detection};
use crate::value;

const MAILGUN_KEY: [usize; 3] = [32, 8, 8];
const FACEBOOK_SECRET_BYTES: usize = 27;
const FACEBOOK_ID_DIGITS: std::ops::RangeInclusive<usize> = 13..=17;

/// Calls `each` with every secret whose first sign is in a range of the text; it ends when `each`
/// returns true, and says so.
pub(crate) fn any(
    text: &str,
    range: &Range<usize>,
    mut each: impl FnMut(Detection) -> bool,
) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr2_iter(b'-', b'|', &bytes[range.clone()]).any(|at| {
        let at = range.start + at;
        let hit = match bytes[at] {
            b'-' => mailgun_key(bytes, at).map(|range| ("mailgun-key", range)),
            _ => facebook_token(text, at).map(|range| ("facebook-token", range)),
        };
        hit.is_some_and(|(rule, (start, end))| {
            each(Detection {
                rule,
                confidence: Confidence::Certain,
                start,
                end,
            })
        })
    })
}

/// `9c1f…-4d2a1b3c-5e6f7a8b`: 32, 8 and 8 hexadecimal digits.
fn mailgun_key(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let [first, second, third] = MAILGUN_KEY;
    if bytes.get(at + 1 + second) != Some(&b'-') {
        return None;
    }
    let (start, end) = (at.checked_sub(first)?, at + 2 + second + third);
    let is_hex = |range: Range<usize>| {
        bytes
            .get(range)
            .is_some_and(|part| part.iter().all(u8::is_ascii_hexdigit))
    };
    let is_key = is_hex(start..at) && is_hex(at + 1..at + 1 + second) && is_hex(end - third..end);
    let continues = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at))
            .is_some_and(|b| b.is_ascii_alphanumeric() || b"-_".contains(b))
    };
    (is_key && !continues(start.checked_sub(1)) && !continues(Some(end))).then_some((start, end))
}

/// `1527194624358273|qbBf2-…`: the number of an app and its secret.
fn facebook_token(text: &str, at: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let is_secret = |b: &&u8| b.is_ascii_alphanumeric() || b"-_".contains(b);
    let len = bytes[at + 1..]
        .iter()
        .take(FACEBOOK_SECRET_BYTES + 1)
        .take_while(is_secret)
        .count();
    if len != FACEBOOK_SECRET_BYTES {
        return None;
    }
    let digits = bytes[..at].iter().rev().take(FACEBOOK_ID_DIGITS.end() + 1);
    let digits = digits.take_while(|b| b.is_ascii_digit()).count();
    let start = at - digits;
    let is_apart = start == 0 || !bytes[start - 1].is_ascii_alphanumeric();
    let end = at + 1 + len;
    (FACEBOOK_ID_DIGITS.contains(&digits) && is_apart && value::is_random(&text[at + 1..end], len))
        .then_some((start, end))
}
