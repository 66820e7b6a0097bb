//! Touches: the sessions that read or changed a file.

use jiff::Timestamp;
use memory::{RecordId, RecordKind, SessionId};
use rusqlite::params;
use serde::Serialize;

use crate::Store;
use crate::error::Result;
use crate::records::sessions::timestamp_from_millis;

/// What one session did with one file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileTouch {
    pub session: SessionId,
    pub title: Option<String>,
    pub workspace: Option<String>,
    pub path: String,
    /// How often the session changed the file, as far as its log shows.
    pub edits: u64,
    /// How often the session named the file without changing it.
    pub mentions: u64,
    pub first: Option<Timestamp>,
    pub last: Option<Timestamp>,
    /// The latest change, or the latest mention where there is none.
    pub record: RecordId,
}

impl Store {
    /// Returns the sessions that touched a file: those that changed it first, then the latest.
    /// `path` matches as a whole or as a suffix, so that worktrees and other clones count.
    pub fn touches(
        &self,
        path: &str,
        workspace: Option<&str>,
        limit: usize,
    ) -> Result<Vec<FileTouch>> {
        let path = path.replace('\\', "/");
        let path = path.trim_start_matches("./").trim_end_matches('/');
        // The inner query scans an index of paths, and only matching rows are fetched.
        let sql = "
            SELECT s.name, s.title, w.key, max(t.path), sum(t.kind = ?2), sum(t.kind <> ?2),
                min(t.at), max(t.at), t.session
            FROM (SELECT path, session, kind, at FROM records INDEXED BY records_by_path
                  WHERE path IS NOT NULL AND (path = ?1 OR substr(path, -length(?1) - 1) = '/' || ?1
                    OR replace(substr(path, -length(?1) - 1), '\\', '/') = '/' || ?1)) t
            JOIN sessions s ON s.id = t.session LEFT JOIN workspaces w ON w.id = s.workspace
            WHERE ?3 IS NULL OR w.key = ?3
            GROUP BY t.session
            ORDER BY sum(t.kind = ?2) > 0 DESC, coalesce(max(t.at), s.ended, s.started) DESC, s.name
            LIMIT ?4";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let mut rows =
                statement.query(params![path, RecordKind::Artifact as i64, workspace, limit])?;
            let mut touches = Vec::new();
            while let Some(row) = rows.next()? {
                let path: String = row.get(3)?;
                let session: i64 = row.get(8)?;
                let record = connection
                    .prepare_cached(
                        "SELECT id FROM records WHERE path = ?1 AND session = ?2
                         ORDER BY kind = ?3 DESC, line DESC, ordinal DESC LIMIT 1",
                    )?
                    .query_row(params![path, session, RecordKind::Artifact as i64], |row| {
                        row.get(0)
                    })?;
                touches.push(FileTouch {
                    session: SessionId::new(row.get::<_, String>(0)?),
                    title: row.get(1)?,
                    workspace: row.get(2)?,
                    path,
                    edits: row.get(4)?,
                    mentions: row.get(5)?,
                    first: timestamp_from_millis(row.get(6)?),
                    last: timestamp_from_millis(row.get(7)?),
                    record: RecordId::from_bytes(record),
                });
            }
            Ok(touches)
        })
    }
}
