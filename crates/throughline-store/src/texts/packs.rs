//! Packs: the texts and logs of an old session in a few large blocks, compressed hard.
//!
//! A log repeats in its own format what the records say, so in the same block it compresses to
//! little. A packed text is read like any other text in a block, and stays in the search index. The
//! texts come before the log, in steps that can be decompressed without what follows: a search
//! reads texts and never a log.
//! Each session is packed in its own transaction; a session that changes while it is compressed is
//! left alone.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::Serialize;

use crate::Store;
use crate::error::{Error, Result};
use crate::ingest::writer::CommitMode;
use crate::texts::logs::TextLocation;
use crate::texts::reader::{TEXT_COLUMNS, TextReader};
use crate::texts::{blocks, bodies, compression, logs};

/// The least size of a pack, except for the last one. Larger packs compress better, but a text in
/// them costs more to read.
const PACK_BYTES: usize = 2 << 20;
/// The texts of records are compressed in steps of about this size. Smaller steps compress worse.
const STEP_BYTES: usize = 32 << 10;
/// Slow and small; the compression window spans a whole pack.
const PACK_LEVEL: i32 = 19;

/// How much was packed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PackReport {
    pub sessions: usize,
    /// The size of texts and logs before packing.
    pub text_bytes: u64,
    /// The size of the packs.
    pub packed_bytes: u64,
}

impl PackReport {
    /// Returns the compressed size as a share of the original one.
    pub fn ratio(&self) -> f64 {
        self.packed_bytes as f64 / self.text_bytes.max(1) as f64
    }
}

impl Store {
    /// Packs the sessions without activity since `before`, and digested sessions whose text was
    /// captured before `captured_before`, whatever date their log gives them.
    pub fn pack_old_sessions(
        &self,
        before: Timestamp,
        captured_before: Option<Timestamp>,
        stop: &AtomicBool,
        progress: &dyn Fn(&PackReport),
    ) -> Result<PackReport> {
        let mut packed = PackReport::default();
        for session in
            self.read(|connection| unpacked_sessions(connection, before, captured_before))?
        {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let prepared = match self.read(|connection| build_pack(connection, session)) {
                Err(error @ (Error::MissingText(_) | Error::ChecksumMismatch(_))) => {
                    tracing::warn!(session, %error, "cannot pack a session with a damaged text");
                    continue;
                }
                prepared => prepared?,
            };
            let Some(pack) = prepared else {
                continue;
            };
            let (text_bytes, packed_bytes) = (pack.text_bytes, pack.size_bytes());
            let write = move |tx: &Transaction<'_>, _: &mut crate::ingest::writer::WriterState| {
                write_pack(tx, &pack)
            };
            if self
                .writer()
                .submit(PACK_WEIGHT, CommitMode::Immediate, write)
                .wait()?
            {
                packed.sessions += 1;
                packed.text_bytes += text_bytes;
                packed.packed_bytes += packed_bytes;
                progress(&packed);
            }
        }
        Ok(packed)
    }
}

/// Larger than any group of the writer, so that a session is packed in a transaction of its own.
const PACK_WEIGHT: usize = 1_000_000;

