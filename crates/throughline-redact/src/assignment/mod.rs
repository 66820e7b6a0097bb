//! `name = value` in its many spellings: assignments, flags, headers, arguments, elements, prose.
//!
//! The scanner finds a word such as `token`. [`names`] classifies the name around it,
//! [`separator`] finds where its value starts, [`extent`] where the value ends, and
//! [`crate::value`] judges the value. [`pair`] reads a name and its value from two fields.
//! [`prefilter`] rejects most names before any of this happens.

pub(crate) mod extent;
pub(crate) mod names;
mod pair;
pub(crate) mod prefilter;
mod separator;

use std::ops::Range;

use self::extent::value_extent;
use self::names::{NAME_BYTES_MAX, NameStrength};
use self::separator::ValueJoin;
use crate::detect::auth_header;
use crate::format::seams;
use crate::scan::progress::ScanProgress;
use crate::scan::{Confidence, Detection};
use crate::{mark, value};

/// No value is longer. A quote that nothing closes within this distance opens no value.
pub(crate) const VALUE_BYTES_MAX: usize = 1 << 20;
/// `sk-ant-api03-abc...`: a value up to this length before dots was shortened by its writer. A
/// longer one is a whole secret with dots behind it.
const ELIDED_BYTES_MAX: usize = 20;
/// A text may have this many names of pairs without a value, and one more for so many bytes. A text
/// with more of them is not a list of pairs, and the search is too expensive to try them all.
const FAILED_PAIRS_FREE: usize = 64;
const FAILED_PAIR_BYTES: usize = 512;
/// How far behind a secret's name a random token still belongs to it.
const NEARBY_BYTES_MAX: usize = 48;

/// Looks at the name around the word at `start..end` and at the value that follows it.
pub(crate) fn find(
    text: &str,
    start: usize,
    end: usize,
    progress: &mut ScanProgress,
    found: &mut Vec<Detection>,
) {
    if progress.word.skips(start) {
        return;
    }
    let bytes = text.as_bytes();
    let to = name_end(bytes, end);
    // Most words are prose. They leave here, before the whole name is read.
    if !separator::may_precede_value(bytes, to) {
        return;
    }
    let from = name_start(bytes, start);
    let name = text[from..to].trim_end_matches(['.', '-']);
    // A word inside base64 is there by chance.
    if name.len() >= NAME_BYTES_MAX
        || name.len() >= 24 && value::is_random(name, 24) && !name.contains('_')
    {
        return;
    }
    let Some(mut strength) = classify_again(text, from..from + name.len(), progress) else {
        return;
    };
    if strength == NameStrength::Weak
        && (is_qualified_key(bytes, from) || from > 0 && b"?&".contains(&bytes[from - 1]))
    {
        strength = NameStrength::Token;
    }
    progress.count_work(to - from);
    let direct = separator::value_start(text, from, to, strength)
        .and_then(|(at, join)| accepted_value(text, at, join, strength, progress));
    if let Some((_, end)) = direct {
        progress.word.skip_to(end);
    }
    let hit = direct
        .or_else(|| find_paired_value(text, from, to, strength, progress))
        .or_else(|| find_nearby_token(text, to, strength, progress));
    if hit.is_none() && strength == NameStrength::Weak {
        tag_possible_key(text, from, to, progress, found);
    }
    if let Some((start, end)) = hit {
        found.push(Detection {
            rule: strength.rule(),
            confidence: Confidence::Probable,
            start,
            end,
        });
    }
}

/// Classifies the name in a range. A text repeats its names, so the last one is remembered.
fn classify_again(
    text: &str,
    name: Range<usize>,
    progress: &mut ScanProgress,
) -> Option<NameStrength> {
    let (last, strength) = &progress.last_name;
    if text[last.clone()] == text[name.clone()] {
        return *strength;
    }
    let strength = names::classify_name(&text[name.clone()]);
    progress.last_name = (name, strength);
    strength
}

pub(crate) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'$')
}

/// Where the name that holds `at` starts.
fn name_start(bytes: &[u8], at: usize) -> usize {
    let before = bytes[..at].iter().rev().take(NAME_BYTES_MAX);
    at - before.take_while(|&&b| is_name_byte(b)).count()
}

/// Where the name that holds `at` ends.
fn name_end(bytes: &[u8], at: usize) -> usize {
    let rest = bytes[at..].iter().take(NAME_BYTES_MAX);
    at + rest.take_while(|&&b| is_name_byte(b)).count()
}

