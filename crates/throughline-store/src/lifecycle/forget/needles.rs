//! Finding a forgotten text inside another one, however it is written there.
//!
//! A log holds a text inside JSON, escaped once or twice, in its own frame, or in pieces. Both
//! sides are therefore reduced to letters and digits before they are compared, and matches are
//! blanked in place, so that the frame around them stays readable. For words that no remaining
//! record holds, the whole string around them is blanked.

use std::collections::{BTreeSet, HashSet};
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;

/// Replaces a forgotten text.
pub(crate) const FORGOTTEN_MARK: &str = "[forgotten]";
/// Replaces a whole line of a log.
const BLANK_LINE: &str = "{\"type\":\"throughline-forgotten\"}";
/// A text with fewer letters occurs inside unrelated texts.
const NEEDLE_BYTES_MIN: usize = 12;
/// How much of a needle must match before the rest is compared.
const HEAD_BYTES: usize = 48;
/// A shorter word occurs in too many other texts.
const WORD_CHARS_MIN: usize = 5;
/// With this many words no further text is split into words. Its letters still find it.
const WORDS_MAX: usize = 4000;

/// Forgotten texts, prepared for searching.
#[derive(Clone, Debug, Default)]
pub(crate) struct Needles {
    /// Letters and digits of each text, or of the parts between its redaction marks.
    texts: BTreeSet<String>,
    /// Finds the heads of the texts.
    heads: OnceLock<Option<AhoCorasick>>,
    /// The same for texts that are too short to be searched for inside others.
    short: HashSet<String>,
    words: HashSet<String>,
}

/// The lines of a log that are removed as a whole.
pub(crate) type LineNumbers = HashSet<u64>;

impl Needles {
    pub(crate) fn add(&mut self, text: &str) {
        let mut rest = text;
        loop {
            let (fragment, after) = match rest.split_once("[redacted:") {
                Some((before, mark)) => (before, mark.split_once(']').map(|(_, after)| after)),
                None => (rest, None),
            };
            let letters = FoldedLetters::of(fragment).text;
            if letters.len() >= NEEDLE_BYTES_MIN {
                self.texts.insert(letters);
                self.heads = OnceLock::new();
            } else if !letters.is_empty() {
                self.short.insert(letters);
            }
            match after {
                Some(after) => rest = after,
                None => return,
            }
        }
    }

    pub(crate) fn add_word(&mut self, word: String) {
        self.words.insert(word);
    }

    /// Returns whether a short text, such as a title, was taken from a forgotten one.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let letters = FoldedLetters::of(text);
        let whole = letters.text.as_str();
        !whole.is_empty()
            && (self.short.contains(whole)
                || self
                    .texts
                    .iter()
                    .any(|needle| needle.contains(whole) || whole.contains(needle.as_str()))
                || letters.words().any(|(word, _)| self.words.contains(word)))
    }

    /// Returns the text without the forgotten parts, or `None` when it holds none. Lines are
    /// counted from one.
    pub(crate) fn blank(&self, text: &str, lines: &LineNumbers) -> Option<String> {
        let letters = FoldedLetters::of(text);
        let form = LogSyntax::of(text);
        let mut spans = Vec::new();
        for (at, length) in self.found_in(&letters.text) {
            let (start, end) = letters.place(at, at + length);
            form.parts(text, start, end, &mut spans);
        }
        if !self.words.is_empty() {
            for (word, (start, end)) in letters.words() {
                if self.words.contains(word) {
                    spans.push(form.around(text, start, end));
                }
            }
        }
        let whole = if lines.is_empty() {
            Vec::new()
        } else {
            whole_lines(text, lines)
        };
        (!spans.is_empty() || !whole.is_empty()).then(|| cut(text, spans, &whole))
    }

    /// Returns where the texts occur and how much of each matches, since a log may cut a text off.
    fn found_in(&self, letters: &str) -> Vec<(usize, usize)> {
        let heads = self.heads.get_or_init(|| {
            let heads = self.texts.iter().map(|text| head(text));
            AhoCorasick::new(heads).ok()
        });
        let Some(heads) = heads.as_ref().filter(|_| !self.texts.is_empty()) else {
            return Vec::new();
        };
        let texts: Vec<_> = self.texts.iter().collect();
        heads
            .find_overlapping_iter(letters)
            .map(|found| {
                let text = texts[found.pattern().as_usize()].as_bytes();
                let rest = &letters.as_bytes()[found.start()..];
                let same = text.iter().zip(rest).take_while(|(a, b)| a == b).count();
                (found.start(), same)
            })
            .collect()
    }
}

fn head(text: &str) -> &str {
    &text[..text.floor_char_boundary(HEAD_BYTES)]
}

/// Returns the distinct words of a text, folded.
pub(crate) fn words_in(text: &str) -> BTreeSet<String> {
    let letters = FoldedLetters::of(text);
    letters.words().map(|(word, _)| word.to_owned()).collect()
}

