//! Opening the file: who may read it, which settings, which version.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};

use crate::encryption::{self, EncryptionKey};
use crate::error::{Error, Result};
use crate::index;
use crate::index::digest_rows;
use crate::open::safety_copy;

/// "thrl", so that `file` and we can tell our files from others.
pub(crate) const APPLICATION_ID: i64 = 0x7468_726c;

/// Only ever appended to. A store's `user_version` is the number of those that ran.
const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_start.sql"),
    include_str!("../migrations/0002_facts.sql"),
    include_str!("../migrations/0003_digests.sql"),
    include_str!("../migrations/0004_forget.sql"),
    include_str!("../migrations/0005_search.sql"),
    include_str!("../migrations/0006_injections.sql"),
    include_str!("../migrations/0007_summaries.sql"),
    include_str!("../migrations/0008_terms_go_at_once.sql"),
    include_str!("../migrations/0009_retention.sql"),
    include_str!("../migrations/0010_detached_records.sql"),
    include_str!("../migrations/0011_raw_hash.sql"),
];

/// How many had run when the search index got its present form.
const INDEX_FORMAT: i64 = 8;
/// What the log is cut back to when it has been larger. Only a reader that stays open makes it so.
pub(crate) const WAL_BYTES_MAX: u64 = 64 << 20;
/// A log with no more than its header holds nothing.
const WAL_HEADER_BYTES: u64 = 32;

/// Longer than any of our own transactions; another process's write is waited for, not reported.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// How often a store that others are just making is tried again: some seconds in all.
const LOCKED_ATTEMPTS: u32 = 500;
const LOCKED_INTERVAL: Duration = Duration::from_millis(10);

/// Opens the one connection that writes, making and migrating the store as needed.
pub(crate) fn open_writer(path: &Path, key: Option<&EncryptionKey>) -> Result<Connection> {
    require_supported_sqlite()?;
    if let Some(parent) = path.parent() {
        create_private_dir(parent)?;
    }
    check_orphan_wal(path)?;
    create_private_file(path)?;
    let mut connection = connect(path, key)?;
    apply_pragmas(&connection)?;
    let found = format_version(&connection)?;
    if (1..current_format()).contains(&found) {
        safety_copy::write_safety_copy(&connection, path, found)?;
    }
    migrate(&mut connection, path, current_format())?;
    Ok(connection)
}

/// Makes a store of an earlier format, or of ours.
pub(crate) fn create_at_format(path: &Path, format: i64) -> Result<Connection> {
    create_private_file(path)?;
    let mut connection = Connection::open(path)?;
    apply_pragmas(&connection)?;
    migrate(&mut connection, path, format)?;
    Ok(connection)
}

