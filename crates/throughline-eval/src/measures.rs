//! Ranking measures: hit rate, recall, reciprocal rank and discounted gain.

use std::collections::BTreeMap;

/// The means of all measures over a set of questions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Means {
    sums: BTreeMap<&'static str, f64>,
    pub(crate) count: usize,
}

impl Means {
    /// Adds one question: the ids that were found, best first, and the ids that answer it.
    pub(crate) fn add(&mut self, ranked: &[&str], gold: &[String]) {
        self.count += 1;
        for (name, value) in measure(ranked, gold) {
            *self.sums.entry(name).or_default() += value;
        }
    }

    pub(crate) fn percent(&self, name: &str) -> f64 {
        let sum = self.sums.get(name).copied().unwrap_or_default();
        100.0 * sum / self.count.max(1) as f64
    }
}

fn measure(ranked: &[&str], gold: &[String]) -> Vec<(&'static str, f64)> {
    let is_gold = |id: &&str| gold.iter().any(|gold| gold == id);
    let ranks: Vec<usize> = ranked
        .iter()
        .enumerate()
        .filter(|(_, id)| is_gold(id))
        .map(|(rank, _)| rank)
        .collect();
    let within = |k: usize| ranks.iter().filter(|rank| **rank < k).count() as f64;
    let recall = |k| within(k) / gold.len() as f64;
    let gain = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
    let ideal: f64 = (0..gold.len().min(10)).map(gain).sum();
    let found: f64 = ranks
        .iter()
        .filter(|rank| **rank < 10)
        .map(|rank| gain(*rank))
        .sum();
    vec![
        ("hit@1", within(1).min(1.0)),
        ("recall@5", recall(5)),
        ("recall@10", recall(10)),
        ("recall@20", recall(20)),
        (
            "mrr",
            ranks.first().map_or(0.0, |rank| 1.0 / (*rank as f64 + 1.0)),
        ),
        ("ndcg@10", found / ideal),
    ]
}

/// Sorts the values and returns the one at `share` of their number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a length is a valid index"
)]
pub(crate) fn percentile(values: &mut [f64], share: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    values.sort_by(f64::total_cmp);
    let at = (values.len() as f64 * share) as usize;
    values[at.min(values.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_measured() {
        let mut means = Means::default();
        means.add(&["x", "a", "y", "b"], &["a".to_owned(), "b".to_owned()]);
        assert_eq!(means.percent("hit@1"), 0.0);
        assert_eq!(means.percent("recall@5"), 100.0);
        assert_eq!(means.percent("mrr"), 50.0);
        let expected = (1.0 / 3_f64.log2() + 1.0 / 5_f64.log2()) / (1.0 + 1.0 / 3_f64.log2());
        assert!((means.percent("ndcg@10") - 100.0 * expected).abs() < 1e-9);
    }

    #[test]
    fn percentiles() {
        let mut values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(percentile(&mut values, 0.5), 51.0);
        assert_eq!(percentile(&mut [], 0.5), 0.0);
    }
}
