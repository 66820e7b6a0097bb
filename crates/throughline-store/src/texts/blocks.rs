//! Short texts, compressed together, because a short text alone hardly shrinks.

use std::cell::RefCell;
use std::collections::VecDeque;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::error::{Error, Result};
use crate::texts::compression;

/// Larger blocks compress better, smaller ones are read faster: a search reads a hundred texts from
/// as many blocks.
pub(crate) const BLOCK_BYTES: usize = 16 << 10;
/// Of a larger block only the beginning is decompressed, as far as the text reaches.
const WHOLE_BLOCK_BYTES: usize = 64 << 10;
/// The limit for decompressing a block.
const BLOCK_BYTES_MAX: usize = 64 << 20;

/// Queries for the blocks that are in use, and for the texts in one block, in order. Every table
/// that stores texts in blocks must occur here: a repair deletes the texts that it does not find.
pub(crate) const USED_BLOCKS_SQL: &str = "SELECT block FROM records WHERE block IS NOT NULL
    UNION SELECT block FROM raw WHERE block IS NOT NULL";
pub(crate) const BLOCK_TEXTS_SQL: &str = "SELECT start, size FROM records WHERE block = ?1
    UNION SELECT start, length FROM raw WHERE block = ?1 ORDER BY 1, 2";

pub(crate) fn insert(tx: &Transaction<'_>, data: &[u8]) -> Result<i64> {
    tx.prepare_cached("INSERT INTO blocks (data) VALUES (?1)")?
        .execute([data])?;
    Ok(tx.last_insert_rowid())
}

/// Returns a text by its position in a decompressed block.
pub(crate) fn slice_text(bytes: &[u8], id: i64, start: usize, size: usize) -> Result<String> {
    let lost = || Error::MissingText(format!("block {id}"));
    let text = bytes.get(start..).and_then(|text| text.get(..size));
    let text = text.ok_or_else(lost)?;
    String::from_utf8(text.to_vec()).map_err(|_| lost())
}

/// Returns all texts of a block.
pub(crate) fn read_whole_block(connection: &Connection, id: i64) -> Result<String> {
    String::from_utf8(read_block(connection, id)?)
        .map_err(|_| Error::MissingText(format!("block {id}")))
}

/// Deletes a block that no row refers to, and says whether it is gone.
pub(crate) fn delete_unused_block(tx: &Transaction<'_>, id: i64) -> Result<bool> {
    tx.prepare_cached(
        "DELETE FROM blocks WHERE id = ?1
         AND NOT EXISTS (SELECT 1 FROM records WHERE block = ?1)
         AND NOT EXISTS (SELECT 1 FROM raw WHERE block = ?1)",
    )?
    .execute([id])?;
    let is_there: bool = tx
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM blocks WHERE id = ?1)")?
        .query_row([id], |row| row.get(0))?;
    Ok(!is_there)
}

/// The last blocks that were read, decompressed.
pub(crate) struct BlockCache {
    capacity: usize,
    cached: RefCell<CachedBlocks>,
}

#[derive(Default)]
struct CachedBlocks {
    /// The last block that was loaded comes first. Of a large block, the bytes may be only the
    /// beginning.
    blocks: VecDeque<(i64, Vec<u8>)>,
}

impl std::fmt::Debug for BlockCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BlockCache").finish_non_exhaustive()
    }
}

impl BlockCache {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            cached: RefCell::default(),
        }
    }

    pub(crate) fn read_text(
        &self,
        connection: &Connection,
        id: i64,
        start: usize,
        size: usize,
    ) -> Result<String> {
        let mut cached = self.cached.borrow_mut();
        let end = start.saturating_add(size);
        let at = match cached.blocks.iter().position(|block| block.0 == id) {
            Some(at) if cached.blocks[at].1.len() >= end => at,
            // Further texts of a block are likely to follow.
            Some(at) => {
                cached.blocks.remove(at);
                cached.load(connection, id, usize::MAX, self.capacity)?;
                0
            }
            None => {
                cached.load(connection, id, end, self.capacity)?;
                0
            }
        };
        slice_text(&cached.blocks[at].1, id, start, size)
    }
}

