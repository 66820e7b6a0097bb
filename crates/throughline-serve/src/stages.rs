//! The background work on a memory, in stages.
//!
//! [`run`] is the only executor: the daemon's schedule, the work that follows a hook, and the
//! commands that do the same without a daemon all go through it, or through the function of the
//! stage where they need its report. So every caller keeps the same rules, such as that an
//! encrypted store gets no summary files.
//!
//! A stage finds its own work in the store and leaves its result there, so it may run at any time,
//! run again, or be stopped. This module does not know when a stage is due.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use capture::{Sources, SweepControl, SweepReport};
use distill::checkpoint;
use distill::digest::{DigestOptions, DigestReport, digest_pending};
use distill::model::ModelSession;
use distill::model_facts;
use distill::summary::{self, SummaryAuthor, SummaryError, SummaryReport, SummarySettings};
use jiff::{SignedDuration, Timestamp};
use memory::{Flavor, Prices, SessionId, Tokens};
use serde_json::{Value, json};
use store::maintenance::MaintenanceReport;
use store::retention::{RetentionPolicy, RetentionReport};
use store::{EventName, Store};

use crate::models::{self, ModelProvider, ModelRequest};
use crate::requests::capsules::refresh_all_capsules;

/// The configuration of the stages.
#[derive(Clone, Debug)]
pub struct StageSettings {
    /// A session counts as finished after this time without a new message.
    pub idle_after: SignedDuration,
    pub prices: Prices,
    pub threads: usize,
    pub extract_facts: bool,
    /// Ask the model for facts too.
    pub extract_facts_with_model: bool,
    /// How summaries are written; `None` if they are switched off.
    pub summary: Option<SummarySettings>,
    /// The size from which a conversation is due for compaction; `None` means never.
    pub auto_tokens: Option<Tokens>,
    /// Gives access to the configured model, if there is one.
    pub model_provider: Option<Arc<dyn ModelProvider>>,
    pub policy: RetentionPolicy,
    /// The catalog and the floors of the learning loop.
    pub learn: learn::LearnSettings,
}

/// One piece of background work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Read what is new in one log of an agent, or in all of its logs.
    ReadLogs {
        flavor: Flavor,
        log: Option<PathBuf>,
    },
    /// Write the summary of a session, whether it is due or not.
    SummarizeSession(SessionId),
    /// Bring the summary of a session up to its last message, if the session is long enough.
    RefreshSummary(SessionId),
    /// Write all summaries that are due.
    Summaries,
    /// Make the checkpoints of sessions that have changed.
    Checkpoints,
    /// Make the checkpoints of one session.
    SessionCheckpoints(SessionId),
    /// Extract the facts of a session that may have ended.
    SessionFacts(SessionId),
    /// Score past injections, and extract facts from sessions that have become quiet.
    Facts,
    /// Ask the model for the facts of sessions that have ended.
    ModelFacts,
    /// Write the digests that are due, then evict what the retention policy does not keep.
    Retention,
    /// Detect what recurs across sessions, and which patterns are active.
    Patterns,
    /// Make the knowledge capsules of workspaces from what is stored now.
    Capsules,
    /// Run the store's own periodic tasks.
    Maintenance,
}

/// What a stage runs with.
#[derive(Clone, Copy, Debug)]
pub struct StageContext<'a> {
    pub store: &'a Store,
    pub settings: &'a StageSettings,
    pub sources: &'a Sources,
    /// Set by another thread to end a stage early.
    pub stop: &'a Arc<AtomicBool>,
    pub now: Timestamp,
}

/// Runs one stage.
pub fn run(stage: &Stage, context: &StageContext<'_>) -> store::Result<()> {
    let StageContext {
        store,
        settings,
        sources,
        stop,
        now,
    } = *context;
    match stage {
        Stage::ReadLogs { flavor, log } => {
            let discovery = sources.discover_agent(*flavor, log.as_deref());
            let control = SweepControl::new(stop);
            let sweep = capture::sweep_discovered(store, sources, &discovery, &control, now)?;
            record_sweep(store, &sweep, now);
            Ok(())
        }
        Stage::SummarizeSession(session) => write_session_summary(context, session, |summary| {
            summary::write_summary(store, session, summary, SummaryAuthor::Embedded, now).map(drop)
        }),
        Stage::RefreshSummary(session) => {
            report_due_compaction(store, settings, session, now)?;
            write_session_summary(context, session, |summary| {
                summary::refresh_summary(store, session, summary, now).map(drop)
            })
        }
        Stage::Summaries => update_due_summaries(store, settings, stop, now).map(drop),
        Stage::SessionFacts(session) if settings.extract_facts => {
            let found = distill::facts::extract_ended_session(store, session, now)?;
            record_facts(store, Some(session), &found, now);
            Ok(())
        }
        Stage::SessionFacts(_) => Ok(()),
        Stage::Checkpoints => {
            let stopped = || stop.load(Ordering::Relaxed);
            checkpoint::write_pending_checkpoints(store, &stopped, now).map(drop)
        }
        Stage::SessionCheckpoints(session) => {
            checkpoint::write_checkpoints(store, session).map(drop)
        }
        Stage::Facts => extract_facts(store, settings, stop, now).map(drop),
        Stage::ModelFacts => extract_facts_with_model(store, settings, stop, now).map(drop),
        Stage::Retention => digest_and_evict(store, settings, stop, now).map(drop),
        Stage::Patterns => learn::detect::run_stage(store, &settings.learn, now),
        Stage::Capsules => {
            let stopped = || stop.load(Ordering::Relaxed);
            refresh_all_capsules(store, &stopped)
        }
        Stage::Maintenance => run_maintenance(store, settings, stop, now).map(drop),
    }
}

