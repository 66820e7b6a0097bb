//! Turns: a person's prompt and everything the agent did until the next prompt.

use memory::RecordKind;
use store::{Lookup, Result, RowAttributes};

/// Rows searched on one side of a record; rows of other sessions may be in between.
const ROWS_MAX: i64 = 256;

/// The position of a record: its row, and the number of its session in the row attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RowPosition {
    pub row: i64,
    pub session: u32,
}

impl RowPosition {
    /// Returns the later rows of the same turn, in order.
    pub(crate) fn turn_after(self, lookup: &Lookup<'_>) -> Result<Vec<(i64, RowAttributes)>> {
        let mut rows = self.rows_after(lookup)?;
        if let Some(next) = rows.iter().position(is_prompt) {
            rows.truncate(next);
        }
        Ok(rows)
    }

    /// Returns the later rows of the session, in order, of this turn and the following.
    pub(crate) fn rows_after(self, lookup: &Lookup<'_>) -> Result<Vec<(i64, RowAttributes)>> {
        self.session_rows(lookup, self.row + 1..self.row + 1 + ROWS_MAX)
    }

    /// Returns the earlier rows of the same turn, the nearest first and the prompt last.
    pub(crate) fn turn_before(self, lookup: &Lookup<'_>) -> Result<Vec<(i64, RowAttributes)>> {
        let mut rows = self.session_rows(lookup, (self.row - ROWS_MAX).max(1)..self.row)?;
        rows.reverse();
        if let Some(prompt) = rows.iter().position(is_prompt) {
            rows.truncate(prompt + 1);
        }
        Ok(rows)
    }

    fn session_rows(
        self,
        lookup: &Lookup<'_>,
        rows: std::ops::Range<i64>,
    ) -> Result<Vec<(i64, RowAttributes)>> {
        let rows: Vec<i64> = rows.collect();
        let attributes = lookup.attributes(&rows)?;
        let is_same = |found: &RowAttributes| found.session == self.session;
        let found = rows.into_iter().zip(attributes);
        Ok(found
            .filter_map(|(row, found)| Some((row, found.filter(is_same)?)))
            .collect())
    }
}

pub(crate) fn is_prompt((_, attributes): &(i64, RowAttributes)) -> bool {
    attributes.kind == RecordKind::Prompt
}
