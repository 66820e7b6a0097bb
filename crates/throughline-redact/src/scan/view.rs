//! Decoded views of a text: what a reader would see behind escapes and colour codes.
//!
//! A log line may hold JSON in a JSON string, a shell transcript ANSI colours, a web page HTML
//! entities, a URL percent-encoded fields. A view does not parse these formats. It undoes `\n`,
//! `\"`, `\u002d` and `&quot;`, drops colour codes and zero-width characters, and remembers where
//! every byte came from. Secrets are found in the view and replaced in the source. Marks need no
//! escaping, so valid JSON stays valid JSON, and half a record can be redacted like a whole one.

/// Logs of logs nest JSON a few times. Each layer halves the backslashes, so this is not reached.
const DEPTH_MAX: usize = 12;
/// How far behind its start the end of a terminal hyperlink is searched for.
const LINK_BYTES_MAX: usize = 1024;

/// Which encodings a view undoes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encodings {
    /// Escapes, entities, colours, zero-width characters.
    Escapes,
    /// `%22` as well. This is a separate view, because a value may hold text that only looks like
    /// percent-encoding.
    EscapesAndPercent,
}

/// The text with its layers of escapes undone.
#[derive(Debug)]
pub(crate) struct DecodedView {
    text: String,
    /// One map per layer, the outermost first.
    layers: Vec<OffsetMap>,
}

/// `(offset in the decoded text, offset in the encoded text)` wherever their distance changes.
type OffsetMap = Vec<(usize, usize)>;

impl DecodedView {
    /// Returns the innermost view, or `None` when the text has nothing to decode.
    pub(crate) fn innermost(source: &str, encodings: Encodings) -> Option<Self> {
        let (mut text, steps) = decode(source, encodings)?;
        let mut layers = vec![steps];
        while layers.len() < DEPTH_MAX {
            let Some((next, steps)) = decode(&text, encodings) else {
                break;
            };
            text = next;
            layers.push(steps);
        }
        Some(Self { text, layers })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Maps the view's `start..end` to the source.
    pub(crate) fn source_range(&self, start: usize, end: usize) -> (usize, usize) {
        self.layers
            .iter()
            .rev()
            .fold((start, end), |(start, end), steps| {
                let after = steps.partition_point(|step| step.0 <= start);
                let start = encoded_offset(steps, start, after);
                // A colour code behind the end stays: of two entries at one offset the first is
                // before it.
                let first = steps.partition_point(|step| step.0 < end);
                let at_step = steps.get(first).is_some_and(|step| step.0 == end);
                (
                    start,
                    encoded_offset(steps, end, first + usize::from(at_step)),
                )
            })
    }
}

/// Maps `at` to the encoded text, given the number of entries at or before it.
fn encoded_offset(steps: &OffsetMap, at: usize, count: usize) -> usize {
    match count.checked_sub(1).map(|last| steps[last]) {
        Some((decoded, encoded)) => encoded + (at - decoded),
        None => at,
    }
}

/// Undoes one layer. Returns `None` when there is nothing to undo.
fn decode(source: &str, encodings: Encodings) -> Option<(String, OffsetMap)> {
    let bytes = source.as_bytes();
    let starts = match encodings {
        Encodings::Escapes => &ESCAPES,
        Encodings::EscapesAndPercent => &ESCAPES_AND_PERCENT,
    };
    let next = |from: usize| {
        let rest = bytes.get(from..)?;
        let at = rest.iter().position(|&byte| starts[usize::from(byte)])?;
        Some(from + at)
    };
    let mut text = String::new();
    let mut steps = OffsetMap::new();
    let mut copied = 0;
    let mut from = 0;
    while let Some(at) = next(from) {
        let Some((len, decoded)) = decode_sequence(source, at) else {
            // A lone backslash stays.
            from = at + 1;
            continue;
        };
        if steps.is_empty() {
            text.reserve(source.len());
        }
        text.push_str(&source[copied..at]);
        // Without an entry of its own the sequence would map to its second byte.
        steps.push((text.len(), at));
        text.extend(decoded);
        copied = at + len;
        steps.push((text.len(), copied));
        from = copied;
    }
    if steps.is_empty() {
        return None;
    }
    text.push_str(&source[copied..]);
    Some((text, steps))
}

/// The bytes that may start a sequence.
static ESCAPES: [bool; 256] = byte_table(b"\\\x1b&\xc2\xe1\xe2\xef\xf3");
static ESCAPES_AND_PERCENT: [bool; 256] = byte_table(b"\\\x1b&\xc2\xe1\xe2\xef\xf3%");

const fn byte_table(bytes: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut at = 0;
    while at < bytes.len() {
        table[bytes[at] as usize] = true;
        at += 1;
    }
    table
}

/// Returns the length of the sequence at `at` and the character it stands for (none for a colour
/// code).
fn decode_sequence(source: &str, at: usize) -> Option<(usize, Option<char>)> {
    let rest = &source.as_bytes()[at..];
    match rest[0] {
        0x1b => control_sequence_len(rest).map(|len| (len, None)),
        b'&' => decode_entity(rest).map(|(len, c)| (len, Some(c))),
        b'%' => decode_percent(rest).map(|c| (3, Some(c))),
        b'\\' => decode_escape(source, at).map(|(len, c)| (len, Some(c))),
        _ => invisible_len(source, at).map(|len| (len, None)),
    }
}

/// Returns the length of the escape at `at`, which is a backslash, and the character it stands for.
pub(crate) fn decode_escape(source: &str, at: usize) -> Option<(usize, char)> {
    let simple = |c: char| Some((2, c));
    match *source.as_bytes().get(at + 1)? {
        b'n' => simple('\n'),
        b'r' => simple('\r'),
        b't' => simple('\t'),
        b'"' => simple('"'),
        b'\\' => simple('\\'),
        b'/' => simple('/'),
        b'u' => decode_unicode_escape(source, at),
        b'x' => {
            let code = u32::from_str_radix(source.get(at + 2..at + 4)?, 16).ok()?;
            char::from_u32(code).filter(char::is_ascii).map(|c| (4, c))
        }
        _ => None,
    }
}

/// Returns the character that `%22` stands for, if it is printable or a line break.
fn decode_percent(rest: &[u8]) -> Option<char> {
    let digit = |at: usize| char::from(*rest.get(at)?).to_digit(16);
    let byte = u8::try_from(digit(1)? * 16 + digit(2)?).ok()?;
    let visible = (0x20..0x7f).contains(&byte) || b"\n\r\t".contains(&byte);
    visible.then_some(char::from(byte))
}

/// True when `text` has a percent-encoded character.
pub(crate) fn has_percent(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'%', bytes).any(|at| decode_percent(&bytes[at..]).is_some())
}

