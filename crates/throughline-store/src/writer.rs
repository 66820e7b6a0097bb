//! The one writer: a thread that owns the writing connection.
//!
//! Work is queued, run in groups inside one transaction, and acknowledged when that transaction
//! is on disk. A piece of work that fails is rolled back alone; a commit that fails fails all.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, bounded};
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::error::{Error, Result};
use crate::open;

/// How many pieces of work may wait. Each holds a batch of records, so this bounds memory.
const QUEUE_MAX: usize = 4;
/// How much work shares a commit, in records.
const GROUP_WEIGHT_MAX: usize = 8_000;

/// The numbers that names have in the tables; asked for once each.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub sessions: HashMap<String, crate::sessions::Known>,
    pub contexts: HashMap<(String, String, String), i64>,
    pub workspaces: HashMap<String, i64>,
    data_version: i64,
}

type Work = Box<dyn FnOnce(&Transaction<'_>, &mut Names) -> Result<()> + Send>;

struct Job {
    work: Work,
    weight: usize,
    done: Sender<Result<()>>,
}

#[derive(Debug)]
pub(crate) struct Writer {
    jobs: Option<Sender<Job>>,
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
        self.done.recv().unwrap_or(Err(Error::WriterStopped))?;
        let mut value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        value.take().ok_or(Error::WriterStopped)
    }
}

impl Writer {
    pub fn start(path: &Path) -> Result<Self> {
        let mut connection = open::writer(path)?;
        let (jobs, queue) = bounded(QUEUE_MAX);
        let thread = std::thread::Builder::new()
            .name("throughline-writer".into())
            .spawn(move || {
                run(&mut connection, &queue);
                // Leaves a small side file behind; an error only means somebody still reads.
                let _busy = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
            })
            .map_err(Error::io(path))?;
        Ok(Self {
            jobs: Some(jobs),
            thread: Some(thread),
        })
    }

    /// Queues work; blocks while the queue is full.
    pub fn submit<T: Send + 'static>(
        &self,
        weight: usize,
        work: impl FnOnce(&Transaction<'_>, &mut Names) -> Result<T> + Send + 'static,
    ) -> Ticket<T> {
        let (done, finished) = bounded(1);
        let value = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&value);
        let work: Work = Box::new(move |transaction, names| {
            let result = work(transaction, names)?;
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            Ok(())
        });
        if let Some(jobs) = &self.jobs {
            // A writer that is gone drops the job, and with it `done`: the ticket then says so.
            let _gone = jobs.send(Job { work, weight, done });
        }
        Ticket {
            done: finished,
            value,
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

fn run(connection: &mut Connection, queue: &Receiver<Job>) {
    let mut names = Names::default();
    while let Ok(first) = queue.recv() {
        let mut acknowledged = Vec::new();
        let outcome = group(connection, &mut names, first, queue, &mut acknowledged);
        if outcome.is_err() {
            names = Names::default();
        }
        for (done, result) in acknowledged {
            let result = match &outcome {
                Ok(()) => result,
                Err(error) => Err(error.clone()),
            };
            // Nobody waits for this write any more; it is on disk all the same.
            let _unwatched = done.send(result);
        }
    }
}

/// Runs waiting work in one transaction.
fn group(
    connection: &mut Connection,
    names: &mut Names,
    first: Job,
    queue: &Receiver<Job>,
    acknowledged: &mut Vec<(Sender<Result<()>>, Result<()>)>,
) -> Result<()> {
    let transaction = match begin(connection, names) {
        Ok(transaction) => transaction,
        Err(error) => {
            acknowledged.push((first.done, Err(error.clone())));
            return Err(error);
        }
    };
    let mut next = Some(first);
    let mut weight = 0;
    while let Some(job) = next {
        weight += job.weight.max(1);
        let result = alone(&transaction, names, job.work);
        acknowledged.push((job.done, result));
        next = if weight < GROUP_WEIGHT_MAX {
            queue.try_recv().ok()
        } else {
            None
        };
    }
    Ok(transaction.commit()?)
}

/// Runs one piece of work so that its failure leaves no trace.
fn alone(transaction: &Transaction<'_>, names: &mut Names, work: Work) -> Result<()> {
    transaction.execute_batch("SAVEPOINT work")?;
    let result = work(transaction, names);
    if result.is_ok() {
        transaction.execute_batch("RELEASE work")?;
    } else {
        transaction.execute_batch("ROLLBACK TO work; RELEASE work")?;
        *names = Names {
            data_version: names.data_version,
            ..Names::default()
        };
    }
    result
}

/// Takes the write lock, and drops the remembered numbers when another process has written.
fn begin<'a>(connection: &'a mut Connection, names: &mut Names) -> Result<Transaction<'a>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version = transaction.query_row("PRAGMA data_version", [], |row| row.get(0))?;
    if names.data_version != version {
        *names = Names {
            data_version: version,
            ..Names::default()
        };
    }
    Ok(transaction)
}
