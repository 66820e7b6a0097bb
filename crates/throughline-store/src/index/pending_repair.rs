//! Repairs that the index needs because it still holds terms of deleted rows.
//!
//! A few rows are deleted in place: FTS5 removes their terms from its pages. For many rows it is
//! faster to mark them as deleted and to merge all segments into new ones. Until that merge is done
//! nothing else may be deleted in place, because the terms behind such a mark would become visible
//! again.

use rusqlite::{Connection, Transaction};

use crate::error::Result;

/// What removes the terms of deleted rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexRepair {
    /// All segments are merged into new ones.
    Merge,
    /// The index is rebuilt, because a row was indexed with terms that are no longer known.
    Rebuild,
}

impl IndexRepair {
    /// Returns the name of the repair in the table of maintenance tasks.
    const fn task_name(self) -> &'static str {
        match self {
            Self::Merge => "merge index",
            Self::Rebuild => "rebuild index",
        }
    }
}

/// Returns the repair that the index needs, if any.
pub(crate) fn pending_repair(connection: &Connection) -> Result<Option<IndexRepair>> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM chores WHERE name = ?1")?;
    for remedy in [IndexRepair::Rebuild, IndexRepair::Merge] {
        if statement.exists([remedy.task_name()])? {
            return Ok(Some(remedy));
        }
    }
    Ok(None)
}

/// Records that the index needs a repair.
pub(crate) fn require_repair(tx: &Transaction<'_>, remedy: IndexRepair) -> Result<()> {
    tx.prepare_cached("INSERT OR IGNORE INTO chores (name, at) VALUES (?1, 0)")?
        .execute([remedy.task_name()])?;
    Ok(())
}

/// Records that the index needs no repair.
pub(crate) fn clear_repairs(tx: &Transaction<'_>) -> Result<()> {
    for remedy in [IndexRepair::Rebuild, IndexRepair::Merge] {
        tx.prepare_cached("DELETE FROM chores WHERE name = ?1")?
            .execute([remedy.task_name()])?;
    }
    Ok(())
}
