//! Candidates: the rows that hold a question's terms, weighed at a glance.
//!
//! The index says which rows hold a term, the marks say whose and how long they are. A record that is
//! short leans on its neighbours: what was asked just before belongs to the answer. No text is read.

use std::collections::HashMap;
use std::iter::Peekable;

use memory::RecordKind;
use store::{Lookup, Query, Result, RowAttributes, ScopedRows, SearchScope, TermRows};

use crate::ask::{ParsedQuestion, QuestionTerm, TERMS_MAX};
use crate::dates::QueryDates;

/// Rows looked at for one term, the latest first; what is more common tells too little to go further.
const TERM_ROWS_MAX: usize = 3000;
/// Rows that hold a term too common to be followed to its end, and a rarer one, where the index itself is asked.
const CAPPED_TERM_ROWS_MAX: usize = 6000;
/// Rows that hold every term, looked at when some term was too common to be followed to its end.
const ALL_TERMS_ROWS_MAX: usize = 1000;
/// Hits whose neighbours become candidates too.
const NEIGHBOUR_HITS_MAX: usize = 600;
/// Longer records carry their own context.
const SHORT_BYTES: u32 = 400;
/// How much a neighbour's word counts.
const NEAR_WEIGHT: f64 = 0.3;
const TYPICAL_BYTES: f64 = 300.0;

/// A bit for each term.
pub type TermSet = u32;
const _: () = assert!(TERMS_MAX <= TermSet::BITS as usize);

/// Everything that was found without reading.
#[derive(Debug, Default)]
pub struct CandidateSet {
    /// How much each term says.
    pub idf: Vec<f64>,
    /// Rows that hold each term, about.
    pub df: Vec<u64>,
    /// Rows in the scope, about.
    pub total: u64,
    /// The best first.
    pub rows: Vec<Candidate>,
    pub sessions: HashMap<u32, SessionTermCounts>,
    /// How much the best stretch of each session holds, 1 for the best.
    pub window_scores: HashMap<u32, f64>,
    /// Terms that are names of speakers.
    pub speaker_terms: TermSet,
    /// Prompts that may hold a wish, whatever else they say.
    pub preference_prompts: Vec<Candidate>,
}

#[derive(Clone, Debug)]
pub struct Candidate {
    pub row: i64,
    pub mark: RowAttributes,
    /// Terms that the record holds.
    pub matched: TermSet,
    /// Terms that name its speaker.
    pub speaker: TermSet,
    /// Terms of the records beside it, and of those one further.
    pub neighbours: [TermSet; 2],
    pub score: f64,
}

impl Candidate {
    /// Says whether it has any of the question's words, or leans on one that has.
    pub fn matches_any(&self) -> bool {
        self.matched | self.speaker | self.neighbours[0] | self.neighbours[1] != 0
    }
}

impl Candidate {
    /// A row that holds no term, as far as is known.
    pub const fn new(row: i64, mark: RowAttributes) -> Self {
        Self {
            row,
            mark,
            matched: 0,
            speaker: 0,
            neighbours: [0; 2],
            score: 0.0,
        }
    }
}

/// What a session's rows hold together.
#[derive(Clone, Debug, Default)]
pub struct SessionTermCounts {
    /// Rows with each term.
    pub counts: [u16; TERMS_MAX],
    pub rows: u32,
    /// How long those rows are together.
    pub size_bytes: u64,
    pub latest: i64,
}