/// Records that the conversation of a session has reached the size at which it should be compacted.
fn report_due_compaction(
    store: &Store,
    settings: &StageSettings,
    session: &SessionId,
    now: Timestamp,
) -> store::Result<()> {
    let last = store.last_requests(session, 1)?.pop();
    let (Some(threshold), Some(last)) = (settings.auto_tokens, last) else {
        return Ok(());
    };
    if last.tokens < threshold.0 {
        return Ok(());
    }
    let sizes = json!({"of": "conversation", "tokens": last.tokens, "threshold": threshold});
    let sizes = sizes.as_object().cloned().unwrap_or_default();
    store.record_event(now, EventName::ThresholdExceeded, Some(session), sizes)
}

/// Adds a sweep that stored something to the event log.
pub fn record_sweep(store: &Store, sweep: &SweepReport, now: Timestamp) {
    if sweep.records > 0 || sweep.no_longer_in_source > 0 {
        let figures = json!({
            "logs": sweep.ingested, "records": sweep.records, "read_bytes": sweep.read_bytes,
            "no_longer_in_source": sweep.no_longer_in_source, "failed": sweep.failed,
        });
        record_event(store, EventName::SweepFinished, None, &figures, now);
    }
}

/// Adds the sweeps of a watcher to the event log. A watcher sweeps with every line that an agent
/// writes, so the sweeps of a minute become one event.
#[derive(Debug, Default)]
pub struct SweepLog {
    pending: SweepReport,
    recorded: Option<Timestamp>,
}

impl SweepLog {
    const INTERVAL: SignedDuration = SignedDuration::from_secs(60);

    pub fn add(&mut self, store: &Store, sweep: &SweepReport, now: Timestamp) {
        self.pending.add(sweep.clone());
        let is_due = |recorded| now.duration_since(recorded) >= Self::INTERVAL;
        if self.recorded.is_none_or(is_due) {
            self.flush(store, now);
        }
    }

    /// Records the sweeps since the last event.
    pub fn flush(&mut self, store: &Store, now: Timestamp) {
        record_sweep(store, &self.pending, now);
        self.pending = SweepReport::default();
        self.recorded = Some(now);
    }
}

/// Adds an event to the log. The work itself is done, so a failure is only reported.
fn record_event(
    store: &Store,
    name: EventName,
    session: Option<&SessionId>,
    figures: &Value,
    now: Timestamp,
) {
    let figures = figures.as_object().cloned().unwrap_or_default();
    if let Err(error) = store.record_event(now, name, session, figures) {
        tracing::warn!(%error, name = name.as_str(), "event not recorded");
    }
}

/// Writes the summary of one session, unless summaries are off or the store is encrypted: a summary
/// is a plain-text file. A session that gets no summary for a good reason has not failed.
fn write_session_summary(
    context: &StageContext<'_>,
    session: &SessionId,
    write: impl FnOnce(&SummarySettings) -> Result<(), SummaryError>,
) -> store::Result<()> {
    let Some(summary) = context.settings.summary.as_ref() else {
        let name = EventName::ExtractionDeclinedDisabled;
        record_event(context.store, name, Some(session), &json!({}), context.now);
        return Ok(());
    };
    if context.store.is_encrypted() {
        return Ok(());
    }
    match write(summary) {
        Ok(()) => Ok(()),
        Err(SummaryError::Store(error)) => Err(error),
        Err(declined) => {
            tracing::debug!(%session, %declined, "no new summary");
            Ok(())
        }
    }
}

