//! Ranks the candidates whose texts were read.
//!
//! [`estimate`] chooses which candidates to read, [`reading`] reads their texts, and [`passages`]
//! matches each with the query; [`embedding`] compares words that differ and mean the same.
//! [`features`] turns the matches into a score by a linear model ([`model`]) that
//! `tools/ranking/fit.py` fits; [`mod@bm25`] is the lexical score in it. [`answers`] then moves
//! answers in front of questions, and [`sessions`] ranks sessions.

pub(crate) mod answers;
pub(crate) mod bm25;
pub mod embedding;
pub(crate) mod estimate;
pub(crate) mod features;
pub(crate) mod model;
pub(crate) mod passages;
pub(crate) mod reading;
pub(crate) mod sessions;
mod vocabulary;

use std::collections::HashMap;

use memory::{RecordId, RecordKind};
use serde::Serialize;
use store::{CandidateRow, Lookup, Presence, USEFULNESS_UNKNOWN};

use self::answers::AnsweredQuestion;
use self::bm25::{bm25, length_penalty};
use self::features::{PeerSignals, RecordFeatures, SIMILARITY_MIN};
use self::passages::TextMatch;
use crate::query::{ParsedQuestion, utterance};
use crate::retrieve::exchanges::ExchangeRole;
use crate::retrieve::neighbours::{NEIGHBOUR_DISTANCE_MAX, uses_neighbours};
use crate::retrieve::turns::RowPosition;
use crate::retrieve::{Candidate, CandidateSet, TermSet};

/// How much a similar word in a neighbour counts beside one in the record itself.
const NEIGHBOUR_SIMILARITY: f64 = 0.8;
/// A reciprocal rank falls to one half at this rank. The 60 of the literature suits lists of a
/// thousand; at most 200 records are read.
const RANK_HALF: f64 = 10.0;

// Points that no benchmark can fit, because none has workspaces, pins or lost logs. One point is
// about the weight of a strong feature.

/// Points for a record of the caller's own workspace: enough to decide between equals.
const HOME_WORKSPACE_POINTS: f64 = 0.5;
/// Points for a pinned record.
const PINNED_POINTS: f64 = 2.0;
/// Points that a record gains or loses at most by its usefulness when it was shown before.
const USEFUL_POINTS: f64 = 2.0;
/// Points for a record that its log no longer contains: it was rewound, rewritten or cut off.
const DETACHED_POINTS: f64 = -2.0;
/// Points for a record whose log is gone. Agents delete old logs, so this only decides between
/// equals.
const SOURCE_GONE_POINTS: f64 = -0.25;
/// Points for an *echo*: a call of a memory tool contains all the query's words and answers
/// nothing, and its result repeats records that are found where they were said.
pub(crate) const ECHO_PENALTY: f64 = -4.0;
/// The name of the adjustment that marks an echo.
const ECHO: &str = "echo";
/// Hits whose pins and usefulness are looked up.
const REWARDED_HITS_MAX: usize = 40;

/// A part of a score.
#[derive(Clone, Debug, Serialize)]
pub struct ScorePart {
    pub name: &'static str,
    pub value: f64,
    /// The points that the part adds to the score.
    pub points: f64,
}

/// A record that was read and scored.
#[derive(Debug)]
pub(crate) struct ScoredRecord {
    pub(crate) candidate: Candidate,
    pub(crate) row: CandidateRow,
    pub(crate) text_match: TextMatch,
    pub(crate) features: RecordFeatures,
    pub(crate) score: f64,
    /// BM25 of the best passage.
    pub(crate) lexical: f64,
    /// Records right before this one in its session, counted up to two.
    pub(crate) records_before: usize,
    /// Unknown unless the query asks something.
    pub(crate) exchange: ExchangeRole,
    /// Parts of the score besides the features.
    pub(crate) adjustments: Vec<ScorePart>,
    /// The confidence of the search, between 0 and 1, if this were its best hit.
    pub(crate) confidence: f64,
    /// The confidence that the question which this record answers is the one asked now.
    pub(crate) answer_confidence: Option<f64>,
    /// The question that this record answers.
    pub(crate) answered_question: Option<AnsweredQuestion>,
    /// The record that answers this question.
    pub(crate) answered_by: Option<RecordId>,
}

impl ScoredRecord {
    pub(crate) fn new(
        candidate: Candidate,
        row: CandidateRow,
        text_match: TextMatch,
        records_before: usize,
    ) -> Self {
        Self {
            candidate,
            row,
            text_match,
            features: RecordFeatures::default(),
            score: 0.0,
            lexical: 0.0,
            records_before,
            exchange: ExchangeRole::default(),
            adjustments: Vec::new(),
            confidence: 0.0,
            answer_confidence: None,
            answered_question: None,
            answered_by: None,
        }
    }