/// Finds and weighs candidates, the best `max` of them.
pub fn find_candidates(
    lookup: &Lookup<'_>,
    query: &Query,
    scope: &SearchScope,
    question: &ParsedQuestion,
    max: usize,
) -> Result<CandidateSet> {
    let (total, latest) = lookup.scope_size(query)?;
    let mut found = CandidateSet {
        total,
        ..CandidateSet::default()
    };
    // Where most kinds are wanted it costs less to pass over the others than to look all of them up.
    let are_most = query.kinds.len() * 2 > RecordKind::ALL.len();
    let any = are_most.then(|| scope.of_any_kind());
    let finder = TermLookup::new(lookup, any.as_ref().unwrap_or(scope), question)?;
    let has_speakers = lookup.has_speakers()?;
    let mut pairs: Vec<(i64, TermSet, TermSet)> =
        Vec::with_capacity(question.terms.len() * TERM_ROWS_MAX / 2);
    let mut capped: TermSet = 0;
    for (at, term) in question.terms.iter().enumerate() {
        let bit = 1 << at;
        let held = finder.rows_with_term(term, total, latest)?;
        capped |= TermSet::from(held.rows.len() == TERM_ROWS_MAX) << at;
        pairs.extend(held.rows.into_iter().map(|row| (row, bit, 0)));
        if has_speakers {
            let spoken = finder.rows_by_speaker(&term.term)?;
            found.speaker_terms |= if spoken.is_empty() { 0 } else { bit };
            pairs.extend(spoken.into_iter().map(|row| (row, 0, bit)));
        }
        found.df.push(held.count);
        found.idf.push(idf(total, held.count) * term.weight());
    }
    if capped != 0 {
        finder.add_rows_of_capped_terms(capped, &mut pairs)?;
    }
    if capped != 0 && question.terms.len() > 1 {
        let (rows, bits) = finder.rows_with_all_terms()?;
        pairs.extend(rows.into_iter().map(|row| (row, bits, 0)));
    }
    let hits = merge_term_hits(pairs);
    score_candidates(lookup, &mut found, hits, query, &question.dates, max)?;
    if question.is_question && is_chat(&found.rows) {
        found.preference_prompts =
            crate::wishes::short_prompts(lookup, finder.rows_with_preference_words()?)?;
    }
    Ok(found)
}

/// Looks terms up: in the lists of the index where these can be read, else by asking it.
struct TermLookup<'a, 'c> {
    lookup: &'a Lookup<'c>,
    scope: &'a SearchScope,
    question: &'a ParsedQuestion,
    within: Option<ScopedRows>,
}

impl<'a, 'c> TermLookup<'a, 'c> {
    fn new(
        lookup: &'a Lookup<'c>,
        scope: &'a SearchScope,
        question: &'a ParsedQuestion,
    ) -> Result<Self> {
        let is_plain = question.words.excluded.is_empty();
        let within = if is_plain {
            lookup.scoped_rows(scope)?
        } else {
            None
        };
        Ok(Self {
            lookup,
            scope,
            question,
            within,
        })
    }

    fn rows_with_term(&self, term: &QuestionTerm, total: u64, latest: i64) -> Result<TermRows> {
        if !term.is_prefix
            && let Some(held) = self.postings(&[&term.term], TERM_ROWS_MAX)?
        {
            return Ok(held);
        }
        let rows = self.match_rows(term.match_expression(), TERM_ROWS_MAX)?;
        let count = estimate_df(&rows, total, latest);
        Ok(TermRows { rows, count })
    }

    fn rows_by_speaker(&self, term: &str) -> Result<Vec<i64>> {
        let name = format!("{}{term}", store::terms::SPEAKER);
        match self.postings(&[&name], TERM_ROWS_MAX)? {
            Some(held) => Ok(held.rows),
            None => self.match_rows(store::search::quote_term(&name), TERM_ROWS_MAX),
        }
    }

    fn rows_with_preference_words(&self) -> Result<Vec<i64>> {
        let mut rows = Vec::new();
        for word in crate::wishes::PREFERENCE_WORDS {
            let term = store::terms::stem::stem(word);
            rows.extend(match self.postings(&[&term], TERM_ROWS_MAX)? {
                Some(held) => held.rows,
                None => self.match_rows(store::search::quote_term(&term), TERM_ROWS_MAX)?,
            });
        }
        Ok(rows)
    }

