//! The words of a short text, reduced for comparison: lower case, stemmed, without stop words.
//!
//! Facts and prompts are compared by these words. The search index has a tokenizer of its own in
//! the store, with a Porter stemmer and another stop list, and the two must stay separate: the id
//! of a fact is a hash of these stems, so every stored fact id depends on this stemmer, while the
//! fitted ranking weights depend on the other one. They also have different needs. A name such as
//! `cargo-test` or `src/main.rs` stays whole here, while the index splits it, and negations are a
//! property of a statement here, while they are stop words there.

use std::collections::{BTreeSet, HashSet};
use std::sync::LazyLock;

/// Only the first bytes of a longer text are compared: a prompt may be a paste of a megabyte.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// Words that occur in every kind of sentence and carry no meaning of their own.
const STOP_WORDS: &[&str] = &[
    "a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because",
    "been", "but", "by", "can", "could", "did", "do", "does", "for", "from", "had", "has", "have",
    "he", "here", "how", "i", "if", "in", "into", "is", "it", "its", "just", "let", "like", "me",
    "my", "now", "of", "on", "or", "our", "please", "she", "should", "so", "some", "that", "the",
    "their", "them", "then", "there", "these", "they", "this", "those", "to", "too", "up", "us",
    "was", "we", "were", "what", "when", "where", "which", "while", "who", "why", "will", "with",
    "would", "you", "your", "always", "ever", "yes", "ok", "okay", "s", "t", "re", "ve", "ll", "m",
    "d", "one", "only", "very", "want", "need", "thanks", "thank", "hi", "hello",
];

/// Words that occur in most prompts about code. They weigh less than others.
#[rustfmt::skip]
const COMMON_WORDS: &[&str] = &[
    "add", "app", "again", "build", "bug", "change", "check", "code", "commit", "continue",
    "create", "do", "done", "error", "fail", "file", "find", "fix", "folder", "function", "get",
    "give", "go", "good", "help", "implement", "issue", "it", "keep", "line", "look", "make",
    "more", "new", "next", "old", "open", "out", "part", "problem", "project", "proceed", "push",
    "put", "read", "really", "remove", "repo", "review", "rewrite", "run", "same", "see", "set",
    "show", "start", "still", "stop", "sure", "take", "task", "tell", "test", "thing", "time",
    "try", "update", "use", "way", "work", "write", "wrong", "work", "first", "last", "other",
    "explain", "refactor", "improve", "everything", "something", "great", "cool", "nice", "right",
];

/// Words that negate a statement.
const NEGATION_WORDS: &[&str] = &[
    "not", "no", "never", "don", "dont", "doesn", "doesnt", "isn", "isnt", "aren", "arent", "won",
    "wont", "cannot", "cant", "avoid", "without", "stop",
];

/// A text below this weight is uninformative. One word that is not common weighs 1.
const INFORMATIVE_WEIGHT_MIN: f64 = 1.0;

/// Says whether a text means nothing without context: "hello", "go on", "run the tests".
pub fn is_uninformative(text: &str) -> bool {
    StemmedText::parse(text).stem_weight() < INFORMATIVE_WEIGHT_MIN
}

/// A text as a set of stems.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StemmedText {
    /// The distinct stems, in alphabetical order.
    pub stems: BTreeSet<String>,
    pub negated: bool,
}

impl StemmedText {
    pub fn parse(text: &str) -> Self {
        let mut words = Self::default();
        for word in split_words(text) {
            if NEGATION_SET.contains(word.as_str()) {
                words.negated = true;
            } else if !STOP_WORD_SET.contains(word.as_str()) {
                words.stems.insert(stem(&word));
            }
        }
        words
    }

    /// Returns the words as one line, the form that is hashed and stored.
    pub fn to_line(&self) -> String {
        let sign = if self.negated { "!" } else { "" };
        let stems: Vec<_> = self.stems.iter().map(String::as_str).collect();
        format!("{sign} {}", stems.join(" "))
    }

    /// Returns the sum of the weights of all stems.
    pub fn stem_weight(&self) -> f64 {
        self.stems.iter().map(|stem| weight(stem)).sum()
    }

    /// Returns the similarity of two texts from 0 to 1: the weight of the shared stems relative to
    /// the weight of each text. The weight of a text is capped at `weight_max`, so that a long text
    /// that mentions the subject among others is still similar.
    pub fn similarity(&self, other: &Self, weight_max: f64) -> f64 {
        let shared: f64 = self
            .stems
            .intersection(&other.stems)
            .map(|stem| weight(stem))
            .sum();
        let size = |words: &Self| words.stem_weight().min(weight_max);
        let both = (size(self) * size(other)).sqrt();
        if both > 0.0 {
            (shared / both).min(1.0)
        } else {
            0.0
        }
    }

    /// Returns the [similarity](Self::similarity) to a text in the form of [`Self::to_line`],
    /// without building its set.
    pub fn similarity_to_line(&self, line: &str, weight_max: f64) -> f64 {
        let (mut shared, mut theirs) = (0.0, 0.0);
        for stem in line.split(' ').filter(|stem| !matches!(*stem, "" | "!")) {
            let weight = weight(stem);
            theirs += weight;
            if self.stems.contains(stem) {
                shared += weight;
            }
        }
        let both = (self.stem_weight().min(weight_max) * f64::min(theirs, weight_max)).sqrt();
        if both > 0.0 {
            f64::min(shared / both, 1.0)
        } else {
            0.0
        }
    }

