//! The stage that digests sessions once they are finished.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use memory::{Prices, SessionId, digest};
use serde::Serialize;
use store::{PendingDigest, Store, Ticket, UsageFilter};

use super::DigestBuilder;

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DigestReport {
    /// The number of sessions that got a current digest.
    pub analyzed: usize,
    /// Sessions whose records could not be read, with the error. Their digests stay unchanged.
    pub failed: Vec<(SessionId, String)>,
}

/// The options of a run.
#[derive(Clone, Copy, Debug)]
pub struct DigestOptions<'a> {
    /// A session that has been inactive for this long is finished.
    pub quiet_for: SignedDuration,
    /// The price list for sessions whose log states no cost.
    pub prices: &'a Prices,
    pub threads: usize,
    /// Stops the run early once it is set.
    pub stop: &'a AtomicBool,
}

/// Digests the finished sessions that have no current digest.
pub fn digest_pending(
    store: &Store,
    terms: &DigestOptions<'_>,
    now: Timestamp,
) -> store::Result<DigestReport> {
    let pending = store.pending_digests(digest::VERSION, now - terms.quiet_for, now)?;
    let costs = session_costs(store, terms.prices, &pending)?;
    let stop = terms.stop;
    let threads = terms.threads;
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    let tickets = Mutex::new(Vec::new());
    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let Some(pending) = pending.get(next.fetch_add(1, Ordering::Relaxed)) else {
                return;
            };
            match digest_session(store, pending, costs.get(&pending.session.id), now) {
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
    Ok(DigestReport { analyzed, failed })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the known costs of the sessions.
fn session_costs(
    store: &Store,
    prices: &Prices,
    pending: &[PendingDigest],
) -> store::Result<HashMap<SessionId, f64>> {
    let session = match pending {
        [] => return Ok(HashMap::new()),
        [only] => Some(only.session.id.clone()),
        _ => None,
    };
    let filter = UsageFilter {
        session,
        ..UsageFilter::default()
    };
    let mut costs = HashMap::new();
    for row in store.usage(&filter)? {
        let usd = match row.cost_usd {
            Some(stated) => Some(stated),
            None => prices.cost(row.model.as_deref(), &row.usage).usd,
        };
        if let Some(usd) = usd {
            *costs.entry(row.session).or_default() += usd;
        }
    }
    Ok(costs)
}

fn digest_session(
    store: &Store,
    pending: &PendingDigest,
    cost_usd: Option<&f64>,
    now: Timestamp,
) -> store::Result<Ticket<()>> {
    let session = &pending.session;
    let mut account = DigestBuilder::new(session);
    store.each_record(&session.id, |record| account.add_record(&record))?;
    let (mut later, signals) = account.finish_with_signals(session);
    later.cost_usd = cost_usd.copied().or(later.cost_usd);
    let digest = match &pending.base {
        Some(base) => base.clone().append(later),
        None => later,
    };
    Ok(store.put_digest(pending, digest, signals, now))
}
