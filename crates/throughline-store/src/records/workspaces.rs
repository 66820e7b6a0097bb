//! Workspaces, and the folders in which they were seen.

use memory::{SessionId, Workspace};
use rusqlite::{OptionalExtension, Transaction, params};

use crate::Store;
use crate::error::Result;
use crate::ingest::writer::WriterState;
use crate::query::query_all;
use crate::records;
use redact::CleanString;

impl Store {
    /// Returns the stored key of a workspace: its own, or that of the workspace which was seen in
    /// its folder.
    pub fn workspace_key(&self, workspace: &Workspace) -> Result<Option<String>> {
        self.read(|connection| {
            Ok(connection
                .prepare_cached(
                    "SELECT key FROM workspaces WHERE key = ?1 UNION ALL
                     SELECT w.key FROM roots r JOIN workspaces w ON w.id = r.workspace
                     WHERE r.path = ?2 LIMIT 1",
                )?
                .query_row([&workspace.key, &workspace.root], |row| row.get(0))
                .optional()?)
        })
    }

    /// Returns the folder of a session and the key of its workspace, if both are known.
    pub fn session_folder(&self, session: &SessionId) -> Result<Option<(String, String)>> {
        self.read(|connection| {
            Ok(connection
                .prepare_cached(
                    "SELECT s.cwd, w.key FROM sessions s JOIN workspaces w ON w.id = s.workspace
                     WHERE s.name = ?1 AND s.cwd IS NOT NULL",
                )?
                .query_row([session.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?)
        })
    }

    /// Returns the workspaces whose key or folder contains a text, each with one of its folders.
    pub fn workspaces_matching(&self, part: &str, limit: usize) -> Result<Vec<Workspace>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT w.key, coalesce((SELECT min(path) FROM roots WHERE workspace = w.id), w.key)
                 FROM workspaces w WHERE instr(w.key, ?1) OR EXISTS
                    (SELECT 1 FROM roots x WHERE x.workspace = w.id AND instr(x.path, ?1))
                 ORDER BY w.key = ?1 DESC, w.key LIMIT ?2",
            )?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![part, limit], |row| {
                Ok(Workspace {
                    key: row.get(0)?,
                    root: row.get(1)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

/// Returns the number of a workspace, inserting its row when there is none.
///
/// A workspace that is known only by its folder is the same as one whose remote another log names
/// for that folder, whichever of the two logs was read first. An empty `root` stands for no folder.
pub(crate) fn find_or_insert_workspace(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    key: &CleanString,
    root: &CleanString,
) -> Result<i64> {
    let (key, root) = (key.as_str(), root.as_str());
    let name = format!("{key}\n{root}");
    if let Some(id) = writer.workspaces.get(&name) {
        return Ok(*id);
    }
    let id = match workspace_at_root(tx, root)? {
        _ if root.is_empty() => find_or_insert_by_key(tx, key)?,
        None => insert_root(tx, root, find_or_insert_by_key(tx, key)?)?,
        Some((id, _)) if key == root => id,
        Some((old, true)) => rename_or_merge(tx, writer, old, key)?,
        // The folder contains another repository than before.
        Some((_, false)) => find_or_insert_by_key(tx, key)?,
    };
    writer.workspaces.insert(name, id);
    Ok(id)
}

/// Returns the workspace of a folder, and whether it is known only by that folder.
fn workspace_at_root(tx: &Transaction<'_>, root: &str) -> Result<Option<(i64, bool)>> {
    let sql =
        "SELECT r.workspace, w.key = r.path FROM roots r JOIN workspaces w ON w.id = r.workspace
        WHERE r.path = ?1";
    Ok(tx
        .prepare_cached(sql)?
        .query_row([root], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?)
}

fn insert_root(tx: &Transaction<'_>, root: &str, id: i64) -> Result<i64> {
    tx.prepare_cached("INSERT OR IGNORE INTO roots (path, workspace) VALUES (?1, ?2)")?
        .execute(params![root, id])?;
    Ok(id)
}

fn find_workspace(tx: &Transaction<'_>, key: &str) -> Result<Option<i64>> {
    Ok(tx
        .prepare_cached("SELECT id FROM workspaces WHERE key = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()?)
}

fn find_or_insert_by_key(tx: &Transaction<'_>, key: &str) -> Result<i64> {
    if let Some(id) = find_workspace(tx, key)? {
        return Ok(id);
    }
    tx.prepare_cached("INSERT INTO workspaces (key) VALUES (?1)")?
        .execute([key])?;
    Ok(tx.last_insert_rowid())
}

/// Gives a workspace that was known by its folder the key of its remote, and returns its number. If
/// the remote has a workspace already, the two are merged.
fn rename_or_merge(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    old: i64,
    key: &str,
) -> Result<i64> {
    let Some(other) = find_workspace(tx, key)? else {
        tx.prepare_cached("UPDATE workspaces SET key = ?2 WHERE id = ?1")?
            .execute(params![old, key])?;
        return Ok(old);
    };
    // The records of one of the two must be indexed again, so the smaller one is merged into the
    // other.
    let (lost, kept) = if records_in(tx, old)? <= records_in(tx, other)? {
        (old, other)
    } else {
        (other, old)
    };
    let sessions = sessions_in(tx, lost)?;
    tx.prepare_cached("UPDATE roots SET workspace = ?2 WHERE workspace = ?1")?
        .execute([lost, kept])?;
    tx.prepare_cached("UPDATE sessions SET workspace = ?2 WHERE workspace = ?1")?
        .execute([lost, kept])?;
    tx.prepare_cached("UPDATE facts SET workspace = ?2 WHERE workspace = ?1")?
        .execute([lost, kept])?;
    tx.prepare_cached("DELETE FROM workspaces WHERE id = ?1")?
        .execute([lost])?;
    tx.prepare_cached("UPDATE workspaces SET key = ?2 WHERE id = ?1")?
        .execute(params![kept, key])?;
    // The caches contain the number of the deleted workspace.
    writer.sessions.clear();
    writer.workspaces.clear();
    for session in sessions {
        records::reindex_session(tx, writer, session, lost)?;
    }
    Ok(kept)
}

fn records_in(tx: &Transaction<'_>, workspace: i64) -> Result<i64> {
    let sql = "SELECT coalesce(sum(records), 0) FROM sessions WHERE workspace = ?1";
    Ok(tx
        .prepare_cached(sql)?
        .query_row([workspace], |row| row.get(0))?)
}

fn sessions_in(tx: &Transaction<'_>, workspace: i64) -> Result<Vec<i64>> {
    query_all(
        tx,
        "SELECT id FROM sessions WHERE workspace = ?1",
        [workspace],
        |row| row.get(0),
    )
}
