//! The stage: digests for the sessions that have gone quiet.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use jiff::{SignedDuration, Timestamp};
use memory::{SessionId, digest};
use serde::Serialize;
use store::{Pending, Store, Ticket};

use super::Account;

/// What the stage did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Digested {
    /// Sessions that have a current digest now and had none before.
    pub analyzed: usize,
    /// Sessions whose records could not be read, and why. They stay as they are.
    pub failed: Vec<(SessionId, String)>,
}

/// Makes digests of the sessions in which nothing has happened for `quiet`.
pub fn digest_pending(
    store: &Store,
    quiet: SignedDuration,
    threads: usize,
    stop: &AtomicBool,
    now: Timestamp,
) -> store::Result<Digested> {
    let pending = store.pending_digests(digest::VERSION, now - quiet, now)?;
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    let tickets = Mutex::new(Vec::new());
    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let Some(pending) = pending.get(next.fetch_add(1, Ordering::Relaxed)) else {
                return;
            };
            match one(store, pending, now) {
                Ok(ticket) => lock(&tickets).push(ticket),
                Err(error) => lock(&failed).push((pending.session.id.clone(), error.to_string())),
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.clamp(1, pending.len().max(1)) {
            scope.spawn(work);
        }
        work();
    });
    let tickets = tickets.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.sort();
    let analyzed = tickets.len();
    store.flush()?;
    tickets.into_iter().try_for_each(Ticket::wait)?;
    Ok(Digested { analyzed, failed })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn one(store: &Store, pending: &Pending, now: Timestamp) -> store::Result<Ticket<()>> {
    let session = &pending.session;
    let mut account = Account::new(session);
    store.each_record(&session.id, |record| account.take(&record))?;
    let later = account.digest(session);
    let digest = match &pending.base {
        Some(base) => base.clone().then(later),
        None => later,
    };
    Ok(store.put_digest(pending, digest, now))
}
