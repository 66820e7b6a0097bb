//! The one writer: a thread that owns the writing connection.
//!
//! Work is queued, run in groups inside one transaction, and acknowledged when that transaction
//! is on disk. When a piece of work fails, the group is rolled back and the others run again
//! without it. (A savepoint around each would be simpler, but the search index writes out what it
//! has gathered at every one of them.)

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::encryption::EncryptionKey;
use crate::error::{Error, Result};
use crate::lifecycle::forget::traces;
use crate::open::connection;

/// How many pieces of work may wait. Each holds a batch of records, so this bounds memory.
const QUEUE_MAX: usize = 8;
/// How much work shares a commit, in records.
const GROUP_WEIGHT_MAX: usize = 3_000;

/// What the writer keeps at hand: the numbers that names have in the tables, asked for once each,
/// and the texts that wait for the index.
#[derive(Debug, Default)]
pub(crate) struct WriterState {
    pub sessions: HashMap<String, crate::records::sessions::SessionRef>,
    pub contexts: HashMap<(String, String, String), i64>,
    pub workspaces: HashMap<String, i64>,
    pub index: crate::index::PendingIndex,
    pub evicted: crate::lifecycle::retention::EvictedRecords,
    pub stored_text: crate::ingest::text_filter::TextFilters,
    data_version: i64,
}

impl WriterState {
    /// Drops the numbers, some of which are no longer true. What waits for the index still waits.
    pub fn clear_ids(&mut self) {
        self.sessions.clear();
        self.contexts.clear();
        self.workspaces.clear();
    }
}

/// May be run again after a rollback, so it gives up nothing it holds.
type WriteWork = Box<dyn Fn(&Transaction<'_>, &mut WriterState) -> Result<()> + Send>;

struct WriteJob {
    work: WriteWork,
    weight: usize,
    mode: CommitMode,
    done: Sender<Result<()>>,
}

/// Whether a write is worth a commit of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommitMode {
    /// Somebody waits for it.
    Immediate,
    /// More of its kind is coming; it may wait a moment to share a commit.
    Grouped,
}

/// How long bulk writes wait for each other.
const GROUP_WAIT: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(crate) struct Writer {
    running: Mutex<Option<WriterThread>>,
    /// Where nothing runs yet, whether something may.
    may_start: bool,
    path: PathBuf,
}

#[derive(Debug)]
struct WriterThread {
    jobs: Option<Sender<WriteJob>>,
    thread: Option<JoinHandle<()>>,
}

/// A write that is under way.
#[derive(Debug)]
pub struct Ticket<T> {
    done: Receiver<Result<()>>,
    value: Arc<Mutex<Option<T>>>,
}

impl<T> Ticket<T> {
    /// Waits until the write is on disk.
    pub fn wait(self) -> Result<T> {
        self.outcome(self.done.recv().unwrap_or(Err(Error::WriterStopped)))
    }

    /// Returns the outcome if it is known already; once only.
    pub fn poll(&self) -> Option<Result<T>> {
        match self.done.try_recv() {
            Ok(done) => Some(self.outcome(done)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err(Error::WriterStopped)),
        }
    }

    fn outcome(&self, done: Result<()>) -> Result<T> {
        done?;
        let mut value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        value.take().ok_or(Error::WriterStopped)
    }
}

impl Writer {
    pub fn start(path: &Path, key: Option<&EncryptionKey>) -> Result<Self> {
        let running = WriterThread::start(path, key)?;
        Ok(Self {
            running: Mutex::new(Some(running)),
            may_start: true,
            path: path.to_owned(),
        })
    }

    /// Starts the writer of a plain store when there is something to write: most who ask never write.
    pub fn lazy(path: &Path) -> Self {
        Self {
            running: Mutex::new(None),
            may_start: true,
            path: path.to_owned(),
        }
    }

    /// Stands in for the writer of a store that is only read.
    pub fn read_only(path: &Path) -> Self {
        Self {
            may_start: false,
            ..Self::lazy(path)
        }
    }

