//! Candidates: the rows that hold a question's terms, weighed at a glance.
//!
//! The index says which rows hold a term, the marks say whose and how long they are. A record that is
//! short leans on its neighbours: what was asked just before belongs to the answer. No text is read.

use std::collections::HashMap;
use std::iter::Peekable;

use memory::Kind;
use store::{Held, Lookup, Mark, Query, Result, Scope, Within};

use crate::ask::{Question, TERMS_MAX, Term};
use crate::dates::Dates;

/// Rows looked at for one term, the latest first; what is more common tells too little to go further.
const LIST_MAX: usize = 3000;
/// Rows that hold a term too common to be followed to its end, and a rarer one, where the index itself is asked.
const FOLLOW_MAX: usize = 6000;
/// Rows that hold every term, looked at when some term was too common to be followed to its end.
const TOGETHER_MAX: usize = 1000;
/// Hits whose neighbours become candidates too.
const SPREAD_MAX: usize = 600;
/// Longer records carry their own context.
const SHORT_BYTES: u32 = 400;
/// How much a neighbour's word counts.
const NEAR_WEIGHT: f64 = 0.3;
const LENGTH_TYPICAL: f64 = 300.0;

/// A bit for each term.
pub type Bits = u32;
const _: () = assert!(TERMS_MAX <= Bits::BITS as usize);

/// Everything that was found without reading.
#[derive(Debug, Default)]
pub struct Candidates {
    /// How much each term says.
    pub idf: Vec<f64>,
    /// Rows that hold each term, about.
    pub df: Vec<u64>,
    /// Rows in the scope, about.
    pub total: u64,
    /// The best first.
    pub rows: Vec<Candidate>,
    pub sessions: HashMap<u32, SessionSeen>,
    /// How much the best stretch of each session holds, 1 for the best.
    pub stretches: HashMap<u32, f64>,
    /// Terms that are names of speakers.
    pub speakers: Bits,
    /// Prompts that may hold a wish, whatever else they say.
    pub wishes: Vec<Candidate>,
}

#[derive(Clone, Debug)]
pub struct Candidate {
    pub row: i64,
    pub mark: Mark,
    /// Terms that the record holds.
    pub own: Bits,
    /// Terms that name its speaker.
    pub who: Bits,
    /// Terms of the records beside it, and of those one further.
    pub near: [Bits; 2],
    pub score: f64,
}

impl Candidate {
    /// Says whether it has any of the question's words, or leans on one that has.
    pub fn shares(&self) -> bool {
        self.own | self.who | self.near[0] | self.near[1] != 0
    }
}

impl Candidate {
    /// A row that holds no term, as far as is known.
    pub const fn new(row: i64, mark: Mark) -> Self {
        Self {
            row,
            mark,
            own: 0,
            who: 0,
            near: [0; 2],
            score: 0.0,
        }
    }
}

/// What a session's rows hold together.
#[derive(Clone, Debug, Default)]
pub struct SessionSeen {
    /// Rows with each term.
    pub counts: [u16; TERMS_MAX],
    pub rows: u32,
    /// How long those rows are together.
    pub size_bytes: u64,
    pub latest: i64,
}

/// Finds and weighs candidates, the best `max` of them.
pub fn find(
    lookup: &Lookup<'_>,
    query: &Query,
    scope: &Scope,
    question: &Question,
    max: usize,
) -> Result<Candidates> {
    let (total, latest) = lookup.size(query)?;
    let mut found = Candidates {
        total,
        ..Candidates::default()
    };
    // Where most kinds are wanted it costs less to pass over the others than to look all of them up.
    let are_most = query.kinds.len() * 2 > Kind::ALL.len();
    let any = are_most.then(|| scope.of_any_kind());
    let finder = Finder::new(lookup, any.as_ref().unwrap_or(scope), question)?;
    let has_speakers = lookup.has_speakers()?;
    let mut pairs: Vec<(i64, Bits, Bits)> = Vec::with_capacity(question.terms.len() * LIST_MAX / 2);
    let mut capped: Bits = 0;
    for (at, term) in question.terms.iter().enumerate() {
        let bit = 1 << at;
        let held = finder.term(term, total, latest)?;
        capped |= Bits::from(held.rows.len() == LIST_MAX) << at;
        pairs.extend(held.rows.into_iter().map(|row| (row, bit, 0)));
        if has_speakers {
            let spoken = finder.speaker(&term.term)?;
            found.speakers |= if spoken.is_empty() { 0 } else { bit };
            pairs.extend(spoken.into_iter().map(|row| (row, 0, bit)));
        }
        found.df.push(held.count);
        found.idf.push(idf(total, held.count) * term.weight());
    }
    if capped != 0 {
        finder.follow(capped, &mut pairs)?;
    }
    if capped != 0 && question.terms.len() > 1 {
        let (rows, bits) = finder.together()?;
        pairs.extend(rows.into_iter().map(|row| (row, bits, 0)));
    }
    let hits = merge(pairs);
    weigh(lookup, &mut found, hits, query, &question.dates, max)?;
    if question.is_asked && is_chat(&found.rows) {
        found.wishes = crate::wishes::prompts(lookup, finder.wishes()?)?;
    }
    Ok(found)
}

