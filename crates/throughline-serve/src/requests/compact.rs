//! Compaction of a session's conversation, from the agent's own log.

use std::path::PathBuf;

use distill::compact::{
    Compacted, Declined, Limits, Notes, Outcome, Task, Trigger, Way, compact_or_full, wait,
};
use distill::renew;
use memory::summary::Template;
use memory::{Block, Message, Tokens};
use serde_json::{Value, json};

use super::find::the_session;
use super::{Reach, Refused};
use crate::Desk;

/// Compacts a session. What is kept comes from the agent's own log, never from the store.
pub fn compact(
    desk: &Desk,
    reach: &Reach,
    session: &str,
    threshold: Option<u64>,
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
    let messages = capture::conversation::read(&path, Some(session.flavor), desk.now())
        .map_err(|error| unread(format!("the log cannot be read: {error}")))?
        .ok_or_else(|| unread("the log is of no agent that we know".to_owned()))?;
    let messages: Vec<_> = messages
        .into_iter()
        .filter(|message| message.session == session.id)
        .collect();
    wait::wait(
        || renew::running(store, &session.id, desk.now()),
        || desk.now(),
        |time| std::thread::sleep(time.unsigned_abs()),
    );
    let current = renew::current(store, &session.id)?;
    let notes = current.as_ref().map(|current| Notes {
        summary: &current.summary,
        file: &current.file,
        last: current.last.as_ref(),
    });
    let limits = Limits {
        threshold: threshold.map(Tokens).or(usual.threshold),
        ..usual
    };
    let transcript = path.display().to_string();
    let task = Task {
        messages: &messages,
        notes: Ok(notes),
        template: &Template::default(),
        transcript: Some(&transcript),
        restored: None,
        trigger: Trigger::Manual,
        limits: &limits,
    };
    Ok(compact_or_full(&task, None))
}

/// Returns what came of it as JSON: the event, its figures, the notes and the ids of what is kept.
pub fn as_json(outcome: &Outcome) -> Value {
    let fell_through = outcome.fell_through.as_ref();
    let fell_through = fell_through.map(|why| json!({"name": why.name(), "why": why.to_string()}));
    match &outcome.result {
        Ok(compacted) => json!({
            "event": event(compacted),
            "fell_through": fell_through,
            "figures": compacted.figures,
            "summary": made(&compacted.summary),
            "restored": compacted.restored.as_ref().map(made),
            "kept": compacted.kept.iter().map(|message| &message.id).collect::<Vec<_>>(),
            "open": compacted.open,
        }),
        Err(declined) => json!({
            "event": format!("compaction.declined.{}", declined.name()),
            "fell_through": fell_through,
            "declined": {"name": declined.name(), "why": declined.to_string()},
        }),
    }
}

const fn event(compacted: &Compacted) -> &'static str {
    match compacted.way {
        Way::Summary => "compaction.summary",
        Way::FullByModel => "compaction.full_by_model",
        Way::Full => "compaction.full",
    }
}

fn made(message: &Message) -> Value {
    let text = message.blocks.iter().find_map(|block| match block {
        Block::Text(text) | Block::Summary(text) => Some(text.as_str()),
        _ => None,
    });
    json!({"id": message.id, "role": message.role, "text": text})
}
