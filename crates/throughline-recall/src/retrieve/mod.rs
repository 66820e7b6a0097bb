//! Candidates: the rows that hold a query's terms, scored without reading their texts.
//!
//! [`term_lookup`] finds the rows of each term in the index, [`neighbours`] lets short records
//! share the terms of the records beside them, [`windows`] scores runs of consecutive records,
//! [`turns`] finds the other records of a turn, [`exchanges`] pairs prompts with the ends of their
//! turns. The scores only decide which texts are worth reading; [`crate::score`] ranks those.

pub(crate) mod exchanges;
pub(crate) mod neighbours;
mod term_lookup;
pub(crate) mod turns;
mod windows;

use std::collections::HashMap;

use memory::RecordKind;
use store::{Lookup, Query, Result, RowAttributes, SearchScope};

use self::term_lookup::TermLookup;
use crate::query::dates::QueryDates;
use crate::query::{ParsedQuestion, TERMS_MAX, preferences};
use crate::score::bm25::{bm25, length_penalty};

/// How much a term of a neighbouring record counts beside a term of the record itself.
pub(crate) const NEIGHBOUR_WEIGHT: f64 = 0.3;
/// The size of a typical record, and the size above which records count as equally long: a tool
/// result of a megabyte says little more than one of 4 kB.
const TYPICAL_BYTES: f64 = 300.0;
const LENGTH_BYTES_MAX: u32 = 4000;
/// The points for a record of a day that the query names: as many as for a term of medium rarity.
const DATE_POINTS: f64 = 2.0;
/// Candidates that decide whether the corpus is a chat.
const CHAT_SAMPLE_MAX: usize = 200;
/// Short prompts read because they may state a preference, the latest first.
const PREFERENCE_PROMPTS_MAX: usize = 30;

/// A set of the query's terms, one bit each.
pub(crate) type TermSet = u32;
const _: () = assert!(TERMS_MAX <= TermSet::BITS as usize);

/// Returns the indices of the terms in a set, in ascending order.
pub(crate) fn term_indices(mut terms: TermSet) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = (terms != 0).then(|| terms.trailing_zeros() as usize);
        terms &= terms.wrapping_sub(1);
        first
    })
}

/// The candidates of a query and the statistics of its terms.
#[derive(Debug, Default)]
pub(crate) struct CandidateSet {
    /// The inverse document frequency of each term, times the term's own weight.
    pub(crate) idf: Vec<f64>,
    /// How many rows hold each term; an estimate for common terms.
    pub(crate) df: Vec<u64>,
    /// The best first.
    pub(crate) rows: Vec<Candidate>,
    pub(crate) sessions: HashMap<u32, SessionTermCounts>,
    /// The score of the best window of each session, 1 for the best of all.
    pub(crate) window_scores: HashMap<u32, f64>,
    /// Terms that are names of speakers.
    pub(crate) speaker_terms: TermSet,
    /// Prompts that may state a preference, whatever else they are about.
    pub(crate) preference_prompts: Vec<Candidate>,
}

/// A row of the index that may answer the query.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) row: i64,
    pub(crate) attributes: RowAttributes,
    /// Terms that the record holds.
    pub(crate) matched: TermSet,
    /// Terms that name its speaker.
    pub(crate) speaker: TermSet,
    /// Terms of the records next to it, and of those one further away.
    pub(crate) neighbours: [TermSet; 2],
    pub(crate) score: f64,
}

impl Candidate {
    /// Returns a candidate without any term.
    pub(crate) const fn new(row: i64, attributes: RowAttributes) -> Self {
        Self {
            row,
            attributes,
            matched: 0,
            speaker: 0,
            neighbours: [0; 2],
            score: 0.0,
        }
    }

    /// Returns whether the record, its speaker or a neighbour holds a term.
    pub(crate) fn matches_any(&self) -> bool {
        self.matched | self.speaker | self.neighbours[0] | self.neighbours[1] != 0
    }

    /// Returns how often a term occurs beside the record's text: as its speaker, or in neighbours.
    pub(crate) fn occurrences_beside(&self, term: usize) -> f64 {
        let has = |terms: TermSet| f64::from(terms >> term & 1);
        let [next, further] = self.neighbours;
        has(self.speaker) + NEIGHBOUR_WEIGHT * (has(next) + has(further))
    }
}

/// How often each term occurs in a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionTermCounts {
    /// Rows that hold each term.
    pub(crate) counts: [u16; TERMS_MAX],
    /// The size of the rows that hold any term.
    pub(crate) size_bytes: u64,
}

/// Finds the candidates of a query and returns the best `max` of them.
pub(crate) fn find_candidates(
    lookup: &Lookup<'_>,
    query: &Query,
    scope: &SearchScope,
    question: &ParsedQuestion,
    max: usize,
) -> Result<CandidateSet> {
    // When most kinds are wanted, dropping the others later is cheaper than looking all of them up.
    let are_most = query.kinds.len() * 2 > RecordKind::ALL.len();
    let any_kind = are_most.then(|| scope.of_any_kind());
    let terms = TermLookup::new(lookup, query, any_kind.as_ref().unwrap_or(scope), question)?;
    let rows = terms.find_rows()?;
    let mut found = CandidateSet {
        idf: rows.idf,
        df: rows.df,
        speaker_terms: rows.speaker_terms,
        ..CandidateSet::default()
    };
    found.score_rows(lookup, rows.rows, query, &question.dates, max)?;
    if question.is_question && is_chat(&found.rows) {
        found.preference_prompts = short_prompts(lookup, terms.rows_with_preference_words()?)?;
    }
    Ok(found)
}

