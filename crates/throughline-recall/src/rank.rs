//! Features of a candidate, and the score they make: a sum of weights that were fitted, not chosen.
//!
//! The weights are made by `tools/ranking/fit.py`; one set serves every kind of corpus. What depends on the
//! corpus is a feature too: in a chat a person's words weigh more than in a log that is mostly tools.

mod weights;

use memory::{RecordId, RecordKind};
use serde::Serialize;
use store::{CandidateRow, Lookup, Presence, RowAttributes, USEFULNESS_UNKNOWN};

use crate::answers::AnsweredQuestion;
use crate::ask::ParsedQuestion;
use crate::candidates::{Candidate, CandidateSet, TermSet};
use crate::echo;
use crate::passages::TextMatch;
use crate::wishes::PreferenceCues;

pub use weights::{COUNT, NAMES, RecordFeatures, WEIGHTS};
use weights::{PRODUCTS, SEEN};

/// How much a neighbour's word counts.
const NEAR_WEIGHT: f64 = 0.3;
/// How fast a word that occurs again stops counting, and how much length counts against.
const K1: f64 = 1.2;
const B: f64 = 0.6;

/// Words less alike than this do not stand for each other.
const SIMILARITY_MIN: f64 = 0.45;
/// The place that counts half of the first.
const RANK_HALF: f64 = 10.0;

/// What the asker's own workspace adds: enough to decide between equals.
const HOME_WORKSPACE_POINTS: f64 = 0.5;
/// What a pin adds, and what use adds at most, or takes away.
const PINNED_POINTS: f64 = 2.0;
const USEFUL_POINTS: f64 = 2.0;
/// What a question that an agent put to memory loses, and what it was told: the one holds all the words and answers
/// nothing, the other repeats what is found where it was said.
pub const ECHO_PENALTY: f64 = -4.0;
/// What a record loses that its log has lost: it was rewound, rewritten or cut off.
const DETACHED_POINTS: f64 = -2.0;
/// What a record loses whose log is gone. Agents delete their old logs, so this only decides
/// between equals.
const SOURCE_GONE_POINTS: f64 = -0.25;
/// Hits of which it is asked what people and use have said of them.
const REWARDED_HITS_MAX: usize = 40;

/// A part of a score.
#[derive(Clone, Debug, Serialize)]
pub struct ScorePart {
    pub name: &'static str,
    pub value: f64,
    /// What it adds to the score.
    pub points: f64,
}

/// A candidate that was read.
#[derive(Debug)]
pub struct ScoredRecord {
    pub candidate: Candidate,
    pub detail: CandidateRow,
    pub text_match: TextMatch,
    pub features: RecordFeatures,
    pub score: f64,
    /// The bare lexical score.
    pub lexical: f64,
    /// Records of its session that come just before it, two at most.
    pub records_before: usize,
    /// What counts besides the features.
    pub adjustments: Vec<ScorePart>,
    /// How sure the search would be, between 0 and 1, if this were its best hit.
    pub confidence: f64,
    /// How sure the search is that a question which this answers is the one asked now.
    pub answer_confidence: Option<f64>,
    /// The question that this answers.
    pub answered_question: Option<AnsweredQuestion>,
    /// The record that answers this question.
    pub answered_by: Option<RecordId>,
}

impl ScoredRecord {
    pub fn new(
        candidate: Candidate,
        detail: CandidateRow,
        text_match: TextMatch,
        records_before: usize,
    ) -> Self {
        Self {
            candidate,
            detail,
            text_match,
            features: [0.0; COUNT],
            score: 0.0,
            lexical: 0.0,
            records_before,
            adjustments: Vec::new(),
            confidence: 0.0,
            answer_confidence: None,
            answered_question: None,
            answered_by: None,
        }
    }

    /// Says whether this is a prompt that only asks. People who have names talk to each other,
    /// and their questions are part of what they say.
    pub fn is_question(&self) -> bool {
        self.detail.kind == RecordKind::Prompt
            && self.detail.speaker.is_none()
            && echo::is_bare_question(&self.detail.text)
    }

    /// Returns the parts of the score, the weightiest first.
    pub fn score_parts(&self) -> Vec<ScorePart> {
        let mut parts: Vec<_> = (0..COUNT)
            .map(|at| ScorePart {
                name: NAMES[at],
                value: self.features[at],
                points: self.features[at] * WEIGHTS[at],
            })
            .filter(|part| part.points != 0.0)
            .collect();
        parts.extend(self.adjustments.iter().cloned());
        parts.sort_by(|a, b| b.points.abs().total_cmp(&a.points.abs()));
        parts
    }

