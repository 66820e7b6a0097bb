//! The local database, and the only way to it.
//!
//! Captured text enters through the [`clean`] door, where the redactor sees every string; what
//! comes out is a [`Batch`], and only that can be written. One [`writer`] thread writes, in groups
//! that are acknowledged when they are on disk; readers go beside it. Each noun has a file with its
//! SQL: [`records`] with their texts in [`blocks`] and [`bodies`], [`sessions`], [`workspaces`],
//! [`sources`] with their logs in [`raw`], [`usage`], [`secrets`], [`digests`], [`summaries`]
//! with their [`lease`]s, [`spending`], [`facts`],
//! [`injections`]; [`steps`] and [`touches`] answer what followed what, and who touched a file. [`portable`] is all of it as text.
//! [`timeline`] gives a session page by page, [`feed`] what has changed since.
//! [`forget`] takes things out again, and [`tombstones`] keep them out; [`rescan`] brings what is stored
//! up to today's rules.
//!
//! What is kept grows smaller with time: [`archive`] packs old sessions, [`retention`] lets go of the
//! raw part of digested ones when there is too much of it, [`housekeeping`] says when what is due.
//!
//! [`repair()`] makes a new store of what can be read of a damaged one.
//!
//! A store can be encrypted ([`seal`]), copied while it is in use ([`backup`]) and come back from
//! such a copy ([`restore()`]). Whatever replaces the database goes through [`swap`].
//!
//! SQLite is the truth; the search index can be made anew from the rows.

mod backup;
mod derived;
mod dump;
pub mod encryption;
mod error;
pub mod foreign;
pub mod index;
mod ingest;
mod lifecycle;
mod open;
pub mod portable;
mod records;
mod salvage;
mod texts;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;

pub use crate::backup::restore::{RedactionKey, RestoreResult, RestoreSource, restore};
pub use crate::backup::swap::{OnStep, SwapRecovery, SwapStep};
pub use crate::backup::{BackupReport, CopyProgress, Overwrite};
pub use crate::derived::digests::{PendingDigest, StoredDigest};
pub use crate::derived::facts::{FactFilter, FactOutcome, FactScope, FactSessionFilter, NewFact};
pub use crate::derived::injections::{
    InjectedItem, Injection, InjectionVerdict, NewInjection, USEFULNESS_UNKNOWN,
};
pub use crate::derived::leases::{Lease, LeaseKind, LeaseOutcome};
pub use crate::derived::model_calls::{ModelCall, ModelSpending};
pub use crate::derived::summaries::{
    NewSummary, SessionPosition, StoredSummary, SummaryInfo, SummaryMethod, SummaryProgress,
    SummaryWrite,
};
pub use crate::error::{Error, Result};
pub use crate::index::attributes::RowAttributes;
pub use crate::index::digest_rows::DigestText;
pub use crate::index::lookup::{CandidateRow, Lookup, Presence, ScopedRows, SearchScope, TermRows};
pub use crate::index::search::{Hit, MatchLevel, Query, TextSearchResult};
pub use crate::index::signals::RecordSignals;
pub use crate::index::snippet::Snippet;
pub use crate::index::{search, terms};
pub use crate::ingest::batch::{Batch, BatchOrigin, BatchReport, LogChunk, ParseIssues, ReadPhase};
pub use crate::ingest::sanitizer::{CleanEntries, IncomingEntries, Sanitizer};
pub use crate::ingest::sources::{Cursor, NOT_CAPTURED, SourceIdentity, SourceReport, UNREAD_HEAD};
pub use crate::ingest::writer::Ticket;
pub use crate::lifecycle::archive_scope::ScrubReport;
pub use crate::lifecycle::rescan::{RescanProgress, RescanReport, RescanScope};
pub use crate::lifecycle::tombstones::{CarriedTombstones, LiftOutcome, Tombstone, TombstoneKind};
pub use crate::lifecycle::{forget, maintenance, retention};
pub use crate::open::connection::check_folder;
pub use crate::portable::{
    ExportFilter, ExportReport, ImportReport, ImportScope, ImportTrust, LogPieceFilter,
};
pub use crate::records::StoredRecord;
pub use crate::records::feed::{FeedChanges, FeedPosition, FeedRecord, VersionedItem};
pub use crate::records::sessions::SessionFilter;
pub use crate::records::steps::SessionStep;
pub use crate::records::timeline::StoreCounts;
pub use crate::records::touches::FileTouch;
pub use crate::records::usage::{RequestSize, UsageFilter, UsageRow};
pub use crate::salvage::health::Health;
pub use crate::salvage::repair::{RepairReport, repair};
pub use crate::salvage::verify::DamagedTexts;
pub use crate::texts::logs::RawPiece;
pub use crate::texts::packs::PackReport;

use crate::backup::swap;
use crate::encryption::{EncryptionKey, Keychain, NoKeychain};
use crate::ingest::writer::Writer;
use crate::open::connection;
use crate::open::lock::{self, StoreLock};
use crate::open::readers::ReaderPool;
use redact::Redactor;

/// The name of the database in its folder.
const DATABASE_FILE: &str = "throughline.db";
/// The name of the key that marks and fingerprints are made with.
const REDACTION_KEY_FILE: &str = "redaction.key";

