//! Removes what a deletion leaves behind in the index and in the write-ahead log.
//!
//! The index only notes that rows are deleted ([`crate::index`]) until its pages are merged. SQLite
//! zeroes freed pages (`secure_delete = ON`). The write-ahead log keeps the old pages until it is
//! truncated, which requires that no other process is reading.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use serde::Serialize;

use super::files;
use crate::encryption::EncryptionKey;
use crate::error::Result;
use crate::index;
use crate::open::connection;

/// How long to wait for readers when the user has asked to forget something.
pub(crate) const READER_WAIT: Duration = Duration::from_secs(3);
/// How long to wait when the store is merely being opened.
pub(crate) const NO_WAIT: Duration = Duration::from_millis(0);

/// Whether traces of deleted rows are left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Traces {
    #[default]
    Gone,
    /// Another process reads the state from before the deletion, so the write-ahead log still holds
    /// it.
    Waiting,
}

#[derive(Debug, Default)]
pub(crate) struct TraceCleanup {
    pub traces: Traces,
    pub copies_removed: Vec<PathBuf>,
}

/// Records, in the deleting transaction, that traces are left.
pub(crate) fn mark_pending(tx: &Transaction<'_>, now: Timestamp) -> Result<()> {
    tx.prepare_cached("INSERT OR IGNORE INTO traces (id, since) VALUES (1, ?1)")?
        .execute(params![now.as_millisecond()])?;
    Ok(())
}

pub(crate) fn is_pending(connection: &Connection) -> Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM traces)";
    Ok(connection.query_row(sql, [], |row| row.get(0))?)
}

/// Removes the traces on a connection of its own.
pub(crate) fn remove_traces(
    store: &Path,
    key: Option<&EncryptionKey>,
    patience: Duration,
) -> Result<TraceCleanup> {
    let mut connection = connection::open_writer(store, key)?;
    clear_on(&mut connection, store, patience)
}

/// Removes the traces. Those that cannot be removed yet stay recorded.
pub(crate) fn clear_on(
    connection: &mut Connection,
    store: &Path,
    patience: Duration,
) -> Result<TraceCleanup> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    index::purge_deleted_terms(&transaction)?;
    transaction.commit()?;
    let folder = store.parent().unwrap_or(Path::new("."));
    let copies_removed = files::remove_copies(folder)?;
    if !truncate_wal(connection, patience)? {
        return Ok(TraceCleanup {
            traces: Traces::Waiting,
            copies_removed,
        });
    }
    connection.execute("DELETE FROM traces", [])?;
    Ok(TraceCleanup {
        traces: Traces::Gone,
        copies_removed,
    })
}

/// Truncates the write-ahead log, and returns whether that succeeded.
pub(crate) fn truncate_wal(connection: &mut Connection, patience: Duration) -> Result<bool> {
    connection.busy_timeout(patience)?;
    let busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| {
        row.get::<_, bool>(0)
    });
    connection::set_busy_handler(connection)?;
    match busy {
        Ok(busy) => Ok(!busy),
        Err(error)
            if matches!(
                error.sqlite_error_code(),
                Some(rusqlite::ErrorCode::DatabaseBusy | rusqlite::ErrorCode::DatabaseLocked)
            ) =>
        {
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}
