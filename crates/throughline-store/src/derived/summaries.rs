//! Running summaries of sessions: a row for each, and the file `summary.md` with the text.
//!
//! The file is replaced inside the transaction that writes the row, by the holder of the session's
//! lease. So it is always the complete old or new text, and never that of a process whose lease was
//! taken over. A crash between the two leaves a file that is newer than its row, which only makes a
//! compaction keep more messages.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use memory::{MessageId, SessionId, SessionKind, Tokens, Usage};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use crate::Store;
use crate::columns::columns;
use crate::derived::leases::{self, Lease};
use crate::derived::model_calls;
use crate::error::{Error, Result};
use crate::files;
use crate::hex;
use crate::ingest::writer::CommitMode;
use crate::query::query_all;
use crate::records::sessions::{SessionRef, timestamp_from_millis};
use crate::records::{self, StoredRecord};
use crate::texts::reader::TextReader;
use redact::{CleanString, Redactor, Secret, SessionSecrets};

/// The folder of all summaries, in the folder of the store.
const SUMMARY_FOLDER: &str = "memory";
const SUMMARY_FILE: &str = "summary.md";
/// How much of a session's id is visible in the name of its folder.
const ID_CHARS_SHOWN: usize = 48;
/// How many earlier extractions are recorded per session.
const EXTRACTIONS_MAX: u64 = 50;

/// What the store knows about a summary besides its text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SummaryInfo {
    /// How often the summary was written; 0 when it was not written yet.
    pub version: u64,
    pub method: Option<SummaryMethod>,
    pub made: Option<Timestamp>,
    /// The last message that the summary covers and after which the conversation can be cut.
    pub last: Option<MessageId>,
    /// The size of the session when the summary was written, and the number of its tool calls.
    pub tokens: Tokens,
    pub tool_calls: u64,
    pub progress: SummaryProgress,
}

memory::named_enum! {
    /// How a summary was written.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum SummaryMethod {
        /// By the built-in extractor, without a model.
        Embedded = "embedded",
        Model = "model",
    }
}

/// How far a session was processed, and the state of the extractor there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SummaryProgress {
    pub state: Option<String>,
    pub position: SessionPosition,
}

/// A position in a session: its last record so far, and the number of records up to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionPosition {
    pub records: u64,
    pub line: u64,
    pub ordinal: u32,
}

/// A summary with its text.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredSummary {
    pub text: String,
    pub path: PathBuf,
    pub info: SummaryInfo,
}

/// A new summary, and how it was made.
#[derive(Clone, Debug)]
pub struct NewSummary {
    pub text: String,
    pub method: SummaryMethod,
    pub at: Timestamp,
    /// `None` keeps the stored value.
    pub last: Option<MessageId>,
    pub tokens: Tokens,
    pub tool_calls: u64,
    pub usage: Usage,
    pub duration_ms: u64,
    /// The thresholds in force: tokens for the first summary, then tokens and tool calls for the
    /// next.
    pub thresholds: [u64; 3],
}

/// The outcome of writing a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryWrite {
    Written {
        version: u64,
    },
    /// Another process took the lease over; the old summary stays.
    LeaseLost,
}

impl Store {
    /// Returns the path of a session's summary. The id comes from a log, so unsafe characters are
    /// replaced.
    pub fn summary_path(&self, session: &SessionId) -> PathBuf {
        summary_file_path(self.folder(), session.as_str())
    }

