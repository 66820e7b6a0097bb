//! The local database, and the only crate that reads or writes it.
//!
//! Captured text enters through the [`Sanitizer`], which redacts every string; what comes out is a
//! [`Batch`], and only a batch can be written. One writer thread commits batches in groups and
//! acknowledges them when they are on disk; any number of readers run beside it.
//!
//! | folder | what it owns |
//! | --- | --- |
//! | [`open`] | opening the file: locks, connections, migrations |
//! | [`ingest`] | the write path: sanitizer, batches, cursors, the writer thread |
//! | [`texts`] | compressed texts: blocks, bodies, archived logs |
//! | [`index`] | the search index, and looking records up in it |
//! | [`records`] | records, sessions, workspaces and usage, and views of them |
//! | [`derived`] | facts, digests, summaries, injections, model calls, events |
//! | [`lifecycle`] | retention, forgetting, tombstones, rescans, maintenance |
//! | [`salvage`] | health checks, verification, repair of damaged files |
//! | [`backup`] | backups, restoring them, and swapping the database file |
//! | [`encryption`] | keys, and conversion between plain and encrypted stores |
//! | [`portable`] | export and import as JSON Lines |
//! | [`foreign`] | other programs' SQLite files, read without touching them |
//!
//! The SQL of a table is in the file of its noun. The tables are the truth: the search index can be
//! rebuilt from them.

#![warn(unreachable_pub, let_underscore_drop)]
#![warn(clippy::await_holding_lock)]
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_sign_loss)
)]

mod backup;
mod columns;
mod derived;
mod dump;
pub mod encryption;
mod error;
mod files;
pub mod foreign;
mod hex;
pub mod index;
mod ingest;
mod lifecycle;
mod open;
pub mod portable;
mod query;
mod records;
mod salvage;
mod texts;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use redact::Redactor;
use rusqlite::{Connection, Transaction};

pub use crate::backup::restore::{RedactionKey, RestoreResult, RestoreSource, restore};
pub use crate::backup::swap::{OnStep, SwapRecovery, SwapStep};
pub use crate::backup::{BackupReport, CopyProgress, Overwrite};
pub use crate::derived::capsules::{AgentTool, KnowledgeRecord};
pub use crate::derived::cards::{LayerCounts, LayerFigure, LayerFlush, LookupRow};
pub use crate::derived::digests::{PendingDigest, StoredDigest};
pub use crate::derived::events::{EventFilter, EventName, StoredEvent};
pub use crate::derived::facts::{FactFilter, FactOutcome, FactScope, FactSessionFilter, NewFact};
pub use crate::derived::injections::{
    InjectedItem, Injection, InjectionVerdict, ItemUse, NewInjection, USEFULNESS_UNKNOWN,
};
pub use crate::derived::layers::relative_path;
pub use crate::derived::leases::{Lease, LeaseKind, LeaseOutcome};
pub use crate::derived::model_calls::{ModelCall, ModelSpending};
pub use crate::derived::patterns::{PatternRow, QueuedDecision, Review};
pub use crate::derived::signals::SessionSignals;
pub use crate::derived::summaries::{
    NewSummary, SessionPosition, StoredSummary, SummaryInfo, SummaryMethod, SummaryProgress,
    SummaryWrite,
};
pub use crate::error::{Error, Result};
pub use crate::files::check_folder;
pub use crate::index::attributes::RowAttributes;
pub use crate::index::digest_rows::DigestText;
pub use crate::index::lookup::{CandidateRow, Lookup, Presence, ScopedRows, SearchScope, TermRows};
pub use crate::index::search::{Hit, MatchLevel, Query, TextSearchResult};
pub use crate::index::signals::RecordSignals;
pub use crate::index::snippet::Snippet;
pub use crate::index::{search, terms};
pub use crate::ingest::batch::{Batch, BatchOrigin, BatchReport, LogChunk, ParseIssues, ReadPhase};
pub use crate::ingest::sanitizer::{CleanEntries, IncomingEntries, Sanitizer};
pub use crate::ingest::sources::{
    Cursor, HOOK_PAYLOADS, NOT_CAPTURED, SourceIdentity, SourceReport, UNREAD_HEAD,
};
pub use crate::ingest::writer::Ticket;
pub use crate::lifecycle::archive_scope::ScrubReport;
pub use crate::lifecycle::rescan::{RescanProgress, RescanReport, RescanScope};
pub use crate::lifecycle::tombstones::{CarriedTombstones, LiftOutcome, Tombstone, TombstoneKind};
pub use crate::lifecycle::{forget, maintenance, retention};
pub use crate::open::{OpenMode, installation_key};
pub use crate::portable::{
    ExportFilter, ExportReport, ImportReport, ImportScope, ImportTrust, LogPieceFilter,
};
pub use crate::records::StoredRecord;
pub use crate::records::feed::{FeedChanges, FeedPosition, FeedRecord, VersionedItem};
pub use crate::records::marks::{MarkFilter, MarksPatch};
pub use crate::records::sessions::{SessionCursor, SessionFilter};
pub use crate::records::steps::SessionStep;
pub use crate::records::timeline::{SessionOutline, StoreCounts};
pub use crate::records::touches::FileTouch;
pub use crate::records::usage::{RequestSize, ResponseUsage, UsageFilter, UsageRow};
pub use crate::salvage::health::Health;
pub use crate::salvage::repair::{RepairReport, repair};
pub use crate::salvage::verify::DamagedTexts;
pub use crate::texts::logs::RawPiece;
pub use crate::texts::packs::PackReport;

