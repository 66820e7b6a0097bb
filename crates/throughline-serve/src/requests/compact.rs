//! Compaction of a conversation, from the agent's own log.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use capture::Scope;
use distill::compact::{
    Compacted, Declined, Limits, Notes, Outcome, Task, Trigger, Way, compact_or_full, wait,
};
use distill::{renew, tell};
use jiff::{SignedDuration, Timestamp};
use memory::summary::Template;
use memory::{Block, Flavor, Message, MessageId, SessionId, Summary, Tokens};
use redact::Redactor;
use serde_json::{Value, json};
use store::{Asked, Lease, Store, Work};

use super::find::the_session;
use super::{Reach, Refused};
use crate::Desk;
use crate::models::{self, Loan, Models};

/// Whoever asks over HTTP is answered within half a minute, with or without the model.
const PATIENCE: SignedDuration = SignedDuration::from_secs(20);

/// A conversation and where it is written.
#[derive(Clone, Debug)]
pub struct Log {
    pub path: PathBuf,
    pub session: Option<SessionId>,
    pub messages: Vec<Message>,
}

/// Notes that somebody brings, in place of the session's own.
#[derive(Clone, Debug)]
pub struct Given {
    /// Or why they cannot be read: then it goes on without them.
    pub summary: Result<Summary, String>,
    pub file: String,
    /// The last message that they cover.
    pub covers: Option<MessageId>,
}

/// How a conversation is made shorter.
#[derive(Clone, Debug)]
pub struct Terms<'a> {
    pub limits: Limits,
    pub template: &'a Template,
    pub given: Option<Given>,
    /// Who lends a model for the account of a conversation that has no notes.
    pub models: Option<&'a dyn Models>,
    /// How long that may take.
    pub patience: SignedDuration,
    /// Which files the notes may not quote.
    pub scope: &'a Scope,
}