    /// Returns the summary of a session, if there is one.
    pub fn summary(&self, session: &SessionId) -> Result<Option<StoredSummary>> {
        let Some(info) = self.summary_info(session)?.filter(|info| info.version > 0) else {
            return Ok(None);
        };
        let path = self.summary_path(session);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(StoredSummary { text, path, info })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io(path)(error)),
        }
    }

    /// Returns what the store knows about a session's summary, written or not.
    pub fn summary_info(&self, session: &SessionId) -> Result<Option<SummaryInfo>> {
        self.read(|connection| {
            Ok(connection
                .prepare_cached(&format!(
                    "SELECT {} FROM summaries m JOIN sessions s ON s.id = m.session
                     WHERE s.name = ?1",
                    col::SQL
                ))?
                .query_row([session.as_str()], read_summary_info)
                .optional()?)
        })
    }

    /// Returns how many records a session got since it was last processed; `None` for an unknown
    /// session.
    pub fn unsummarized_records(&self, session: &SessionId) -> Result<Option<u64>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT max(s.records - coalesce(m.folded, 0), 0)
                 FROM sessions s LEFT JOIN summaries m ON m.session = s.id WHERE s.name = ?1",
            )?;
            Ok(statement
                .query_row([session.as_str()], |row| row.get(0))
                .optional()?)
        })
    }

    /// Returns a session's kind and title.
    pub fn session_kind_and_title(
        &self,
        session: &SessionId,
    ) -> Result<Option<(SessionKind, Option<String>)>> {
        self.read(|connection| {
            let mut statement =
                connection.prepare_cached("SELECT kind, title FROM sessions WHERE name = ?1")?;
            let row = |row: &Row<'_>| {
                let kind: String = row.get(0)?;
                Ok((
                    SessionKind::from_name(&kind).unwrap_or_default(),
                    row.get(1)?,
                ))
            };
            Ok(statement.query_row([session.as_str()], row).optional()?)
        })
    }

    /// Lists sessions with activity since a time that have changed since they were last processed,
    /// the latest first, without subagents.
    pub fn sessions_to_summarize(&self, since: Timestamp, limit: usize) -> Result<Vec<SessionId>> {
        self.read(|connection| {
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            query_all(
                connection,
                "SELECT s.name FROM sessions s LEFT JOIN summaries m ON m.session = s.id
                 WHERE s.kind <> 'subagent' AND s.records > 0
                   AND coalesce(s.ended, s.started) >= ?1
                   AND (m.session IS NULL OR m.looked <> s.records)
                 ORDER BY coalesce(s.ended, s.started) DESC, s.name LIMIT ?2",
                params![since.as_millisecond(), limit],
                |row| Ok(SessionId::new(row.get::<_, String>(0)?)),
            )
        })
    }

    /// Calls `each` with the records after a position, in the order of the log. Returns `false`
    /// without calling it when the records before the position have changed.
    pub fn each_record_after(
        &self,
        session: &SessionId,
        position: SessionPosition,
        mut each: impl FnMut(StoredRecord),
    ) -> Result<bool> {
        let sql = records::select_records(
            "WHERE s.name = ?1 AND (r.line, r.ordinal) > (?2, ?3)
             ORDER BY r.line, r.ordinal, r.row",
        );
        self.read(|connection| {
            if position.records > 0
                && count_records_up_to(connection, session, position)? != position.records
            {
                return Ok(false);
            }
            // Lines count from 1, so that no record lies before the first position.
            let from = if position.records == 0 {
                -1
            } else {
                i64::try_from(position.line).unwrap_or(i64::MAX)
            };
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query(params![session.as_str(), from, position.ordinal])?;
            let texts = TextReader::default();
            while let Some(row) = rows.next()? {
                each(records::read_record(connection, row, &texts)?);
            }
            Ok(true)
        })
    }

    /// Stores how far a session was processed.
    pub fn save_summary_progress(
        &self,
        session: &SessionId,
        progress: &SummaryProgress,
    ) -> Result<()> {
        let state = progress
            .state
            .as_deref()
            .map(|text| self.clean_session_text(session, text))
            .transpose()?;
        let (session, position) = (session.clone(), progress.position);
        self.write(move |tx, _| {
            let Some(number) = leases::session_number(tx, &session)? else {
                return Ok(());
            };
            tx.prepare_cached(
                "INSERT INTO summaries (session, looked, state, folded, line, ordinal)
                 SELECT id, records, ?2, ?3, ?4, ?5 FROM sessions WHERE id = ?1
                 ON CONFLICT (session) DO UPDATE SET looked = excluded.looked,
                    state = excluded.state, folded = excluded.folded, line = excluded.line,
                    ordinal = excluded.ordinal",
            )?
            .execute(params![
                number,
                state.as_ref().map(CleanString::as_str),
                position.records,
                position.line,
                position.ordinal
            ])?;
            Ok(())
        })
    }

    /// Replaces the summary of a session, if the caller still holds the lease.
    pub fn write_summary(&self, lease: &Lease, new: &NewSummary) -> Result<SummaryWrite> {
        let text = self.clean_session_text(&lease.session, &new.text)?;
        let path = self.summary_path(&lease.session);
        // The text is written before the transaction, which only renames the file: a slow disk
        // must not hold up the writer thread.
        let temp_path = temp_file_path(&path, lease.holder)?;
        files::write_private_file(&temp_path, text.as_str().as_bytes())?;
        let (lease, new) = (lease.clone(), new.clone());
        let last = new
            .last
            .as_ref()
            .map(|id| self.redactor().clean(id.as_str()).into_owned());
        let moved = (temp_path.clone(), path);
        let ticket = self
            .writer()
            .submit(1, CommitMode::Immediate, move |tx, _| {
                if !leases::is_held(tx, &lease)? {
                    return Ok(SummaryWrite::LeaseLost);
                }
                let version = upsert_summary(tx, lease.number, &new, last.as_ref())?;
                replace(&moved.0, &moved.1)?;
                Ok(SummaryWrite::Written { version })
            });
        let outcome = ticket.wait();
        if !matches!(outcome, Ok(SummaryWrite::Written { .. })) {
            files::remove_if_exists(&temp_path)?;
        }
        outcome
    }

    /// Removes the summary of a session with its file.
    pub fn remove_summary(&self, session: &SessionId) -> Result<()> {
        let session = session.clone();
        let path = self.summary_path(&session);
        self.write(move |tx, _| {
            if let Some(number) = leases::session_number(tx, &session)? {
                forget_session(tx, number)?;
            }
            Ok(())
        })?;
        files::remove_dir_if_exists(path.parent().unwrap_or(&path))
    }

    /// Removes the summaries of all sessions with their files, and returns how many there were. An
    /// encrypted store must have none, because the files are plain text.
    pub fn remove_summaries(&self) -> Result<usize> {
        let sessions: Vec<String> = self.read(|connection| {
            query_all(
                connection,
                "SELECT s.name FROM summaries m JOIN sessions s ON s.id = m.session
                 WHERE m.version > 0",
                [],
                |row| row.get(0),
            )
        })?;
        for session in &sessions {
            self.remove_summary(&SessionId::new(session.as_str()))?;
        }
        Ok(sessions.len())
    }

    fn folder(&self) -> &Path {
        self.path().parent().unwrap_or(Path::new("."))
    }

    /// Redacts a text with the secrets that its session has shown.
    fn clean_session_text(&self, session: &SessionId, text: &str) -> Result<CleanString> {
        let mut seen = SessionSecrets::from_fingerprints(self.fingerprints(session)?);
        Ok(self
            .redactor()
            .clean_in_session(text, &mut seen)
            .into_owned())
    }
}

