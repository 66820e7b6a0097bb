//! The agents' own logs, redacted and compressed, so that a session survives when its agent deletes
//! it.
//!
//! A log is stored in pieces, each as it was read. A source that is read again from its start gets
//! a new generation of pieces. When that generation is complete, the one before it is deleted,
//! unless the source has lost records, which only the earlier generation holds.

use std::collections::HashSet;

use memory::SessionId;
use rusqlite::{Connection, Row, Transaction, params};

use crate::Store;
use crate::error::{Error, Result};
use crate::ingest::sanitizer::CompressedText;
use crate::ingest::secrets::SecretMatcher;
use crate::lifecycle::forget::{LineNumbers, Needles};
use crate::query::query_all;
use crate::records::sessions::SessionRef;
use crate::salvage::verify::DamagedTexts;
use crate::texts::reader::TextReader;
use crate::texts::{blocks, bodies, compression};
use redact::{CheckedTexts, CleanString};

/// How many earlier generations of a log are kept; of more, the smallest are deleted.
const EARLIER_GENERATIONS_MAX: usize = 8;

/// The condition for pieces whose text is missing.
pub(crate) const WITHOUT_TEXT: &str = "CASE WHEN block IS NULL
    THEN body NOT IN (SELECT hash FROM bodies) ELSE block NOT IN (SELECT id FROM blocks) END";

/// A piece of a log, redacted and compressed.
#[derive(Debug)]
pub(crate) struct LogPiece {
    pub offset: u64,
    /// How many bytes of the log it covers; its own text differs where secrets were.
    pub size: u64,
    pub body: CompressedText,
}

impl LogPiece {
    pub(crate) fn new(offset: u64, size: u64, text: &CleanString) -> Option<Self> {
        Some(Self {
            offset,
            size,
            body: compress_text(text.as_str())?,
        })
    }

    pub(crate) fn read_text_at(&self) -> Result<String> {
        bodies::decompress_body(&self.body.hash, &self.body.data)
    }

    /// Returns the piece with a text that was derived from its own.
    pub(crate) fn with_text(&self, text: &str) -> Option<Self> {
        Some(Self {
            offset: self.offset,
            size: self.size,
            body: compress_text(text)?,
        })
    }
}

pub(crate) fn compress_text(text: &str) -> Option<CompressedText> {
    let bytes = text.as_bytes();
    let mut hash = [0; 16];
    hash.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
    Some(CompressedText {
        hash,
        data: compression::compress(bytes).ok()?,
    })
}

/// A piece of an archived log.
#[derive(Clone, Copy, Debug)]
pub struct RawPiece<'a> {
    /// The number of the log's source.
    pub source: i64,
    /// 0 for the log as it was last read, 1 and more for earlier generations.
    pub earlier: u64,
    pub path: &'a str,
    pub text: &'a str,
}

impl Store {
    /// Calls `each` with every piece of a session's logs in their order, the current generation
    /// before earlier ones. A log that several sessions share is passed whole. Returns the pieces
    /// that were left out because their text is damaged.
    pub fn each_log_piece(
        &self,
        session: &SessionId,
        mut each: impl FnMut(RawPiece<'_>),
    ) -> Result<DamagedTexts> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT f.path, r.body, r.block, r.start, r.length, r.hash, f.id,
                    r.offset, f.generation - r.generation
                 FROM sessions s
                 JOIN source_sessions x ON x.session = s.id JOIN sources f ON f.id = x.source
                 JOIN raw r ON r.source = f.id AND r.generation <= f.generation
                 WHERE s.name = ?1 ORDER BY f.path, f.id, r.generation DESC, r.offset",
            )?;
            let mut rows = statement.query([session.as_str()])?;
            let texts = TextReader::default();
            let mut damaged = DamagedTexts::default();
            while let Some(row) = rows.next()? {
                let path: String = row.get(0)?;
                match texts.read_piece(connection, row, 1) {
                    Ok(text) => each(RawPiece {
                        source: row.get(6)?,
                        earlier: row.get(8)?,
                        path: &path,
                        text: &text,
                    }),
                    Err(Error::MissingText(_)) => {
                        let offset: i64 = row.get(7)?;
                        damaged.add(format!("log {path} from byte {offset}"));
                    }
                    Err(error) => return Err(error),
                }
            }
            Ok(damaged)
        })
    }
}