pub(crate) fn skip_spaces(bytes: &[u8], at: usize) -> usize {
    let rest = bytes[at..].iter().take(64);
    at + rest.take_while(|b| matches!(b, b' ' | b'\t')).count()
}

/// True when the word before `key` says that it is a secret one: `API key is`, `Authentication
/// key:`.
fn is_qualified_key(bytes: &[u8], from: usize) -> bool {
    const QUALIFIERS: &[&[u8]] = &[
        b"api", b"access", b"secret", b"auth", b"authentication", b"encryption", b"license",
        b"private", b"account", b"signing", b"master", b"admin", b"service", b"shared", b"app",
        b"write", b"insert", b"subscription", b"sdk",
    ];
    if from < 2 || bytes[from - 1] != b' ' {
        return false;
    }
    let before = bytes[..from - 1].iter().rev().take(16);
    let len = before.take_while(|b| b.is_ascii_alphanumeric()).count();
    let word = &bytes[from - 1 - len..from - 1];
    // `Your API2CART key is`: a name in capitals is a service's.
    let is_service = word.len() >= 4
        && word
            .iter()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
        && word.iter().any(u8::is_ascii_digit)
        && !word.starts_with(b"SHA")
        && !word.starts_with(b"MD");
    is_service || QUALIFIERS.contains(&word.to_ascii_lowercase().as_slice())
}

/// Returns the value at `at` when it is what the name promises. The looser the join between name
/// and value, the more the value itself must look like a secret.
fn accepted_value(
    text: &str,
    at: usize,
    join: ValueJoin,
    strength: NameStrength,
    progress: &mut ScanProgress,
) -> Option<(usize, usize)> {
    let at = auth_header::skip_auth_scheme(text, at);
    let (start, end, quoted) = value_extent(text, at, progress)?;
    let (start, end) = mark::between_marks(text, start, end);
    progress.count_work(end - start);
    let joined = seams::join_pieces(&text[start..end]);
    let judged = value::judged_prefix(&joined);
    let is_key = |len_min| value::is_random(judged, len_min) && !value::ends_in_digest(judged);
    let is_accepted = match (strength, join) {
        (NameStrength::Weak, ValueJoin::Operator) => is_key(20),
        (NameStrength::Weak, _) => is_key(24),
        (NameStrength::Token, ValueJoin::Operator | ValueJoin::Space) => is_token_value(judged),
        (NameStrength::Token, ValueJoin::Prose) => value::is_random(judged, 16),
        (NameStrength::Password, ValueJoin::Operator | ValueJoin::Space) => {
            is_token_value(judged) || is_password_value(text, start, end, quoted)
        }
        (NameStrength::Password, ValueJoin::Prose) => {
            value::is_random(judged, 10)
                || value::is_strong_password(judged) && !judged.contains(' ')
        }
    };
    if is_accepted && !is_elided(text, start, end) {
        return Some((start, end));
    }
    progress.word.record_failure(start, end);
    None
}

/// True when the writer has hidden the rest of the value already.
fn is_elided(text: &str, start: usize, end: usize) -> bool {
    const MASK_BYTES_MIN: usize = 8;
    let tail = text[start..end].bytes().rev();
    if tail.take_while(|b| b"#*".contains(b)).count() >= MASK_BYTES_MIN {
        return true;
    }
    end - start < ELIDED_BYTES_MAX
        && ["...", "…", "####", "****", "xxxx", "XXXX"]
            .iter()
            .any(|tail| text[end..].starts_with(tail))
}

pub(crate) fn is_token_value(value: &str) -> bool {
    value::is_random(value, 10) && !value::is_type(value) || value::is_grouped(value)
}

/// True for a password in an assignment. Without quotes it must not be code.
fn is_password_value(text: &str, start: usize, end: usize, quoted: bool) -> bool {
    let value = value::judged_prefix(&text[start..end]);
    if quoted {
        return value::is_password(value) && !value.contains(' ');
    }
    let is_code = value.contains(['(', '[', '{', '|'])
        && (!value::is_strong_password(value) || is_call(&text[start..]))
        || value::is_identifier(value)
            && !mark::starts_with_mark(&text[end..])
            && text
                .as_bytes()
                .get(end)
                .is_some_and(|b| b"(.[:".contains(b));
    let is_number = value.bytes().all(|b| b.is_ascii_digit());
    !is_code && !is_number && !value::is_worded_identifier(value) && value::is_password(value)
}

