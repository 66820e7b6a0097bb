//! Turns: a person's prompt and what the agent did until the next one.

use memory::RecordKind;
use store::{Lookup, Result, RowAttributes};

/// Rows looked at on one side of a record; the sessions of other agents may lie in between.
const ROWS_MAX: i64 = 256;

/// Returns the rows of a prompt's turn behind it, in order.
pub fn turn_after(
    lookup: &Lookup<'_>,
    row: i64,
    session: u32,
) -> Result<Vec<(i64, RowAttributes)>> {
    let mut rows = rows_of_session(lookup, row + 1..row + 1 + ROWS_MAX, session)?;
    if let Some(next) = rows
        .iter()
        .position(|(_, mark)| mark.kind == RecordKind::Prompt)
    {
        rows.truncate(next);
    }
    Ok(rows)
}

/// Returns the rows of a session behind a record, in order, whichever turn they are of.
pub fn rows_after(
    lookup: &Lookup<'_>,
    row: i64,
    session: u32,
) -> Result<Vec<(i64, RowAttributes)>> {
    rows_of_session(lookup, row + 1..row + 1 + ROWS_MAX, session)
}

/// Returns the rows of a record's turn before it, the nearest first; its prompt is the last.
pub fn turn_before(
    lookup: &Lookup<'_>,
    row: i64,
    session: u32,
) -> Result<Vec<(i64, RowAttributes)>> {
    let mut rows = rows_of_session(lookup, (row - ROWS_MAX).max(1)..row, session)?;
    rows.reverse();
    if let Some(prompt) = rows
        .iter()
        .position(|(_, mark)| mark.kind == RecordKind::Prompt)
    {
        rows.truncate(prompt + 1);
    }
    Ok(rows)
}

fn rows_of_session(
    lookup: &Lookup<'_>,
    rows: std::ops::Range<i64>,
    session: u32,
) -> Result<Vec<(i64, RowAttributes)>> {
    let rows: Vec<i64> = rows.collect();
    let marks = lookup.attributes(&rows)?;
    let known = rows.into_iter().zip(marks);
    Ok(known
        .filter_map(|(row, mark)| Some((row, mark.filter(|mark| mark.session == session)?)))
        .collect())
}
