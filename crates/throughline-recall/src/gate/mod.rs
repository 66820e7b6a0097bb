//! The gate: whether the hits are sure enough to be shown for a prompt that did not ask for them.
//!
//! The gate's model turns the best hits and the prompt into a confidence between 0 and 1.
//! [`RecallConfig::gate`](crate::RecallConfig) is the threshold, and the only one.

use memory::RecordKind;

use crate::query::ParsedQuestion;
use crate::retrieve::CandidateSet;
use crate::score::ScoredRecord;
use crate::score::features::RecordFeatures;
use crate::score::model::linear_model;

/// The default threshold. The bias is fitted so that few unrelated prompts reach it.
pub const CONFIDENCE_MIN: f64 = 0.5;

/// Hits that the gate looks at.
const TOP_HITS: usize = 8;
/// The hit whose lexical score stands for "found by chance" when the margin of the best is taken.
const MARGIN_HIT: usize = 20;
/// A term that occurs once in 22,000 rows has an idf of about 10.
const IDF_SCALE: f64 = 10.0;
/// The idf of about two such terms.
const IDF_SUM_SCALE: f64 = 20.0;

linear_model! {
    /// The features of the best hits and the prompt.
    pub struct GateFeatures;

    fn compute(
        prompt_weight: f64,
        query: &ParsedQuestion,
        candidates: &CandidateSet,
        ranked: &[ScoredRecord],
    ) {
        let Some(best) = ranked.first() else {
            return Self::default();
        };
        let top = &ranked[..ranked.len().min(TOP_HITS)];
        let top_max = |feature: fn(&RecordFeatures) -> f64| {
            let values = top.iter().map(|record| feature(&record.features));
            values.fold(0.0, f64::max)
        };
        let baseline = &ranked[MARGIN_HIT.min(ranked.len() - 1)];
        let session = best.candidate.attributes.session;
        let of_session = |record: &&ScoredRecord| record.candidate.attributes.session == session;
        let agreeing = top.iter().filter(of_session).count();
        let idf = &candidates.idf;
        let matched = best.matched_terms();
        let matched_idf =
            |at: usize| if matched >> at & 1 == 1 { idf[at] } else { 0.0 };
        let is_said = |record: &&ScoredRecord| {
            matches!(record.row.kind, RecordKind::Prompt | RecordKind::Assistant)
        };
        let said = ranked.iter().filter(is_said).count();
        let unknown = candidates.df.iter().filter(|df| **df == 0).count();
    }

    lexical_share = top_max(|features| features.lexical_share) => -2.99;
    coverage = top_max(|features| features.coverage) => -0.95;
    coverage_nearby = top_max(|features| features.coverage_nearby) => 0.14;
    exact = top_max(|features| features.exact) => -0.16;
    adjacent = top_max(|features| features.adjacent) => 1.56;
    cosine_raw = top_max(|features| features.cosine_raw) => 1.90;
    similar = top_max(|features| features.similar) => 0.90;
    coverage_of_best = best.features.coverage => -1.33;
    /// How far the best hit is ahead of one that was found by chance.
    margin = (best.lexical - baseline.lexical) / best.lexical.max(1e-9) => 0.61;
    /// The share of the top hits that come from the session of the best.
    agreement = agreeing as f64 / top.len() as f64 => 2.60;
    terms = (query.terms.len() as f64).ln() => -0.37;
    rarity = idf.iter().copied().fold(0.0, f64::max) / IDF_SCALE => -5.05;
    rarity_of_best = (0..idf.len()).map(matched_idf).fold(0.0, f64::max) / IDF_SCALE => -4.69;
    weight_of_best = (0..idf.len()).map(matched_idf).sum::<f64>() / IDF_SUM_SCALE => 4.73;
    /// How much the prompt says: its words by weight, common ones counting little.
    prompt_weight = prompt_weight.ln_1p() => 2.60;
    /// The share of the terms that the index does not hold.
    unknown = unknown as f64 / candidates.df.len().max(1) as f64 => -6.56;
    speaker = f64::from(best.candidate.speaker != 0) => 5.77;
    cosine_of_best = best.features.cosine_raw => 3.00;
    chat = said as f64 / ranked.len() as f64 => -2.67;
    adjacent_of_best = best.features.adjacent => -0.34;
}

/// Fitted together with the weights.
const BIAS: f64 = -1.14;

impl GateFeatures {
    /// Returns how sure it is, between 0 and 1, that the hits have to do with the prompt.
    pub fn confidence(&self) -> f64 {
        1.0 / (1.0 + (-(self.weighted_sum() + BIAS)).exp())
    }
}
