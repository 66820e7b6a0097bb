//! Features of a candidate, and the score they make: a sum of weights that were fitted, not chosen.
//!
//! The weights are made by `tools/ranking/fit.py`; one set serves every kind of corpus. What depends on the
//! corpus is a feature too: in a chat a person's words weigh more than in a log that is mostly tools.

mod weights;

use memory::{Kind, RecordId};
use serde::Serialize;
use store::{Detail, Lookup, Mark, Presence, USEFULNESS_UNKNOWN};

use crate::answers::AnsweredQuestion;
use crate::ask::Question;
use crate::candidates::{Bits, Candidate, Candidates};
use crate::echo;
use crate::passages::Reading;
use crate::wishes::Wish;

pub use weights::{COUNT, Features, NAMES, WEIGHTS};
use weights::{PRODUCTS, SEEN};

/// How much a neighbour's word counts.
const NEAR_WEIGHT: f64 = 0.3;
/// How fast a word that occurs again stops counting, and how much length counts against.
const K1: f64 = 1.2;
const B: f64 = 0.6;

/// Words less alike than this do not stand for each other.
const ALIKE_MIN: f64 = 0.45;
/// The place that counts half of the first.
const PLACE_HALF: f64 = 10.0;

/// What the asker's own workspace adds: enough to decide between equals.
const HERE_POINTS: f64 = 0.5;
/// What a pin adds, and what use adds at most, or takes away.
const PINNED_POINTS: f64 = 2.0;
const USEFUL_POINTS: f64 = 2.0;
/// What a question that an agent put to memory loses, and what it was told: the one holds all the words and answers
/// nothing, the other repeats what is found where it was said.
pub const ECHO_POINTS: f64 = -4.0;
/// What a record loses that its log has lost: it was rewound, rewritten or cut off.
const DETACHED_POINTS: f64 = -2.0;
/// What a record loses whose log is gone. Agents delete their old logs, so this only decides
/// between equals.
const SOURCE_GONE_POINTS: f64 = -0.25;
/// Hits of which it is asked what people and use have said of them.
const WORTH_MAX: usize = 40;

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
    /// Records of its session that come just before it, two at most.
    pub depth: usize,
    /// What counts besides the features.
    pub beyond: Vec<Part>,
    /// How sure the search would be, between 0 and 1, if this were its best hit.
    pub confidence: f64,
    /// How sure the search is that a question which this answers is the one asked now.
    pub unit_confidence: Option<f64>,
    /// The question that this answers.
    pub asked: Option<AnsweredQuestion>,
    /// The record that answers this question.
    pub answered_by: Option<RecordId>,
}

impl Read {
    pub fn new(candidate: Candidate, detail: Detail, reading: Reading, depth: usize) -> Self {
        Self {
            candidate,
            detail,
            reading,
            features: [0.0; COUNT],
            score: 0.0,
            words: 0.0,
            depth,
            beyond: Vec::new(),
            confidence: 0.0,
            unit_confidence: None,
            asked: None,
            answered_by: None,
        }
    }

    /// Says whether this is a prompt that only asks. People who have names talk to each other,
    /// and their questions are part of what they say.
    pub fn is_question(&self) -> bool {
        self.detail.kind == Kind::Prompt
            && self.detail.speaker.is_none()
            && echo::asks(&self.detail.text)
    }

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
        parts.extend(self.beyond.iter().cloned());
        parts.sort_by(|a, b| b.points.abs().total_cmp(&a.points.abs()));
        parts
    }

    pub fn add(&mut self, name: &'static str, value: f64, points: f64) {
        self.score += points;
        self.beyond.push(Part {
            name,
            value,
            points,
        });
    }

    /// Says whether this was marked as a call of a memory tool, or what it returned.
    pub fn is_memory_output(&self) -> bool {
        self.beyond.iter().any(|part| part.name == "echo")
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
    /// The term that says most.
    rarest: usize,
    /// Places of [`PRODUCTS`].
    products: [(usize, usize); PRODUCTS.len()],
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
    let ranks = background.ranks(&read, &lexical);
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
            stretch: found.stretches.get(&session).copied().unwrap_or_default(),
            near_alike: background.near_alike(&read, at, &near),
            answers: answers(&read, &near, at, &lexical),
            ranks: [ranks[0][at], ranks[1][at], ranks[2][at]],
        };
        let features = background.features(question, &read[at], &sums);
        read[at].words = lexical[at].0;
        read[at].score = features.iter().zip(WEIGHTS).map(|(x, w)| x * w).sum();
        read[at].features = features;
        let is_here = here.is_some() && read[at].detail.workspace.as_deref() == here;
        if is_here {
            read[at].add("here", 1.0, HERE_POINTS);
        }
        if echo::asks_memory(&read[at].detail) {
            read[at].add("echo", 1.0, ECHO_POINTS);
        }
        match read[at].detail.presence {
            Presence::InSource => {}
            Presence::Detached => read[at].add("not_in_source", 1.0, DETACHED_POINTS),
            Presence::SourceGone => read[at].add("source_gone", 1.0, SOURCE_GONE_POINTS),
        }
    }
    sort(&mut read);
    read
}

