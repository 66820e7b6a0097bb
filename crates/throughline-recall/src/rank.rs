//! Features of a candidate, and the score they make: a sum of weights that were fitted, not chosen.
//!
//! The weights are made by `tools/ranking/fit.py`; one set serves every kind of corpus. What depends on the
//! corpus is a feature too: in a chat a person's words weigh more than in a log that is mostly tools.

use memory::Kind;
use serde::Serialize;
use store::{Detail, Mark};

use crate::ask::Question;
use crate::candidates::{Bits, Candidate, Candidates};
use crate::passages::Reading;

/// How much a neighbour's word counts.
const NEAR_WEIGHT: f64 = 0.3;
/// How fast a word that occurs again stops counting, and how much length counts against.
const K1: f64 = 1.2;
const B: f64 = 0.6;

/// What the asker's own workspace adds: enough to decide between equals.
const HERE_POINTS: f64 = 0.5;

/// What is weighed, in the order of [`WEIGHTS`].
pub const NAMES: [&str; COUNT] = [
    "words",
    "words_share",
    "coverage",
    "coverage_near",
    "exact",
    "together",
    "meaning",
    "meaning_best",
    "meaning_raw",
    "alike",
    "session_words",
    "session_best",
    "speaker",
    "other_speaker",
    "person",
    "model",
    "tool",
    "person_in_chat",
    "length",
    "question",
    "day",
    "time_for_when",
    "near_words",
    "near_meaning",
    "whole_words",
    "words_x_meaning",
    "length_of_others",
    "recent",
];
pub const COUNT: usize = 28;
pub type Features = [f64; COUNT];

/// Fitted by `tools/ranking/fit.py`.
pub const WEIGHTS: Features = [
    2.96, -0.81, -1.42, 0.98, 0.47, 3.00, 0.34, 0.47, -0.06, 2.76, 1.23, -0.06, 0.57, -0.57, 0.40,
    0.00, -0.20, 2.31, -2.44, -0.17, 3.73, 1.41, 1.47, 0.58, -0.64, 0.96, -1.50, 0.05,
];

/// A part of a score.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    pub name: &'static str,
    pub value: f64,
    /// What it adds to the score.
    pub points: f64,
}

/// A candidate that was read.
#[derive(Debug)]
pub struct Read {
    pub candidate: Candidate,
    pub detail: Detail,
    pub reading: Reading,
    pub features: Features,
    pub score: f64,
    /// The bare lexical score.
    pub words: f64,
    /// Was made where the asker stands.
    pub is_here: bool,
}

impl Read {
    /// Returns the parts of the score, the weightiest first.
    pub fn parts(&self) -> Vec<Part> {
        let mut parts: Vec<_> = (0..COUNT)
            .map(|at| Part {
                name: NAMES[at],
                value: self.features[at],
                points: self.features[at] * WEIGHTS[at],
            })
            .filter(|part| part.points != 0.0)
            .collect();
        if self.is_here {
            parts.push(Part {
                name: "here",
                value: 1.0,
                points: HERE_POINTS,
            });
        }
        parts.sort_by(|a, b| b.points.abs().total_cmp(&a.points.abs()));
        parts
    }

    /// Returns the terms the record holds or is spoken by.
    pub fn own(&self) -> Bits {
        self.reading.own() | self.candidate.who
    }
}

/// What the candidates are weighed against.
#[derive(Debug)]
struct Background {
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
    speakers: Bits,
    rows: (i64, i64),
}

/// Scores what was read, the best first.
pub fn rank(
    question: &Question,
    found: &Candidates,
    mut read: Vec<Read>,
    here: Option<&str>,
) -> Vec<Read> {
    let mut background = Background::of(found, &read);
    let lexical: Vec<_> = read.iter().map(|read| background.lexical(read)).collect();
    background.words_max = max(lexical.iter().map(|l| l.0));
    background.whole_max = max(lexical.iter().map(|l| l.1));
    let session_words = crate::sessions::documents(found);
    let session_best = crate::sessions::best(&read, &lexical);
    let order = by_row(&read);
    for at in 0..read.len() {
        let near = near(&read, &order, at);
        let session = read[at].candidate.mark.session;
        let sums = Sums {
            words: lexical[at].0,
            whole: lexical[at].1,
            near_words: near.iter().map(|n| lexical[*n].0).fold(0.0, f64::max),
            near_cosine: max_or(
                near.iter().map(|n| f64::from(read[*n].reading.cosine)),
                None,
            ),
            session_words: session_words.get(&session).copied().unwrap_or_default(),
            session_best: session_best.get(&session).copied().unwrap_or_default(),
        };
        let features = background.features(question, &read[at], &sums);
        read[at].words = lexical[at].0;
        read[at].is_here = here.is_some() && read[at].detail.workspace.as_deref() == here;
        let sum: f64 = features.iter().zip(WEIGHTS).map(|(x, w)| x * w).sum();
        read[at].score = sum + if read[at].is_here { HERE_POINTS } else { 0.0 };
        read[at].features = features;
    }
    read.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then(b.candidate.row.cmp(&a.candidate.row))
    });
    read
}

