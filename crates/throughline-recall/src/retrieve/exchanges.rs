//! Exchanges: a person's prompt and the text with which the agent's turn ends.
//!
//! The prompt has the words by which a person remembers the matter, and the end of the turn says
//! what came of it. Neither need share a word with the other, so each of them leads to the other.

use std::collections::HashMap;
use std::ops::ControlFlow;

use memory::RecordKind;
use store::{Lookup, Result, RowAttributes};

use super::{Candidate, TermSet};

/// Shorter texts conclude nothing: "Done." or "Committed and pushed."
const CONCLUSION_BYTES_MIN: u32 = 100;
/// The best candidates whose exchanges are completed: a share of those that are read, at most so
/// many. Each can add a text to read.
const COMPLETED_SHARE: usize = 4;
const COMPLETED_MAX: usize = 32;
/// Rows that are searched for the prompt or the end of a turn. A turn can be hundreds of calls.
const ROWS_MAX: i64 = 400;
/// Rows whose attributes are read at once.
const CHUNK_ROWS: i64 = 64;

/// What a record is to its exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExchangeRole {
    /// The terms of the prompt that an agent's text belongs to.
    pub(crate) asked: TermSet,
    /// The record is the last text of an agent's turn.
    pub(crate) concludes: bool,
}

/// Returns the conclusions that are missing among the best of `read`, which is sorted by rank.
pub(crate) fn missing_conclusions(
    attributes: &mut AttributeChunks<'_, '_>,
    candidates: &[Candidate],
    read: &[&Candidate],
) -> Result<Vec<Candidate>> {
    let mut missing: Vec<Candidate> = Vec::new();
    let said = read
        .iter()
        .filter(|candidate| is_said(&candidate.attributes));
    let completed_max = (read.len() / COMPLETED_SHARE).min(COMPLETED_MAX);
    for candidate in said.take(completed_max) {
        let Some((row, of_row)) = find_conclusion(attributes, candidate)? else {
            continue;
        };
        let is_known = read.iter().any(|known| known.row == row)
            || missing.iter().any(|known| known.row == row);
        if !is_known {
            let found = candidates.iter().find(|known| known.row == row);
            missing.push(found.cloned().unwrap_or(Candidate::new(row, of_row)));
        }
    }
    Ok(missing)
}

/// Returns the role of each candidate. The candidates are sorted by row.
pub(crate) fn exchange_roles(
    attributes: &mut AttributeChunks<'_, '_>,
    candidates: &[Candidate],
    read: &[&Candidate],
) -> Result<Vec<ExchangeRole>> {
    let mut terms_of: HashMap<i64, TermSet> = HashMap::with_capacity(candidates.len());
    let prompts = candidates.iter().chain(read.iter().copied());
    let prompts = prompts.filter(|candidate| candidate.attributes.kind == RecordKind::Prompt);
    terms_of.extend(prompts.map(|prompt| (prompt.row, prompt.matched)));
    // The latest candidate of each session, and its prompt: the search backwards ends there.
    let mut latest: HashMap<u32, (i64, Option<i64>)> = HashMap::new();
    let mut roles = Vec::with_capacity(read.len());
    for candidate in read {
        let session = candidate.attributes.session;
        if candidate.attributes.kind != RecordKind::Assistant {
            roles.push(ExchangeRole::default());
            continue;
        }
        let prompt = find_prompt(attributes, candidate, latest.get(&session).copied())?;
        latest.insert(session, (candidate.row, prompt));
        roles.push(ExchangeRole {
            asked: prompt
                .and_then(|row| terms_of.get(&row).copied())
                .unwrap_or(0),
            concludes: candidate.attributes.size_bytes >= CONCLUSION_BYTES_MIN
                && !is_followed(attributes, candidate)?,
        });
    }
    Ok(roles)
}

fn is_said(attributes: &RowAttributes) -> bool {
    matches!(attributes.kind, RecordKind::Prompt | RecordKind::Assistant)
}

fn concludes(attributes: &RowAttributes) -> bool {
    attributes.kind == RecordKind::Assistant && attributes.size_bytes >= CONCLUSION_BYTES_MIN
}

/// Returns the last text of the turn that a candidate belongs to, unless it is the candidate.
fn find_conclusion(
    attributes: &mut AttributeChunks<'_, '_>,
    candidate: &Candidate,
) -> Result<Option<(i64, RowAttributes)>> {
    let mut last = None;
    attributes.scan(candidate, 1, |row, found| {
        if found.kind == RecordKind::Prompt {
            return ControlFlow::Break(());
        }
        if concludes(&found) {
            last = Some((row, found));
        }
        ControlFlow::Continue(())
    })?;
    Ok(last)
}

/// Returns whether another text of the agent follows in the same turn.
fn is_followed(attributes: &mut AttributeChunks<'_, '_>, candidate: &Candidate) -> Result<bool> {
    let mut is_followed = false;
    attributes.scan(candidate, 1, |_, found| {
        is_followed = concludes(&found);
        if is_followed || found.kind == RecordKind::Prompt {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    Ok(is_followed)
}

/// Returns the row of the prompt that opens the turn of a candidate. `before` is an earlier record
/// of the session with its prompt.
fn find_prompt(
    attributes: &mut AttributeChunks<'_, '_>,
    candidate: &Candidate,
    before: Option<(i64, Option<i64>)>,
) -> Result<Option<i64>> {
    let mut prompt = None;
    attributes.scan(candidate, -1, |row, found| {
        if found.kind == RecordKind::Prompt {
            prompt = Some(row);
        } else if let Some((_, known)) = before.filter(|(known, _)| *known == row) {
            prompt = known;
        } else {
            return ControlFlow::Continue(());
        }
        ControlFlow::Break(())
    })?;
    Ok(prompt)
}

/// The attributes of rows, read in chunks: the turns of one session share most of them.
pub(crate) struct AttributeChunks<'a, 's> {
    lookup: &'a Lookup<'s>,
    chunks: HashMap<i64, Vec<Option<RowAttributes>>>,
}

impl<'a, 's> AttributeChunks<'a, 's> {
    pub(crate) fn new(lookup: &'a Lookup<'s>) -> Self {
        Self {
            lookup,
            chunks: HashMap::new(),
        }
    }

    fn chunk(&mut self, number: i64) -> Result<&[Option<RowAttributes>]> {
        if !self.chunks.contains_key(&number) {
            let rows = number * CHUNK_ROWS..(number + 1) * CHUNK_ROWS;
            let rows: Vec<i64> = rows.collect();
            self.chunks.insert(number, self.lookup.attributes(&rows)?);
        }
        Ok(&self.chunks[&number])
    }

    /// Visits the rows of a candidate's session after it, or before it if `step` is -1.
    fn scan(
        &mut self,
        candidate: &Candidate,
        step: i64,
        mut visit: impl FnMut(i64, RowAttributes) -> ControlFlow<()>,
    ) -> Result<()> {
        let session = candidate.attributes.session;
        let mut row = candidate.row + step;
        let last = (candidate.row + step * ROWS_MAX).max(1);
        while row > 0 && (last - row) * step >= 0 {
            let number = row.div_euclid(CHUNK_ROWS);
            let chunk = self.chunk(number)?;
            while row > 0 && row.div_euclid(CHUNK_ROWS) == number {
                let place = usize::try_from(row - number * CHUNK_ROWS).unwrap_or(0);
                let found = chunk[place].filter(|found| found.session == session);
                if found.is_some_and(|found| visit(row, found).is_break()) {
                    return Ok(());
                }
                row += step;
            }
        }
        Ok(())
    }
}
