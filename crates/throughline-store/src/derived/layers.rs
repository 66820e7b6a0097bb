//! What the memory layers keep: the checkpoints of sessions, and the files that sessions touched.

use std::collections::BTreeMap;

use jiff::Timestamp;
use memory::layers::{Checkpoint, SessionTouches, TouchedFile};
use memory::{RecordKind, SessionId};
use rusqlite::types::Value;
use rusqlite::{Transaction, params};

use crate::Store;
use crate::derived::cards;
use crate::error::Result;
use crate::query::query_all;
use crate::records::sessions::timestamp_from_millis;
use crate::texts::compression::{cell_text, compressed_cell};

impl Store {
    /// Returns the sessions that changed since `since` and whose checkpoints are outdated, with
    /// their revisions. Sessions whose records were evicted keep the checkpoints they have.
    pub fn pending_checkpoints(&self, since: Timestamp) -> Result<Vec<(SessionId, i64)>> {
        let sql = "SELECT s.name, s.revision FROM sessions s
            WHERE s.records > 0 AND coalesce(s.ended, s.started, 0) >= ?1
              AND s.id NOT IN (SELECT session FROM evictions)
              AND NOT EXISTS (SELECT 1 FROM checkpoints c
                WHERE c.session = s.id AND c.revision = s.revision)
            ORDER BY s.id";
        self.read(|connection| {
            query_all(connection, sql, [since.as_millisecond()], |row| {
                Ok((SessionId::new(row.get::<_, String>(0)?), row.get(1)?))
            })
        })
    }

    /// Returns the revision of a session, which changes with its records; `None` if there is no
    /// such session or its records were evicted.
    pub fn checkpoint_revision(&self, session: &SessionId) -> Result<Option<i64>> {
        let sql = "SELECT revision FROM sessions WHERE name = ?1
            AND id NOT IN (SELECT session FROM evictions)";
        self.read(|connection| {
            let found: Vec<i64> = query_all(connection, sql, [session.as_str()], |row| row.get(0))?;
            Ok(found.first().copied())
        })
    }

    /// Replaces the checkpoints of a session, unless its records have changed since `revision`.
    pub fn put_checkpoints(
        &self,
        session: &SessionId,
        revision: i64,
        checkpoints: &[Checkpoint],
    ) -> Result<bool> {
        let name = session.clone();
        let redactor = self.redactor();
        let rows = checkpoints.iter().map(|checkpoint| {
            let json = serde_json::to_string(checkpoint).unwrap_or_default();
            let data = compressed_cell(redactor.clean(&json).as_str());
            (checkpoint.number, checkpoint.interactions, data)
        });
        let rows: Vec<(u32, u64, Value)> = rows.collect();
        self.write(move |tx, _| replace(tx, &name, revision, &rows))
    }

    /// Returns the checkpoints of a session in order.
    pub fn checkpoints(&self, session: &SessionId) -> Result<Vec<Checkpoint>> {
        let sql = "SELECT c.data FROM checkpoints c JOIN sessions s ON s.id = c.session
            WHERE s.name = ?1 ORDER BY c.number";
        self.read(|connection| {
            let rows: Vec<Option<String>> =
                query_all(connection, sql, [session.as_str()], |row| {
                    Ok(cell_text(row.get_ref(0)?))
                })?;
            let parse = |json: String| serde_json::from_str(&json).ok();
            Ok(rows.into_iter().flatten().filter_map(parse).collect())
        })
    }

    /// Returns the files of a session, in the order of their first touch.
    pub fn session_touches(&self, session: &SessionId) -> Result<SessionTouches> {
        let touches = self.query_touches("s.name = ?1", session.as_str(), i64::MAX, 1)?;
        Ok(touches.into_iter().next().map_or_else(
            || SessionTouches {
                branch: None,
                files: Vec::new(),
            },
            |(_, touches)| touches,
        ))
    }

    /// Returns the files of the latest sessions of a workspace that had started before a time.
    pub fn workspace_touches(
        &self,
        workspace: &str,
        before: Timestamp,
        sessions_max: usize,
    ) -> Result<Vec<(SessionId, SessionTouches)>> {
        let limit = i64::try_from(sessions_max).unwrap_or(i64::MAX);
        self.query_touches("w.key = ?1", workspace, before.as_millisecond(), limit)
    }