/// Returns the complete generation of a source's log.
pub(crate) fn generation(connection: &Connection, source: i64) -> Result<i64> {
    Ok(connection
        .prepare_cached("SELECT generation FROM sources WHERE id = ?1")?
        .query_row([source], |row| row.get(0))?)
}

/// Says whether any piece of a source's log is stored.
pub(crate) fn has_log_pieces(connection: &Connection, source: i64) -> Result<bool> {
    Ok(connection
        .prepare_cached("SELECT 1 FROM raw WHERE source = ?1")?
        .exists([source])?)
}

pub(crate) fn insert(
    tx: &Transaction<'_>,
    source: i64,
    generation: i64,
    piece: &LogPiece,
) -> Result<()> {
    bodies::insert(tx, &piece.body)?;
    // An interrupted reading may have left a piece at this offset.
    let here = "source = ?1 AND generation = ?2 AND offset = ?3";
    let left = text_locations(tx, here, &[&source, &generation, &piece.offset])?;
    tx.prepare_cached(
        "INSERT OR REPLACE INTO raw (source, generation, offset, size, body)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![
        source, generation, piece.offset, piece.size, piece.body.hash
    ])?;
    left.iter().try_for_each(|kept| release_text(tx, kept))
}

/// Makes a generation the current one, and deletes the one before it unless the source has lost
/// text since.
pub(crate) fn switch_generation(
    tx: &Transaction<'_>,
    source: i64,
    current: i64,
    keeps_previous: bool,
) -> Result<()> {
    let previous = generation(tx, source)?;
    tx.prepare_cached("UPDATE sources SET generation = ?2 WHERE id = ?1")?
        .execute([source, current])?;
    if !keeps_previous {
        return delete_generation(tx, source, previous);
    }
    let mut statement = tx.prepare_cached(
        "SELECT generation FROM raw WHERE source = ?1 AND generation <> ?2
         GROUP BY generation ORDER BY sum(size) DESC, generation DESC LIMIT -1 OFFSET ?3",
    )?;
    let excess: Vec<i64> = statement
        .query_map(params![source, current, EARLIER_GENERATIONS_MAX], |row| {
            row.get(0)
        })?
        .collect::<Result<_, _>>()?;
    excess
        .into_iter()
        .try_for_each(|generation| delete_generation(tx, source, generation))
}

/// Deletes the pieces of a newer generation that an interrupted reading has left.
pub(crate) fn discard_unfinished(tx: &Transaction<'_>, source: i64, current: i64) -> Result<()> {
    delete_where(tx, "source = ?1 AND generation > ?2", source, current)
}

/// Deletes the earlier generations of a log that holds everything again.
pub(crate) fn keep_only_current(tx: &Transaction<'_>, source: i64) -> Result<()> {
    let current = generation(tx, source)?;
    delete_where(tx, "source = ?1 AND generation < ?2", source, current)
}

fn delete_generation(tx: &Transaction<'_>, source: i64, generation: i64) -> Result<()> {
    delete_where(tx, "source = ?1 AND generation = ?2", source, generation)
}

fn delete_where(tx: &Transaction<'_>, condition: &str, source: i64, generation: i64) -> Result<()> {
    let old = text_locations(tx, condition, &[&source, &generation])?;
    if old.is_empty() {
        return Ok(());
    }
    tx.prepare_cached(&format!("DELETE FROM raw WHERE {condition}"))?
        .execute([source, generation])?;
    old.iter().try_for_each(|kept| release_text(tx, kept))
}

/// Where the text of a piece is stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TextLocation {
    Body(Vec<u8>),
    /// Block, start and length.
    Block(i64, usize, usize),
}