/// Compacts a session. What is kept comes from the agent's own log, never from the store.
pub fn compact(
    desk: &Desk,
    reach: &Reach,
    session: &str,
    threshold: Option<u64>,
    may_ask: bool,
) -> Result<Outcome, Refused> {
    let Some(usual) = desk.settings.compaction else {
        return Ok(Outcome::of(Err(Declined::Off)));
    };
    let store = &*desk.store;
    let session = the_session(store, reach, session)?;
    let path = session.source.as_ref().map(PathBuf::from);
    let Some(path) = path.filter(|path| path.is_file()) else {
        return Err(Refused::not_found(
            format!("the log of {} is gone", session.id),
            "`throughline export --raw` gives back what was kept of it",
        ));
    };
    let unread = |why: String| Refused::invalid(why, "`throughline doctor` lists the agents");
    let log = read_log(&path, Some(session.flavor), Some(session.id), desk.now())
        .map_err(|error| unread(format!("the log cannot be read: {error}")))?
        .ok_or_else(|| unread("the log is of no agent that we know".to_owned()))?;
    let template = desk.settings.summary.as_ref().map(|it| it.template.clone());
    let terms = Terms {
        limits: Limits {
            threshold: threshold.map(Tokens).or(usual.threshold),
            ..usual
        },
        template: &template.unwrap_or_default(),
        given: None,
        models: desk.settings.models.as_deref().filter(|_| may_ask),
        patience: PATIENCE,
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
) -> std::io::Result<Option<Log>> {
    let Some(mut messages) = capture::conversation::read(path, flavor, now)? else {
        return Ok(None);
    };
    let session = session.or_else(|| capture::conversation::main_session(&messages));
    messages.retain(|message| Some(&message.session) == session.as_ref());
    // The model that reads it may work in another folder.
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    Ok(Some(Log {
        path,
        session,
        messages,
    }))
}

/// Makes a conversation shorter. Without a store there are no notes but those that are given, and nobody is asked.
pub fn compact_log(
    store: Option<&Store>,
    log: &Log,
    terms: &Terms<'_>,
    clock: &dyn Fn() -> Timestamp,
) -> store::Result<Outcome> {
    let lease = store.and_then(|store| begin(store, log, clock()));
    let mut outcome = compacted(store, log, terms, clock);
    if let Ok(Outcome {
        result: Ok(compacted),
        ..
    }) = &mut outcome
    {
        redact(store, compacted);
    }
    if let Some((store, lease)) = store.zip(lease)
        && let Err(error) = store.release(&lease)
    {
        tracing::warn!(%error, "the lease of the compaction is not given back");
    }
    outcome
}

/// Takes secrets out of the notes and the restored files. The kept messages are the caller's own
/// conversation and stay as they are.
fn redact(store: Option<&Store>, compacted: &mut Compacted) {
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

fn compacted(
    store: Option<&Store>,
    log: &Log,
    terms: &Terms<'_>,
    clock: &dyn Fn() -> Timestamp,
) -> store::Result<Outcome> {
    let given = match (&terms.given, store) {
        (None, Some(store)) => kept(store, log, clock)?,
        (given, _) => given.clone(),
    };
    let notes = match &given {
        None => Ok(None),
        Some(given) => given.summary.as_ref().map(|summary| {
            Some(Notes {
                summary,
                file: &given.file,
                last: given.covers.as_ref(),
            })
        }),
    };
    let transcript = log.path.display().to_string();
    let visible = terms.scope.visible(&log.messages);
    let task = Task {
        messages: &log.messages,
        visible: &visible,
        notes: notes.map_err(String::as_str),
        template: terms.template,
        transcript: Some(&transcript),
        restored: None,
        trigger: Trigger::Manual,
        limits: &terms.limits,
    };
    let Some((store, models)) = store.zip(terms.models) else {
        return Ok(compact_or_full(&task, None));
    };
    let deadline = clock().saturating_add(terms.patience);
    let deadline = deadline.unwrap_or(Timestamp::MAX);
    let told = |live: &[Message]| account(store, models, log, &task, live, deadline);
    Ok(compact_or_full(&task, Some(&told)))
}

/// Lets the configured model give an account. Whatever is wrong with it is no reason to stop.
fn account(
    store: &Store,
    models: &dyn Models,
    log: &Log,
    task: &Task<'_>,
    live: &[Message],
    deadline: Timestamp,
) -> Result<Summary, Declined> {
    let form = tell::Form {
        template: task.template,
        limits: &task.limits.summary,
    };
    let loan = Loan {
        store,
        purpose: "compaction",
        session: log.session.as_ref(),
        stop: &Arc::default(),
    };
    let told = models::ask(models, &loan, |asker| {
        tell::tell(asker, live, &form, deadline)
    });
    Ok(told.map_err(|why| Declined::Untold { why })??)
}

/// Says that the session is being compacted: nobody renews its notes meanwhile. Whoever compacts it
/// at the same time keeps nobody from it.
fn begin(store: &Store, log: &Log, now: Timestamp) -> Option<Lease> {
    let session = log.session.as_ref()?;
    match store.lease(session, Work::Compaction, now) {
        Ok(Asked::Granted(lease)) => Some(lease),
        Ok(Asked::Busy { .. } | Asked::Unknown) => None,
        Err(error) => {
            tracing::warn!(%session, %error, "not noted that it is being compacted");
            None
        }
    }
}

/// Returns the running summary of the session, after whoever is writing it, but not for long.
fn kept(store: &Store, log: &Log, clock: &dyn Fn() -> Timestamp) -> store::Result<Option<Given>> {
    let Some(session) = log.session.as_ref() else {
        return Ok(None);
    };
    wait::wait(
        || renew::running(store, session, clock()),
        clock,
        |time| std::thread::sleep(time.unsigned_abs()),
    );
    let current = renew::current(store, session)?;
    Ok(current.map(|current| Given {
        summary: Ok(current.summary),
        file: current.file,
        covers: current.last,
    }))
}

/// Returns what came of it as JSON: the event, its figures, the notes and the ids of what is kept.
pub fn as_json(outcome: &Outcome) -> Value {
    let why = |why: &Declined| json!({"name": why.name(), "why": why.to_string()});
    let fell_through = outcome.fell_through.as_ref().map(why);
    let model = outcome.model.as_ref().map(why);
    match &outcome.result {
        Ok(compacted) => json!({
            "event": event(outcome),
            "fell_through": fell_through,
            "model_declined": model,
            "figures": compacted.figures,
            "boundary": compacted.boundary,
            "summary": made(&compacted.summary),
            "restored": compacted.restored.as_ref().map(made),
            "kept": compacted.kept.iter().map(|message| &message.id).collect::<Vec<_>>(),
            "open": compacted.open,
            "repairs": compacted.repairs,
        }),
        Err(declined) => json!({
            "event": event(outcome),
            "fell_through": fell_through,
            "model_declined": model,
            "declined": why(declined),
        }),
    }
}

/// Names what came of it.
pub fn event(outcome: &Outcome) -> String {
    let way = |compacted: &Compacted| match compacted.way {
        Way::Summary => "compaction.summary",
        Way::FullByModel => "compaction.full_by_model",
        Way::Full => "compaction.full",
    };
    match &outcome.result {
        Ok(compacted) => way(compacted).to_owned(),
        Err(declined) => format!("compaction.declined.{}", declined.name()),
    }
}

fn made(message: &Message) -> Value {
    json!({"id": message.id, "role": message.role, "text": text_of(message)})
}

/// Returns the text of a message that was made here.
pub fn text_of(message: &Message) -> &str {
    let text = message.blocks.iter().find_map(|block| match block {
        Block::Text(text) | Block::Summary(text) => Some(text.as_str()),
        _ => None,
    });
    text.unwrap_or_default()
}