    pub fn adjust(&mut self, name: &'static str, value: f64, points: f64) {
        self.score += points;
        self.adjustments.push(ScorePart {
            name,
            value,
            points,
        });
    }

    /// Says whether this was marked as a call of a memory tool, or what it returned.
    pub fn is_memory_output(&self) -> bool {
        self.adjustments.iter().any(|part| part.name == "echo")
    }

    /// Returns the terms the record holds or is spoken by.
    pub fn matched_terms(&self) -> TermSet {
        self.text_match.matched_terms() | self.candidate.speaker
    }
}

/// What the candidates are weighed against.
#[derive(Debug)]
struct ScoreContext {
    idf: Vec<f64>,
    idf_sum: f64,
    words_max: f64,
    whole_max: f64,
    cosine_mean: f64,
    cosine_max: f64,
    best_mean: f64,
    best_max: f64,
    passage_words: f64,
    record_words: f64,
    /// The share of what people and models say.
    chat: f64,
    speakers: TermSet,
    rows: (i64, i64),
    /// The term that says most.
    rarest: usize,
    /// Places of [`PRODUCTS`].
    products: [(usize, usize); PRODUCTS.len()],
}

/// Scores what was read, the best first.
pub fn score_records(
    question: &ParsedQuestion,
    found: &CandidateSet,
    mut read: Vec<ScoredRecord>,
    here: Option<&str>,
) -> Vec<ScoredRecord> {
    let mut background = ScoreContext::of(found, &read);
    let lexical: Vec<_> = read.iter().map(|read| background.lexical(read)).collect();
    background.words_max = max(lexical.iter().map(|l| l.0));
    background.whole_max = max(lexical.iter().map(|l| l.1));
    let session_words = crate::sessions::session_word_scores(found);
    let session_best = crate::sessions::best_record_scores(&read, &lexical);
    let order = index_by_row(&read);
    let ranks = background.ranks(&read, &lexical);
    for at in 0..read.len() {
        let near = read_neighbours(&read, &order, at);
        let session = read[at].candidate.mark.session;
        let sums = Sums {
            words: lexical[at].0,
            whole: lexical[at].1,
            near_words: near.iter().map(|n| lexical[*n].0).fold(0.0, f64::max),
            near_cosine: max_or(
                near.iter().map(|n| f64::from(read[*n].text_match.cosine)),
                None,
            ),
            session_words: session_words.get(&session).copied().unwrap_or_default(),
            session_best: session_best.get(&session).copied().unwrap_or_default(),
            stretch: found
                .window_scores
                .get(&session)
                .copied()
                .unwrap_or_default(),
            near_alike: background.near_alike(&read, at, &near),
            answers: preceding_question_score(&read, &near, at, &lexical),
            ranks: [ranks[0][at], ranks[1][at], ranks[2][at]],
        };
        let features = background.features(question, &read[at], &sums);
        read[at].lexical = lexical[at].0;
        read[at].score = features.iter().zip(WEIGHTS).map(|(x, w)| x * w).sum();
        read[at].features = features;
        let is_here = here.is_some() && read[at].detail.workspace.as_deref() == here;
        if is_here {
            read[at].adjust("here", 1.0, HOME_WORKSPACE_POINTS);
        }
        if echo::is_memory_call(&read[at].detail) {
            read[at].adjust("echo", 1.0, ECHO_PENALTY);
        }
        match read[at].detail.presence {
            Presence::InSource => {}
            Presence::Detached => read[at].adjust("not_in_source", 1.0, DETACHED_POINTS),
            Presence::SourceGone => read[at].adjust("source_gone", 1.0, SOURCE_GONE_POINTS),
        }
    }
    sort_by_score(&mut read);
    read
}

/// Lets pins and what helped before come forward, and what did not help fall back.
pub fn apply_pins_and_usefulness(
    lookup: &Lookup<'_>,
    read: &mut [ScoredRecord],
) -> store::Result<()> {
    for read in read.iter_mut().take(REWARDED_HITS_MAX) {
        let worth = lookup.record_signals(read.detail.id)?;
        if worth.pinned {
            read.adjust("pinned", 1.0, PINNED_POINTS);
        }
        if let Some(useful) = worth.useful {
            let value = 2.0 * (useful - USEFULNESS_UNKNOWN);
            read.adjust("useful", value, value * USEFUL_POINTS);
        }
    }
    sort_by_score(read);
    Ok(())
}