    fn query_touches(
        &self,
        condition: &str,
        value: &str,
        before: i64,
        sessions_max: i64,
    ) -> Result<Vec<(SessionId, SessionTouches)>> {
        // Few sessions are read by their records; many by one pass over the index of paths, which
        // holds all that is needed. A call and its result have the same path, so the call is
        // counted; a change is its own row.
        let join = if sessions_max == 1 {
            "s CROSS JOIN records r ON"
        } else {
            "s ON"
        };
        let first = if sessions_max == 1 {
            ""
        } else {
            "records r INDEXED BY records_by_path CROSS JOIN"
        };
        let sql = format!(
            "SELECT s.name, s.branch, s.cwd, r.path, max(sum(r.kind = ?4), sum(r.kind = ?5)),
                sum(r.kind = ?5), min(r.at), max(r.at)
             FROM {first} (SELECT s.id, s.name, s.branch, s.cwd, coalesce(s.started, 0) AS started
                   FROM sessions s LEFT JOIN workspaces w ON w.id = s.workspace
                   WHERE {condition} AND coalesce(s.started, 0) < ?2 AND s.records > 0
                   ORDER BY started DESC, s.id LIMIT ?3) {join} r.session = s.id
             WHERE r.path IS NOT NULL AND r.at IS NOT NULL AND r.kind IN (?4, ?5, ?6)
             GROUP BY s.id, r.path ORDER BY s.started DESC, s.id, min(r.at), r.path"
        );
        let kinds = [
            RecordKind::ToolUse,
            RecordKind::Artifact,
            RecordKind::ToolResult,
        ];
        let [call, change, result] = kinds.map(|kind| kind as i64);
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let values = params![value, before, sessions_max, call, change, result];
            let mut rows = statement.query(values)?;
            let mut sessions: Vec<(SessionId, SessionTouches)> = Vec::new();
            while let Some(row) = rows.next()? {
                let name: String = row.get(0)?;
                if sessions.last().is_none_or(|(id, _)| id.as_str() != name) {
                    let touches = SessionTouches {
                        branch: row.get(1)?,
                        files: Vec::new(),
                    };
                    sessions.push((SessionId::new(name), touches));
                }
                let cwd: Option<String> = row.get(2)?;
                let path: String = row.get(3)?;
                let times = (
                    timestamp_from_millis(row.get(6)?),
                    timestamp_from_millis(row.get(7)?),
                );
                let (Some((_, touches)), (Some(first), Some(last))) = (sessions.last_mut(), times)
                else {
                    continue;
                };
                touches.files.push(TouchedFile {
                    path: relative_path(&path, cwd.as_deref()).to_owned(),
                    touches: row.get::<_, u32>(4)?.max(1),
                    edits: row.get(5)?,
                    first,
                    last,
                });
            }
            Ok(merge_equal_paths(sessions))
        })
    }
}

/// Returns a path relative to the session's folder, so that clones of a repository agree.
pub fn relative_path<'a>(path: &'a str, cwd: Option<&str>) -> &'a str {
    let below = cwd.and_then(|cwd| path.strip_prefix(cwd)?.strip_prefix('/'));
    below.unwrap_or(path)
}

/// Joins the touches of a file that a session named by two paths.
fn merge_equal_paths(
    sessions: Vec<(SessionId, SessionTouches)>,
) -> Vec<(SessionId, SessionTouches)> {
    let merge = |(id, touches): (SessionId, SessionTouches)| {
        let mut positions: BTreeMap<String, usize> = BTreeMap::new();
        let mut files: Vec<TouchedFile> = Vec::new();
        for file in touches.files {
            match positions.get(&file.path) {
                Some(position) => {
                    let known = &mut files[*position];
                    known.touches += file.touches;
                    known.edits += file.edits;
                    known.last = known.last.max(file.last);
                }
                None => {
                    positions.insert(file.path.clone(), files.len());
                    files.push(file);
                }
            }
        }
        (id, SessionTouches { files, ..touches })
    };
    sessions.into_iter().map(merge).collect()
}

fn replace(
    tx: &Transaction<'_>,
    session: &SessionId,
    revision: i64,
    rows: &[(u32, u64, Value)],
) -> Result<bool> {
    let sql = "SELECT id FROM sessions WHERE name = ?1 AND revision = ?2";
    let ids: Vec<i64> = query_all(tx, sql, params![session.as_str(), revision], |row| {
        row.get(0)
    })?;
    let Some(id) = ids.first().copied() else {
        return Ok(false);
    };
    delete_checkpoints(tx, id)?;
    let mut insert = tx.prepare_cached(
        "INSERT INTO checkpoints (session, number, interaction, revision, data)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for (number, interaction, data) in rows {
        insert.execute(params![id, number, interaction, revision, data])?;
    }
    Ok(true)
}

/// Deletes the checkpoints of a session, which are made again of the records that are left, and the
/// cards of its workspace.
pub(crate) fn forget_session(tx: &Transaction<'_>, session: i64) -> Result<()> {
    cards::forget_session(tx, session)?;
    delete_checkpoints(tx, session)
}

fn delete_checkpoints(tx: &Transaction<'_>, session: i64) -> Result<()> {
    tx.prepare_cached("DELETE FROM checkpoints WHERE session = ?1")?
        .execute([session])?;
    Ok(())
}
