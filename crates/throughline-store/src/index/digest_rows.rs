//! Digests in the search index: an evicted session is found by its title and its digest.
//!
//! Such a row shares its number with the rows of `records`, so that search weighs it like any
//! other. Its text is not stored: it is put together from the session's title and digest whenever
//! it is needed. Code that changes one of these takes the row out of the index before ([`unindex`])
//! and puts it back after ([`index`]).

use std::collections::BTreeSet;

use jiff::Timestamp;
use memory::{Digest, FactId, RecordId, RecordKind, SessionId, Trust};
use rusqlite::{Connection, OptionalExtension, Transaction};

use crate::error::Result;
use crate::index::terms::IndexDocument;
use crate::index::{IndexRowEntry, PendingIndex};
use crate::ingest::writer::WriterState;
use crate::records::sessions::{SessionRef, session_ref, timestamp_from_millis};
use crate::{Query, Store, records};

/// How much of a digest is searched.
const DIGEST_TEXT_BYTES_MAX: usize = 32 << 10;
/// The record type that a digest is indexed and shown as.
pub(crate) const DIGEST_KIND: RecordKind = RecordKind::Summary;

/// A title and a digest as search sees them.
#[derive(Debug)]
pub(crate) struct DigestRow {
    pub row: i64,
    pub id: RecordId,
    pub session: SessionId,
    pub title: Option<String>,
    pub workspace: Option<String>,
    pub at: Option<Timestamp>,
    pub trust: Trust,
    pub text: String,
}

/// What search knows of a session whose records were evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestText {
    /// Its title and what its digest says, a line for each statement.
    pub text: String,
    pub sensitive: bool,
}

impl Store {
    /// Returns what search knows of a session whose records were evicted.
    pub fn digest_text(&self, session: &SessionId) -> Result<Option<DigestText>> {
        let sql = "SELECT d.row FROM digest_rows d JOIN sessions s ON s.id = d.session
                   WHERE s.name = ?1";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let row: Option<i64> = statement
                .query_row([session.as_str()], |row| row.get(0))
                .optional()?;
            let digest = match row {
                Some(row) => read_digest_row(connection, row)?,
                None => None,
            };
            Ok(digest.map(|digest| DigestText {
                sensitive: self.redactor().clean(&digest.text).sensitive(),
                text: digest.text,
            }))
        })
    }

    /// Returns a session from which a fact was taken and of which no record is left.
    pub fn digest_only_source(&self, fact: FactId) -> Result<Option<SessionId>> {
        let sql = "SELECT s.name FROM fact_sources x JOIN sessions s ON s.id = x.session
                   JOIN evictions e ON e.session = s.id
                   WHERE x.fact = ?1 AND e.records >= s.records ORDER BY s.id LIMIT 1";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let name: Option<String> = statement
                .query_row([fact.as_bytes()], |row| row.get(0))
                .optional()?;
            Ok(name.map(SessionId::new))
        })
    }

    /// Returns the evicted session whose digest has this id in search.
    pub fn session_of_digest(&self, id: RecordId) -> Result<Option<SessionId>> {
        let sql = "SELECT s.name FROM digest_rows d JOIN sessions s ON s.id = d.session
                   WHERE d.id = ?1";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let name: Option<String> = statement
                .query_row([id.as_bytes()], |row| row.get(0))
                .optional()?;
            Ok(name.map(SessionId::new))
        })
    }
}

/// Counts the sessions of a query's workspace of which no record is left.
pub(crate) fn count_digest_only(connection: &Connection, query: &Query) -> Result<u64> {
    let sql = "
        SELECT count(*) FROM evictions e JOIN sessions s ON s.id = e.session
        LEFT JOIN workspaces w ON w.id = s.workspace
        WHERE e.records >= s.records AND (?1 IS NULL OR w.key = ?1)
          AND (?2 IS NULL OR instr(w.key, ?2) OR EXISTS (
            SELECT 1 FROM roots r WHERE r.workspace = w.id AND instr(r.path, ?2)))";
    let mut statement = connection.prepare_cached(sql)?;
    let values = (&query.workspace_key, &query.workspace);
    Ok(statement.query_row(values, |row| row.get(0))?)
}

