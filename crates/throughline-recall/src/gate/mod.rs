//! The gate: whether the hits are sure enough to be shown for a prompt that did not ask for them.
//!
//! The gate's model turns the best hits and the prompt into a confidence between 0 and 1.
//! [`RecallConfig::gate`](crate::RecallConfig) is the threshold, and the only one.

use memory::RecordKind;

use crate::query::ParsedQuestion;
use crate::retrieve::{CandidateSet, TermSet, term_indices};
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
/// The score of a good hit.
const SCORE_SCALE: f64 = 10.0;
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
        let idf_sum = idf.iter().sum::<f64>().max(1e-9);
        let share = |terms: TermSet| {
            let held: f64 = term_indices(terms).map(|at| idf[at]).sum();
            held / idf_sum
        };
        let in_session = ranked.iter().filter(of_session);
        let in_session = in_session.fold(0, |terms, record| terms | record.matched_terms_nearby());
        let unknown_terms = (0..idf.len()).filter(|at| candidates.df[*at] == 0);
        let unknown_terms = unknown_terms.fold(0, |terms: TermSet, at| terms | 1 << at);
        let exchange = best.exchange.asked | matched;
    }

    lexical_share = top_max(|features| features.lexical_share) => -5.22;
    coverage = top_max(|features| features.coverage) => -1.00;
    coverage_nearby = top_max(|features| features.coverage_nearby) => 0.58;
    exact = top_max(|features| features.exact) => -1.16;
    adjacent = top_max(|features| features.adjacent) => 1.46;
    cosine_raw = top_max(|features| features.cosine_raw) => -1.69;
    similar = top_max(|features| features.similar) => -0.65;
    coverage_of_best = best.features.coverage => 0.73;
    /// How far the best hit is ahead of one that was found by chance.
    margin = (best.lexical - baseline.lexical) / best.lexical.max(1e-9) => -0.48;
    /// The share of the top hits that come from the session of the best.
    agreement = agreeing as f64 / top.len() as f64 => 1.64;
    terms = (query.terms.len() as f64).ln() => -0.38;
    rarity = idf.iter().copied().fold(0.0, f64::max) / IDF_SCALE => 0.01;
    rarity_of_best = (0..idf.len()).map(matched_idf).fold(0.0, f64::max) / IDF_SCALE => 1.53;
    weight_of_best = (0..idf.len()).map(matched_idf).sum::<f64>() / IDF_SUM_SCALE => 0.65;
    /// How much the prompt says: its words by weight, common ones counting little.
    prompt_weight = prompt_weight.ln_1p() => -0.83;
    /// The share of the terms that the index does not hold.
    unknown = unknown as f64 / candidates.df.len().max(1) as f64 => -2.84;
    speaker = f64::from(best.candidate.speaker != 0) => 4.84;
    cosine_of_best = best.features.cosine_raw => -1.76;
    chat = said as f64 / ranked.len() as f64 => -3.72;
    adjacent_of_best = best.features.adjacent => 3.18;
    /// The share of the prompt's weight that the session of the best hit holds, as far as its
    /// records were read.
    session_coverage = share(in_session) => 0.41;
    unknown_weight = share(unknown_terms) => -0.46;
    exchange_of_best = share(exchange) => 0.77;
    concludes_of_best = best.features.concludes => -5.66;
    score_of_best = best.score / SCORE_SCALE => -0.17;
    score_margin = (best.score - baseline.score) / SCORE_SCALE => -1.78;
    similar_soft = top_max(|features| features.similar_soft) => -0.99;
    similar_of_best = best.features.similar => 0.82;
    window_of_best = best.features.window => -2.11;
    session_of_best = best.features.session_lexical => -0.02;
    rarest_of_best = best.features.rarest => -1.12;
    asks = f64::from(query.asks) => 0.48;
    person_of_best = best.features.person => -0.40;
    tool_of_best = best.features.tool => -3.55;

    // The products that matter most in a fit with all of them. A rare word means something else in
    // a question than in a task, and a long prompt needs less of everything.
    rarity_x_asks = rarity * asks => -3.01;
    weight_of_best_x_asks = weight_of_best * asks => -2.28;
    rarity_of_best_x_asks = rarity_of_best * asks => -3.09;
    session_of_best_x_session_of_best = session_of_best * session_of_best => -0.61;
    score_of_best_x_score_of_best = score_of_best * score_of_best => 1.19;
    prompt_weight_x_chat = prompt_weight * chat => -0.20;
    cosine_raw_x_prompt_weight = cosine_raw * prompt_weight => 1.10;
    score_of_best_x_asks = score_of_best * asks => 2.59;
    margin_x_margin = margin * margin => -0.03;
    agreement_x_person_of_best = agreement * person_of_best => -0.93;
    prompt_weight_x_window_of_best = prompt_weight * window_of_best => 0.13;
    asks_x_person_of_best = asks * person_of_best => 0.64;
    agreement_x_agreement = agreement * agreement => 2.59;
    terms_x_chat = terms * chat => 0.03;
    cosine_raw_x_terms = cosine_raw * terms => 1.38;
    weight_of_best_x_prompt_weight = weight_of_best * prompt_weight => 0.11;
    terms_x_weight_of_best = terms * weight_of_best => 0.10;
    exchange_of_best_x_concludes_of_best = exchange_of_best * concludes_of_best => 5.31;
    terms_x_window_of_best = terms * window_of_best => 0.34;
    chat_x_score_of_best = chat * score_of_best => 0.94;
    prompt_weight_x_cosine_of_best = prompt_weight * cosine_of_best => 1.06;
    prompt_weight_x_score_margin = prompt_weight * score_margin => -0.34;
    exact_x_prompt_weight = exact * prompt_weight => 2.08;
    rarity_x_prompt_weight = rarity * prompt_weight => -0.67;
    lexical_share_x_prompt_weight = lexical_share * prompt_weight => 3.31;
    terms_x_cosine_of_best = terms * cosine_of_best => 1.47;
    chat_x_person_of_best = chat * person_of_best => 0.22;
    adjacent_of_best_x_adjacent_of_best = adjacent_of_best * adjacent_of_best => -8.48;
    terms_x_session_of_best = terms * session_of_best => 0.03;
    score_of_best_x_score_margin = score_of_best * score_margin => 0.95;
    concludes_of_best_x_person_of_best = concludes_of_best * person_of_best => 0.00;
    lexical_share_x_terms = lexical_share * terms => 4.26;
    chat_x_asks = chat * asks => 1.30;
    score_margin_x_asks = score_margin * asks => 2.87;
    terms_x_score_margin = terms * score_margin => -0.32;
    cosine_raw_x_chat = cosine_raw * chat => -0.58;
    prompt_weight_x_similar_soft = prompt_weight * similar_soft => 1.51;
}

/// Fitted together with the weights.
const BIAS: f64 = -2.43;

impl GateFeatures {
    /// Returns how sure it is, between 0 and 1, that the hits have to do with the prompt.
    pub fn confidence(&self) -> f64 {
        1.0 / (1.0 + (-(self.weighted_sum() + BIAS)).exp())
    }
}
