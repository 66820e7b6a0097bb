//! What is done to memory in the background, one stage after the other.
//!
//! Each stage finds its own work in the store and leaves its result there, so it may be run as often as
//! one likes and stopped at any time. Who runs them, and when, is decided by the daemon or by a command.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use capture::{Adapter, Root, Scope};
use distill::digest::{Digested, Terms, digest_pending};
use distill::model::Asker;
use distill::model_facts;
use distill::renew::{self, How, Renewed};
use jiff::{SignedDuration, Timestamp};
use memory::Prices;
use store::Store;
use store::housekeeping::House;
use store::retention::{Policy, Retained};

use crate::models::{self, Loan, Models};

/// What the stages depend on besides the store.
#[derive(Clone, Debug)]
pub struct Stages {
    /// A session in which nothing has happened for so long is finished.
    pub quiet: SignedDuration,
    pub prices: Prices,
    pub threads: usize,
    /// Look for facts.
    pub facts: bool,
    /// Ask the model for facts too.
    pub facts_by_model: bool,
    /// How summaries are written; not at all without it.
    pub summary: Option<renew::Settings>,
    /// Who lends the configured model, if there is one.
    pub models: Option<Arc<dyn Models>>,
    pub policy: Policy,
}

/// Whose logs are read, and where they lie.
#[derive(Clone)]
pub struct Logs {
    pub adapters: Vec<&'static dyn Adapter>,
    pub roots: Vec<Root>,
    pub scope: Scope,
    pub threads: usize,
    /// Keep the logs themselves too.
    pub archive: bool,
}

impl std::fmt::Debug for Logs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Logs")
            .field("roots", &self.roots)
            .finish_non_exhaustive()
    }
}

impl Logs {
    /// Returns them as the watcher takes them.
    pub fn watch(&self) -> capture::Watch<'_> {
        capture::Watch {
            adapters: &self.adapters,
            roots: &self.roots,
            scope: &self.scope,
            threads: self.threads,
            archive: self.archive,
            complete: true,
            rescan: capture::watch::RESCAN_EVERY,
            poll: false,
        }
    }
}

/// Writes the summaries of live sessions that are due, with the model where one is configured and can be had.
pub fn renew(
    store: &Store,
    stages: &Stages,
    stop: &Arc<AtomicBool>,
    now: Timestamp,
) -> store::Result<Renewed> {
    if store.is_encrypted() {
        // The files would tell in plain text what the store keeps sealed; an encryption that was interrupted
        // may have left some.
        store.remove_summaries()?;
        return Ok(Renewed::default());
    }
    let stopped = || stop.load(Ordering::Relaxed);
    let Some(settings) = stages.summary.as_ref().filter(|_| !stopped()) else {
        return Ok(Renewed::default());
    };
    let renew = |how: How<'_>| renew::renew_pending(store, settings, how, &stopped, now);
    match asked(store, stages, "summary", stop, |asker| {
        renew(How::Model(asker))
    }) {
        Some(renewed) => renewed,
        None => renew(How::Embedded),
    }
}

/// Asks the model for the facts of sessions that have ended. `None` where it is not to be asked.
pub fn ask_for_facts(
    store: &Store,
    stages: &Stages,
    stop: &Arc<AtomicBool>,
    now: Timestamp,
) -> store::Result<Option<model_facts::stage::Report>> {
    let stopped = || stop.load(Ordering::Relaxed);
    if !stages.facts || !stages.facts_by_model || stopped() {
        return Ok(None);
    }
    let found = asked(store, stages, "facts", stop, |asker| {
        model_facts::stage::facts_pending(store, asker, now, &stopped)
    });
    found.transpose()
}

/// Runs with an asker of the configured model; `None` where there is none, or it cannot be had.
fn asked<T>(
    store: &Store,
    stages: &Stages,
    purpose: &'static str,
    stop: &Arc<AtomicBool>,
    work: impl FnOnce(&Asker<'_>) -> T,
) -> Option<T> {
    let loan = Loan {
        store,
        purpose,
        session: None,
        stop,
    };
    let asked = models::ask(stages.models.as_deref()?, &loan, work);
    asked
        .inspect_err(|why| tracing::debug!(why, purpose, "no model is asked"))
        .ok()
}

/// Looks at what became of injections, and for facts in sessions that have ended.
pub fn look_back(
    store: &Store,
    stages: &Stages,
    stop: &AtomicBool,
    now: Timestamp,
) -> store::Result<Option<distill::facts::Report>> {
    let stopped = || stop.load(Ordering::Relaxed);
    if stopped() {
        return Ok(None);
    }
    recall::used::look_at_pending(store, now)?;
    if !stages.facts {
        return Ok(None);
    }
    Ok(Some(distill::facts::facts_pending(store, now, &stopped)?))
}

/// Makes the digests that are due, then evicts what the policy does not keep.
pub fn digest_and_evict(
    store: &Store,
    stages: &Stages,
    stop: &AtomicBool,
    now: Timestamp,
) -> store::Result<(Digested, Retained)> {
    let (policy, quiet) = (&stages.policy, stages.quiet);
    let terms = Terms {
        quiet,
        prices: &stages.prices,
        threads: stages.threads,
        stop,
    };
    let mut digested = digest_pending(store, &terms, now)?;
    // Before a session goes that has no digest, it gets one, however lately something happened in it.
    let (_, planned) = store.plan_eviction(policy, quiet, now)?;
    if planned.sessions.iter().any(|evict| evict.data_loss) {
        let terms = Terms {
            quiet: SignedDuration::ZERO,
            ..terms
        };
        let more = digest_pending(store, &terms, now)?;
        digested.analyzed += more.analyzed;
        digested.failed = more.failed;
    }
    // Interrupted, not everything has the digest it should have, so nothing goes.
    let retained = if stop.load(Ordering::Relaxed) {
        Retained::nothing(&store.usage_on_disk(now)?)
    } else {
        store.evict(policy, quiet, now)?
    };
    Ok((digested, retained))
}

/// Does the chores that are due.
pub fn keep_house(
    store: &Store,
    stages: &Stages,
    stop: &AtomicBool,
    now: Timestamp,
) -> store::Result<House> {
    let house = store.keep_house(now, stages.policy.raw_max_age, stop, &|_| {})?;
    if house.packed.sessions > 0 {
        store.give_back(now)?;
    }
    Ok(house)
}
