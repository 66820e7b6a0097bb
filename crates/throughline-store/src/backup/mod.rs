//! Backups: a copy of the store in one file, made while the store is in use.
//!
//! A backup is a snapshot, however long it takes and whatever is written meanwhile. It is encrypted
//! if the store is, and it contains the redaction key: with another key the same secret would get
//! another mark, and a text that is read again another id.

pub(crate) mod restore;
pub(crate) mod swap;

use std::path::Path;

use rusqlite::Connection;
use rusqlite::backup::StepResult;
use serde::Serialize;

use crate::encryption::EncryptionKey;
use crate::error::{Error, Result};
use crate::files;
use crate::open::connection;
use crate::salvage::verify;
use crate::{REDACTION_KEY_FILE, Store, installation_key};

/// How many pages are copied at a time: four megabytes.
const STEP_PAGES: i32 = 1024;

/// A backup that was written.
#[derive(Clone, Debug, Serialize)]
pub struct BackupReport {
    pub records: u64,
    pub size_bytes: u64,
    /// The id of the key that opens it.
    pub key: Option<String>,
}

/// Whether an existing file may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    Refuse,
    Replace,
}

/// How far a copy has come.
#[derive(Clone, Copy, Debug)]
pub struct CopyProgress {
    pub done_pages: u64,
    pub total_pages: u64,
}

impl Store {
    /// Copies the store to a file, which gets its name once it is complete and checked.
    pub fn backup(
        &self,
        to: &Path,
        overwrite: Overwrite,
        progress: &mut dyn FnMut(CopyProgress),
    ) -> Result<BackupReport> {
        self.check_backup_target(to, overwrite)?;
        let partial = files::with_suffix(to, "-partial");
        for suffix in ["", "-journal", "-wal", "-shm"] {
            files::remove_if_exists(&files::with_suffix(&partial, suffix))?;
        }
        files::create_private_file(&partial)?;
        let made = self.write_backup(&partial, progress).and_then(|records| {
            files::sync_file(&partial)?;
            self.check_backup_target(to, overwrite)?;
            std::fs::rename(&partial, to).map_err(Error::io(to))?;
            Ok(records)
        });
        if made.is_err() {
            files::remove_if_exists(&partial)?;
        }
        let records = made?;
        if let Some(parent) = to.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            files::sync_folder(parent)?;
        }
        Ok(BackupReport {
            records,
            size_bytes: std::fs::metadata(to).map_err(Error::io(to))?.len(),
            key: self.key.as_ref().map(|key| key.id().to_string()),
        })
    }

    fn check_backup_target(&self, to: &Path, overwrite: Overwrite) -> Result<()> {
        let is_ours = swap::is_store_file(to, &self.path);
        if is_ours || (overwrite == Overwrite::Refuse && to.exists()) {
            return Err(Error::AlreadyExists {
                path: to.to_owned(),
            });
        }
        Ok(())
    }

    fn write_backup(&self, partial: &Path, progress: &mut dyn FnMut(CopyProgress)) -> Result<u64> {
        let source = connection::open_reader(
            &self.path,
            self.key.as_ref(),
            connection::FileAccess::Cached,
        )?;
        // A snapshot for the whole copy: otherwise every write of another connection would restart
        // it.
        let moment = source.unchecked_transaction()?;
        let records = verify::count_records(&source)?;
        copy_database(&source, partial, self.key.as_ref(), progress)?;
        drop(moment);
        let folder = self.path.parent().unwrap_or(Path::new("."));
        attach_redaction_key(partial, self.key.as_ref(), &installation_key(folder)?)?;
        let copied = connection::connect(partial, self.key.as_ref())?;
        let found = verify::check_integrity(&copied, partial)?;
        if found != records {
            return Err(Error::InvalidFile {
                path: partial.to_owned(),
                why: format!("it has {found} records, but the store has {records}"),
            });
        }
        Ok(records)
    }
}

/// Copies a database page by page into one file.
pub(crate) fn copy_database(
    source: &Connection,
    to: &Path,
    key: Option<&EncryptionKey>,
    progress: &mut dyn FnMut(CopyProgress),
) -> Result<()> {
    let mut target = connection::connect(to, key)?;
    let backup = rusqlite::backup::Backup::new(source, &mut target)?;
    loop {
        let step = backup.step(STEP_PAGES)?;
        let pages = backup.progress();
        let count = |pages: i32| u64::try_from(pages).unwrap_or(0);
        progress(CopyProgress {
            done_pages: count(pages.pagecount - pages.remaining),
            total_pages: count(pages.pagecount),
        });
        match step {
            StepResult::Done => break,
            StepResult::More => {}
            // No other connection has the new file open, and a reader never waits for a writer.
            _ => {
                return Err(Error::InvalidFile {
                    path: to.to_owned(),
                    why: "another process uses it".to_owned(),
                });
            }
        }
    }
    drop(backup);
    // Without a write-ahead log the one file holds everything.
    target.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
    Ok(())
}

/// The extra table of a backup, and the statement that creates it.
pub(crate) const CARRIED_TABLE: &str = "carried";
pub(crate) const CARRIED_TABLE_SQL: &str =
    "CREATE TABLE carried (name TEXT PRIMARY KEY, value BLOB)";

fn attach_redaction_key(
    path: &Path,
    key: Option<&EncryptionKey>,
    redaction_key: &[u8; 32],
) -> Result<()> {
    let connection = connection::connect(path, key)?;
    connection.execute_batch(&format!(
        "DROP TABLE IF EXISTS {CARRIED_TABLE}; {CARRIED_TABLE_SQL}"
    ))?;
    connection.execute(
        "INSERT OR REPLACE INTO carried (name, value) VALUES (?1, ?2)",
        rusqlite::params![REDACTION_KEY_FILE, redaction_key],
    )?;
    Ok(())
}

/// Removes the redaction key from a copy and returns it.
pub(crate) fn detach_redaction_key(connection: &Connection) -> Result<Option<Vec<u8>>> {
    let carries: bool = connection.query_row(
        "SELECT count(*) FROM sqlite_schema WHERE name = 'carried'",
        [],
        |row| row.get(0),
    )?;
    if !carries {
        return Ok(None);
    }
    let key = connection.query_row(
        "SELECT value FROM carried WHERE name = ?1",
        [REDACTION_KEY_FILE],
        |row| row.get(0),
    );
    let key = match key {
        Ok(key) => Some(key),
        Err(rusqlite::Error::QueryReturnedNoRows) => None,
        Err(error) => return Err(error.into()),
    };
    connection.execute_batch("PRAGMA secure_delete = ON; DROP TABLE carried")?;
    Ok(key)
}
