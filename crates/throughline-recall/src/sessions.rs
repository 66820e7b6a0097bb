//! Sessions: which conversation a question is about, from its best records and from all its words together.

use std::collections::HashMap;

use memory::SessionId;
use serde::Serialize;

use crate::ask::TERMS_MAX;
use crate::candidates::{Candidates, SessionSeen, idf};
use crate::rank::Read;

/// Records of a session that count, and how much less each counts than the one before.
const BEST_MAX: usize = 5;
const DECAY: f64 = 0.7;
/// How much the words of the whole session count beside its best records.
const WORDS_WEIGHT: f64 = 0.3;
/// How sharply a record's score is felt.
const SHARPNESS: f64 = 1.0;

/// A session that was found.
#[derive(Clone, Debug, Serialize)]
pub struct RankedSession {
    pub id: SessionId,
    pub title: Option<String>,
    pub score: f64,
    /// Best records, and words of all of it: what the score is made of.
    pub parts: [f64; 2],
}

/// Returns how well each session holds the question's words, 1 for the best.
pub fn documents(found: &Candidates) -> HashMap<u32, f64> {
    let sessions = found.sessions.len() as u64;
    let mut holding = [0_u64; TERMS_MAX];
    let mut rows = 0_u64;
    #[expect(
        clippy::iter_over_hash_type,
        reason = "sums do not depend on the order"
    )]
    for seen in found.sessions.values() {
        rows += u64::from(seen.rows);
        for (count, holding) in seen.counts.iter().zip(&mut holding) {
            *holding += u64::from(*count > 0);
        }
    }
    let typical = (rows as f64 / sessions.max(1) as f64).max(1.0);
    let score = |seen: &SessionSeen| -> f64 {
        let norm = 1.2 * (0.25 + 0.75 * f64::from(seen.rows) / typical);
        (0..found.idf.len())
            .map(|at| {
                let times = f64::from(seen.counts[at]);
                idf(sessions, holding[at]) * times * 2.2 / (times + norm)
            })
            .sum()
    };
    let mut scores: HashMap<u32, f64> = found
        .sessions
        .iter()
        .map(|(id, seen)| (*id, score(seen)))
        .collect();
    normalise(&mut scores);
    scores
}

/// Returns how much the best records of each session weigh together, 1 for the best.
pub fn best(read: &[Read], lexical: &[(f64, f64)]) -> HashMap<u32, f64> {
    let scores = read
        .iter()
        .zip(lexical)
        .map(|(read, lexical)| (read.candidate.mark.session, lexical.0));
    let mut sums = decayed(scores);
    normalise(&mut sums);
    sums
}

/// Orders the sessions of ranked records: number, score and its parts, the best first.
pub fn order(read: &[Read], found: &Candidates) -> Vec<(u32, f64, [f64; 2])> {
    let top = read.first().map_or(0.0, |best| best.score);
    let felt = read.iter().map(|read| {
        (
            read.candidate.mark.session,
            (SHARPNESS * (read.score - top)).exp(),
        )
    });
    let mut records = decayed(felt);
    normalise(&mut records);
    let words = documents(found);
    let mut all: Vec<_> = words
        .iter()
        .map(|(session, words)| {
            let records = records.get(session).copied().unwrap_or_default();
            (*session, records + WORDS_WEIGHT * words, [records, *words])
        })
        .collect();
    // A session whose records were only read as neighbours has no words of its own.
    let only = records
        .iter()
        .filter(|(session, _)| !words.contains_key(session));
    all.extend(only.map(|(session, records)| (*session, *records, [*records, 0.0])));
    all.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
    all
}

fn decayed(scores: impl Iterator<Item = (u32, f64)>) -> HashMap<u32, f64> {
    let mut by_session: HashMap<u32, Vec<f64>> = HashMap::new();
    for (session, score) in scores {
        by_session.entry(session).or_default().push(score);
    }
    let sum = |mut scores: Vec<f64>| -> f64 {
        scores.sort_by(|a, b| b.total_cmp(a));
        let weights = std::iter::successors(Some(1.0), |weight| Some(weight * DECAY));
        scores
            .iter()
            .take(BEST_MAX)
            .zip(weights)
            .map(|(s, w)| s * w)
            .sum()
    };
    by_session
        .into_iter()
        .map(|(session, scores)| (session, sum(scores)))
        .collect()
}

fn normalise(scores: &mut HashMap<u32, f64>) {
    let max = scores.values().copied().fold(0.0, f64::max);
    if max > 0.0 {
        #[expect(clippy::iter_over_hash_type, reason = "each is divided by itself")]
        for score in scores.values_mut() {
            *score /= max;
        }
    }
}
