//! Records: rows, their texts, and their place in the search index.

pub(crate) mod feed;
pub(crate) mod sessions;
pub(crate) mod steps;
pub(crate) mod timeline;
pub(crate) mod touches;
pub(crate) mod usage;
pub(crate) mod workspaces;

use std::collections::BTreeMap;

use jiff::Timestamp;
use memory::{MessageId, RecordEnvironment, RecordId, RecordKind, SessionId, Trust};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use serde::Serialize;

use crate::Store;
use crate::error::{Error, Result};
use crate::index::IndexRowEntry;
use crate::index::digest_rows;
use crate::index::terms::IndexDocument;
use crate::ingest::sanitizer::{CleanRecord, TextPlacement, record_checksum};
use crate::ingest::writer::WriterState;
use crate::records::sessions::{
    SessionRef, find_or_insert_context, last_active, timestamp_from_millis,
};
use crate::texts::{blocks, bodies};
use redact::CleanString;

/// Counts up with the redactor's rules, so that rows cleaned by older rules can be found.
pub(crate) const REDACTION_VERSION: i64 = 2;

/// Fewer digits of an id name too many.
const PREFIX_DIGITS_MIN: usize = 4;

/// A record as it was stored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StoredRecord {
    pub id: RecordId,
    /// The log's entry it came from, and its place there.
    #[serde(skip)]
    pub message: MessageId,
    #[serde(skip)]
    pub line: u64,
    #[serde(skip)]
    pub ordinal: u32,
    #[serde(rename = "type")]
    pub kind: RecordKind,
    pub at: Option<Timestamp>,
    pub session: SessionId,
    pub workspace: Option<String>,
    pub tool: Option<String>,
    pub path: Option<String>,
    pub call: Option<String>,
    pub tags: Vec<String>,
    pub metadata: serde_json::Map<String, serde_json::Value>,
    pub trust: Trust,
    #[serde(flatten)]
    pub context: RecordEnvironment,
    /// A fork's or a resume's repetition of an earlier record.
    pub copy: bool,
    /// False once the record's log has lost it, or the log itself is gone.
    pub in_source: bool,
    pub content: String,
}

impl Store {
    /// Calls `each` with the records of a session in the order of its log. Nothing is being read while it is
    /// called: however long it takes, nobody has to keep an old state for it.
    pub fn each_record(
        &self,
        session: &SessionId,
        mut each: impl FnMut(StoredRecord),
    ) -> Result<()> {
        let mut after = (-1, -1, -1);
        loop {
            let (part, last) =
                self.read(|connection| read_record_page(connection, session, after))?;
            let is_whole = part.len() < PAGE_RECORDS;
            part.into_iter().for_each(&mut each);
            match last {
                Some(last) if !is_whole => after = last,
                _ => return Ok(()),
            }
        }
    }

    /// Returns the ids that begin with these hexadecimal digits; at most `limit`, and none for fewer
    /// than four digits.
    pub fn records_by_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<RecordId>> {
        let digits = prefix.to_ascii_lowercase();
        let is_id = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !(PREFIX_DIGITS_MIN..=32).contains(&digits.len()) || !is_id(&digits) {
            return Ok(Vec::new());
        }
        let low = digits.clone() + &"0".repeat(32 - digits.len());
        let high = digits.clone() + &"f".repeat(32 - digits.len());
        let (Ok(low), Ok(high)) = (low.parse::<RecordId>(), high.parse::<RecordId>()) else {
            return Ok(Vec::new());
        };
        self.read(|connection| {
            let sql = "SELECT id FROM records WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3";
            let mut statement = connection.prepare_cached(sql)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement
                .query_map(params![low.as_bytes(), high.as_bytes(), limit], |row| {
                    row.get(0)
                })?;
            rows.map(|id| Ok(RecordId::from_bytes(id?))).collect()
        })
    }

    /// Returns the record with an id.
    pub fn read_record(&self, id: RecordId) -> Result<Option<StoredRecord>> {
        let sql = format!("{RECORD_SELECT} WHERE r.id = ?1");
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query([id.as_bytes()])?;
            rows.next()?
                .map(|row| read_record(connection, row))
                .transpose()
        })
    }
}

