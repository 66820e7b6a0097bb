//! `name = value` in its many spellings: assignments, flags, headers, arguments, elements, prose.
//!
//! The automaton finds a word such as `token`; the name around it is judged by [`words`], the value
//! that follows by [`value`]. `{name, value}` pairs are in [`super::pair`].

use super::extent::value_extent;
use super::progress::ScanProgress;
use super::scan::{Confidence, Detection, floor};
use super::value;
use super::words::{self, NAME_BYTES_MAX, NameStrength};
use super::{header, mark, pair};

/// No value is longer; what a quote opens is no value when nothing closes it before.
pub(super) const VALUE_BYTES_MAX: usize = 1 << 20;
/// A shorter value before dots has been cut by the writer, a longer one is whole.
const ELIDED_BYTES_MAX: usize = 20;
/// One attempt in vain to find a pair is free for so many bytes, and so many in every text.
const PAIR_BYTES_MIN: usize = 128;
const PAIRS_FREE: usize = 64;
/// How far behind a secret word a lone random token still belongs to it.
pub(super) const NEARBY_BYTES_MAX: usize = 48;

/// How name and value are joined; the looser the join, the more the value must prove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueJoin {
    /// `=`, `:`, `=>`, an argument, an element.
    Operator,
    /// `--token value`, `set -gx TOKEN value`, `PASSWORD 'value'`.
    Space,
    /// `the password is value`.
    Prose,
}

/// Looks at the name around the word at `start..end` and at the value after it.
pub(super) fn find(
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
    let to = end
        + bytes[end..]
            .iter()
            .take(NAME_BYTES_MAX)
            .take_while(|&&b| is_name_byte(b))
            .count();
    // Most words are prose: leave before the name is looked at.
    if !may_precede_value(bytes, to) {
        return;
    }
    let from = start
        - bytes[..start]
            .iter()
            .rev()
            .take(NAME_BYTES_MAX)
            .take_while(|&&b| is_name_byte(b))
            .count();
    let name = text[from..to].trim_end_matches(['.', '-']);
    // A word inside a blob is chance.
    if name.len() >= NAME_BYTES_MAX
        || name.len() >= 24 && value::is_random(name, 24) && !name.contains('_')
    {
        return;
    }
    let Some(mut promise) = words::classify_name(name) else {
        return;
    };
    if promise == NameStrength::Weak
        && (is_qualified_key(bytes, from) || from > 0 && b"?&".contains(&bytes[from - 1]))
    {
        promise = NameStrength::Token;
    }
    progress.count_work(to - from);
    let direct = value_start(text, from, to, promise)
        .and_then(|(at, join)| accepted_value(text, at, join, promise, progress));
    if let Some((_, end)) = direct {
        progress.word.skip_to(end);
    }
    let hit = direct
        .or_else(|| find_paired_value(text, from, to, promise, progress))
        .or_else(|| find_nearby_token(text, to, promise, progress));
    if hit.is_none() && promise == NameStrength::Weak {
        tag_possible_key(text, from, to, progress, found);
    }
    if let Some((start, end)) = hit {
        found.push(Detection {
            rule: promise.rule(),
            tier: Confidence::Probable,
            start,
            end,
        });
    }
}

/// The value of a `{name, value}` pair whose name is at `from..to`.
fn find_paired_value(
    text: &str,
    from: usize,
    to: usize,
    promise: NameStrength,
    progress: &mut ScanProgress,
) -> Option<(usize, usize)> {
    if !pair::follows_naming_word(&text.as_bytes()[..from]) {
        return None;
    }
    // Hardly any name of a pair has no value; a text with many of them is no list of pairs.
    if progress.failed_pairs * PAIR_BYTES_MIN > text.len() + PAIRS_FREE * PAIR_BYTES_MIN {
        return None;
    }
    let slot = pair::paired_value_start(text, from, to);
    progress.failed_pairs += usize::from(slot.is_none());
    accepted_value(text, slot?, ValueJoin::Operator, promise, progress)
}