    pub(crate) fn position(&self) -> RowPosition {
        RowPosition {
            row: self.candidate.row,
            session: self.session(),
        }
    }

    /// Returns the number of the session in the row attributes.
    pub(crate) fn session(&self) -> u32 {
        self.candidate.attributes.session
    }

    /// Returns whether this is a prompt that only asks. Where people have names they talk to each
    /// other, and their questions are part of what they say.
    pub(crate) fn is_question(&self) -> bool {
        self.row.kind == RecordKind::Prompt
            && self.row.speaker.is_none()
            && utterance::is_bare_question(&self.row.text)
    }

    /// Returns the parts of the score, the largest first.
    pub(crate) fn score_parts(&self) -> Vec<ScorePart> {
        let mut parts = self.features.score_parts();
        parts.extend(self.adjustments.iter().cloned());
        parts.sort_by(|a, b| b.points.abs().total_cmp(&a.points.abs()));
        parts
    }

    /// Adds points to the score, under a name.
    pub(crate) fn adjust(&mut self, name: &'static str, value: f64, points: f64) {
        self.score += points;
        self.adjustments.push(ScorePart {
            name,
            value,
            points,
        });
    }

    pub(crate) fn mark_as_echo(&mut self, points: f64) {
        self.adjust(ECHO, 1.0, points);
    }

    /// Returns whether this was marked as an echo of the query.
    pub(crate) fn is_echo(&self) -> bool {
        self.adjustments.iter().any(|part| part.name == ECHO)
    }

    /// Returns the terms that the record holds or that name its speaker.
    pub(crate) fn matched_terms(&self) -> TermSet {
        self.text_match.matched | self.candidate.speaker
    }

    /// Returns the terms that the record, its speaker or its neighbours hold.
    pub(crate) fn matched_terms_nearby(&self) -> TermSet {
        let [next, further] = self.candidate.neighbours;
        self.matched_terms() | next | further
    }
}

/// Scores the records that were read and sorts them, the best first.
pub(crate) fn score_records(
    question: &ParsedQuestion,
    candidates: &CandidateSet,
    mut records: Vec<ScoredRecord>,
    chat_share: f64,
    home_workspace: Option<&str>,
) -> Vec<ScoredRecord> {
    let mut context = ScoreContext::new(candidates, &records, chat_share);
    let lexical: Vec<_> = records
        .iter()
        .map(|record| context.lexical(record))
        .collect();
    context.lexical_max = max(lexical.iter().map(|scores| scores.passage));
    context.text_lexical_max = max(lexical.iter().map(|scores| scores.text));
    let peers = context.peer_signals(candidates, &records, &lexical);
    for ((record, lexical), peers) in records.iter_mut().zip(lexical).zip(peers) {
        record.lexical = lexical.passage;
        record.features = RecordFeatures::compute(&context, question, record, &peers);
        record.score = record.features.weighted_sum();
        if home_workspace.is_some() && record.row.workspace.as_deref() == home_workspace {
            record.adjust("home_workspace", 1.0, HOME_WORKSPACE_POINTS);
        }
        if utterance::is_memory_call(&record.row) {
            record.mark_as_echo(ECHO_PENALTY);
        }
        match record.row.presence {
            Presence::InSource => {}
            Presence::Detached => record.adjust("not_in_source", 1.0, DETACHED_POINTS),
            Presence::SourceGone => record.adjust("source_gone", 1.0, SOURCE_GONE_POINTS),
        }
    }
    sort_by_score(&mut records);
    records
}

/// Adjusts the best records by their pins, and by their usefulness when they were shown before.
pub(crate) fn apply_pins_and_usefulness(
    lookup: &Lookup<'_>,
    records: &mut [ScoredRecord],
) -> store::Result<()> {
    for record in records.iter_mut().take(REWARDED_HITS_MAX) {
        let signals = lookup.record_signals(record.row.id)?;
        if signals.pinned {
            record.adjust("pinned", 1.0, PINNED_POINTS);
        }
        if let Some(useful) = signals.useful {
            let value = 2.0 * (useful - USEFULNESS_UNKNOWN);
            record.adjust("useful", value, value * USEFUL_POINTS);
        }
    }
    sort_by_score(records);
    Ok(())
}

