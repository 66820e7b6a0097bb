//! BM25, the lexical score: how much of the query's weight a text holds for its length.

/// How fast another occurrence of a term stops counting. 1.2 is the value of the literature.
pub(crate) const K1: f64 = 1.2;

/// How strongly BM25 penalises length, between 0 (not at all) and 1 (in proportion).
pub(crate) mod length_penalty {
    /// For rows that are not read: their size in bytes is a coarse measure of what they say.
    pub(crate) const ROW: f64 = 0.3;
    /// For passages, whole texts and windows of records.
    pub(crate) const TEXT: f64 = 0.6;
    /// For sessions, which differ in size by orders of magnitude. 0.75 is the value of the
    /// literature.
    pub(crate) const SESSION: f64 = 0.75;
}

/// Returns the BM25 score of a text from each term's inverse document frequency and how often it
/// occurs. `relative_length` is 1 for a text of average length.
pub(crate) fn bm25(
    penalty: f64,
    relative_length: f64,
    terms: impl Iterator<Item = (f64, f64)>,
) -> f64 {
    let norm = K1 * (1.0 - penalty + penalty * relative_length);
    terms
        .map(|(idf, times)| idf * times * (K1 + 1.0) / (times + norm))
        .sum()
}

/// Returns the inverse document frequency of a term that `df` of `total` rows hold.
pub(crate) fn idf(total: u64, df: u64) -> f64 {
    let (total, df) = (total.max(df) as f64, df as f64);
    (1.0 + (total - df + 0.5) / (df + 0.5)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_terms_weigh_more() {
        assert!(idf(1000, 1) > idf(1000, 100));
        assert!(idf(1000, 1000) >= 0.0);
        assert!(idf(0, 0).is_finite());
    }

    #[test]
    fn long_texts_and_repetitions_count_less() {
        let score = |length: f64, times: f64| {
            bm25(length_penalty::TEXT, length, [(2.0, times)].into_iter())
        };
        assert!(score(1.0, 1.0) > score(4.0, 1.0));
        assert!(score(1.0, 2.0) < 2.0 * score(1.0, 1.0));
        assert_eq!(score(1.0, 0.0), 0.0);
    }
}
