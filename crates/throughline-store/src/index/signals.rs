//! Signals about a record besides its text: whether it is pinned, and whether it helped when it was
//! shown.

use memory::RecordId;
use rusqlite::Connection;

use crate::derived::injections;
use crate::error::Result;

/// What the user and past injections say about a record.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RecordSignals {
    /// A pinned fact was taken from the record.
    pub pinned: bool,
    /// How useful the record was, from 0 to 1; `None` when it was never shown.
    pub useful: Option<f64>,
}

pub(crate) fn read_record_signals(connection: &Connection, id: RecordId) -> Result<RecordSignals> {
    let mut pinned = connection.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM fact_sources y JOIN facts f ON f.id = y.fact
            WHERE y.record = ?1 AND f.pinned AND f.superseded IS NULL)",
    )?;
    Ok(RecordSignals {
        pinned: pinned.query_row([id.as_bytes()], |row| row.get(0))?,
        useful: injections::item_usefulness(connection, id.as_bytes())?,
    })
}
