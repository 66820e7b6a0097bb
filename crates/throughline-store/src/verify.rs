//! Whether a file is whole, and whether two files hold the same.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::error::{Error, Result};
use crate::records;

/// How much of a file is compared with its checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// At most this many records, spread over all.
    Sample(u64),
    All,
}

/// Fails unless SQLite finds the file sound and its records are as they were written. Returns how
/// many records there are.
pub(crate) fn sound(connection: &Connection, path: &Path, depth: Depth) -> Result<u64> {
    let unsound = |why: String| Error::Unsound {
        path: path.to_owned(),
        why,
    };
    let found: String = connection
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
        .map_err(|error| unsound(error.to_string()))?;
    if found != "ok" {
        return Err(unsound(found));
    }
    let records = count(connection)?;
    let every = match depth {
        Depth::Sample(most) => records.div_ceil(most.max(1)).max(1),
        Depth::All => 1,
    };
    let damaged = damaged(connection, every)?;
    if damaged > 0 {
        return Err(unsound(format!(
            "{damaged} records are not as they were written"
        )));
    }
    Ok(records)
}

pub(crate) fn count(connection: &Connection) -> Result<u64> {
    Ok(connection.query_row("SELECT count(*) FROM records", [], |row| row.get(0))?)
}

/// Counts records that do not match their checksums, looking at one of so many.
pub(crate) fn damaged(connection: &Connection, every: u64) -> Result<u64> {
    let sql = format!("{} WHERE r.row % ?1 = 0", records::SELECT);
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([every])?;
    let mut damaged = 0;
    let mut texts = records::Texts::default();
    while let Some(row) = rows.next()? {
        match records::record_of(connection, row, &mut texts) {
            Ok(_) => {}
            Err(Error::Damaged(_) | Error::LostBody(_)) => damaged += 1,
            Err(error) => return Err(error),
        }
    }
    Ok(damaged)
}

/// A table's definition, how many rows it has, and a hash of them all.
type Table = (String, u64, blake3::Hash);

/// Returns a hash of every table, those of the search index included.
pub(crate) fn content(connection: &Connection) -> Result<BTreeMap<String, Table>> {
    let mut statement = connection
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND rootpage > 0")?;
    let tables = statement
        .query_map([], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, Option<String>>(1)?.unwrap_or_default(),
            ))
        })?
        .collect::<Result<Vec<_>, _>>()?;
    let mut content = BTreeMap::new();
    for (name, sql) in tables {
        let (rows, hash) = rows(connection, &name)?;
        content.insert(name, (sql, rows, hash));
    }
    Ok(content)
}

fn rows(connection: &Connection, table: &str) -> Result<(u64, blake3::Hash)> {
    let sql = format!("SELECT * FROM \"{}\"", table.replace('"', "\"\""));
    let mut statement = connection.prepare(&sql)?;
    let columns = statement.column_count();
    let mut hasher = blake3::Hasher::new();
    let mut count = 0;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        count += 1;
        for column in 0..columns {
            let (kind, bytes): (u8, &[u8]) = match row.get_ref(column)? {
                ValueRef::Null => (0, &[]),
                ValueRef::Integer(number) => (1, &number.to_le_bytes()),
                ValueRef::Real(number) => (2, &number.to_bits().to_le_bytes()),
                ValueRef::Text(text) => (3, text),
                ValueRef::Blob(blob) => (4, blob),
            };
            hasher.update(&[kind]);
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        }
    }
    Ok((count, hasher.finalize()))
}