/// A store, open. Threads share it by reference.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    redactor: Arc<Redactor>,
    writer: Writer,
    readers: ReaderPool,
    key: Option<EncryptionKey>,
    recovered: Option<SwapRecovery>,
    /// Given up last, when nothing is open any more.
    _guard: StoreLock,
}

impl Store {
    /// Opens the store in a folder, making both as needed. The key of an encrypted one must lie in a
    /// file.
    pub fn open(folder: &Path) -> Result<Self> {
        Self::open_with(folder, &NoKeychain)
    }

    /// Opens the store in a folder, whose key may lie in the keychain.
    pub fn open_with(folder: &Path, keychain: &dyn Keychain) -> Result<Self> {
        check_folder(folder)?;
        connection::create_private_dir(folder)?;
        let (guard, recovered) = swap::lock_shared_and_recover(folder)?;
        let path = Self::database_path(folder);
        let find =
            || Ok::<_, Error>(encryption::find_store_key(folder, keychain)?.map(|(key, _)| key));
        let mut key = if encryption::key_locations::has_key_list(folder) {
            find()?
        } else {
            None
        };
        let writer = match Writer::start(&path, key.as_ref()) {
            // It may be an encrypted one that came here without the list of its keys.
            Err(Error::NotAStore { .. }) if key.is_none() => {
                key = find()?;
                Writer::start(&path, key.as_ref())?
            }
            started => started?,
        };
        Ok(Self {
            path,
            redactor: Arc::new(Redactor::new(installation_key(folder)?)),
            writer,
            readers: ReaderPool::default(),
            key,
            recovered,
            _guard: guard,
        })
    }

    /// Opens a store for somebody who asks: what writes is started only when something is written. `None` when it
    /// is encrypted, or something must be done to it first; then [`Store::open_with`] opens it.
    pub fn open_to_ask(folder: &Path) -> Result<Option<Self>> {
        check_folder(folder)?;
        let (guard, recovered) = swap::lock_shared_and_recover(folder)?;
        let path = Self::database_path(folder);
        if recovered.is_some() || encryption::key_locations::has_key_list(folder) {
            return Ok(None);
        }
        let Some(reader) = connection::open_current_reader(&path)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            redactor: Arc::new(Redactor::new(installation_key(folder)?)),
            writer: Writer::lazy(&path),
            readers: ReaderPool::with_connection(reader),
            path,
            key: None,
            recovered: None,
            _guard: guard,
        }))
    }

    /// Opens a store that is there, to read only: nothing is made, migrated or tidied up.
    pub fn open_to_read(folder: &Path) -> Result<Self> {
        Self::open_to_read_with(folder, &NoKeychain)
    }

    /// The same, of a store whose key may lie in the keychain.
    pub fn open_to_read_with(folder: &Path, keychain: &dyn Keychain) -> Result<Self> {
        check_folder(folder)?;
        let guard = lock::lock_shared(folder)?;
        let path = Self::database_path(folder);
        let key = encryption::find_store_key(folder, keychain)?.map(|(key, _)| key);
        let reader = connection::open_reader(&path, key.as_ref(), connection::FileAccess::Mapped)?;
        let store = Self {
            redactor: Arc::new(Redactor::new(installation_key(folder)?)),
            writer: Writer::read_only(&path),
            readers: ReaderPool::with_connection(reader),
            path,
            key,
            recovered: None,
            _guard: guard,
        };
        Ok(store)
    }

    /// Returns what became of an exchange that a crash had interrupted, if opening found one.
    pub fn recovered(&self) -> Option<SwapRecovery> {
        self.recovered
    }

    pub fn is_encrypted(&self) -> bool {
        self.key.is_some()
    }

    /// Returns where the database of a folder lies.
    pub fn database_path(folder: &Path) -> PathBuf {
        folder.join(DATABASE_FILE)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Returns a door for the batches of one source.
    pub fn sanitizer(&self) -> Sanitizer<'_> {
        Sanitizer::new(&self.redactor, |session| {
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
        self.readers.read(&self.path, self.key.as_ref(), read)
    }

    /// Says whether the write-ahead log has outgrown its limit, as it does while a reader holds an
    /// old snapshot and others write.
    pub fn is_wal_over_limit(&self) -> bool {
        connection::wal_bytes(&self.path) > connection::WAL_BYTES_MAX
    }

    /// Writes the write-ahead log back into the database and cuts it to nothing. Says whether that
    /// could be done: another reader may still need it.
    pub fn truncate_wal(&self) -> Result<bool> {
        let mut connection = connection::connect(&self.path, self.key.as_ref())?;
        forget::traces::truncate_wal(&mut connection, forget::traces::READER_WAIT)
    }
}

/// Returns the key that marks and fingerprints are made with, making it on first use.
pub fn installation_key(folder: &Path) -> Result<[u8; 32]> {
    use std::io::Write;
    connection::create_private_dir(folder)?;
    let path = &folder.join(REDACTION_KEY_FILE);
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
    let aside = folder.join(format!("{REDACTION_KEY_FILE}.{suffix}"));
    connection::create_private_file(&aside)?;
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
