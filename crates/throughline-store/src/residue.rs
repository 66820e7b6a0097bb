//! What is left in the index of rows that were taken out, and what takes it away.
//!
//! A few rows go at once: FTS5 removes their terms from its pages. For many that takes longer than to note that they
//! are gone and to merge all pages into new ones. Until that is done nothing else may be removed at once: what such a
//! note hides would come to light again.

use rusqlite::{Connection, OptionalExtension, Transaction};

use crate::error::Result;

/// What takes it away, the lesser first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Remedy {
    /// All pages are merged into new ones.
    Merge,
    /// The index is made anew: a row is indexed by terms that nobody knows any more.
    Rebuild,
}

impl Remedy {
    const fn name(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Rebuild => "rebuild",
        }
    }
}

/// Returns what must be done, if anything.
pub(crate) fn remedy(connection: &Connection) -> Result<Option<Remedy>> {
    let name: Option<String> = connection
        .prepare_cached("SELECT remedy FROM residue")?
        .query_row([], |row| row.get(0))
        .optional()?;
    Ok(name.map(|name| {
        if name == Remedy::Merge.name() {
            Remedy::Merge
        } else {
            Remedy::Rebuild
        }
    }))
}

/// Notes that something is left, unless more is noted already.
pub(crate) fn note(tx: &Transaction<'_>, remedy: Remedy) -> Result<()> {
    if self::remedy(tx)? < Some(remedy) {
        tx.prepare_cached("INSERT OR REPLACE INTO residue (id, remedy) VALUES (1, ?1)")?
            .execute([remedy.name()])?;
    }
    Ok(())
}

/// Notes that nothing is left.
pub(crate) fn clear(tx: &Transaction<'_>) -> Result<()> {
    tx.prepare_cached("DELETE FROM residue")?.execute([])?;
    Ok(())
}
