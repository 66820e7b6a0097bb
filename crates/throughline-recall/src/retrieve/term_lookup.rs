//! Finds the rows of the query's terms: in the postings of the index where these can be read,
//! otherwise by asking the full-text index.

use store::search::quote_term;
use store::{Lookup, Query, Result, ScopedRows, SearchScope, TermRows};

use super::{RowTerms, TermSet};
use crate::query::{ParsedQuestion, QuestionTerm, preferences};
use crate::score::bm25::idf;

/// Rows taken of one term, the latest first. A term with more is *capped*: on its own it tells too
/// little to read on.
const TERM_ROWS_MAX: usize = 3000;
/// Rows with a capped term and a rarer one, where the full-text index is asked.
const CAPPED_TERM_ROWS_MAX: usize = 6000;
/// Rows with every term, looked up when a term was capped.
const ALL_TERMS_ROWS_MAX: usize = 1000;

/// Looks up the terms of one query within one scope.
pub(super) struct TermLookup<'a, 'c> {
    lookup: &'a Lookup<'c>,
    scope: &'a SearchScope,
    question: &'a ParsedQuestion,
    /// The rows of the scope; `None` where only the full-text index can tell them.
    scoped_rows: Option<ScopedRows>,
    /// About how many rows the scope holds, and the number of the latest row.
    rows_total: u64,
    latest_row: i64,
}

/// The rows of all terms, sorted by row, with the statistics of each term.
#[derive(Debug, Default)]
pub(super) struct QueryRows {
    pub(super) rows: Vec<RowTerms>,
    pub(super) df: Vec<u64>,
    pub(super) idf: Vec<f64>,
    pub(super) speaker_terms: TermSet,
}

impl<'a, 'c> TermLookup<'a, 'c> {
    pub(super) fn new(
        lookup: &'a Lookup<'c>,
        query: &Query,
        scope: &'a SearchScope,
        question: &'a ParsedQuestion,
    ) -> Result<Self> {
        let scoped_rows = if question.words.excluded.is_empty() {
            lookup.scoped_rows(scope)?
        } else {
            None
        };
        let (rows_total, latest_row) = lookup.scope_size(query)?;
        Ok(Self {
            lookup,
            scope,
            question,
            scoped_rows,
            rows_total,
            latest_row,
        })
    }

    /// Returns the rows that hold any term.
    pub(super) fn find_rows(&self) -> Result<QueryRows> {
        let terms = &self.question.terms;
        let has_speakers = self.lookup.has_speakers()?;
        let mut found = QueryRows {
            rows: Vec::with_capacity(terms.len() * TERM_ROWS_MAX / 2),
            ..QueryRows::default()
        };
        let mut capped: TermSet = 0;
        for (at, term) in terms.iter().enumerate() {
            let bit = 1 << at;
            let holding = self.rows_with_term(term)?;
            capped |= TermSet::from(holding.rows.len() == TERM_ROWS_MAX) << at;
            found.add(holding.rows, bit, 0);
            if has_speakers {
                let spoken = self.rows_by_speaker(&term.term)?;
                found.speaker_terms |= if spoken.is_empty() { 0 } else { bit };
                found.add(spoken, 0, bit);
            }
            found.df.push(holding.count);
            let weight = idf(self.rows_total, holding.count) * term.weight();
            found.idf.push(weight);
        }
        if capped != 0 {
            self.add_rows_of_capped_terms(capped, &mut found)?;
        }
        if capped != 0 && terms.len() > 1 {
            let (rows, all) = self.rows_with_all_terms()?;
            found.add(rows, all, 0);
        }
        found.merge_by_row();
        Ok(found)
    }

    /// Returns the rows that hold a word of a preference.
    pub(super) fn rows_with_preference_words(&self) -> Result<Vec<i64>> {
        let mut rows = Vec::new();
        for word in preferences::PREFERENCE_WORDS {
            rows.extend(self.rows_with_stem(&store::terms::stem::stem(word))?);
        }
        Ok(rows)
    }

    fn rows_with_term(&self, term: &QuestionTerm) -> Result<TermRows> {
        if let Some(rows) = self.postings(&[&term.pattern()], TERM_ROWS_MAX)? {
            return Ok(rows);
        }
        let rows = self.match_rows(term.match_expression(), TERM_ROWS_MAX)?;
        let count = estimate_df(&rows, self.rows_total, self.latest_row);
        Ok(TermRows { rows, count })
    }

    fn rows_by_speaker(&self, term: &str) -> Result<Vec<i64>> {
        self.rows_with_stem(&format!("{}{term}", store::terms::SPEAKER))
    }

    fn rows_with_stem(&self, stem: &str) -> Result<Vec<i64>> {
        match self.postings(&[stem], TERM_ROWS_MAX)? {
            Some(rows) => Ok(rows.rows),
            None => self.match_rows(quote_term(stem), TERM_ROWS_MAX),
        }
    }