impl CachedBlocks {
    /// Loads a block up to `end` to the front, into the buffer of the oldest one where the cache is
    /// full.
    fn load(
        &mut self,
        connection: &Connection,
        id: i64,
        end: usize,
        capacity: usize,
    ) -> Result<()> {
        let lost = || Error::MissingText(format!("block {id}"));
        let oldest = (self.blocks.len() >= capacity).then(|| self.blocks.pop_back());
        let mut buffer = oldest.flatten().map(|block| block.1).unwrap_or_default();
        let mut statement = connection.prepare_cached("SELECT data FROM blocks WHERE id = ?1")?;
        let mut rows = statement.query([id])?;
        let row = rows.next()?.ok_or_else(lost)?;
        let ValueRef::Blob(data) = row.get_ref(0)? else {
            return Err(lost());
        };
        buffer.clear();
        let whole = decompressed_size(data);
        let decompressed = if whole > WHOLE_BLOCK_BYTES && end < whole {
            compression::decompress_beginning(data, end, &mut buffer)
        } else {
            buffer.reserve(whole);
            compression::decompress_into(data, &mut buffer)
        };
        decompressed.map_err(|_| lost())?;
        self.blocks.push_front((id, buffer));
        Ok(())
    }
}

fn decompressed_size(data: &[u8]) -> usize {
    let size = zstd::bulk::Decompressor::upper_bound(data);
    size.unwrap_or(BLOCK_BYTES_MAX).min(BLOCK_BYTES_MAX)
}

/// Overwrites a text in its block; the other texts keep their positions.
pub(crate) fn blank_text(tx: &Transaction<'_>, id: i64, start: usize, size: usize) -> Result<()> {
    blank_texts(tx, id, &[(start, size)])
}

/// Overwrites several texts in a block.
pub(crate) fn blank_texts(tx: &Transaction<'_>, id: i64, parts: &[(usize, usize)]) -> Result<()> {
    if delete_unused_block(tx, id)? {
        return Ok(());
    }
    let mut bytes = match read_block(tx, id) {
        Ok(bytes) => bytes,
        Err(error @ Error::MissingText(_)) => {
            // None of its texts can be read, but its bytes may hold what must be deleted.
            tracing::warn!(%error, "deleting an unreadable block");
            tx.prepare_cached("DELETE FROM blocks WHERE id = ?1")?
                .execute([id])?;
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    for (start, size) in parts {
        let rest = bytes.get_mut(*start..);
        if let Some(text) = rest.and_then(|text| text.get_mut(..*size)) {
            text.fill(b' ');
        }
    }
    let data =
        compression::compress(&bytes).map_err(|_| Error::MissingText(format!("block {id}")))?;
    tx.prepare_cached("UPDATE blocks SET data = ?2 WHERE id = ?1")?
        .execute(params![id, data])?;
    Ok(())
}

/// Overwrites everything in a block except for the texts at these positions, which are in order.
pub(crate) fn blank_all_except(
    tx: &Transaction<'_>,
    id: i64,
    kept: &[(usize, usize)],
) -> Result<()> {
    let size = read_block(tx, id)?.len();
    let mut end = 0;
    let mut gaps = Vec::new();
    for (start, length) in kept.iter().copied().chain([(size, 0)]) {
        if end < start {
            gaps.push((end, start - end));
        }
        end = end.max(start.saturating_add(length));
    }
    if gaps.is_empty() {
        return Ok(());
    }
    blank_texts(tx, id, &gaps)
}

/// Returns the texts of a block, decompressed.
pub(crate) fn read_block(connection: &Connection, id: i64) -> Result<Vec<u8>> {
    let lost = || Error::MissingText(format!("block {id}"));
    let data: Option<Vec<u8>> = connection
        .prepare_cached("SELECT data FROM blocks WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    let data = data.ok_or_else(lost)?;
    compression::decompress(&data, decompressed_size(&data)).map_err(|_| lost())
}