/// Records of a session that are read in one go.
const PAGE_RECORDS: usize = 500;

/// The place of a record in its session: line, ordinal, row.
type RecordPosition = (i64, i64, i64);

/// Reads the records of a session that follow a place.
fn read_record_page(
    connection: &Connection,
    session: &SessionId,
    after: RecordPosition,
) -> Result<(Vec<StoredRecord>, Option<RecordPosition>)> {
    let sql = format!(
        "{RECORD_SELECT} WHERE s.name = ?1 AND (r.line, r.ordinal, r.row) > (?2, ?3, ?4)
         ORDER BY r.line, r.ordinal, r.row LIMIT {PAGE_RECORDS}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params![session.as_str(), after.0, after.1, after.2])?;
    let mut texts = TextReader::default();
    let (mut part, mut last) = (Vec::new(), None);
    while let Some(row) = rows.next()? {
        last = Some((row.get(22)?, row.get(23)?, row.get(24)?));
        part.push(read_record_cached(connection, row, &mut texts)?);
    }
    Ok((part, last))
}

/// A source that is gone has lost its records, if it was ever read here: one of an import was not.
/// The head of all ones is [`crate::UNREAD`]: the source was to be read again.
pub(crate) const RECORD_SELECT: &str = "
    SELECT r.id, r.kind, r.at, s.name, w.key, r.tool, r.path, r.call, r.tags, r.metadata, r.trust,
           c.cwd, c.branch, c.model, r.copy, r.checksum,
           r.content, r.block, r.start, r.size, r.body, r.message, r.line, r.ordinal, r.row,
           r.detached, f.gone AND (f.offset > 0 OR f.head = x'ffffffffffffffffffffffffffffffff')
    FROM records r
    JOIN sessions s ON s.id = r.session
    LEFT JOIN workspaces w ON w.id = s.workspace
    LEFT JOIN contexts c ON c.id = r.context
    LEFT JOIN sources f ON f.id = r.source";

pub(crate) fn read_record(connection: &Connection, row: &Row<'_>) -> Result<StoredRecord> {
    read_record_cached(connection, row, &mut TextReader::default())
}

/// The same, for one of many that are read in their order.
pub(crate) fn read_record_cached(
    connection: &Connection,
    row: &Row<'_>,
    texts: &mut TextReader,
) -> Result<StoredRecord> {
    let id = RecordId::from_bytes(row.get(0)?);
    let content = texts.read_verified(connection, row, 16, id, row.get(15)?)?;
    let some = |text: Option<String>| text.filter(|text| !text.is_empty());
    let tags: Option<String> = row.get(8)?;
    let metadata: Option<String> = row.get(9)?;
    Ok(StoredRecord {
        id,
        message: MessageId::new(row.get::<_, String>(21)?),
        line: row.get(22)?,
        ordinal: row.get(23)?,
        kind: kind_from_number(row.get(1)?),
        at: timestamp_from_millis(row.get(2)?),
        session: SessionId::new(row.get::<_, String>(3)?),
        workspace: row.get(4)?,
        tool: row.get(5)?,
        path: row.get(6)?,
        call: row.get(7)?,
        tags: tags
            .and_then(|json| serde_json::from_str(&json).ok())
            .unwrap_or_default(),
        metadata: metadata
            .and_then(|json| serde_json::from_str(&json).ok())
            .unwrap_or_default(),
        trust: trust_from_number(row.get(10)?),
        context: RecordEnvironment {
            cwd: some(row.get(11)?),
            branch: some(row.get(12)?),
            model: some(row.get(13)?),
        },
        copy: row.get(14)?,
        in_source: !(row.get(25)? || row.get::<_, Option<bool>>(26)?.unwrap_or_default()),
        content,
    })
}

/// The columns that [`text`] reads.
pub(crate) const TEXT_COLUMNS: &str = "r.content, r.block, r.start, r.size, r.body";

/// Returns a record's text, wherever it is kept. The columns of [`TEXT`] begin at `first`.
pub(crate) fn read_text(connection: &Connection, row: &Row<'_>, first: usize) -> Result<String> {
    TextReader::default().read(connection, row, first)
}

