//! Reading a text wherever it is stored: in its row, in a block, or as a body.

use memory::RecordId;
use rusqlite::{Connection, Row};

use super::blocks::BlockCache;
use super::bodies;
use crate::error::{Error, Result};
use crate::ingest::sanitizer::record_checksum;

/// The columns of `records r` that [`TextReader::read`] reads, in this order.
pub(crate) const TEXT_COLUMNS: &str = "r.content, r.block, r.start, r.size, r.body";

/// How many blocks a reader keeps that does not read records in the order in which they were
/// stored.
pub(crate) const SCATTERED_BLOCKS: usize = 8;

/// Reads texts one after the other and keeps the last blocks: neighbours are mostly in the same
/// one.
#[derive(Debug)]
pub(crate) struct TextReader {
    blocks: BlockCache,
}

impl Default for TextReader {
    fn default() -> Self {
        Self::with_blocks(1)
    }
}

impl TextReader {
    /// Keeps up to `capacity` blocks.
    pub(crate) fn with_blocks(capacity: usize) -> Self {
        Self {
            blocks: BlockCache::with_capacity(capacity),
        }
    }

    /// Returns the text of a record. Its [`TEXT_COLUMNS`] begin at `first`.
    pub(crate) fn read(
        &self,
        connection: &Connection,
        row: &Row<'_>,
        first: usize,
    ) -> Result<String> {
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

    /// Returns the text of a record if it matches its checksum.
    pub(crate) fn read_verified(
        &self,
        connection: &Connection,
        row: &Row<'_>,
        first: usize,
        id: RecordId,
        checksum: i64,
    ) -> Result<String> {
        let text = self.read(connection, row, first)?;
        if checksum != record_checksum(id, blake3::hash(text.as_bytes()).as_bytes()) {
            return Err(Error::ChecksumMismatch(id));
        }
        Ok(text)
    }

    /// Returns the text of a piece of a log if it matches its hash. The columns `body, block,
    /// start, length, hash` of `raw` begin at `first`.
    pub(crate) fn read_piece(
        &self,
        connection: &Connection,
        row: &Row<'_>,
        first: usize,
    ) -> Result<String> {
        let Some(block) = row.get(first + 1)? else {
            return bodies::read_verified_body(connection, &row.get::<_, Vec<u8>>(first)?);
        };
        let text =
            self.read_from_block(connection, block, row.get(first + 2)?, row.get(first + 3)?)?;
        match row.get::<_, Option<Vec<u8>>>(first + 4)? {
            Some(hash) if !bodies::matches_hash(&text, &hash) => {
                Err(Error::MissingText(format!("block {block}")))
            }
            _ => Ok(text),
        }
    }

    /// Returns a text by its position in a block.
    pub(crate) fn read_from_block(
        &self,
        connection: &Connection,
        block: i64,
        start: usize,
        size: usize,
    ) -> Result<String> {
        self.blocks.read_text(connection, block, start, size)
    }
}
