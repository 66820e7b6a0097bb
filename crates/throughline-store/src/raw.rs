//! The agents' own logs, redacted and compressed, so that a session survives its agent's clean-up.
//!
//! A source's log is kept in pieces, each as it was read. A source that is read again from its start
//! gets a new generation of pieces; the old one goes when the new one is whole.

use memory::SessionId;
use rusqlite::{Connection, Transaction, params};

use crate::Store;
use crate::blocks::ZSTD_LEVEL;
use crate::error::{Error, Result};
use crate::redact::{CleanString, Redactor, Secret};
use crate::sessions::Known;

/// A piece is a little longer than what is read at once.
const PIECE_BYTES_MAX: usize = 256 << 20;

/// A piece of a log, clean and compressed.
#[derive(Debug)]
pub(crate) struct Piece {
    pub offset: u64,
    /// How much of the log it covers; its own text differs where secrets were.
    pub size: u64,
    pub data: Vec<u8>,
}

impl Piece {
    pub fn new(offset: u64, size: u64, text: &CleanString) -> Option<Self> {
        let data = zstd::bulk::compress(text.as_str().as_bytes(), ZSTD_LEVEL).ok()?;
        Some(Self { offset, size, data })
    }
}

impl Store {
    /// Calls `each` with the path and the text of every piece of a session's logs, in their order.
    /// A log that several sessions share is given whole.
    pub fn each_raw(&self, session: &SessionId, mut each: impl FnMut(&str, &str)) -> Result<()> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT f.path, r.data FROM sessions s
                 JOIN source_sessions x ON x.session = s.id JOIN sources f ON f.id = x.source
                 JOIN raw r ON r.source = f.id AND r.generation = f.generation
                 WHERE s.name = ?1 ORDER BY f.path, r.offset",
            )?;
            let mut rows = statement.query([session.as_str()])?;
            while let Some(row) = rows.next()? {
                let path: String = row.get(0)?;
                each(&path, &decompress(&row.get::<_, Vec<u8>>(1)?, &path)?);
            }
            Ok(())
        })
    }
}

fn decompress(data: &[u8], path: &str) -> Result<String> {
    let lost = || Error::LostBody(format!("log {path}"));
    let size = zstd::bulk::Decompressor::upper_bound(data).unwrap_or(PIECE_BYTES_MAX);
    let bytes = zstd::bulk::decompress(data, size.min(PIECE_BYTES_MAX)).map_err(|_| lost())?;
    String::from_utf8(bytes).map_err(|_| lost())
}

/// Returns which generation of a source's pieces is whole.
pub(crate) fn generation(connection: &Connection, source: i64) -> Result<i64> {
    Ok(connection
        .prepare_cached("SELECT generation FROM sources WHERE id = ?1")?
        .query_row([source], |row| row.get(0))?)
}

pub(crate) fn insert(
    tx: &Transaction<'_>,
    source: i64,
    generation: i64,
    piece: &Piece,
) -> Result<()> {
    tx.prepare_cached(
        "INSERT OR REPLACE INTO raw (source, generation, offset, size, data)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![
        source,
        generation,
        piece.offset,
        piece.size,
        piece.data
    ])?;
    Ok(())
}

/// Makes a generation the one that counts.
pub(crate) fn replace(tx: &Transaction<'_>, source: i64, generation: i64) -> Result<()> {
    tx.prepare_cached("UPDATE sources SET generation = ?2 WHERE id = ?1")?
        .execute([source, generation])?;
    tx.prepare_cached("DELETE FROM raw WHERE source = ?1 AND generation <> ?2")?
        .execute([source, generation])?;
    Ok(())
}

/// Takes secrets out of the pieces that were written before they were known for what they are.
pub(crate) fn scrub(
    tx: &Transaction<'_>,
    redactor: &Redactor,
    session: Known,
    fresh: &[Secret],
) -> Result<()> {
    let mut statement = tx.prepare_cached(
        "SELECT r.rowid, r.data FROM raw r JOIN source_sessions x ON x.source = r.source
         WHERE x.session = ?1",
    )?;
    let mut rows = statement.query([session.id])?;
    let mut changed = Vec::new();
    while let Some(row) = rows.next()? {
        let text = decompress(&row.get::<_, Vec<u8>>(1)?, "being cleaned")?;
        if fresh
            .iter()
            .any(|secret| text.contains(secret.value.as_str()))
        {
            let clean = redactor.take_in(text, &mut redactor.seen(fresh));
            changed.extend(Piece::new(0, 0, &clean).map(|piece| (row.get(0), piece.data)));
        }
    }
    for (row, data) in changed {
        let row: i64 = row?;
        tx.prepare_cached("UPDATE raw SET data = ?2 WHERE rowid = ?1")?
            .execute(params![row, data])?;
    }
    Ok(())
}