/// Looks terms up: in the lists of the index where these can be read, else by asking it.
struct Finder<'a, 'c> {
    lookup: &'a Lookup<'c>,
    scope: &'a Scope,
    question: &'a Question,
    within: Option<Within>,
}

impl<'a, 'c> Finder<'a, 'c> {
    fn new(lookup: &'a Lookup<'c>, scope: &'a Scope, question: &'a Question) -> Result<Self> {
        let is_plain = question.words.unwanted.is_empty();
        let within = if is_plain {
            lookup.within(scope)?
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

    fn term(&self, term: &Term, total: u64, latest: i64) -> Result<Held> {
        if !term.is_prefix
            && let Some(held) = self.listed(&[&term.term], LIST_MAX)?
        {
            return Ok(held);
        }
        let rows = self.asked(term.expression(), LIST_MAX)?;
        let count = frequency(&rows, total, latest);
        Ok(Held { rows, count })
    }

    fn speaker(&self, term: &str) -> Result<Vec<i64>> {
        let name = format!("{}{term}", store::terms::SPEAKER);
        match self.listed(&[&name], LIST_MAX)? {
            Some(held) => Ok(held.rows),
            None => self.asked(store::search::quote(&name), LIST_MAX),
        }
    }

    fn wishes(&self) -> Result<Vec<i64>> {
        let mut rows = Vec::new();
        for word in crate::wishes::WORDS {
            let term = store::terms::stem::stem(word);
            rows.extend(match self.listed(&[&term], LIST_MAX)? {
                Some(held) => held.rows,
                None => self.asked(store::search::quote(&term), LIST_MAX)?,
            });
        }
        Ok(rows)
    }

    /// Returns rows that hold every term, and the bits of these.
    fn together(&self) -> Result<(Vec<i64>, Bits)> {
        let terms = self.question.terms.iter().enumerate();
        let (bits, all): (Vec<Bits>, Vec<&Term>) = terms
            .filter(|(_, term)| term.is_meant())
            .map(|(at, term)| (1 << at, term))
            .unzip();
        let bits = bits.into_iter().fold(0, |bits, bit| bits | bit);
        if all.iter().all(|term| !term.is_prefix) {
            let names: Vec<&str> = all.iter().map(|term| term.term.as_str()).collect();
            if let Some(held) = self.listed(&names, TOGETHER_MAX)? {
                return Ok((held.rows, bits));
            }
        }
        let all: Vec<_> = all
            .iter()
            .map(|term| format!("({})", term.expression()))
            .collect();
        Ok((self.asked(all.join(" AND "), TOGETHER_MAX)?, bits))
    }

    /// Follows the terms that are too common to be listed to their end, to the rows that hold a rarer one
    /// too: there they tell something, however long ago it was.
    fn follow(&self, capped: Bits, pairs: &mut Vec<(i64, Bits, Bits)>) -> Result<()> {
        let terms = || self.question.terms.iter().enumerate();
        let is_capped = |at: usize| capped >> at & 1 == 1;
        let rare: Vec<&Term> = terms()
            .filter(|(at, _)| !is_capped(*at))
            .map(|(_, term)| term)
            .collect();
        for (at, term) in terms().filter(|(at, _)| is_capped(*at)) {
            for row in self.both(term, &rare)? {
                pairs.push((row, 1 << at, 0));
            }
        }
        Ok(())
    }

    /// Returns rows that hold a term and one of others.
    fn both(&self, term: &Term, others: &[&Term]) -> Result<Vec<i64>> {
        if others.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(rows) = self.both_listed(term, others)? {
            return Ok(rows);
        }
        let others: Vec<_> = others.iter().map(|other| other.expression()).collect();
        let both = format!("({}) AND ({})", term.expression(), others.join(" OR "));
        self.asked(both, FOLLOW_MAX)
    }

    fn both_listed(&self, term: &Term, others: &[&Term]) -> Result<Option<Vec<i64>>> {
        if term.is_prefix || others.iter().any(|other| other.is_prefix) {
            return Ok(None);
        }
        let Some(within) = &self.within else {
            return Ok(None);
        };
        let others: Vec<&str> = others.iter().map(|other| other.term.as_str()).collect();
        self.lookup.holding_any(within, &term.term, &others)
    }

    fn listed(&self, terms: &[&str], max: usize) -> Result<Option<Held>> {
        match &self.within {
            Some(within) => self.lookup.holding(within, terms, max),
            None => Ok(None),
        }
    }

    fn asked(&self, expression: String, max: usize) -> Result<Vec<i64>> {
        let expression = self.question.words.without_unwanted(expression);
        self.lookup.rows(self.scope, &expression, max)
    }
}

/// Says whether most of what was found was said, by people or models.
fn is_chat(rows: &[Candidate]) -> bool {
    let best = &rows[..rows.len().min(200)];
    let is_said = |row: &&Candidate| matches!(row.mark.kind, Kind::Prompt | Kind::Assistant);
    2 * best.iter().filter(is_said).count() > best.len()
}

/// Returns how many rows hold a term; where its list was cut, as many as its density lets expect.
fn frequency(rows: &[i64], total: u64, latest: i64) -> u64 {
    match rows.last() {
        Some(last) if rows.len() == LIST_MAX => {
            let share = LIST_MAX as f64 * latest as f64 / (latest - last + 1).max(1) as f64;
            (share as u64).min(total).max(LIST_MAX as u64)
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
fn merge(mut pairs: Vec<(i64, Bits, Bits)>) -> Vec<(i64, Bits, Bits)> {
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

fn weigh(
    lookup: &Lookup<'_>,
    found: &mut Candidates,
    hits: Vec<(i64, Bits, Bits)>,
    query: &Query,
    dates: &Dates,
    max: usize,
) -> Result<()> {
    let rows: Vec<i64> = hits.iter().map(|hit| hit.0).collect();
    let marks = lookup.marks(&rows)?;
    let mut all: Vec<Candidate> = Vec::with_capacity(hits.len());
    for ((row, own, who), mark) in hits.into_iter().zip(marks) {
        let Some(mark) = mark.filter(|mark| is_wanted(query, mark)) else {
            continue;
        };
        let mut candidate = Candidate {
            own,
            who,
            ..Candidate::new(row, mark)
        };
        candidate.score = score(&candidate, &found.idf, dates);
        all.push(candidate);
    }
    count(&mut found.sessions, &all);
    found.stretches = crate::stretches::best(lookup, &all, &found.idf)?;
    spread(lookup, query, &mut all)?;
    // Two runs, each in order already.
    all.sort_by_key(|candidate| candidate.row);
    lean(&mut all);
    for candidate in &mut all {
        if candidate.near != [0; 2] || candidate.own | candidate.who == 0 {
            candidate.score = score(candidate, &found.idf, dates);
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
fn count(sessions: &mut HashMap<u32, SessionSeen>, all: &[Candidate]) {
    for run in all.chunk_by(|a, b| a.mark.session == b.mark.session) {
        let seen = sessions.entry(run[0].mark.session).or_default();
        for candidate in run {
            seen.rows += 1;
            seen.size_bytes += u64::from(candidate.mark.size_bytes);
            seen.latest = seen.latest.max(candidate.row);
            let mut bits = candidate.own;
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
fn spread(lookup: &Lookup<'_>, query: &Query, all: &mut Vec<Candidate>) -> Result<()> {
    let chooses = query.since.is_some() || query.until.is_some();
    if chooses || query.tool.is_some() || query.path.is_some() {
        return Ok(());
    }
    let mut best: Vec<usize> = (0..all.len()).filter(|at| leans(&all[*at].mark)).collect();
    if best.len() > SPREAD_MAX {
        best.select_nth_unstable_by(SPREAD_MAX, |a, b| all[*b].score.total_cmp(&all[*a].score));
        best.truncate(SPREAD_MAX);
    }
    let mut rows = Vec::with_capacity(best.len() * 4);
    for at in best {
        let (row, session) = (all[at].row, all[at].mark.session);
        rows.extend([row - 2, row - 1, row + 1, row + 2].map(|row| (row, session)));
    }
    rows.sort_unstable();
    rows.dedup();
    let mut known = all.iter().map(|candidate| candidate.row).peekable();
    rows.retain(|(row, _)| *row > 0 && !reaches(&mut known, *row));
    let numbers: Vec<i64> = rows.iter().map(|(row, _)| *row).collect();
    let marks = lookup.marks(&numbers)?;
    for ((row, session), mark) in rows.into_iter().zip(marks) {
        let beside = |mark: &Mark| mark.session == session && is_wanted(query, mark) && leans(mark);
        if let Some(mark) = mark.filter(beside) {
            all.push(Candidate::new(row, mark));
        }
    }
    Ok(())
}

fn is_wanted(query: &Query, mark: &Mark) -> bool {
    query.kinds.is_empty() || query.kinds.contains(&mark.kind)
}

/// Goes through rows in ascending order up to `row`, and says whether it is one of them.
pub fn reaches(rows: &mut Peekable<impl Iterator<Item = i64>>, row: i64) -> bool {
    while rows.next_if(|next| *next < row).is_some() {}
    rows.peek() == Some(&row)
}

/// Says whether a record takes part in what its neighbours say.
pub fn leans(mark: &Mark) -> bool {
    mark.size_bytes < SHORT_BYTES
        && matches!(mark.kind, Kind::Prompt | Kind::Assistant | Kind::Summary)
}

/// Lets short records know what their neighbours hold. They lie in the order of their rows.
fn lean(all: &mut [Candidate]) {
    for at in 0..all.len() {
        if !leans(&all[at].mark) {
            continue;
        }
        let mut near = [0; 2];
        let around = at.saturating_sub(2)..(at + 3).min(all.len());
        for other in around.filter(|other| *other != at) {
            let distance = all[other].row.abs_diff(all[at].row);
            if distance <= 2
                && all[other].mark.session == all[at].mark.session
                && leans(&all[other].mark)
            {
                near[usize::from(distance == 2)] |= all[other].own;
            }
        }
        all[at].near = near;
    }
}

fn score(candidate: &Candidate, idf: &[f64], dates: &Dates) -> f64 {
    let length = f64::from(candidate.mark.size_bytes.min(4000)) / LENGTH_TYPICAL;
    let norm = 1.2 * (0.7 + 0.3 * length);
    let has = |bits: Bits, at: usize| f64::from(bits >> at & 1);
    let [beside, further] = candidate.near;
    let mut score = 0.0;
    let mut rest = candidate.own | candidate.who | beside | further;
    while rest != 0 {
        let at = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        let times = has(candidate.own, at)
            + has(candidate.who, at)
            + NEAR_WEIGHT * (has(beside, at) + has(further, at));
        score += idf[at] * times * 2.2 / (times + norm);
    }
    let kind = match candidate.mark.kind {
        Kind::Prompt => 1.3,
        Kind::Summary | Kind::Approval => 1.2,
        Kind::Assistant | Kind::Error => 1.0,
        Kind::Thinking | Kind::ToolUse | Kind::Artifact => 0.85,
        Kind::ToolResult => 0.75,
    };
    score * kind + 2.0 * dates.fit(candidate.mark.day)
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
            merge(vec![(2, 1, 0), (1, 2, 0), (2, 4, 1)]),
            vec![(1, 2, 0), (2, 5, 1)]
        );
    }

    #[test]
    fn a_cut_list_is_taken_further() {
        let rows: Vec<i64> = (7001..=10_000).rev().collect();
        assert_eq!(frequency(&rows, 10_000, 10_000), 10_000);
        assert_eq!(frequency(&[3, 2], 10_000, 10_000), 2);
    }
}