    /// Returns rows that hold every term, and the bits of these.
    fn rows_with_all_terms(&self) -> Result<(Vec<i64>, TermSet)> {
        let terms = self.question.terms.iter().enumerate();
        let (bits, all): (Vec<TermSet>, Vec<&QuestionTerm>) = terms
            .filter(|(_, term)| term.is_topical())
            .map(|(at, term)| (1 << at, term))
            .unzip();
        let bits = bits.into_iter().fold(0, |bits, bit| bits | bit);
        if all.iter().all(|term| !term.is_prefix) {
            let names: Vec<&str> = all.iter().map(|term| term.term.as_str()).collect();
            if let Some(held) = self.postings(&names, ALL_TERMS_ROWS_MAX)? {
                return Ok((held.rows, bits));
            }
        }
        let all: Vec<_> = all
            .iter()
            .map(|term| format!("({})", term.match_expression()))
            .collect();
        Ok((
            self.match_rows(all.join(" AND "), ALL_TERMS_ROWS_MAX)?,
            bits,
        ))
    }

    /// Follows the terms that are too common to be listed to their end, to the rows that hold a rarer one
    /// too: there they tell something, however long ago it was.
    fn add_rows_of_capped_terms(
        &self,
        capped: TermSet,
        pairs: &mut Vec<(i64, TermSet, TermSet)>,
    ) -> Result<()> {
        let terms = || self.question.terms.iter().enumerate();
        let is_capped = |at: usize| capped >> at & 1 == 1;
        let rare: Vec<&QuestionTerm> = terms()
            .filter(|(at, _)| !is_capped(*at))
            .map(|(_, term)| term)
            .collect();
        for (at, term) in terms().filter(|(at, _)| is_capped(*at)) {
            for row in self.rows_with_both(term, &rare)? {
                pairs.push((row, 1 << at, 0));
            }
        }
        Ok(())
    }

    /// Returns rows that hold a term and one of others.
    fn rows_with_both(&self, term: &QuestionTerm, others: &[&QuestionTerm]) -> Result<Vec<i64>> {
        if others.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(rows) = self.postings_with_both(term, others)? {
            return Ok(rows);
        }
        let others: Vec<_> = others
            .iter()
            .map(|other| other.match_expression())
            .collect();
        let both = format!(
            "({}) AND ({})",
            term.match_expression(),
            others.join(" OR ")
        );
        self.match_rows(both, CAPPED_TERM_ROWS_MAX)
    }

    fn postings_with_both(
        &self,
        term: &QuestionTerm,
        others: &[&QuestionTerm],
    ) -> Result<Option<Vec<i64>>> {
        if term.is_prefix || others.iter().any(|other| other.is_prefix) {
            return Ok(None);
        }
        let Some(within) = &self.within else {
            return Ok(None);
        };
        let others: Vec<&str> = others.iter().map(|other| other.term.as_str()).collect();
        self.lookup
            .rows_with_term_and_any(within, &term.term, &others)
    }

    fn postings(&self, terms: &[&str], max: usize) -> Result<Option<TermRows>> {
        match &self.within {
            Some(within) => self.lookup.rows_with_terms(within, terms, max),
            None => Ok(None),
        }
    }

    fn match_rows(&self, expression: String, max: usize) -> Result<Vec<i64>> {
        let expression = self.question.words.without_excluded(expression);
        self.lookup.rows(self.scope, &expression, max)
    }
}

/// Says whether most of what was found was said, by people or models.
fn is_chat(rows: &[Candidate]) -> bool {
    let best = &rows[..rows.len().min(200)];
    let is_said =
        |row: &&Candidate| matches!(row.mark.kind, RecordKind::Prompt | RecordKind::Assistant);
    2 * best.iter().filter(is_said).count() > best.len()
}

/// Returns how many rows hold a term; where its list was cut, as many as its density lets expect.
fn estimate_df(rows: &[i64], total: u64, latest: i64) -> u64 {
    match rows.last() {
        Some(last) if rows.len() == TERM_ROWS_MAX => {
            let share = TERM_ROWS_MAX as f64 * latest as f64 / (latest - last + 1).max(1) as f64;
            (share as u64).min(total).max(TERM_ROWS_MAX as u64)
        }
        _ => rows.len() as u64,
    }
}

/// How much a term says that `df` of `total` rows hold.
pub fn idf(total: u64, df: u64) -> f64 {
    let (total, df) = (total.max(df) as f64, df as f64);
    (1.0 + (total - df + 0.5) / (df + 0.5)).ln()
}