/// Reads texts one after the other. Neighbours lie in the same block, so the last one is kept.
#[derive(Debug, Default)]
pub(crate) struct TextReader {
    block: Option<(i64, Vec<u8>)>,
}

impl TextReader {
    /// Returns a record's text if it matches the checksum. The columns of [`TEXT`] begin at `first`.
    pub fn read_verified(
        &mut self,
        connection: &Connection,
        row: &Row<'_>,
        first: usize,
        id: RecordId,
        sum: i64,
    ) -> Result<String> {
        let text = self.read(connection, row, first)?;
        if sum != record_checksum(id, blake3::hash(text.as_bytes()).as_bytes()) {
            return Err(Error::ChecksumMismatch(id));
        }
        Ok(text)
    }

    pub fn read(&mut self, connection: &Connection, row: &Row<'_>, first: usize) -> Result<String> {
        if let Some(content) = row.get(first)? {
            return Ok(content);
        }
        if let Some(block) = row.get(first + 1)? {
            return self.read_from_block(
                connection,
                block,
                row.get(first + 2)?,
                row.get(first + 3)?,
            );
        }
        match row.get::<_, Option<Vec<u8>>>(first + 4)? {
            Some(hash) => bodies::read_body(connection, &hash),
            None => Ok(String::new()),
        }
    }

    /// Returns a text by its place in a block.
    pub fn read_from_block(
        &mut self,
        connection: &Connection,
        block: i64,
        start: usize,
        size: usize,
    ) -> Result<String> {
        let bytes = match &self.block {
            Some((known, bytes)) if *known == block => bytes,
            _ => {
                &self
                    .block
                    .insert((block, blocks::read_block(connection, block)?))
                    .1
            }
        };
        blocks::slice_text(bytes, block, start, size)
    }
}

/// The same, for many records in a row.
pub(crate) fn read_text_cached(
    connection: &Connection,
    row: &Row<'_>,
    first: usize,
    cache: &blocks::BlockCache,
) -> Result<String> {
    match (row.get(first)?, row.get(first + 1)?) {
        (None::<String>, Some(block)) => {
            cache.text(connection, block, row.get(first + 2)?, row.get(first + 3)?)
        }
        _ => read_text(connection, row, first),
    }
}

pub(crate) fn kind_from_number(number: i64) -> RecordKind {
    let at = usize::try_from(number).unwrap_or_default();
    RecordKind::ALL
        .get(at)
        .copied()
        .unwrap_or(RecordKind::ToolResult)
}

pub(crate) fn trust_from_number(number: i64) -> Trust {
    [Trust::Tool, Trust::Model, Trust::User]
        .get(usize::try_from(number).unwrap_or_default())
        .copied()
        .unwrap_or(Trust::Tool)
}

pub(crate) fn is_stored(connection: &Connection, id: RecordId) -> Result<bool> {
    Ok(connection
        .prepare_cached("SELECT 1 FROM records WHERE id = ?1")?
        .exists([id.as_bytes()])?)
}

/// The source that a record is read from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecordSource {
    pub id: i64,
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
    Evicted,
}

