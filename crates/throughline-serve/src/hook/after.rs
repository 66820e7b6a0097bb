//! What follows from an event, once it has been answered.
//!
//! Nothing here holds text of a session, or a name that is not an id or out of the store: these may wait in a file
//! that no redactor sees.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use capture::hook::{HookEvent, HookKind};
use capture::{Adapter, Plan, Root, Scope};
use distill::renew::{self, How};
use jiff::Timestamp;
use memory::{FactId, Flavor, Item, RecordId, SessionId, Tokens};
use serde::{Deserialize, Serialize};
use store::{NewInjection, Store};

/// Something that follows from an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum After {
    /// Record what was put before a model.
    Injected(Injected),
    /// Read what is new in a session's log.
    Read {
        flavor: Flavor,
        /// Where it lies; a path may tell something, so it is not kept while it waits.
        #[serde(skip)]
        log: Option<PathBuf>,
    },
    /// Bring a session's summary up to date, due or not.
    Summarize(SessionId),
    /// Bring the summary of a session that is long enough for one up to its last message.
    Refresh(SessionId),
    /// Mark the notes of a compaction as given.
    NotesGiven {
        session: SessionId,
        compaction: String,
    },
    /// Write the summaries that are due.
    Renew,
    /// Find the facts of sessions that have ended.
    Distill,
}

/// The account of an injection, of whose prompt only a keyed hash is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Injected {
    name: String,
    session: Option<SessionId>,
    workspace: Option<String>,
    at: Timestamp,
    prompt: [u8; 16],
    tokens: u64,
    items: Vec<(Kind, String, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Fact,
    Record,
}

impl Injected {
    pub fn new(store: &Store, injection: &NewInjection) -> Self {
        let items = injection.items.iter().map(|(item, tokens)| match item {
            Item::Fact(id) => (Kind::Fact, id.to_string(), tokens.0),
            Item::Record(id) => (Kind::Record, id.to_string(), tokens.0),
        });
        Self {
            name: injection.name.clone(),
            session: injection.session.clone(),
            workspace: injection.workspace.clone(),
            at: injection.at,
            prompt: store.prompt_mark(&injection.prompt),
            tokens: injection.tokens.0,
            items: items.collect(),
        }
    }

    /// Returns what was shown.
    pub fn items(&self) -> Vec<(Item, Tokens)> {
        let item = |(kind, id, tokens): &(Kind, String, u64)| {
            let item = match kind {
                Kind::Fact => Item::Fact(id.parse::<FactId>().ok()?),
                Kind::Record => Item::Record(id.parse::<RecordId>().ok()?),
            };
            Some((item, Tokens(*tokens)))
        };
        self.items.iter().filter_map(item).collect()
    }

    /// Records it, once.
    pub fn record(self, store: &Store) -> store::Result<()> {
        let known = store.injections_named(&self.name, 1)?;
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
        store.record_injection_marked(injection, self.prompt)
    }
}

/// Returns what follows from an event, whatever was answered.
pub fn of(event: &HookEvent) -> Vec<After> {
    let read = After::Read {
        flavor: event.flavor,
        log: event.transcript.clone(),
    };
    let session = event.session.clone();
    match event.kind {
        // Without the log's name all of the agent's would be looked at, at every tool call.
        HookKind::ToolAfter | HookKind::SubagentStop if event.transcript.is_none() => Vec::new(),
        HookKind::ToolAfter | HookKind::SubagentStop | HookKind::PostCompact { .. } => vec![read],
        HookKind::PreCompact => [read]
            .into_iter()
            .chain(session.map(After::Summarize))
            .collect(),
        HookKind::Stop => [read]
            .into_iter()
            .chain(session.map(After::Refresh))
            .chain([After::Renew])
            .collect(),
        HookKind::SessionEnd => [read]
            .into_iter()
            .chain(session.map(After::Refresh))
            .chain([After::Renew, After::Distill])
            .collect(),
        HookKind::SessionStart { .. }
        | HookKind::Prompt { .. }
        | HookKind::ToolBefore
        | HookKind::SubagentStart
        | HookKind::Other => Vec::new(),
    }
}

/// What carrying things out needs besides the store.
pub struct Works<'a> {
    pub adapters: &'a [&'a dyn Adapter],
    /// Where the agents keep their logs.
    pub roots: &'a [Root],
    pub scope: &'a Scope,
    pub archive: bool,
    pub threads: usize,
    /// How summaries are written; `None` where none are.
    pub summaries: Option<&'a renew::Settings>,
    pub facts: bool,
    pub stop: &'a AtomicBool,
}

