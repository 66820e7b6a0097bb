//! SQLite connections: the one that writes, those that read, and their settings.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::migrations::{check_application_id, current_format, format_version, migrate};
use super::safety_copy;
use crate::encryption::{self, EncryptionKey};
use crate::error::{Error, Result};
use crate::files;
use crate::lifecycle::forget::traces;

/// The size to which the write-ahead log is truncated after it was larger. It only grows beyond
/// this while a reader keeps an old snapshot open.
pub(crate) const WAL_BYTES_MAX: u64 = 64 << 20;
/// A write-ahead log that is no longer than its header holds no page.
const WAL_HEADER_BYTES: u64 = 32;

/// How long a connection waits for another process's write before it fails. It is longer than any
/// transaction of ours.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(30);
/// A connection warns after waiting this long for another process.
const BUSY_NOTICE: Duration = Duration::from_secs(2);
const BUSY_INTERVAL: Duration = Duration::from_millis(5);

/// How often switching to the write-ahead log is tried while other processes create the same store:
/// five seconds in all.
const LOCKED_ATTEMPTS: u32 = 500;
const LOCKED_INTERVAL: Duration = Duration::from_millis(10);

/// How many prepared statements a connection caches. Answering a prompt needs about thirty, and
/// writing a batch about as many: with fewer, each batch would compile them again.
const STATEMENT_CACHE_CAPACITY: usize = 96;

/// Opens the one connection that writes, creating and migrating the store as needed.
pub(crate) fn open_writer(path: &Path, key: Option<&EncryptionKey>) -> Result<Connection> {
    require_supported_sqlite()?;
    if let Some(parent) = path.parent() {
        files::create_private_dir(parent)?;
    }
    check_orphan_wal(path)?;
    files::create_private_file(path)?;
    let mut connection = connect(path, key)?;
    apply_pragmas(&connection)?;
    let found = format_version(&connection)?;
    if (1..current_format()).contains(&found) {
        safety_copy::write_safety_copy(&connection, path, found)?;
    }
    migrate(&mut connection, path, current_format())?;
    Ok(connection)
}

/// Creates an empty store in an earlier format, or in the current one.
pub(crate) fn create_at_format(path: &Path, format: i64) -> Result<Connection> {
    files::create_private_file(path)?;
    let mut connection = Connection::open(path)?;
    apply_pragmas(&connection)?;
    migrate(&mut connection, path, format)?;
    Ok(connection)
}

fn apply_pragmas(connection: &Connection) -> Result<()> {
    harden(connection)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE_CAPACITY);
    enable_wal(connection)?;
    connection.execute_batch(&format!(
        "PRAGMA foreign_keys = OFF;
         PRAGMA synchronous = FULL;
         PRAGMA wal_autocheckpoint = 4000;
         PRAGMA journal_size_limit = {WAL_BYTES_MAX};
         PRAGMA secure_delete = ON;
         PRAGMA cache_size = -32000;
         PRAGMA temp_store = MEMORY;"
    ))?;
    Ok(())
}