/// `key = 9c1f…`: a hash or a key, and nothing tells which.
fn tag_possible_key(
    text: &str,
    from: usize,
    to: usize,
    progress: &mut ScanProgress,
    found: &mut Vec<Detection>,
) {
    let Some((at, _)) = value_start(text, from, to, NameStrength::Weak) else {
        return;
    };
    let Some((start, end, _)) = value_extent(text, at, progress) else {
        return;
    };
    if value::is_digest(&text[start..end]) && !value::is_uuid(&text[start..end]) {
        found.push(Detection {
            rule: "possible-key",
            tier: Confidence::Possible,
            start,
            end,
        });
    }
}

/// `Authentication key:`, `API key is`: the word before says what kind of key; in a URL, `?key=` does.
fn is_qualified_key(bytes: &[u8], from: usize) -> bool {
    if from < 2 || bytes[from - 1] != b' ' {
        return false;
    }
    let word = bytes[..from - 1]
        .iter()
        .rev()
        .take(16)
        .take_while(|b| b.is_ascii_alphanumeric())
        .count();
    let word = &bytes[from - 1 - word..from - 1];
    // `Your API2CART key is`: a name in capitals is a service's.
    let is_service = word.len() >= 4
        && word
            .iter()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
        && word.iter().any(u8::is_ascii_digit)
        && !word.starts_with(b"SHA")
        && !word.starts_with(b"MD");
    let word = word.to_ascii_lowercase();
    is_service
        || [
            &b"api"[..],
            b"access",
            b"secret",
            b"auth",
            b"authentication",
            b"encryption",
            b"license",
            b"private",
            b"account",
            b"signing",
            b"master",
            b"admin",
            b"service",
            b"shared",
            b"app",
            b"write",
            b"insert",
            b"subscription",
            b"sdk",
        ]
        .contains(&word.as_slice())
}

pub(super) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.$".contains(&byte)
}

/// True when a value may follow a name that ends at `at`. Also asked of text that is still escaped.
pub(super) fn may_precede_value(bytes: &[u8], at: usize) -> bool {
    let Some(&byte) = bytes.get(at) else {
        return false;
    };
    match byte {
        b' ' | b'\t' => {
            let next = skip_spaces(bytes, at);
            match bytes.get(next) {
                None => false,
                Some(b) if b.is_ascii_lowercase() => {
                    let rest = &bytes[next..];
                    rest.starts_with(b"is ")
                        || rest.starts_with(b"was ")
                        || starts_with_mixed_word(rest)
                        || go_type_len(rest).is_some()
                }
                Some(_) => true,
            }
        }
        b'+' => bytes.get(at + 1) == Some(&b'='),
        b'%' => matches!(bytes.get(at + 1), Some(b'2' | b'3')),
        b'&' => matches!(bytes.get(at + 1), Some(b'#' | b'q' | b'e' | b'c' | b'a')),
        b';' | b'/' | b'@' | b'{' | b'^' => false,
        _ => true,
    }
}

/// Go puts the type behind the name: `var token string = "…"`. The length up to the value.
fn go_type_len(rest: &[u8]) -> Option<usize> {
    let kind = rest
        .iter()
        .take(24)
        .take_while(|b| b.is_ascii_alphanumeric() || b"[].*".contains(b))
        .count();
    (kind > 0 && rest[kind..].starts_with(b" = ")).then_some(kind + 3)
}

/// A lower-case word with a digit in it is no prose.
fn starts_with_mixed_word(rest: &[u8]) -> bool {
    let word = rest
        .iter()
        .take(24)
        .take_while(|b| b.is_ascii_alphanumeric() || b"_-".contains(b));
    word.clone().count() >= 5 && word.clone().any(|b| !b.is_ascii_lowercase())
}