/// Returns the length of an HTML entity for an ASCII character, and the character.
fn decode_entity(rest: &[u8]) -> Option<(usize, char)> {
    let named = [
        (&b"&quot;"[..], '"'),
        (b"&apos;", '\''),
        (b"&amp;", '&'),
        (b"&lt;", '<'),
        (b"&gt;", '>'),
        (b"&nbsp;", ' '),
        (b"&equals;", '='),
        (b"&colon;", ':'),
    ];
    if let Some((name, sign)) = named.iter().find(|(name, _)| rest.starts_with(name)) {
        return Some((name.len(), *sign));
    }
    let number = rest.strip_prefix(b"&#")?;
    let (digits, radix) = match number.strip_prefix(b"x").or(number.strip_prefix(b"X")) {
        Some(hex) => (hex, 16),
        None => (number, 10),
    };
    let len = digits.iter().take(6).position(|&b| b == b';')?;
    let code = std::str::from_utf8(&digits[..len]).ok()?;
    let sign = u32::from_str_radix(code, radix)
        .ok()
        .and_then(char::from_u32)?;
    let length = rest.len() - digits.len() + len + 1;
    sign.is_ascii().then_some((length, sign))
}

/// Returns the length of a zero-width character.
fn invisible_len(source: &str, at: usize) -> Option<usize> {
    let c = source.get(at..)?.chars().next()?;
    is_invisible(c).then_some(c.len_utf8())
}

fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{2069}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// Literals of text that must be decoded before it can be judged.
pub(crate) const HIDDEN_SEQUENCES: &[&str] = &[
    "\u{1b}", "\u{ad}", "\u{180e}", "\u{200b}", "\u{200c}", "\u{200d}", "\u{200e}", "\u{200f}",
    "\u{202a}", "\u{202b}", "\u{202c}", "\u{202d}", "\u{202e}", "\u{2060}", "\u{2061}", "\u{2062}",
    "\u{2063}", "\u{2064}", "\u{2066}", "\u{2067}", "\u{2068}", "\u{2069}", "\u{feff}",
];

fn decode_unicode_escape(source: &str, at: usize) -> Option<(usize, char)> {
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
        return Some((6, c));
    }
    let low = unit(at + 6).filter(|low| (0xdc00..0xe000).contains(low))?;
    let code = 0x10000 + ((high & 0x3ff) << 10) + (low & 0x3ff);
    char::from_u32(code).map(|c| (12, c))
}

/// Returns the length of a terminal control sequence: a colour, a cursor movement, a hyperlink.
fn control_sequence_len(rest: &[u8]) -> Option<usize> {
    match rest.get(1)? {
        b'[' => {
            let end = rest[2..]
                .iter()
                .take(24)
                .position(|b| !b.is_ascii_digit() && !b";?:".contains(b))?;
            (0x40..0x7f).contains(&rest[2 + end]).then_some(end + 3)
        }
        b']' => {
            let body = rest[2..].iter().take(LINK_BYTES_MAX);
            let end = body.clone().position(|&b| b == 0x07 || b == 0x1b)?;
            let is_long_end = rest[2 + end] == 0x1b;
            (!is_long_end || rest.get(3 + end) == Some(&b'\\'))
                .then_some(end + 3 + usize::from(is_long_end))
        }
        // The name of a character set. In garbage any character may stand here, also the quotation
        // mark that ends a string.
        b'(' | b')' => rest.get(2).filter(|b| b.is_ascii_alphanumeric()).map(|_| 3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The view of `source`, and what its first `needle` is in the source.
    #[track_caller]
    fn check(source: &str, needle: &str, found: &str) {
        let view = DecodedView::innermost(source, Encodings::Escapes).expect("something to decode");
        let at = view.text().find(needle).expect("needle in the view");
        let (start, end) = view.source_range(at, at + needle.len());
        assert_eq!(&source[start..end], found);
    }

    #[test]
    fn nothing_to_decode() {
        assert!(DecodedView::innermost(r"plain C:\Windows \d+", Encodings::Escapes).is_none());
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
    fn entities_and_invisible_characters() {
        check("password=&quot;x y&quot;", "=\"x y\"", "=&quot;x y&quot;");
        check("sk&#45;ant &#x2d; &bogus;", "sk-ant", "sk&#45;ant");
        check("gh\u{200b}p_\u{feff}x", "ghp_x", "gh\u{200b}p_\u{feff}x");
        assert!(DecodedView::innermost("a &str → b & c %20", Encodings::Escapes).is_none());
    }

    #[test]
    fn percent_has_a_view_of_its_own() {
        let view = DecodedView::innermost("a%253Db%20%e4", Encodings::EscapesAndPercent);
        assert_eq!(view.expect("something to decode").text(), "a=b %e4");
        assert!(has_percent("x%20") && !has_percent("100% of 5%, %s %zz %e4"));
    }

    #[test]
    fn hyperlinks_vanish() {
        check(
            "\u{1b}]8;;https://a.test\u{7}KEY=1\u{1b}]8;;\u{7}",
            "KEY=1",
            "KEY=1",
        );
    }

    #[test]
    fn colours_vanish() {
        check("\u{1b}[32mKEY=1\u{1b}[0m", "KEY=1", "KEY=1");
        check(r#""\u001b[1;32mKEY=1\u001b[0m""#, "KEY=1", "KEY=1");
        check("\u{1b}(BKEY=1", "KEY=1", "KEY=1");
        // A character of several bytes ends no sequence.
        check(
            "\u{1b}(\u{fffd}\u{1b}[0mKEY=1",
            "(\u{fffd}KEY",
            "(\u{fffd}\u{1b}[0mKEY",
        );
    }
}
