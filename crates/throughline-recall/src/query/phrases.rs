//! Comparing words with lists of phrases.

/// Returns whether one of the phrases occurs among the words.
pub(crate) fn contains_any_phrase<W: AsRef<str>>(words: &[W], phrases: &[&[&str]]) -> bool {
    phrases.iter().any(|phrase| {
        let mut windows = words.windows(phrase.len());
        windows.any(|window| is_phrase(window, phrase))
    })
}

/// Returns whether the words begin with one of the phrases.
pub(crate) fn starts_with_any_phrase<W: AsRef<str>>(words: &[W], phrases: &[&[&str]]) -> bool {
    phrases.iter().any(|phrase| {
        let start = words.get(..phrase.len());
        start.is_some_and(|start| is_phrase(start, phrase))
    })
}

fn is_phrase<W: AsRef<str>>(words: &[W], phrase: &[&str]) -> bool {
    let mut pairs = words.iter().zip(phrase);
    pairs.all(|(word, wanted)| word.as_ref() == *wanted)
}
