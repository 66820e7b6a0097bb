//! Detached records: stored records that their source no longer holds.
//!
//! A log may be truncated, rotated, rewritten or rewound. It is then read again from its start, and
//! at the end of that reading the records that did not occur are marked as detached. They stay in
//! the store; the mark is removed when the source holds them again.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use memory::{MessageId, RecordId};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::columns::columns;
use crate::error::Result;
use crate::ingest::sources;
use crate::ingest::writer::WriterState;
use crate::query::query_all;
use crate::records;
use crate::texts::reader::{SCATTERED_BLOCKS, TEXT_COLUMNS, TextReader};

/// What a source has lost since it was last read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RereadLosses {
    /// Records that the source held before this reading and no longer holds.
    pub detached: usize,
    /// Other sources of the same sessions may hold them, and will be read again.
    pub rereads_others: bool,
}

/// A record of the source, without its text.
#[derive(Debug)]
struct SourceRecord {
    row: i64,
    id: RecordId,
    alias: Option<RecordId>,
    session: i64,
    kind: i64,
    ordinal: i64,
    size: i64,
    message: String,
    line: i64,
    detached: bool,
}

/// Records that a source is read again from its start: records in later rows are new.
pub(crate) fn begin_rereading(tx: &Transaction<'_>, source: i64) -> Result<()> {
    tx.prepare_cached(
        "UPDATE sources SET reread_after = (SELECT coalesce(max(row), 0) FROM records)
         WHERE id = ?1 AND reread_after IS NULL",
    )?
    .execute([source])?;
    Ok(())
}

/// Marks the records that a source no longer holds, after it was read to its end.
///
/// `held` are the records that occurred in this reading, `last_line` is the last line it read.
pub(crate) fn finish_rereading(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    source: i64,
    held: &HashSet<RecordId>,
    last_line: u64,
) -> Result<RereadLosses> {
    let reread_after = end_rereading(tx, source)?;
    let (present, mut missing): (Vec<_>, Vec<_>) = source_records(tx, source)?
        .into_iter()
        .partition(|record| record.ids().any(|id| held.contains(&id)));
    if missing.is_empty() {
        return Ok(RereadLosses::default());
    }
    let mut deleted = HashSet::new();
    delete_superseded(tx, writer, &present, &mut missing, &mut deleted)?;
    let fresh = present.iter().filter(|record| record.row > reread_after);
    let fresh: Vec<_> = fresh.collect();
    rejoin_renamed(tx, writer, &fresh, &mut missing, &mut deleted)?;
    let sessions: BTreeSet<i64> = missing
        .iter()
        .filter(|record| !record.detached)
        .map(|record| record.session)
        .collect();
    let mut losses = RereadLosses::default();
    for record in missing.iter().filter(|record| !record.detached) {
        tx.prepare_cached("UPDATE records SET detached = 1 WHERE row = ?1")?
            .execute([record.row])?;
        losses.detached += 1;
    }
    if !missing.is_empty() {
        let before = present.iter().filter(|record| record.row <= reread_after);
        let order_end = before.chain(&missing).map(|record| record.line).max();
        let fresh = fresh.into_iter().filter(|r| !deleted.contains(&r.row));
        shift_lines_behind(tx, order_end.unwrap_or(0), &fresh.collect::<Vec<_>>())?;
        update_line_shift(tx, source, last_line)?;
    }
    for session in sessions {
        losses.rereads_others |= sources::reread_others(tx, session, source)?;
    }
    let recounted: BTreeSet<i64> = present
        .iter()
        .filter(|record| deleted.contains(&record.row))
        .map(|record| record.session)
        .collect();
    for session in recounted {
        records::recount_session(tx, session)?;
    }
    Ok(losses)
}

/// Says whether a source has detached records.
pub(crate) fn has_detached_records(connection: &Connection, source: i64) -> Result<bool> {
    Ok(connection
        .prepare_cached("SELECT 1 FROM records WHERE source = ?1 AND detached LIMIT 1")?
        .exists([source])?)
}

/// Returns by how many lines new records of a source are stored behind their line in the log.
pub(crate) fn line_shift(connection: &Connection, source: i64) -> Result<i64> {
    Ok(connection
        .prepare_cached("SELECT line_shift FROM sources WHERE id = ?1")?
        .query_row([source], |row| row.get(0))?)
}