/// Deletes the rows of a session's summary. The caller removes the file.
pub(crate) fn forget_session(tx: &Transaction<'_>, session: i64) -> Result<()> {
    for table in ["leases", "summaries", "extractions"] {
        tx.execute(
            &format!("DELETE FROM {table} WHERE session = ?1"),
            [session],
        )?;
    }
    model_calls::forget_session(tx, session)
}

/// Removes values that were recognised as secrets from a summary.
pub(crate) fn scrub(
    tx: &Transaction<'_>,
    redactor: &Redactor,
    session: SessionRef,
    fresh: &[Secret],
) -> Result<()> {
    let holds = |text: &str| {
        fresh
            .iter()
            .any(|secret| text.contains(secret.value.as_str()))
    };
    let clean = |text: &str| {
        redactor
            .clean_in_session(text, &mut redactor.session_with(fresh))
            .into_owned()
    };
    let found: Option<(String, Option<String>)> = tx
        .prepare_cached(
            "SELECT s.name, m.state FROM summaries m JOIN sessions s ON s.id = m.session
             WHERE m.session = ?1",
        )?
        .query_row([session.id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((name, state)) = found else {
        return Ok(());
    };
    if let Some(state) = state.filter(|state| holds(state)) {
        tx.prepare_cached("UPDATE summaries SET state = ?2 WHERE session = ?1")?
            .execute(params![session.id, clean(&state).as_str()])?;
    }
    let path = summary_path_beside(tx, &name);
    if let Ok(text) = fs::read_to_string(&path)
        && holds(&text)
    {
        replace_summary_file(&path, clean(&text).as_str())?;
    }
    Ok(())
}

/// Returns the path of a summary beside the database of a connection.
pub(crate) fn summary_path_beside(connection: &Connection, session: &str) -> PathBuf {
    let database = connection.path().map(PathBuf::from).unwrap_or_default();
    summary_file_path(database.parent().unwrap_or(Path::new(".")), session)
}

/// Replaces the file of a summary by a redacted text.
pub(crate) fn replace_summary_file(path: &Path, text: &str) -> Result<()> {
    if let Some(folder) = path.parent() {
        files::create_private_dir(folder)?;
    }
    let temp_path = path.with_extension("md.put");
    files::remove_if_exists(&temp_path)?;
    files::write_private_file(&temp_path, text.as_bytes())?;
    replace(&temp_path, path)
}

columns! {
    mod col {
        version: "m.version",
        way: "m.way",
        made: "m.made",
        last_message: "m.last_message",
        tokens: "m.tokens",
        tool_calls: "m.tool_calls",
        state: "m.state",
        folded: "m.folded",
        line: "m.line",
        ordinal: "m.ordinal",
    }
}

fn read_summary_info(row: &Row<'_>) -> rusqlite::Result<SummaryInfo> {
    let way: Option<String> = row.get(col::way)?;
    Ok(SummaryInfo {
        version: row.get(col::version)?,
        method: way.map(|way| {
            if way == "model" {
                SummaryMethod::Model
            } else {
                SummaryMethod::Embedded
            }
        }),
        made: timestamp_from_millis(row.get(col::made)?),
        last: row
            .get::<_, Option<String>>(col::last_message)?
            .map(MessageId::new),
        tokens: Tokens(row.get(col::tokens)?),
        tool_calls: row.get(col::tool_calls)?,
        progress: SummaryProgress {
            state: row.get(col::state)?,
            position: SessionPosition {
                records: row.get(col::folded)?,
                line: row.get(col::line)?,
                ordinal: row.get(col::ordinal)?,
            },
        },
    })
}

fn count_records_up_to(
    connection: &Connection,
    session: &SessionId,
    mark: SessionPosition,
) -> Result<u64> {
    Ok(connection
        .prepare_cached(
            "SELECT count(*) FROM records r JOIN sessions s ON s.id = r.session
             WHERE s.name = ?1 AND (r.line, r.ordinal) <= (?2, ?3)",
        )?
        .query_row(params![session.as_str(), mark.line, mark.ordinal], |row| {
            row.get(0)
        })?)
}

/// Writes the row of a new summary and the record of its extraction, and returns its version.
fn upsert_summary(
    tx: &Transaction<'_>,
    session: i64,
    new: &NewSummary,
    last: Option<&CleanString>,
) -> Result<u64> {
    let version = tx
        .prepare_cached(
            "INSERT INTO summaries (session, looked, version, way, made, last_message, tokens,
                tool_calls) VALUES (?1, 0, 1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (session) DO UPDATE SET version = version + 1, way = excluded.way,
                made = excluded.made, last_message = coalesce(excluded.last_message, last_message),
                tokens = excluded.tokens, tool_calls = excluded.tool_calls
             RETURNING version",
        )?
        .query_row(
            params![
                session,
                new.method.name(),
                new.at.as_millisecond(),
                last.map(CleanString::as_str),
                new.tokens.0,
                new.tool_calls
            ],
            |row| row.get::<_, u64>(0),
        )?;
    let [start_tokens, more_tokens, more_calls] = new.thresholds;
    tx.prepare_cached(
        "INSERT OR REPLACE INTO extractions (session, version, at, way, input, output, cache_read,
            cache_write, duration_ms, start_tokens, more_tokens, more_calls)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?
    .execute(params![
        session,
        version,
        new.at.as_millisecond(),
        new.method.name(),
        new.usage.input,
        new.usage.output,
        new.usage.cache_read,
        new.usage.cache_write,
        new.duration_ms,
        start_tokens,
        more_tokens,
        more_calls
    ])?;
    tx.prepare_cached("DELETE FROM extractions WHERE session = ?1 AND version <= ?2")?
        .execute(params![session, version.saturating_sub(EXTRACTIONS_MAX)])?;
    Ok(version)
}

fn summary_file_path(folder: &Path, session: &str) -> PathBuf {
    let hash = blake3::hash(session.as_bytes()).to_hex();
    let harmless = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    let shown: String = session.chars().take(ID_CHARS_SHOWN).map(harmless).collect();
    let name = format!("{shown}-{}", &hash[..16]);
    folder.join(SUMMARY_FOLDER).join(name).join(SUMMARY_FILE)
}

/// Returns the path at which the new text is written before it replaces the file, and creates its
/// folder.
fn temp_file_path(path: &Path, holder: [u8; 16]) -> Result<PathBuf> {
    if let Some(folder) = path.parent() {
        files::create_private_dir(folder)?;
    }
    remove_stale_temp_files(path)?;
    Ok(path.with_extension(format!("md.{}", hex::encode(&holder[..4]))))
}

/// Removes the temporary files of writers that died. A slow writer loses nothing, because its lease
/// was taken over.
fn remove_stale_temp_files(path: &Path) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    for entry in fs::read_dir(folder).map_err(Error::io(folder))? {
        let other = entry.map_err(Error::io(folder))?.path();
        if other != path && other.is_file() {
            files::remove_if_exists(&other)?;
        }
    }
    Ok(())
}

/// Renames a file into place. It is called again after a rollback, and then finds nothing to do.
fn replace(temp_path: &Path, path: &Path) -> Result<()> {
    match fs::rename(temp_path, path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && path.exists() => Ok(()),
        renamed => renamed.map_err(Error::io(path)),
    }
}
