//! Wishes: what a person wants done always, and what they like better than something else.
//!
//! Somebody who asks how to do a thing seldom repeats the words in which they once said how they want such things
//! done. So short prompts that hold the words of a wish are read even where they share no word with the question.

use memory::RecordKind;
use store::{Lookup, Result, RowAttributes};

use crate::candidates::Candidate;

/// How far into a text a wish is looked for.
const HEAD_BYTES: usize = 400;
/// A standing wish is said in a sentence or two.
const SHORT_BYTES: u32 = 400;
/// Prompts read because they may hold a wish, the latest first.
const READ_MAX: usize = 30;

/// Words of the index that a wish holds, as it knows them.
pub const PREFERENCE_WORDS: [&str; 2] = ["always", "prefer"];

/// How a standing wish begins.
const STANDING_OPENINGS: &[&[&str]] = &[
    &["always"],
    &["never"],
    &["whenever"],
    &["from", "now", "on"],
    &["going", "forward"],
    &["in", "future"],
    &["in", "the", "future"],
    &["make", "sure", "to"],
    &["make", "sure", "you"],
    &["please", "always"],
    &["please", "never"],
    &["please", "make", "sure"],
];
/// What says so wherever it stands.
const STANDING_PHRASES: &[&[&str]] = &[
    &["when", "i", "ask"],
    &["whenever", "i"],
    &["when", "i", "mention"],
    &["when", "i", "request"],
];
const PREFERENCE_PHRASES: &[&[&str]] = &[
    &["prefer"],
    &["prefers"],
    &["preferred"],
    &["rather", "than"],
    &["instead", "of"],
    &["i", "like"],
    &["i", "d", "like"],
    &["i", "enjoy"],
    &["i", "want", "to", "keep"],
    &["i", "want", "to", "avoid"],
    &["i", "ve", "chosen"],
    &["i", "have", "chosen"],
    &["i", "ve", "decided"],
    &["i", "have", "decided"],
    &["favorite"],
    &["favourite"],
    &["my", "goal", "is"],
];

/// What a text wishes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PreferenceCues {
    /// It is to hold from then on.
    pub is_standing: bool,
    pub is_preference: bool,
}

impl PreferenceCues {
    pub fn detect(text: &str) -> Self {
        let head = text[..text.floor_char_boundary(HEAD_BYTES)].to_lowercase();
        let words: Vec<&str> = head
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        let is_short = text.len() < SHORT_BYTES as usize;
        let begins = STANDING_OPENINGS
            .iter()
            .any(|phrase| words.starts_with(phrase));
        Self {
            is_standing: is_short && (begins || contains_any_phrase(&words, STANDING_PHRASES)),
            is_preference: contains_any_phrase(&words, PREFERENCE_PHRASES),
        }
    }

    pub fn any(self) -> bool {
        self.is_standing || self.is_preference
    }
}

/// Says whether one of some phrases stands in a text.
pub fn contains_any_phrase<W: AsRef<str>>(words: &[W], phrases: &[&[&str]]) -> bool {
    let is = |window: &[W], phrase: &[&str]| {
        let mut pairs = window.iter().zip(phrase);
        pairs.all(|(word, wanted)| word.as_ref() == *wanted)
    };
    phrases
        .iter()
        .any(|phrase| words.windows(phrase.len()).any(|window| is(window, phrase)))
}

/// Returns the short prompts among rows that hold the words of a wish, the latest first.
pub fn short_prompts(lookup: &Lookup<'_>, mut rows: Vec<i64>) -> Result<Vec<Candidate>> {
    rows.sort_unstable();
    rows.dedup();
    let marks = lookup.attributes(&rows)?;
    let is_short =
        |mark: &RowAttributes| mark.kind == RecordKind::Prompt && mark.size_bytes < SHORT_BYTES;
    let known = rows.into_iter().zip(marks).rev();
    let short = known.filter_map(|(row, mark)| Some((row, mark.filter(is_short)?)));
    Ok(short
        .take(READ_MAX)
        .map(|(row, mark)| Candidate::new(row, mark))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, is_standing: bool, is_preference: bool) {
        let expected = PreferenceCues {
            is_standing,
            is_preference,
        };
        assert_eq!(PreferenceCues::detect(text), expected, "{text}");
    }

    #[test]
    fn wishes_and_what_only_looks_like_them() {
        check("Always run the tests with nextest.", true, false);
        check("Use tabs when I ask about Go.", true, false);
        check("From now on, no emojis please", true, false);
        check("It always fails on Mondays.", false, false);
        check("I prefer tabs over spaces", false, true);
        check("I’d like a smaller image, can you help?", false, true);
        check("", false, false);
        let long = format!("Always {}", "x ".repeat(500));
        check(&long, false, false);
    }

    #[test]
    fn words_of_wishes_are_words_of_the_index() {
        for word in PREFERENCE_WORDS {
            assert!(store::terms::is_indexed(word), "{word}");
        }
    }
}
