//! Stop words: words that say nothing about the subject of a text.

/// Sorted for binary search.
const STOP_WORDS: &[&str] = &[
    "a", "about", "above", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as",
    "at", "be", "because", "been", "before", "being", "below", "between", "both", "but", "by",
    "can", "could", "did", "do", "does", "doing", "don", "down", "during", "each", "few", "for",
    "from", "further", "get", "got", "had", "has", "have", "having", "he", "her", "here", "hers",
    "herself", "him", "himself", "his", "how", "i", "if", "in", "into", "is", "it", "its",
    "itself", "just", "let", "like", "ll", "me", "more", "most", "much", "my", "myself", "no",
    "nor", "not", "now", "of", "off", "on", "once", "only", "or", "other", "our", "ours", "out",
    "over", "own", "re", "same", "she", "should", "so", "some", "such", "than", "that", "the",
    "their", "theirs", "them", "themselves", "then", "there", "these", "they", "this", "those",
    "through", "to", "too", "under", "until", "up", "us", "ve", "very", "was", "we", "were",
    "what", "when", "where", "which", "while", "who", "whom", "why", "will", "with", "would",
    "you", "your", "yours", "yourself",
];

/// The stop words that are not indexed at all, because they occur in nearly every text and are not
/// searched for alone. Sorted for binary search.
const UNINDEXED_WORDS: &[&str] = &[
    "a", "am", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did",
    "do", "does", "don", "for", "from", "had", "has", "have", "he", "her", "him", "his", "i", "if",
    "in", "into", "is", "it", "its", "ll", "me", "my", "no", "not", "of", "on", "or", "our", "re",
    "she", "should", "so", "than", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "those", "to", "too", "us", "ve", "was", "we", "were", "what", "when", "where",
    "which", "who", "why", "will", "with", "would", "you", "your",
];

/// Says whether a folded word is left out of the index.
pub fn is_unindexed(folded: &str) -> bool {
    may_contain(&UNINDEXED_LENGTHS, folded) && UNINDEXED_WORDS.binary_search(&folded).is_ok()
}

/// Says whether a folded word is a stop word.
pub fn is_stop(folded: &str) -> bool {
    may_contain(&STOP_LENGTHS, folded) && STOP_WORDS.binary_search(&folded).is_ok()
}

static UNINDEXED_LENGTHS: [u32; 26] = length_masks(UNINDEXED_WORDS);
static STOP_LENGTHS: [u32; 26] = length_masks(STOP_WORDS);

/// Returns the lengths of the words in a list as a bit mask per first letter, which rules out most
/// words without a search.
const fn length_masks(list: &[&str]) -> [u32; 26] {
    let mut lengths = [0; 26];
    let mut at = 0;
    while at < list.len() {
        let word = list[at].as_bytes();
        lengths[(word[0] - b'a') as usize] |= 1 << word.len();
        at += 1;
    }
    lengths
}

fn may_contain(lengths: &[u32; 26], word: &str) -> bool {
    let first = word.bytes().next().map(|byte| byte.wrapping_sub(b'a'));
    let lengths = first.and_then(|first| lengths.get(usize::from(first)));
    word.len() < 32 && lengths.is_some_and(|lengths| lengths >> word.len() & 1 == 1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_lists_are_sorted() {
        assert!(super::STOP_WORDS.is_sorted() && super::UNINDEXED_WORDS.is_sorted());
        assert!(
            super::UNINDEXED_WORDS
                .iter()
                .all(|word| super::is_stop(word))
        );
        assert!(super::STOP_WORDS.iter().all(|word| super::is_stop(word)));
        assert!(
            super::UNINDEXED_WORDS
                .iter()
                .all(|word| super::is_unindexed(word))
        );
        assert!(!super::is_stop("") && !super::is_stop("parser") && !super::is_stop("ä"));
    }
}
