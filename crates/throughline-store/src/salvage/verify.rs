//! Verifying that a database is intact, and comparing two databases.

use std::collections::BTreeMap;
use std::path::Path;

use memory::RecordId;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use serde::Serialize;

use crate::error::{Error, Result};

use crate::salvage::health;
use crate::texts::reader::{TEXT_COLUMNS, TextReader};

/// How many damaged texts are reported by name; the rest are only counted.
const NAMED_MAX: usize = 20;

/// Texts that do not match their checksums.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DamagedTexts {
    pub count: usize,
    /// The names of the first ones: "record ID" or "log PATH from byte OFFSET".
    pub first: Vec<String>,
}

impl DamagedTexts {
    pub(crate) fn add(&mut self, name: String) {
        self.count += 1;
        if self.first.len() < NAMED_MAX {
            self.first.push(name);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl std::fmt::Display for DamagedTexts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let texts = if self.count == 1 { "text" } else { "texts" };
        let names = self.first.join(", ");
        write!(f, "{} {texts} not as written: {names}", self.count)?;
        match self.count - self.first.len() {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// Fails unless SQLite finds no problem and every text of records and logs is intact. Returns the
/// number of records.
pub(crate) fn check_integrity(connection: &Connection, path: &Path) -> Result<u64> {
    let unsound = |why: String| Error::InvalidFile {
        path: path.to_owned(),
        why,
    };
    let found: String = connection
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
        .map_err(|error| unsound(error.to_string()))?;
    if found != "ok" {
        return Err(unsound(found));
    }
    let damaged = damaged_texts(connection)?;
    if !damaged.is_empty() {
        return Err(unsound(damaged.to_string()));
    }
    count_records(connection)
}

/// Fails unless `doctor --deep` would find no problem. Returns the number of records.
pub(crate) fn check_thoroughly(connection: &Connection, path: &Path) -> Result<u64> {
    let records = check_integrity(connection, path)?;
    let problems = health::find_problems(connection, true)?;
    if !problems.is_empty() {
        return Err(Error::InvalidFile {
            path: path.to_owned(),
            why: problems.join("; "),
        });
    }
    Ok(records)
}

pub(crate) fn count_records(connection: &Connection) -> Result<u64> {
    Ok(connection.query_row("SELECT count(*) FROM records", [], |row| row.get(0))?)
}

/// Returns the records and pieces of logs whose texts do not match their checksums.
pub(crate) fn damaged_texts(connection: &Connection) -> Result<DamagedTexts> {
    let mut damaged = DamagedTexts::default();
    let mut note = |checked: Result<String>, name: &dyn Fn() -> String| match checked {
        Ok(_) => Ok(()),
        Err(Error::ChecksumMismatch(_) | Error::MissingText(_)) => {
            damaged.add(name());
            Ok(())
        }
        Err(error) => Err(error),
    };
    let texts = TextReader::default();
    let sql = format!("SELECT r.id, r.checksum, {TEXT_COLUMNS} FROM records r");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id = RecordId::from_bytes(row.get(0)?);
        let checked = texts.read_verified(connection, row, 2, id, row.get(1)?);
        note(checked, &|| format!("record {id}"))?;
    }
    let sql = "SELECT f.path, r.offset, r.body, r.block, r.start, r.length, r.hash FROM raw r
         LEFT JOIN sources f ON f.id = r.source ORDER BY r.block, r.start";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let path: Option<String> = row.get(0)?;
        let offset: i64 = row.get(1)?;
        let name = || format!("log {} from byte {offset}", path.as_deref().unwrap_or("?"));
        note(texts.read_piece(connection, row, 2), &name)?;
    }
    Ok(damaged)
}

/// The definition of a table, the number of its rows, and a hash of all of them.
type TableHash = (String, u64, blake3::Hash);

/// Returns a hash of every table, including those of the search index.
pub(crate) fn hash_tables(connection: &Connection) -> Result<BTreeMap<String, TableHash>> {
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
        let (rows, hash) = hash_rows(connection, &name)?;
        content.insert(name, (sql, rows, hash));
    }
    Ok(content)
}

fn hash_rows(connection: &Connection, table: &str) -> Result<(u64, blake3::Hash)> {
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