impl std::fmt::Debug for Works<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Works")
            .field("roots", &self.roots)
            .finish_non_exhaustive()
    }
}

/// Does what follows, in the order in which it makes sense: what was shown, what is new, then what is
/// made of it. One that fails does not keep the others; the first failure is returned.
pub fn carry_out(
    store: &Store,
    works: &Works<'_>,
    after: Vec<After>,
    now: Timestamp,
) -> store::Result<()> {
    let mut after = after;
    after.sort_by_key(rank);
    after.dedup();
    let mut first = Ok(());
    for one in after {
        if works.stop.load(Ordering::Relaxed) {
            break;
        }
        let what = format!("{one:?}");
        if let Err(error) = carry_out_one(store, works, one, now) {
            tracing::warn!(%error, what, "not done after a hook");
            first = first.and(Err(error));
        }
    }
    first
}

fn rank(after: &After) -> u8 {
    match after {
        After::Injected(_) => 0,
        After::Read { .. } => 1,
        After::Summarize(_) | After::Refresh(_) | After::NotesGiven { .. } => 2,
        After::Renew => 3,
        After::Distill => 4,
    }
}

fn carry_out_one(
    store: &Store,
    works: &Works<'_>,
    after: After,
    now: Timestamp,
) -> store::Result<()> {
    match after {
        After::Injected(injected) => injected.record(store),
        After::Read { flavor, log } => read(store, works, flavor, log.as_deref(), now),
        After::Summarize(session) => {
            let Some(settings) = works.summaries else {
                return Ok(());
            };
            let done = renew::summarize(store, &session, settings, How::Embedded, now);
            unless_declined(&session, done.map(drop))
        }
        After::Refresh(session) => {
            let Some(settings) = works.summaries else {
                return Ok(());
            };
            let done = renew::live::refresh(store, &session, settings, now);
            unless_declined(&session, done.map(drop))
        }
        After::NotesGiven {
            session,
            compaction,
        } => {
            let home = super::folder(store);
            if let Err(error) = super::late_notes::given(home, &session, &compaction) {
                tracing::warn!(%session, %error, "its notes may be given twice");
            }
            Ok(())
        }
        After::Renew => {
            if let Some(settings) = works.summaries {
                let stopped = || works.stop.load(Ordering::Relaxed);
                renew::renew_pending(store, settings, How::Embedded, &stopped, now)?;
            }
            Ok(())
        }
        After::Distill => {
            recall::used::look_at_pending(store, now)?;
            if works.facts {
                let stopped = || works.stop.load(Ordering::Relaxed);
                distill::facts::facts_pending(store, now, &stopped)?;
            }
            Ok(())
        }
    }
}

/// A summary that is not written for a reason is no failure.
fn unless_declined(session: &SessionId, done: Result<(), renew::Declined>) -> store::Result<()> {
    match done {
        Ok(()) => Ok(()),
        Err(renew::Declined::Store(error)) => Err(error),
        Err(declined) => {
            tracing::debug!(%session, %declined, "its summary stays as it is");
            Ok(())
        }
    }
}

/// Reads a log, or all of an agent's where it is not known which.
fn read(
    store: &Store,
    works: &Works<'_>,
    flavor: Flavor,
    log: Option<&Path>,
    now: Timestamp,
) -> store::Result<()> {
    let adapters: Vec<_> = works
        .adapters
        .iter()
        .copied()
        .filter(|adapter| adapter.flavor() == flavor)
        .collect();
    let found = match log {
        Some(log) => {
            let real = log.canonicalize().unwrap_or_else(|_| log.to_owned());
            let paths = BTreeSet::from([log.to_owned(), real]);
            let found = capture::discover_at(&adapters, works.roots, &paths);
            if found.sources.is_empty() {
                // The agent may keep its logs elsewhere than where we look for them.
                let root = Root {
                    path: log.to_owned(),
                    flavor: Some(flavor),
                };
                capture::discover(&adapters, &[root])
            } else {
                found
            }
        }
        None => {
            let is_its = |root: &&Root| root.flavor.is_none_or(|of| of == flavor);
            let roots: Vec<_> = works.roots.iter().filter(is_its).cloned().collect();
            capture::discover(&adapters, &roots)
        }
    };
    let plan = Plan {
        adapters: &adapters,
        found,
        scope: works.scope,
        threads: works.threads,
        stop: works.stop,
        progress: &|_| {},
        archive: works.archive,
        complete: false,
    };
    capture::sweep(store, &plan, now)?;
    Ok(())
}