/// Writes a record unless it is stored already.
pub(crate) fn insert(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    session: SessionRef,
    source: RecordSource,
    record: &CleanRecord,
    blocks: &mut BatchBlocks<'_>,
) -> Result<Insertion> {
    let copies = find_duplicates(tx, record.id)?;
    let log_line = i64::try_from(record.line).unwrap_or(i64::MAX);
    let renamed = find_by_alias(tx, record.id)?;
    let same = copies.iter().find(|copy| copy.id == record.id);
    if let Some(same) = same.or(renamed.as_ref()) {
        let known_line = same.log_line.unwrap_or(same.line);
        // A log that was moved, archived or compressed takes its records along.
        if same.source != source.id || same.detached || known_line != log_line {
            tx.prepare_cached(
                "UPDATE records SET source = ?2, detached = 0, log_line = nullif(?3, line)
                 WHERE row = ?1",
            )?
            .execute([same.row, source.id, log_line])?;
        }
        if same.session != session.id {
            writer.stored_text.forget(session.id);
            move_to_session(tx, writer, same, session)?;
        }
        return Ok(if same.detached {
            Insertion::Reattached
        } else {
            Insertion::AlreadyStored
        });
    }
    if writer.evicted.is_evicted(tx, session.id, record.id)? {
        return Ok(Insertion::Evicted);
    }
    let line = log_line.saturating_add(source.line_shift);
    let first = copies.iter().find(|copy| !copy.is_copy);
    let is_copy = match first {
        Some(first) => !starts_before(tx, session.id, first.session)?,
        None => false,
    };
    let context = find_or_insert_context(tx, writer, &record.context)?;
    writer.stored_text.add(session.id, record.content.as_str());
    let block = match &record.placement {
        TextPlacement::Block { index, start } => Some((blocks.block_id(tx, *index)?, *start)),
        TextPlacement::Body(body) => {
            bodies::insert(tx, body)?;
            None
        }
        TextPlacement::Row => None,
    };
    tx.prepare_cached(
        // Digests of evicted sessions have numbers of the same kind in the search index.
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
        session.id,
        line,
        record.ordinal,
        record.at.map(Timestamp::as_millisecond),
        record.kind as i64,
        record.trust as i64,
        is_copy,
        source.id,
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
        matches!(record.placement, TextPlacement::Row).then(|| record.content.as_str()),
        block.map(|(block, _)| block),
        block.map(|(_, start)| start),
        if let TextPlacement::Body(body) = &record.placement {
            Some(body.hash)
        } else {
            None
        },
        log_line,
    ])?;
    let row = tx.last_insert_rowid();
    writer
        .evicted
        .note_return(tx, session.id, record.id, record.kind)?;
    if !is_copy {
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
        if let Some(first) = first {
            mark_as_copy(tx, writer, first.row)?;
        }
    }
    Ok(Insertion::New)
}

/// Gives a record back to its session. A record's id is made of its session's name, so it can only
/// lie in another since a repair that found the one without the other.
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

/// The blocks of a batch, written when the first record that lies in one is.
#[derive(Debug)]
pub(crate) struct BatchBlocks<'a> {
    data: &'a [Vec<u8>],
    ids: Vec<Option<i64>>,
}

impl<'a> BatchBlocks<'a> {
    pub fn new(data: &'a [Vec<u8>]) -> Self {
        Self {
            data,
            ids: vec![None; data.len()],
        }
    }