    fn job_sender(&self) -> Result<Sender<WriteJob>> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.is_none() {
            if !self.may_start {
                return Err(Error::ReadOnly {
                    path: self.path.clone(),
                });
            }
            *running = Some(WriterThread::start(&self.path, None)?);
        }
        let jobs = running.as_ref().and_then(|running| running.jobs.clone());
        jobs.ok_or(Error::WriterStopped)
    }

    /// Queues work; blocks while the queue is full.
    pub fn submit<T: Send + 'static>(
        &self,
        weight: usize,
        hurry: CommitMode,
        work: impl Fn(&Transaction<'_>, &mut WriterState) -> Result<T> + Send + 'static,
    ) -> Ticket<T> {
        let (done, finished) = bounded(1);
        let value = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&value);
        let work: WriteWork = Box::new(move |transaction, writer| {
            let result = work(transaction, writer)?;
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            Ok(())
        });
        match self.job_sender() {
            Ok(jobs) => {
                // A writer that is gone drops the job, and with it `done`: the ticket then says so.
                let _gone = jobs.send(WriteJob {
                    work,
                    weight,
                    mode: hurry,
                    done,
                });
            }
            Err(error) => {
                let _unwatched = done.send(Err(error));
            }
        }
        Ticket {
            done: finished,
            value,
        }
    }
}

impl WriterThread {
    fn start(path: &Path, key: Option<&EncryptionKey>) -> Result<Self> {
        let mut connection = connection::open_writer(path, key)?;
        let store = path.to_owned();
        let (jobs, queue) = bounded(QUEUE_MAX);
        let thread = std::thread::Builder::new()
            .name("throughline-writer".into())
            .spawn(move || {
                resume_forgetting(&mut connection, &store);
                if run_jobs(&mut connection, &queue, &store).is_continue() {
                    // Leaves a small side file behind; an error only means somebody still reads.
                    let _busy = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
                }
            })
            .map_err(Error::io(path))?;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }
}