/// Switches to a write-ahead log. SQLite ignores the busy handler here: while other processes
/// switch the same new database, it reports "locked" at once, so the switch is retried.
fn enable_wal(connection: &Connection) -> Result<()> {
    let mut attempts = LOCKED_ATTEMPTS;
    loop {
        match connection.pragma_update(None, "journal_mode", "wal") {
            Err(error) if attempts > 0 && is_busy(&error) => std::thread::sleep(LOCKED_INTERVAL),
            switched => return Ok(switched?),
        }
        attempts -= 1;
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

/// Makes a connection wait for the writes of other processes, and warn when that takes long.
pub(crate) fn set_busy_handler(connection: &mut Connection) -> Result<()> {
    fn wait(attempts: i32) -> bool {
        let waited = BUSY_INTERVAL.saturating_mul(u32::try_from(attempts).unwrap_or(u32::MAX));
        if waited >= BUSY_NOTICE && waited < BUSY_NOTICE + BUSY_INTERVAL {
            tracing::warn!(
                "another process is writing to the store; waiting up to {} s for it",
                BUSY_TIMEOUT.as_secs()
            );
        }
        if waited >= BUSY_TIMEOUT {
            return false;
        }
        std::thread::sleep(BUSY_INTERVAL);
        true
    }
    Ok(connection.busy_handler(Some(wait))?)
}

/// Opens one of Throughline's databases without changing its settings or its format.
pub(crate) fn connect(path: &Path, key: Option<&EncryptionKey>) -> Result<Connection> {
    let mut connection = Connection::open(path)?;
    set_busy_handler(&mut connection)?;
    encryption::unlock(&connection, path, key)?;
    check_application_id(&connection, path)?;
    Ok(connection)
}

/// How a connection reads the pages of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileAccess {
    /// Through a memory map: fast from the first page on, but every page it has touched counts as
    /// memory of this process.
    Mapped,
    /// Through a cache of a few megabytes.
    Cached,
}

impl FileAccess {
    /// Returns how much of the file is mapped, in bytes, and how much is cached, in KiB.
    const fn limits(self) -> (u64, u64) {
        match self {
            Self::Mapped => (256 << 20, 16_000),
            Self::Cached => (0, 6_000),
        }
    }
}

/// Opens a connection that cannot write.
pub(crate) fn open_reader(
    path: &Path,
    key: Option<&EncryptionKey>,
    access: FileAccess,
) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    match open_read_only(path, flags, key, access) {
        // In a folder that cannot be written SQLite cannot create the index of its write-ahead log.
        // Without a log the file alone is the store and cannot change, so it is opened as
        // immutable.
        Err(error) if error.is_read_only() && wal_bytes(path) == 0 => {
            let uri = format!("file:{}?immutable=1", escape_uri(path));
            let flags = flags | OpenFlags::SQLITE_OPEN_URI;
            open_read_only(Path::new(&uri), flags, key, access)
        }
        opened => opened,
    }
}

/// Opens a reader for a store that needs no work first: it has the current format, and no deletion
/// is unfinished. Returns `None` for any other store.
pub(crate) fn open_current_reader(path: &Path) -> Result<Option<Connection>> {
    check_orphan_wal(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    check_application_id(&connection, path)?;
    if format_version(&connection)? != current_format() || traces::is_pending(&connection)? {
        return Ok(None);
    }
    configure_reader(&connection, FileAccess::Mapped)?;
    Ok(Some(connection))
}

/// Escapes a path for use in a SQLite URI.
fn escape_uri(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23")
}

fn open_read_only(
    path: &Path,
    flags: OpenFlags,
    key: Option<&EncryptionKey>,
    access: FileAccess,
) -> Result<Connection> {
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    encryption::unlock(&connection, path, key)?;
    configure_reader(&connection, access)?;
    // SQLite reads the file only with the first query, so this also reports a file it cannot read.
    let found = format_version(&connection)?;
    if key.is_none() && (1..current_format()).contains(&found) {
        return migrate_in_memory(&connection, path);
    }
    Ok(connection)
}

fn configure_reader(connection: &Connection, access: FileAccess) -> Result<()> {
    harden(connection)?;
    connection.set_prepared_statement_cache_capacity(STATEMENT_CACHE_CAPACITY);
    let (mapped_bytes, cached_kib) = access.limits();
    connection.execute_batch(&format!(
        "PRAGMA query_only = ON;
         PRAGMA cache_size = -{cached_kib};
         PRAGMA mmap_size = {mapped_bytes};
         PRAGMA temp_store = MEMORY;"
    ))?;
    Ok(())
}

/// Migrates a copy of an older store in memory and leaves the file alone. An older store is only
/// read this way where it cannot be written; anywhere else it was migrated before.
fn migrate_in_memory(old: &Connection, path: &Path) -> Result<Connection> {
    let mut memory = Connection::open_in_memory()?;
    rusqlite::backup::Backup::new(old, &mut memory)?.step(-1)?;
    harden(&memory)?;
    migrate(&mut memory, path, current_format())?;
    memory.pragma_update(None, "query_only", true)?;
    Ok(memory)
}

fn harden(connection: &Connection) -> Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    // Keeps query plans stable: otherwise SQLite may plan a statement again for each bound value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(())
}