    /// Takes texts that were not written out of the blocks that were.
    pub fn blank_unwritten(&self, tx: &Transaction<'_>, unwritten: &[&CleanRecord]) -> Result<()> {
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

/// Returns the record itself and its repetitions in other sessions.
fn find_duplicates(connection: &Connection, id: RecordId) -> Result<Vec<DuplicateRow>> {
    let (low, high) = id.duplicate_range();
    let mut statement = connection.prepare_cached(
        "SELECT row, id, session, source, copy, line, log_line, detached FROM records
         WHERE id BETWEEN ?1 AND ?2 ORDER BY row",
    )?;
    let rows = statement.query_map([low.as_bytes(), high.as_bytes()], DuplicateRow::from_row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Returns the record whose entry has been renamed so that it would have this id.
fn find_by_alias(connection: &Connection, id: RecordId) -> Result<Option<DuplicateRow>> {
    let mut statement = connection.prepare_cached(
        "SELECT row, id, session, source, copy, line, log_line, detached FROM records
         WHERE alias = ?1 LIMIT 1",
    )?;
    Ok(statement
        .query_row([id.as_bytes()], DuplicateRow::from_row)
        .optional()?)
}

impl DuplicateRow {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            row: row.get(0)?,
            id: RecordId::from_bytes(row.get(1)?),
            session: row.get(2)?,
            source: row.get(3)?,
            is_copy: row.get(4)?,
            line: row.get(5)?,
            log_line: row.get(6)?,
            detached: row.get(7)?,
        })
    }
}

/// Says whether session `a` is the earlier one; the name decides between equals, so that the
/// answer does not depend on which log was read first.
fn starts_before(connection: &Connection, a: i64, b: i64) -> Result<bool> {
    Ok(connection
        .prepare_cached(
            "SELECT (coalesce(a.started, 9e15), a.name) < (coalesce(b.started, 9e15), b.name)
             FROM sessions a, sessions b WHERE a.id = ?1 AND b.id = ?2",
        )?
        .query_row([a, b], |row| row.get(0))?)
}

fn mark_as_copy(tx: &Transaction<'_>, writer: &mut WriterState, row: i64) -> Result<()> {
    unindex_row(tx, writer, row)?;
    tx.prepare_cached("UPDATE records SET copy = 1 WHERE row = ?1")?
        .execute([row])?;
    // What turns out to be another session's word is no longer part of this one's digest.
    tx.prepare_cached(
        "UPDATE sessions SET revision = revision + 1
         WHERE id = (SELECT session FROM records WHERE row = ?1)",
    )?
    .execute([row])?;
    Ok(())
}

/// Indexes the records of a session anew, after its workspace became known or another one.
pub(crate) fn reindex_records(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    before: SessionRef,
    session: SessionRef,
) -> Result<()> {
    for stored in rows_where_lossy(tx, "session = ?1 AND copy = 0", &[&session.id])? {
        if stored.is_lost {
            writer.index.remove_unknown(tx, stored.row)?;
            continue;
        }
        remove_from_index_as(tx, writer, before, &stored)?;
        add_to_index(tx, writer, session, &stored, &stored.text)?;
    }
    if digest_rows::unindex_as(tx, writer, before)? {
        digest_rows::index(tx, writer, session.id)?;
    }
    Ok(())
}

/// Takes a row out of the index that is still as it was when it was put in.
pub(crate) fn unindex_row(tx: &Transaction<'_>, writer: &mut WriterState, row: i64) -> Result<()> {
    if !writer.index.contains_row(tx, row)? {
        return Ok(());
    }
    match rows_where(tx, "row = ?1", &[&row]) {
        Ok(all) => all
            .iter()
            .try_for_each(|stored| remove_from_index(tx, writer, stored)),
        // Who takes a damaged record away does not have to read it.
        Err(Error::MissingText(_)) => writer.index.remove_unknown(tx, row),
        Err(error) => Err(error),
    }
}

/// Puts a row into the index that is not there, unless it is a copy.
pub(crate) fn index_row(tx: &Transaction<'_>, writer: &mut WriterState, row: i64) -> Result<()> {
    for stored in rows_where(tx, "row = ?1 AND copy = 0", &[&row])? {
        if let Some(session) = session_ref(tx, stored.session)? {
            add_to_index(tx, writer, session, &stored, &stored.text)?;
        }
    }
    Ok(())
}

/// Takes a row out of the index that was read before.
fn remove_from_index(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    stored: &RecordRow,
) -> Result<()> {
    match session_ref(tx, stored.session)? {
        Some(session) => remove_from_index_as(tx, writer, session, stored),
        None if writer.index.contains_row(tx, stored.row)? => {
            writer.index.remove_unknown(tx, stored.row)
        }
        None => Ok(()),
    }
}

fn remove_from_index_as(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    session: SessionRef,
    stored: &RecordRow,
) -> Result<()> {
    if !writer.index.contains_row(tx, stored.row)? {
        return Ok(());
    }
    if stored.is_lost {
        return writer.index.remove_unknown(tx, stored.row);
    }
    let terms = stored.terms(&stored.text);
    writer
        .index
        .remove(tx, &stored.entry(session, &stored.text, &terms))
}

fn add_to_index(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    session: SessionRef,
    stored: &RecordRow,
    text: &str,
) -> Result<()> {
    let terms = stored.terms(text);
    let mut entry = stored.entry(session, text, &terms);
    if entry.at.is_none() {
        entry.at = last_active(tx, session.id)?;
    }
    writer.index.add(tx, &entry)
}

/// Indexes the records of a session anew that was in another workspace, or in none.
pub(crate) fn reindex_session(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    session: i64,
    workspace_before: i64,
) -> Result<()> {
    let Some(known) = session_ref(tx, session)? else {
        return Ok(());
    };
    let before = SessionRef {
        workspace: workspace_before,
        ..known
    };
    reindex_records(tx, writer, before, known)
}

/// A row that is about to change.
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
    pub body: Option<Vec<u8>>,
    /// Block, start and size.
    pub block: Option<(i64, usize, usize)>,
    /// Empty where it is missing or unreadable.
    pub text: String,
    pub is_lost: bool,
}