/// Reads one row, if it stands for a digest.
pub(crate) fn read_digest_row(connection: &Connection, row: i64) -> Result<Option<DigestRow>> {
    let sql = "
        SELECT d.row, d.id, s.name, s.title, w.key, coalesce(s.ended, s.started), g.trust, g.data
        FROM digest_rows d JOIN sessions s ON s.id = d.session
        LEFT JOIN workspaces w ON w.id = s.workspace
        LEFT JOIN digests g ON g.session = s.id WHERE d.row = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement
        .query_row([row], |row| {
            let (title, json): (Option<String>, Option<String>) = (row.get(3)?, row.get(7)?);
            Ok(DigestRow {
                row: row.get(0)?,
                id: RecordId::from_bytes(row.get(1)?),
                session: SessionId::new(row.get::<_, String>(2)?),
                text: searchable_text(title.as_deref(), json.as_deref()),
                title,
                workspace: row.get(4)?,
                at: timestamp_from_millis(row.get(5)?),
                trust: records::trust_from_number(
                    row.get::<_, Option<i64>>(6)?.unwrap_or_default(),
                ),
            })
        })
        .optional()?)
}

/// Returns the sessions whose digests these rows stand for.
pub(crate) fn sessions_of_rows(connection: &Connection, rows: &[i64]) -> Result<BTreeSet<i64>> {
    let sql = "SELECT session FROM digest_rows WHERE row IN (SELECT value FROM json_each(?1))";
    let mut statement = connection.prepare_cached(sql)?;
    let list = serde_json::to_string(rows).unwrap_or_default();
    let sessions = statement.query_map([list], |row| row.get(0))?;
    Ok(sessions.collect::<Result<_, _>>()?)
}

/// Takes the digest of a session out of the index, and says whether it was there.
pub(crate) fn unindex(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    session: i64,
) -> Result<bool> {
    match session_ref(tx, session)? {
        Some(known) => unindex_as(tx, writer, known),
        None => Ok(false),
    }
}

/// The same for a session that was in another workspace when it was indexed.
pub(crate) fn unindex_as(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    session: SessionRef,
) -> Result<bool> {
    let Some(row) = row_of(tx, session.id)? else {
        return Ok(false);
    };
    if let Some(digest) = read_digest_row(tx, row)? {
        let terms = digest_terms(&digest.text);
        writer
            .index
            .remove(tx, &digest_entry(session, &digest, &terms))?;
    }
    Ok(true)
}

/// Puts the digest of an evicted session into the index. It must not be there.
pub(crate) fn index(tx: &Transaction<'_>, writer: &mut WriterState, session: i64) -> Result<()> {
    queue_digest(tx, &mut writer.index, session)
}

/// Takes the digest of a session out of the index for good.
pub(crate) fn remove(tx: &Transaction<'_>, writer: &mut WriterState, session: i64) -> Result<()> {
    if unindex(tx, writer, session)? {
        delete_row(tx, session)?;
    }
    Ok(())
}

/// Puts the digests of all evicted sessions into an index that holds none of them.
pub(crate) fn index_all(tx: &Transaction<'_>, waiting: &mut PendingIndex) -> Result<()> {
    tx.execute_batch(
        "DELETE FROM digest_rows WHERE session NOT IN (SELECT session FROM evictions)",
    )?;
    for session in query_sessions(tx, "SELECT session FROM evictions ORDER BY 1")? {
        queue_digest(tx, waiting, session)?;
    }
    Ok(())
}

/// Puts the digests into the index of a store that was written before digests were searched.
pub(crate) fn index_missing(tx: &Transaction<'_>) -> Result<()> {
    let sql = "SELECT session FROM evictions
               WHERE session NOT IN (SELECT session FROM digest_rows) ORDER BY 1";
    let mut waiting = PendingIndex::default();
    for session in query_sessions(tx, sql)? {
        queue_digest(tx, &mut waiting, session)?;
    }
    waiting.flush(tx)
}