/// Brings what is known of each row together, by row.
fn merge_term_hits(mut pairs: Vec<(i64, TermSet, TermSet)>) -> Vec<(i64, TermSet, TermSet)> {
    // Each term's rows are in order already, which a stable sort makes use of.
    pairs.sort_by_key(|pair| pair.0);
    pairs.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 |= next.1;
            kept.2 |= next.2;
        }
        same
    });
    pairs
}

fn score_candidates(
    lookup: &Lookup<'_>,
    found: &mut CandidateSet,
    hits: Vec<(i64, TermSet, TermSet)>,
    query: &Query,
    dates: &QueryDates,
    max: usize,
) -> Result<()> {
    let rows: Vec<i64> = hits.iter().map(|hit| hit.0).collect();
    let marks = lookup.attributes(&rows)?;
    let mut all: Vec<Candidate> = Vec::with_capacity(hits.len());
    for ((row, own, who), mark) in hits.into_iter().zip(marks) {
        let Some(mark) = mark.filter(|mark| matches_kinds(query, mark)) else {
            continue;
        };
        let mut candidate = Candidate {
            matched: own,
            speaker: who,
            ..Candidate::new(row, mark)
        };
        candidate.score = first_pass_score(&candidate, &found.idf, dates);
        all.push(candidate);
    }
    count_session_terms(&mut found.sessions, &all);
    found.window_scores = crate::stretches::best_window_scores(lookup, &all, &found.idf)?;
    include_neighbours(lookup, query, &mut all)?;
    // Two runs, each in order already.
    all.sort_by_key(|candidate| candidate.row);
    add_neighbour_terms(&mut all);
    for candidate in &mut all {
        if candidate.neighbours != [0; 2] || candidate.matched | candidate.speaker == 0 {
            candidate.score = first_pass_score(candidate, &found.idf, dates);
        }
    }
    let best = |a: &Candidate, b: &Candidate| b.score.total_cmp(&a.score).then(b.row.cmp(&a.row));
    if all.len() > max {
        all.select_nth_unstable_by(max, best);
        all.truncate(max);
    }
    all.sort_unstable_by(best);
    found.rows = all;
    Ok(())
}

/// Counts what sessions hold. Their rows mostly lie together, so each run of them is looked up once.
fn count_session_terms(sessions: &mut HashMap<u32, SessionTermCounts>, all: &[Candidate]) {
    for run in all.chunk_by(|a, b| a.mark.session == b.mark.session) {
        let seen = sessions.entry(run[0].mark.session).or_default();
        for candidate in run {
            seen.rows += 1;
            seen.size_bytes += u64::from(candidate.mark.size_bytes);
            seen.latest = seen.latest.max(candidate.row);
            let mut bits = candidate.matched;
            while bits != 0 {
                let at = bits.trailing_zeros() as usize;
                seen.counts[at] = seen.counts[at].saturating_add(1);
                bits &= bits - 1;
            }
        }
    }
}

/// Adds the short neighbours of the best hits: an answer need not repeat the question's words. The filters hold for
/// them too: only the same session, which is in scope, and none where single rows are chosen by time, tool or path.
fn include_neighbours(lookup: &Lookup<'_>, query: &Query, all: &mut Vec<Candidate>) -> Result<()> {
    let chooses = query.since.is_some() || query.until.is_some();
    if chooses || query.tool.is_some() || query.path.is_some() {
        return Ok(());
    }
    let mut best: Vec<usize> = (0..all.len())
        .filter(|at| uses_neighbours(&all[*at].mark))
        .collect();
    if best.len() > NEIGHBOUR_HITS_MAX {
        best.select_nth_unstable_by(NEIGHBOUR_HITS_MAX, |a, b| {
            all[*b].score.total_cmp(&all[*a].score)
        });
        best.truncate(NEIGHBOUR_HITS_MAX);
    }
    let mut rows = Vec::with_capacity(best.len() * 4);
    for at in best {
        let (row, session) = (all[at].row, all[at].mark.session);
        rows.extend([row - 2, row - 1, row + 1, row + 2].map(|row| (row, session)));
    }
    rows.sort_unstable();
    rows.dedup();
    let mut known = all.iter().map(|candidate| candidate.row).peekable();
    rows.retain(|(row, _)| *row > 0 && !advance_to(&mut known, *row));
    let numbers: Vec<i64> = rows.iter().map(|(row, _)| *row).collect();
    let marks = lookup.attributes(&numbers)?;
    for ((row, session), mark) in rows.into_iter().zip(marks) {
        let beside = |mark: &RowAttributes| {
            mark.session == session && matches_kinds(query, mark) && uses_neighbours(mark)
        };
        if let Some(mark) = mark.filter(beside) {
            all.push(Candidate::new(row, mark));
        }
    }
    Ok(())
}

