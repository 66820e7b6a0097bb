//! Ranks sessions: by their best records, and by all their words together.

use std::collections::HashMap;

use memory::SessionId;
use serde::Serialize;
use store::{Lookup, Result};

use super::bm25::{bm25, idf, length_penalty};
use super::features::LOG_BYTES_SCALE;
use super::model::linear_model;
use super::{LexicalScores, ScoredRecord};
use crate::query::TERMS_MAX;
use crate::retrieve::{CandidateSet, SessionTermCounts, TermSet};

/// The records that represent a session, and the factor by which each counts less than the one
/// before.
const SESSION_RECORDS_MAX: usize = 5;
const DECAY: f64 = 0.7;
/// Sessions that are returned.
const SESSIONS_MAX: usize = 50;

/// A session that was found.
#[derive(Clone, Debug, Serialize)]
pub struct RankedSession {
    pub id: SessionId,
    pub title: Option<String>,
    pub score: f64,
    #[serde(skip)]
    pub features: SessionFeatures,
}

linear_model! {
    /// The features of a session, relative to the other sessions that hold a term.
    pub struct SessionFeatures;

    fn compute(evidence: &SessionEvidence, session: u32, candidates: &CandidateSet) {
        let of = |scores: &HashMap<u32, f64>| scores.get(&session).copied().unwrap_or_default();
        let idf = &candidates.idf;
        let terms = candidates.sessions.get(&session);
        let holds = |at: &usize| terms.is_some_and(|terms| terms.counts[*at] > 0);
        let held: f64 = (0..idf.len()).filter(holds).map(|at| idf[at]).sum();
        let pair = |at: usize| idf[at - 1] + idf[at];
        let pairs: f64 = (1..idf.len()).map(pair).sum();
        let adjacent_terms = evidence.adjacent.get(&session).copied().unwrap_or_default();
        let is_adjacent = |at: &usize| adjacent_terms >> at & 1 == 1;
        let adjacent_pairs: f64 = (1..idf.len()).filter(is_adjacent).map(pair).sum();
        let bytes = terms.map_or(0, |terms| terms.size_bytes) as f64;
    }

    /// The scores of the best records together, 1 for the best session.
    records = of(&evidence.records) => 2.49;
    /// The lexical scores of the best records together, 1 for the best session.
    lexical = of(&evidence.lexical) => 1.04;
    /// BM25 of all rows together, 1 for the best session.
    words = of(&evidence.words) => 1.05;
    coverage = held / idf.iter().sum::<f64>().max(1e-9) => -0.56;
    /// The share of the query's pairs of terms that are adjacent in some record.
    adjacent = adjacent_pairs / pairs.max(1e-9) => 2.31;
    window = of(&candidates.window_scores) => 0.31;
    cosine = of(&evidence.cosine) => 2.57;
    size = (bytes + 1.0).ln() / LOG_BYTES_SCALE => 0.00;
}

/// Ranks the sessions of the candidates, and returns the best with their titles.
pub(crate) fn rank_sessions(
    lookup: &Lookup<'_>,
    records: &[ScoredRecord],
    candidates: &CandidateSet,
) -> Result<Vec<RankedSession>> {
    let evidence = SessionEvidence::new(records, candidates);
    let mut sessions: Vec<u32> = candidates.sessions.keys().copied().collect();
    // A session of which only neighbours were read holds no term itself.
    sessions.extend(records.iter().map(ScoredRecord::session));
    sessions.sort_unstable();
    sessions.dedup();
    let mut ranked: Vec<_> = sessions
        .into_iter()
        .map(|session| {
            let features = SessionFeatures::compute(&evidence, session, candidates);
            (features.weighted_sum(), session, features)
        })
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    ranked.truncate(SESSIONS_MAX);
    let numbers: Vec<u32> = ranked.iter().map(|(_, session, _)| *session).collect();
    let names = lookup.session_names(&numbers)?;
    Ok(names
        .into_iter()
        .zip(ranked)
        .map(|((id, title), (score, _, features))| RankedSession {
            id,
            title,
            score,
            features,
        })
        .collect())
}

