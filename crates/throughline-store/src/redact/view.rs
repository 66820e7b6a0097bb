//! Decoded views of a text: what a reader sees behind escapes and colour codes.
//!
//! A log line may hold JSON in a JSON string, a shell transcript may hold ANSI colours. Rather than
//! parse each format, a view undoes `\n`, `\"`, `\u002d` and drops colour codes, and remembers where
//! every byte came from. Secrets are looked for in the view and replaced in the source; marks need no
//! escaping, so what was valid JSON stays valid JSON, and half a record works like a whole one.

use memchr::memchr2;

/// Codex nests JSON twice and a log of such logs once more; beyond that nobody reads it.
const DEPTH_MAX: usize = 4;

/// The text with its layers of escapes undone.
#[derive(Debug)]
pub(super) struct View {
    text: String,
    /// One per layer, the outermost first.
    layers: Vec<Steps>,
}

/// `(position in the decoded text, position in the encoded text)` wherever their distance changes.
type Steps = Vec<(usize, usize)>;

impl View {
    /// Returns the innermost view, or `None` when the text has nothing to decode.
    pub(super) fn innermost(source: &str) -> Option<Self> {
        let (mut text, steps) = decode(source)?;
        let mut layers = vec![steps];
        while layers.len() < DEPTH_MAX {
            let Some((next, steps)) = decode(&text) else {
                break;
            };
            text = next;
            layers.push(steps);
        }
        Some(Self { text, layers })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Where in the source the view's `start..end` lies.
    pub(super) fn source(&self, start: usize, end: usize) -> (usize, usize) {
        self.layers
            .iter()
            .rev()
            .fold((start, end), |(start, end), steps| {
                let after = steps.partition_point(|step| step.0 <= start);
                let start = outer(steps, start, after);
                // A colour code behind the end stays: of two steps at one place the first is before it.
                let first = steps.partition_point(|step| step.0 < end);
                let at_step = steps.get(first).is_some_and(|step| step.0 == end);
                (start, outer(steps, end, first + usize::from(at_step)))
            })
    }
}

/// Position before decoding of `at`, given the number of steps at or before it.
fn outer(steps: &Steps, at: usize, count: usize) -> usize {
    match count.checked_sub(1).map(|last| steps[last]) {
        Some((decoded, encoded)) => encoded + (at - decoded),
        None => at,
    }
}

/// Undoes one layer; `None` when there was nothing to undo.
fn decode(source: &str) -> Option<(String, Steps)> {
    let bytes = source.as_bytes();
    let mut at = next_escape(bytes, 0)?;
    let mut text = String::with_capacity(source.len());
    let mut steps = Steps::new();
    let mut copied = 0;
    loop {
        match sequence(source, at) {
            Some((len, decoded)) => {
                text.push_str(&source[copied..at]);
                // Without a step of its own the sequence would map to its second byte.
                steps.push((text.len(), at));
                text.extend(decoded);
                copied = at + len;
                steps.push((text.len(), copied));
            }
            // A lone backslash stays; of two, the second must not start a sequence.
            None => {
                let Some(next) = next_escape(bytes, at + 1) else {
                    break;
                };
                at = next;
                continue;
            }
        }
        match next_escape(bytes, copied) {
            Some(next) => at = next,
            None => break,
        }
    }
    if steps.is_empty() {
        return None;
    }
    text.push_str(&source[copied..]);
    Some((text, steps))
}

fn next_escape(bytes: &[u8], from: usize) -> Option<usize> {
    memchr2(b'\\', 0x1b, bytes.get(from..)?).map(|at| from + at)
}

/// The length of the escape sequence at `at` and the character it stands for (none for a colour code).
fn sequence(source: &str, at: usize) -> Option<(usize, Option<char>)> {
    let rest = &source.as_bytes()[at..];
    if rest[0] == 0x1b {
        return colour(rest).map(|len| (len, None));
    }
    let simple = |c: char| Some((2, Some(c)));
    match *rest.get(1)? {
        b'n' => simple('\n'),
        b'r' => simple('\r'),
        b't' => simple('\t'),
        b'"' => simple('"'),
        b'\\' => simple('\\'),
        b'/' => simple('/'),
        b'u' => unicode(source, at),
        b'x' => {
            let code = u32::from_str_radix(source.get(at + 2..at + 4)?, 16).ok()?;
            char::from_u32(code)
                .filter(char::is_ascii)
                .map(|c| (4, Some(c)))
        }
        _ => None,
    }
}

fn unicode(source: &str, at: usize) -> Option<(usize, Option<char>)> {
    let unit = |at: usize| {
        let digits = source.get(at + 2..at + 6)?;
        let is_hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
        if is_hex && source[at..].starts_with("\\u") {
            u32::from_str_radix(digits, 16).ok()
        } else {
            None
        }
    };
    let high = unit(at)?;
    if let Some(c) = char::from_u32(high) {
        return Some((6, Some(c)));
    }
    let low = unit(at + 6).filter(|low| (0xdc00..0xe000).contains(low))?;
    let code = 0x10000 + ((high & 0x3ff) << 10) + (low & 0x3ff);
    char::from_u32(code).map(|c| (12, Some(c)))
}

fn colour(rest: &[u8]) -> Option<usize> {
    if rest.get(1) != Some(&b'[') {
        return None;
    }
    let end = rest[2..]
        .iter()
        .take(24)
        .position(|b| !b.is_ascii_digit() && !b";?:".contains(b))?;
    if !rest[2 + end].is_ascii_alphabetic() {
        return None;
    }
    Some(end + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The view of `source`, and what its first `needle` is in the source.
    #[track_caller]
    fn check(source: &str, needle: &str, found: &str) {
        let view = View::innermost(source).expect("something to decode");
        let at = view.text().find(needle).expect("needle in the view");
        let (start, end) = view.source(at, at + needle.len());
        assert_eq!(&source[start..end], found);
    }

    #[test]
    fn nothing_to_decode() {
        assert!(View::innermost(r"plain C:\Windows \d+").is_none());
    }

    #[test]
    fn one_layer() {
        check(r#"{"a":"x\n\"key\""}"#, "\n\"key\"", r#"\n\"key\""#);
        check(r#"{"k":"sk\u002dant"}"#, "sk-ant", r"sk\u002dant");
        check(r#""smile \ud83d\ude00 end""#, "end", "end");
    }

    #[test]
    fn layers_compose() {
        check(r#"{"o":"{\"p\":\"line\\nkey=1\"}"}"#, "key=1", "key=1");
        check(r#"{"o":"{\"p\":\"line\\nkey=1\"}"}"#, "\nkey", r"\\nkey");
    }

    #[test]
    fn colours_vanish() {
        check("\u{1b}[32mKEY=1\u{1b}[0m", "KEY=1", "KEY=1");
        check(r#""\u001b[1;32mKEY=1\u001b[0m""#, "KEY=1", "KEY=1");
    }
}