#[derive(Debug)]
struct Sums {
    words: f64,
    whole: f64,
    near_words: f64,
    near_cosine: Option<f64>,
    session_words: f64,
    session_best: f64,
}

impl Background {
    fn of(found: &Candidates, read: &[Read]) -> Self {
        let count = read.len().max(1) as f64;
        let cosines = || read.iter().map(|read| f64::from(read.reading.cosine));
        let bests = || read.iter().map(|read| f64::from(read.reading.cosine_best));
        let passages: usize = read.iter().map(|read| read.reading.passages.len()).sum();
        let words: f64 = read.iter().map(|read| f64::from(read.reading.words)).sum();
        let is_talk = |mark: &Mark| matches!(mark.kind, Kind::Prompt | Kind::Assistant);
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
            speakers: found.speakers,
            rows: (rows.clone().min().unwrap_or(0), rows.max().unwrap_or(0)),
        }
    }

    /// Returns the weight of the words in the best passage, and in the whole.
    fn lexical(&self, read: &Read) -> (f64, f64) {
        let candidate = &read.candidate;
        let extra = |at: usize| {
            let has = |bits: Bits| f64::from(bits >> at & 1);
            has(candidate.who) + NEAR_WEIGHT * (has(candidate.near[0]) + has(candidate.near[1]))
        };
        let weigh = |counts: &dyn Fn(usize) -> f64, length: f64| -> f64 {
            let norm = K1 * (1.0 - B + B * length);
            let points = |(at, idf): (usize, &f64)| {
                let times = counts(at) + extra(at);
                idf * times * (K1 + 1.0) / (times + norm)
            };
            self.idf.iter().enumerate().map(points).sum()
        };
        let passages = &read.reading.passages;
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
        let length = f64::from(read.reading.words) / self.record_words;
        (best, weigh(&total, length))
    }

    fn features(&self, question: &Question, read: &Read, sums: &Sums) -> Features {
        let reading = &read.reading;
        let candidate = &read.candidate;
        let share = |bits: Bits| self.share(|at| f64::from(bits >> at & 1));
        let own = read.own();
        let near = own | candidate.near[0] | candidate.near[1];
        let relative = |value: f64, mean: f64, max: f64| {
            ((value - mean) / (max - mean).max(1e-6)).clamp(-1.0, 1.0)
        };
        let kind = read.detail.kind;
        // Who has a name is a person, whichever side of the conversation it was.
        let is_person = kind == Kind::Prompt || read.detail.speaker.is_some();
        let is_model = kind == Kind::Assistant && !is_person;
        // Among tool calls, what stands beside a record is seldom what it is about.
        let talk = self.chat * self.chat;
        let is = |yes: bool| f64::from(u8::from(yes));
        let words = sums.words / self.words_max.max(1e-9);
        let meaning = relative(f64::from(reading.cosine), self.cosine_mean, self.cosine_max);
        let best = relative(
            f64::from(reading.cosine_best),
            self.best_mean,
            self.best_max,
        );
        let alike = self.share(|at| {
            let occurs = f64::from(own >> at & 1);
            occurs.max(f64::from(reading.alike[at]))
        });
        let asked = self.speakers != 0;
        let length = (f64::from(candidate.mark.size_bytes) + 1.0).ln() / 10.0;
        let (first, last) = self.rows;
        [
            words,
            sums.words / (self.idf_sum * (K1 + 1.0)),
            share(own),
            share(near) * talk,
            share(reading.exact),
            share(reading.together),
            meaning,
            best,
            f64::from(reading.cosine_best),
            alike,
            sums.session_words,
            sums.session_best,
            is(candidate.who != 0),
            is(asked && candidate.who == 0 && read.detail.speaker.is_some()),
            is(is_person),
            is(is_model),
            is(!matches!(
                kind,
                Kind::Prompt | Kind::Assistant | Kind::Summary
            )),
            is(is_person) * talk,
            length * is(is_person),
            is(reading.is_question),
            question.dates.fit(candidate.mark.day),
            is(question.asks_when && reading.has_time),
            talk * sums.near_words / self.words_max.max(1e-9),
            sums.near_cosine.map_or(0.0, |near| {
                talk * relative(near, self.cosine_mean, self.cosine_max)
            }),
            sums.whole / self.whole_max.max(1e-9),
            words * best.max(0.0),
            length * is(!is_person),
            (candidate.row - first) as f64 / ((last - first) as f64).max(1.0),
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

/// Returns where each row is among what was read.
fn by_row(read: &[Read]) -> Vec<(i64, usize)> {
    let mut order: Vec<_> = read
        .iter()
        .enumerate()
        .map(|(at, r)| (r.candidate.row, at))
        .collect();
    order.sort_unstable();
    order
}

/// Returns the neighbours of a record that were read too.
fn near(read: &[Read], order: &[(i64, usize)], at: usize) -> Vec<usize> {
    let candidate = &read[at].candidate;
    if !crate::candidates::leans(&candidate.mark) {
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