/// Refuses SQLite before 3.51.3, where a checkpoint that races a writer can corrupt the file.
fn require_supported_sqlite() -> Result<()> {
    if rusqlite::version_number() < 3_051_003 {
        return Err(Error::UnsupportedSqlite(rusqlite::version().to_owned()));
    }
    Ok(())
}

/// Fails for a write-ahead log without its database: SQLite would delete the log, and with it
/// acknowledged writes.
fn check_orphan_wal(path: &Path) -> Result<()> {
    // The log is checked first, because a process that creates the store creates the database
    // first.
    let has_pages = wal_bytes(path) > WAL_HEADER_BYTES;
    if has_pages && !fs::metadata(path).is_ok_and(|file| file.len() > 0) {
        return Err(Error::WalWithoutDatabase {
            path: path.to_owned(),
        });
    }
    Ok(())
}

/// Returns the size of the write-ahead log of a database.
pub(crate) fn wal_bytes(path: &Path) -> u64 {
    fs::metadata(files::with_suffix(path, "-wal")).map_or(0, |file| file.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open::migrations::{APPLICATION_ID, MIGRATIONS};

    #[test]
    fn a_newer_store_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.db");
        open_writer(&path, None)
            .unwrap()
            .pragma_update(None, "user_version", 999)
            .unwrap();
        let error = open_writer(&path, None).unwrap_err();
        assert!(matches!(error, Error::TooNew { found: 999, .. }), "{error}");
    }

    #[test]
    fn another_programs_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.db");
        Connection::open(&path)
            .unwrap()
            .execute_batch("CREATE TABLE theirs (x)")
            .unwrap();
        assert!(matches!(
            open_writer(&path, None).unwrap_err(),
            Error::NotAStore { .. }
        ));
        let text = dir.path().join("notes.txt");
        fs::write(
            &text,
            "just some text, long enough to be read as a header of a file".repeat(20),
        )
        .unwrap();
        assert!(matches!(
            open_writer(&text, None).unwrap_err(),
            Error::NotAStore { .. }
        ));
    }

    #[test]
    fn a_store_from_before_summaries_opens() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.db");
        let old = Connection::open(&path).unwrap();
        for migration in &MIGRATIONS[..2] {
            old.execute_batch(migration).unwrap();
        }
        old.pragma_update(None, "application_id", APPLICATION_ID)
            .unwrap();
        old.execute_batch(
            "PRAGMA user_version = 2;
             INSERT INTO sessions (name, flavor) VALUES ('claude:s', 'claude')",
        )
        .unwrap();
        drop(old);
        let new = open_writer(&path, None).unwrap();
        let sql = "SELECT count(*) FROM sessions s LEFT JOIN summaries m ON m.session = s.id";
        let count: i64 = new.query_row(sql, [], |row| row.get(0)).unwrap();
        assert_eq!(count, 1);
        assert_eq!(format_version(&new).unwrap(), MIGRATIONS.len() as i64);
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_reads() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("home").join("t.db");
        let connection = open_writer(&path, None).unwrap();
        connection
            .execute_batch("INSERT INTO workspaces (key) VALUES ('k')")
            .unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        for file in fs::read_dir(path.parent().unwrap()).unwrap() {
            let file = file.unwrap().path();
            assert_eq!(mode(&file), 0o600, "{}", file.display());
        }
    }

    #[test]
    fn opening_at_once_makes_one_store() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.db");
        std::thread::scope(|scope| {
            let opened: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| open_writer(&path, None).map(drop)))
                .collect();
            for thread in opened {
                thread.join().unwrap().unwrap();
            }
        });
    }
}
