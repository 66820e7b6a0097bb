//! Compacts a conversation, read from the agent's own log.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use capture::CaptureScope;
use distill::compact::{
    CompactedConversation, CompactionLimits, CompactionOutcome, CompactionTask, Declined,
    SummarySource, Trigger, compact_with_fallback, wait,
};
use distill::model_summary::{SummaryFormat, summarize_with_model};
use distill::summary::{RunningSummary, extraction_status, load_running_summary};
use jiff::{SignedDuration, Timestamp};
use memory::summary::Template;
use memory::{Block, Flavor, Message, SessionId, Summary, Tokens};
use redact::Redactor;
use serde_json::{Value, json};
use store::{Lease, LeaseKind, LeaseOutcome, Store};

use super::find::find_session;
use super::{AccessScope, RequestError};
use crate::ServeContext;
use crate::models::{self, ModelProvider, ModelRequest};

/// An HTTP request is answered within half a minute, with or without the model.
const MODEL_TIMEOUT: SignedDuration = SignedDuration::from_secs(20);

/// A conversation and the log that it was read from.
#[derive(Clone, Debug)]
pub struct ConversationLog {
    pub path: PathBuf,
    pub session: Option<SessionId>,
    pub messages: Vec<Message>,
}

/// How a conversation is compacted.
#[derive(Clone, Debug)]
pub struct CompactOptions<'a> {
    pub limits: CompactionLimits,
    pub template: &'a Template,
    /// Notes to use instead of the session's running summary, or why they could not be read.
    pub notes: Option<Result<RunningSummary, String>>,
    /// The model that writes notes for a conversation that has none.
    pub model_provider: Option<&'a dyn ModelProvider>,
    /// How long the model may take.
    pub model_timeout: SignedDuration,
    /// The capture rules: files that they exclude are not quoted in the notes.
    pub scope: &'a CaptureScope,
}

/// Compacts a session. The kept messages come from the agent's own log, never from the store.
pub fn compact_session(
    context: &ServeContext,
    scope: &AccessScope,
    session: &str,
    threshold: Option<u64>,
    may_use_model: bool,
) -> Result<CompactionOutcome, RequestError> {
    let settings = &context.settings;
    let Some(limits) = settings.compaction else {
        return Ok(CompactionOutcome::first_try(Err(Declined::Disabled)));
    };
    let store = &*context.store;
    let log = session_log(store, scope, session, context.now())?;
    let template = settings.summary.as_ref().map(|it| it.template.clone());
    let model_provider = settings.model_provider.as_deref();
    let options = CompactOptions {
        limits: CompactionLimits {
            threshold: threshold.map(Tokens).or(limits.threshold),
            ..limits
        },
        template: &template.unwrap_or_default(),
        notes: None,
        model_provider: model_provider.filter(|_| may_use_model),
        model_timeout: MODEL_TIMEOUT,
        scope: &settings.scope,
    };
    let now = || context.now();
    Ok(compact_log(Some(store), &log, &options, &now)?)
}

/// Reads the log of a session.
pub fn session_log(
    store: &Store,
    scope: &AccessScope,
    session: &str,
    now: Timestamp,
) -> Result<ConversationLog, RequestError> {
    let session = find_session(store, scope, session)?;
    let path = session.source.as_ref().map(PathBuf::from);
    let Some(path) = path.filter(|path| path.is_file()) else {
        return Err(RequestError::not_found(
            format!(
                "the log of {} no longer exists, so there is nothing to compact",
                session.id
            ),
            "`throughline export --raw` writes the archived copy, with secrets redacted",
        ));
    };
    file_log(&path, Some(session.flavor), Some(session.id), now)
}

/// Reads a log without the subagents that may be interleaved with their session.
pub fn file_log(
    path: &Path,
    flavor: Option<Flavor>,
    session: Option<SessionId>,
    now: Timestamp,
) -> Result<ConversationLog, RequestError> {
    let file = path.display();
    let hint = "`throughline doctor` lists the agents";
    let messages = capture::conversation::read_conversation(path, flavor, now)
        .map_err(|error| RequestError::invalid(format!("cannot read {file}: {error}"), hint))?;
    let Some(mut messages) = messages else {
        let why = format!("{file} is not the log of a known agent");
        return Err(RequestError::invalid(why, hint));
    };
    let session = session.or_else(|| capture::conversation::main_session(&messages));
    messages.retain(|message| Some(&message.session) == session.as_ref());
    Ok(ConversationLog {
        // The path is quoted in the notes, and the model that reads them may work elsewhere.
        path: std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
        session,
        messages,
    })
}

/// Compacts a conversation. Without a store there are no notes but supplied ones, and no model is
/// used.
pub fn compact_log(
    store: Option<&Store>,
    log: &ConversationLog,
    options: &CompactOptions<'_>,
    clock: &dyn Fn() -> Timestamp,
) -> store::Result<CompactionOutcome> {
    let lease = store.and_then(|store| acquire_lease(store, log, clock()));
    let mut outcome = run_compaction(store, log, options, clock);
    if let Ok(CompactionOutcome {
        result: Ok(compacted),
        ..
    }) = &mut outcome
    {
        redact_notes(store, compacted);
    }
    if let Some((store, lease)) = store.zip(lease)
        && let Err(error) = store.release_lease(&lease)
    {
        tracing::warn!(%error, "cannot release the compaction lease");
    }
    outcome
}