impl Drop for WriterThread {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// Keeps the write-ahead log short. A reader that stays keeps it from being emptied, and it is tried again when
/// the log has grown some more.
#[derive(Debug)]
struct WalLimiter {
    /// The size at which it is tried.
    limit_bytes: u64,
}

impl WalLimiter {
    fn truncate_if_large(&mut self, connection: &mut Connection, store: &Path) {
        let size = connection::wal_bytes(store);
        if size <= self.limit_bytes {
            return;
        }
        self.limit_bytes = match traces::truncate_wal(connection, traces::NO_WAIT) {
            Ok(true) => connection::WAL_BYTES_MAX,
            Ok(false) => size + connection::WAL_BYTES_MAX / 4,
            Err(error) => {
                tracing::warn!(%error, "the write-ahead log is not emptied");
                size + connection::WAL_BYTES_MAX / 4
            }
        };
    }
}

/// Removes what a process that was stopped while forgetting has left.
fn resume_forgetting(connection: &mut Connection, store: &Path) {
    let went_on = match traces::is_pending(connection) {
        Ok(false) => return,
        Ok(true) => traces::clear_on(connection, store, traces::NO_WAIT),
        Err(error) => Err(error),
    };
    if let Err(error) = went_on {
        tracing::warn!(%error, "traces of what was forgotten are still there");
    }
}

/// Does what is queued, until nobody is left to queue anything or the disk fails. After a failed
/// write or sync nobody knows what is on disk but who reads it anew: the connection is given up,
/// what was acknowledged is in the log, and the rest has failed.
fn run_jobs(
    connection: &mut Connection,
    queue: &Receiver<WriteJob>,
    store: &Path,
) -> ControlFlow<()> {
    let mut writer = WriterState::default();
    let mut log = WalLimiter {
        limit_bytes: connection::WAL_BYTES_MAX,
    };
    while let Ok(first) = queue.recv() {
        let mut jobs = vec![first];
        let mut failed = Vec::new();
        let mut outcome = run_group(connection, &mut writer, &mut jobs, Some(queue));
        while let Err((error, at)) = outcome {
            writer = WriterState::default();
            // A commit that failed takes everyone with it, and so does the disk; a piece of work
            // only itself.
            let at = at.filter(|_| !error.is_disk_failure() && !error.is_disk_full());
            let alone = at.unwrap_or(0);
            let everyone = if at.is_some() { 1 } else { jobs.len() };
            failed.extend(
                jobs.drain(alone..alone + everyone)
                    .map(|job| (job, error.clone())),
            );
            outcome = run_group(connection, &mut writer, &mut jobs, None);
        }
        let disk = failed
            .iter()
            .map(|(_, error)| error)
            .find(|error| error.is_disk_failure())
            .cloned();
        let done = jobs.into_iter().map(|job| (job, Ok(())));
        for (job, result) in failed
            .into_iter()
            .map(|(job, error)| (job, Err(error)))
            .chain(done)
        {
            // Nobody waits for this write any more; what became of it is on disk all the same.
            let _unwatched = job.done.send(result);
        }
        if let Some(error) = disk {
            // Whoever comes later hears of it too, and nobody waits for an answer that never comes.
            for job in queue {
                let _unwatched = job.done.send(Err(error.clone()));
            }
            return ControlFlow::Break(());
        }
        log.truncate_if_large(connection, store);
    }
    ControlFlow::Continue(())
}

/// Runs the jobs, and those that wait in the queue, in one transaction. Fails with the error and,
/// where it was a job's own, which job's.
fn run_group(
    connection: &mut Connection,
    writer: &mut WriterState,
    jobs: &mut Vec<WriteJob>,
    queue: Option<&Receiver<WriteJob>>,
) -> std::result::Result<(), (Error, Option<usize>)> {
    if jobs.is_empty() {
        return Ok(());
    }
    let transaction = begin_transaction(connection, writer).map_err(|error| (error, None))?;
    let mut weight = 0;
    let mut at = 0;
    while at < jobs.len() {
        weight += jobs[at].weight.max(1);
        (jobs[at].work)(&transaction, writer).map_err(|error| (error, Some(at)))?;
        at += 1;
        if at == jobs.len() && weight < GROUP_WEIGHT_MAX {
            jobs.extend(queue.and_then(|queue| next_job(queue, jobs)));
        }
    }
    writer
        .index
        .flush(&transaction)
        .map_err(|error| (error, None))?;
    transaction.commit().map_err(|error| (error.into(), None))
}

/// Returns a job that may share the commit of these.
fn next_job(queue: &Receiver<WriteJob>, jobs: &[WriteJob]) -> Option<WriteJob> {
    if jobs.iter().all(|job| job.mode == CommitMode::Grouped) {
        queue.recv_timeout(GROUP_WAIT).ok()
    } else {
        queue.try_recv().ok()
    }
}

/// Takes the write lock, and drops the remembered numbers when another process has written.
fn begin_transaction<'a>(
    connection: &'a mut Connection,
    writer: &mut WriterState,
) -> Result<Transaction<'a>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version = transaction.query_row("PRAGMA data_version", [], |row| row.get(0))?;
    if writer.data_version != version {
        *writer = WriterState {
            data_version: version,
            ..WriterState::default()
        };
    }
    Ok(transaction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_emptied_once_nobody_reads() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.db");
        let mut connection = connection::open_writer(&path, None).unwrap();
        let write = |connection: &Connection| {
            let sql = "INSERT INTO workspaces (key) VALUES (hex(randomblob(4000)))";
            connection.execute_batch(sql).unwrap();
        };
        write(&connection);
        let reader = connection::open_reader(&path, None, connection::FileAccess::Cached).unwrap();
        reader
            .execute_batch("BEGIN; SELECT * FROM workspaces")
            .unwrap();
        write(&connection);
        let mut log = WalLimiter { limit_bytes: 1 };
        log.truncate_if_large(&mut connection, &path);
        assert!(connection::wal_bytes(&path) > 0, "somebody reads");
        assert!(log.limit_bytes > connection::WAL_BYTES_MAX / 4);
        reader.execute_batch("COMMIT").unwrap();
        log.truncate_if_large(&mut connection, &path);
        assert!(connection::wal_bytes(&path) > 0, "it has not grown since");
        log.limit_bytes = 1;
        log.truncate_if_large(&mut connection, &path);
        assert_eq!(connection::wal_bytes(&path), 0);
        assert_eq!(log.limit_bytes, connection::WAL_BYTES_MAX);
    }
}
