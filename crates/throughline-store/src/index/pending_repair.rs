//! What is left in the index of rows that were taken out, and what takes it away.
//!
//! A few rows go at once: FTS5 removes their terms from its pages. For many that takes longer than to note that they
//! are gone and to merge all pages into new ones. Until that is done nothing else may be removed at once: what such a
//! note hides would come to light again.

use rusqlite::{Connection, Transaction};

use crate::error::Result;

/// What takes it away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexRepair {
    /// All pages are merged into new ones.
    Merge,
    /// The index is made anew: a row is indexed by terms that nobody knows any more.
    Rebuild,
}

impl IndexRepair {
    /// Returns the name by which it is noted among the chores.
    const fn task_name(self) -> &'static str {
        match self {
            Self::Merge => "merge index",
            Self::Rebuild => "rebuild index",
        }
    }
}

/// Returns what must be done, if anything.
pub(crate) fn pending_repair(connection: &Connection) -> Result<Option<IndexRepair>> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM chores WHERE name = ?1")?;
    for remedy in [IndexRepair::Rebuild, IndexRepair::Merge] {
        if statement.exists([remedy.task_name()])? {
            return Ok(Some(remedy));
        }
    }
    Ok(None)
}

/// Notes that something is left.
pub(crate) fn require_repair(tx: &Transaction<'_>, remedy: IndexRepair) -> Result<()> {
    tx.prepare_cached("INSERT OR IGNORE INTO chores (name, at) VALUES (?1, 0)")?
        .execute([remedy.task_name()])?;
    Ok(())
}

/// Notes that nothing is left.
pub(crate) fn clear_repairs(tx: &Transaction<'_>) -> Result<()> {
    for remedy in [IndexRepair::Rebuild, IndexRepair::Merge] {
        tx.prepare_cached("DELETE FROM chores WHERE name = ?1")?
            .execute([remedy.task_name()])?;
    }
    Ok(())
}
