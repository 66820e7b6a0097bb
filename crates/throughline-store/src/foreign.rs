//! Other programs' SQLite files, read without touching them.
//!
//! No lock is taken and no file is created beside theirs, because their SQLite may be another
//! version, and two versions must not share a write-ahead log. A file with an empty log is opened
//! as immutable; otherwise the pages of the log are applied to a copy in memory.

use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, ToSql};

use crate::error::{Error, Result};

/// A file with a write-ahead log is read into memory. Of a larger file only the database itself is
/// read.
const OVERLAY_BYTES_MAX: u64 = 512 << 20;
/// How often a file is read again that changes while it is read.
const OPEN_ATTEMPTS_MAX: usize = 3;

/// A snapshot of another program's database.
#[derive(Debug)]
pub struct ForeignDatabase {
    connection: Connection,
}

/// One row of a result.
#[derive(Debug)]
pub struct ForeignRow<'a, 'b>(&'b rusqlite::Row<'a>);

impl ForeignDatabase {
    pub fn open(path: &Path) -> Result<Self> {
        let mut last = None;
        for _ in 0..OPEN_ATTEMPTS_MAX {
            let before = file_stamps(path)?;
            match Self::open_once(path) {
                Ok(database) if file_stamps(path)? == before => return Ok(database),
                Ok(database) => last = Some(Ok(database)),
                Err(error) => last = Some(Err(error)),
            }
        }
        // The file changes all the time; the last attempt is as good as any, and reading reports
        // errors.
        last.unwrap_or_else(|| {
            Err(Error::NotAStore {
                path: path.to_owned(),
            })
        })
    }

    fn open_once(path: &Path) -> Result<Self> {
        let log = fs::read(wal_path(path)).unwrap_or_default();
        let size = fs::metadata(path).map_err(Error::io(path))?.len();
        let connection = if log.is_empty() || size > OVERLAY_BYTES_MAX {
            open_immutable(path)?
        } else {
            let mut image = fs::read(path).map_err(Error::io(path))?;
            apply_wal(&mut image, &log);
            let length = image.len();
            let mut connection = Connection::open_in_memory()?;
            connection.deserialize_read_exact("main", Cursor::new(image), length, true)?;
            connection
        };
        connection.execute_batch("PRAGMA query_only = ON; PRAGMA trusted_schema = OFF;")?;
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(Self { connection })
    }

    /// Says whether a table exists.
    pub fn has_table(&self, name: &str) -> bool {
        let sql = "SELECT 1 FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ?1";
        self.connection.query_row(sql, [name], |_| Ok(())).is_ok()
    }

    /// Calls `each` with every row of a result.
    pub fn each_row(
        &self,
        sql: &str,
        values: &[&dyn ToSql],
        mut each: impl FnMut(ForeignRow<'_, '_>),
    ) -> Result<()> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(values)?;
        while let Some(row) = rows.next()? {
            each(ForeignRow(row));
        }
        Ok(())
    }
}

impl ForeignRow<'_, '_> {
    /// Returns a column as text, also if it is a blob of valid UTF-8.
    pub fn text(&self, column: usize) -> Option<&str> {
        match self.0.get_ref(column).ok()? {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    pub fn integer(&self, column: usize) -> Option<i64> {
        match self.0.get_ref(column).ok()? {
            ValueRef::Integer(number) => Some(number),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "times and counts are whole"
            )]
            ValueRef::Real(number) => Some(number as i64),
            _ => None,
        }
    }

    pub fn real(&self, column: usize) -> Option<f64> {
        match self.0.get_ref(column).ok()? {
            ValueRef::Integer(number) => Some(number as f64),
            ValueRef::Real(number) => Some(number),
            _ => None,
        }
    }
}

/// Returns the path of a database's write-ahead log.
pub fn wal_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

/// Returns the database of a side file, such as a write-ahead log, by its name.
pub fn database_of(beside: &Path) -> Option<PathBuf> {
    let name = beside.file_name()?.to_str()?;
    let database = ["-wal", "-shm", "-journal"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))?;
    Some(beside.with_file_name(database))
}

type FileStamp = Option<(u64, Option<std::time::SystemTime>)>;

fn file_stamps(path: &Path) -> Result<(FileStamp, FileStamp)> {
    let of = |path: &Path| {
        fs::metadata(path)
            .ok()
            .map(|file| (file.len(), file.modified().ok()))
    };
    let file = of(path);
    if file.is_none() {
        fs::metadata(path).map_err(Error::io(path))?;
    }
    Ok((file, of(&wal_path(path))))
}

fn open_immutable(path: &Path) -> Result<Connection> {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'%' | b'?' | b'#' | b' ' | 0..0x20 | 0x7f.. => uri.push_str(&format!("%{byte:02x}")),
            byte => uri.push(char::from(*byte)),
        }
    }
    uri.push_str("?mode=ro&immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Ok(Connection::open_with_flags(uri, flags)?)
}

const WAL_HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;

/// Applies the committed pages of a write-ahead log to a database image.
fn apply_wal(image: &mut Vec<u8>, log: &[u8]) {
    let mut pages = 0;
    if let Some((page_bytes, frames)) = committed_frames(log) {
        for (number, commit, page) in frames {
            let start = (number as usize - 1) * page_bytes;
            if image.len() < start + page_bytes {
                image.resize(start + page_bytes, 0);
            }
            image[start..start + page_bytes].copy_from_slice(page);
            if commit > 0 {
                pages = commit as usize;
            }
        }
        if pages > 0 {
            image.truncate(pages * page_bytes);
        }
    }
    // A database in memory has no log, so its header must say that it uses none.
    if image.len() >= 20 {
        image[18] = 1;
        image[19] = 1;
    }
}

