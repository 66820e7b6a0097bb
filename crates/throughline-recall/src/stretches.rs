//! Stretches of a session: what a few records that follow each other say together.
//!
//! Work on one thing is told in many small records, and none of them holds all the words of a question about it.

use std::collections::HashMap;

use store::{Lookup, Result, RowAttributes};

use crate::candidates::{Candidate, advance_to};

/// Hits around which a stretch is looked at.
const CENTRES_MAX: usize = 600;
/// Records before and after.
const WINDOW_REACH: i64 = 4;
const K1: f64 = 1.2;
const B: f64 = 0.6;

/// Returns how much the best stretch of each session holds of the question, 1 for the best of all. The hits lie in the
/// order of their rows.
pub fn best_window_scores(
    lookup: &Lookup<'_>,
    hits: &[Candidate],
    idf: &[f64],
) -> Result<HashMap<u32, f64>> {
    let centres = centres(hits);
    let others = surroundings(lookup, hits, &centres)?;
    let stretches: Vec<_> = centres
        .iter()
        .map(|at| window_around(hits, *at, &others))
        .collect();
    let bytes: f64 = stretches.iter().map(|stretch| stretch.bytes).sum();
    let typical = (bytes / stretches.len().max(1) as f64).max(1.0);
    let mut best: HashMap<u32, f64> = HashMap::new();
    for (at, stretch) in centres.iter().zip(&stretches) {
        let norm = K1 * (1.0 - B + B * stretch.bytes / typical);
        let points = |(at, idf): (usize, &f64)| {
            let times = f64::from(stretch.counts[at]);
            idf * times * (K1 + 1.0) / (times + norm)
        };
        let score: f64 = idf.iter().enumerate().map(points).sum();
        let seen = best.entry(hits[*at].mark.session).or_default();
        *seen = seen.max(score);
    }
    crate::sessions::normalise(&mut best);
    Ok(best)
}

#[derive(Debug)]
struct RecordWindow {
    counts: [u8; crate::ask::TERMS_MAX],
    bytes: f64,
}

fn centres(hits: &[Candidate]) -> Vec<usize> {
    let mut best: Vec<usize> = (0..hits.len())
        .filter(|at| hits[*at].matched != 0)
        .collect();
    if best.len() > CENTRES_MAX {
        best.select_nth_unstable_by(CENTRES_MAX, |a, b| {
            hits[*b].score.total_cmp(&hits[*a].score)
        });
        best.truncate(CENTRES_MAX);
    }
    best
}

/// Returns the marks of the rows around the centres that are no hits, in the order of rows.
fn surroundings(
    lookup: &Lookup<'_>,
    hits: &[Candidate],
    centres: &[usize],
) -> Result<Vec<(i64, RowAttributes)>> {
    let around = |at: &usize| hits[*at].row - WINDOW_REACH..=hits[*at].row + WINDOW_REACH;
    let mut rows: Vec<i64> = centres.iter().flat_map(around).collect();
    rows.sort_unstable();
    rows.dedup();
    let mut known = hits.iter().map(|hit| hit.row).peekable();
    rows.retain(|row| *row > 0 && !advance_to(&mut known, *row));
    let marks = lookup.attributes(&rows)?;
    let known = rows.into_iter().zip(marks);
    Ok(known.filter_map(|(row, mark)| Some((row, mark?))).collect())
}

fn window_around(
    hits: &[Candidate],
    centre: usize,
    others: &[(i64, RowAttributes)],
) -> RecordWindow {
    let Candidate { row, mark, .. } = &hits[centre];
    let mut stretch = RecordWindow {
        counts: [0; crate::ask::TERMS_MAX],
        bytes: 0.0,
    };
    let first = hits[..centre].partition_point(|hit| hit.row < row - WINDOW_REACH);
    let within = hits[first..]
        .iter()
        .take_while(|hit| hit.row <= row + WINDOW_REACH);
    for hit in within.filter(|hit| hit.mark.session == mark.session) {
        stretch.bytes += f64::from(hit.mark.size_bytes);
        let mut bits = hit.matched;
        while bits != 0 {
            stretch.counts[bits.trailing_zeros() as usize] += 1;
            bits &= bits - 1;
        }
    }
    let first = others.partition_point(|other| other.0 < row - WINDOW_REACH);
    let within = others[first..]
        .iter()
        .take_while(|other| other.0 <= row + WINDOW_REACH);
    for (_, other) in within.filter(|(_, other)| other.session == mark.session) {
        stretch.bytes += f64::from(other.size_bytes);
    }
    stretch
}