/// Puts the best first.
pub fn sort_by_score(read: &mut [ScoredRecord]) {
    read.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then(b.candidate.row.cmp(&a.candidate.row))
    });
}

#[derive(Debug)]
struct Sums {
    words: f64,
    whole: f64,
    near_words: f64,
    near_cosine: Option<f64>,
    session_words: f64,
    session_best: f64,
    stretch: f64,
    near_alike: f64,
    answers: f64,
    ranks: [f64; 3],
}

impl ScoreContext {
    fn of(found: &CandidateSet, read: &[ScoredRecord]) -> Self {
        let count = read.len().max(1) as f64;
        let cosines = || read.iter().map(|read| f64::from(read.text_match.cosine));
        let bests = || {
            read.iter()
                .map(|read| f64::from(read.text_match.cosine_max))
        };
        let passages: usize = read.iter().map(|read| read.text_match.passages.len()).sum();
        let words: f64 = read
            .iter()
            .map(|read| f64::from(read.text_match.words))
            .sum();
        let is_talk =
            |mark: &RowAttributes| matches!(mark.kind, RecordKind::Prompt | RecordKind::Assistant);
        let talk = read
            .iter()
            .filter(|read| is_talk(&read.candidate.mark))
            .count();
        let rows = read.iter().map(|read| read.candidate.row);
        Self {
            idf: found.idf.clone(),
            idf_sum: found.idf.iter().sum::<f64>().max(1e-9),
            words_max: 1.0,
            whole_max: 1.0,
            cosine_mean: cosines().sum::<f64>() / count,
            cosine_max: max(cosines()),
            best_mean: bests().sum::<f64>() / count,
            best_max: max(bests()),
            passage_words: (words / passages.max(1) as f64).max(1.0),
            record_words: (words / count).max(1.0),
            chat: talk as f64 / count,
            speakers: found.speaker_terms,
            rows: (rows.clone().min().unwrap_or(0), rows.max().unwrap_or(0)),
            products: PRODUCTS.map(|(a, b)| (place_of(a), place_of(b))),
            rarest: (0..found.idf.len())
                .max_by(|a, b| found.idf[*a].total_cmp(&found.idf[*b]))
                .unwrap_or(0),
        }
    }

    /// Returns the weight of the words in the best passage, and in the whole.
    fn lexical(&self, read: &ScoredRecord) -> (f64, f64) {
        let candidate = &read.candidate;
        let extra = |at: usize| {
            let has = |bits: TermSet| f64::from(bits >> at & 1);
            has(candidate.speaker)
                + NEAR_WEIGHT * (has(candidate.neighbours[0]) + has(candidate.neighbours[1]))
        };
        let weigh = |counts: &dyn Fn(usize) -> f64, length: f64| -> f64 {
            let norm = K1 * (1.0 - B + B * length);
            let points = |(at, idf): (usize, &f64)| {
                let times = counts(at) + extra(at);
                idf * times * (K1 + 1.0) / (times + norm)
            };
            self.idf.iter().enumerate().map(points).sum()
        };
        let passages = &read.text_match.passages;
        let best = passages
            .iter()
            .map(|passage| {
                let length = f64::from(passage.words) / self.passage_words;
                weigh(&|at| f64::from(passage.counts[at]), length)
            })
            .fold(weigh(&|_| 0.0, 1.0), f64::max);
        let total = |at: usize| -> f64 {
            passages
                .iter()
                .map(|passage| f64::from(passage.counts[at]))
                .sum()
        };
        let length = f64::from(read.text_match.words) / self.record_words;
        (best, weigh(&total, length))
    }

    fn features(
        &self,
        question: &ParsedQuestion,
        read: &ScoredRecord,
        sums: &Sums,
    ) -> RecordFeatures {
        let mut features = [0.0; COUNT];
        features[..SEEN].copy_from_slice(&self.seen(question, read, sums));
        for (at, (a, b)) in self.products.iter().enumerate() {
            features[SEEN + at] = features[*a] * features[*b];
        }
        features
    }

