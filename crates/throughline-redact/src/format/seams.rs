//! Values in pieces: `"a" + "b"`, adjacent strings, lines that a terminal or a box has wrapped.
//!
//! A *seam* is the text between two pieces of one value: quotes and operators, or a line break with
//! the borders, comment signs and line numbers around it.

use std::borrow::Cow;

/// A wrapped secret has few seams. A file of tokens has many, and each of its lines is a token.
const SEAMS_MAX: usize = 128;
/// How far the spaces and signs around a line break reach.
pub(crate) const MARGIN_BYTES_MAX: usize = 120;
/// No terminal or box is narrower.
const WIDTH_MIN: usize = 12;

/// A value without its seams, and where its bytes came from.
#[derive(Debug)]
pub(crate) struct JoinedValue {
    pub(crate) text: String,
    /// `(offset in the joined text, offset in the original)` behind each seam.
    seams: Vec<(usize, usize)>,
}

impl JoinedValue {
    /// Joins the token that starts at `at`, or returns `None` when it is in one piece. A piece that
    /// starts with one of `starts` is a token of its own.
    pub(crate) fn at(source: &str, at: usize, starts: &[&str]) -> Option<Self> {
        let bytes = source.as_bytes();
        let mut joined = Self {
            text: String::new(),
            seams: Vec::new(),
        };
        let mut from = at;
        loop {
            let to = from + piece_len(&bytes[from..]);
            let next = next_piece(bytes, to);
            let next = next.filter(|&next| {
                joined.seams.len() < SEAMS_MAX
                    && !starts
                        .iter()
                        .any(|start| bytes[next..].starts_with(start.as_bytes()))
            });
            if next.is_none() && joined.seams.is_empty() {
                return None;
            }
            joined.text.push_str(&source[from..to]);
            let Some(next) = next else {
                return Some(joined);
            };
            joined.seams.push((joined.text.len(), next));
            from = next;
        }
    }

    /// Maps the offset `end` of the joined text to the original; `None` before the first seam.
    pub(crate) fn source_end(&self, end: usize) -> Option<usize> {
        let seam = self.seams.iter().rev().find(|seam| seam.0 < end)?;
        Some(seam.1 + (end - seam.0))
    }

    /// True when the pieces of the first `end` bytes are lines of one width. The first and the last
    /// one may differ.
    pub(crate) fn is_wrapped(&self, end: usize) -> bool {
        let seams = self.seams.iter().map(|seam| seam.0);
        let ends: Vec<usize> = seams.take_while(|&seam| seam < end).collect();
        let widths: Vec<usize> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let Some(&width) = widths.first() else {
            return false;
        };
        let last = end - ends.last().copied().unwrap_or(0);
        widths.iter().all(|&other| other == width) && last <= width && width >= WIDTH_MIN
    }

    /// Returns the last piece of the first `end` bytes.
    pub(crate) fn last_piece(&self, end: usize) -> &str {
        let from = self
            .seams
            .iter()
            .rev()
            .find(|seam| seam.0 < end)
            .map_or(0, |seam| seam.0);
        &self.text[from..end]
    }
}

fn is_piece_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-+/=.%~".contains(&byte)
}

fn piece_len(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|&&b| is_piece_byte(b)).count()
}

/// Returns where the next piece of a value starts when one of its pieces ends at `at`.
pub(crate) fn next_piece(bytes: &[u8], at: usize) -> Option<usize> {
    next_string_piece(bytes, at).or_else(|| next_line_piece(bytes, at))
}

/// True when `rest` may start with a seam. Also called with text that is still escaped.
pub(crate) fn may_be_seam(rest: &[u8]) -> bool {
    match rest.first() {
        Some(b'\n' | b'\r' | b'\\' | b'"' | b'\'' | b'`' | 0x1b) => true,
        Some(b' ' | b'\t' | b'|' | 0xe2) => {
            let blanks = rest.iter().take(MARGIN_BYTES_MAX);
            let blanks = blanks.take_while(|b| b" \t".contains(b)).count();
            let rest = &rest[blanks..];
            rest.is_empty() || b"\n\r\\|".contains(&rest[0]) || border_len(rest) > 0
        }
        _ => false,
    }
}

/// Returns the start of the next string in `"a" + "b"`, `'a' . 'b'`, `"a" "b"`, `"a" \⏎ "b"`.
fn next_string_piece(bytes: &[u8], at: usize) -> Option<usize> {
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
        bytes.get(next) == Some(&quote) && bytes.get(next + 1).is_some_and(|&b| is_piece_byte(b));
    (apart && opens).then_some(next + 1)
}

