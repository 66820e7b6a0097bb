//! Inserting records: new ones, repetitions of stored ones, and those that come back.

use std::collections::BTreeMap;

use jiff::Timestamp;
use memory::RecordId;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use super::REDACTION_VERSION;
use super::indexing::{add_to_index, remove_from_index, unindex_row};
use super::rows::{recount_session, rows_where};
use super::sessions::{SessionRef, find_or_insert_context, last_active};
use crate::columns::columns;
use crate::error::Result;
use crate::index::IndexRowEntry;
use crate::ingest::sanitizer::{CleanRecord, TextPlacement};
use crate::ingest::writer::WriterState;
use crate::query::query_all;
use crate::texts::{blocks, bodies};
use redact::CleanString;

/// Where a record goes: its session, and the source that it was read from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordSource {
    pub session: SessionRef,
    pub source: i64,
    /// New records are stored this many lines behind their line in the log.
    pub line_shift: i64,
}

/// The outcome of [`insert`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Insertion {
    New,
    /// The record was stored before.
    AlreadyStored,
    /// The record was stored before, and its source had lost it.
    Reattached,
    /// Retention has evicted the record, so it is not stored again.
    Evicted,
}

/// Writes a record unless it is stored already.
pub(crate) fn insert(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    target: RecordSource,
    record: &CleanRecord,
    blocks: &mut BatchBlocks<'_>,
) -> Result<Insertion> {
    let session = target.session;
    let duplicates = find_duplicates(tx, record.id)?;
    let renamed = find_by_alias(tx, record.id)?;
    let same = duplicates.iter().find(|other| other.id == record.id);
    if let Some(same) = same.or(renamed.as_ref()) {
        return update_stored(tx, writer, target, record, same);
    }
    // A log is often read again after its session was evicted; without this check, every sweep
    // would undo retention.
    if writer.evicted.is_evicted(tx, session.id, record.id)? {
        return Ok(Insertion::Evicted);
    }
    // A fork repeats the records of its parent. The session that started first has the original,
    // and the logs may be read in any order, so a new record can turn a stored one into a copy.
    let original = duplicates.iter().find(|other| !other.is_copy);
    let is_copy = match original {
        Some(original) => !starts_before(tx, session.id, original.session)?,
        None => false,
    };
    writer.stored_text.add(session.id, record.content.as_str());
    let row = insert_row(tx, writer, target, record, is_copy, blocks)?;
    writer
        .evicted
        .note_return(tx, session.id, record.id, record.kind)?;
    if is_copy {
        return Ok(Insertion::New);
    }
    // A record without a time is indexed under the last time of its session, so that date filters
    // and recency still apply to it.
    let at = match record.at {
        Some(at) => Some(at),
        None => last_active(tx, session.id)?,
    };
    let entry = IndexRowEntry {
        row,
        session,
        kind: record.kind,
        at,
        size_bytes: record.content.as_str().len(),
        terms: &record.terms,
    };
    writer.index.add(tx, &entry)?;
    if let Some(original) = original {
        mark_as_copy(tx, writer, original.row)?;
    }
    Ok(Insertion::New)
}

/// Updates where a stored record is found: a log that was moved, archived or compressed takes its
/// records along.
fn update_stored(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    target: RecordSource,
    record: &CleanRecord,
    stored: &DuplicateRow,
) -> Result<Insertion> {
    let log_line = log_line(record);
    let stored_line = stored.log_line.unwrap_or(stored.line);
    if stored.source != target.source || stored.detached || stored_line != log_line {
        tx.prepare_cached(
            "UPDATE records SET source = ?2, detached = 0, log_line = nullif(?3, line)
             WHERE row = ?1",
        )?
        .execute([stored.row, target.source, log_line])?;
    }
    if stored.session != target.session.id {
        writer.stored_text.forget(target.session.id);
        move_to_session(tx, writer, stored, target.session)?;
    }
    Ok(if stored.detached {
        Insertion::Reattached
    } else {
        Insertion::AlreadyStored
    })
}

