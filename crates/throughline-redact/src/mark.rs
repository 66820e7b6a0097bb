//! The typed marks that replace secrets.

use memchr::memmem;

const MARK_OPEN: &str = "[redacted:";
/// `[redacted:` + rule + `:` + 6 hexadecimal digits + `]`, with room for the longest rule name.
const MARK_LEN_MAX: usize = 64;

/// Formats `[redacted:github-token:1f3a9c]`. The tail is a keyed hash: two marks of the same secret
/// are equal, and without the key a weak secret cannot be found by hashing guesses.
pub(crate) fn format_mark(key: &[u8; 32], rule: &str, value: &str) -> String {
    let [a, b, c, ..] = *blake3::keyed_hash(key, value.as_bytes()).as_bytes();
    format!("{MARK_OPEN}{rule}:{a:02x}{b:02x}{c:02x}]")
}

/// Returns the byte ranges of the marks in `text`.
pub(crate) fn find_marks(text: &str) -> Vec<(usize, usize)> {
    memmem::find_iter(text.as_bytes(), MARK_OPEN)
        .filter_map(|at| mark_len(&text[at..]).map(|len| (at, at + len)))
        .collect()
}

/// Returns the part of `start..end` between the marks that it starts with and the next mark.
pub(crate) fn between_marks(text: &str, start: usize, end: usize) -> (usize, usize) {
    let mut start = start;
    while let Some(len) = mark_len(&text[start..]) {
        start += len;
    }
    let value = &text[start..end.max(start)];
    let len = memmem::find(value.as_bytes(), MARK_OPEN.as_bytes()).unwrap_or(value.len());
    (start, start + len)
}

pub(crate) fn has_mark(text: &str) -> bool {
    text.contains(MARK_OPEN)
}

pub(crate) fn starts_with_mark(text: &str) -> bool {
    mark_len(text).is_some()
}

/// True when `text` is a mark and nothing else.
pub(crate) fn is_mark(text: &str) -> bool {
    mark_len(text) == Some(text.len())
}

/// Length of the mark that `text` starts with.
fn mark_len(text: &str) -> Option<usize> {
    let body = text.strip_prefix(MARK_OPEN)?;
    let end = body.bytes().take(MARK_LEN_MAX).position(|b| b == b']')?;
    let (rule, tail) = body[..end].rsplit_once(':')?;
    let named = !rule.is_empty() && rule.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let hashed = tail.len() == 6 && tail.bytes().all(|b| b.is_ascii_hexdigit());
    (named && hashed).then_some(MARK_OPEN.len() + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_recognised() {
        let text = format_mark(&[7; 32], "github-token", "x");
        assert_eq!(find_marks(&format!("a {text} b")), [(2, 2 + text.len())]);
        assert_eq!(
            find_marks("[redacted:] [redacted:a:zzzzzz] [redacted:a:12"),
            []
        );
    }

    #[test]
    fn the_key_matters() {
        assert_ne!(
            format_mark(&[7; 32], "r", "x"),
            format_mark(&[8; 32], "r", "x")
        );
    }
}