type Frame<'a> = (u32, u32, &'a [u8]);

/// Returns the page size and the complete frames up to the last commit.
fn committed_frames(log: &[u8]) -> Option<(usize, Vec<Frame<'_>>)> {
    let word = |at: usize| -> Option<u32> {
        Some(u32::from_be_bytes(log.get(at..at + 4)?.try_into().ok()?))
    };
    let big_endian = match word(0)? {
        0x377f_0682 => false,
        0x377f_0683 => true,
        _ => return None,
    };
    let page_bytes = word(8)? as usize;
    let salts = (word(16)?, word(20)?);
    let mut sum = wal_checksum((0, 0), log.get(..24)?, big_endian);
    if sum != (word(24)?, word(28)?) || !page_bytes.is_power_of_two() {
        return None;
    }
    let mut frames = Vec::new();
    let mut whole = 0;
    let mut at = WAL_HEADER_BYTES;
    while let Some(frame) = log.get(at..at + FRAME_HEADER_BYTES + page_bytes) {
        let (number, commit) = (word(at)?, word(at + 4)?);
        sum = wal_checksum(sum, &frame[..8], big_endian);
        sum = wal_checksum(sum, &frame[FRAME_HEADER_BYTES..], big_endian);
        let sound = (word(at + 8)?, word(at + 12)?) == salts
            && (word(at + 16)?, word(at + 20)?) == sum
            && number > 0;
        if !sound {
            break;
        }
        frames.push((number, commit, &frame[FRAME_HEADER_BYTES..]));
        if commit > 0 {
            whole = frames.len();
        }
        at += FRAME_HEADER_BYTES + page_bytes;
    }
    frames.truncate(whole);
    Some((page_bytes, frames))
}

/// Returns the checksum of a write-ahead log as SQLite's file format defines it.
fn wal_checksum(start: (u32, u32), bytes: &[u8], big_endian: bool) -> (u32, u32) {
    let word = |four: &[u8]| {
        let four = <[u8; 4]>::try_from(four).unwrap_or_default();
        if big_endian {
            u32::from_be_bytes(four)
        } else {
            u32::from_le_bytes(four)
        }
    };
    bytes.chunks_exact(8).fold(start, |(a, b), pair| {
        let a = a.wrapping_add(word(&pair[..4])).wrapping_add(b);
        let b = b.wrapping_add(word(&pair[4..])).wrapping_add(a);
        (a, b)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(folder: &Path) -> Vec<(String, Vec<u8>)> {
        let mut files: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().path())
            .map(|path| (path.display().to_string(), fs::read(&path).unwrap()))
            .collect();
        files.sort();
        files
    }

    fn texts(database: &ForeignDatabase) -> Vec<String> {
        let mut all = Vec::new();
        let sql = "SELECT x FROM t ORDER BY rowid";
        database
            .each_row(sql, &[], |row| all.push(row.text(0).unwrap().to_owned()))
            .unwrap();
        all
    }

    #[test]
    fn what_is_only_in_the_log_is_read_and_nothing_is_touched() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("odd name #1?.db");
        let writer = Connection::open(&path).unwrap();
        writer.pragma_update(None, "journal_mode", "wal").unwrap();
        writer
            .execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES ('in the file');")
            .unwrap();
        writer
            .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
            .unwrap();
        writer
            .execute_batch("INSERT INTO t VALUES ('in the log')")
            .unwrap();
        writer
            .execute_batch("BEGIN; INSERT INTO t VALUES ('not committed')")
            .unwrap();
        let before = listing(dir.path());
        let database = ForeignDatabase::open(&path).unwrap();
        assert_eq!(texts(&database), ["in the file", "in the log"]);
        assert!(database.has_table("t") && !database.has_table("u"));
        assert_eq!(listing(dir.path()), before);
        writer.execute_batch("COMMIT").unwrap();
        drop(writer);
        assert_eq!(texts(&ForeignDatabase::open(&path).unwrap()).len(), 3);
    }

    #[test]
    fn a_damaged_log_counts_up_to_the_damage() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.db");
        let writer = Connection::open(&path).unwrap();
        writer.pragma_update(None, "journal_mode", "wal").unwrap();
        writer
            .execute_batch("CREATE TABLE t (x); PRAGMA wal_checkpoint(TRUNCATE);")
            .unwrap();
        for text in ["a", "b", "c"] {
            writer.execute("INSERT INTO t VALUES (?1)", [text]).unwrap();
        }
        let mut log = fs::read(wal_path(&path)).unwrap();
        let end = log.len() - 100;
        log.truncate(end);
        let copy = dir.path().join("copy.db");
        fs::copy(&path, &copy).unwrap();
        fs::write(wal_path(&copy), log).unwrap();
        assert_eq!(texts(&ForeignDatabase::open(&copy).unwrap()), ["a", "b"]);
    }

    #[test]
    fn what_is_no_database_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.db");
        fs::write(&path, "no database at all, just text".repeat(100)).unwrap();
        assert!(ForeignDatabase::open(&path).is_err());
        assert!(ForeignDatabase::open(&dir.path().join("absent.db")).is_err());
    }
}