/// Writes the row of a new record and returns its number. Digests of evicted sessions take their
/// numbers from the same sequence, because both are rows of the search index.
fn insert_row(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    target: RecordSource,
    record: &CleanRecord,
    is_copy: bool,
    blocks: &mut BatchBlocks<'_>,
) -> Result<i64> {
    let context = find_or_insert_context(tx, writer, &record.context)?;
    let (mut content, mut block, mut body) = (None, None, None);
    match &record.placement {
        TextPlacement::Row => content = Some(record.content.as_str()),
        TextPlacement::Block { index, start } => {
            block = Some((blocks.block_id(tx, *index)?, *start));
        }
        TextPlacement::Body(text) => {
            bodies::insert(tx, text)?;
            body = Some(text.hash);
        }
    }
    let log_line = log_line(record);
    tx.prepare_cached(
        "INSERT INTO records (id, session, line, ordinal, at, kind, trust, copy, source, context,
            message, tool, path, call, tags, metadata, size, checksum, redaction, content, block,
            start, body, log_line, row)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
            ?19, ?20, ?21, ?22, ?23, nullif(?24, ?3),
            (SELECT max(coalesce((SELECT max(row) FROM records), 0),
                        coalesce((SELECT max(row) FROM digest_rows), 0)) + 1))",
    )?
    .execute(params![
        record.id.as_bytes(),
        target.session.id,
        log_line.saturating_add(target.line_shift),
        record.ordinal,
        record.at.map(Timestamp::as_millisecond),
        record.kind as i64,
        record.trust as i64,
        is_copy,
        target.source,
        context,
        record.message.as_str(),
        record.tool.as_ref().map(CleanString::as_str),
        record.path.as_ref().map(CleanString::as_str),
        record.call.as_ref().map(CleanString::as_str),
        record.tags.as_ref().map(CleanString::as_str),
        record.metadata.as_ref().map(CleanString::as_str),
        record.content.as_str().len(),
        record.checksum,
        REDACTION_VERSION,
        content,
        block.map(|(block, _)| block),
        block.map(|(_, start)| start),
        body,
        log_line,
    ])?;
    Ok(tx.last_insert_rowid())
}

fn log_line(record: &CleanRecord) -> i64 {
    i64::try_from(record.line).unwrap_or(i64::MAX)
}

/// Moves a record to the session that it belongs to. An id contains the name of its session, so a
/// record can only be in another session after a repair that recovered the one without the other.
fn move_to_session(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    record: &DuplicateRow,
    session: SessionRef,
) -> Result<()> {
    let stored = rows_where(tx, "row = ?1 AND copy = 0", &[&record.row])?;
    for stored in &stored {
        remove_from_index(tx, writer, stored)?;
    }
    tx.prepare_cached("UPDATE records SET session = ?2 WHERE row = ?1")?
        .execute([record.row, session.id])?;
    recount_session(tx, record.session)?;
    recount_session(tx, session.id)?;
    for stored in &stored {
        add_to_index(tx, writer, session, stored, &stored.text)?;
    }
    Ok(())
}

/// The compressed blocks of a batch. A block is written with the first record in it.
#[derive(Debug)]
pub(crate) struct BatchBlocks<'a> {
    data: &'a [Vec<u8>],
    ids: Vec<Option<i64>>,
}

impl<'a> BatchBlocks<'a> {
    pub(crate) fn new(data: &'a [Vec<u8>]) -> Self {
        Self {
            data,
            ids: vec![None; data.len()],
        }
    }

    /// Blanks the texts of records that were not written in the blocks that were: a text without a
    /// row could not be forgotten.
    pub(crate) fn blank_unwritten(
        &self,
        tx: &Transaction<'_>,
        unwritten: &[&CleanRecord],
    ) -> Result<()> {
        let mut places: BTreeMap<i64, Vec<(usize, usize)>> = BTreeMap::new();
        for record in unwritten {
            if let TextPlacement::Block { index, start } = record.placement
                && let Some(id) = self.ids[index]
            {
                let size = record.content.as_str().len();
                places.entry(id).or_default().push((start, size));
            }
        }
        for (block, places) in &places {
            blocks::blank_texts(tx, *block, places)?;
        }
        Ok(())
    }

