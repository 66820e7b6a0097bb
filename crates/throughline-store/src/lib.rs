//! The local database, and the only way to it.
//!
//! Captured text enters through the [`clean`] door, where the [`redact`]or sees every string; what
//! comes out is a [`Batch`], and only that can be written. One [`writer`] thread writes, in groups
//! that are acknowledged when they are on disk; readers go beside it. Each noun has a file with its
//! SQL: [`records`] with their texts in [`blocks`] and [`bodies`], [`sessions`], [`workspaces`],
//! [`sources`] with their logs in [`raw`], [`usage`], [`secrets`], [`digests`]. [`portable`] is all of it as text.
//! [`forget`] takes things out again, and [`tombstones`] keep them out; [`rescan`] brings what is stored
//! up to today's rules.
//!
//! What is kept grows smaller with time: [`archive`] packs old sessions, [`retention`] lets go of the
//! raw part of digested ones when there is too much of it, [`housekeeping`] says when what is due.
//!
//! [`repair`] makes a new store of what can be read of a damaged one.
//!
//! SQLite is the truth; the search index can be made anew from the rows.

mod archive;
mod batch;
mod blocks;
mod bodies;
mod clean;
mod digests;
mod dump;
mod error;
pub mod foreign;
pub mod forget;
mod health;
pub mod housekeeping;
mod index;
mod lock;
mod open;
mod pages;
pub mod portable;
mod raw;
mod records;
pub mod redact;
mod repair;
mod rescan;
pub mod retention;
mod safety;
pub mod search;
mod secrets;
mod sessions;
mod snippet;
mod sources;
mod tombstones;
mod usage;
mod workspaces;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

pub use crate::archive::Packed;
pub use crate::batch::{Batch, From, Log, Oddities, Reading, Written};
pub use crate::clean::{Cleaned, Door, Incoming};
pub use crate::digests::{Pending, StoredDigest};
pub use crate::error::{Error, Result};
pub use crate::health::Health;
pub use crate::portable::{ExportFilter, Exported, Imported};
pub use crate::records::StoredRecord;
pub use crate::repair::{Repaired, repair};
pub use crate::rescan::{Rescan, RescanProgress, Which};
pub use crate::search::{Found, Hit, Query, Rung};
pub use crate::sessions::SessionFilter;
pub use crate::snippet::Snippet;
pub use crate::sources::{Cursor, SourceReport, Stamp, UNREAD};
pub use crate::tombstones::{Grave, Lifted, Tombstone};
pub use crate::usage::{UsageFilter, UsageRow};
pub use crate::writer::Ticket;

use crate::redact::Redactor;
use crate::writer::Writer;

/// The name of the database in its folder.
const DATABASE: &str = "throughline.db";
/// The name of the key that marks and fingerprints are made with.
const KEY: &str = "redaction.key";

/// A store, open. Threads share it by reference.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    redactor: Arc<Redactor>,
    writer: Writer,
    readers: Mutex<Vec<Connection>>,
    _held: Option<lock::Held>,
}

impl Store {
    /// Opens the store in a folder, making both as needed.
    pub fn open(folder: &Path) -> Result<Self> {
        open::private_dir(folder)?;
        if repair::is_unfinished(folder) {
            let _alone = lock::alone(folder)?;
            repair::finish(folder)?;
        }
        let held = lock::share(folder)?;
        let path = Self::path_in(folder);
        let redactor = Arc::new(Redactor::new(installation_key(folder)?));
        let writer = Writer::start(&path)?;
        Ok(Self {
            path,
            redactor,
            writer,
            readers: Mutex::default(),
            _held: held,
        })
    }

    /// Opens a store that is there, to read only: nothing is made, migrated or tidied up.
    pub fn open_to_read(folder: &Path) -> Result<Self> {
        let held = lock::share(folder)?;
        let path = Self::path_in(folder);
        let store = Self {
            redactor: Arc::new(Redactor::new(installation_key(folder)?)),
            writer: Writer::none(&path),
            readers: Mutex::new(vec![open::reader(&path)?]),
            path,
            _held: held,
        };
        Ok(store)
    }

    /// Returns where the database of a folder lies.
    pub fn path_in(folder: &Path) -> PathBuf {
        folder.join(DATABASE)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Returns a door for the batches of one source.
    pub fn door(&self) -> Door<'_> {
        Door::new(&self.redactor, |session| {
            self.fingerprints(session).unwrap_or_else(|error| {
                tracing::warn!(%session, %error, "secrets seen before are not known");
                Vec::new()
            })
        })
    }

    fn redactor_handle(&self) -> Arc<Redactor> {
        Arc::clone(&self.redactor)
    }

    fn writer(&self) -> &Writer {
        &self.writer
    }

    /// Reads on a connection of its own, so that nobody waits for anybody.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let idle = self
            .readers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        let connection = match idle {
            Some(connection) => connection,
            None => open::reader(&self.path)?,
        };
        let result = read(&connection);
        self.readers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(connection);
        result
    }
}

/// Returns the key that marks and fingerprints are made with, making it on first use.
pub fn installation_key(folder: &Path) -> Result<[u8; 32]> {
    use std::io::Write;
    open::private_dir(folder)?;
    let path = &folder.join(KEY);
    if let Ok(bytes) = std::fs::read(path)
        && let Ok(key) = <[u8; 32]>::try_from(bytes.as_slice())
    {
        return Ok(key);
    }
    let mut key = [0; 32];
    getrandom::fill(&mut key)
        .map_err(|error| Error::io(path)(std::io::Error::other(error.to_string())))?;
    // Written aside and linked into place: two processes that start at once end with one key.
    let folder = path.parent().unwrap_or(Path::new("."));
    let suffix: String = key[..6].iter().map(|byte| format!("{byte:02x}")).collect();
    let aside = folder.join(format!("{KEY}.{suffix}"));
    open::private_file(&aside)?;
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .open(&aside)
        .map_err(Error::io(&aside))?;
    file.write_all(&key)
        .and_then(|()| file.sync_all())
        .map_err(Error::io(&aside))?;
    let linked = std::fs::hard_link(&aside, path);
    std::fs::remove_file(&aside).map_err(Error::io(&aside))?;
    match linked {
        Ok(()) => Ok(key),
        Err(_) => {
            let bytes = std::fs::read(path).map_err(Error::io(path))?;
            <[u8; 32]>::try_from(bytes.as_slice())
                .map_err(|_| Error::io(path)(std::io::Error::other("not a key of 32 bytes")))
        }
    }
}
