//! Stored records that change or go: their rows, and the texts that the rows refer to.

use std::collections::BTreeMap;

use jiff::Timestamp;
use memory::{RecordId, RecordKind};
use rusqlite::{Connection, Transaction, params};

use super::indexing::{add_to_index, remove_from_index, remove_from_index_as};
use super::insert::duplicate_rows;
use super::kind_from_number;
use super::sessions::{SessionRef, session_ref, timestamp_from_millis};
use crate::columns::columns;
use crate::error::{Error, Result};
use crate::index::IndexRowEntry;
use crate::index::terms::IndexDocument;
use crate::ingest::sanitizer::record_checksum;
use crate::ingest::writer::WriterState;
use crate::texts::reader::{SCATTERED_BLOCKS, TextReader};
use crate::texts::{blocks, bodies};
use redact::CleanString;

/// A record that is about to change or go.
pub(crate) struct RecordRow {
    pub row: i64,
    pub id: RecordId,
    pub session: i64,
    pub kind: RecordKind,
    pub copy: bool,
    pub at: Option<Timestamp>,
    pub tool: Option<String>,
    pub path: Option<String>,
    pub speaker: Option<String>,
    pub tags: Option<String>,
    pub body: Option<Vec<u8>>,
    /// Block, start and size.
    pub block: Option<(i64, usize, usize)>,
    /// Empty where the text is missing or unreadable.
    pub text: String,
    pub is_lost: bool,
}

columns! {
    mod col {
        row: "r.row",
        id: "r.id",
        session: "r.session",
        kind: "r.kind",
        copy: "r.copy",
        content: "r.content",
        block: "r.block",
        start: "r.start",
        size: "r.size",
        body: "r.body",
        at: "r.at",
        tool: "r.tool",
        path: "r.path",
        speaker: "iif(json_type(r.metadata, '$.speaker') = 'text',
            r.metadata ->> '$.speaker', NULL)",
        tags: "r.tags",
    }
}

impl RecordRow {
    pub(super) fn terms(&self, text: &str) -> String {
        IndexDocument {
            kind: self.kind,
            text,
            tool: self.tool.as_deref(),
            path: self.path.as_deref(),
            speaker: self.speaker.as_deref(),
            tags: self.tags.as_deref(),
        }
        .terms()
    }

    pub(super) fn entry<'t>(
        &self,
        session: SessionRef,
        text: &str,
        terms: &'t str,
    ) -> IndexRowEntry<'t> {
        IndexRowEntry {
            row: self.row,
            session,
            kind: self.kind,
            at: self.at,
            size_bytes: text.len(),
            terms,
        }
    }
}

/// Returns rows with their texts. Fails where a text is missing or unreadable.
pub(crate) fn rows_where(
    connection: &Connection,
    condition: &str,
    values: &[&dyn rusqlite::ToSql],
) -> Result<Vec<RecordRow>> {
    read_rows(connection, condition, values, LostText::Fail)
}

/// Returns rows with their texts, and an empty text where it is missing or unreadable. For work
/// that a damaged record must not stop, such as removing it.
pub(crate) fn rows_where_lossy(
    connection: &Connection,
    condition: &str,
    values: &[&dyn rusqlite::ToSql],
) -> Result<Vec<RecordRow>> {
    read_rows(connection, condition, values, LostText::Empty)
}

/// What an unreadable text means for the caller.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LostText {
    Fail,
    Empty,
}

fn read_rows(
    connection: &Connection,
    condition: &str,
    values: &[&dyn rusqlite::ToSql],
    lost_text: LostText,
) -> Result<Vec<RecordRow>> {
    let sql = format!("SELECT {} FROM records r WHERE {condition}", col::SQL);
    let texts = TextReader::with_blocks(SCATTERED_BLOCKS);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(values)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let block: Option<i64> = row.get(col::block)?;
        let (start, size): (Option<usize>, usize) = (row.get(col::start)?, row.get(col::size)?);
        let text = match texts.read(connection, row, col::content) {
            Err(Error::MissingText(_)) if lost_text == LostText::Empty => None,
            text => Some(text?),
        };
        all.push(RecordRow {
            row: row.get(col::row)?,
            id: RecordId::from_bytes(row.get(col::id)?),
            session: row.get(col::session)?,
            kind: kind_from_number(row.get(col::kind)?),
            copy: row.get(col::copy)?,
            is_lost: text.is_none(),
            text: text.unwrap_or_default(),
            at: timestamp_from_millis(row.get(col::at)?),
            tool: row.get(col::tool)?,
            path: row.get(col::path)?,
            speaker: row.get(col::speaker)?,
            tags: row.get(col::tags)?,
            block: block.zip(start).map(|(block, start)| (block, start, size)),
            body: row.get(col::body)?,
        });
    }
    Ok(all)
}

pub(crate) fn is_stored(connection: &Connection, id: RecordId) -> Result<bool> {
    Ok(connection
        .prepare_cached("SELECT 1 FROM records WHERE id = ?1")?
        .exists([id.as_bytes()])?)
}

