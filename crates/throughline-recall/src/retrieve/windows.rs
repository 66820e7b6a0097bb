//! Windows: a few consecutive records of a session, scored as if they were one text.
//!
//! Work on one subject is spread over many small records, and none of them holds all the words of a
//! query about it.

use std::collections::HashMap;

use store::{Lookup, Result, RowAttributes};

use super::neighbours::advance_to;
use super::{Candidate, term_indices};
use crate::query::TERMS_MAX;
use crate::score::bm25::{bm25, length_penalty};
use crate::score::sessions::normalise;

/// Candidates that a window is made around.
const CENTRES_MAX: usize = 600;
/// Records before and after the centre.
const WINDOW_REACH: i64 = 4;

/// A window's terms and size.
#[derive(Debug)]
struct RecordWindow {
    counts: [u8; TERMS_MAX],
    bytes: f64,
}

/// Returns the score of the best window of each session, 1 for the best of all. The candidates are
/// sorted by row.
pub(super) fn best_window_scores(
    lookup: &Lookup<'_>,
    candidates: &[Candidate],
    idf: &[f64],
) -> Result<HashMap<u32, f64>> {
    let centres = centres(candidates);
    let others = rows_around(lookup, candidates, &centres)?;
    let windows: Vec<_> = centres
        .iter()
        .map(|at| window_around(candidates, *at, &others))
        .collect();
    let bytes: f64 = windows.iter().map(|window| window.bytes).sum();
    let typical = (bytes / windows.len().max(1) as f64).max(1.0);
    let mut best: HashMap<u32, f64> = HashMap::new();
    for (centre, window) in centres.iter().zip(&windows) {
        let counts = window.counts.iter().map(|count| f64::from(*count));
        let score = bm25(
            length_penalty::TEXT,
            window.bytes / typical,
            idf.iter().copied().zip(counts),
        );
        let session = candidates[*centre].attributes.session;
        let known = best.entry(session).or_default();
        *known = known.max(score);
    }
    normalise(&mut best);
    Ok(best)
}

fn centres(candidates: &[Candidate]) -> Vec<usize> {
    let mut best: Vec<usize> = (0..candidates.len())
        .filter(|at| candidates[*at].matched != 0)
        .collect();
    if best.len() > CENTRES_MAX {
        best.select_nth_unstable_by(CENTRES_MAX, |a, b| {
            candidates[*b].score.total_cmp(&candidates[*a].score)
        });
        best.truncate(CENTRES_MAX);
    }
    best
}

/// Returns the rows in the windows that are no candidates, in ascending order.
fn rows_around(
    lookup: &Lookup<'_>,
    candidates: &[Candidate],
    centres: &[usize],
) -> Result<Vec<(i64, RowAttributes)>> {
    let window = |at: &usize| {
        let row = candidates[*at].row;
        row - WINDOW_REACH..=row + WINDOW_REACH
    };
    let mut rows: Vec<i64> = centres.iter().flat_map(window).collect();
    rows.sort_unstable();
    rows.dedup();
    let mut known = candidates.iter().map(|candidate| candidate.row).peekable();
    rows.retain(|row| *row > 0 && !advance_to(&mut known, *row));
    let attributes = lookup.attributes(&rows)?;
    let found = rows.into_iter().zip(attributes);
    Ok(found
        .filter_map(|(row, found)| Some((row, found?)))
        .collect())
}

fn window_around(
    candidates: &[Candidate],
    centre: usize,
    others: &[(i64, RowAttributes)],
) -> RecordWindow {
    let Candidate {
        row, attributes, ..
    } = &candidates[centre];
    let (first, last) = (row - WINDOW_REACH, row + WINDOW_REACH);
    let is_same = |other: &RowAttributes| other.session == attributes.session;
    let mut window = RecordWindow {
        counts: [0; TERMS_MAX],
        bytes: 0.0,
    };
    let start = candidates[..centre].partition_point(|candidate| candidate.row < first);
    let within = candidates[start..].iter();
    let within = within.take_while(|candidate| candidate.row <= last);
    for candidate in within.filter(|candidate| is_same(&candidate.attributes)) {
        window.bytes += f64::from(candidate.attributes.size_bytes);
        for at in term_indices(candidate.matched) {
            window.counts[at] += 1;
        }
    }
    let start = others.partition_point(|(row, _)| *row < first);
    let within = others[start..].iter().take_while(|(row, _)| *row <= last);
    for (_, other) in within.filter(|(_, other)| is_same(other)) {
        window.bytes += f64::from(other.size_bytes);
    }
    window
}
