//! Neighbours: the records up to two places before and after a record in its session.
//!
//! A short record depends on its neighbours: the question right before an answer belongs to it, and
//! the answer need not repeat its words. Longer records carry their own context.

use std::iter::Peekable;

use memory::RecordKind;
use store::{Lookup, Query, Result, RowAttributes};

use super::{Candidate, matches_kinds};

/// Records of this size or more carry their own context.
const SHORT_BYTES: u32 = 400;
/// Candidates whose neighbours become candidates too.
const NEIGHBOUR_HITS_MAX: usize = 600;
/// How far away a neighbour is at most.
pub(crate) const NEIGHBOUR_DISTANCE_MAX: u64 = 2;

/// Returns whether a record shares the terms of its neighbours.
pub(crate) fn uses_neighbours(attributes: &RowAttributes) -> bool {
    attributes.size_bytes < SHORT_BYTES
        && matches!(
            attributes.kind,
            RecordKind::Prompt | RecordKind::Assistant | RecordKind::Summary
        )
}

/// Adds the short neighbours of the best candidates as candidates. The filters of the query hold
/// for them too: they come from the same session, which is in scope, and none is added where the
/// query selects single records by time, tool or path.
pub(super) fn include_neighbours(
    lookup: &Lookup<'_>,
    query: &Query,
    all: &mut Vec<Candidate>,
) -> Result<()> {
    let selects_by_time = query.since.is_some() || query.until.is_some();
    if selects_by_time || query.tool.is_some() || query.path.is_some() {
        return Ok(());
    }
    let mut best: Vec<usize> = (0..all.len())
        .filter(|at| uses_neighbours(&all[*at].attributes))
        .collect();
    if best.len() > NEIGHBOUR_HITS_MAX {
        best.select_nth_unstable_by(NEIGHBOUR_HITS_MAX, |a, b| {
            all[*b].score.total_cmp(&all[*a].score)
        });
        best.truncate(NEIGHBOUR_HITS_MAX);
    }
    let mut rows = Vec::with_capacity(best.len() * 4);
    for at in best {
        let (row, session) = (all[at].row, all[at].attributes.session);
        rows.extend([row - 2, row - 1, row + 1, row + 2].map(|row| (row, session)));
    }
    rows.sort_unstable();
    rows.dedup();
    let mut known = all.iter().map(|candidate| candidate.row).peekable();
    rows.retain(|(row, _)| *row > 0 && !advance_to(&mut known, *row));
    let numbers: Vec<i64> = rows.iter().map(|(row, _)| *row).collect();
    let attributes = lookup.attributes(&numbers)?;
    for ((row, session), attributes) in rows.into_iter().zip(attributes) {
        let is_neighbour = |found: &RowAttributes| {
            found.session == session && matches_kinds(query, found) && uses_neighbours(found)
        };
        if let Some(attributes) = attributes.filter(is_neighbour) {
            all.push(Candidate::new(row, attributes));
        }
    }
    Ok(())
}

/// Sets the terms of the neighbours of short records. The candidates are sorted by row.
pub(super) fn add_neighbour_terms(all: &mut [Candidate]) {
    for at in 0..all.len() {
        if !uses_neighbours(&all[at].attributes) {
            continue;
        }
        let mut terms = [0; 2];
        let around = at.saturating_sub(2)..(at + 3).min(all.len());
        for other in around.filter(|other| *other != at) {
            let distance = all[other].row.abs_diff(all[at].row);
            if distance <= NEIGHBOUR_DISTANCE_MAX
                && all[other].attributes.session == all[at].attributes.session
                && uses_neighbours(&all[other].attributes)
            {
                terms[usize::from(distance == 2)] |= all[other].matched;
            }
        }
        all[at].neighbours = terms;
    }
}

/// Advances an iterator over ascending rows to `row`, and returns whether it is one of them.
pub(super) fn advance_to(rows: &mut Peekable<impl Iterator<Item = i64>>, row: i64) -> bool {
    while rows.next_if(|next| *next < row).is_some() {}
    rows.peek() == Some(&row)
}