/// Where the value of the name at `from..to` starts.
fn value_start(
    text: &str,
    from: usize,
    to: usize,
    promise: NameStrength,
) -> Option<(usize, ValueJoin)> {
    let bytes = text.as_bytes();
    let closed = to
        + bytes[to..]
            .iter()
            .take(4)
            .take_while(|b| b"\"'`])*".contains(b))
            .count();
    let spaced = skip_spaces(bytes, closed);
    let rest = &bytes[spaced..];
    if let Some(len) = operator_len(rest) {
        return Some((
            skip_spaces(bytes, skip_type_annotation(text, spaced + len)),
            ValueJoin::Operator,
        ));
    }
    let quoted_next = |at: usize| bytes.get(at).is_some_and(|b| b"\"'`".contains(b));
    match rest.first()? {
        b',' if closed > to && !is_first_argument(bytes, from) => return None,
        b',' | b'-' | b'(' => {
            let at = skip_spaces(bytes, spaced + 1);
            return quoted_next(at).then_some((at, ValueJoin::Operator));
        }
        b'"' | b'\'' if spaced > closed && promise > NameStrength::Weak => {
            return Some((spaced, ValueJoin::Space));
        }
        _ => {}
    }
    for verb in ["is ", "was ", "is: ", "are ", "to be "] {
        if rest.starts_with(verb.as_bytes()) {
            return Some((skip_spaces(bytes, spaced + verb.len()), ValueJoin::Prose));
        }
    }
    if promise > NameStrength::Weak
        && spaced > closed
        && let Some(len) = go_type_len(rest)
    {
        return Some((skip_spaces(bytes, spaced + len), ValueJoin::Operator));
    }
    let is_flag = bytes[from] == b'-' && (from == 0 || !bytes[from - 1].is_ascii_alphanumeric());
    (spaced > closed && (is_flag || follows_set_command(bytes, from)))
        .then_some((spaced, ValueJoin::Space))
}

/// True when a quoted name is the first argument, or a flag: in a list of words a comma joins nothing.
fn is_first_argument(bytes: &[u8], from: usize) -> bool {
    let before = bytes[..from]
        .iter()
        .rev()
        .find(|b| !b"\"'`#. \t".contains(b));
    bytes[from] == b'-' || matches!(before, Some(b'(' | b'['))
}

/// Length of the assignment sign that `rest` starts with.
fn operator_len(rest: &[u8]) -> Option<usize> {
    let len = rest
        .iter()
        .take(5)
        .take_while(|b| b"=:?|!>+~".contains(b))
        .count();
    rest[..len]
        .iter()
        .any(|b| b"=:>".contains(b))
        .then_some(len)
}

/// Skips a type between `:` and `=`, as in `const KEY: &str = "…"`.
fn skip_type_annotation(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let kind = bytes[at..]
        .iter()
        .take(40)
        .take_while(|b| b.is_ascii_alphanumeric() || b" &'<>[]|?:_.".contains(b))
        .count();
    let after = at + kind;
    let is_type = kind > 1
        && bytes[at] == b' '
        && bytes.get(after) == Some(&b'=')
        && bytes[after - 1] == b' ';
    // `password: abc =` has no value after the sign we could mistake for one.
    if is_type && bytes.get(after + 1).is_some_and(|b| b" \"'`".contains(b)) {
        after + 1
    } else {
        at
    }
}

/// True after `set -gx`, `setx`, `ENV` and the like, where a blank joins name and value.
fn follows_set_command(bytes: &[u8], from: usize) -> bool {
    let before = &bytes[..from];
    [
        "set ", "-gx ", "-x ", "setx ", "setenv ", "ENV ", "env ", "ARG ", "define ", "define\t",
        "login ",
    ]
    .iter()
    .any(|verb| before.ends_with(verb.as_bytes()))
}

pub(super) fn skip_spaces(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..]
        .iter()
        .take(64)
        .take_while(|b| b" \t".contains(b))
        .count()
}

