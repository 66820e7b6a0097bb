//! Digests in the search index: an evicted session is found by its title and its digest.
//!
//! Such a row takes its number from the same sequence as `records`, so that search treats it like a
//! record. Its text is not stored but composed from the title and the digest of the session. Code
//! that changes one of them removes the row from the index first ([`unindex`]) and adds it again
//! afterwards ([`index`]).

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

/// How much of a digest is indexed.
const DIGEST_TEXT_BYTES_MAX: usize = 32 << 10;
/// The record kind that a digest is indexed and shown as.
pub(crate) const DIGEST_KIND: RecordKind = RecordKind::Summary;

/// The title and the digest of a session as one searchable row.
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

/// The searchable text of a session whose records were evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestText {
    /// The title and the statements of the digest, one per line.
    pub text: String,
    pub sensitive: bool,
}

impl Store {
    /// Returns the searchable text of a session whose records were evicted.
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

    /// Returns a session that a fact was taken from and that has no records left.
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

/// Counts the sessions in a query's workspace that have no records left.
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

/// Reads a row, if it is one of a digest.
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

/// Returns the sessions whose digests have these rows.
pub(crate) fn sessions_of_rows(connection: &Connection, rows: &[i64]) -> Result<BTreeSet<i64>> {
    let sql = "SELECT session FROM digest_rows WHERE row IN (SELECT value FROM json_each(?1))";
    let mut statement = connection.prepare_cached(sql)?;
    let list = serde_json::to_string(rows).unwrap_or_default();
    let sessions = statement.query_map([list], |row| row.get(0))?;
    Ok(sessions.collect::<Result<_, _>>()?)
}

/// Removes the digest of a session from the index, and says whether it was there.
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

/// Removes a digest that was indexed when its session was in another workspace.
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

/// Adds the digest of an evicted session to the index. It must not be indexed yet.
pub(crate) fn index(tx: &Transaction<'_>, writer: &mut WriterState, session: i64) -> Result<()> {
    queue_digest(tx, &mut writer.index, session)
}

/// Removes the digest of a session from the index, with its row.
pub(crate) fn remove(tx: &Transaction<'_>, writer: &mut WriterState, session: i64) -> Result<()> {
    if unindex(tx, writer, session)? {
        delete_row(tx, session)?;
    }
    Ok(())
}

/// Adds the digests of all evicted sessions to an empty index.
pub(crate) fn index_all(tx: &Transaction<'_>, waiting: &mut PendingIndex) -> Result<()> {
    tx.execute_batch(
        "DELETE FROM digest_rows WHERE session NOT IN (SELECT session FROM evictions)",
    )?;
    for session in query_sessions(tx, "SELECT session FROM evictions ORDER BY 1")? {
        queue_digest(tx, waiting, session)?;
    }
    Ok(())
}

/// Adds the digests of a store that was written before digests were indexed.
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
        // Without a title and a digest there is nothing to find the session by.
        _ => delete_row(tx, session),
    }
}

fn delete_row(tx: &Transaction<'_>, session: i64) -> Result<()> {
    tx.prepare_cached("DELETE FROM digest_rows WHERE session = ?1")?
        .execute([session])?;
    Ok(())
}

/// Inserts a row for an evicted session; any other session gets none.
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

/// Returns the record id of a session's digest. It depends only on the session's name.
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
        tags: None,
    }
    .terms()
}

/// Returns the title and the statements of a digest, one per line.
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
    // The title is often the first prompt, which the digest repeats.
    lines.dedup();
    let mut text = lines.join("\n");
    text.truncate(text.floor_char_boundary(DIGEST_TEXT_BYTES_MAX));
    text
}