    /// Returns the rows that hold every topical term, and the set of these terms.
    fn rows_with_all_terms(&self) -> Result<(Vec<i64>, TermSet)> {
        let terms = self.question.terms.iter().enumerate();
        let topical: Vec<_> = terms.filter(|(_, term)| term.is_topical()).collect();
        let set = topical.iter().fold(0, |set, (at, _)| set | 1 << at);
        let patterns: Vec<String> = topical.iter().map(|(_, term)| term.pattern()).collect();
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        if let Some(rows) = self.postings(&patterns, ALL_TERMS_ROWS_MAX)? {
            return Ok((rows.rows, set));
        }
        let all: Vec<_> = topical
            .iter()
            .map(|(_, term)| format!("({})", term.match_expression()))
            .collect();
        let rows = self.match_rows(all.join(" AND "), ALL_TERMS_ROWS_MAX)?;
        Ok((rows, set))
    }

    /// Adds the older rows of capped terms that also hold a rarer term. Without these, an old
    /// session would be found by half of its words.
    fn add_rows_of_capped_terms(&self, capped: TermSet, found: &mut QueryRows) -> Result<()> {
        let (common, rare): (Vec<_>, Vec<_>) = self
            .question
            .terms
            .iter()
            .enumerate()
            .partition(|(at, _)| capped >> at & 1 == 1);
        let rare: Vec<&QuestionTerm> = rare.into_iter().map(|(_, term)| term).collect();
        for (at, term) in common {
            found.add(self.rows_with_both(term, &rare)?, 1 << at, 0);
        }
        Ok(())
    }

    /// Returns the rows that hold a term and at least one of others.
    fn rows_with_both(&self, term: &QuestionTerm, others: &[&QuestionTerm]) -> Result<Vec<i64>> {
        if others.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(scoped) = &self.scoped_rows {
            let patterns: Vec<String> = others.iter().map(|other| other.pattern()).collect();
            let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
            let rows = self
                .lookup
                .rows_with_term_and_any(scoped, &term.pattern(), &patterns)?;
            if let Some(rows) = rows {
                return Ok(rows);
            }
        }
        let any: Vec<_> = others.iter().map(|term| term.match_expression()).collect();
        let both = format!("({}) AND ({})", term.match_expression(), any.join(" OR "));
        self.match_rows(both, CAPPED_TERM_ROWS_MAX)
    }

    fn postings(&self, terms: &[&str], max: usize) -> Result<Option<TermRows>> {
        match &self.scoped_rows {
            Some(scoped) => self.lookup.rows_with_terms(scoped, terms, max),
            None => Ok(None),
        }
    }

    fn match_rows(&self, expression: String, max: usize) -> Result<Vec<i64>> {
        let expression = self.question.words.without_excluded(expression);
        self.lookup.rows(self.scope, &expression, max)
    }
}

impl QueryRows {
    fn add(&mut self, rows: Vec<i64>, matched: TermSet, speaker: TermSet) {
        let terms = rows.into_iter().map(|row| RowTerms {
            row,
            matched,
            speaker,
        });
        self.rows.extend(terms);
    }

    /// Sorts by row and unites the terms of each row.
    fn merge_by_row(&mut self) {
        // The rows of each term are sorted already, which a stable sort makes use of.
        self.rows.sort_by_key(|terms| terms.row);
        self.rows.dedup_by(|next, kept| {
            let is_same = next.row == kept.row;
            if is_same {
                kept.matched |= next.matched;
                kept.speaker |= next.speaker;
            }
            is_same
        });
    }
}

/// Returns how many rows hold a term. Where the list of rows was capped, its density is
/// extrapolated to the older rows.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the estimate is positive, and the scope's size bounds it"
)]
fn estimate_df(rows: &[i64], rows_total: u64, latest_row: i64) -> u64 {
    match rows.last() {
        Some(last) if rows.len() == TERM_ROWS_MAX => {
            let span = (latest_row - last + 1).max(1) as f64;
            let estimate = TERM_ROWS_MAX as f64 * latest_row as f64 / span;
            (estimate as u64).min(rows_total).max(TERM_ROWS_MAX as u64)
        }
        _ => rows.len() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terms_of_a_row_are_united() {
        let terms = |row, matched, speaker| RowTerms {
            row,
            matched,
            speaker,
        };
        let mut found = QueryRows::default();
        found.add(vec![2], 1, 0);
        found.add(vec![1], 2, 0);
        found.add(vec![2], 4, 1);
        found.merge_by_row();
        assert_eq!(found.rows, [terms(1, 2, 0), terms(2, 5, 1)]);
    }

    #[test]
    fn the_frequency_of_a_capped_term_is_extrapolated() {
        let rows: Vec<i64> = (7001..=10_000).rev().collect();
        assert_eq!(estimate_df(&rows, 10_000, 10_000), 10_000);
        assert_eq!(estimate_df(&[3, 2], 10_000, 10_000), 2);
    }
}
