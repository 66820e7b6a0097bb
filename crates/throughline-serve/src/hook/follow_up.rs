//! The work that follows a hook event, once the event has been answered.
//!
//! The daemon runs it at once; without a daemon it waits in a file ([`super::pending`]). No
//! redactor sees that file, so a [`FollowUp`] holds no text of a session: only ids, and names that
//! come out of the store.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use capture::hook::{HookEvent, HookKind, HookTurn};
use jiff::Timestamp;
use memory::{FactId, Flavor, MemoryItem, RecordId, SessionId, Tokens};
use serde::{Deserialize, Serialize};
use store::{EventName, NewInjection, Store};

use crate::stages::{self, Stage, StageContext};

/// Work that follows a hook event. The names of the variants are part of the format of the pending
/// files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FollowUp {
    /// Record what was injected into a prompt.
    Injected(PendingInjection),
    /// Read what is new in a session's log.
    Read {
        flavor: Flavor,
        /// The path of the log. It is not written to the pending file, because a path may hold a
        /// secret; then all logs of the agent are read.
        #[serde(skip)]
        log: Option<PathBuf>,
    },
    /// Store what the event says of its session, if the session's log cannot be read. This is text
    /// of a session, so it is never written to a pending file.
    #[serde(skip)]
    Store(Box<HookTurn>),
    /// Write the summary of a session, whether it is due or not.
    Summarize(SessionId),
    /// Bring the summary of a session up to its last message, if the session is long enough.
    Refresh(SessionId),
    /// Mark the notes of a compaction as given to the agent.
    NotesGiven {
        session: SessionId,
        compaction: String,
    },
    /// Log why a prompt was given nothing.
    Silent {
        session: Option<SessionId>,
        at: Timestamp,
        reason: String,
    },
    /// Write all summaries that are due.
    Renew,
    /// Extract the facts of a session that may have ended.
    Facts(SessionId),
    /// Extract the facts of sessions that have become quiet.
    Distill,
}

