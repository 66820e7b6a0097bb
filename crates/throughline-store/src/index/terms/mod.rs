//! Terms: what a text is indexed by.
//!
//! A word is a run of letters and digits, folded (case, diacritics) and stemmed. Identifiers and
//! paths are split at their word boundaries, and `HttpServer` is also kept whole; scripts without
//! spaces are split into pairs of characters. Texts and queries use the same functions, so their
//! terms always agree. [`stem`] stems English; [`stop`] lists stop words.

pub mod stem;
mod stem_cache;
mod stop;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;

use memory::RecordKind;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

pub use self::stop::{is_stop, is_unindexed};

/// A longer run of letters is data rather than a word, and would only make the index larger.
const WORD_BYTES_MAX: usize = 48;
/// How much of a tool's output is indexed: its head says what it was about, its tail how it ended.
const OUTPUT_HEAD_BYTES: usize = 4 << 10;
const OUTPUT_TAIL_BYTES: usize = 1 << 10;
/// How much of the text of a person or a model is indexed.
const SPEECH_BYTES_MAX: usize = 64 << 10;

/// The initial capacity for the words of a text, and for its terms.
const SEEN_MAX: usize = 2048;
const TERMS_BYTES: usize = 8 << 10;

/// The prefix of speaker terms, so that a query can ask who said something.
pub const SPEAKER: char = '=';
/// The prefix of scope terms, by which the index filters.
pub const SCOPE: char = '@';

/// A map from words, by their [`hash_word`].
pub type WordHashMap<V> = HashMap<u64, V, BuildHasherDefault<IdentityHasher>>;

/// A word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexWord<'a> {
    /// The byte range in the text.
    pub start: usize,
    pub end: usize,
    /// Folded, but not stemmed.
    pub folded: Cow<'a, str>,
    /// The word consists of several words, which follow.
    pub is_compound: bool,
}

/// What a byte is to the words of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordByte {
    Separator,
    /// A small letter or a digit, which folding leaves as it is.
    Plain,
    /// A capital letter, or a part of a character beyond ASCII.
    Other,
}

static WORD_BYTES: [WordByte; 256] = word_bytes();

const fn word_bytes() -> [WordByte; 256] {
    let mut classes = [WordByte::Other; 256];
    let mut byte = 0_u8;
    while byte < 0x80 {
        if byte.is_ascii_lowercase() || byte.is_ascii_digit() {
            classes[byte as usize] = WordByte::Plain;
        } else if !byte.is_ascii_uppercase() {
            classes[byte as usize] = WordByte::Separator;
        }
        byte += 1;
    }
    classes
}

/// Calls `each` with the words of a text in order.
pub fn words<'a>(text: &'a str, mut each: impl FnMut(IndexWord<'a>)) {
    let bytes = text.as_bytes();
    let class_at = |at: usize| match bytes.get(at) {
        Some(byte) => WORD_BYTES[usize::from(*byte)],
        None => WordByte::Separator,
    };
    let mut at = 0;
    while at < bytes.len() {
        let class = class_at(at);
        if class == WordByte::Plain {
            let mut end = at + 1;
            while class_at(end) == WordByte::Plain {
                end += 1;
            }
            // Most words are of this form, and need no folding or splitting.
            if class_at(end) == WordByte::Separator {
                if end - at <= WORD_BYTES_MAX {
                    each(IndexWord {
                        start: at,
                        end,
                        folded: Cow::Borrowed(&text[at..end]),
                        is_compound: false,
                    });
                }
                at = end;
                continue;
            }
        }
        if class != WordByte::Separator {
            let end = run_end(text, at);
            if end == at {
                // A character that is neither letter nor digit.
                at += text[at..].chars().next().map_or(1, char::len_utf8);
                continue;
            }
            split_run(text, at, end, &mut each);
            at = end;
        } else {
            at += 1;
        }
    }
}

/// Returns the end of the run of letters and digits that begins at `start`.
fn run_end(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = start;
    while at < bytes.len() {
        if bytes[at].is_ascii_alphanumeric() {
            at += 1;
        } else if bytes[at] < 0x80 {
            break;
        } else {
            match text[at..].chars().next() {
                Some(c) if c.is_alphanumeric() || is_combining_mark(c) => at += c.len_utf8(),
                _ => break,
            }
        }
    }
    at
}

fn split_run<'a>(text: &'a str, start: usize, end: usize, each: &mut impl FnMut(IndexWord<'a>)) {
    let run = &text[start..end];
    if !run.is_ascii() {
        return split_non_ascii(run, start, each);
    }
    if run.len() > WORD_BYTES_MAX {
        return;
    }
    let bytes = run.as_bytes();
    let mut seam = 0;
    let mut parts = 0;
    for at in 1..bytes.len() {
        if is_word_boundary(bytes, at) {
            if parts == 0 {
                each(fold_word(run, 0..run.len(), start, true));
            }
            parts += 1;
            each(fold_word(run, seam..at, start, false));
            seam = at;
        }
    }
    each(fold_word(run, seam..run.len(), start, false));
}

