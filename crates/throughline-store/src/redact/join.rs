//! Values in pieces: `"a" + "b"`, adjacent strings, lines a terminal wrapped.

use std::borrow::Cow;

/// A wrapped secret has few seams; a file of tokens has many and each line stands for itself.
const SEAMS_MAX: usize = 24;

/// A text without the seams of a value, and where its bytes came from.
#[derive(Debug)]
pub(super) struct Joined {
    pub(super) text: String,
    /// `(position in the joined text, position in the original)` after each seam.
    seams: Vec<(usize, usize)>,
}

impl Joined {
    /// Joins the token that starts at `at`, or returns `None` when it is in one piece.
    pub(super) fn at(source: &str, at: usize) -> Option<Self> {
        let bytes = source.as_bytes();
        let mut joined = Self {
            text: String::new(),
            seams: Vec::new(),
        };
        let mut from = at;
        loop {
            let to = from + piece(&bytes[from..]);
            joined.text.push_str(&source[from..to]);
            let next = string_seam(bytes, to).or_else(|| line_seam(bytes, to));
            let Some(next) = next.filter(|_| joined.seams.len() < SEAMS_MAX) else {
                break;
            };
            joined.seams.push((joined.text.len(), next));
            from = next;
        }
        (!joined.seams.is_empty()).then_some(joined)
    }

    /// Where the joined text's `end` lies in the original; `None` when it is before the first seam.
    pub(super) fn source_end(&self, end: usize) -> Option<usize> {
        let seam = self.seams.iter().rev().find(|seam| seam.0 < end)?;
        Some(seam.1 + (end - seam.0))
    }

    /// The last piece of the first `end` bytes.
    pub(super) fn last_piece(&self, end: usize) -> &str {
        let from = self
            .seams
            .iter()
            .rev()
            .find(|seam| seam.0 < end)
            .map_or(0, |seam| seam.0);
        &self.text[from..end]
    }
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-+/=.%~".contains(&byte)
}

fn piece(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take(4096)
        .take_while(|&&b| is_token(b))
        .count()
}

/// The start of the next string in `"a" + "b"`, `'a' . 'b'`, `"a" "b"`, `"a" \⏎ "b"`.
fn string_seam(bytes: &[u8], at: usize) -> Option<usize> {
    let quote = *bytes.get(at).filter(|b| b"\"'`".contains(b))?;
    let mut next = at + 1;
    let mut operators = 0;
    while let Some(&byte) = bytes.get(next) {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' if next - at < 80 => {}
            b'+' | b'.' | b'&' | b'\\' | b'~' if operators < 2 => operators += 1,
            _ => break,
        }
        next += 1;
    }
    let apart = next > at + 1;
    let opens =
        bytes.get(next) == Some(&quote) && bytes.get(next + 1).is_some_and(|&b| is_token(b));
    (apart && opens).then_some(next + 1)
}

/// The start of the next line of a value that a terminal broke, past diff marks and line numbers.
fn line_seam(bytes: &[u8], at: usize) -> Option<usize> {
    let mut next = at;
    if bytes.get(next) == Some(&b'\r') {
        next += 1;
    }
    if bytes.get(next) != Some(&b'\n') {
        return None;
    }
    next += 1;
    next += bytes[next..]
        .iter()
        .take(16)
        .take_while(|b| b" \t".contains(b))
        .count();
    let len = bytes[next..]
        .iter()
        .take(4096)
        .take_while(|b| b.is_ascii_alphanumeric() || b"_-".contains(b))
        .count();
    let after = bytes.get(next + len);
    let stands_alone = after.is_none_or(|b| b.is_ascii_whitespace() || b"\"'`,;)".contains(b));
    (len >= 2 && stands_alone).then_some(next)
}

/// Extends a quoted value that ends at `end` over the strings it is concatenated with.
pub(super) fn past_seams(text: &str, end: usize, quote: u8) -> usize {
    let bytes = text.as_bytes();
    let mut end = end;
    for _ in 0..SEAMS_MAX {
        if bytes.get(end) != Some(&quote) {
            break;
        }
        let Some(next) = string_seam(bytes, end) else {
            break;
        };
        let Some(len) = bytes[next..]
            .iter()
            .take(4096)
            .position(|&b| b == quote || b == b'\n')
        else {
            break;
        };
        end = next + len;
    }
    end
}

/// The value without the quotes, signs and line breaks between its pieces.
pub(super) fn without_seams(value: &str) -> Cow<'_, str> {
    let bytes = value.as_bytes();
    let mut joined = String::new();
    let mut from = 0;
    for at in 0..bytes.len() {
        let next = match bytes[at] {
            _ if at < from => continue,
            b'"' | b'\'' | b'`' => string_seam(bytes, at),
            b'\r' | b'\n' => line_seam(bytes, at),
            _ => continue,
        };
        if let Some(next) = next {
            joined.push_str(&value[from..at]);
            from = next;
        }
    }
    if from == 0 {
        return Cow::Borrowed(value);
    }
    joined.push_str(&value[from..]);
    Cow::Owned(joined)
}