use crate::encryption::EncryptionKey;
use crate::ingest::writer::{CommitMode, Writer, WriterState};
use crate::open::connection;
use crate::open::lock::StoreLock;
use crate::open::readers::ReaderPool;

/// The name of the database in the folder of a store.
const DATABASE_FILE: &str = "throughline.db";
/// The name of the file with the key for redaction marks and keyed hashes.
const REDACTION_KEY_FILE: &str = "redaction.key";

/// An open store. Threads share it by reference.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    redactor: Arc<Redactor>,
    writer: Writer,
    readers: ReaderPool,
    key: Option<EncryptionKey>,
    recovered: Option<SwapRecovery>,
    /// Declared last, so that it is released after every connection is closed.
    _lock: StoreLock,
}

impl Store {
    /// Returns what opening did with a file swap that a crash had interrupted, if it found one.
    pub fn recovered(&self) -> Option<SwapRecovery> {
        self.recovered
    }

    pub fn is_encrypted(&self) -> bool {
        self.key.is_some()
    }

    /// Returns the path of the database in the folder of a store.
    pub fn database_path(folder: &Path) -> PathBuf {
        folder.join(DATABASE_FILE)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Returns a sanitizer for the batches of one source.
    pub fn sanitizer(&self) -> Sanitizer<'_> {
        Sanitizer::new(&self.redactor, |session| {
            self.fingerprints(session).unwrap_or_else(|error| {
                tracing::warn!(%session, %error, "cannot load the known secrets of a session");
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

    /// Runs `read` on a connection that no other caller uses at the same time.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        self.readers.read(&self.path, self.key.as_ref(), read)
    }

    /// Runs `work` in a transaction of the writer, and waits until it is on disk.
    fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&Transaction<'_>, &mut WriterState) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.writer.submit(1, CommitMode::Immediate, work).wait()
    }

    /// Says whether the write-ahead log exceeds its limit. It does while a reader holds an old
    /// snapshot and other processes write.
    pub fn is_wal_over_limit(&self) -> bool {
        connection::wal_bytes(&self.path) > connection::WAL_BYTES_MAX
    }

    /// Checkpoints and truncates the write-ahead log. Returns `false` while a reader needs it.
    pub fn truncate_wal(&self) -> Result<bool> {
        let mut connection = connection::connect(&self.path, self.key.as_ref())?;
        forget::traces::truncate_wal(&mut connection, forget::traces::READER_WAIT)
    }
}