/// Returns the start of the next line of a value that a terminal or a box has broken at `at`,
/// behind borders, comment and diff signs and line numbers.
fn next_line_piece(bytes: &[u8], at: usize) -> Option<usize> {
    let limit = bytes.len().min(at + MARGIN_BYTES_MAX);
    let end = skip_trailing_margin(&bytes[..limit], at)?;
    let next = skip_leading_margin(&bytes[..bytes.len().min(end + MARGIN_BYTES_MAX)], end);
    let len = bytes[next..]
        .iter()
        .take_while(|&&b| is_piece_byte(b))
        .count();
    let after = &bytes[next + len..];
    let stands_alone = after
        .first()
        .is_none_or(|b| b.is_ascii_whitespace() || b"\"'`,;)\\|<".contains(b))
        || border_len(after) > 0;
    (len >= 1 && stands_alone).then_some(next)
}

/// Skips the spaces and the border behind a line's text, and the line break.
pub(crate) fn skip_trailing_margin(bytes: &[u8], at: usize) -> Option<usize> {
    let mut next = skip_all_spaces(bytes, at);
    next += border_len(&bytes[next..]);
    next = skip_all_spaces(bytes, next);
    if bytes.get(next) == Some(&b'\\') && bytes.get(next + 1) != Some(&b'n') {
        next += 1;
    }
    next += usize::from(bytes.get(next) == Some(&b'\r'));
    let line_break = match bytes.get(next..)? {
        [b'\n', ..] => 1,
        // In text that is still escaped.
        [b'\\', b'n', ..] => 2,
        _ => return None,
    };
    Some(next + line_break)
}

/// Skips line numbers, borders and comment signs before the text of a line.
pub(crate) fn skip_leading_margin(bytes: &[u8], at: usize) -> usize {
    let mut next = skip_all_spaces(bytes, at);
    for _ in 0..3 {
        let rest = &bytes[next..];
        let digits = rest
            .iter()
            .take(7)
            .take_while(|b| b.is_ascii_digit())
            .count();
        let numbered = &rest[digits..];
        let is_number = (1..=6).contains(&digits)
            && (numbered.starts_with("→".as_bytes())
                || numbered.starts_with(b"\t")
                || numbered.starts_with(b": ")
                || border_len(numbered) > 0);
        let sign = if is_number {
            let mark = border_len(numbered).max(1);
            digits
                + if numbered.starts_with("→".as_bytes()) {
                    3
                } else {
                    mark
                }
        } else if border_len(rest) > 0 {
            border_len(rest)
        } else {
            line_prefix_len(rest)
        };
        if sign == 0 {
            break;
        }
        next = skip_all_spaces(bytes, next + sign);
    }
    next
}

/// Length of a comment, quotation or diff sign before a line's text.
fn line_prefix_len(rest: &[u8]) -> usize {
    let signs = [
        &b"// "[..],
        b"/// ",
        b"# ",
        b"> ",
        b"* ",
        b"-- ",
        b"; ",
        b"+ ",
        b"- ",
    ];
    if let Some(sign) = signs.iter().find(|sign| rest.starts_with(sign)) {
        return sign.len();
    }
    // A diff sign touches the text, and hardly any token starts with one.
    usize::from(matches!(rest.first(), Some(b'+' | b'>')))
}

/// Length of the border of a box or table at the start of `rest`.
fn border_len(rest: &[u8]) -> usize {
    match rest {
        [b'|', ..] => 1,
        // U+2500 to U+257F, box drawing.
        [0xe2, 0x94 | 0x95, _, ..] => 3,
        _ => 0,
    }
}

fn skip_all_spaces(bytes: &[u8], at: usize) -> usize {
    at + bytes[at.min(bytes.len())..]
        .iter()
        .take_while(|b| b" \t".contains(b))
        .count()
}

/// Returns where a quoted value that ends at `end` ends when the strings it is concatenated with
/// are included.
pub(crate) fn concatenation_end(text: &str, end: usize, quote: u8) -> usize {
    let bytes = text.as_bytes();
    let mut end = end;
    for _ in 0..SEAMS_MAX {
        if bytes.get(end) != Some(&quote) {
            break;
        }
        let Some(next) = next_string_piece(bytes, end) else {
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

/// Returns the value without the seams between its pieces.
pub(crate) fn join_pieces(value: &str) -> Cow<'_, str> {
    let bytes = value.as_bytes();
    let mut joined = String::new();
    let mut from = 0;
    for at in 0..bytes.len() {
        let next = match bytes[at] {
            _ if at < from => continue,
            b'"' | b'\'' | b'`' => next_string_piece(bytes, at),
            b' ' | b'\t' if at > 0 && b" \t".contains(&bytes[at - 1]) => continue,
            b'\r' | b'\n' | b'|' | b' ' | b'\t' | 0xe2 => next_line_piece(bytes, at),
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
