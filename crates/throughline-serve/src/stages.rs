//! What is done to memory in the background, one stage after the other.
//!
//! Each stage finds its own work in the store and leaves its result there, so it may be run as often as
//! one likes and stopped at any time. Who runs them, and when, is decided by the daemon or by a command.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use capture::{Adapter, CaptureScope, Root};
use distill::digest::{DigestOptions, DigestReport, digest_pending};
use distill::model::ModelSession;
use distill::model_facts;
use distill::renew::{self, SummaryAuthor, SummaryReport};
use jiff::{SignedDuration, Timestamp};
use memory::Prices;
use store::Store;
use store::housekeeping::MaintenanceReport;
use store::retention::{RetentionPolicy, RetentionReport};

use crate::models::{self, ModelProvider, ModelRequest};

/// What the stages depend on besides the store.
#[derive(Clone, Debug)]
pub struct StageSettings {
    /// A session in which nothing has happened for so long is finished.
    pub idle_after: SignedDuration,
    pub prices: Prices,
    pub threads: usize,
    /// Look for facts.
    pub extract_facts: bool,
    /// Ask the model for facts too.
    pub extract_facts_with_model: bool,
    /// How summaries are written; not at all without it.
    pub summary: Option<renew::SummarySettings>,
    /// Who lends the configured model, if there is one.
    pub model_provider: Option<Arc<dyn ModelProvider>>,
    pub policy: RetentionPolicy,
}

/// Whose logs are read, and where they lie.
#[derive(Clone)]
pub struct LogSources {
    pub adapters: Vec<&'static dyn Adapter>,
    pub roots: Vec<Root>,
    pub scope: CaptureScope,
    pub threads: usize,
    /// Keep the logs themselves too.
    pub archive: bool,
}

impl std::fmt::Debug for LogSources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Logs")
            .field("roots", &self.roots)
            .finish_non_exhaustive()
    }
}

impl LogSources {
    /// Returns them as the watcher takes them.
    pub fn watch(&self) -> capture::WatchOptions<'_> {
        capture::WatchOptions {
            adapters: &self.adapters,
            roots: &self.roots,
            scope: &self.scope,
            threads: self.threads,
            archive: self.archive,
            all_roots: true,
            rescan_every: capture::watch::RESCAN_EVERY,
            poll: false,
        }
    }
}

/// Writes the summaries of live sessions that are due, with the model where one is configured and can be had.
pub fn update_due_summaries(
    store: &Store,
    stages: &StageSettings,
    stop: &Arc<AtomicBool>,
    now: Timestamp,
) -> store::Result<SummaryReport> {
    if store.is_encrypted() {
        // The files would tell in plain text what the store keeps sealed; an encryption that was interrupted
        // may have left some.
        store.remove_summaries()?;
        return Ok(SummaryReport::default());
    }
    let stopped = || stop.load(Ordering::Relaxed);
    let Some(settings) = stages.summary.as_ref().filter(|_| !stopped()) else {
        return Ok(SummaryReport::default());
    };
    let renew = |how: SummaryAuthor<'_>| {
        renew::update_pending_summaries(store, settings, how, &stopped, now)
    };
    match with_configured_model(store, stages, "summary", stop, |asker| {
        renew(SummaryAuthor::Model(asker))
    }) {
        Some(renewed) => renewed,
        None => renew(SummaryAuthor::Embedded),
    }
}

/// Asks the model for the facts of sessions that have ended. `None` where it is not to be asked.
pub fn extract_facts_with_model(
    store: &Store,
    stages: &StageSettings,
    stop: &Arc<AtomicBool>,
    now: Timestamp,
) -> store::Result<Option<model_facts::stage::ModelFactReport>> {
    let stopped = || stop.load(Ordering::Relaxed);
    if !stages.extract_facts || !stages.extract_facts_with_model || stopped() {
        return Ok(None);
    }
    let found = with_configured_model(store, stages, "facts", stop, |asker| {
        model_facts::stage::extract_pending_model_facts(store, asker, now, &stopped)
    });
    found.transpose()
}

/// Runs with an asker of the configured model; `None` where there is none, or it cannot be had.
fn with_configured_model<T>(
    store: &Store,
    stages: &StageSettings,
    purpose: &'static str,
    stop: &Arc<AtomicBool>,
    work: impl FnOnce(&ModelSession<'_>) -> T,
) -> Option<T> {
    let loan = ModelRequest {
        store,
        purpose,
        session: None,
        stop,
    };
    let asked = models::run_with_model(stages.model_provider.as_deref()?, &loan, work);
    asked
        .inspect_err(|why| tracing::debug!(why, purpose, "no model is asked"))
        .ok()
}

/// Looks at what became of injections, and for facts in sessions that have ended.
pub fn extract_facts(
    store: &Store,
    stages: &StageSettings,
    stop: &AtomicBool,
    now: Timestamp,
) -> store::Result<Option<distill::facts::FactReport>> {
    let stopped = || stop.load(Ordering::Relaxed);
    if stopped() {
        return Ok(None);
    }
    recall::score_past_injections(store, now)?;
    if !stages.extract_facts {
        return Ok(None);
    }
    Ok(Some(distill::facts::extract_pending_facts(
        store, now, &stopped,
    )?))
}

/// Makes the digests that are due, then evicts what the policy does not keep.
pub fn digest_and_evict(
    store: &Store,
    stages: &StageSettings,
    stop: &AtomicBool,
    now: Timestamp,
) -> store::Result<(DigestReport, RetentionReport)> {
    let (policy, quiet) = (&stages.policy, stages.idle_after);
    let terms = DigestOptions {
        quiet_for: quiet,
        prices: &stages.prices,
        threads: stages.threads,
        stop,
    };
    let mut digested = digest_pending(store, &terms, now)?;
    // Before a session goes that has no digest, it gets one, however lately something happened in it.
    let (_, planned) = store.plan_eviction(policy, quiet, now)?;
    if planned.sessions.iter().any(|evict| evict.data_loss) {
        let terms = DigestOptions {
            quiet_for: SignedDuration::ZERO,
            ..terms
        };
        let more = digest_pending(store, &terms, now)?;
        digested.analyzed += more.analyzed;
        digested.failed = more.failed;
    }
    // Interrupted, not everything has the digest it should have, so nothing goes.
    let retained = if stop.load(Ordering::Relaxed) {
        RetentionReport::unchanged(&store.disk_usage(now)?)
    } else {
        store.evict(policy, quiet, now)?
    };
    Ok((digested, retained))
}

/// Does the chores that are due.
pub fn run_maintenance(
    store: &Store,
    stages: &StageSettings,
    stop: &AtomicBool,
    now: Timestamp,
) -> store::Result<MaintenanceReport> {
    let house = store.run_due_tasks(now, stages.policy.raw_max_age, stop, &|_| {})?;
    if house.packed.sessions > 0 {
        store.vacuum_if_worthwhile(now)?;
    }
    Ok(house)
}