pub(crate) fn sort_by_score(records: &mut [ScoredRecord]) {
    let compare = |a: &ScoredRecord, b: &ScoredRecord| {
        let by_score = b.score.total_cmp(&a.score);
        by_score.then(b.candidate.row.cmp(&a.candidate.row))
    };
    if records.is_sorted_by(|a, b| compare(a, b).is_le()) {
        return;
    }
    // A record is more than a kilobyte, so each is moved once instead of in every step of the sort.
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by(|a, b| compare(&records[*a], &records[*b]));
    for at in 0..order.len() {
        let mut from = order[at];
        // The record that was here has been swapped to the position of an earlier one.
        while from < at {
            from = order[from];
        }
        records.swap(at, from);
    }
}

/// BM25 of a record's best passage and of its whole text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LexicalScores {
    pub(crate) passage: f64,
    text: f64,
}

/// The statistics of all records that were read, against which each is scored.
#[derive(Debug)]
pub(crate) struct ScoreContext {
    idf: Vec<f64>,
    idf_sum: f64,
    lexical_max: f64,
    text_lexical_max: f64,
    cosine_mean: f64,
    cosine_max: f64,
    passage_cosine_mean: f64,
    passage_cosine_max: f64,
    /// The average number of words.
    passage_words: f64,
    text_words: f64,
    /// The share of candidates that people or models said.
    chat_share: f64,
    speaker_terms: TermSet,
    /// The first and the last row.
    row_span: (i64, i64),
    /// The term with the highest idf.
    rarest_term: usize,
}

impl ScoreContext {
    /// Computes all statistics but the maxima of the lexical scores, which need them.
    fn new(candidates: &CandidateSet, records: &[ScoredRecord], chat_share: f64) -> Self {
        let idf = &candidates.idf;
        let count = records.len().max(1) as f64;
        let matches = || records.iter().map(|record| &record.text_match);
        let cosines = || matches().map(|text| f64::from(text.cosine));
        let passage_cosines = || matches().map(|text| f64::from(text.cosine_max));
        let passages: usize = matches().map(|text| text.passages.len()).sum();
        let words: f64 = matches().map(|text| f64::from(text.words)).sum();
        let rows = records.iter().map(|record| record.candidate.row);
        Self {
            idf: idf.clone(),
            idf_sum: idf.iter().sum::<f64>().max(1e-9),
            lexical_max: 1.0,
            text_lexical_max: 1.0,
            cosine_mean: cosines().sum::<f64>() / count,
            cosine_max: max(cosines()),
            passage_cosine_mean: passage_cosines().sum::<f64>() / count,
            passage_cosine_max: max(passage_cosines()),
            passage_words: (words / passages.max(1) as f64).max(1.0),
            text_words: (words / count).max(1.0),
            chat_share,
            speaker_terms: candidates.speaker_terms,
            row_span: (rows.clone().min().unwrap_or(0), rows.max().unwrap_or(0)),
            rarest_term: (0..idf.len())
                .max_by(|a, b| idf[*a].total_cmp(&idf[*b]))
                .unwrap_or(0),
        }
    }

    fn lexical(&self, record: &ScoredRecord) -> LexicalScores {
        let score = |counts: &dyn Fn(usize) -> f64, relative_length: f64| {
            let terms = self.idf.iter().enumerate().map(|(at, idf)| {
                let times = counts(at) + record.candidate.occurrences_beside(at);
                (*idf, times)
            });
            bm25(length_penalty::TEXT, relative_length, terms)
        };
        let text = &record.text_match;
        let count_in_text = |at: usize| -> f64 {
            let counts = text.passages.iter();
            counts.map(|passage| f64::from(passage.counts[at])).sum()
        };
        let passages = text.passages.iter().map(|passage| {
            let length = f64::from(passage.words) / self.passage_words;
            score(&|at| f64::from(passage.counts[at]), length)
        });
        LexicalScores {
            // A record without words still has its speaker and its neighbours.
            passage: passages.fold(score(&|_| 0.0, 1.0), f64::max),
            text: score(&count_in_text, f64::from(text.words) / self.text_words),
        }
    }

