//! Workspaces and the folders they were seen in.

use rusqlite::{OptionalExtension, Transaction, params};

use crate::error::Result;
use crate::records;
use crate::redact::CleanString;
use crate::writer::Names;

/// Returns the number of a workspace, making its row when there is none.
///
/// A workspace that is known by its folder alone is the one whose remote another log named for
/// that folder, whichever of the two logs was read first.
pub(crate) fn known(
    tx: &Transaction<'_>,
    names: &mut Names,
    key: &CleanString,
    root: &CleanString,
) -> Result<i64> {
    let (key, root) = (key.as_str(), root.as_str());
    let name = format!("{key}\n{root}");
    if let Some(id) = names.workspaces.get(&name) {
        return Ok(*id);
    }
    let at_root: Option<i64> = tx
        .prepare_cached("SELECT workspace FROM roots WHERE path = ?1")?
        .query_row([root], |row| row.get(0))
        .optional()?;
    let id = match at_root {
        Some(id) if key == root => id,
        _ => {
            let id = with_key(tx, key)?;
            tx.prepare_cached("INSERT OR IGNORE INTO roots (path, workspace) VALUES (?1, ?2)")?
                .execute(params![root, id])?;
            id
        }
    };
    names.workspaces.insert(name, id);
    if let Some(old) = at_root.filter(|old| *old != id && key != root) {
        absorb(tx, names, root, old, id)?;
    }
    Ok(id)
}

fn with_key(tx: &Transaction<'_>, key: &str) -> Result<i64> {
    let found = tx
        .prepare_cached("SELECT id FROM workspaces WHERE key = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()?;
    if let Some(id) = found {
        return Ok(id);
    }
    tx.prepare_cached("INSERT INTO workspaces (key) VALUES (?1)")?
        .execute([key])?;
    Ok(tx.last_insert_rowid())
}

/// Makes a workspace that was known only by its folder part of the one whose remote is now known.
/// A folder that had another remote before stays with that: it was another repository then.
fn absorb(tx: &Transaction<'_>, names: &mut Names, root: &str, old: i64, new: i64) -> Result<()> {
    let by_folder: bool = tx
        .prepare_cached("SELECT key = ?2 FROM workspaces WHERE id = ?1")?
        .query_row(params![old, root], |row| row.get(0))?;
    if !by_folder {
        return Ok(());
    }
    tx.prepare_cached("UPDATE roots SET workspace = ?2 WHERE workspace = ?1")?
        .execute([old, new])?;
    let mut statement = tx.prepare_cached("SELECT id FROM sessions WHERE workspace = ?1")?;
    let sessions: Vec<i64> = statement
        .query_map([old], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    tx.prepare_cached("UPDATE sessions SET workspace = ?2 WHERE workspace = ?1")?
        .execute([old, new])?;
    tx.prepare_cached("DELETE FROM workspaces WHERE id = ?1")?
        .execute([old])?;
    // What is remembered of sessions and workspaces names the old number.
    names.sessions.clear();
    names.workspaces.clear();
    for session in sessions {
        records::reindex_session(tx, names, session)?;
    }
    Ok(())
}