/// Returns the distinct words of texts, folded, that are long enough to tell them from others.
pub(crate) fn distinctive_words<'t>(texts: impl Iterator<Item = &'t str>) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for text in texts {
        if words.len() >= WORDS_MAX {
            break;
        }
        let long = |word: &String| word.chars().count() >= WORD_CHARS_MIN;
        words.extend(words_in(text).into_iter().filter(long));
    }
    words
}

/// Returns the strings of a text that is JSON, decoded.
pub(crate) fn json_strings(text: &str) -> impl Iterator<Item = String> {
    let spans = match LogSyntax::of(text) {
        LogSyntax::Json(spans) => spans,
        LogSyntax::Plain => Vec::new(),
    };
    spans
        .into_iter()
        .filter_map(|(start, end)| serde_json::from_str(text.get(start - 1..=end)?).ok())
}

/// The letters and digits of a text, in lower case, and where each stood.
#[derive(Debug, Default)]
struct FoldedLetters {
    text: String,
    /// For each byte of `text`: where its character began and ended.
    source_ranges: Vec<(u32, u32)>,
    /// Where words end in `text`.
    word_ends: Vec<usize>,
}

impl FoldedLetters {
    fn of(text: &str) -> Self {
        let mut letters = Self::default();
        let bytes = text.as_bytes();
        let mut chars = text.char_indices();
        while let Some((start, c)) = chars.next() {
            if c == '\\' {
                let mut at = start + 1;
                while bytes.get(at) == Some(&b'\\') {
                    at += 1;
                }
                let (decoded, end) = escape(text, at);
                if let Some(c) = decoded {
                    letters.push(c, start, end);
                } else {
                    letters.end_word();
                }
                while chars.offset() < end && chars.next().is_some() {}
            } else if c.is_alphanumeric() {
                letters.push(c, start, start + c.len_utf8());
            } else {
                letters.end_word();
            }
        }
        letters.end_word();
        letters
    }

    fn push(&mut self, c: char, start: usize, end: usize) {
        if !c.is_alphanumeric() {
            return self.end_word();
        }
        let place = (
            u32::try_from(start).unwrap_or(u32::MAX),
            u32::try_from(end).unwrap_or(u32::MAX),
        );
        for lower in c.to_lowercase() {
            self.text.push(lower);
            self.source_ranges
                .extend(std::iter::repeat_n(place, lower.len_utf8()));
        }
    }

    fn end_word(&mut self) {
        if self.word_ends.last().copied().unwrap_or(0) < self.text.len() {
            self.word_ends.push(self.text.len());
        }
    }

    /// Returns where in the original a run of letters stood.
    fn place(&self, from: usize, to: usize) -> (usize, usize) {
        (
            self.source_ranges[from].0 as usize,
            self.source_ranges[to - 1].1 as usize,
        )
    }

    fn words(&self) -> impl Iterator<Item = (&str, (usize, usize))> {
        let starts = std::iter::once(0).chain(self.word_ends.iter().copied());
        starts
            .zip(self.word_ends.iter().copied())
            .map(|(from, to)| (&self.text[from..to], self.place(from, to)))
    }
}

/// Reads what follows a run of backslashes: the letter it stands for, if any, and where it ends.
fn escape(text: &str, at: usize) -> (Option<char>, usize) {
    match text.as_bytes().get(at) {
        Some(b'n' | b't' | b'r' | b'b' | b'f') => (None, at + 1),
        Some(b'u') => {
            let digits = text.get(at + 1..at + 5);
            let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
            match code {
                Some(code) => (char::from_u32(code), at + 5),
                None => (None, at),
            }
        }
        _ => (None, at),
    }
}

/// The encoding of a text.
enum LogSyntax {
    /// The ranges between quotes.
    Json(Vec<(usize, usize)>),
    Plain,
}

impl LogSyntax {
    fn of(text: &str) -> Self {
        if !text.trim_start().starts_with(['{', '[']) {
            return Self::Plain;
        }
        let mut spans = Vec::new();
        let mut open = None;
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            match (bytes[at], open) {
                (b'\\', Some(_)) => at += 1,
                (b'"', None) => open = Some(at + 1),
                (b'"', Some(start)) => {
                    spans.push((start, at));
                    open = None;
                }
                // A JSON string does not span lines, so the quote was an apostrophe.
                (b'\n', _) => open = None,
                _ => {}
            }
            at += 1;
        }
        Self::Json(spans)
    }

    /// Adds the parts of a range that are blanked: the strings in it, and the digits between them.
    fn parts(&self, text: &str, start: usize, end: usize, spans: &mut Vec<Replacement>) {
        let Self::Json(literals) = self else {
            spans.push(Replacement {
                start,
                end,
                with: FORGOTTEN_MARK,
            });
            return;
        };
        let mut at = start;
        let first = literals.partition_point(|(_, close)| *close <= start);
        for &(open, close) in literals[first..].iter().take_while(|(open, _)| *open < end) {
            digits(text, at, open.max(at), spans);
            spans.push(Replacement {
                start: open.max(start),
                end: close.min(end),
                with: FORGOTTEN_MARK,
            });
            at = close.min(end);
        }
        digits(text, at, end, spans);
    }

    /// Returns the string or the line around a word.
    fn around(&self, text: &str, start: usize, end: usize) -> Replacement {
        let (start, end) = match self {
            Self::Json(literals) => {
                let at = literals.partition_point(|(_, close)| *close <= start);
                match literals.get(at) {
                    Some(&(open, close)) if open <= start => (open, close.max(end)),
                    _ => (start, end),
                }
            }
            Self::Plain => {
                let open = text[..start].rfind('\n').map_or(0, |at| at + 1);
                let close = text[end..].find('\n').map_or(text.len(), |at| end + at);
                (open, close)
            }
        };
        Replacement {
            start,
            end,
            with: FORGOTTEN_MARK,
        }
    }
}