    fn block_id(&mut self, tx: &Transaction<'_>, index: usize) -> Result<i64> {
        if let Some(id) = self.ids[index] {
            return Ok(id);
        }
        let id = blocks::insert(tx, &self.data[index])?;
        self.ids[index] = Some(id);
        Ok(id)
    }
}

/// A stored record with the same content as a new one.
struct DuplicateRow {
    row: i64,
    id: RecordId,
    session: i64,
    source: i64,
    is_copy: bool,
    line: i64,
    log_line: Option<i64>,
    detached: bool,
}

columns! {
    mod col {
        row: "row",
        id: "id",
        session: "session",
        source: "source",
        copy: "copy",
        line: "line",
        log_line: "log_line",
        detached: "detached",
    }
}

impl DuplicateRow {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            row: row.get(col::row)?,
            id: RecordId::from_bytes(row.get(col::id)?),
            session: row.get(col::session)?,
            source: row.get(col::source)?,
            is_copy: row.get(col::copy)?,
            line: row.get(col::line)?,
            log_line: row.get(col::log_line)?,
            detached: row.get(col::detached)?,
        })
    }
}

/// Returns the record with an id, and its repetitions in other sessions.
fn find_duplicates(connection: &Connection, id: RecordId) -> Result<Vec<DuplicateRow>> {
    let (low, high) = id.duplicate_range();
    let sql = format!(
        "SELECT {} FROM records WHERE id BETWEEN ?1 AND ?2 ORDER BY row",
        col::SQL
    );
    query_all(
        connection,
        &sql,
        [low.as_bytes(), high.as_bytes()],
        DuplicateRow::from_row,
    )
}

/// Returns the record whose entry the log has renamed, so that it would get this id today.
fn find_by_alias(connection: &Connection, id: RecordId) -> Result<Option<DuplicateRow>> {
    let sql = format!("SELECT {} FROM records WHERE alias = ?1 LIMIT 1", col::SQL);
    let mut statement = connection.prepare_cached(&sql)?;
    Ok(statement
        .query_row([id.as_bytes()], DuplicateRow::from_row)
        .optional()?)
}

/// Lists the rows of a record and of its repetitions, in the order in which they were stored.
pub(super) fn duplicate_rows(connection: &Connection, id: RecordId) -> Result<Vec<(i64, i64)>> {
    let duplicates = find_duplicates(connection, id)?.into_iter();
    Ok(duplicates.map(|row| (row.row, row.session)).collect())
}

/// Says whether session `a` started before session `b`. The name decides between equal times, so
/// that the answer does not depend on which log was read first.
fn starts_before(connection: &Connection, a: i64, b: i64) -> Result<bool> {
    Ok(connection
        .prepare_cached(
            "SELECT (coalesce(a.started, 9e15), a.name) < (coalesce(b.started, 9e15), b.name)
             FROM sessions a, sessions b WHERE a.id = ?1 AND b.id = ?2",
        )?
        .query_row([a, b], |row| row.get(0))?)
}

/// Marks a record as a repetition and takes it out of the index. Its session's digest must be made
/// again without it.
fn mark_as_copy(tx: &Transaction<'_>, writer: &mut WriterState, row: i64) -> Result<()> {
    unindex_row(tx, writer, row)?;
    tx.prepare_cached("UPDATE records SET copy = 1 WHERE row = ?1")?
        .execute([row])?;
    tx.prepare_cached(
        "UPDATE sessions SET revision = revision + 1
         WHERE id = (SELECT session FROM records WHERE row = ?1)",
    )?
    .execute([row])?;
    Ok(())
}