/// Restores the order of the log for the records of a source that has lost nothing.
pub(crate) fn restore_lines(tx: &Transaction<'_>, source: i64) -> Result<()> {
    tx.prepare_cached(&format!(
        "UPDATE records SET line = log_line, log_line = NULL
         WHERE {IN_SOURCE_SQL} AND log_line IS NOT NULL"
    ))?
    .execute([source])?;
    tx.prepare_cached("UPDATE sources SET line_shift = 0 WHERE id = ?1 AND line_shift <> 0")?
        .execute([source])?;
    Ok(())
}

/// `records` has no index by source, so the records of a source are found by its sessions.
const IN_SOURCE_SQL: &str = "source = ?1 AND session IN
    (SELECT session FROM source_sessions WHERE source = ?1)";

columns! {
    mod col {
        row: "row",
        id: "id",
        session: "session",
        kind: "kind",
        ordinal: "ordinal",
        size: "size",
        message: "message",
        line: "line",
        detached: "detached",
        alias: "alias",
    }
}

fn source_records(connection: &Connection, source: i64) -> Result<Vec<SourceRecord>> {
    query_all(
        connection,
        &format!(
            "SELECT {} FROM records WHERE {IN_SOURCE_SQL} ORDER BY line, ordinal, row",
            col::SQL
        ),
        [source],
        |row| {
            Ok(SourceRecord {
                row: row.get(col::row)?,
                id: RecordId::from_bytes(row.get(col::id)?),
                session: row.get(col::session)?,
                kind: row.get(col::kind)?,
                ordinal: row.get(col::ordinal)?,
                size: row.get(col::size)?,
                message: row.get(col::message)?,
                line: row.get(col::line)?,
                detached: row.get(col::detached)?,
                alias: row
                    .get::<_, Option<_>>(col::alias)?
                    .map(RecordId::from_bytes),
            })
        },
    )
}

/// Ends what [`begin_rereading`] began, and returns the last row that was stored before it.
fn end_rereading(tx: &Transaction<'_>, source: i64) -> Result<i64> {
    let after: Option<i64> = tx
        .prepare_cached("SELECT reread_after FROM sources WHERE id = ?1")?
        .query_row([source], |row| row.get(0))?;
    tx.prepare_cached("UPDATE sources SET reread_after = NULL WHERE id = ?1")?
        .execute([source])?;
    Ok(after.unwrap_or(i64::MAX))
}

/// Deletes missing records whose entry is still in the log with a text that begins with theirs. A
/// message that was read while the agent wrote it is one message, not two.
fn delete_superseded(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    present: &[SourceRecord],
    missing: &mut Vec<SourceRecord>,
    deleted: &mut HashSet<i64>,
) -> Result<()> {
    let entries: HashMap<_, i64> = present
        .iter()
        .map(|record| (record.log_entry(), record.row))
        .collect();
    let mut kept = Vec::with_capacity(missing.len());
    for record in missing.drain(..) {
        let Some(&newer) = entries.get(&record.log_entry()) else {
            kept.push(record);
            continue;
        };
        let newer = records::rows_where(tx, "row = ?1", &[&newer])?;
        let older = records::rows_where(tx, "row = ?1", &[&record.row])?;
        match (newer.first(), older.first()) {
            (Some(newer), Some(older)) if newer.text.starts_with(&older.text) => {
                records::delete_record(tx, writer, older)?;
                records::recount_session(tx, older.session)?;
                deleted.insert(older.row);
            }
            _ => kept.push(record),
        }
    }
    *missing = kept;
    Ok(())
}

