//! The writer: the one thread that owns the writing connection.
//!
//! Jobs are queued, run in groups inside one transaction, and acknowledged when that transaction is
//! on disk. When a job fails, the group is rolled back and the other jobs run again without it. A
//! savepoint around each job would be simpler, but FTS5 writes out its pending terms at every
//! savepoint.

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

/// How many jobs may be queued. Each holds a batch of records, so this bounds memory.
const QUEUE_MAX: usize = 8;
/// How much work shares a commit, counted in records.
const GROUP_WEIGHT_MAX: usize = 3_000;

/// What the writer keeps between jobs: the ids of names in the tables, and changes that wait for
/// the index.
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
    /// Drops the cached ids after rows were deleted. Pending changes of the index stay.
    pub(crate) fn clear_ids(&mut self) {
        self.sessions.clear();
        self.contexts.clear();
        self.workspaces.clear();
    }
}

/// A job must be re-runnable, because a rollback replays it: it must not consume what it captures.
type WriteWork = Box<dyn Fn(&Transaction<'_>, &mut WriterState) -> Result<()> + Send>;

struct WriteJob {
    work: WriteWork,
    weight: usize,
    mode: CommitMode,
    done: Sender<Result<()>>,
}

/// When a write is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommitMode {
    /// At once, because the caller waits for it.
    Immediate,
    /// Together with others that follow within [`GROUP_WAIT`].
    Grouped,
}

/// How long a group waits for the next job.
const GROUP_WAIT: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(crate) struct Writer {
    running: Mutex<Option<WriterThread>>,
    /// Whether a writer that is not running may be started.
    may_start: bool,
    path: PathBuf,
}

#[derive(Debug)]
struct WriterThread {
    jobs: Option<Sender<WriteJob>>,
    thread: Option<JoinHandle<()>>,
}

/// A queued write.
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

    /// Returns the outcome if the write is finished. The outcome can be taken once.
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
    pub(crate) fn start(path: &Path, key: Option<&EncryptionKey>) -> Result<Self> {
        let running = WriterThread::start(path, key)?;
        Ok(Self {
            running: Mutex::new(Some(running)),
            may_start: true,
            path: path.to_owned(),
        })
    }

    /// Returns a writer for an unencrypted store that starts with the first job: most callers never
    /// write.
    pub(crate) fn lazy(path: &Path) -> Self {
        Self {
            running: Mutex::new(None),
            may_start: true,
            path: path.to_owned(),
        }
    }

    /// Returns a writer that rejects every job.
    pub(crate) fn read_only(path: &Path) -> Self {
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

    /// Queues a job, and blocks while the queue is full.
    pub(crate) fn submit<T: Send + 'static>(
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
                // A stopped writer drops the job and with it `done`, which the ticket reports as an
                // error.
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
                    // This only shrinks a side file, and it fails while another process reads.
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

/// Truncates the write-ahead log when it is too large. While a reader prevents that, the next
/// attempt waits until the log has grown further.
#[derive(Debug)]
struct WalLimiter {
    /// The size of the log at which the next attempt is made.
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
                tracing::warn!(%error, "cannot truncate the write-ahead log");
                size + connection::WAL_BYTES_MAX / 4
            }
        };
    }
}

/// Removes the traces that a process has left which was stopped while it forgot something.
fn resume_forgetting(connection: &mut Connection, store: &Path) {
    let went_on = match traces::is_pending(connection) {
        Ok(false) => return,
        Ok(true) => traces::clear_on(connection, store, traces::NO_WAIT),
        Err(error) => Err(error),
    };
    if let Err(error) = went_on {
        tracing::warn!(%error, "cannot remove the traces of forgotten text yet");
    }
}

/// Runs queued jobs until all senders are dropped or the disk fails. After a failed write or sync
/// only a new connection knows what is on disk, so this one is given up: acknowledged jobs are in
/// the log, and all others have failed.
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
            // A failed commit and a failing disk concern the whole group; any other error only the
            // job that raised it.
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
            // The caller may have dropped its ticket; the result is on disk all the same.
            let _unwatched = job.done.send(result);
        }
        if let Some(error) = disk {
            // Jobs that are queued later get the same error, so that no caller waits forever.
            for job in queue {
                let _unwatched = job.done.send(Err(error.clone()));
            }
            return ControlFlow::Break(());
        }
        log.truncate_if_large(connection, store);
    }
    ControlFlow::Continue(())
}

/// Runs jobs, and those that are queued meanwhile, in one transaction. On failure, returns the
/// error and the index of the job that raised it, if it was a job.
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

/// Returns the next job for the same commit, if there is one.
fn next_job(queue: &Receiver<WriteJob>, jobs: &[WriteJob]) -> Option<WriteJob> {
    if jobs.iter().all(|job| job.mode == CommitMode::Grouped) {
        queue.recv_timeout(GROUP_WAIT).ok()
    } else {
        queue.try_recv().ok()
    }
}

/// Takes the write lock, and drops the cached ids when another process has written.
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
        assert!(connection::wal_bytes(&path) > 0, "a reader is open");
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
