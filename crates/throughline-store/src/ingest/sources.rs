//! Sources: the agents' files, how far each was read, and how a file is recognised.

use std::collections::HashMap;

use memory::{Flavor, SessionId};
use rusqlite::{OptionalExtension, Row, Transaction, params};

use crate::columns::columns;
use crate::error::Result;
use crate::ingest::writer::CommitMode;
use crate::lifecycle::forget::{LineNumbers, Needles};
use crate::{Store, Ticket};
use redact::CleanString;

/// How many skipped lines are stored with their number; the rest are only counted.
const SKIPS_KEPT_MAX: usize = 100;

/// A source with this many sessions is a database or a history of prompts, not a copy of a log.
const SESSIONS_OF_A_LOG_MAX: i64 = 16;

/// How far a file was read, and what it looked like then.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Cursor {
    /// A hash of the path. The identity of a file must not depend on the redactor, which changes
    /// paths.
    pub key: [u8; 16],
    pub identity: SourceIdentity,
    /// Everything before this byte was read.
    pub offset: u64,
    pub line: u64,
    /// Hashes of the first and the last block before `offset`. A file that still has both has
    /// grown; any other file was rewritten.
    pub head: [u8; 16],
    pub tail: [u8; 16],
    /// Everything before this byte is in the archive.
    pub archived: u64,
    /// No entry was left incomplete at the end of the file.
    pub complete: bool,
    pub gone: bool,
    pub state: Option<String>,
}

/// The file system's identity of a file. While it stays the same, the file is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SourceIdentity {
    pub device: u64,
    pub inode: u64,
    pub size: u64,
    pub mtime_ns: i64,
    pub ctime_ns: i64,
}

/// The head that no file has: a source with it is read from its start.
pub const UNREAD_HEAD: [u8; 16] = [0xff; 16];

/// Stands for the path of a source that may not be captured. A source that was captured before
/// keeps its path.
pub const NOT_CAPTURED: &str = "(not captured)";

/// Stands for the path of a session whose log cannot be read. Its records come from the payloads of
/// hooks, until the store gets them from the log.
pub const HOOK_PAYLOADS: &str = "(hook payloads)";

/// A redacted cursor, written together with the batch before it.
#[derive(Debug)]
pub(crate) struct CleanCursor {
    pub cursor: Cursor,
    pub flavor: Flavor,
    pub path: CleanString,
    pub state: Option<CleanString>,
    pub skipped: Vec<(u64, CleanString)>,
    pub unknown: Vec<(CleanString, u64)>,
}

/// A source as `doctor` reports it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct SourceReport {
    pub flavor: Flavor,
    pub path: String,
    pub size_bytes: u64,
    pub read_bytes: u64,
    pub gone: bool,
    pub skipped: u64,
}