/// Says whether a new word begins at `at`, as in `httpServer` and `HTTPServer`.
fn is_word_boundary(bytes: &[u8], at: usize) -> bool {
    bytes[at].is_ascii_uppercase()
        && (bytes[at - 1].is_ascii_lowercase()
            || (bytes[at - 1].is_ascii_uppercase()
                && bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase)
                && bytes[at - 1..].len() > 3))
}

fn fold_word(
    run: &str,
    part: std::ops::Range<usize>,
    start: usize,
    is_whole: bool,
) -> IndexWord<'_> {
    let text = &run[part.clone()];
    let folded = if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Borrowed(text)
    };
    IndexWord {
        start: start + part.start,
        end: start + part.end,
        folded,
        is_compound: is_whole,
    }
}

/// Splits a run with letters beyond ASCII: it is folded, or split into pairs where the script has
/// no spaces.
fn split_non_ascii<'a>(run: &str, start: usize, each: &mut impl FnMut(IndexWord<'a>)) {
    let end = start + run.len();
    if run.chars().any(has_no_spaces) {
        let chars: Vec<(usize, char)> = run.char_indices().collect();
        for (i, &(at, first)) in chars.iter().enumerate() {
            let (to, second) = match chars.get(i + 1) {
                Some(&(next, second)) => (next + second.len_utf8(), Some(second)),
                None if i == 0 => (run.len(), None),
                None => break,
            };
            let folded: String = [Some(first), second].into_iter().flatten().collect();
            each(IndexWord {
                start: start + at,
                end: start + to,
                folded: Cow::Owned(folded.to_lowercase()),
                is_compound: false,
            });
        }
        return;
    }
    let folded: String = run
        .nfkd()
        // Some letters decompose into others and punctuation: ⒜ becomes (a).
        .filter(|c| c.is_alphanumeric() && !is_combining_mark(*c))
        .flat_map(char::to_lowercase)
        .collect();
    if !folded.is_empty() && folded.len() <= WORD_BYTES_MAX {
        each(IndexWord {
            start,
            end,
            folded: Cow::Owned(folded),
            is_compound: false,
        });
    }
}

fn has_no_spaces(c: char) -> bool {
    matches!(c, '\u{0e00}'..='\u{0eff}' | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Returns the term of a word: its stem.
pub fn term(word: &IndexWord<'_>) -> String {
    stem::stem(&word.folded).into_owned()
}

/// Says whether a word is indexed and not a stop word.
pub fn is_content(folded: &str) -> bool {
    is_indexed(folded) && !is_stop(folded)
}

/// Says whether a word is indexed.
pub fn is_indexed(folded: &str) -> bool {
    match folded.len() {
        0 => false,
        1 => folded.as_bytes()[0].is_ascii_digit() || !folded.is_ascii(),
        _ => !is_unindexed(folded),
    }
}

/// The parts of a record that it is found by, besides its scope.
#[derive(Clone, Copy, Debug)]
pub struct IndexDocument<'a> {
    pub kind: RecordKind,
    pub text: &'a str,
    pub tool: Option<&'a str>,
    pub path: Option<&'a str>,
    pub speaker: Option<&'a str>,
    /// The record's tags as a JSON array, like the column.
    pub tags: Option<&'a str>,
}

impl IndexDocument<'_> {
    /// Returns the terms of the document, each once, separated by spaces.
    pub fn terms(&self) -> String {
        let mut terms = TermCollector::of(self.text);
        let (head, tail) = indexed_parts(self.kind, self.text);
        for text in [Some(head), Some(tail), self.tool, self.path]
            .into_iter()
            .flatten()
        {
            words(text, |word| terms.add(&word));
        }
        if let Some(speaker) = self.speaker {
            words(speaker, |word| terms.push(Some(SPEAKER), &term(&word)));
        }
        for tag in self.tags.map(parse_tags).unwrap_or_default() {
            words(&tag, |word| terms.add(&word));
            terms.push(Some(SCOPE), &tag_term(&tag));
        }
        terms.out
    }
}

/// Returns the tags of the column that a program or a person gave. The tag of sensitive records is
/// ours: it is no word of theirs, and too common to filter by.
fn parse_tags(json: &str) -> Vec<String> {
    let mut tags: Vec<String> = serde_json::from_str(json).unwrap_or_default();
    tags.retain(|tag| tag != memory::record::SENSITIVE_TAG);
    tags
}

/// Returns the scope term of a tag. It is a hash, because a tag may contain any character; upper
/// and lower case are the same.
pub fn tag_term(tag: &str) -> String {
    let hash = blake3::hash(tag.trim().to_lowercase().as_bytes()).to_hex();
    format!("t{}", &hash[..16])
}