fn queue_digest(tx: &Transaction<'_>, waiting: &mut PendingIndex, session: i64) -> Result<()> {
    let Some(known) = session_ref(tx, session)? else {
        return Ok(());
    };
    let row = match row_of(tx, session)? {
        Some(row) => row,
        None => match insert_digest_row(tx, session)? {
            Some(row) => row,
            None => return Ok(()),
        },
    };
    match read_digest_row(tx, row)? {
        Some(digest) if !digest.text.is_empty() => {
            let terms = digest_terms(&digest.text);
            waiting.add(tx, &digest_entry(known, &digest, &terms))
        }
        // It has neither title nor digest, so there is nothing to find it by.
        _ => delete_row(tx, session),
    }
}

fn delete_row(tx: &Transaction<'_>, session: i64) -> Result<()> {
    tx.prepare_cached("DELETE FROM digest_rows WHERE session = ?1")?
        .execute([session])?;
    Ok(())
}

/// Gives an evicted session a row; any other gets none. Records and digests share their numbers.
fn insert_digest_row(tx: &Transaction<'_>, session: i64) -> Result<Option<i64>> {
    let sql = "SELECT s.name FROM evictions e JOIN sessions s ON s.id = e.session
               WHERE e.session = ?1";
    let name: Option<String> = tx
        .prepare_cached(sql)?
        .query_row([session], |row| row.get(0))
        .optional()?;
    let Some(name) = name else {
        return Ok(None);
    };
    let sql = "
        INSERT INTO digest_rows (session, id, row) VALUES (?1, ?2,
            (SELECT max(coalesce((SELECT max(row) FROM records), 0),
                        coalesce((SELECT max(row) FROM digest_rows), 0)) + 1))
        RETURNING row";
    let row = tx
        .prepare_cached(sql)?
        .query_row(rusqlite::params![session, digest_record_id(&name)], |row| {
            row.get(0)
        })?;
    Ok(Some(row))
}

fn row_of(connection: &Connection, session: i64) -> Result<Option<i64>> {
    Ok(connection
        .prepare_cached("SELECT row FROM digest_rows WHERE session = ?1")?
        .query_row([session], |row| row.get(0))
        .optional()?)
}

fn query_sessions(connection: &Connection, sql: &str) -> Result<Vec<i64>> {
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Returns the id of a session's digest in search. It depends on the session's name alone.
fn digest_record_id(session: &str) -> [u8; 16] {
    let hash = blake3::hash(format!("digest\n{session}").as_bytes());
    let mut id = [0; 16];
    id.copy_from_slice(&hash.as_bytes()[..16]);
    id
}

fn digest_entry<'t>(session: SessionRef, digest: &DigestRow, terms: &'t str) -> IndexRowEntry<'t> {
    IndexRowEntry {
        row: digest.row,
        session,
        kind: DIGEST_KIND,
        at: digest.at,
        size_bytes: digest.text.len(),
        terms,
    }
}

fn digest_terms(text: &str) -> String {
    IndexDocument {
        kind: DIGEST_KIND,
        text,
        tool: None,
        path: None,
        speaker: None,
    }
    .terms()
}

/// Returns what a title and a digest say, a line for each statement.
fn searchable_text(title: Option<&str>, json: Option<&str>) -> String {
    let digest: Digest = json
        .and_then(|json| serde_json::from_str(json).ok())
        .unwrap_or_default();
    let mut lines: Vec<&str> = title.into_iter().collect();
    lines.extend(digest.asked.items.iter().map(String::as_str));
    lines.extend(digest.said.as_deref());
    lines.extend(digest.corrections.items.iter().map(String::as_str));
    lines.extend(digest.done.items.iter().map(|step| step.what.as_str()));
    lines.extend(digest.errors.items.iter().map(|error| error.text.as_str()));
    lines.extend(digest.retries.items.iter().map(|retry| retry.what.as_str()));
    // A title is often the first prompt.
    lines.dedup();
    let mut text = lines.join("\n");
    text.truncate(text.floor_char_boundary(DIGEST_TEXT_BYTES_MAX));
    text
}
