//! Repair: builds a new store from everything that can still be read of a damaged one.
//!
//! The damaged file is read page by page ([`salvage`], by the [`layout`] of its tables), the rows
//! are made consistent ([`consistency`]), and the new store replaces the old one. The damaged file
//! is kept beside it unchanged; only the latest quarantine is kept. The old file is replaced only
//! when the new one is complete, and from then on the next process that opens the store finishes
//! the swap. A crash at any point leaves either the old store or the new one.

mod consistency;
mod layout;
mod salvage;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};
use serde::Serialize;

use crate::Store;
use crate::backup::swap;
use crate::encryption::StoreFileKind;
use crate::error::{Error, Result};
use crate::files;
use crate::open::migrations;
use crate::open::{connection, lock};
use crate::salvage::pages::DatabaseImage;

/// The file in which the new store is built.
const WORKSHOP: &str = "repair";
/// The new store when it is complete.
const READY: &str = "ready.db";
/// The folder that keeps the damaged store.
const QUARANTINE: &str = "quarantine";
/// The suffixes of a store's files.
const PARTS: [&str; 3] = ["", "-wal", "-shm"];

/// What a repair recovered and what was lost.
#[derive(Clone, Debug, Default, Serialize)]
pub struct RepairReport {
    /// Records that were recovered, each with the text that was written.
    pub records: u64,
    pub lost_records: u64,
    /// How many records each session lost.
    pub sessions: BTreeMap<String, u64>,
    /// The lost records, as far as their ids are known.
    pub lost_ids: Vec<String>,
    /// Tables with unreadable pages or rows, and how many of each.
    pub hurt: BTreeMap<String, (usize, usize)>,
    /// Logs that the next sweep reads again from their start.
    pub reread: Vec<String>,
    /// Logs of lost records that no longer exist.
    pub gone: Vec<String>,
    /// True when tombstones were lost. Forgotten records could come back if the logs were read
    /// again, so they are not.
    pub may_return: bool,
    /// Logs that are not read again for that reason.
    pub held_back: Vec<String>,
    /// The folder that keeps the damaged store.
    pub quarantine: PathBuf,
}

/// Builds a new store from the readable part of the one in a folder. No other process may have it
/// open.
pub fn repair(folder: &Path) -> Result<RepairReport> {
    let _alone = lock::lock_exclusive(folder)?;
    swap::recover_swap(folder)?;
    let store = Store::database_path(folder);
    if let StoreFileKind::Encrypted(_) = StoreFileKind::of(&store)? {
        return Err(Error::InvalidFile {
            path: store,
            why: "it is encrypted, and a repair reads plain files only; restore a backup"
                .to_owned(),
        });
    }
    let workshop = folder.join(WORKSHOP);
    files::remove_dir_if_exists(&workshop)?;
    files::create_private_dir(&workshop)?;
    let mut repaired = match make(&store, &workshop) {
        Ok(repaired) => repaired,
        Err(error) => {
            files::remove_dir_if_exists(&workshop)?;
            return Err(error);
        }
    };
    repaired.quarantine = move_to_quarantine(folder, &store)?;
    let ready = workshop.join(READY);
    rename(&workshop.join("new.db"), &ready)?;
    files::sync_folder(&workshop)?;
    finish(folder)?;
    Ok(repaired)
}

/// Swaps the stores when a new one is ready. SQLite must not find the old store's log beside the
/// new store.
pub(crate) fn finish(folder: &Path) -> Result<()> {
    let workshop = folder.join(WORKSHOP);
    let ready = workshop.join(READY);
    if !ready.exists() {
        return Ok(());
    }
    let store = Store::database_path(folder);
    for part in &PARTS[1..] {
        files::remove_if_exists(&files::with_suffix(&store, part))?;
    }
    rename(&ready, &store)?;
    files::sync_folder(folder)?;
    files::remove_dir_if_exists(&workshop)
}

/// Returns whether a completed new store waits for the swap.
pub(crate) fn is_unfinished(folder: &Path) -> bool {
    folder.join(WORKSHOP).join(READY).exists()
}

fn make(store: &Path, workshop: &Path) -> Result<RepairReport> {
    let image = DatabaseImage::open(store, &files::with_suffix(store, "-wal"))?;
    let path = workshop.join("new.db");
    let mut new = connection::create_at_format(&path, format(&image))?;
    // No other process sees the file before it is complete, so it needs no write-ahead log, which
    // would be as large as the file.
    new.pragma_update(None, "journal_mode", "memory")?;
    let transaction = new.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let salvaged = salvage::salvage(&image, &transaction)?;
    if salvaged.kept_rows.is_empty() {
        return Err(Error::NothingRecoverable {
            path: store.to_owned(),
        });
    }
    // Rows are read with the schema of their own version and completed with the current one.
    migrations::run_migrations(&transaction, &path, migrations::current_format())?;
    let mut repaired = consistency::make_consistent(&transaction, &salvaged)?;
    transaction.commit()?;
    repaired.hurt = salvaged
        .damage
        .into_iter()
        .map(|(table, hurt)| (table, (hurt.pages, hurt.rows)))
        .collect();
    close(new, &path)?;
    Ok(repaired)
}

/// Returns the schema version of a damaged store: that of its header, or else the current one.
fn format(image: &DatabaseImage) -> i64 {
    let known = migrations::current_format();
    let is_ours = image.header_u32(68).map(i64::from) == Some(migrations::APPLICATION_ID);
    match image.header_u32(60).map(i64::from) {
        Some(format) if is_ours && (1..=known).contains(&format) => format,
        _ => known,
    }
}

/// Checkpoints the log into the database file and syncs it.
fn close(connection: Connection, path: &Path) -> Result<()> {
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
    connection.close().map_err(|(_, error)| error)?;
    let file = fs::File::open(path).map_err(Error::io(path))?;
    file.sync_all().map_err(Error::io(path))
}

/// Moves the damaged store to quarantine unchanged, and deletes the quarantine of an earlier
/// repair.
fn move_to_quarantine(folder: &Path, store: &Path) -> Result<PathBuf> {
    let (quarantine, incoming) = (
        folder.join(QUARANTINE),
        folder.join(format!("{QUARANTINE}.new")),
    );
    files::remove_dir_if_exists(&incoming)?;
    files::create_private_dir(&incoming)?;
    for part in PARTS {
        let from = files::with_suffix(store, part);
        let to = files::with_suffix(&incoming.join("throughline.db"), part);
        if !from.exists() {
            continue;
        }
        // A hard link costs no space, but not every file system supports it.
        if fs::hard_link(&from, &to).is_err() {
            fs::copy(&from, &to).map_err(Error::io(&to))?;
        }
    }
    files::remove_dir_if_exists(&quarantine)?;
    rename(&incoming, &quarantine)?;
    Ok(quarantine)
}

/// Returns the folder that keeps the damaged store.
pub(crate) fn quarantine_folder(store: &Path) -> PathBuf {
    store.with_file_name(QUARANTINE)
}

fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(Error::io(to))
}