impl RecordRow {
    fn terms(&self, text: &str) -> String {
        IndexDocument {
            kind: self.kind,
            text,
            tool: self.tool.as_deref(),
            path: self.path.as_deref(),
            speaker: self.speaker.as_deref(),
        }
        .terms()
    }

    fn entry<'t>(&self, session: SessionRef, text: &str, terms: &'t str) -> IndexRowEntry<'t> {
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

/// Returns rows with their texts; a text that is missing or unreadable is empty. For work that must
/// not stop at a damaged record, such as removing it.
pub(crate) fn rows_where_lossy(
    connection: &Connection,
    condition: &str,
    values: &[&dyn rusqlite::ToSql],
) -> Result<Vec<RecordRow>> {
    read_rows(connection, condition, values, LostText::Empty)
}

/// What a text that cannot be read becomes.
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
    let sql = format!(
        "SELECT row, id, session, kind, copy, {TEXT_COLUMNS}, at, tool, path,
            json_extract(metadata, '$.speaker') FROM records r WHERE {condition}"
    );
    let cache = blocks::BlockCache::default();
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(values)?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let block: Option<i64> = row.get(6)?;
        let (start, size): (Option<usize>, usize) = (row.get(7)?, row.get(8)?);
        let text = match read_text_cached(connection, row, 5, &cache) {
            Err(Error::MissingText(_)) if lost_text == LostText::Empty => None,
            text => Some(text?),
        };
        all.push(RecordRow {
            row: row.get(0)?,
            id: RecordId::from_bytes(row.get(1)?),
            session: row.get(2)?,
            kind: kind_from_number(row.get(3)?),
            copy: row.get(4)?,
            is_lost: text.is_none(),
            text: text.unwrap_or_default(),
            at: timestamp_from_millis(row.get(10)?),
            tool: row.get(11)?,
            path: row.get(12)?,
            speaker: row.get(13)?,
            block: block.zip(start).map(|(block, start)| (block, start, size)),
            body: row.get(9)?,
        });
    }
    Ok(all)
}

/// Deletes a record whose text another record holds.
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

/// Marks a record as one that its source no longer holds.
pub(crate) fn mark_detached(tx: &Transaction<'_>, id: RecordId) -> Result<()> {
    tx.prepare_cached("UPDATE records SET detached = 1 WHERE id = ?1")?
        .execute([id.as_bytes()])?;
    Ok(())
}

/// Takes a text that its row no longer refers to out of where it was kept.
fn release_record_text(tx: &Transaction<'_>, stored: &RecordRow) -> Result<()> {
    if let Some((block, start, size)) = stored.block {
        blocks::blank_text(tx, block, start, size)?;
    }
    match &stored.body {
        Some(body) => bodies::delete_unused_body(tx, body),
        None => Ok(()),
    }
}

/// Lets the first remaining copy of a deleted record be found by search.
pub(crate) fn promote_copy(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    id: RecordId,
) -> Result<()> {
    let Some(heir) = find_duplicates(tx, id)?.into_iter().next() else {
        return Ok(());
    };
    tx.prepare_cached("UPDATE records SET copy = 0 WHERE row = ?1")?
        .execute([heir.row])?;
    let Some(session) = session_ref(tx, heir.session)? else {
        return Ok(());
    };
    for stored in rows_where(tx, "row = ?1", &[&heir.row])? {
        add_to_index(tx, writer, session, &stored, &stored.text)?;
    }
    Ok(())
}

pub(crate) fn session_ref(connection: &Connection, id: i64) -> Result<Option<SessionRef>> {
    let found: Option<(i64, String)> = connection
        .prepare_cached("SELECT coalesce(workspace, 0), flavor FROM sessions WHERE id = ?1")?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(found.and_then(|(workspace, flavor)| {
        Some(SessionRef {
            id,
            workspace,
            flavor: memory::Flavor::from_name(&flavor)?,
        })
    }))
}

/// Replaces the text of a row that turned out to hold a secret.
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

/// Deletes records, texts and all. Their copies are the caller's business.
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

/// Counts a session's records again.
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
