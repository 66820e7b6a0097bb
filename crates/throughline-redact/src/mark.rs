//! The typed marks that stand where a secret stood.

use memchr::memmem;

const OPEN: &str = "[redacted:";
/// `[redacted:` + rule + `:` + 6 hex + `]`, with room for the longest rule name.
const LEN_MAX: usize = 64;

/// Writes `[redacted:github-token:1f3a9c]`: the tail is a keyed hash, so that the same secret is
/// recognisable and no one can guess a weak one by hashing candidates.
pub(super) fn mark(key: &[u8; 32], rule: &str, value: &str) -> String {
    let [a, b, c, ..] = *blake3::keyed_hash(key, value.as_bytes()).as_bytes();
    format!("{OPEN}{rule}:{a:02x}{b:02x}{c:02x}]")
}

/// The byte ranges of the marks in `text`.
pub(super) fn marks(text: &str) -> Vec<(usize, usize)> {
    memmem::find_iter(text.as_bytes(), OPEN)
        .filter_map(|at| length(&text[at..]).map(|len| (at, at + len)))
        .collect()
}

/// The part of `start..end` between the marks it starts with and the next one.
pub(super) fn between(text: &str, start: usize, end: usize) -> (usize, usize) {
    let mut start = start;
    while let Some(len) = length(&text[start..]) {
        start += len;
    }
    let value = &text[start..end.max(start)];
    let len = memmem::find(value.as_bytes(), OPEN.as_bytes()).unwrap_or(value.len());
    (start, start + len)
}

pub(super) fn has_mark(text: &str) -> bool {
    text.contains(OPEN)
}

pub(super) fn starts_with_mark(text: &str) -> bool {
    length(text).is_some()
}

/// True when `text` is a mark and nothing else.
pub(super) fn is_mark(text: &str) -> bool {
    length(text) == Some(text.len())
}

/// Length of the mark that `text` starts with.
fn length(text: &str) -> Option<usize> {
    let body = text.strip_prefix(OPEN)?;
    let end = body.bytes().take(LEN_MAX).position(|b| b == b']')?;
    let (rule, tail) = body[..end].rsplit_once(':')?;
    let named = !rule.is_empty() && rule.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let hashed = tail.len() == 6 && tail.bytes().all(|b| b.is_ascii_hexdigit());
    (named && hashed).then_some(OPEN.len() + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_recognised() {
        let text = mark(&[7; 32], "github-token", "x");
        assert_eq!(marks(&format!("a {text} b")), [(2, 2 + text.len())]);
        assert_eq!(marks("[redacted:] [redacted:a:zzzzzz] [redacted:a:12"), []);
    }

    #[test]
    fn the_key_matters() {
        assert_ne!(mark(&[7; 32], "r", "x"), mark(&[8; 32], "r", "x"));
    }
}
