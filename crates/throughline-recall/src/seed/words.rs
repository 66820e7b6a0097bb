//! The words of paths and branch names.

use std::collections::BTreeSet;

/// Shorter words say too little.
const WORD_CHARS_MIN: usize = 3;
/// Endings that are cut off, so that a word and its plural are the same.
const ENDINGS: &[&str] = &["ing", "ion", "ed", "es", "s"];
const STEM_CHARS_MIN: usize = 4;

/// Returns the words of a path, a name or a command: split at every sign and at each capital,
/// in lower case, without common endings.
pub(super) fn path_words(text: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut word = String::new();
    let mut last_is_lower = false;
    for c in text.chars().chain(std::iter::once(' ')) {
        let starts_word = c.is_uppercase() && last_is_lower;
        if !c.is_alphanumeric() || starts_word {
            add_word(&mut words, &word);
            word.clear();
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        last_is_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    words
}

fn add_word(words: &mut BTreeSet<String>, word: &str) {
    let is_number = word.chars().all(|c| c.is_ascii_digit());
    if word.chars().count() < WORD_CHARS_MIN || is_number {
        return;
    }
    let mut cut = ENDINGS
        .iter()
        .filter_map(|ending| word.strip_suffix(ending));
    let stem = cut.find(|stem| stem.chars().count() >= STEM_CHARS_MIN);
    words.insert(stem.unwrap_or(word).to_owned());
}

/// Returns the share of words that two names have in common.
pub(super) fn overlap(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    let all = a.union(b).count();
    if all == 0 {
        return 0.0;
    }
    a.intersection(b).count() as f64 / all as f64
}

/// Returns the folder of a path.
pub(super) fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns the last component of a path.
pub(super) fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns the name that a file and its test share.
pub(super) fn stem(path: &str) -> String {
    let name = name(path).to_lowercase();
    let stem = name.split('.').next().unwrap_or_default();
    let stem = stem.strip_prefix("test_").unwrap_or(stem);
    let ends = ["_test", "_tests", "-test", "_spec", "-spec"];
    let cut = ends.iter().find_map(|end| stem.strip_suffix(end));
    cut.unwrap_or(stem).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_and_cut() {
        let words = |text| path_words(text).into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(words("soph/add-tokenUsages"), "add soph token usag");
        assert_eq!(
            words("cmd/entire/cli/ParseHTTPRequest.go"),
            "cli cmd entire httprequest parse"
        );
    }

    #[test]
    fn a_file_and_its_test_share_a_stem() {
        for test in [
            "a/state_test.go", "test/state.test.ts", "test_state.py", "state.spec.ts",
        ] {
            assert_eq!(stem(test), "state");
        }
    }
}