/// Writes the summaries of live sessions that are due: with the model if one is configured and
/// available, else without.
pub fn update_due_summaries(
    store: &Store,
    stages: &StageSettings,
    stop: &Arc<AtomicBool>,
    now: Timestamp,
) -> store::Result<SummaryReport> {
    if store.is_encrypted() {
        // Summaries are plain-text files. An interrupted encryption may have left some.
        store.remove_summaries()?;
        return Ok(SummaryReport::default());
    }
    let stopped = || stop.load(Ordering::Relaxed);
    let Some(settings) = stages.summary.as_ref().filter(|_| !stopped()) else {
        return Ok(SummaryReport::default());
    };
    let update = |author: SummaryAuthor<'_>| {
        summary::update_pending_summaries(store, settings, author, &stopped, now)
    };
    let by_model = with_configured_model(store, stages, "summary", stop, |model| {
        update(SummaryAuthor::Model(model))
    });
    by_model.unwrap_or_else(|| update(SummaryAuthor::Embedded))
}

/// Asks the model for the facts of sessions that have ended. Returns `None` if the configuration
/// does not allow that, or no model is available.
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
    let report = with_configured_model(store, stages, "facts", stop, |model| {
        model_facts::stage::extract_pending_model_facts(store, model, now, &stopped)
    });
    let report = report.transpose()?;
    if let Some(found) = report.as_ref().filter(|report| report.sessions > 0) {
        let figures = json!({
            "sessions": found.sessions, "facts": found.facts, "repeated": found.repeated,
            "by_model": found.facts + found.repeated,
        });
        record_event(store, EventName::FactsExtracted, None, &figures, now);
    }
    Ok(report)
}

/// Runs `work` with the configured model. Returns `None` if there is none, or it is unavailable.
fn with_configured_model<T>(
    store: &Store,
    stages: &StageSettings,
    purpose: &'static str,
    stop: &Arc<AtomicBool>,
    work: impl FnOnce(&ModelSession<'_>) -> T,
) -> Option<T> {
    let request = ModelRequest {
        store,
        purpose,
        session: None,
        stop,
    };
    let result = models::run_with_model(stages.model_provider.as_deref()?, &request, work);
    result
        .inspect_err(|why| tracing::debug!(why, purpose, "the model is unavailable"))
        .ok()
}

/// Scores past injections, then extracts facts from sessions that have ended. Returns `None` if
/// facts are switched off or the stage was stopped.
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
    let found = distill::facts::extract_pending_facts(store, now, &stopped)?;
    record_facts(store, None, &found, now);
    Ok(Some(found))
}

/// Adds an extraction of facts that read something to the event log.
fn record_facts(
    store: &Store,
    session: Option<&SessionId>,
    found: &distill::facts::FactReport,
    now: Timestamp,
) {
    if found.sessions > 0 {
        let figures = json!({
            "sessions": found.sessions, "facts": found.facts, "repeated": found.repeated,
            "by_model": 0,
        });
        record_event(store, EventName::FactsExtracted, session, &figures, now);
    }
}

/// Writes the digests that are due, then evicts what the retention policy does not keep.
pub fn digest_and_evict(
    store: &Store,
    stages: &StageSettings,
    stop: &AtomicBool,
    now: Timestamp,
) -> store::Result<(DigestReport, RetentionReport)> {
    let (policy, idle_after) = (&stages.policy, stages.idle_after);
    let options = DigestOptions {
        quiet_for: idle_after,
        prices: &stages.prices,
        threads: stages.threads,
        stop,
    };
    let mut digested = digest_pending(store, &options, now)?;
    // A session that must be evicted before it is idle gets its digest first: else its content
    // would be lost.
    let (_, planned) = store.plan_eviction(policy, idle_after, now)?;
    if planned.sessions.iter().any(|evict| evict.data_loss) {
        let options = DigestOptions {
            quiet_for: SignedDuration::ZERO,
            ..options
        };
        let more = digest_pending(store, &options, now)?;
        digested.analyzed += more.analyzed;
        digested.failed = more.failed;
    }
    // After an interruption some sessions may lack their digest, so none is evicted.
    let retained = if stop.load(Ordering::Relaxed) {
        RetentionReport::unchanged(&store.disk_usage(now)?)
    } else {
        store.evict(policy, idle_after, now)?
    };
    let evicted: usize = retained.evicted.values().sum();
    if evicted > 0 {
        let figures = json!({
            "evicted_sessions": evicted,
            "freed_bytes": retained.freed, "raw_bytes": retained.final_usage,
            "data_loss_sessions": retained.data_loss.len(),
        });
        record_event(store, EventName::RetentionFinished, None, &figures, now);
    }
    Ok((digested, retained))
}

/// Runs the maintenance tasks that are due.
pub fn run_maintenance(
    store: &Store,
    stages: &StageSettings,
    stop: &AtomicBool,
    now: Timestamp,
) -> store::Result<MaintenanceReport> {
    let report = store.run_due_tasks(now, stages.policy.raw_max_age, stop, &|_| {})?;
    if report.packed.sessions > 0 {
        store.vacuum_if_worthwhile(now)?;
    }
    Ok(report)
}
