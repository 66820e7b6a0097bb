//! A copy of the store from before a migration, kept for a day in case the migration went wrong.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use rusqlite::Connection;

use crate::Store;
use crate::error::{Error, Result};
use crate::files;
use crate::salvage::repair;

/// The folder of the copy, beside the database.
const SAFETY_FOLDER: &str = "safety";
/// The file that processes lock while they copy.
const SAFETY_LOCK_FILE: &str = "lock";
/// How long the copy is kept.
const SAFETY_RETENTION: SignedDuration = SignedDuration::from_hours(24);

/// Copies a store that is about to be migrated. Only the latest copy is kept. Where the disk has no
/// room for a copy the migration runs without one, because it is one transaction.
pub(crate) fn write_safety_copy(connection: &Connection, store: &Path, format: i64) -> Result<()> {
    let folder = folder_of(store);
    files::create_private_dir(&folder)?;
    let path = folder.join(format!("format-{format}.db"));
    // Several processes may open the same old store; they copy one after the other.
    let _turn = lock_folder(&folder)?;
    let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if found != format {
        return Ok(());
    }
    let temp_path = folder.join(format!("format-{format}.part"));
    let written = vacuum_into(connection, &temp_path);
    match written {
        Ok(()) => {}
        Err(error) if error.is_disk_full() => {
            files::remove_if_exists(&temp_path)?;
            tracing::warn!("no disk space for a safety copy; migrating the store without one");
            return Ok(());
        }
        Err(error) => {
            files::remove_if_exists(&temp_path)?;
            return Err(error);
        }
    }
    for earlier in copy_files(&folder)?
        .iter()
        .filter(|path| **path != temp_path)
    {
        files::remove_if_exists(earlier)?;
    }
    fs::rename(&temp_path, &path).map_err(Error::io(&path))
}

/// Waits until no other process is copying. Where locks are not supported, it does not wait.
fn lock_folder(folder: &Path) -> Result<fs::File> {
    let path = folder.join(SAFETY_LOCK_FILE);
    files::create_private_file(&path)?;
    let file = fs::File::open(&path).map_err(Error::io(&path))?;
    if let Err(error) = file.lock() {
        tracing::debug!(%error, "cannot lock the folder of safety copies; copying without a lock");
    }
    Ok(file)
}

fn vacuum_into(connection: &Connection, path: &Path) -> Result<()> {
    files::remove_if_exists(path)?;
    files::create_private_file(path)?;
    let name = path.to_string_lossy();
    connection.execute("VACUUM INTO ?1", [name.as_ref()])?;
    let file = fs::File::open(path).map_err(Error::io(path))?;
    file.sync_all().map_err(Error::io(path))
}

impl Store {
    /// Lists the copies of the store beside it, from before a migration and from before a repair.
    /// Forgetting something must remove it from them too.
    pub fn safety_copy_paths(&self) -> Vec<PathBuf> {
        let folders = [folder_of(&self.path), repair::quarantine_folder(&self.path)];
        let kept = folders.iter().filter_map(|folder| copy_files(folder).ok());
        kept.flatten().collect()
    }

    /// Removes the safety copy if it is old enough at `now`; without `now`, at any age. Returns
    /// whether it was removed.
    pub fn remove_safety_copy(&self, now: Option<Timestamp>) -> Result<bool> {
        let folder = folder_of(&self.path);
        let mut removed = false;
        for path in copy_files(&folder)? {
            if now.is_none_or(|now| is_older(&path, now)) {
                files::remove_if_exists(&path)?;
                removed = true;
            }
        }
        if removed {
            files::remove_if_exists(&folder.join(SAFETY_LOCK_FILE))?;
            // Another process may be writing a copy; then the folder stays.
            let _not_empty = fs::remove_dir(&folder);
        }
        Ok(removed)
    }
}

/// Returns the folder of safety copies.
fn folder_of(store: &Path) -> PathBuf {
    store.with_file_name(SAFETY_FOLDER)
}

fn is_older(path: &Path, now: Timestamp) -> bool {
    let made = fs::metadata(path).and_then(|file| file.modified()).ok();
    made.and_then(|made| Timestamp::try_from(made).ok())
        .is_some_and(|made| now.duration_since(made) > SAFETY_RETENTION)
}

fn copy_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::io(folder)(error)),
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<_> = paths
        .filter(|path| !path.ends_with(SAFETY_LOCK_FILE))
        .collect();
    files.sort();
    Ok(files)
}
