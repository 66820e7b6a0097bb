//! Compaction of a conversation, from the agent's own log.

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

/// Whoever asks over HTTP is answered within half a minute, with or without the model.
const MODEL_TIMEOUT: SignedDuration = SignedDuration::from_secs(20);

/// A conversation and where it is written.
#[derive(Clone, Debug)]
pub struct ConversationLog {
    pub path: PathBuf,
    pub session: Option<SessionId>,
    pub messages: Vec<Message>,
}

/// How a conversation is made shorter.
#[derive(Clone, Debug)]
pub struct CompactOptions<'a> {
    pub limits: CompactionLimits,
    pub template: &'a Template,
    /// Notes to use instead of the session's own, or why they cannot be read.
    pub notes: Option<Result<RunningSummary, String>>,
    /// Who lends a model for the account of a conversation that has no notes.
    pub model_provider: Option<&'a dyn ModelProvider>,
    /// How long that may take.
    pub model_timeout: SignedDuration,
    /// Which files the notes may not quote.
    pub scope: &'a CaptureScope,
}

/// Compacts a session. What is kept comes from the agent's own log, never from the store.
pub fn compact_session(
    desk: &ServeContext,
    reach: &AccessScope,
    session: &str,
    threshold: Option<u64>,
    may_ask: bool,
) -> Result<CompactionOutcome, RequestError> {
    let Some(usual) = desk.settings.compaction else {
        return Ok(CompactionOutcome::first_try(Err(Declined::Disabled)));
    };
    let store = &*desk.store;
    let session = find_session(store, reach, session)?;
    let path = session.source.as_ref().map(PathBuf::from);
    let Some(path) = path.filter(|path| path.is_file()) else {
        return Err(RequestError::not_found(
            format!("the log of {} is gone", session.id),
            "`throughline export --raw` gives back what was kept of it",
        ));
    };
    let unread = |why: String| RequestError::invalid(why, "`throughline doctor` lists the agents");
    let log = read_log(&path, Some(session.flavor), Some(session.id), desk.now())
        .map_err(|error| unread(format!("the log cannot be read: {error}")))?
        .ok_or_else(|| unread("the log is of no agent that we know".to_owned()))?;
    let template = desk.settings.summary.as_ref().map(|it| it.template.clone());
    let terms = CompactOptions {
        limits: CompactionLimits {
            threshold: threshold.map(Tokens).or(usual.threshold),
            ..usual
        },
        template: &template.unwrap_or_default(),
        notes: None,
        model_provider: desk.settings.model_provider.as_deref().filter(|_| may_ask),
        model_timeout: MODEL_TIMEOUT,
        scope: &desk.settings.scope,
    };
    Ok(compact_log(Some(store), &log, &terms, &|| desk.now())?)
}

/// Reads a log, without the subagents that may be written between the lines of their session. `None` where
/// no agent that we know wrote it.
pub fn read_log(
    path: &Path,
    flavor: Option<Flavor>,
    session: Option<SessionId>,
    now: Timestamp,
) -> std::io::Result<Option<ConversationLog>> {
    let Some(mut messages) = capture::conversation::read_conversation(path, flavor, now)? else {
        return Ok(None);
    };
    let session = session.or_else(|| capture::conversation::main_session(&messages));
    messages.retain(|message| Some(&message.session) == session.as_ref());
    // The model that reads it may work in another folder.
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    Ok(Some(ConversationLog {
        path,
        session,
        messages,
    }))
}

/// Makes a conversation shorter. Without a store there are no notes but those that are given, and nobody is asked.
pub fn compact_log(
    store: Option<&Store>,
    log: &ConversationLog,
    terms: &CompactOptions<'_>,
    clock: &dyn Fn() -> Timestamp,
) -> store::Result<CompactionOutcome> {
    let lease = store.and_then(|store| acquire_lease(store, log, clock()));
    let mut outcome = run_compaction(store, log, terms, clock);
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
        tracing::warn!(%error, "the lease of the compaction is not given back");
    }
    outcome
}

/// Takes secrets out of the notes and the restored files. The kept messages are the caller's own
/// conversation and stay as they are.
fn redact_notes(store: Option<&Store>, compacted: &mut CompactedConversation) {
    let own;
    let redactor = match store {
        Some(store) => store.redactor(),
        None => {
            own = Redactor::new([0; 32]);
            &own
        }
    };
    let made = std::iter::once(&mut compacted.summary).chain(&mut compacted.restored);
    for block in made.flat_map(|message| &mut message.blocks) {
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
    terms: &CompactOptions<'_>,
    clock: &dyn Fn() -> Timestamp,
) -> store::Result<CompactionOutcome> {
    let notes = match (&terms.notes, store) {
        (None, Some(store)) => Ok(running_summary(store, log, clock)?),
        (notes, _) => notes.clone().transpose(),
    };
    let transcript = log.path.display().to_string();
    let visible = terms.scope.visible_messages(&log.messages);
    let task = CompactionTask {
        messages: &log.messages,
        visible: &visible,
        notes: notes.as_ref().map(Option::as_ref).map_err(String::as_str),
        template: terms.template,
        transcript: Some(&transcript),
        restored: None,
        trigger: Trigger::Manual,
        limits: &terms.limits,
    };
    let Some((store, models)) = store.zip(terms.model_provider) else {
        return Ok(compact_with_fallback(&task, None));
    };
    let deadline = clock().saturating_add(terms.model_timeout);
    let deadline = deadline.unwrap_or(Timestamp::MAX);
    let told = |live: &[Message]| model_notes(store, models, log, &task, live, deadline);
    Ok(compact_with_fallback(&task, Some(&told)))
}

/// Lets the configured model give an account. Whatever is wrong with it is no reason to stop.
fn model_notes(
    store: &Store,
    models: &dyn ModelProvider,
    log: &ConversationLog,
    task: &CompactionTask<'_>,
    live: &[Message],
    deadline: Timestamp,
) -> Result<Summary, Declined> {
    let form = SummaryFormat {
        template: task.template,
        limits: &task.limits.summary,
    };
    let loan = ModelRequest {
        store,
        purpose: "compaction",
        session: log.session.as_ref(),
        stop: &Arc::default(),
    };
    let told = models::run_with_model(models, &loan, |asker| {
        summarize_with_model(asker, live, &form, deadline)
    });
    Ok(told.map_err(|why| Declined::ModelFailed { why })??)
}

/// Says that the session is being compacted: nobody renews its notes meanwhile. Whoever compacts it
/// at the same time keeps nobody from it.
fn acquire_lease(store: &Store, log: &ConversationLog, now: Timestamp) -> Option<Lease> {
    let session = log.session.as_ref()?;
    match store.acquire_lease(session, LeaseKind::Compaction, now) {
        Ok(LeaseOutcome::Granted(lease)) => Some(lease),
        Ok(LeaseOutcome::Busy { .. } | LeaseOutcome::Unknown) => None,
        Err(error) => {
            tracing::warn!(%session, %error, "not noted that it is being compacted");
            None
        }
    }
}

/// Returns the running summary of the session, after whoever is writing it, but not for long.
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

/// Returns what came of it as JSON: the event, its figures, the notes and the ids of what is kept.
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

/// Names what came of it.
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

/// Returns the text of a message that was made here.
pub fn message_text(message: &Message) -> &str {
    let text = message.blocks.iter().find_map(|block| match block {
        Block::Text(text) | Block::Summary(text) => Some(text.as_str()),
        _ => None,
    });
    text.unwrap_or_default()
}