/// A range and its replacement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Replacement {
    start: usize,
    end: usize,
    with: &'static str,
}

fn digits(text: &str, start: usize, end: usize, spans: &mut Vec<Replacement>) {
    if start >= end {
        return;
    }
    let found = text[start..end]
        .char_indices()
        .filter(|(_, c)| c.is_ascii_digit());
    spans.extend(found.map(|(at, _)| Replacement {
        start: start + at,
        end: start + at + 1,
        with: "0",
    }));
}

fn whole_lines(text: &str, lines: &LineNumbers) -> Vec<(usize, usize)> {
    let mut at = 0;
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let body = line.trim_end();
        if lines.contains(&number) && body.starts_with('{') && body.ends_with('}') {
            found.push((at, at + body.len()));
        }
        at += line.len();
    }
    found
}

fn cut(text: &str, mut spans: Vec<Replacement>, whole: &[(usize, usize)]) -> String {
    spans.retain(|span| {
        !whole
            .iter()
            .any(|(start, end)| *start <= span.start && span.end <= *end)
    });
    spans.extend(whole.iter().map(|&(start, end)| Replacement {
        start,
        end,
        with: BLANK_LINE,
    }));
    spans.sort();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for span in spans {
        if span.end <= at {
            continue;
        }
        if span.start >= at {
            out.push_str(&text[at..span.start]);
            out.push_str(span.with);
        }
        // Other code counts lines, so each keeps its line break.
        let gone = &text[span.start.max(at)..span.end];
        out.extend(gone.chars().filter(|c| *c == '\n'));
        at = span.end;
    }
    out.push_str(&text[at..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(forgotten: &str, text: &str, expected: &str) {
        let mut needles = Needles::default();
        needles.add(forgotten);
        let blanked = needles.blank(text, &LineNumbers::new());
        assert_eq!(blanked.as_deref().unwrap_or(text), expected);
    }

    #[test]
    fn a_text_is_found_in_its_frame() {
        let text = "fix the \"parser\"\nof zorblax";
        check(
            text,
            r#"{"a":"x","t":"fix the \"parser\"\nof zorblax","n":1}"#,
            r#"{"a":"x","t":"[forgotten]","n":1}"#,
        );
        check(
            text,
            r#"{"a":"{\"t\":\"fix the \\\"parser\\\"\\nof zorblax\"}"}"#,
            r#"{"a":"{\"t\":\"[forgotten]\"}"}"#,
        );
        check(
            text,
            "# fix the \"parser\"\nof zorblax!\n",
            "# [forgotten]\n!\n",
        );
        check(
            "caf\u{e9} au lait please",
            r#"{"t":"caf\u00e9 au lait please"}"#,
            r#"{"t":"[forgotten]"}"#,
        );
        check(
            "command: make all-the-things 42",
            r#"{"command":"make all-the-things","n":42}"#,
            r#"{"command":"make all-the-things","n":42}"#,
        );
        check(
            "command: make all-the-things",
            r#"{"command":"make all-the-things","n":42}"#,
            r#"{"[forgotten]":"[forgotten]","n":42}"#,
        );
        check("yes", r#"{"t":"yes"}"#, r#"{"t":"yes"}"#);
        check(
            "the key [redacted:aws-key:aabbcc] is for the zorblax account",
            r#"{"t":"the key [redacted:other:001122] is for the zorblax account"}"#,
            r#"{"t":"the key [redacted:other:001122] [forgotten]"}"#,
        );
    }

    #[test]
    fn words_take_their_string_with_them() {
        let mut needles = Needles::default();
        needles.add_word("zorblax".to_owned());
        let text = "{\"a\":\"one zorblax\",\"b\":\"two\"}\n{\"c\":\"zorblaxes\"}\n";
        assert_eq!(
            needles.blank(text, &LineNumbers::new()).unwrap(),
            "{\"a\":\"[forgotten]\",\"b\":\"two\"}\n{\"c\":\"zorblaxes\"}\n"
        );
        assert!(needles.matches("On Zorblax"));
    }

    #[test]
    fn a_line_goes_whole() {
        let text = "{\"a\":1}\n{\"b\":2}\nplain\n";
        let lines = LineNumbers::from([2, 3]);
        assert_eq!(
            Needles::default().blank(text, &lines).unwrap(),
            "{\"a\":1}\n{\"type\":\"throughline-forgotten\"}\nplain\n"
        );
    }
}
