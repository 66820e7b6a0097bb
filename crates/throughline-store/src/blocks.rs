//! Short texts, compressed together: alone each would hardly shrink.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::error::{Error, Result};

/// Larger blocks compress better, smaller ones are read faster.
pub(crate) const BLOCK_BYTES: usize = 64 << 10;
/// A block's texts, even the last and longest, stay below this.
const BLOCK_BYTES_MAX: usize = 1 << 20;
/// zstd 3 compresses these texts as well as much slower levels do.
pub(crate) const ZSTD_LEVEL: i32 = 3;

/// The blocks that something lies in, and what lies in one, in order: every table that keeps texts in
/// blocks must be here, or a repair takes its texts for nobody's.
pub(crate) const OWNED: &str = "SELECT block FROM records WHERE block IS NOT NULL";
pub(crate) const TEXTS: &str = "SELECT start, size FROM records WHERE block = ?1 ORDER BY start";

pub(crate) fn insert(tx: &Transaction<'_>, data: &[u8]) -> Result<i64> {
    tx.prepare_cached("INSERT INTO blocks (data) VALUES (?1)")?
        .execute([data])?;
    Ok(tx.last_insert_rowid())
}

/// Returns a text by its place in a block.
pub(crate) fn text(connection: &Connection, id: i64, start: usize, size: usize) -> Result<String> {
    let lost = || Error::LostBody(format!("block {id}"));
    let bytes = read(connection, id)?;
    let text = bytes.get(start..).and_then(|text| text.get(..size));
    let text = text.ok_or_else(lost)?;
    String::from_utf8(text.to_vec()).map_err(|_| lost())
}

/// Takes a text out of its block; the others stay where they are.
pub(crate) fn blank(tx: &Transaction<'_>, id: i64, start: usize, size: usize) -> Result<()> {
    let mut bytes = read(tx, id)?;
    if let Some(text) = bytes.get_mut(start..).and_then(|text| text.get_mut(..size)) {
        text.fill(b' ');
    }
    let data = zstd::bulk::compress(&bytes, ZSTD_LEVEL)
        .map_err(|_| Error::LostBody(format!("block {id}")))?;
    tx.prepare_cached("UPDATE blocks SET data = ?2 WHERE id = ?1")?
        .execute(params![id, data])?;
    Ok(())
}

/// Takes everything out of a block but the texts at these places, which are in order.
pub(crate) fn keep_only(tx: &Transaction<'_>, id: i64, kept: &[(usize, usize)]) -> Result<()> {
    let size = read(tx, id)?.len();
    let mut end = 0;
    for (start, length) in kept.iter().copied().chain([(size, 0)]) {
        if end < start {
            blank(tx, id, end, start - end)?;
        }
        end = end.max(start + length);
    }
    Ok(())
}

fn read(connection: &Connection, id: i64) -> Result<Vec<u8>> {
    let lost = || Error::LostBody(format!("block {id}"));
    let data: Option<Vec<u8>> = connection
        .prepare_cached("SELECT data FROM blocks WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    zstd::bulk::decompress(&data.ok_or_else(lost)?, BLOCK_BYTES_MAX).map_err(|_| lost())
}