/// The evidence for each session, by its number.
#[derive(Debug)]
pub(crate) struct SessionEvidence {
    records: HashMap<u32, f64>,
    lexical: HashMap<u32, f64>,
    words: HashMap<u32, f64>,
    /// Terms that are adjacent in some record.
    adjacent: HashMap<u32, TermSet>,
    cosine: HashMap<u32, f64>,
}

impl SessionEvidence {
    fn new(records: &[ScoredRecord], candidates: &CandidateSet) -> Self {
        let top = records.first().map_or(0.0, |best| best.score);
        let by_session = |value: &dyn Fn(&ScoredRecord) -> f64| {
            let values = records.iter();
            sum_with_decay(values.map(|record| (record.session(), value(record))))
        };
        let mut adjacent: HashMap<u32, TermSet> = HashMap::new();
        let mut cosine: HashMap<u32, f64> = HashMap::new();
        for record in records {
            let text = &record.text_match;
            *adjacent.entry(record.session()).or_default() |= text.adjacent;
            let best = cosine.entry(record.session()).or_default();
            *best = best.max(f64::from(text.cosine_max));
        }
        normalise(&mut cosine);
        Self {
            // Like a softmax: each point that a record is behind the best divides it by e.
            records: by_session(&|record| (record.score - top).exp()),
            lexical: by_session(&|record| record.lexical),
            words: session_word_scores(candidates),
            adjacent,
            cosine,
        }
    }
}

/// Returns BM25 of all rows of each session together, 1 for the best.
pub(super) fn session_word_scores(candidates: &CandidateSet) -> HashMap<u32, f64> {
    let sessions = candidates.sessions.len() as u64;
    let mut df = [0_u64; TERMS_MAX];
    let mut bytes = 0_u64;
    #[expect(
        clippy::iter_over_hash_type,
        reason = "sums do not depend on the order"
    )]
    for terms in candidates.sessions.values() {
        bytes += terms.size_bytes;
        for (df, count) in df.iter_mut().zip(&terms.counts) {
            *df += u64::from(*count > 0);
        }
    }
    let typical = (bytes as f64 / sessions.max(1) as f64).max(1.0);
    let score = |terms: &SessionTermCounts| {
        let counted = df.iter().zip(&terms.counts).take(candidates.idf.len());
        bm25(
            length_penalty::SESSION,
            terms.size_bytes as f64 / typical,
            counted.map(|(df, count)| (idf(sessions, *df), f64::from(*count))),
        )
    };
    let scores = candidates.sessions.iter();
    let mut scores = scores
        .map(|(session, terms)| (*session, score(terms)))
        .collect();
    normalise(&mut scores);
    scores
}

/// Returns the lexical scores of the best records of each session together, 1 for the best.
pub(super) fn best_record_scores(
    records: &[ScoredRecord],
    lexical: &[LexicalScores],
) -> HashMap<u32, f64> {
    let scores = records.iter().zip(lexical);
    sum_with_decay(scores.map(|(record, lexical)| (record.session(), lexical.passage)))
}

/// Returns the sum of the best values of each session, each counting less than the one before,
/// divided by the highest sum.
fn sum_with_decay(values: impl Iterator<Item = (u32, f64)>) -> HashMap<u32, f64> {
    let mut by_session: HashMap<u32, Vec<f64>> = HashMap::new();
    for (session, value) in values {
        by_session.entry(session).or_default().push(value);
    }
    let sum = |mut values: Vec<f64>| -> f64 {
        values.sort_by(|a, b| b.total_cmp(a));
        let factors = std::iter::successors(Some(1.0), |factor| Some(factor * DECAY));
        let best = values.iter().take(SESSION_RECORDS_MAX).zip(factors);
        best.map(|(value, factor)| value * factor).sum()
    };
    let mut sums = by_session
        .into_iter()
        .map(|(session, values)| (session, sum(values)))
        .collect();
    normalise(&mut sums);
    sums
}

/// Divides all scores by the highest.
pub(crate) fn normalise(scores: &mut HashMap<u32, f64>) {
    let max = scores.values().copied().fold(0.0, f64::max);
    if max > 0.0 {
        #[expect(clippy::iter_over_hash_type, reason = "each is divided on its own")]
        for score in scores.values_mut() {
            *score /= max;
        }
    }
}