    fn seen(&self, question: &ParsedQuestion, read: &ScoredRecord, sums: &Sums) -> [f64; SEEN] {
        let reading = &read.text_match;
        let candidate = &read.candidate;
        let share = |bits: TermSet| self.share(|at| f64::from(bits >> at & 1));
        let own = read.matched_terms();
        let near = own | candidate.neighbours[0] | candidate.neighbours[1];
        let relative = |value: f64, mean: f64, max: f64| {
            ((value - mean) / (max - mean).max(1e-6)).clamp(-1.0, 1.0)
        };
        let kind = read.detail.kind;
        // Who has a name is a person, whichever side of the conversation it was.
        let is_person = kind == RecordKind::Prompt || read.detail.speaker.is_some();
        let is_model = kind == RecordKind::Assistant && !is_person;
        // Among tool calls, what stands beside a record is seldom what it is about.
        let talk = self.chat * self.chat;
        let is = |yes: bool| f64::from(u8::from(yes));
        let words = sums.words / self.words_max.max(1e-9);
        let meaning = relative(f64::from(reading.cosine), self.cosine_mean, self.cosine_max);
        let best = relative(f64::from(reading.cosine_max), self.best_mean, self.best_max);
        let alike = self.alike(read, SIMILARITY_MIN);
        let rarest: TermSet = 1 << self.rarest;
        let asked = self.speakers != 0;
        let length = (f64::from(candidate.mark.size_bytes) + 1.0).ln() / 10.0;
        let (first, last) = self.rows;
        // What a person said to a model.
        let said = talk * is(kind == RecordKind::Prompt && read.detail.speaker.is_none());
        let wish = if kind == RecordKind::Prompt {
            PreferenceCues::detect(&read.detail.text)
        } else {
            PreferenceCues::default()
        };
        let is_later = is(read.records_before > 1 && read.detail.speaker.is_none());
        [
            words,
            sums.words / (self.idf_sum * (K1 + 1.0)),
            share(own),
            share(near) * talk,
            share(reading.exact),
            share(reading.adjacent),
            meaning,
            best,
            f64::from(reading.cosine_max),
            alike,
            sums.session_words,
            sums.session_best,
            is(candidate.speaker != 0),
            is(asked && candidate.speaker == 0 && read.detail.speaker.is_some()),
            is(is_person),
            is(is_model),
            is(!matches!(
                kind,
                RecordKind::Prompt | RecordKind::Assistant | RecordKind::Summary
            )),
            is(is_person) * talk,
            length * is(is_person),
            is(reading.is_question),
            question.dates.match_day(candidate.mark.day),
            is(question.asks_for_time && reading.has_time),
            talk * sums.near_words / self.words_max.max(1e-9),
            sums.near_cosine.map_or(0.0, |near| {
                talk * relative(near, self.cosine_mean, self.cosine_max)
            }),
            sums.whole / self.whole_max.max(1e-9),
            words * best.max(0.0),
            length * is(!is_person),
            (candidate.row - first) as f64 / ((last - first) as f64).max(1.0),
            self.alike(read, 0.0),
            talk * sums.near_alike,
            is(own & rarest != 0),
            is(near & rarest != 0) * talk,
            sums.ranks[0],
            sums.ranks[1],
            sums.ranks[2],
            talk * sums.answers / self.words_max.max(1e-9),
            is(question.asks_for_count && reading.has_number),
            sums.stretch,
            talk * sums.whole / self.whole_max.max(1e-9),
            talk * best,
            talk * sums.session_words,
            talk * share(reading.adjacent),
            is(read.detail.speaker.is_some()),
            said * is(wish.is_standing),
            said * is(wish.is_standing && question.asks_for_advice),
            said * is(wish.is_preference),
            said * is(wish.is_preference && question.asks_for_advice),
            said * is(question.asks_for_overview),
            is(is_model && question.asks_for_overview),
            said * is(read.records_before == 0),
            said * is(read.records_before == 0 && question.asks_for_overview),
            is_later,
            is_later * is(question.asks_for_overview),
        ]
    }

    /// Returns the share of the question that a record holds or comes near to.
    fn alike(&self, read: &ScoredRecord, floor: f64) -> f64 {
        let own = read.matched_terms();
        self.share(|at| {
            let near = (f64::from(read.text_match.similarity[at]) - floor) / (1.0 - floor);
            f64::from(own >> at & 1).max(near)
        })
    }

