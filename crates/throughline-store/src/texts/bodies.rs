//! Long texts: compressed, named by their hash, and stored once.

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::error::{Error, Result};
use crate::hex;
use crate::ingest::sanitizer::CompressedText;
use crate::texts::compression;

/// The limit for decompressing a text, so that a damaged length does not allocate all memory. No
/// stored text is longer.
const TEXT_BYTES_MAX: usize = 256 << 20;

/// The query for the bodies that are in use. Every table that refers to bodies must occur here.
pub(crate) const USED_BODIES_SQL: &str =
    "SELECT body FROM records WHERE body IS NOT NULL UNION SELECT body FROM raw";

pub(crate) fn insert(tx: &Transaction<'_>, body: &CompressedText) -> Result<()> {
    tx.prepare_cached("INSERT OR IGNORE INTO bodies (hash, data) VALUES (?1, ?2)")?
        .execute(params![body.hash, body.data])?;
    Ok(())
}

pub(crate) fn read_body(connection: &Connection, hash: &[u8]) -> Result<String> {
    let lost = || Error::MissingText(hex::encode(hash));
    let data: Option<Vec<u8>> = connection
        .prepare_cached("SELECT data FROM bodies WHERE hash = ?1")?
        .query_row([hash], |row| row.get(0))
        .optional()?;
    decompress_body(hash, &data.ok_or_else(lost)?)
}

/// Decompresses a body.
pub(crate) fn decompress_body(hash: &[u8], data: &[u8]) -> Result<String> {
    let lost = || Error::MissingText(hex::encode(hash));
    let size = zstd::bulk::Decompressor::upper_bound(data).unwrap_or(TEXT_BYTES_MAX);
    let bytes = compression::decompress(data, size.min(TEXT_BYTES_MAX)).map_err(|_| lost())?;
    String::from_utf8(bytes).map_err(|_| lost())
}

/// Returns a text if it matches its hash.
pub(crate) fn read_verified_body(connection: &Connection, hash: &[u8]) -> Result<String> {
    let text = read_body(connection, hash)?;
    if !matches_hash(&text, hash) {
        let name = hex::encode(hash);
        return Err(Error::MissingText(name));
    }
    Ok(text)
}

/// Says whether a text has this hash.
pub(crate) fn matches_hash(text: &str, hash: &[u8]) -> bool {
    blake3::hash(text.as_bytes()).as_bytes()[..16] == *hash
}

/// Deletes a body that no row refers to.
pub(crate) fn delete_unused_body(tx: &Transaction<'_>, hash: &[u8]) -> Result<()> {
    tx.prepare_cached(
        "DELETE FROM bodies WHERE hash = ?1
         AND NOT EXISTS (SELECT 1 FROM records WHERE body = ?1)
         AND NOT EXISTS (SELECT 1 FROM raw WHERE body = ?1)",
    )?
    .execute([hash])?;
    Ok(())
}