fn matches_kinds(query: &Query, mark: &RowAttributes) -> bool {
    query.kinds.is_empty() || query.kinds.contains(&mark.kind)
}

/// Goes through rows in ascending order up to `row`, and says whether it is one of them.
pub fn advance_to(rows: &mut Peekable<impl Iterator<Item = i64>>, row: i64) -> bool {
    while rows.next_if(|next| *next < row).is_some() {}
    rows.peek() == Some(&row)
}

/// Says whether a record takes part in what its neighbours say.
pub fn uses_neighbours(mark: &RowAttributes) -> bool {
    mark.size_bytes < SHORT_BYTES
        && matches!(
            mark.kind,
            RecordKind::Prompt | RecordKind::Assistant | RecordKind::Summary
        )
}

/// Lets short records know what their neighbours hold. They lie in the order of their rows.
fn add_neighbour_terms(all: &mut [Candidate]) {
    for at in 0..all.len() {
        if !uses_neighbours(&all[at].mark) {
            continue;
        }
        let mut near = [0; 2];
        let around = at.saturating_sub(2)..(at + 3).min(all.len());
        for other in around.filter(|other| *other != at) {
            let distance = all[other].row.abs_diff(all[at].row);
            if distance <= 2
                && all[other].mark.session == all[at].mark.session
                && uses_neighbours(&all[other].mark)
            {
                near[usize::from(distance == 2)] |= all[other].matched;
            }
        }
        all[at].neighbours = near;
    }
}

fn first_pass_score(candidate: &Candidate, idf: &[f64], dates: &QueryDates) -> f64 {
    let length = f64::from(candidate.mark.size_bytes.min(4000)) / TYPICAL_BYTES;
    let norm = 1.2 * (0.7 + 0.3 * length);
    let has = |bits: TermSet, at: usize| f64::from(bits >> at & 1);
    let [beside, further] = candidate.neighbours;
    let mut score = 0.0;
    let mut rest = candidate.matched | candidate.speaker | beside | further;
    while rest != 0 {
        let at = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let times = has(candidate.matched, at)
            + has(candidate.speaker, at)
            + NEAR_WEIGHT * (has(beside, at) + has(further, at));
        score += idf[at] * times * 2.2 / (times + norm);
    }
    let kind = match candidate.mark.kind {
        RecordKind::Prompt => 1.3,
        RecordKind::Summary | RecordKind::Approval => 1.2,
        RecordKind::Assistant | RecordKind::Error => 1.0,
        RecordKind::Thinking | RecordKind::ToolUse | RecordKind::Artifact => 0.85,
        RecordKind::ToolResult => 0.75,
    };
    score * kind + 2.0 * dates.match_day(candidate.mark.day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_terms_say_more() {
        assert!(idf(1000, 1) > idf(1000, 100));
        assert!(idf(1000, 1000) >= 0.0);
        assert!(idf(0, 0).is_finite());
    }

    #[test]
    fn rows_come_together() {
        assert_eq!(
            merge_term_hits(vec![(2, 1, 0), (1, 2, 0), (2, 4, 1)]),
            vec![(1, 2, 0), (2, 5, 1)]
        );
    }

    #[test]
    fn a_cut_list_is_taken_further() {
        let rows: Vec<i64> = (7001..=10_000).rev().collect();
        assert_eq!(estimate_df(&rows, 10_000, 10_000), 10_000);
        assert_eq!(estimate_df(&[3, 2], 10_000, 10_000), 2);
    }
}
