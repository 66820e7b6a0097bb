//! Sessions: which conversation a question is about, from its best records and from all its words together.

use std::collections::HashMap;

use memory::SessionId;
use serde::Serialize;

use crate::ask::TERMS_MAX;
use crate::candidates::{CandidateSet, SessionTermCounts, TermSet, idf};
use crate::rank::ScoredRecord;

/// Records of a session that count, and how much less each counts than the one before.
const SESSION_RECORDS_MAX: usize = 5;
const DECAY: f64 = 0.7;
/// How sharply a record's score is felt.
const SHARPNESS: f64 = 1.0;

/// What is weighed of a session, in the order of [`WEIGHTS`].
pub const NAMES: [&str; COUNT] = [
    "records", "lexical", "words", "coverage", "together", "stretch", "meaning", "size",
];
pub const COUNT: usize = 8;
pub type SessionFeatures = [f64; COUNT];

/// Fitted by `tools/ranking/fit.py`.
pub const WEIGHTS: SessionFeatures = [2.49, 1.04, 1.05, -0.56, 2.31, 0.31, 2.57, 0.00];

/// A session that was found.
#[derive(Clone, Debug, Serialize)]
pub struct RankedSession {
    pub id: SessionId,
    pub title: Option<String>,
    pub score: f64,
    /// What the score is made of.
    #[serde(skip)]
    pub features: SessionFeatures,
}

/// A session by its number in marks, weighed.
#[derive(Clone, Copy, Debug)]
pub struct ScoredSession {
    pub session: u32,
    pub score: f64,
    pub features: SessionFeatures,
}

/// Returns how well each session holds the question's words, 1 for the best.
pub fn session_word_scores(found: &CandidateSet) -> HashMap<u32, f64> {
    let sessions = found.sessions.len() as u64;
    let mut holding = [0_u64; TERMS_MAX];
    let mut bytes = 0_u64;
    #[expect(
        clippy::iter_over_hash_type,
        reason = "sums do not depend on the order"
    )]
    for seen in found.sessions.values() {
        bytes += seen.size_bytes;
        for (count, holding) in seen.counts.iter().zip(&mut holding) {
            *holding += u64::from(*count > 0);
        }
    }
    let typical = (bytes as f64 / sessions.max(1) as f64).max(1.0);
    let score = |seen: &SessionTermCounts| -> f64 {
        let norm = 1.2 * (0.25 + 0.75 * seen.size_bytes as f64 / typical);
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
pub fn best_record_scores(read: &[ScoredRecord], lexical: &[(f64, f64)]) -> HashMap<u32, f64> {
    let scores = read
        .iter()
        .zip(lexical)
        .map(|(read, lexical)| (read.candidate.mark.session, lexical.0));
    let mut sums = sum_with_decay(scores);
    normalise(&mut sums);
    sums
}

/// Orders the sessions of ranked records, the best first.
pub fn rank_sessions(read: &[ScoredRecord], found: &CandidateSet) -> Vec<ScoredSession> {
    let evidence = SessionEvidence::of(read, found);
    let mut numbers: Vec<u32> = found.sessions.keys().copied().collect();
    // A session whose records were only read as neighbours has no words of its own.
    numbers.extend(read.iter().map(|read| read.candidate.mark.session));
    numbers.sort_unstable();
    numbers.dedup();
    let mut all: Vec<_> = numbers
        .into_iter()
        .map(|session| {
            let features = evidence.features(session, found);
            let score = features.iter().zip(WEIGHTS).map(|(x, w)| x * w).sum();
            ScoredSession {
                session,
                score,
                features,
            }
        })
        .collect();
    all.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.session.cmp(&a.session)));
    all
}

/// What speaks for each session.
#[derive(Debug)]
struct SessionEvidence {
    records: HashMap<u32, f64>,
    lexical: HashMap<u32, f64>,
    words: HashMap<u32, f64>,
    /// Terms that stand together somewhere in it.
    together: HashMap<u32, TermSet>,
    meaning: HashMap<u32, f64>,
}

impl SessionEvidence {
    fn of(read: &[ScoredRecord], found: &CandidateSet) -> Self {
        let top = read.first().map_or(0.0, |best| best.score);
        let by = |value: fn(&ScoredRecord) -> f64| {
            let values = read
                .iter()
                .map(move |r| (r.candidate.mark.session, value(r)));
            let mut sums = sum_with_decay(values);
            normalise(&mut sums);
            sums
        };
        let felt = read.iter().map(|read| {
            let felt = (SHARPNESS * (read.score - top)).exp();
            (read.candidate.mark.session, felt)
        });
        let mut records = sum_with_decay(felt);
        normalise(&mut records);
        let mut together: HashMap<u32, TermSet> = HashMap::new();
        let mut meaning: HashMap<u32, f64> = HashMap::new();
        for read in read {
            let session = read.candidate.mark.session;
            *together.entry(session).or_default() |= read.text_match.adjacent;
            let near = meaning.entry(session).or_default();
            *near = near.max(f64::from(read.text_match.cosine_max));
        }
        normalise(&mut meaning);
        Self {
            records,
            lexical: by(|read| read.lexical),
            words: session_word_scores(found),
            together,
            meaning,
        }
    }

    fn features(&self, session: u32, found: &CandidateSet) -> SessionFeatures {
        let of = |map: &HashMap<u32, f64>| map.get(&session).copied().unwrap_or_default();
        let seen = found.sessions.get(&session);
        let held = |at: usize| seen.is_some_and(|seen| seen.counts[at] > 0);
        let idf = &found.idf;
        let sum: f64 = idf.iter().sum();
        let coverage: f64 = (0..idf.len())
            .filter(|at| held(*at))
            .map(|at| idf[at])
            .sum();
        let bits = self.together.get(&session).copied().unwrap_or_default();
        let pair = |at: usize| idf[at - 1] + idf[at];
        let pairs: f64 = (1..idf.len()).map(pair).sum();
        let together: f64 = (1..idf.len())
            .filter(|at| bits >> at & 1 == 1)
            .map(pair)
            .sum();
        let bytes = seen.map_or(0, |seen| seen.size_bytes) as f64;
        [
            of(&self.records),
            of(&self.lexical),
            of(&self.words),
            coverage / sum.max(1e-9),
            together / pairs.max(1e-9),
            of(&found.window_scores),
            of(&self.meaning),
            (bytes + 1.0).ln() / 10.0,
        ]
    }
}

fn sum_with_decay(scores: impl Iterator<Item = (u32, f64)>) -> HashMap<u32, f64> {
    let mut by_session: HashMap<u32, Vec<f64>> = HashMap::new();
    for (session, score) in scores {
        by_session.entry(session).or_default().push(score);
    }
    let sum = |mut scores: Vec<f64>| -> f64 {
        scores.sort_by(|a, b| b.total_cmp(a));
        let weights = std::iter::successors(Some(1.0), |weight| Some(weight * DECAY));
        scores
            .iter()
            .take(SESSION_RECORDS_MAX)
            .zip(weights)
            .map(|(s, w)| s * w)
            .sum()
    };
    by_session
        .into_iter()
        .map(|(session, scores)| (session, sum(scores)))
        .collect()
}

pub fn normalise(scores: &mut HashMap<u32, f64>) {
    let max = scores.values().copied().fold(0.0, f64::max);
    if max > 0.0 {
        #[expect(clippy::iter_over_hash_type, reason = "each is divided by itself")]
        for score in scores.values_mut() {
            *score /= max;
        }
    }
}
