//! What follows from an event, once it has been answered.
//!
//! Nothing here holds text of a session, or a name that is not an id or out of the store: these may wait in a file
//! that no redactor sees.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use capture::hook::{HookEvent, HookKind};
use capture::{Adapter, CaptureScope, Root, SweepPlan};
use distill::renew::{self, SummaryAuthor};
use jiff::Timestamp;
use memory::{FactId, Flavor, MemoryItem, RecordId, SessionId, Tokens};
use serde::{Deserialize, Serialize};
use store::{NewInjection, Store};

/// Something that follows from an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FollowUp {
    /// Record what was put before a model.
    Injected(PendingInjection),
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

    /// Returns what was shown.
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

    /// Records it, once.
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

/// Returns what follows from an event, whatever was answered.
pub fn follow_ups_of(event: &HookEvent) -> Vec<FollowUp> {
    let read = FollowUp::Read {
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
            .chain(session.map(FollowUp::Summarize))
            .collect(),
        HookKind::Stop => [read]
            .into_iter()
            .chain(session.map(FollowUp::Refresh))
            .chain([FollowUp::Renew])
            .collect(),
        HookKind::SessionEnd => [read]
            .into_iter()
            .chain(session.map(FollowUp::Refresh))
            .chain([FollowUp::Renew, FollowUp::Distill])
            .collect(),
        HookKind::SessionStart { .. }
        | HookKind::Prompt { .. }
        | HookKind::ToolBefore
        | HookKind::SubagentStart
        | HookKind::Other => Vec::new(),
    }
}

/// What carrying things out needs besides the store.
pub struct FollowUpEnv<'a> {
    pub adapters: &'a [&'a dyn Adapter],
    /// Where the agents keep their logs.
    pub roots: &'a [Root],
    pub scope: &'a CaptureScope,
    pub archive: bool,
    pub threads: usize,
    /// How summaries are written; `None` where none are.
    pub summaries: Option<&'a renew::SummarySettings>,
    pub facts: bool,
    pub stop: &'a AtomicBool,
}

impl std::fmt::Debug for FollowUpEnv<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Works")
            .field("roots", &self.roots)
            .finish_non_exhaustive()
    }
}

/// Does what follows, in the order in which it makes sense: what was shown, what is new, then what is
/// made of it. One that fails does not keep the others; the first failure is returned.
pub fn run_follow_ups(
    store: &Store,
    works: &FollowUpEnv<'_>,
    after: Vec<FollowUp>,
    now: Timestamp,
) -> store::Result<()> {
    let mut after = after;
    after.sort_by_key(execution_order);
    after.dedup();
    let mut first = Ok(());
    for one in after {
        if works.stop.load(Ordering::Relaxed) {
            break;
        }
        let what = format!("{one:?}");
        if let Err(error) = run_follow_up(store, works, one, now) {
            tracing::warn!(%error, what, "not done after a hook");
            first = first.and(Err(error));
        }
    }
    first
}

fn execution_order(after: &FollowUp) -> u8 {
    match after {
        FollowUp::Injected(_) => 0,
        FollowUp::Read { .. } => 1,
        FollowUp::Summarize(_) | FollowUp::Refresh(_) | FollowUp::NotesGiven { .. } => 2,
        FollowUp::Renew => 3,
        FollowUp::Distill => 4,
    }
}

fn run_follow_up(
    store: &Store,
    works: &FollowUpEnv<'_>,
    after: FollowUp,
    now: Timestamp,
) -> store::Result<()> {
    match after {
        FollowUp::Injected(injected) => injected.record_once(store),
        FollowUp::Read { flavor, log } => {
            read_session_logs(store, works, flavor, log.as_deref(), now)
        }
        FollowUp::Summarize(session) => {
            let Some(settings) = works.summaries else {
                return Ok(());
            };
            let done =
                renew::write_summary(store, &session, settings, SummaryAuthor::Embedded, now);
            ignore_declined(&session, done.map(drop))
        }
        FollowUp::Refresh(session) => {
            let Some(settings) = works.summaries else {
                return Ok(());
            };
            let done = renew::live::refresh_summary(store, &session, settings, now);
            ignore_declined(&session, done.map(drop))
        }
        FollowUp::NotesGiven {
            session,
            compaction,
        } => {
            let home = super::data_folder(store);
            if let Err(error) = super::late_notes::mark_notes_given(home, &session, &compaction) {
                tracing::warn!(%session, %error, "its notes may be given twice");
            }
            Ok(())
        }
        FollowUp::Renew => {
            if let Some(settings) = works.summaries {
                let stopped = || works.stop.load(Ordering::Relaxed);
                renew::update_pending_summaries(
                    store,
                    settings,
                    SummaryAuthor::Embedded,
                    &stopped,
                    now,
                )?;
            }
            Ok(())
        }
        FollowUp::Distill => {
            recall::score_past_injections(store, now)?;
            if works.facts {
                let stopped = || works.stop.load(Ordering::Relaxed);
                distill::facts::extract_pending_facts(store, now, &stopped)?;
            }
            Ok(())
        }
    }
}

/// A summary that is not written for a reason is no failure.
fn ignore_declined(
    session: &SessionId,
    done: Result<(), renew::SummaryError>,
) -> store::Result<()> {
    match done {
        Ok(()) => Ok(()),
        Err(renew::SummaryError::Store(error)) => Err(error),
        Err(declined) => {
            tracing::debug!(%session, %declined, "its summary stays as it is");
            Ok(())
        }
    }
}

/// Reads a log, or all of an agent's where it is not known which.
fn read_session_logs(
    store: &Store,
    works: &FollowUpEnv<'_>,
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
            let found = capture::discover_paths(&adapters, works.roots, &paths);
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
    let plan = SweepPlan {
        adapters: &adapters,
        discovery: found,
        scope: works.scope,
        threads: works.threads,
        stop: works.stop,
        progress: &|_| {},
        archive: works.archive,
        all_roots: false,
    };
    capture::sweep(store, &plan, now)?;
    Ok(())
}