/// Lets pins and what helped before come forward, and what did not help fall back.
pub fn reward(lookup: &Lookup<'_>, read: &mut [Read]) -> store::Result<()> {
    for read in read.iter_mut().take(WORTH_MAX) {
        let worth = lookup.worth(read.detail.id)?;
        if worth.pinned {
            read.add("pinned", 1.0, PINNED_POINTS);
        }
        if let Some(useful) = worth.useful {
            let value = 2.0 * (useful - USEFULNESS_UNKNOWN);
            read.add("useful", value, value * USEFUL_POINTS);
        }
    }
    sort(read);
    Ok(())
}

/// Puts the best first.
pub fn sort(read: &mut [Read]) {
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
            products: PRODUCTS.map(|(a, b)| (place_of(a), place_of(b))),
            rarest: (0..found.idf.len())
                .max_by(|a, b| found.idf[*a].total_cmp(&found.idf[*b]))
                .unwrap_or(0),
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
        let mut features = [0.0; COUNT];
        features[..SEEN].copy_from_slice(&self.seen(question, read, sums));
        for (at, (a, b)) in self.products.iter().enumerate() {
            features[SEEN + at] = features[*a] * features[*b];
        }
        features
    }

    fn seen(&self, question: &Question, read: &Read, sums: &Sums) -> [f64; SEEN] {
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
        let alike = self.alike(read, ALIKE_MIN);
        let rarest: Bits = 1 << self.rarest;
        let asked = self.speakers != 0;
        let length = (f64::from(candidate.mark.size_bytes) + 1.0).ln() / 10.0;
        let (first, last) = self.rows;
        // What a person said to a model.
        let said = talk * is(kind == Kind::Prompt && read.detail.speaker.is_none());
        let wish = if kind == Kind::Prompt {
            Wish::read(&read.detail.text)
        } else {
            Wish::default()
        };
        let is_later = is(read.depth > 1 && read.detail.speaker.is_none());
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
            self.alike(read, 0.0),
            talk * sums.near_alike,
            is(own & rarest != 0),
            is(near & rarest != 0) * talk,
            sums.ranks[0],
            sums.ranks[1],
            sums.ranks[2],
            talk * sums.answers / self.words_max.max(1e-9),
            is(question.asks_count && reading.has_number),
            sums.stretch,
            talk * sums.whole / self.whole_max.max(1e-9),
            talk * best,
            talk * sums.session_words,
            talk * share(reading.together),
            is(read.detail.speaker.is_some()),
            said * is(wish.is_standing),
            said * is(wish.is_standing && question.asks_advice),
            said * is(wish.is_preference),
            said * is(wish.is_preference && question.asks_advice),
            said * is(question.asks_many),
            is(is_model && question.asks_many),
            said * is(read.depth == 0),
            said * is(read.depth == 0 && question.asks_many),
            is_later,
            is_later * is(question.asks_many),
        ]
    }

    /// Returns the share of the question that a record holds or comes near to.
    fn alike(&self, read: &Read, floor: f64) -> f64 {
        let own = read.own();
        self.share(|at| {
            let near = (f64::from(read.reading.alike[at]) - floor) / (1.0 - floor);
            f64::from(own >> at & 1).max(near)
        })
    }

    /// Returns the share of the question that a record and those beside it hold or come near to.
    fn near_alike(&self, read: &[Read], at: usize, near: &[usize]) -> f64 {
        let beside = |term: usize| {
            let of = |other: &usize| f64::from(read[*other].reading.alike[term]);
            near.iter().map(of).fold(0.0, f64::max)
        };
        let candidate = &read[at].candidate;
        let held = read[at].own() | candidate.near[0] | candidate.near[1];
        self.share(|term| {
            let own = f64::from(read[at].reading.alike[term]);
            let alike = (own.max(0.8 * beside(term)) - ALIKE_MIN) / (1.0 - ALIKE_MIN);
            f64::from(held >> term & 1).max(alike)
        })
    }

    /// Returns each record's place by its words, by its meaning and by both, 1 for the first and falling.
    fn ranks(&self, read: &[Read], lexical: &[(f64, f64)]) -> [Vec<f64>; 3] {
        let words: Vec<f64> = lexical.iter().map(|l| l.0).collect();
        let cosine = |read: &Read| f64::from(read.reading.cosine_best);
        let cosines: Vec<f64> = read.iter().map(cosine).collect();
        let alike = |read: &Read| self.alike(read, ALIKE_MIN);
        let alike: Vec<f64> = read.iter().map(alike).collect();
        [places(&words), places(&cosines), places(&alike)]
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
fn answers(read: &[Read], near: &[usize], at: usize, lexical: &[(f64, f64)]) -> f64 {
    let row = read[at].candidate.row;
    let before = near
        .iter()
        .find(|other| read[**other].candidate.row == row - 1);
    before
        .filter(|other| read[**other].reading.is_question)
        .map_or(0.0, |other| lexical[*other].0)
}

fn places(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
    let mut places = vec![0.0; values.len()];
    for (place, at) in order.into_iter().enumerate() {
        places[at] = PLACE_HALF / (PLACE_HALF + place as f64);
    }
    places
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
