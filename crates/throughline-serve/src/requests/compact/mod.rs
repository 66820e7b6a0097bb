//! Compacts a conversation: a session by its log, or messages that the caller sends.
//!
//! [`body`] is a request of the daemon. [`conversation`] reads the conversation, [`answer`] writes
//! the result as JSON with the request to send, and [`events`] records what was done and why
//! something was not done.

pub mod answer;
mod body;
pub mod conversation;
mod events;

use std::sync::Arc;

use distill::compact::{
    CompactedConversation, CompactionLimits, CompactionOutcome, CompactionTask, Declined,
    RememberedFiles, Trigger, compact_with_fallback, wait,
};
use distill::model_summary::{SummaryFormat, summarize_with_model};
use distill::summary::{RunningSummary, extraction_status, load_running_summary};
use jiff::{SignedDuration, Timestamp};
use memory::summary::Template;
use memory::{Block, Message, SessionId, Summary, Tokens};
use redact::Redactor;
use serde_json::Value;
use store::{Lease, LeaseKind, LeaseOutcome, Store};

pub use self::body::CompactBody;
use self::conversation::ConversationLog;
use super::{AccessScope, RequestError};
use crate::hook::compaction::standing_context;
use crate::live::from_store;
use crate::models::{self, ModelProvider, ModelRequest};
use crate::settings::CompactionSettings;
use crate::{ServeContext, ServeSettings};

/// An HTTP request is answered within half a minute, with or without the model.
const MODEL_TIMEOUT: SignedDuration = SignedDuration::from_secs(20);

/// How a conversation is compacted.
#[derive(Clone, Debug)]
pub struct CompactOptions<'a> {
    pub settings: CompactionSettings,
    pub trigger: Trigger,
    pub template: &'a Template,
    /// Notes to use instead of the session's running summary, or why they could not be read.
    pub notes: Option<Result<RunningSummary, String>>,
    /// What the agent's hooks said at this compaction. A stored session also gets its pins.
    pub hook_results: &'a [String],
    /// Which pins and preferences are shown.
    pub serve: &'a ServeSettings,
    /// The model that writes notes for a conversation that has none.
    pub model_provider: Option<&'a dyn ModelProvider>,
    /// How long the model may take.
    pub model_timeout: SignedDuration,
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
        redact_compacted(store, log, compacted);
    }
    if let (Some(store), Ok(outcome)) = (store, &outcome) {
        events::record_outcome(store, log, options, outcome, clock());
    }
    if let Some((store, lease)) = store.zip(lease)
        && let Err(error) = store.release_lease(&lease)
    {
        tracing::warn!(%error, "cannot release the compaction lease");
    }
    outcome
}

/// Redacts secrets in the notes and the restored files, and in kept messages of a log. Messages
/// that the caller sent are its own conversation and stay unchanged.
fn redact_compacted(
    store: Option<&Store>,
    log: &ConversationLog,
    compacted: &mut CompactedConversation,
) {
    let own;
    let redactor = match store {
        Some(store) => store.redactor(),
        // Without a store there is no installation key. The marks are not stored, so a fixed
        // key does no harm.
        None => {
            own = Redactor::new([0; 32]);
            &own
        }
    };
    let written = std::iter::once(&mut compacted.summary).chain(&mut compacted.restored);
    let kept = compacted.kept.iter_mut().filter(|_| log.path.is_some());
    for block in written.chain(kept).flat_map(|message| &mut message.blocks) {
        match block {
            Block::Text(text) | Block::Summary(text) => redact_text(redactor, text),
            Block::ToolUse(call) => redact_text(redactor, &mut call.input),
            Block::ToolResult(result) => redact_text(redactor, &mut result.content),
            _ => {}
        }
    }
    let context = &mut compacted.restored_context;
    let files = context.files.iter_mut();
    for text in files.flat_map(|file| file.content.iter_mut().chain(&mut file.card)) {
        redact_text(redactor, text);
    }
    let todos = context.todos.iter_mut().map(|todo| &mut todo.text);
    for text in todos.chain(&mut context.plan) {
        redact_text(redactor, text);
    }
}

fn redact_text(redactor: &Redactor, text: &mut String) {
    let clean = redactor.clean(text);
    if clean.is_changed() {
        *text = clean.into_owned().into_string();
    }
}