    /// Returns the Jaccard index: shared stems divided by all stems of both texts.
    pub fn overlap(&self, other: &Self) -> f64 {
        let shared = self.stems.intersection(&other.stems).count();
        let either = self.stems.union(&other.stems).count();
        if either == 0 {
            0.0
        } else {
            shared as f64 / either as f64
        }
    }
}

static STOP_WORD_SET: LazyLock<HashSet<&str>> =
    LazyLock::new(|| STOP_WORDS.iter().copied().collect());
static NEGATION_SET: LazyLock<HashSet<&str>> =
    LazyLock::new(|| NEGATION_WORDS.iter().copied().collect());
static COMMON_STEMS: LazyLock<HashSet<String>> =
    LazyLock::new(|| COMMON_WORDS.iter().map(|word| stem(word)).collect());

/// Returns the weight of a stem: low if it occurs in most prompts about code.
pub fn weight(stem: &str) -> f64 {
    if COMMON_STEMS.contains(stem) || stem.len() < 2 {
        0.25
    } else {
        1.0
    }
}

/// Returns the words of a text in lower case, not stemmed. Names with `_`, `-`, `.` or `/` inside
/// stay whole.
pub fn split_words(text: &str) -> impl Iterator<Item = String> {
    let text = &text[..text.floor_char_boundary(TEXT_BYTES_MAX)];
    let inner = |c: char| matches!(c, '_' | '-' | '.' | '/' | '+' | '#' | '@');
    text.split(move |c: char| !c.is_alphanumeric() && !inner(c))
        .map(move |word| word.trim_matches(|c: char| inner(c) && !matches!(c, '+' | '#')))
        .filter(|word| word.contains(char::is_alphanumeric))
        .map(str::to_lowercase)
}

/// Strips an inflectional ending. Names with other characters than letters are unchanged.
pub fn stem(word: &str) -> String {
    let stem = strip_inflection(word);
    // `decided` has lost its final `e`, so `decide` must lose it too.
    let plain = stem.bytes().all(|byte| byte.is_ascii_lowercase());
    match stem.strip_suffix('e') {
        Some(short) if plain && short.len() >= 4 => short.to_owned(),
        _ => stem,
    }
}

fn strip_inflection(word: &str) -> String {
    if matches!(word, "used" | "using") {
        return "use".to_owned();
    }
    let plain = word.bytes().all(|byte| byte.is_ascii_lowercase());
    if !plain || word.len() < 4 {
        return word.to_owned();
    }
    for (ending, instead) in [
        ("ies", "y"),
        ("sses", "ss"),
        ("xes", "x"),
        ("ches", "ch"),
        ("shes", "sh"),
    ] {
        if let Some(stem) = word.strip_suffix(ending) {
            return format!("{stem}{instead}");
        }
    }
    if word.ends_with('s') && !["ss", "us", "is"].iter().any(|end| word.ends_with(end)) {
        return word[..word.len() - 1].to_owned();
    }
    for ending in ["ing", "ed"] {
        let Some(stem) = word.strip_suffix(ending) else {
            continue;
        };
        let has_vowel = stem.contains(['a', 'e', 'i', 'o', 'u', 'y']);
        if stem.len() >= 3 && has_vowel {
            return strip_doubled_letter(stem).to_owned();
        }
    }
    word.to_owned()
}

/// Turns `runn` into `run`, but keeps `call` and `pass`.
fn strip_doubled_letter(stem: &str) -> &str {
    let mut last = stem.bytes().rev();
    match (last.next(), last.next()) {
        (Some(a), Some(b)) if a == b && !matches!(a, b'l' | b's' | b'z' | b'e') => {
            &stem[..stem.len() - 1]
        }
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, line: &str) {
        let words = StemmedText::parse(text);
        assert_eq!(words.to_line(), line, "{text}");
    }

    #[test]
    fn what_a_text_says() {
        check("Always run the tests with nextest.", " nextest run test");
        check("Running tests, with `nextest`!", " nextest run test");
        check("Don't use npm", "! npm use");
        check("src/main.rs uses serde_json", " serde_json src/main.rs use");
        check("C++ and 50%", " 50 c++");
        check("the of and", " ");
        check("decided decides decide deciding", " decid");
        check("", " ");
    }

    #[test]
    fn a_thing_among_many_is_still_mentioned() {
        let fact = StemmedText::parse("Install packages with pnpm, not npm");
        let asked = StemmedText::parse("why does pnpm refuse the lockfile?");
        assert!(fact.similarity(&asked, 6.0) > 0.2);
        assert_eq!(
            fact.similarity(&StemmedText::parse("hello there"), 6.0),
            0.0
        );
        let line = asked.similarity_to_line(&fact.to_line(), 6.0);
        assert!((line - fact.similarity(&asked, 6.0)).abs() < 1e-9);
        let common = StemmedText::parse("run the tests again");
        let tests = StemmedText::parse("Tests run with cargo nextest run --workspace");
        assert!(tests.similarity(&common, 6.0) < 0.4);
    }
}