impl Store {
    /// Returns the cursors of all sources by key.
    pub fn cursors(&self) -> Result<HashMap<[u8; 16], Cursor>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&select_cursors(""))?;
            let rows = statement.query_map([], read_cursor)?;
            rows.map(|cursor| Ok(cursor.map(|cursor| (cursor.key, cursor))?))
                .collect()
        })
    }

    /// Returns the cursors of these sources by key.
    pub fn cursors_of(&self, keys: &[[u8; 16]]) -> Result<HashMap<[u8; 16], Cursor>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&select_cursors("WHERE key = ?1"))?;
            let mut cursors = HashMap::new();
            for key in keys {
                let found = statement.query_row([key], read_cursor).optional()?;
                cursors.extend(found.map(|cursor| (*key, cursor)));
            }
            Ok(cursors)
        })
    }

    /// Returns the path of a session's log; the one that changed last where there are several.
    pub fn session_log_path(&self, session: &SessionId) -> Result<Option<String>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT f.path FROM source_sessions x JOIN sources f ON f.id = x.source
                 WHERE x.session = (SELECT id FROM sessions WHERE name = ?1) AND NOT f.gone
                    AND f.path <> ?2
                 ORDER BY f.mtime DESC, f.id LIMIT 1",
            )?;
            Ok(statement
                .query_row([session.as_str(), HOOK_PAYLOADS], |row| row.get(0))
                .optional()?)
        })
    }

    /// Returns the paths of the logs that hold a session, the one that was read first in front.
    pub fn session_log_paths(&self, session: &SessionId) -> Result<Vec<String>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT f.path FROM source_sessions x JOIN sources f ON f.id = x.source
                 WHERE x.session = (SELECT id FROM sessions WHERE name = ?1) AND NOT f.gone
                    AND f.path <> ?2
                 ORDER BY f.id",
            )?;
            let paths = statement.query_map([session.as_str(), HOOK_PAYLOADS], |row| row.get(0))?;
            Ok(paths.collect::<Result<_, _>>()?)
        })
    }

    /// Returns the path of a source.
    pub fn source_path(&self, key: [u8; 16]) -> Result<Option<String>> {
        self.read(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT path FROM sources WHERE key = ?1")?;
            Ok(statement.query_row([key], |row| row.get(0)).optional()?)
        })
    }

    /// Marks sources whose files no longer exist. Their records stay.
    pub fn mark_sources_gone(&self, keys: Vec<[u8; 16]>) -> Ticket<()> {
        self.writer()
            .submit(keys.len(), CommitMode::Immediate, move |tx, _| {
                let mut gone = Vec::with_capacity(keys.len());
                for key in &keys {
                    let sql = "UPDATE sources SET gone = 1 WHERE key = ?1 RETURNING id";
                    let id: Option<i64> = tx
                        .prepare_cached(sql)?
                        .query_row([key], |row| row.get(0))
                        .optional()?;
                    gone.extend(id);
                }
                gone.into_iter().try_for_each(|id| reread_copies(tx, id))
            })
    }

    /// Lists the sources that are gone or had lines skipped.
    pub fn sources_with_problems(&self) -> Result<Vec<SourceReport>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT flavor, path, size, offset, gone, skipped FROM sources
                 WHERE (gone OR skipped > 0) AND NOT forgotten ORDER BY path",
            )?;
            let rows = statement.query_map([], |row| {
                let flavor: String = row.get(0)?;
                Ok(SourceReport {
                    flavor: Flavor::from_name(&flavor).unwrap_or(Flavor::Claude),
                    path: row.get(1)?,
                    size_bytes: row.get(2)?,
                    read_bytes: row.get(3)?,
                    gone: row.get(4)?,
                    skipped: row.get(5)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Returns how often each unknown kind of entry occurred, by agent.
    pub fn unknown_entry_kinds(&self) -> Result<Vec<(String, String, u64)>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT s.flavor, d.kind, sum(d.count) FROM drift d
                 JOIN sources s ON s.id = d.source
                 GROUP BY s.flavor, d.kind ORDER BY 3 DESC, 1, 2",
            )?;
            let rows =
                statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

columns! {
    mod col {
        key: "key",
        device: "device",
        inode: "inode",
        size: "size",
        mtime: "mtime",
        ctime: "ctime",
        offset: "offset",
        line: "line",
        head: "head",
        tail: "tail",
        archived: "archived",
        settled: "settled",
        gone: "gone",
        state: "state",
        forgotten: "forgotten",
    }
}

/// Returns the query for cursors with a condition.
fn select_cursors(condition: &str) -> String {
    format!("SELECT {} FROM sources {condition}", col::SQL)
}

fn read_cursor(row: &Row<'_>) -> rusqlite::Result<Cursor> {
    let cursor = read_stored_cursor(row)?;
    if !row.get::<_, bool>(col::forgotten)? {
        return Ok(cursor);
    }
    // Nothing is stored of a file that holds only forgotten sessions. If it changes, it is read
    // from its start, so that its session is recognised as forgotten.
    Ok(Cursor {
        key: cursor.key,
        identity: cursor.identity,
        complete: cursor.complete,
        gone: cursor.gone,
        head: UNREAD_HEAD,
        ..Cursor::default()
    })
}

fn read_stored_cursor(row: &Row<'_>) -> rusqlite::Result<Cursor> {
    Ok(Cursor {
        key: row.get(col::key)?,
        identity: SourceIdentity {
            device: row.get::<_, i64>(col::device)?.cast_unsigned(),
            inode: row.get::<_, i64>(col::inode)?.cast_unsigned(),
            size: row.get(col::size)?,
            mtime_ns: row.get(col::mtime)?,
            ctime_ns: row.get(col::ctime)?,
        },
        offset: row.get(col::offset)?,
        line: row.get(col::line)?,
        head: row.get(col::head)?,
        tail: row.get(col::tail)?,
        archived: row.get(col::archived)?,
        complete: row.get(col::settled)?,
        gone: row.get(col::gone)?,
        state: row.get(col::state)?,
    })
}

/// Returns the number of a source, inserting its row when there is none.
pub(crate) fn find_or_insert_source(
    tx: &Transaction<'_>,
    clean: &CleanCursor,
    is_hidden: bool,
) -> Result<i64> {
    let path = if is_hidden {
        HIDDEN_PATH
    } else {
        clean.path.as_str()
    };
    Ok(tx
        .prepare_cached(
            "INSERT INTO sources (key, flavor, path, device, inode, size, mtime, ctime, offset,
                line, head, tail, settled)
             VALUES (?1, ?2, ?3, 0, 0, 0, 0, 0, 0, 0, x'', x'', 0)
             ON CONFLICT (key) DO UPDATE
                SET path = CASE excluded.path WHEN ?4 THEN path ELSE excluded.path END
             RETURNING id",
        )?
        .query_row(
            params![clean.cursor.key, clean.flavor.name(), path, NOT_CAPTURED],
            |row| row.get(0),
        )?)
}

/// Returns the number of an imported log. It is a source of its own, because the file at the same
/// path on this machine is another one.
pub(crate) fn find_or_insert_imported(
    tx: &Transaction<'_>,
    flavor: Flavor,
    path: &CleanString,
) -> Result<i64> {
    let name = format!("import\n{}\n{}", flavor.name(), path.as_str());
    Ok(tx
        .prepare_cached(
            "INSERT INTO sources (key, flavor, path, device, inode, size, mtime, ctime, offset,
                line, head, tail, settled, gone)
             VALUES (?1, ?2, ?3, 0, 0, 0, 0, 0, 0, 0, zeroblob(16), zeroblob(16), 1, 1)
             ON CONFLICT (key) DO UPDATE SET path = excluded.path RETURNING id",
        )?
        .query_row(
            params![
                &blake3::hash(name.as_bytes()).as_bytes()[..16],
                flavor.name(),
                path.as_str()
            ],
            |row| row.get(0),
        )?)
}

/// Returns the number of a log that was read on this machine.
pub(crate) fn find_swept_source(
    tx: &Transaction<'_>,
    flavor: Flavor,
    path: &CleanString,
) -> Result<Option<i64>> {
    let sql = "SELECT id FROM sources WHERE flavor = ?1 AND path = ?2 AND offset > 0 LIMIT 1";
    Ok(tx
        .prepare_cached(sql)?
        .query_row([flavor.name(), path.as_str()], |row| row.get(0))
        .optional()?)
}

/// Makes the next sweep read the other sources of a vanished source's sessions again.
fn reread_copies(tx: &Transaction<'_>, id: i64) -> Result<()> {
    let mut statement =
        tx.prepare_cached("SELECT session FROM source_sessions WHERE source = ?1")?;
    let sessions: Vec<i64> = statement
        .query_map([id], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for session in sessions {
        reread_others(tx, session, id)?;
    }
    Ok(())
}

/// Makes the next sweep read the other sources of a session from their start, because they may hold
/// records that `source` has lost. Returns whether there are any.
pub(crate) fn reread_others(tx: &Transaction<'_>, session: i64, source: i64) -> Result<bool> {
    let mut statement = tx.prepare_cached(
        "SELECT f.id FROM source_sessions x JOIN sources f ON f.id = x.source
         WHERE x.session = ?1 AND f.id <> ?2 AND f.offset > 0 AND NOT f.gone AND NOT f.forgotten
            AND (SELECT count(*) FROM (
                SELECT 1 FROM source_sessions y WHERE y.source = f.id LIMIT ?3)) < ?3",
    )?;
    let others: Vec<i64> = statement
        .query_map([session, source, SESSIONS_OF_A_LOG_MAX], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for other in &others {
        reset_cursor(tx, *other)?;
    }
    Ok(!others.is_empty())
}

/// Returns a source that a session is linked to.
pub(crate) fn source_of_session(tx: &Transaction<'_>, session: i64) -> Result<Option<i64>> {
    let sql = "SELECT source FROM source_sessions WHERE session = ?1 ORDER BY source LIMIT 1";
    Ok(tx
        .prepare_cached(sql)?
        .query_row([session], |row| row.get(0))
        .optional()?)
}

/// Says whether the stored cursor of a source is this one; `None` for a source that was never read.
pub(crate) fn cursor_matches(
    tx: &Transaction<'_>,
    key: &[u8; 16],
    expected: Option<&Cursor>,
) -> Result<bool> {
    let mut statement = tx.prepare_cached(&select_cursors("WHERE key = ?1"))?;
    let found = statement
        .query_row([key], |row| {
            Ok((read_stored_cursor(row)?, row.get(col::forgotten)?))
        })
        .optional()?;
    let found = match found {
        // Nothing of a hidden source is written, so no other process can be overtaken.
        Some((_, true)) => return Ok(true),
        Some((cursor, _)) => Some(cursor),
        None => None,
    };
    // `state` changes by redaction and `gone` by the search for vanished files; neither says that
    // another process has read the source.
    let place = |cursor: &Cursor| Cursor {
        state: None,
        gone: false,
        ..cursor.clone()
    };
    Ok(found.as_ref().map(place) == expected.map(place))
}

/// Moves the cursor of a source.
pub(crate) fn advance_cursor(tx: &Transaction<'_>, id: i64, clean: &CleanCursor) -> Result<()> {
    let cursor = &clean.cursor;
    tx.prepare_cached(
        "UPDATE sources SET device = ?2, inode = ?3, size = ?4, mtime = ?5, ctime = ?6, offset = ?7,
            line = ?8, head = ?9, tail = ?10, settled = ?11, gone = ?15, state = ?12,
            skipped = skipped + ?13, archived = ?14
         WHERE id = ?1",
    )?
    .execute(params![
        id,
        cursor.identity.device.cast_signed(),
        cursor.identity.inode.cast_signed(),
        cursor.identity.size,
        cursor.identity.mtime_ns,
        cursor.identity.ctime_ns,
        cursor.offset,
        cursor.line,
        cursor.head,
        cursor.tail,
        cursor.complete,
        clean.state.as_ref().map(CleanString::as_str),
        clean.skipped.len(),
        cursor.archived,
        cursor.gone,
    ])?;
    for (line, why) in clean.skipped.iter().take(SKIPS_KEPT_MAX) {
        tx.prepare_cached("INSERT OR IGNORE INTO skips (source, line, why) VALUES (?1, ?2, ?3)")?
            .execute(params![id, line, why.as_str()])?;
    }
    for (kind, count) in &clean.unknown {
        tx.prepare_cached(
            "INSERT INTO drift (source, kind, count) VALUES (?1, ?2, ?3)
             ON CONFLICT (source, kind) DO UPDATE SET count = count + excluded.count",
        )?
        .execute(params![id, kind.as_str(), count])?;
    }
    Ok(())
}

/// Stands for the path of a source that holds only forgotten sessions.
const HIDDEN_PATH: &str = "(forgotten)";

/// Removes the path and the position of a source whose last session was forgotten.
pub(crate) fn hide(tx: &Transaction<'_>, id: i64) -> Result<()> {
    reset_diagnostics(tx, id)?;
    tx.prepare_cached("UPDATE sources SET path = ?2, state = NULL, forgotten = 1 WHERE id = ?1")?
        .execute(params![id, HIDDEN_PATH])?;
    tx.prepare_cached("DELETE FROM source_sessions WHERE source = ?1")?
        .execute([id])?;
    Ok(())
}

/// Says whether a source held only forgotten sessions when it was last read.
pub(crate) fn is_hidden(tx: &Transaction<'_>, key: &[u8; 16]) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sources WHERE key = ?1 AND forgotten)";
    Ok(tx.prepare_cached(sql)?.query_row([key], |row| row.get(0))?)
}

/// Says whether a source belongs to another session, or its log is archived.
pub(crate) fn is_used_elsewhere(tx: &Transaction<'_>, key: &[u8; 16]) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sources f WHERE key = ?1 AND (
        EXISTS (SELECT 1 FROM source_sessions WHERE source = f.id)
        OR EXISTS (SELECT 1 FROM raw WHERE source = f.id)))";
    Ok(tx.prepare_cached(sql)?.query_row([key], |row| row.get(0))?)
}

pub(crate) fn unhide(tx: &Transaction<'_>, id: i64) -> Result<()> {
    tx.prepare_cached("UPDATE sources SET forgotten = 0 WHERE id = ?1 AND forgotten")?
        .execute([id])?;
    Ok(())
}

/// Blanks forgotten texts in the state that an adapter stored.
pub(crate) fn blank_state(tx: &Transaction<'_>, id: i64, needles: &Needles) -> Result<()> {
    let sql = "SELECT state FROM sources WHERE id = ?1";
    let state: Option<String> = tx.prepare_cached(sql)?.query_row([id], |row| row.get(0))?;
    if let Some(state) = state.and_then(|state| needles.blank(&state, &LineNumbers::new())) {
        tx.prepare_cached("UPDATE sources SET state = ?2 WHERE id = ?1")?
            .execute(params![id, state])?;
    }
    Ok(())
}

/// Deletes the skipped lines and unknown kinds of a source that is read again from its start.
pub(crate) fn reset_diagnostics(tx: &Transaction<'_>, id: i64) -> Result<()> {
    tx.prepare_cached("UPDATE sources SET skipped = 0 WHERE id = ?1")?
        .execute([id])?;
    tx.prepare_cached("DELETE FROM skips WHERE source = ?1")?
        .execute([id])?;
    tx.prepare_cached("DELETE FROM drift WHERE source = ?1")?
        .execute([id])?;
    Ok(())
}

/// Resets the cursor of a source, so that the next sweep reads it from its start.
pub(crate) fn reset_cursor(tx: &Transaction<'_>, id: i64) -> Result<()> {
    tx.prepare_cached(
        "UPDATE sources SET device = 0, inode = 0, size = 0, mtime = 0, ctime = 0, offset = 0,
            line = 0, head = ?2, tail = zeroblob(16), archived = 0, settled = 0, state = NULL
         WHERE id = ?1",
    )?
    .execute(params![id, UNREAD_HEAD])?;
    Ok(())
}

/// Links a session to a source, and says whether the link is new.
pub(crate) fn link_session(tx: &Transaction<'_>, source: i64, session: i64) -> Result<bool> {
    let linked = tx
        .prepare_cached("INSERT OR IGNORE INTO source_sessions (source, session) VALUES (?1, ?2)")?
        .execute([source, session])?;
    Ok(linked > 0)
}