fn unpacked_sessions(
    connection: &Connection,
    before: Timestamp,
    captured_before: Option<Timestamp>,
) -> Result<Vec<i64>> {
    let mut statement = connection.prepare_cached(
        "SELECT s.id FROM sessions s LEFT JOIN evictions e ON e.session = s.id
         LEFT JOIN digests d ON d.session = s.id
         WHERE s.records > coalesce(e.records, 0) AND s.packed IS NOT s.revision
           AND (coalesce(s.ended, s.started, 0) < ?1
             OR (s.captured < ?2 AND d.revision = s.revision)) ORDER BY s.id",
    )?;
    let captured_before = captured_before.map(Timestamp::as_millisecond);
    let values = params![before.as_millisecond(), captured_before];
    let rows = statement.query_map(values, |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The texts of a session, compressed but not yet written.
#[derive(Debug, Default)]
struct Pack {
    session: i64,
    revision: i64,
    blocks: Vec<Vec<u8>>,
    records: Vec<MovedText<i64>>,
    /// Keyed by source, generation and offset.
    pieces: Vec<MovedText<(i64, i64, i64)>>,
    text_bytes: u64,
}

/// A text that moves into a pack.
#[derive(Debug)]
struct MovedText<K> {
    key: K,
    old_location: Option<TextLocation>,
    block: usize,
    start: usize,
    length: usize,
}

impl Pack {
    fn size_bytes(&self) -> u64 {
        self.blocks.iter().map(|block| block.len() as u64).sum()
    }
}

fn build_pack(connection: &Connection, session: i64) -> Result<Option<Pack>> {
    let revision: i64 = connection
        .prepare_cached("SELECT revision FROM sessions WHERE id = ?1")?
        .query_row([session], |row| row.get(0))?;
    let pieces = unshared_log_pieces(connection, session)?;
    let records = unshared_record_texts(connection, session)?;
    let mut filling = ArchivePackBuilder::default();
    let mut pack = Pack {
        session,
        revision,
        ..Pack::default()
    };
    // Each piece of the log follows its share of the records, so that equal texts are close.
    let parts = pieces.len().max(1);
    let mut records = records.into_iter();
    let each = records.len().div_ceil(parts);
    let mut pieces = pieces.into_iter();
    for _ in 0..parts {
        for (key, from, text) in records.by_ref().take(each) {
            pack.records.push(filling.add_text(key, from, &text)?);
            filling.end_step(STEP_BYTES);
        }
        if let Some((key, from, text)) = pieces.next() {
            filling.end_step(1);
            pack.pieces.push(filling.add_text(key, from, &text)?);
            filling.end_step(1);
        }
    }
    (pack.text_bytes, pack.blocks) = filling.finish()?;
    Ok((!pack.blocks.is_empty()).then_some(pack))
}

/// Collects texts into compressed blocks.
#[derive(Default)]
struct ArchivePackBuilder {
    text: String,
    /// Where the steps of the text end.
    steps: Vec<usize>,
    blocks: Vec<Vec<u8>>,
    text_bytes: u64,
    /// The positions of bodies that several records share.
    body_positions: HashMap<TextLocation, (usize, usize)>,
}

impl ArchivePackBuilder {
    fn add_text<K>(
        &mut self,
        key: K,
        from: Option<TextLocation>,
        text: &str,
    ) -> Result<MovedText<K>> {
        let known = from
            .as_ref()
            .and_then(|from| self.body_positions.get(from).copied());
        let (block, start) = known.unwrap_or((self.blocks.len(), self.text.len()));
        if known.is_none() {
            self.text.push_str(text);
            self.text_bytes += text.len() as u64;
            if let Some(from @ TextLocation::Body(_)) = &from {
                self.body_positions.insert(from.clone(), (block, start));
            }
        }
        if self.text.len() >= PACK_BYTES {
            self.finish_block()?;
        }
        Ok(MovedText {
            key,
            old_location: from,
            block,
            start,
            length: text.len(),
        })
    }

    /// Ends the current step if it has at least `min` bytes.
    fn end_step(&mut self, min: usize) {
        let start = self.steps.last().copied().unwrap_or(0);
        if self.text.len() >= start + min {
            self.steps.push(self.text.len());
        }
    }

    fn finish_block(&mut self) -> Result<()> {
        let data = compression::compress_in_steps(self.text.as_bytes(), &self.steps, PACK_LEVEL)
            .map_err(|_| Error::MissingText("a pack".to_owned()))?;
        self.blocks.push(data);
        self.text.clear();
        self.steps.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<(u64, Vec<Vec<u8>>)> {
        if !self.text.is_empty() {
            self.finish_block()?;
        }
        Ok((self.text_bytes, self.blocks))
    }
}

type PackInput<K> = (K, Option<TextLocation>, String);

/// Returns the pieces of logs that belong to this session alone.
fn unshared_log_pieces(
    connection: &Connection,
    session: i64,
) -> Result<Vec<PackInput<(i64, i64, i64)>>> {
    let mut statement = connection.prepare_cached(
        "SELECT r.source, r.generation, r.offset, r.body, r.block, r.start, r.length, r.hash
         FROM source_sessions x JOIN sources f ON f.id = x.source
         JOIN raw r ON r.source = f.id AND r.generation <= f.generation
         WHERE x.session = ?1 AND NOT EXISTS (
            SELECT 1 FROM source_sessions y JOIN sessions s ON s.id = y.session
            WHERE y.source = x.source AND y.session <> ?1 AND s.records > 0)
         ORDER BY r.source, r.generation, r.offset",
    )?;
    let mut rows = statement.query([session])?;
    let mut all = Vec::new();
    let texts = TextReader::default();
    while let Some(row) = rows.next()? {
        let from = match row.get::<_, Option<i64>>(4)? {
            Some(block) => TextLocation::Block(block, row.get(5)?, row.get(6)?),
            None => TextLocation::Body(row.get(3)?),
        };
        // A log that was moved or copied belongs to several sources, and its body stays as it is.
        if let TextLocation::Body(hash) = &from
            && is_shared(connection, hash, session)?
        {
            continue;
        }
        let text = texts.read_piece(connection, row, 3)?;
        all.push(((row.get(0)?, row.get(1)?, row.get(2)?), Some(from), text));
    }
    Ok(all)
}

/// Returns the texts of a session's records, without those that other sessions share.
fn unshared_record_texts(connection: &Connection, session: i64) -> Result<Vec<PackInput<i64>>> {
    let sql = format!(
        "SELECT r.row, {TEXT_COLUMNS} FROM records r WHERE r.session = ?1 AND r.size > 0
         ORDER BY r.line, r.ordinal, r.row"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([session])?;
    let mut all = Vec::new();
    let texts = TextReader::default();
    while let Some(row) = rows.next()? {
        let from = match (
            row.get::<_, Option<i64>>(2)?,
            row.get::<_, Option<Vec<u8>>>(5)?,
        ) {
            (Some(block), _) => Some(TextLocation::Block(block, row.get(3)?, row.get(4)?)),
            (None, Some(hash)) => Some(TextLocation::Body(hash)),
            (None, None) => None,
        };
        if let Some(TextLocation::Body(hash)) = &from
            && is_shared(connection, hash, session)?
        {
            continue;
        }
        all.push((row.get(0)?, from, texts.read(connection, row, 1)?));
    }
    Ok(all)
}

/// Says whether a record of another session or the log of another source refers to this body.
fn is_shared(connection: &Connection, hash: &[u8], session: i64) -> Result<bool> {
    Ok(connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM records WHERE body = ?1 AND session <> ?2)
                 OR (SELECT count(DISTINCT source) FROM raw WHERE body = ?1) > 1
                 OR EXISTS (SELECT 1 FROM raw r JOIN source_sessions x ON x.source = r.source
                            WHERE r.body = ?1 AND x.session <> ?2)",
        )?
        .query_row(params![hash, session], |row| row.get(0))?)
}

/// Writes a pack, unless the session has changed since it was read. Returns whether it was written.
fn write_pack(tx: &Transaction<'_>, pack: &Pack) -> Result<bool> {
    if !is_unchanged(tx, pack)? {
        return Ok(false);
    }
    let ids: Vec<i64> = pack
        .blocks
        .iter()
        .map(|data| blocks::insert(tx, data))
        .collect::<Result<_>>()?;
    for moved in &pack.records {
        tx.prepare_cached(
            "UPDATE records SET content = NULL, body = NULL, block = ?2, start = ?3 WHERE row = ?1",
        )?
        .execute(params![moved.key, ids[moved.block], moved.start])?;
    }
    for moved in &pack.pieces {
        let (source, generation, offset) = moved.key;
        tx.prepare_cached(
            "UPDATE raw SET hash = CASE WHEN block IS NULL THEN body ELSE hash END,
                body = x'', block = ?4, start = ?5, length = ?6
             WHERE source = ?1 AND generation = ?2 AND offset = ?3",
        )?
        .execute(params![
            source, generation, offset, ids[moved.block], moved.start, moved.length
        ])?;
    }
    let left = pack.records.iter().map(|moved| &moved.old_location);
    release_old_texts(
        tx,
        left.chain(pack.pieces.iter().map(|moved| &moved.old_location)),
    )?;
    tx.prepare_cached("UPDATE sessions SET packed = ?2 WHERE id = ?1")?
        .execute([pack.session, pack.revision])?;
    Ok(true)
}

fn is_unchanged(tx: &Transaction<'_>, pack: &Pack) -> Result<bool> {
    let revision: Option<i64> = tx
        .prepare_cached("SELECT revision FROM sessions WHERE id = ?1")?
        .query_row([pack.session], |row| row.get(0))
        .optional()?;
    let row = "SELECT EXISTS (SELECT 1 FROM records WHERE row = ?1 AND session = ?2)";
    for moved in &pack.records {
        let here: bool = tx
            .prepare_cached(row)?
            .query_row([moved.key, pack.session], |row| row.get(0))?;
        if !here {
            return Ok(false);
        }
    }
    for moved in &pack.pieces {
        let (source, generation, offset) = moved.key;
        let place = "source = ?1 AND generation = ?2 AND offset = ?3";
        let kept = logs::text_locations(tx, place, &[&source, &generation, &offset])?;
        if kept.first() != moved.old_location.as_ref() {
            return Ok(false);
        }
    }
    Ok(revision == Some(pack.revision))
}

/// Deletes the texts at their former locations.
fn release_old_texts<'k>(
    tx: &Transaction<'_>,
    left: impl Iterator<Item = &'k Option<TextLocation>>,
) -> Result<()> {
    let mut in_blocks: HashMap<i64, Vec<(usize, usize)>> = HashMap::new();
    for kept in left.flatten() {
        match kept {
            TextLocation::Body(hash) => bodies::delete_unused_body(tx, hash)?,
            TextLocation::Block(block, start, length) => {
                in_blocks.entry(*block).or_default().push((*start, *length));
            }
        }
    }
    let mut in_blocks: Vec<_> = in_blocks.into_iter().collect();
    in_blocks.sort_unstable_by_key(|(block, _)| *block);
    for (block, parts) in in_blocks {
        blocks::blank_texts(tx, block, &parts)?;
    }
    Ok(())
}
