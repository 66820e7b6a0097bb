//! Similarity of short texts: the share of word triples that two texts have in common.

use std::collections::BTreeSet;

const SHINGLE_WORDS: usize = 3;

/// The word triples of a text. A shorter text has one shingle: itself.
pub fn shingles(text: &str) -> BTreeSet<String> {
    let is_inner = |c: char| c.is_alphanumeric() || "/-_.<>".contains(c);
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !is_inner(c))
        .map(|word| word.trim_matches('.'))
        .filter(|word| !word.is_empty())
        .collect();
    if words.len() < SHINGLE_WORDS {
        return BTreeSet::from([words.join(" ")]);
    }
    words
        .windows(SHINGLE_WORDS)
        .map(|triple| triple.join(" "))
        .collect()
}

/// Returns the size of the intersection over the size of the union.
pub fn jaccard(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    let common = a.intersection(b).count();
    let all = a.len() + b.len() - common;
    if all == 0 {
        return 1.0;
    }
    common as f64 / all as f64
}

/// Returns the similarity of two texts, from 0 to 1.
pub fn text_similarity(a: &str, b: &str) -> f64 {
    jaccard(&shingles(a), &shingles(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_texts_share_triples() {
        let rule = "Run the formatter before you commit any change to the code.";
        assert!(text_similarity(rule, rule) > 0.99);
        assert!(text_similarity(rule, "run the formatter before you commit any change") > 0.6);
        assert!(text_similarity(rule, "Never push to the main branch") < 0.1);
        assert!(text_similarity("a b", "a c") < 0.1);
    }
}
