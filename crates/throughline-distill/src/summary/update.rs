//! Writes the summaries of sessions.
//!
//! [`update_pending_summaries`] is the stage: it examines the sessions that have changed and
//! updates the summaries that are due. [`write_summary`] updates one now. Both use a model if the
//! caller has one and the embedded extractor otherwise, and both read only the records since the
//! last checkpoint.

use jiff::{SignedDuration, Timestamp};
use memory::summary::{SummaryLimits, Template};
use memory::{MessageId, SessionId, Summary, Tokens, Usage};
use store::{Lease, NewSummary, Store, StoredSummary, SummaryMethod, SummaryWrite};
use thiserror::Error;

use super::events;
use super::job::SummaryJob;
use super::model_edit::{DEFAULT_INSTRUCTIONS, SummaryEdit, SummaryEditTask, edit_summary};
use super::schedule::{SummaryThresholds, UpdateDecision, WaitReason, decide_update};
use crate::model::{ModelSession, ModelUnavailable};
use crate::record_view::ExtractorRecord;
use crate::transcript::SessionTranscript;

/// A session without activity for longer is not live; its summary is only written on request.
pub const LIVE_WINDOW: SignedDuration = SignedDuration::from_hours(48);
/// The maximum number of sessions that one run examines.
const SESSIONS_MAX: usize = 256;
/// The maximum number of sessions per run that a model summarizes, the latest first. The embedded
/// extractor takes the others.
const MODEL_SESSIONS_MAX: usize = 4;
/// The maximum size of the transcript that a model reads.
const TRANSCRIPT_TOKENS_MAX: Tokens = Tokens(60_000);
/// The maximum duration of an update. It must end before its lease expires.
pub const EXTRACTION_TIME_MAX: SignedDuration = SignedDuration::from_secs(55);

/// The settings of the running summary.
#[derive(Clone, Debug)]
pub struct SummarySettings {
    pub thresholds: SummaryThresholds,
    pub limits: SummaryLimits,
    pub template: Template,
    pub instructions: String,
    /// A model is configured, so the embedded extractor does not overwrite its notes.
    pub has_model: bool,
}

impl Default for SummarySettings {
    fn default() -> Self {
        Self {
            thresholds: SummaryThresholds::default(),
            limits: SummaryLimits::default(),
            template: Template::default(),
            instructions: DEFAULT_INSTRUCTIONS.to_owned(),
            has_model: false,
        }
    }
}

/// The author of a summary.
#[derive(Clone, Copy, Debug)]
pub enum SummaryAuthor<'a> {
    Embedded,
    Model(&'a ModelSession<'a>),
    /// A model that continues from the session's own last request, which hits the provider's prompt
    /// cache. Only the program that sent the request has it; no log contains it.
    ForkedModel(&'a ModelSession<'a>, &'a serde_json::Value),
}

impl<'a> SummaryAuthor<'a> {
    fn model(self) -> Option<&'a ModelSession<'a>> {
        match self {
            Self::Embedded => None,
            Self::Model(model) | Self::ForkedModel(model, _) => Some(model),
        }
    }
}

/// The result of a run over all sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SummaryReport {
    pub examined: usize,
    pub written: Vec<SessionId>,
    /// The number of summaries that a model wrote.
    pub by_model: usize,
    /// Why the model became unavailable during the run.
    pub refused: Option<String>,
    /// The run was stopped before it was complete.
    pub interrupted: bool,
}

/// A summary that was written.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenSummary {
    pub version: u64,
    pub method: SummaryMethod,
    pub usage: Usage,
    pub duration_ms: u64,
    pub edits: usize,
    /// The reasons for rejected edits of a model.
    pub denied: Vec<String>,
}

