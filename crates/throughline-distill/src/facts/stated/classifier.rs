//! A linear classifier over the [features](super::features) of a sentence.
//!
//! The example `fit_statements` fits `weights.tsv` to the labelled sentences in `testdata/`. A line
//! has the name of a feature and its weights for the three kinds of statements, in hundredths and
//! relative to a sentence that states nothing; the line without a name is the bias.

use std::collections::HashMap;
use std::sync::LazyLock;

use memory::FactKind;

/// The kinds of statements in the order of the weights.
pub const KINDS: [FactKind; 3] = [FactKind::Preference, FactKind::Decision, FactKind::Note];

/// A sentence is a statement from this probability on.
///
/// Most prompts state nothing, so the threshold is above the one that suits the labelled sentences,
/// half of which are statements.
pub const PROBABILITY_MIN: f64 = 0.72;

/// The weights of a feature, one for each of [`KINDS`].
pub type KindWeights = [f64; KINDS.len()];

/// Features by name, with their weights.
pub type FeatureWeights = HashMap<String, KindWeights>;

static WEIGHTS: LazyLock<FeatureWeights> =
    LazyLock::new(|| parse_weights(include_str!("weights.tsv")));

/// Returns which kind of statement the features suggest, if they suggest one.
pub(super) fn statement_kind(features: &[String]) -> Option<FactKind> {
    let (probability, kind) = classify(features, &WEIGHTS);
    (probability >= PROBABILITY_MIN).then_some(kind)
}

/// Returns the probability that features belong to a statement, and its most probable kind.
pub fn classify(features: &[String], weights: &FeatureWeights) -> (f64, FactKind) {
    let mut scores = weights.get("").copied().unwrap_or_default();
    for feature in features.iter().filter_map(|name| weights.get(name)) {
        for (score, weight) in scores.iter_mut().zip(feature) {
            *score += weight;
        }
    }
    let odds: f64 = scores.iter().map(|score| score.exp()).sum();
    let mut best = 0;
    for at in 1..KINDS.len() {
        if scores[at] > scores[best] {
            best = at;
        }
    }
    (odds / (1.0 + odds), KINDS[best])
}

/// Reads a table of weights. A line that is not one is skipped.
pub fn parse_weights(table: &str) -> FeatureWeights {
    table.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<(String, KindWeights)> {
    let mut columns = line.split('\t');
    let name = columns.next()?;
    let mut weights = KindWeights::default();
    for weight in &mut weights {
        *weight = columns.next()?.parse::<f64>().ok()? / 100.0;
    }
    Some((name.to_owned(), weights))
}