impl TextLocation {
    /// Reads the columns `body, block, start, length`, which begin at `first`.
    pub(crate) fn from_row(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        Ok(match row.get::<_, Option<i64>>(first + 1)? {
            Some(block) => Self::Block(block, row.get(first + 2)?, row.get(first + 3)?),
            None => Self::Body(row.get(first)?),
        })
    }
}

/// Returns where the texts of pieces are stored.
pub(crate) fn text_locations(
    connection: &Connection,
    condition: &str,
    values: &[&dyn rusqlite::ToSql],
) -> Result<Vec<TextLocation>> {
    let sql = format!("SELECT body, block, start, length FROM raw WHERE {condition}");
    query_all(connection, &sql, values, |row| {
        TextLocation::from_row(row, 0)
    })
}

/// Deletes a text that no piece refers to any more.
pub(crate) fn release_text(tx: &Transaction<'_>, kept: &TextLocation) -> Result<()> {
    match kept {
        TextLocation::Body(hash) => bodies::delete_unused_body(tx, hash),
        TextLocation::Block(block, start, length) => {
            blocks::blank_text(tx, *block, *start, *length)
        }
    }
}

/// Removes secrets from pieces that were written before they were recognised, and calls `read` with
/// every text.
pub(crate) fn scrub(
    tx: &Transaction<'_>,
    session: SessionRef,
    values: &mut SecretMatcher<'_>,
    read: &mut dyn FnMut(&str),
) -> Result<()> {
    let of_session = "source IN (SELECT source FROM source_sessions WHERE session = ?1)";
    // Two generations of a log may share a text, which is replaced in both at once.
    let mut all = text_locations(tx, of_session, &[&session.id])?;
    let mut met = HashSet::new();
    all.retain(|kept| met.insert(kept.clone()));
    for old in all {
        let Some(text) = readable_text(tx, &old)? else {
            continue;
        };
        read(&text);
        if !values.matches(&text) {
            continue;
        }
        let clean =
            values
                .redactor
                .clean_lines(&text, &CheckedTexts::default(), &mut values.seen, &mut []);
        let Some(body) = compress_text(clean.as_str()) else {
            continue;
        };
        replace_text(tx, &old, &body)?;
    }
    Ok(())
}

/// Replaces a text in every piece that refers to it: a copy of a log is changed together with the
/// log.
pub(crate) fn replace_text(
    tx: &Transaction<'_>,
    old: &TextLocation,
    new: &CompressedText,
) -> Result<()> {
    bodies::insert(tx, new)?;
    match old {
        TextLocation::Body(hash) => tx
            .prepare_cached("UPDATE raw SET body = ?2 WHERE body = ?1 AND block IS NULL")?
            .execute(params![hash, new.hash])?,
        TextLocation::Block(block, start, _) => tx
            .prepare_cached(
                "UPDATE raw SET body = ?3, block = NULL, start = NULL, length = NULL, hash = NULL
                 WHERE block = ?1 AND start = ?2",
            )?
            .execute(params![block, start, new.hash])?,
    };
    release_text(tx, old)
}