fn run_compaction(
    store: Option<&Store>,
    log: &ConversationLog,
    options: &CompactOptions<'_>,
    clock: &dyn Fn() -> Timestamp,
) -> store::Result<CompactionOutcome> {
    if let Err(declined) = check_due(log, options) {
        return Ok(CompactionOutcome::first_try(Err(declined)));
    }
    let notes = match (&options.notes, store) {
        (None, Some(store)) => Ok(running_summary(store, log, clock)?),
        (notes, _) => notes.clone().transpose(),
    };
    if let (Some(store), Ok(Some(notes))) = (store, &notes)
        && notes.last.is_none()
    {
        events::record_resumed(store, log, clock());
    }
    let mut hook_results = options.hook_results.to_vec();
    if let Some((store, session)) = store.zip(log.session.as_ref()) {
        let standing = standing_context(store, options.serve, session, clock())?;
        hook_results.extend(standing);
    }
    let remembered = store
        .zip(log.session.as_ref())
        .map(|(store, session)| remembered_files(store, session, clock()))
        .transpose()?;
    let transcript = log.path.as_ref().map(|path| path.display().to_string());
    let visible = options.serve.scope.visible_messages(&log.messages);
    let task = CompactionTask {
        // A log may contain text of never-captured files, which must not be kept verbatim either.
        // A caller's own messages are its business.
        messages: match log.path {
            Some(_) => &visible,
            None => &log.messages,
        },
        visible: &visible,
        uses_notes: options.settings.uses_summary || options.notes.is_some(),
        notes: notes.as_ref().map(Option::as_ref).map_err(String::as_str),
        template: options.template,
        transcript: transcript.as_deref(),
        restored: None,
        remembered: remembered.as_ref(),
        hook_results: &hook_results,
        measured_tokens: log.measured_tokens,
        trigger: options.trigger,
        limits: &options.settings.limits,
    };
    let Some((store, models)) = store.zip(options.model_provider) else {
        return Ok(compact_with_fallback(&task, None));
    };
    let deadline = clock().saturating_add(options.model_timeout);
    let deadline = deadline.unwrap_or(Timestamp::MAX);
    let summarize = |live: &[Message]| model_notes(store, models, log, &task, live, deadline);
    Ok(compact_with_fallback(&task, Some(&summarize)))
}

/// Returns what the working memory of a stored session knows about its files.
fn remembered_files(
    store: &Store,
    session: &SessionId,
    now: Timestamp,
) -> store::Result<RememberedFiles> {
    let stored = store.sessions_by_prefix(session.as_str(), 1)?.pop();
    let Some(workspace) = stored.and_then(|stored| stored.workspace) else {
        return Ok(RememberedFiles::default());
    };
    let restored = from_store::restored_files(store, session, &workspace, now)?;
    let predicted = restored.predicted.iter().map(|seed| seed.path.clone());
    let pointers = predicted.chain(restored.pointers.iter().cloned());
    Ok(RememberedFiles {
        pointers: pointers.collect(),
        used: restored
            .used
            .iter()
            .map(|used| (used.file.path.clone(), used.body().map(str::to_owned)))
            .collect(),
    })
}

/// Declines an automatic compaction of a conversation that is not large enough.
fn check_due(log: &ConversationLog, options: &CompactOptions<'_>) -> Result<(), Declined> {
    let tokens = log.tokens();
    match options.settings.auto_tokens {
        _ if options.trigger == Trigger::Manual => Ok(()),
        Some(threshold) if tokens >= threshold => Ok(()),
        threshold => Err(Declined::NotDue {
            tokens,
            threshold: threshold.unwrap_or(Tokens(u64::MAX)),
        }),
    }
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
/// that another compaction holds does not stop this one.
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

/// Compacts the conversation that a request to the daemon names or contains.
pub fn compact_requested(
    context: &ServeContext,
    scope: &AccessScope,
    body: &CompactBody,
) -> Result<Value, RequestError> {
    let (store, settings) = (&*context.store, &context.settings);
    let template = settings.summary.as_ref().map(|it| it.template.clone());
    let file = || "the request".to_owned();
    let covers = body.last_summarized_id.as_deref();
    let notes = body.summary.as_deref();
    let log = body.conversation(store, scope, context.now())?;
    let model_provider = settings.model_provider.as_deref();
    let options = CompactOptions {
        settings: CompactionSettings {
            limits: with_threshold(settings.compaction.limits, body.threshold),
            ..settings.compaction
        },
        trigger: body.trigger,
        template: &template.unwrap_or_default(),
        notes: notes.map(|text| Ok(supplied_notes(text, file(), covers))),
        hook_results: &body.hook_results,
        model_provider: model_provider.filter(|_| !body.embedded),
        model_timeout: MODEL_TIMEOUT,
        serve: settings,
    };
    let outcome = compact_log(Some(store), &log, &options, &|| context.now())?;
    Ok(answer::outcome_json(&outcome, &log))
}

/// Returns the limits with a threshold of the caller.
pub fn with_threshold(limits: CompactionLimits, threshold: Option<u64>) -> CompactionLimits {
    let threshold = threshold.filter(|tokens| *tokens > 0).map(Tokens);
    CompactionLimits {
        threshold: threshold.or(limits.threshold),
        ..limits
    }
}

/// Returns notes that the caller supplies.
pub fn supplied_notes(text: &str, file: String, covers: Option<&str>) -> RunningSummary {
    RunningSummary {
        summary: Summary::parse(text),
        file,
        last: covers.map(memory::MessageId::new),
    }
}

/// The session of messages that belong to no stored session.
fn unnamed_session() -> SessionId {
    SessionId::new("request")
}