    /// Returns the share of the question that a record and those beside it hold or come near to.
    fn near_alike(&self, read: &[ScoredRecord], at: usize, near: &[usize]) -> f64 {
        let beside = |term: usize| {
            let of = |other: &usize| f64::from(read[*other].text_match.similarity[term]);
            near.iter().map(of).fold(0.0, f64::max)
        };
        let candidate = &read[at].candidate;
        let held = read[at].matched_terms() | candidate.neighbours[0] | candidate.neighbours[1];
        self.share(|term| {
            let own = f64::from(read[at].text_match.similarity[term]);
            let alike = (own.max(0.8 * beside(term)) - SIMILARITY_MIN) / (1.0 - SIMILARITY_MIN);
            f64::from(held >> term & 1).max(alike)
        })
    }

    /// Returns each record's place by its words, by its meaning and by both, 1 for the first and falling.
    fn ranks(&self, read: &[ScoredRecord], lexical: &[(f64, f64)]) -> [Vec<f64>; 3] {
        let words: Vec<f64> = lexical.iter().map(|l| l.0).collect();
        let cosine = |read: &ScoredRecord| f64::from(read.text_match.cosine_max);
        let cosines: Vec<f64> = read.iter().map(cosine).collect();
        let alike = |read: &ScoredRecord| self.alike(read, SIMILARITY_MIN);
        let alike: Vec<f64> = read.iter().map(alike).collect();
        [
            reciprocal_ranks(&words),
            reciprocal_ranks(&cosines),
            reciprocal_ranks(&alike),
        ]
    }

    /// Returns the share of the question that `has` says is there.
    fn share(&self, has: impl Fn(usize) -> f64) -> f64 {
        let sum: f64 = self
            .idf
            .iter()
            .enumerate()
            .map(|(at, idf)| idf * has(at))
            .sum();
        sum / self.idf_sum
    }
}

/// Returns the place of a feature.
pub fn place_of(name: &str) -> usize {
    let place = NAMES.iter().position(|known| *known == name);
    place.unwrap_or_default()
}

/// Returns how much a record answers: what was asked just before it holds the words.
fn preceding_question_score(
    read: &[ScoredRecord],
    near: &[usize],
    at: usize,
    lexical: &[(f64, f64)],
) -> f64 {
    let row = read[at].candidate.row;
    let before = near
        .iter()
        .find(|other| read[**other].candidate.row == row - 1);
    before
        .filter(|other| read[**other].text_match.is_question)
        .map_or(0.0, |other| lexical[*other].0)
}

fn reciprocal_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
    let mut places = vec![0.0; values.len()];
    for (place, at) in order.into_iter().enumerate() {
        places[at] = RANK_HALF / (RANK_HALF + place as f64);
    }
    places
}

/// Returns where each row is among what was read.
fn index_by_row(read: &[ScoredRecord]) -> Vec<(i64, usize)> {
    let mut order: Vec<_> = read
        .iter()
        .enumerate()
        .map(|(at, r)| (r.candidate.row, at))
        .collect();
    order.sort_unstable();
    order
}

/// Returns the neighbours of a record that were read too.
fn read_neighbours(read: &[ScoredRecord], order: &[(i64, usize)], at: usize) -> Vec<usize> {
    let candidate = &read[at].candidate;
    if !crate::candidates::uses_neighbours(&candidate.mark) {
        return Vec::new();
    }
    let Ok(here) = order.binary_search_by_key(&candidate.row, |entry| entry.0) else {
        return Vec::new();
    };
    order[here.saturating_sub(2)..(here + 3).min(order.len())]
        .iter()
        .filter(|(row, other)| {
            *other != at
                && row.abs_diff(candidate.row) <= 2
                && read[*other].candidate.mark.session == candidate.mark.session
        })
        .map(|(_, other)| *other)
        .collect()
}

fn max(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, f64::max)
}

fn max_or(values: impl Iterator<Item = f64>, none: Option<f64>) -> Option<f64> {
    values.fold(none, |best, value| {
        Some(best.map_or(value, |best| best.max(value)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_of_features_that_are_seen() {
        for (a, b) in PRODUCTS {
            for name in [a, b] {
                assert!(NAMES[..SEEN].contains(&name), "{name}");
            }
        }
    }
}