/// An injection that is not recorded yet. Of its prompt only a keyed hash is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingInjection {
    name: String,
    session: Option<SessionId>,
    workspace: Option<String>,
    at: Timestamp,
    prompt: [u8; 16],
    tokens: u64,
    items: Vec<(InjectedItemKind, String, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum InjectedItemKind {
    Fact,
    Record,
}

impl PendingInjection {
    pub fn new(store: &Store, injection: &NewInjection) -> Self {
        let items = injection.items.iter().map(|(item, tokens)| match item {
            MemoryItem::Fact(id) => (InjectedItemKind::Fact, id.to_string(), tokens.0),
            MemoryItem::Record(id) => (InjectedItemKind::Record, id.to_string(), tokens.0),
        });
        Self {
            name: injection.name.clone(),
            session: injection.session.clone(),
            workspace: injection.workspace.clone(),
            at: injection.at,
            prompt: store.prompt_hash(&injection.prompt),
            tokens: injection.tokens.0,
            items: items.collect(),
        }
    }

    /// Returns the injected items.
    pub fn items(&self) -> Vec<(MemoryItem, Tokens)> {
        let item = |(kind, id, tokens): &(InjectedItemKind, String, u64)| {
            let item = match kind {
                InjectedItemKind::Fact => MemoryItem::Fact(id.parse::<FactId>().ok()?),
                InjectedItemKind::Record => MemoryItem::Record(id.parse::<RecordId>().ok()?),
            };
            Some((item, Tokens(*tokens)))
        };
        self.items.iter().filter_map(item).collect()
    }

    /// Records the injection, unless it is recorded already.
    pub fn record_once(self, store: &Store) -> store::Result<()> {
        let known = store.injections_by_prefix(&self.name, 1)?;
        if !known.is_empty() {
            return Ok(());
        }
        let items = self.items();
        let injection = NewInjection {
            name: self.name,
            session: self.session,
            workspace: self.workspace,
            at: self.at,
            prompt: String::new(),
            tokens: Tokens(self.tokens),
            items,
        };
        store.record_hashed_injection(injection, self.prompt)
    }
}

/// Returns the follow-ups of an event, which do not depend on its answer.
pub fn follow_ups_of(event: &HookEvent) -> Vec<FollowUp> {
    let read = FollowUp::Read {
        flavor: event.flavor,
        log: event.transcript.clone(),
    };
    let session = event.session.clone();
    let turn = HookTurn::from_event(event).map(|turn| FollowUp::Store(Box::new(turn)));
    let more = match event.kind {
        // Without a path, all logs of the agent would be checked after every tool call.
        HookKind::ToolAfter | HookKind::SubagentStop if event.transcript.is_none() => Vec::new(),
        HookKind::ToolAfter | HookKind::SubagentStop | HookKind::PostCompact => vec![read],
        HookKind::PreCompact => [read]
            .into_iter()
            .chain(session.map(FollowUp::Summarize))
            .collect(),
        // Some agents report only the end of a turn, never that of a session.
        HookKind::Stop => [read, FollowUp::Renew]
            .into_iter()
            .chain(session.clone().map(FollowUp::Refresh))
            .chain(session.map(FollowUp::Facts))
            .collect(),
        HookKind::SessionEnd => [read, FollowUp::Renew, FollowUp::Distill]
            .into_iter()
            .chain(session.clone().map(FollowUp::Refresh))
            .chain(session.map(FollowUp::Facts))
            .collect(),
        HookKind::SessionStart { .. }
        | HookKind::Prompt { .. }
        | HookKind::ToolBefore
        | HookKind::SubagentStart
        | HookKind::Other => Vec::new(),
    };
    turn.into_iter().chain(more).collect()
}

/// Runs follow-ups in the order in which they depend on each other: injections are recorded first,
/// then logs are read, then summaries and facts are made of them. A failed follow-up does not stop
/// the others; the first error is returned.
pub fn run_follow_ups(
    mut follow_ups: Vec<FollowUp>,
    context: &StageContext<'_>,
) -> store::Result<()> {
    follow_ups.sort_by_key(execution_order);
    follow_ups.dedup();
    let mut result = Ok(());
    for follow_up in follow_ups {
        if context.stop.load(Ordering::Relaxed) {
            break;
        }
        let what = match &follow_up {
            FollowUp::Store(turn) => format!("Store({})", turn.session),
            follow_up => format!("{follow_up:?}"),
        };
        if let Err(error) = run_follow_up(follow_up, context) {
            tracing::warn!(%error, what, "follow-up of a hook failed");
            result = result.and(Err(error));
        }
    }
    result
}

fn execution_order(follow_up: &FollowUp) -> u8 {
    match follow_up {
        FollowUp::Injected(_) | FollowUp::Silent { .. } => 0,
        FollowUp::Read { .. } | FollowUp::Store(_) => 1,
        FollowUp::Summarize(_) | FollowUp::Refresh(_) | FollowUp::NotesGiven { .. } => 2,
        FollowUp::Renew => 3,
        FollowUp::Facts(_) => 4,
        FollowUp::Distill => 5,
    }
}

fn run_follow_up(follow_up: FollowUp, context: &StageContext<'_>) -> store::Result<()> {
    let stage = match follow_up {
        FollowUp::Injected(injection) => return injection.record_once(context.store),
        FollowUp::Silent {
            session,
            at,
            reason,
        } => {
            let figures = serde_json::Map::from_iter([("reason".to_owned(), reason.into())]);
            let name = EventName::InjectionSilent;
            return context
                .store
                .record_event(at, name, session.as_ref(), figures);
        }
        FollowUp::NotesGiven {
            session,
            compaction,
        } => {
            let folder = super::data_folder(context.store);
            if let Err(error) = super::late_notes::mark_notes_given(folder, &session, &compaction) {
                tracing::warn!(%session, %error, "the notes may be given a second time");
            }
            return Ok(());
        }
        FollowUp::Store(turn) => {
            let StageContext {
                store,
                sources,
                now,
                ..
            } = *context;
            if !sources.captures(turn.flavor) || turn.has_readable_log(sources) {
                return Ok(());
            }
            return capture::store_hook_turn(store, &sources.scope, &turn, now);
        }
        FollowUp::Read { flavor, log } => Stage::ReadLogs { flavor, log },
        FollowUp::Summarize(session) => Stage::SummarizeSession(session),
        FollowUp::Refresh(session) => Stage::RefreshSummary(session),
        FollowUp::Renew => Stage::Summaries,
        FollowUp::Facts(session) => Stage::SessionFacts(session),
        FollowUp::Distill => Stage::Facts,
    };
    stages::run(&stage, context)
}