/// Why no summary was written. The old one stays in place.
#[derive(Debug, Error)]
pub enum SummaryError {
    #[error("unknown session")]
    UnknownSession,
    #[error("subagent sessions have no summary of their own")]
    Subagent,
    #[error("the session is empty")]
    EmptySession,
    #[error("another process has been writing the summary since {since}")]
    Busy { since: Timestamp },
    #[error("the session is being compacted")]
    Compacting,
    #[error("the lease expired and another process took it over")]
    LeaseLost,
    #[error("no new records since the last summary")]
    NoNewRecords,
    #[error("the model made no edits")]
    NoEdits { denied: Vec<String> },
    #[error(transparent)]
    ModelUnavailable(#[from] ModelUnavailable),
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// Updates the summaries that are due, of the live sessions that have changed.
pub fn update_pending_summaries(
    store: &Store,
    settings: &SummarySettings,
    author: SummaryAuthor<'_>,
    stop: &dyn Fn() -> bool,
    now: Timestamp,
) -> store::Result<SummaryReport> {
    let since = now.saturating_sub(LIVE_WINDOW).unwrap_or(Timestamp::MIN);
    let mut report = SummaryReport::default();
    let mut model_uses = 0;
    for session in store.sessions_to_summarize(since, SESSIONS_MAX)? {
        if stop() {
            report.interrupted = true;
            break;
        }
        report.examined += 1;
        // A model that just failed would fail for the next session too, after the same timeout.
        let may_use_model = model_uses < MODEL_SESSIONS_MAX && report.refused.is_none();
        let model = author.model().filter(|_| may_use_model);
        match update_if_due(store, &session, settings, model, now) {
            Ok(update) => {
                let by_model = update.method == Some(SummaryMethod::Model);
                model_uses += usize::from(by_model || update.refused.is_some());
                report.by_model += usize::from(by_model);
                report.refused = report.refused.or(update.refused);
                report.written.extend(update.method.map(|_| session));
            }
            // A failure in one session must not stop the others.
            Err(error) => tracing::warn!(%session, %error, "cannot write the summary"),
        }
    }
    Ok(report)
}

/// The effect of a run on one session.
#[derive(Default)]
struct SessionUpdate {
    /// Who wrote the summary; `None` if it was not written.
    method: Option<SummaryMethod>,
    /// Why the model was unavailable.
    refused: Option<String>,
}

/// Updates the summary of a session if it is due.
fn update_if_due(
    store: &Store,
    session: &SessionId,
    settings: &SummarySettings,
    model: Option<&ModelSession<'_>>,
    now: Timestamp,
) -> Result<SessionUpdate, SummaryError> {
    let job = SummaryJob::load(store, session, now)?;
    job.save_progress(store)?;
    let mut update = SessionUpdate::default();
    let progress = job.progress();
    let decision = decide_update(&progress, &settings.thresholds);
    let is_due = matches!(decision, UpdateDecision::Update(_));
    let is_too_little = matches!(
        decision,
        UpdateDecision::Wait(WaitReason::TooShort | WaitReason::TooFewNewTokens)
    );
    // Within a turn, the session changes with every record.
    if is_due || is_too_little && progress.turn_is_complete && progress.at_pause {
        events::record_due(store, session, &progress, &settings.thresholds, now);
    }
    if !is_due {
        return Ok(update);
    }
    if let Some(model) = model {
        let model = ModelSession {
            purpose: "summary",
            session: Some(session),
            ..*model
        };
        let started = (model.clock.now)();
        let author = SummaryAuthor::Model(&model);
        match write_under_lease(store, &job, settings, author, started) {
            Err(SummaryError::ModelUnavailable(error)) => update.refused = Some(error.to_string()),
            Err(SummaryError::NoEdits { .. }) => {}
            written => {
                update.method = ignore_contention(written)?;
                return Ok(update);
            }
        }
    }
    if !settings.has_model || !job.is_left_to_model(&settings.thresholds) {
        let written = write_under_lease(store, &job, settings, SummaryAuthor::Embedded, now);
        update.method = ignore_contention(written)?;
    }
    Ok(update)
}

/// Returns the method of a written summary. Contention with another process and a session without
/// new records are not errors of a run.
fn ignore_contention(
    written: Result<WrittenSummary, SummaryError>,
) -> Result<Option<SummaryMethod>, SummaryError> {
    match written {
        Ok(written) => Ok(Some(written.method)),
        Err(
            SummaryError::Busy { .. }
            | SummaryError::LeaseLost
            | SummaryError::EmptySession
            | SummaryError::NoNewRecords,
        ) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes the summary of a session now, whether it is due or not.
pub fn write_summary(
    store: &Store,
    session: &SessionId,
    settings: &SummarySettings,
    author: SummaryAuthor<'_>,
    now: Timestamp,
) -> Result<WrittenSummary, SummaryError> {
    let job = SummaryJob::load(store, session, now)?;
    job.start(store)?;
    write_under_lease(store, &job, settings, author, now)
}

/// Returns the summary that the embedded extractor would write.
pub fn draft_summary(
    store: &Store,
    session: &SessionId,
    settings: &SummarySettings,
    now: Timestamp,
) -> Result<Summary, SummaryError> {
    let job = SummaryJob::load(store, session, now)?;
    if job.builder.is_empty() {
        return Err(SummaryError::EmptySession);
    }
    let before = store.summary(session)?;
    Ok(job.render(settings, before.as_ref()))
}

/// Writes the summary of a session under its lease.
pub(super) fn write_under_lease(
    store: &Store,
    job: &SummaryJob,
    settings: &SummarySettings,
    author: SummaryAuthor<'_>,
    now: Timestamp,
) -> Result<WrittenSummary, SummaryError> {
    let written = job.with_lease(store, now, |lease| {
        // Read under the lease, so that no other process writes in between.
        let before = store.summary(&job.session)?;
        match author.model() {
            None => {
                let text = job.render(settings, before.as_ref()).to_string();
                let method = SummaryMethod::Embedded;
                store_summary(
                    store,
                    job,
                    settings,
                    lease,
                    method,
                    text.into(),
                    lease.since,
                )
            }
            Some(model) => {
                let edit =
                    edit_with_model(store, job, settings, author, model, before.as_ref(), lease)?;
                if edit.edits == 0 {
                    let denied = edit.denied;
                    return Err(SummaryError::NoEdits { denied });
                }
                let ended = (model.clock.now)();
                let method = SummaryMethod::Model;
                store_summary(store, job, settings, lease, method, edit, ended)
            }
        }
    });
    events::record_extraction(store, job, &settings.thresholds, &written, now);
    written
}

/// Stores a new summary with the progress that it covers.
fn store_summary(
    store: &Store,
    job: &SummaryJob,
    settings: &SummarySettings,
    lease: &Lease,
    method: SummaryMethod,
    edit: SummaryEdit,
    ended: Timestamp,
) -> Result<WrittenSummary, SummaryError> {
    let thresholds = &settings.thresholds;
    let duration = ended.duration_since(lease.since).as_millis();
    let duration_ms = u64::try_from(duration).unwrap_or_default();
    let written = store.write_summary(
        lease,
        &NewSummary {
            text: edit.text,
            method,
            at: lease.since,
            last: job.builder.last_cut_point().cloned(),
            tokens: job.builder.tokens,
            tool_calls: job.builder.tool_calls,
            usage: edit.usage,
            duration_ms,
            thresholds: [
                thresholds.first_tokens.0, thresholds.new_tokens.0, thresholds.new_calls,
            ],
        },
    )?;
    match written {
        SummaryWrite::Written { version } => Ok(WrittenSummary {
            version,
            method,
            usage: edit.usage,
            duration_ms,
            edits: edit.edits,
            denied: edit.denied,
        }),
        SummaryWrite::LeaseLost => Err(SummaryError::LeaseLost),
    }
}

/// Lets a model edit the notes. The first time it starts from the notes of the embedded extractor.
fn edit_with_model(
    store: &Store,
    job: &SummaryJob,
    settings: &SummarySettings,
    author: SummaryAuthor<'_>,
    model: &ModelSession<'_>,
    before: Option<&StoredSummary>,
    lease: &Lease,
) -> Result<SummaryEdit, SummaryError> {
    let deadline = lease.since.saturating_add(EXTRACTION_TIME_MAX);
    let covered = before.and_then(|before| before.info.last.as_ref());
    let transcript = transcript_since(store, &job.session, covered)?;
    if transcript.is_empty() {
        return Err(SummaryError::NoNewRecords);
    }
    let notes = match before {
        Some(before) => before.text.clone(),
        None => job.render(settings, None).to_string(),
    };
    let task = SummaryEditTask {
        notes: &notes,
        file: &job.file(store),
        transcript: &transcript.fenced(),
        instructions: &settings.instructions,
        limits: &settings.limits,
        parent_request: match author {
            SummaryAuthor::ForkedModel(_, parent) => Some(parent),
            SummaryAuthor::Embedded | SummaryAuthor::Model(_) => None,
        },
    };
    Ok(edit_summary(model, &task, deadline.unwrap_or(lease.since))?)
}

/// Collects the records after a message, or all of them if that message is missing.
fn transcript_since(
    store: &Store,
    session: &SessionId,
    since: Option<&MessageId>,
) -> store::Result<SessionTranscript> {
    let mut transcript = SessionTranscript::new(TRANSCRIPT_TOKENS_MAX);
    let mut all = SessionTranscript::new(TRANSCRIPT_TOKENS_MAX);
    let mut found = false;
    store.each_record(session, |record| {
        let view = ExtractorRecord::from(&record);
        let is_covered_last = since == Some(&record.message);
        found |= is_covered_last;
        if found && !is_covered_last {
            transcript.add(&view);
        } else if !found {
            all.add(&view);
        }
    })?;
    Ok(if found { transcript } else { all })
}

#[cfg(test)]
mod tests;