fn apply_pragmas(connection: &Connection) -> Result<()> {
    harden(connection)?;
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

/// Switches to a write-ahead log. While others do the same in a store that is just being made, SQLite says that
/// it is locked without waiting as it was told to.
fn enable_wal(connection: &Connection) -> Result<()> {
    let mut tries = LOCKED_ATTEMPTS;
    loop {
        match connection.pragma_update(None, "journal_mode", "wal") {
            Err(error) if tries > 0 && is_busy(&error) => std::thread::sleep(LOCKED_INTERVAL),
            switched => return Ok(switched?),
        }
        tries -= 1;
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
}

/// How long another process's write is waited for before somebody is told.
const BUSY_NOTICE: Duration = Duration::from_secs(2);
/// How long each look at the write lock is apart from the next.
const BUSY_INTERVAL: Duration = Duration::from_millis(5);

/// Lets a connection wait for the writes of other processes, and say so when it takes long.
pub(crate) fn set_busy_handler(connection: &mut Connection) -> Result<()> {
    fn wait(tries: i32) -> bool {
        let waited = BUSY_INTERVAL.saturating_mul(u32::try_from(tries).unwrap_or(u32::MAX));
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

/// Opens one of our files as it is: no settings, no migration.
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
    /// Through a mapping of the file: fast from the first page on, but every page it has touched
    /// counts as memory of this process.
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

/// Statements that a connection keeps prepared. A prompt needs about thirty.
const STATEMENT_CACHE_CAPACITY: usize = 96;

/// Opens a connection that cannot write.
pub(crate) fn open_reader(
    path: &Path,
    key: Option<&EncryptionKey>,
    access: FileAccess,
) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    match open_read_only(path, flags, key, access) {
        // Where nothing can be written there can be no index of the log. Without a log, the file
        // alone is the store, and nobody can change it: SQLite may be told so.
        Err(error) if error.is_read_only() && wal_bytes(path) == 0 => {
            let uri = format!("file:{}?immutable=1", escape_uri(path));
            let flags = flags | OpenFlags::SQLITE_OPEN_URI;
            open_read_only(Path::new(&uri), flags, key, access)
        }
        opened => opened,
    }
}

/// Opens a connection that cannot write to a store in which nothing has to be done first: it is of our format, and
/// nothing that was forgotten has left traces. `None` for any other.
pub(crate) fn open_current_reader(path: &Path) -> Result<Option<Connection>> {
    check_orphan_wal(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    check_application_id(&connection, path)?;
    if format_version(&connection)? != current_format()
        || crate::lifecycle::forget::traces::is_pending(&connection)?
    {
        return Ok(None);
    }
    configure_reader(&connection, FileAccess::Mapped)?;
    Ok(Some(connection))
}

/// Writes a path as part of a URI.
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
    // SQLite looks at the file only when it is asked something.
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

/// Returns an older store as today's, without touching it. Only where nothing can be written does
/// anybody read one that was not brought up to date before.
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
    // Else a statement may be planned anew for each value that is put into it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(())
}

/// A checkpoint racing a writer could corrupt the file before 3.51.3.
fn require_supported_sqlite() -> Result<()> {
    if rusqlite::version_number() < 3_051_003 {
        return Err(Error::UnsupportedSqlite(rusqlite::version().to_owned()));
    }
    Ok(())
}

pub(crate) fn check_application_id(connection: &Connection, path: &Path) -> Result<()> {
    let not_ours = |error: rusqlite::Error| match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => Error::NotAStore {
            path: path.to_owned(),
        },
        _ => error.into(),
    };
    // One statement, so that a store that is just being made is seen before or after, not between.
    let sql = "SELECT (SELECT application_id FROM pragma_application_id),
        (SELECT count(*) FROM sqlite_schema)";
    let (id, tables): (i64, i64) = connection
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .map_err(not_ours)?;
    if id != APPLICATION_ID && tables > 0 {
        return Err(Error::NotAStore {
            path: path.to_owned(),
        });
    }
    Ok(())
}

/// Returns the format that this program writes.
pub(crate) fn current_format() -> i64 {
    i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX)
}

pub(crate) fn migrate(connection: &mut Connection, path: &Path, known: i64) -> Result<()> {
    if format_version(connection)? == known {
        return Ok(());
    }
    // Another process may be migrating too: the version counts only once we hold the lock.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    run_migrations(&transaction, path, known)?;
    transaction.commit()?;
    Ok(())
}

/// Runs the migrations that a store lacks.
pub(crate) fn run_migrations(transaction: &Transaction<'_>, path: &Path, known: i64) -> Result<()> {
    let found = format_version(transaction)?;
    if found > known {
        return Err(Error::TooNew {
            path: path.to_owned(),
            found,
            known,
        });
    }
    let number = |format: i64| usize::try_from(format).unwrap_or(0);
    for migration in MIGRATIONS.iter().take(number(known)).skip(number(found)) {
        transaction.execute_batch(migration)?;
    }
    if (1..INDEX_FORMAT).contains(&found) {
        tracing::info!(path = %path.display(), "the search index is made anew");
        index::rebuild(transaction, &|_, _| {})?;
    }
    if known == current_format() {
        digest_rows::index_missing(transaction)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", known)?;
    Ok(())
}

/// SQLite throws a log away whose database is missing or empty; what was acknowledged is in it.
fn check_orphan_wal(path: &Path) -> Result<()> {
    // The log is looked at first: another process may be making the store, and makes the file
    // before its log.
    let has_log = wal_bytes(path) > WAL_HEADER_BYTES;
    if has_log && !fs::metadata(path).is_ok_and(|file| file.len() > 0) {
        return Err(Error::WalWithoutDatabase {
            path: path.to_owned(),
        });
    }
    Ok(())
}

/// Returns the size of the log beside a database.
pub(crate) fn wal_bytes(path: &Path) -> u64 {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    fs::metadata(log).map_or(0, |file| file.len())
}

pub(crate) fn format_version(connection: &Connection) -> Result<i64> {
    Ok(connection.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

/// Fails unless a folder belongs to this user and only this user can write to it. Whoever can write
/// to it can put another store, key or socket in the place of ours. A folder that is not there yet
/// is made private later.
#[cfg(unix)]
pub fn check_folder(folder: &Path) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let metadata = match fs::metadata(folder) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(Error::io(folder)(error)),
    };
    let user = rustix::process::geteuid().as_raw();
    let (owner, mode) = (metadata.uid(), metadata.mode() & 0o7777);
    let unsafe_folder = |why: String, fix: String| Error::UnsafeFolder {
        path: folder.to_owned(),
        why,
        fix: format!("{fix} {}", folder.display()),
    };
    if owner != user {
        let why = format!("it belongs to user {owner}, and you are user {user}");
        return Err(unsafe_folder(why, format!("sudo chown -R {user}")));
    }
    if mode & 0o022 != 0 {
        let why = format!("other users can write to it (mode {mode:04o})");
        return Err(unsafe_folder(why, "chmod 700".to_owned()));
    }
    Ok(())
}

/// Elsewhere the profile's folders are the user's own.
#[cfg(not(unix))]
pub fn check_folder(_: &Path) -> Result<()> {
    Ok(())
}

/// Makes a folder that only its owner can enter.
pub(crate) fn create_private_dir(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(Error::io(path))
}

/// Makes a file that only its owner can read. SQLite gives its side files the same mode.
pub(crate) fn create_private_file(path: &Path) -> Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(Error::io(path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