/// Returns the parts of a text that are indexed.
fn indexed_parts(kind: RecordKind, text: &str) -> (&str, &str) {
    let (head_max, tail_max) = match kind {
        RecordKind::ToolResult | RecordKind::ToolUse | RecordKind::Artifact | RecordKind::Error => {
            (OUTPUT_HEAD_BYTES, OUTPUT_TAIL_BYTES)
        }
        RecordKind::Prompt
        | RecordKind::Assistant
        | RecordKind::Thinking
        | RecordKind::Approval
        | RecordKind::Summary => (SPEECH_BYTES_MAX, 0),
    };
    if text.len() <= head_max + tail_max {
        return (text, "");
    }
    let head = text.floor_char_boundary(head_max);
    let tail = text.ceil_char_boundary(text.len() - tail_max);
    (&text[..head], &text[tail..])
}

/// Collects terms. Words are remembered by their hash alone, because a text has many and most
/// recur.
struct TermCollector {
    seen: HashSet<u64, BuildHasherDefault<IdentityHasher>>,
    out: String,
}

/// Keeps the hashes of words and of terms apart: a stem may equal a word that is not indexed.
const TERM_SALT: u64 = 0x9e37_79b9_7f4a_7c15;

impl TermCollector {
    fn of(text: &str) -> Self {
        let words = (text.len() / 4).min(SEEN_MAX);
        Self {
            seen: HashSet::with_capacity_and_hasher(words, BuildHasherDefault::default()),
            out: String::with_capacity(text.len().min(TERMS_BYTES) + 64),
        }
    }

    fn add(&mut self, word: &IndexWord<'_>) {
        let hash = hash_word(&word.folded);
        if self.seen.insert(hash) {
            stem_cache::with_stem(&word.folded, hash, |stem, stem_hash| {
                if self.seen.insert(stem_hash ^ TERM_SALT) {
                    self.append(None, stem);
                }
            });
        }
    }

    fn push(&mut self, prefix: Option<char>, term: &str) {
        if prefix.is_some() || self.seen.insert(hash_word(term) ^ TERM_SALT) {
            self.append(prefix, term);
        }
    }

    fn append(&mut self, prefix: Option<char>, term: &str) {
        if !self.out.is_empty() {
            self.out.push(' ');
        }
        self.out.extend(prefix);
        self.out.push_str(term);
    }
}

/// Returns a fast hash of a word. It is not safe against crafted collisions, and need not be.
pub fn hash_word(word: &str) -> u64 {
    let hash = word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // The hash set takes the bucket from the low bits and the tag from the high bits.
    hash ^ (hash >> 32)
}

/// A hasher for keys that are hashes already.
#[derive(Debug, Default)]
pub struct IdentityHasher(u64);

impl std::hash::Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0 << 8 | u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let document = IndexDocument {
            kind: RecordKind::Prompt,
            text,
            tool: None,
            path: None,
            speaker: None,
            tags: None,
        };
        assert_eq!(document.terms(), expected);
    }

    #[test]
    fn identifiers_come_apart() {
        check("parse_config_file()", "pars config file");
        check("HttpServer httpServer HTTPServer", "httpserver http server");
        check("src/search/index.rs:42", "src search index rs 42");
        check("error[E0308]: --dry-run", "error e0308 dry run");
        check("IDs and URLs", "id url");
    }

    #[test]
    fn words_are_folded_stemmed_and_said_once() {
        check("The migrations migrated; MIGRATING", "migrat");
        check("Café CAFE naïve", "cafe naiv");
        check("don't", "");
    }

    #[test]
    fn scripts_without_spaces_become_pairs() {
        check("数据库迁移", "数据 据库 库迁 迁移");
        check("שלום עולם", "שלום עולם");
    }

    #[test]
    fn data_is_no_word() {
        check(&"A1b2".repeat(30), "");
        check("🎉 \0 — …", "");
    }

    #[test]
    fn output_is_found_by_its_ends() {
        let text = format!("first {} last", "middle ".repeat(2000));
        let text = text.replacen("middle middle", "middle", 1);
        let (head, tail) = indexed_parts(RecordKind::ToolResult, &text);
        assert!(head.starts_with("first") && tail.ends_with("last"));
        assert!(head.len() + tail.len() <= OUTPUT_HEAD_BYTES + OUTPUT_TAIL_BYTES);
    }

    #[test]
    fn a_speaker_and_a_tag_are_asked_for_apart() {
        let document = IndexDocument {
            kind: RecordKind::Prompt,
            text: "hello",
            tool: None,
            path: None,
            speaker: Some("Mary Ann"),
            tags: Some(r#"["Go-Live","sensitive"]"#),
        };
        let tag = tag_term("go-live");
        let expected = format!("hello =mari =ann go live @{tag}");
        assert_eq!(document.terms(), expected);
    }
}
