//! Standing instructions ("always run the linter") and preferences ("I prefer tabs") in prompts.
//!
//! A person who asks how to do something seldom repeats the words in which they once said how they
//! want such things done. So short prompts that hold the words of a preference are read even where
//! they share no word with the query.

use super::phrases::{contains_any_phrase, starts_with_any_phrase};

/// How far into a text a preference is looked for.
const HEAD_BYTES: usize = 400;
/// A standing instruction fits in a sentence or two; a longer text is a task that mentions one.
pub(crate) const SHORT_BYTES: u32 = 400;

/// Words by which the index finds prompts that may state a preference.
pub(crate) const PREFERENCE_WORDS: [&str; 2] = ["always", "prefer"];

/// Beginnings of standing instructions.
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
/// Phrases that make a standing instruction wherever they occur.
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

/// The signs of a standing instruction or a preference in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PreferenceCues {
    pub(crate) is_standing: bool,
    pub(crate) is_preference: bool,
}

impl PreferenceCues {
    pub(crate) fn detect(text: &str) -> Self {
        let head = text[..text.floor_char_boundary(HEAD_BYTES)].to_lowercase();
        let words: Vec<&str> = head
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        let is_short = text.len() < SHORT_BYTES as usize;
        let is_standing = starts_with_any_phrase(&words, STANDING_OPENINGS)
            || contains_any_phrase(&words, STANDING_PHRASES);
        Self {
            is_standing: is_short && is_standing,
            is_preference: contains_any_phrase(&words, PREFERENCE_PHRASES),
        }
    }

    pub(crate) fn any(self) -> bool {
        self.is_standing || self.is_preference
    }
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
    fn instructions_preferences_and_lookalikes() {
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
    fn preference_words_are_indexed() {
        for word in PREFERENCE_WORDS {
            assert!(store::terms::is_indexed(word), "{word}");
        }
    }
}