/// Recognises missing records among new ones. An agent that gives its entries no ids gets ids that
/// depend on the entries before them, so a log that lost its beginning gives the same entries other
/// ids. The stored record stays, and the id of the new record with the same text becomes its alias.
fn rejoin_renamed(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    fresh: &[&SourceRecord],
    missing: &mut Vec<SourceRecord>,
    deleted: &mut HashSet<i64>,
) -> Result<()> {
    let is_derived = |record: &SourceRecord| MessageId::new(record.message.as_str()).is_derived();
    let shapes: HashSet<_> = missing.iter().map(SourceRecord::matching_key).collect();
    let alike =
        |record: &&&SourceRecord| is_derived(record) && shapes.contains(&record.matching_key());
    let fresh: Vec<_> = fresh.iter().filter(alike).copied().collect();
    if fresh.is_empty() {
        return Ok(());
    }
    let mut by_text: HashMap<_, VecDeque<&SourceRecord>> = HashMap::new();
    let hashes = text_hashes(
        tx,
        &fresh.iter().map(|record| record.row).collect::<Vec<_>>(),
    )?;
    for record in fresh {
        if let Some(hash) = hashes.get(&record.row) {
            let same = by_text.entry((record.matching_key(), *hash)).or_default();
            same.push_back(record);
        }
    }
    let candidates = missing.iter().filter(|record| is_derived(record));
    let hashes = text_hashes(tx, &candidates.map(|record| record.row).collect::<Vec<_>>())?;
    let mut kept = Vec::with_capacity(missing.len());
    for record in missing.drain(..) {
        let hash = hashes.get(&record.row);
        let same = hash.and_then(|hash| {
            by_text
                .get_mut(&(record.matching_key(), *hash))?
                .pop_front()
        });
        let Some(same) = same else {
            kept.push(record);
            continue;
        };
        for stored in records::rows_where(tx, "row = ?1", &[&same.row])? {
            records::delete_record(tx, writer, &stored)?;
        }
        deleted.insert(same.row);
        tx.prepare_cached(
            "UPDATE records SET detached = 0, log_line = nullif(?2, line), alias = ?3
             WHERE row = ?1",
        )?
        .execute(params![record.row, same.line, same.id.as_bytes()])?;
    }
    *missing = kept;
    Ok(())
}

/// Returns the hashes of records' texts by row.
fn text_hashes(connection: &Connection, rows: &[i64]) -> Result<HashMap<i64, [u8; 32]>> {
    let sql = format!(
        "SELECT r.row, {TEXT_COLUMNS} FROM records r
         WHERE r.row IN (SELECT value FROM json_each(?1))
         ORDER BY r.row"
    );
    let list = serde_json::to_string(rows).unwrap_or_default();
    let texts = TextReader::with_blocks(SCATTERED_BLOCKS);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query([list])?;
    let mut hashes = HashMap::with_capacity(rows.len());
    while let Some(row) = found.next()? {
        let text = texts.read(connection, row, 1)?;
        hashes.insert(row.get(0)?, *blake3::hash(text.as_bytes()).as_bytes());
    }
    Ok(hashes)
}

/// Orders new records behind all records that were stored before, detached ones included.
fn shift_lines_behind(tx: &Transaction<'_>, order_end: i64, fresh: &[&SourceRecord]) -> Result<()> {
    let Some(first) = fresh.iter().map(|record| record.line).min() else {
        return Ok(());
    };
    let shift = order_end - (first - 1);
    if shift <= 0 {
        return Ok(());
    }
    for record in fresh {
        tx.prepare_cached(
            "UPDATE records SET line = line + ?2, log_line = coalesce(log_line, line)
             WHERE row = ?1",
        )?
        .execute([record.row, shift])?;
    }
    Ok(())
}

/// Makes the records of lines that are appended later follow all stored ones.
fn update_line_shift(tx: &Transaction<'_>, source: i64, last_line: u64) -> Result<()> {
    let last: Option<i64> = tx
        .prepare_cached(&format!(
            "SELECT max(line) FROM records WHERE {IN_SOURCE_SQL}"
        ))?
        .query_row([source], |row| row.get(0))
        .optional()?
        .flatten();
    let last_line = i64::try_from(last_line).unwrap_or(i64::MAX);
    let shift = last.unwrap_or(0).saturating_sub(last_line).max(0);
    tx.prepare_cached("UPDATE sources SET line_shift = ?2 WHERE id = ?1")?
        .execute(params![source, shift])?;
    Ok(())
}

impl SourceRecord {
    /// Returns the entry of the log that the record was made of, and the record's position in it.
    fn log_entry(&self) -> (i64, &str, i64, i64) {
        (self.session, &self.message, self.kind, self.ordinal)
    }

    fn ids(&self) -> impl Iterator<Item = RecordId> {
        [Some(self.id), self.alias].into_iter().flatten()
    }

    /// Returns what two records with the same text have in common.
    const fn matching_key(&self) -> (i64, i64, i64, i64) {
        (self.session, self.kind, self.ordinal, self.size)
    }
}