    fn peer_signals(
        &self,
        candidates: &CandidateSet,
        records: &[ScoredRecord],
        lexical: &[LexicalScores],
    ) -> Vec<PeerSignals> {
        let session_lexical = sessions::session_word_scores(candidates);
        let session_best = sessions::best_record_scores(records, lexical);
        let order = index_by_row(records);
        let by_lexical = reciprocal_ranks(lexical.iter().map(|scores| scores.passage));
        let cosine = |record: &ScoredRecord| f64::from(record.text_match.cosine_max);
        let by_cosine = reciprocal_ranks(records.iter().map(cosine));
        let similar = |record: &ScoredRecord| self.similar_share(record, SIMILARITY_MIN);
        let by_similar = reciprocal_ranks(records.iter().map(similar));
        (0..records.len())
            .map(|at| {
                let near = read_neighbours(records, &order, at);
                let session = records[at].session();
                let of_session =
                    |scores: &HashMap<u32, f64>| scores.get(&session).copied().unwrap_or_default();
                PeerSignals {
                    lexical: lexical[at].passage,
                    text_lexical: lexical[at].text,
                    nearby_lexical: max(near.iter().map(|other| lexical[*other].passage)),
                    nearby_cosine: near
                        .iter()
                        .map(|other| f64::from(records[*other].text_match.cosine))
                        .reduce(f64::max),
                    nearby_similar: self.nearby_similar_share(records, at, &near),
                    question_lexical: preceding_question_score(records, &near, at, lexical),
                    session_lexical: of_session(&session_lexical),
                    session_best: of_session(&session_best),
                    window: of_session(&candidates.window_scores),
                    rank_lexical: by_lexical[at],
                    rank_cosine: by_cosine[at],
                    rank_similar: by_similar[at],
                }
            })
            .collect()
    }

    /// Returns the share of the query's weight that a record holds or has similar words for.
    /// Similarities count from `similarity_min` on.
    fn similar_share(&self, record: &ScoredRecord, similarity_min: f64) -> f64 {
        let matched = record.matched_terms();
        self.idf_share(|at| {
            let similarity = f64::from(record.text_match.similarity[at]);
            f64::from(matched >> at & 1).max(above(similarity, similarity_min))
        })
    }

    /// Returns the same share for a record together with its neighbours.
    fn nearby_similar_share(&self, records: &[ScoredRecord], at: usize, near: &[usize]) -> f64 {
        let similarity =
            |record: usize, term: usize| f64::from(records[record].text_match.similarity[term]);
        let matched = records[at].matched_terms_nearby();
        self.idf_share(|term| {
            let nearby = max(near.iter().map(|other| similarity(*other, term)));
            let best = similarity(at, term).max(NEIGHBOUR_SIMILARITY * nearby);
            f64::from(matched >> term & 1).max(above(best, SIMILARITY_MIN))
        })
    }

    /// Returns the share of the query's weight, where `has` says how much of each term is there.
    fn idf_share(&self, has: impl Fn(usize) -> f64) -> f64 {
        let terms = self.idf.iter().enumerate();
        terms.map(|(at, idf)| idf * has(at)).sum::<f64>() / self.idf_sum
    }
}

/// Returns how far a value lies above `min`, relative to 1.
fn above(value: f64, min: f64) -> f64 {
    (value - min) / (1.0 - min)
}

/// Returns the lexical score of the record right before, if that is a question.
fn preceding_question_score(
    records: &[ScoredRecord],
    near: &[usize],
    at: usize,
    lexical: &[LexicalScores],
) -> f64 {
    let row = records[at].candidate.row;
    let before = near
        .iter()
        .find(|other| records[**other].candidate.row == row - 1);
    before
        .filter(|other| records[**other].text_match.is_question)
        .map_or(0.0, |other| lexical[*other].passage)
}

/// Returns 1 for the highest value, falling with the rank of the others.
fn reciprocal_ranks(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let values: Vec<f64> = values.collect();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
    let mut ranks = vec![0.0; values.len()];
    for (rank, at) in order.into_iter().enumerate() {
        ranks[at] = RANK_HALF / (RANK_HALF + rank as f64);
    }
    ranks
}

/// Returns the rows of the records with their indices, sorted by row.
fn index_by_row(records: &[ScoredRecord]) -> Vec<(i64, usize)> {
    let rows = records.iter().enumerate();
    let mut order: Vec<_> = rows
        .map(|(at, record)| (record.candidate.row, at))
        .collect();
    order.sort_unstable();
    order
}

/// Returns the indices of a record's neighbours that were read too.
fn read_neighbours(records: &[ScoredRecord], order: &[(i64, usize)], at: usize) -> Vec<usize> {
    let candidate = &records[at].candidate;
    if !uses_neighbours(&candidate.attributes) {
        return Vec::new();
    }
    let Ok(place) = order.binary_search_by_key(&candidate.row, |(row, _)| *row) else {
        return Vec::new();
    };
    order[place.saturating_sub(2)..(place + 3).min(order.len())]
        .iter()
        .filter(|(row, other)| {
            *other != at
                && row.abs_diff(candidate.row) <= NEIGHBOUR_DISTANCE_MAX
                && records[*other].session() == candidate.attributes.session
        })
        .map(|(_, other)| *other)
        .collect()
}

fn max(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}