/// A row and the terms that were found in it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RowTerms {
    row: i64,
    matched: TermSet,
    speaker: TermSet,
}

impl CandidateSet {
    fn score_rows(
        &mut self,
        lookup: &Lookup<'_>,
        rows: Vec<RowTerms>,
        query: &Query,
        dates: &QueryDates,
        max: usize,
    ) -> Result<()> {
        let numbers: Vec<i64> = rows.iter().map(|terms| terms.row).collect();
        let attributes = lookup.attributes(&numbers)?;
        let mut all: Vec<Candidate> = Vec::with_capacity(rows.len());
        for (terms, attributes) in rows.into_iter().zip(attributes) {
            let Some(attributes) = attributes.filter(|found| matches_kinds(query, found)) else {
                continue;
            };
            let mut candidate = Candidate {
                matched: terms.matched,
                speaker: terms.speaker,
                ..Candidate::new(terms.row, attributes)
            };
            candidate.score = first_pass_score(&candidate, &self.idf, dates);
            all.push(candidate);
        }
        count_session_terms(&mut self.sessions, &all);
        self.window_scores = windows::best_window_scores(lookup, &all, &self.idf)?;
        neighbours::include_neighbours(lookup, query, &mut all)?;
        // Two sorted runs, which a stable sort merges.
        all.sort_by_key(|candidate| candidate.row);
        neighbours::add_neighbour_terms(&mut all);
        for candidate in &mut all {
            if candidate.neighbours != [0; 2] || candidate.matched | candidate.speaker == 0 {
                candidate.score = first_pass_score(candidate, &self.idf, dates);
            }
        }
        let best =
            |a: &Candidate, b: &Candidate| b.score.total_cmp(&a.score).then(b.row.cmp(&a.row));
        if all.len() > max {
            all.select_nth_unstable_by(max, best);
            all.truncate(max);
        }
        all.sort_unstable_by(best);
        self.rows = all;
        Ok(())
    }
}

fn matches_kinds(query: &Query, attributes: &RowAttributes) -> bool {
    query.kinds.is_empty() || query.kinds.contains(&attributes.kind)
}

/// Counts the terms of each session. The rows of a session mostly lie together, so each run of them
/// costs one look into the map.
fn count_session_terms(sessions: &mut HashMap<u32, SessionTermCounts>, all: &[Candidate]) {
    for run in all.chunk_by(|a, b| a.attributes.session == b.attributes.session) {
        let session = sessions.entry(run[0].attributes.session).or_default();
        for candidate in run {
            session.size_bytes += u64::from(candidate.attributes.size_bytes);
            for at in term_indices(candidate.matched) {
                session.counts[at] = session.counts[at].saturating_add(1);
            }
        }
    }
}

/// Returns BM25 of the terms that the index found, adjusted by the kind and the day of the record.
fn first_pass_score(candidate: &Candidate, idf: &[f64], dates: &QueryDates) -> f64 {
    let size = candidate.attributes.size_bytes.min(LENGTH_BYTES_MAX);
    let [next, further] = candidate.neighbours;
    let all = candidate.matched | candidate.speaker | next | further;
    let has = |terms: TermSet, at: usize| f64::from(terms >> at & 1);
    let times = |at: usize| {
        has(candidate.matched, at)
            + has(candidate.speaker, at)
            + NEIGHBOUR_WEIGHT * (has(next, at) + has(further, at))
    };
    let lexical = bm25(
        length_penalty::ROW,
        f64::from(size) / TYPICAL_BYTES,
        term_indices(all).map(|at| (idf[at], times(at))),
    );
    let date = dates.match_day(candidate.attributes.day);
    lexical * kind_factor(candidate.attributes.kind) + DATE_POINTS * date
}

/// Returns how much a kind of record counts in the first pass. The factors are set by hand: what
/// people said is more likely to answer than what tools printed, and tool results are so many that
/// they would otherwise fill the list. The fitted model decides the final order.
const fn kind_factor(kind: RecordKind) -> f64 {
    match kind {
        RecordKind::Prompt => 1.3,
        RecordKind::Summary | RecordKind::Approval => 1.2,
        RecordKind::Assistant | RecordKind::Error => 1.0,
        RecordKind::Thinking | RecordKind::ToolUse | RecordKind::Artifact => 0.85,
        RecordKind::ToolResult => 0.75,
    }
}

/// Returns whether most of the best candidates are words of people or models.
fn is_chat(rows: &[Candidate]) -> bool {
    let best = &rows[..rows.len().min(CHAT_SAMPLE_MAX)];
    let is_said = |row: &&Candidate| {
        matches!(
            row.attributes.kind,
            RecordKind::Prompt | RecordKind::Assistant
        )
    };
    2 * best.iter().filter(is_said).count() > best.len()
}

/// Returns the short prompts among rows, the latest first.
fn short_prompts(lookup: &Lookup<'_>, mut rows: Vec<i64>) -> Result<Vec<Candidate>> {
    rows.sort_unstable();
    rows.dedup();
    let attributes = lookup.attributes(&rows)?;
    let is_short = |found: &RowAttributes| {
        found.kind == RecordKind::Prompt && found.size_bytes < preferences::SHORT_BYTES
    };
    let found = rows.into_iter().zip(attributes).rev();
    let prompts = found.filter_map(|(row, found)| Some((row, found.filter(is_short)?)));
    Ok(prompts
        .take(PREFERENCE_PROMPTS_MAX)
        .map(|(row, attributes)| Candidate::new(row, attributes))
        .collect())
}