/// Deletes one record. The next of its copies takes its place in the index.
pub(crate) fn delete_record(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    stored: &RecordRow,
) -> Result<()> {
    remove_from_index(tx, writer, stored)?;
    tx.prepare_cached("DELETE FROM records WHERE row = ?1")?
        .execute([stored.row])?;
    release_record_text(tx, stored)?;
    if !stored.copy {
        promote_copy(tx, writer, stored.id)?;
    }
    Ok(())
}

/// Marks a record as detached: its source no longer holds it.
pub(crate) fn mark_detached(tx: &Transaction<'_>, id: RecordId) -> Result<()> {
    tx.prepare_cached("UPDATE records SET detached = 1 WHERE id = ?1")?
        .execute([id.as_bytes()])?;
    Ok(())
}

/// Removes a text that its row no longer refers to.
fn release_record_text(tx: &Transaction<'_>, stored: &RecordRow) -> Result<()> {
    if let Some((block, start, size)) = stored.block {
        blocks::blank_text(tx, block, start, size)?;
    }
    match &stored.body {
        Some(body) => bodies::delete_unused_body(tx, body),
        None => Ok(()),
    }
}

/// Makes the first remaining copy of a deleted record the one that search finds.
pub(crate) fn promote_copy(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    id: RecordId,
) -> Result<()> {
    let Some((row, session)) = duplicate_rows(tx, id)?.into_iter().next() else {
        return Ok(());
    };
    tx.prepare_cached("UPDATE records SET copy = 0 WHERE row = ?1")?
        .execute([row])?;
    let Some(session) = session_ref(tx, session)? else {
        return Ok(());
    };
    for stored in rows_where(tx, "row = ?1", &[&row])? {
        add_to_index(tx, writer, session, &stored, &stored.text)?;
    }
    Ok(())
}

/// Replaces the text of a record, in which a secret was found.
pub(crate) fn replace_record_text(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    session: SessionRef,
    stored: &RecordRow,
    text: &CleanString,
) -> Result<()> {
    let hash = blake3::hash(text.as_str().as_bytes());
    tx.prepare_cached(
        "UPDATE records SET content = ?2, body = NULL, block = NULL, start = NULL, size = ?3,
            checksum = ?4 WHERE row = ?1",
    )?
    .execute(params![
        stored.row,
        text.as_str(),
        text.as_str().len(),
        record_checksum(stored.id, hash.as_bytes())
    ])?;
    release_record_text(tx, stored)?;
    if !stored.copy {
        remove_from_index_as(tx, writer, session, stored)?;
        add_to_index(tx, writer, session, stored, text.as_str())?;
    }
    Ok(())
}

/// Deletes records with their texts. Promoting their copies is left to the caller.
pub(crate) fn delete_records(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    all: &[&RecordRow],
) -> Result<()> {
    let mut places: BTreeMap<i64, Vec<(usize, usize)>> = BTreeMap::new();
    for stored in all {
        tx.prepare_cached("DELETE FROM records WHERE row = ?1")?
            .execute([stored.row])?;
        if let Some((block, start, size)) = stored.block {
            places.entry(block).or_default().push((start, size));
        }
        if let Some(body) = &stored.body {
            bodies::delete_unused_body(tx, body)?;
        }
        remove_from_index(tx, writer, stored)?;
    }
    for (block, places) in &places {
        blocks::blank_texts(tx, *block, places)?;
    }
    Ok(())
}

/// Counts the records of a session again, with those that were evicted.
pub(crate) fn recount_session(tx: &Transaction<'_>, session: i64) -> Result<()> {
    tx.prepare_cached(
        "WITH gone AS (SELECT * FROM evictions WHERE session = ?1)
         UPDATE sessions SET (records, prompts, tool_calls, errors) = (
            SELECT count(*) + coalesce((SELECT records FROM gone), 0),
                   coalesce(sum(kind = ?2), 0) + coalesce((SELECT prompts FROM gone), 0),
                   coalesce(sum(kind = ?3), 0) + coalesce((SELECT tool_calls FROM gone), 0),
                   coalesce(sum(kind = ?4), 0) + coalesce((SELECT errors FROM gone), 0)
            FROM records WHERE session = ?1),
            revision = revision + 1
         WHERE id = ?1",
    )?
    .execute(params![
        session,
        RecordKind::Prompt as i64,
        RecordKind::ToolUse as i64,
        RecordKind::Error as i64
    ])?;
    Ok(())
}

/// New records of a session, as its row counts them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RecordCounts {
    records: i64,
    prompts: i64,
    tool_calls: i64,
    errors: i64,
}

impl RecordCounts {
    pub(crate) fn add(&mut self, kind: RecordKind) {
        self.records += 1;
        self.prompts += i64::from(kind == RecordKind::Prompt);
        self.tool_calls += i64::from(kind == RecordKind::ToolUse);
        self.errors += i64::from(kind == RecordKind::Error);
    }
}

/// Adds new records to the counts of a session.
pub(crate) fn add_to_counts(
    tx: &Transaction<'_>,
    session: i64,
    added: &RecordCounts,
) -> Result<()> {
    tx.prepare_cached(
        "UPDATE sessions SET records = records + ?2, prompts = prompts + ?3,
            tool_calls = tool_calls + ?4, errors = errors + ?5, revision = revision + 1
         WHERE id = ?1",
    )?
    .execute(params![
        session, added.records, added.prompts, added.tool_calls, added.errors
    ])?;
    Ok(())
}