/// True for a call such as `Field(min_length=8)`, whose arguments may follow the value.
fn is_call(text: &str) -> bool {
    const CALL_BYTES_MAX: usize = 160;
    let bytes = &text.as_bytes()[..text.len().min(CALL_BYTES_MAX)];
    let is_word = |b: &&u8| b.is_ascii_alphanumeric() || b"_.".contains(b);
    let name = bytes.iter().take_while(is_word).count();
    let rest = &bytes[name..];
    let line = rest.split(|&b| b == b'\n').next().unwrap_or(rest);
    name > 2 && line.first() == Some(&b'(') && line.contains(&b')')
}

/// Returns the value of a `{name, value}` pair whose name is at `from..to`.
fn find_paired_value(
    text: &str,
    from: usize,
    to: usize,
    strength: NameStrength,
    progress: &mut ScanProgress,
) -> Option<(usize, usize)> {
    if !pair::follows_naming_word(&text.as_bytes()[..from]) {
        return None;
    }
    let failures_max = FAILED_PAIRS_FREE + text.len() / FAILED_PAIR_BYTES;
    if progress.failed_pairs > failures_max {
        return None;
    }
    let value_start = pair::paired_value_start(text, from, to);
    progress.failed_pairs += usize::from(value_start.is_none());
    accepted_value(text, value_start?, ValueJoin::Operator, strength, progress)
}

/// Returns a random token shortly behind the name, on the same line.
fn find_nearby_token(
    text: &str,
    to: usize,
    strength: NameStrength,
    progress: &mut ScanProgress,
) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    if strength == NameStrength::Weak || !prefilter::has_long_token(&bytes[to..]) {
        return None;
    }
    let line = bytes[to..].iter().take(NEARBY_BYTES_MAX);
    let len = line.clone().position(|b| b"\n}],".contains(b));
    let limit = text.floor_char_boundary(to + len.unwrap_or(NEARBY_BYTES_MAX));
    let between = text[to..limit].to_ascii_lowercase();
    if ["sha", "hash", "digest", "commit", "checksum", "uuid", "id"]
        .iter()
        .any(|word| between.contains(word))
    {
        return None;
    }
    let unquoted_len_min = if strength == NameStrength::Password {
        20
    } else {
        32
    };
    let mut at = to;
    while at < limit {
        let run_end = progress.token_end(bytes, at).max(at);
        let len = bytes[at..run_end]
            .iter()
            .take_while(|b| b.is_ascii_alphanumeric() || b"+/_-".contains(b))
            .count();
        progress.count_work(len);
        let padding = bytes[at + len..].iter().take(2);
        let padding = padding.take_while(|&&b| b == b'=').count();
        let len = if len > 0 { len + padding } else { 0 };
        let is_quoted = at > to
            && b"\"'`".contains(&bytes[at - 1])
            && bytes.get(at + len) == Some(&bytes[at - 1]);
        let len_min = if is_quoted { 20 } else { unquoted_len_min };
        // Behind a dot or a slash it is part of a host or a path.
        if len < len_min || b"./".contains(&bytes[at - 1]) {
            at += len.max(1);
            continue;
        }
        let token = value::judged_prefix(&text[at..at + len]);
        if prefilter::may_be_generated(token.as_bytes())
            && value::is_random(token, len_min)
            && value::entropy(token) > 3.2
            && !is_elided(text, at, at + len)
        {
            return Some((at, at + len));
        }
        progress.word.record_failure(at, at + len);
        at += len;
    }
    None
}

/// Tags `key = 9c1f…`, which may be a hash or a key: nothing tells which.
fn tag_possible_key(
    text: &str,
    from: usize,
    to: usize,
    progress: &mut ScanProgress,
    found: &mut Vec<Detection>,
) {
    let Some((at, _)) = separator::value_start(text, from, to, NameStrength::Weak) else {
        return;
    };
    let Some((start, end, _)) = value_extent(text, at, progress) else {
        return;
    };
    if value::is_digest(&text[start..end]) && !value::is_uuid(&text[start..end]) {
        found.push(Detection {
            rule: "possible-key",
            confidence: Confidence::Possible,
            start,
            end,
        });
    }
}