/// The value at `at`, when it is one the name promised.
fn accepted_value(
    text: &str,
    at: usize,
    join: ValueJoin,
    promise: NameStrength,
    progress: &mut ScanProgress,
) -> Option<(usize, usize)> {
    let at = header::skip_auth_scheme(text, at);
    let (start, end, quoted) = value_extent(text, at, progress)?;
    let (start, end) = mark::between_marks(text, start, end);
    progress.count_work(end - start);
    let value = &text[start..end];
    let joined = super::join::join_pieces(value);
    let judged = value::judged_prefix(&joined);
    let fits = match (promise, join) {
        (NameStrength::Weak, ValueJoin::Operator) => {
            value::is_random(judged, 20) && !value::ends_in_digest(judged)
        }
        (NameStrength::Weak, _) => value::is_random(judged, 24) && !value::ends_in_digest(judged),
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
    if fits && !is_elided(text, start, end) {
        return Some((start, end));
    }
    progress.word.record_failure(start, end);
    None
}

/// `sk-ant-api03-abc...`: the writer has hidden the rest already.
fn is_elided(text: &str, start: usize, end: usize) -> bool {
    end - start < ELIDED_BYTES_MAX
        && ["...", "…", "####", "****", "xxxx", "XXXX"]
            .iter()
            .any(|tail| text[end..].starts_with(tail))
}

fn is_token_value(value: &str) -> bool {
    value::is_random(value, 10) && !value::is_type(value) || value::is_grouped(value)
}

/// A password in an assignment; without quotes it must not be code.
fn is_password_value(text: &str, start: usize, end: usize, quoted: bool) -> bool {
    let value = value::judged_prefix(&text[start..end]);
    if quoted {
        return value::is_password(value) && !value.contains(' ');
    }
    let code = value.contains(['(', '[', '{', '|']) && !value::is_strong_password(value)
        || value::is_identifier(value)
            && !mark::starts_with_mark(&text[end..])
            && text
                .as_bytes()
                .get(end)
                .is_some_and(|b| b"(.[:".contains(b));
    let number = value.bytes().all(|b| b.is_ascii_digit());
    !code && !number && !value::is_worded_identifier(value) && value::is_password(value)
}

/// A lone random token shortly after the word, on the same line.
fn find_nearby_token(
    text: &str,
    to: usize,
    promise: NameStrength,
    progress: &mut ScanProgress,
) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    if promise == NameStrength::Weak || !super::glance::has_long_token(&bytes[to..]) {
        return None;
    }
    let line = bytes[to..]
        .iter()
        .take(NEARBY_BYTES_MAX)
        .position(|b| b"\n}],".contains(b))
        .unwrap_or(NEARBY_BYTES_MAX);
    let limit = floor(text, (to + line).min(bytes.len()));
    let between = text[to..limit].to_ascii_lowercase();
    if ["sha", "hash", "digest", "commit", "checksum", "uuid", "id"]
        .iter()
        .any(|word| between.contains(word))
    {
        return None;
    }
    let len_min = if promise == NameStrength::Password {
        20
    } else {
        32
    };
    let mut at = to;
    while at < limit {
        let run = progress.token_end(bytes, at).max(at);
        let len = bytes[at..run]
            .iter()
            .take_while(|b| b.is_ascii_alphanumeric() || b"+/_-".contains(b))
            .count();
        progress.count_work(len);
        let padding = bytes[at + len..]
            .iter()
            .take(2)
            .take_while(|&&b| b == b'=')
            .count();
        let len = if len > 0 { len + padding } else { 0 };
        let quoted = at > to
            && b"\"'`".contains(&bytes[at - 1])
            && bytes.get(at + len) == Some(&bytes[at - 1]);
        let len_min = if quoted { 20 } else { len_min };
        // Behind a dot or a slash it is part of a host or a path.
        if len < len_min || b"./".contains(&bytes[at - 1]) {
            at += len.max(1);
            continue;
        }
        let token = &text[at..at + len];
        if value::is_random(value::judged_prefix(token), len_min)
            && value::entropy(value::judged_prefix(token)) > 3.2
            && !is_elided(text, at, at + len)
        {
            return Some((at, at + len));
        }
        progress.word.record_failure(at, at + len);
        at += len;
    }
    None
}