/// Redacts secrets in the notes and the restored files. The kept messages are the caller's own
/// conversation and stay unchanged.
fn redact_notes(store: Option<&Store>, compacted: &mut CompactedConversation) {
    let own;
    let redactor = match store {
        Some(store) => store.redactor(),
        None => {
            own = Redactor::new([0; 32]);
            &own
        }
    };
    let written = std::iter::once(&mut compacted.summary).chain(&mut compacted.restored);
    for block in written.flat_map(|message| &mut message.blocks) {
        if let Block::Text(text) | Block::Summary(text) = block {
            let clean = redactor.clean(text);
            if clean.is_changed() {
                *text = clean.into_owned().into_string();
            }
        }
    }
}

fn run_compaction(
    store: Option<&Store>,
    log: &ConversationLog,
    options: &CompactOptions<'_>,
    clock: &dyn Fn() -> Timestamp,
) -> store::Result<CompactionOutcome> {
    let notes = match (&options.notes, store) {
        (None, Some(store)) => Ok(running_summary(store, log, clock)?),
        (notes, _) => notes.clone().transpose(),
    };
    let transcript = log.path.display().to_string();
    let visible = options.scope.visible_messages(&log.messages);
    let task = CompactionTask {
        messages: &log.messages,
        visible: &visible,
        notes: notes.as_ref().map(Option::as_ref).map_err(String::as_str),
        template: options.template,
        transcript: Some(&transcript),
        restored: None,
        trigger: Trigger::Manual,
        limits: &options.limits,
    };
    let Some((store, models)) = store.zip(options.model_provider) else {
        return Ok(compact_with_fallback(&task, None));
    };
    let deadline = clock().saturating_add(options.model_timeout);
    let deadline = deadline.unwrap_or(Timestamp::MAX);
    let summarize = |live: &[Message]| model_notes(store, models, log, &task, live, deadline);
    Ok(compact_with_fallback(&task, Some(&summarize)))
}

/// Has the configured model write the notes.
fn model_notes(
    store: &Store,
    models: &dyn ModelProvider,
    log: &ConversationLog,
    task: &CompactionTask<'_>,
    live: &[Message],
    deadline: Timestamp,
) -> Result<Summary, Declined> {
    let format = SummaryFormat {
        template: task.template,
        limits: &task.limits.summary,
    };
    let request = ModelRequest {
        store,
        purpose: "compaction",
        session: log.session.as_ref(),
        stop: &Arc::default(),
    };
    let summary = models::run_with_model(models, &request, |session| {
        summarize_with_model(session, live, &format, deadline)
    });
    Ok(summary.map_err(|why| Declined::ModelFailed { why })??)
}

/// Takes the compaction lease of a session, so that its summary is not updated meanwhile. A lease
/// that another compaction holds is no reason to stop.
fn acquire_lease(store: &Store, log: &ConversationLog, now: Timestamp) -> Option<Lease> {
    let session = log.session.as_ref()?;
    match store.acquire_lease(session, LeaseKind::Compaction, now) {
        Ok(LeaseOutcome::Granted(lease)) => Some(lease),
        Ok(LeaseOutcome::Busy { .. } | LeaseOutcome::Unknown) => None,
        Err(error) => {
            tracing::warn!(%session, %error, "cannot take the compaction lease");
            None
        }
    }
}

/// Returns the running summary of the session. If it is being written right now, waits a short time
/// for it.
fn running_summary(
    store: &Store,
    log: &ConversationLog,
    clock: &dyn Fn() -> Timestamp,
) -> store::Result<Option<RunningSummary>> {
    let Some(session) = log.session.as_ref() else {
        return Ok(None);
    };
    wait::wait_for_extraction(
        || extraction_status(store, session, clock()),
        clock,
        |time| std::thread::sleep(time.unsigned_abs()),
    );
    load_running_summary(store, session)
}

/// Returns the outcome as JSON: the event, its figures, the notes and the ids of the kept messages.
pub fn outcome_json(outcome: &CompactionOutcome) -> Value {
    let why = |why: &Declined| json!({"name": why.name(), "why": why.to_string()});
    let fell_through = outcome.fell_through.as_ref().map(why);
    let model = outcome.model_declined.as_ref().map(why);
    match &outcome.result {
        Ok(compacted) => json!({
            "event": event_name(outcome),
            "fell_through": fell_through,
            "model_declined": model,
            "figures": compacted.figures,
            "boundary": compacted.boundary,
            "summary": message_json(&compacted.summary),
            "restored": compacted.restored.as_ref().map(message_json),
            "kept": compacted.kept.iter().map(|message| &message.id).collect::<Vec<_>>(),
            "open": compacted.open,
            "repairs": compacted.repairs,
        }),
        Err(declined) => json!({
            "event": event_name(outcome),
            "fell_through": fell_through,
            "model_declined": model,
            "declined": why(declined),
        }),
    }
}

/// Returns the event name of an outcome.
pub fn event_name(outcome: &CompactionOutcome) -> String {
    let way = |compacted: &CompactedConversation| match compacted.source {
        SummarySource::Summary => "compaction.summary",
        SummarySource::FullByModel => "compaction.full_by_model",
        SummarySource::Full => "compaction.full",
    };
    match &outcome.result {
        Ok(compacted) => way(compacted).to_owned(),
        Err(declined) => format!("compaction.declined.{}", declined.name()),
    }
}

fn message_json(message: &Message) -> Value {
    json!({"id": message.id, "role": message.role, "text": message_text(message)})
}

/// Returns the text of a message that a compaction has written.
pub fn message_text(message: &Message) -> &str {
    let text = message.blocks.iter().find_map(|block| match block {
        Block::Text(text) | Block::Summary(text) => Some(text.as_str()),
        _ => None,
    });
    text.unwrap_or_default()
}