/// Returns the text of a piece, or `None` where it is missing or unreadable. A damaged piece must
/// not stop the work on the others; `doctor --deep` reports it.
pub(crate) fn readable_text(
    connection: &Connection,
    kept: &TextLocation,
) -> Result<Option<String>> {
    match read_text_at(connection, kept) {
        Ok(text) => Ok(Some(text)),
        Err(error @ Error::MissingText(_)) => {
            tracing::warn!(%error, "cannot read a piece of an archived log");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn read_text_at(connection: &Connection, kept: &TextLocation) -> Result<String> {
    match kept {
        TextLocation::Body(hash) => bodies::read_body(connection, hash),
        TextLocation::Block(block, start, length) => {
            TextReader::default().read_from_block(connection, *block, *start, *length)
        }
    }
}

/// Deletes the log of a source, and returns how many pieces it had.
pub(crate) fn delete_log(tx: &Transaction<'_>, source: i64) -> Result<usize> {
    let old = text_locations(tx, "source = ?1", &[&source])?;
    tx.prepare_cached("DELETE FROM raw WHERE source = ?1")?
        .execute([source])?;
    old.iter().try_for_each(|kept| release_text(tx, kept))?;
    Ok(old.len())
}

/// Blanks the lines of a log that contain one of these values as a JSON string. The lines keep
/// their numbers. A piece that cannot be read is counted and stays.
pub(crate) fn blank_lines_naming(
    tx: &Transaction<'_>,
    source: i64,
    values: &[String],
) -> Result<BlankedPieces> {
    let quoted: Vec<String> = values
        .iter()
        .filter(|value| !value.is_empty())
        .map(|value| serde_json::Value::from(value.as_str()).to_string())
        .collect();
    let names = |line: &str| quoted.iter().any(|value| line.contains(value.as_str()));
    let mut blanked = BlankedPieces::default();
    let mut seen = HashSet::new();
    for old in text_locations(tx, "source = ?1", &[&source])? {
        // Two pieces may share one text, which is replaced for both at once.
        if !seen.insert(old.clone()) {
            continue;
        }
        let Some(text) = readable_text(tx, &old)? else {
            blanked.unreadable += 1;
            continue;
        };
        if !names(&text) {
            continue;
        }
        let kept: String = text
            .split_inclusive('\n')
            .map(|line| if names(line) { "\n" } else { line })
            .collect();
        let Some(new) = compress_text(&kept) else {
            continue;
        };
        replace_text(tx, &old, &new)?;
        blanked.pieces += 1;
    }
    Ok(blanked)
}

/// How many pieces of a log were changed to remove forgotten texts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BlankedPieces {
    /// Pieces that held a forgotten text.
    pub pieces: usize,
    /// Pieces that could not be read. They may have held a forgotten text, so they are deleted.
    pub unreadable: usize,
}

impl BlankedPieces {
    pub(crate) fn add(&mut self, other: Self) {
        self.pieces += other.pieces;
        self.unreadable += other.unreadable;
    }
}

/// Removes forgotten texts and lines from a log. `lines` are line numbers in the current
/// generation, `earlier` in earlier ones.
pub(crate) fn blank_forgotten(
    tx: &Transaction<'_>,
    source: i64,
    needles: &Needles,
    lines: &LineNumbers,
    earlier: &LineNumbers,
) -> Result<BlankedPieces> {
    let current = generation(tx, source)?;
    let mut statement = tx.prepare_cached(
        "SELECT generation, offset FROM raw WHERE source = ?1 ORDER BY generation, offset",
    )?;
    let places: Vec<(i64, u64)> = statement
        .query_map([source], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let mut blanked = BlankedPieces::default();
    // Lines can only be counted from the start of a log.
    let mut before: Option<u64> = None;
    for (generation, offset) in places {
        let lines = if generation < current { earlier } else { lines };
        let first = if offset == 0 { Some(0) } else { before };
        // The location is read in each step, because replacing the text of a piece moves every
        // other piece with the same text.
        let here = "source = ?1 AND generation = ?2 AND offset = ?3";
        let Some(old) = text_locations(tx, here, &[&source, &generation, &offset])?.pop() else {
            continue;
        };
        let Some(text) = readable_text(tx, &old)? else {
            tx.prepare_cached(&format!("DELETE FROM raw WHERE {here}"))?
                .execute(params![source, generation, offset])?;
            release_text(tx, &old)?;
            blanked.unreadable += 1;
            before = None;
            continue;
        };
        let here = first.map_or_else(LineNumbers::new, |first| {
            let within = lines.iter().filter(|line| **line > first);
            within.map(|line| line - first).collect()
        });
        before = first.map(|first| first + text.matches('\n').count() as u64);
        let Some(new) = needles
            .blank(&text, &here)
            .as_deref()
            .and_then(compress_text)
        else {
            continue;
        };
        replace_text(tx, &old, &new)?;
        blanked.pieces += 1;
    }
    Ok(blanked)
}
