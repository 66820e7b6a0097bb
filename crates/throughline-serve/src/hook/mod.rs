//! Decides what an agent's hook answers, and what happens afterwards.
//!
//! [`answer_event`] decides and writes nothing that the agent would have to wait for.
//! [`session_start`] answers the start of a session, [`compaction`] a compaction of its
//! conversation, and prompts go to [`crate::prompt`]. [`log_tail`] reads the end of a session's log
//! that is not stored yet, so that answers are up to date.
//!
//! The work that follows an event is a list of [`FollowUp`]s. The daemon runs them once it has
//! answered; without a daemon they wait in [`pending`]. [`late_notes`] and [`subagents`] are notes
//! from one hook to the next ([`save_for_later_hooks`]). [`duplicates`] detects events that are
//! delivered twice. [`wire`] is the protocol between a hook's process and the daemon.

mod bounded_fence;
pub(crate) mod compaction;
mod duplicates;
pub mod follow_up;
mod late_notes;
mod log_tail;
pub mod pending;
mod session_start;
mod subagents;
pub mod wire;

use std::path::Path;

use capture::CaptureScope;
use capture::hook::{ContextLimit, HookAnswer, HookEvent, HookHints, HookKind, StartReason};
use jiff::Timestamp;
use memory::{MemoryItem, Tokens, Workspace};
use recall::{Budget, ItemDecision, PromptRequest, RecallAnswer, RecallConfig};
use store::{NewInjection, Store};

pub use self::follow_up::{FollowUp, PendingInjection, PendingSilence, run_follow_ups};
use crate::live::LiveLayers;
use crate::prompt::{self, LocatedWorkspace};
use crate::settings::ServeSettings;

/// The answer to a hook, and the work that follows it.
#[derive(Clone, Debug, Default)]
pub struct HookOutcome {
    pub answer: HookAnswer,
    /// The items considered for a prompt, for the counts of the memory layers.
    pub considered: Vec<(MemoryItem, String)>,
    /// The key of the workspace that the event belongs to.
    pub workspace: Option<String>,
    /// Why the answer is empty, if it is.
    pub silence: Option<HookSilence>,
    pub follow_ups: Vec<FollowUp>,
}

/// Why a hook answers nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookSilence {
    /// The agent takes no context at this event.
    EventNotAnswered,
    /// The event was delivered before.
    Duplicate,
    /// Injection is off in this workspace.
    Off(prompt::InjectionOff),
    /// The event is of a subagent, or of a prompt that no person wrote.
    NotFromUser,
    Recall(recall::Silence),
    /// Memory has nothing relevant.
    NothingRelevant,
    /// The agent does not name its folder.
    NoFolder,
}

impl HookOutcome {
    fn silent(silence: HookSilence) -> Self {
        Self {
            silence: Some(silence),
            ..Self::default()
        }
    }

    fn with_context(text: String) -> Self {
        Self {
            answer: HookAnswer {
                context: Some(text),
                notice: None,
            },
            ..Self::default()
        }
    }
}

/// How an event is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerMode {
    /// In full, unless the event was delivered before.
    Once,
    /// In full, even if the event was delivered before: the daemon received it first and has not
    /// answered.
    Again,
    /// From pins, preferences and facts only: no records are searched, and no earlier session is
    /// described. A hook prints this if the full answer is not ready at its deadline.
    FactsOnly,
}

/// Answers an event.
pub fn answer_event(
    store: &Store,
    settings: &ServeSettings,
    layers: &LiveLayers,
    event: &HookEvent,
    mode: AnswerMode,
    now: Timestamp,
) -> store::Result<HookOutcome> {
    let mut outcome = if may_add_context(data_folder(store), event) {
        decide_answer(store, settings, layers, event, mode, now)?
    } else {
        HookOutcome::silent(HookSilence::EventNotAnswered)
    };
    if outcome.silence != Some(HookSilence::Duplicate) {
        outcome
            .follow_ups
            .extend(pending_silence(event, outcome.silence, now));
        outcome.follow_ups.extend(follow_up::follow_ups_of(event));
    }
    Ok(outcome)
}

/// Returns the follow-up that records why a person's prompt was given nothing.
fn pending_silence(
    event: &HookEvent,
    silence: Option<HookSilence>,
    now: Timestamp,
) -> Option<FollowUp> {
    let is_prompt = matches!(event.kind, HookKind::Prompt { .. });
    let reason = match silence? {
        HookSilence::EventNotAnswered | HookSilence::Duplicate | HookSilence::NotFromUser => {
            return None;
        }
        silence => silence.reason(),
    };
    is_prompt.then(|| {
        FollowUp::Silent(PendingSilence {
            session: event.session.clone(),
            flavor: event.flavor,
            at: now,
            reason,
        })
    })
}

/// Returns whether an event may be answered with context. After a tool call that is the case only
/// if notes or memory are pending, because that path must stay short.
pub fn may_add_context(home: &Path, event: &HookEvent) -> bool {
    let is_answered = match event.kind {
        HookKind::SessionStart { .. } | HookKind::Prompt { .. } | HookKind::PreCompact => true,
        HookKind::ToolAfter if late_notes::can_carry_notes(event) => {
            let session = event.session.as_ref();
            session.is_some_and(|session| late_notes::has_pending_answer(home, session))
        }
        _ => false,
    };
    is_answered && event.dialect.accepts_context(&event.kind)
}

/// Saves what later hooks need to know of an event: what was shown, that a compaction happened,
/// that a subagent runs. The hook's process calls this once it has printed its answer.
pub fn save_for_later_hooks(
    home: &Path,
    event: &HookEvent,
    follow_ups: &[FollowUp],
    now: Timestamp,
) -> std::io::Result<()> {
    let Some(session) = &event.session else {
        return Ok(());
    };
    late_notes::record_unanswered(home, event)?;
    subagents::track_subagents(home, event, now)?;
    let mut deferred = Vec::new();
    for follow_up in follow_ups {
        match follow_up {
            FollowUp::NotesGiven {
                session,
                compaction,
            } => late_notes::mark_notes_given(home, session, compaction)?,
            // No text of a session is written outside the store.
            FollowUp::Store(_) => {}
            follow_up => deferred.push(follow_up.clone()),
        }
    }
    pending::enqueue(home, session, &deferred)
}

fn decide_answer(
    store: &Store,
    settings: &ServeSettings,
    layers: &LiveLayers,
    event: &HookEvent,
    mode: AnswerMode,
    now: Timestamp,
) -> store::Result<HookOutcome> {
    let (prompt, is_automatic) = match &event.kind {
        HookKind::Prompt { text, automatic } => (text.as_str(), *automatic),
        _ => ("", false),
    };
    if event.subagent.is_some() || is_automatic {
        return Ok(HookOutcome::silent(HookSilence::NotFromUser));
    }
    let Some(cwd) = &event.cwd else {
        return Ok(HookOutcome::silent(HookSilence::NoFolder));
    };
    let home = data_folder(store);
    if subagents::is_subagent(store, home, event, now)? {
        return Ok(HookOutcome::silent(HookSilence::NotFromUser));
    }
    if mode == AnswerMode::Once && duplicates::is_duplicate(home, event, now) {
        return Ok(HookOutcome::silent(HookSilence::Duplicate));
    }
    let located = prompt::locate_workspace(store, settings, cwd)?;
    if let Some(off) = prompt::injection_off(settings, &located.workspace) {
        return Ok(HookOutcome::silent(HookSilence::Off(off)));
    }
    let workspace = &located.workspace;
    let mut request = prompt::prompt_request(store, settings, prompt.to_owned(), None, workspace)?;
    request.session = event.session.clone();
    if let Some(session) = &request.session {
        request.unrecorded_items = pending::pending_injected_items(home, session);
    }
    let limit = event.dialect.context_limit();
    let context = HookContext {
        event,
        store,
        layers,
        scope: &settings.scope,
        recall: limit_budget(settings.injection.recall_in(Some(workspace)), limit),
        request: &request,
        workspace: &located,
        limit,
        shows_notices: settings.injection.notices,
        mode,
        now,
    };
    if let Some(compaction) = late_notes::due_compaction(store, home, event)? {
        return answer_with_notes(&context, compaction);
    }
    let mut outcome = answer_by_kind(&context)?;
    outcome.workspace = Some(located.workspace.key.clone());
    Ok(outcome)
}

fn answer_by_kind(context: &HookContext<'_>) -> store::Result<HookOutcome> {
    match context.event.kind {
        HookKind::Prompt { .. } => answer_prompt(context),
        HookKind::SessionStart {
            source: StartReason::Compacted,
        } => compaction::restore_after_compaction(context),
        HookKind::SessionStart { source } => session_start::answer_session_start(context, source),
        HookKind::PreCompact => compaction::preserve_before_compaction(context),
        HookKind::ToolAfter => answer_after_tool(context),
        _ => Ok(HookOutcome::silent(HookSilence::EventNotAnswered)),
    }
}

/// Everything that an answer is decided from.
struct HookContext<'a> {
    event: &'a HookEvent,
    store: &'a Store,
    /// Empty in a process without live sessions; the store answers then.
    layers: &'a LiveLayers,
    scope: &'a CaptureScope,
    /// The recall settings, with no larger budget than the agent accepts.
    recall: RecallConfig,
    request: &'a PromptRequest,
    workspace: &'a LocatedWorkspace,
    limit: ContextLimit,
    /// Tells the user what was injected.
    shows_notices: bool,
    mode: AnswerMode,
    now: Timestamp,
}

impl HookContext<'_> {
    /// Returns the unpredictable id of this injection, which also closes its fence.
    fn fence_id(&self) -> String {
        let PromptRequest {
            prompt, session, ..
        } = self.request;
        self.store
            .injection_name(prompt, session.as_ref(), self.now)
    }

    /// Returns an answer with a text, and the follow-up that records what was shown.
    fn inject(&self, id: String, text: String, items: Vec<(MemoryItem, Tokens)>) -> HookOutcome {
        // The follow-up may wait outside the store, so it names the workspace only by a key from
        // the store, which has been redacted.
        let LocatedWorkspace {
            workspace,
            is_stored,
        } = self.workspace;
        let injection = NewInjection {
            name: id,
            session: self.request.session.clone(),
            workspace: is_stored.then(|| workspace.key.clone()),
            at: self.now,
            prompt: self.request.prompt.clone(),
            tokens: memory::tokens::estimate(&text),
            items,
        };
        let shown = PendingInjection::new(self.store, &injection);
        let notice = notice_text(injection.items.len(), injection.tokens);
        HookOutcome {
            answer: HookAnswer {
                context: Some(text),
                notice: self.shows_notices.then_some(notice),
            },
            follow_ups: vec![FollowUp::Injected(shown)],
            ..HookOutcome::default()
        }
    }
}

/// Returns the notice that tells the user what an agent was given.
fn notice_text(items: usize, tokens: Tokens) -> String {
    let what = match items {
        0 => "notes".to_owned(),
        1 => "1 item".to_owned(),
        items => format!("{items} items"),
    };
    format!("Throughline: {what} from memory ({tokens} tokens)")
}

/// Answers a later event with the notes of a compacted conversation, besides what the event gets
/// anyway.
fn answer_with_notes(context: &HookContext<'_>, compaction: String) -> store::Result<HookOutcome> {
    let mut notes = compaction::restore_after_compaction(context)?;
    let Some(text) = notes.answer.context.clone() else {
        return answer_prompt(context);
    };
    let mut request = context.request.clone();
    for follow_up in &notes.follow_ups {
        if let FollowUp::Injected(injected) = follow_up {
            let items = injected.items().into_iter();
            request.unrecorded_items.extend(items.map(|(item, _)| item));
        }
    }
    let session = request.session.clone();
    notes
        .follow_ups
        .extend(session.map(|session| FollowUp::NotesGiven {
            session,
            compaction,
        }));
    if !matches!(context.event.kind, HookKind::Prompt { .. }) {
        return Ok(notes);
    }
    let recalled = answer_prompt(&HookContext {
        request: &request,
        ..*context
    })?;
    if let Some(more) = recalled.answer.context {
        let both = format!("{text}\n{more}");
        if context.limit.fits(&both) {
            notes.answer.context = Some(both);
            notes.follow_ups.extend(recalled.follow_ups);
        }
    }
    Ok(notes)
}

/// Answers the first tool result after a prompt with the memory that is relevant to the prompt, in
/// agents that accept no text with the prompt itself.
fn answer_after_tool(context: &HookContext<'_>) -> store::Result<HookOutcome> {
    let session = context.request.session.as_ref();
    let Some(session) = session
        .filter(|session| late_notes::has_pending_memory(data_folder(context.store), session))
    else {
        return Ok(HookOutcome::silent(HookSilence::EventNotAnswered));
    };
    let given = FollowUp::NotesGiven {
        session: session.clone(),
        compaction: String::new(),
    };
    let tail = log_tail::LogTail::read(
        context,
        session,
        context.event.flavor,
        context.event.transcript.as_deref(),
    )?;
    let request = PromptRequest {
        prompt: tail.last_prompt(context, session)?.unwrap_or_default(),
        ..context.request.clone()
    };
    let mut outcome = answer_prompt(&HookContext {
        request: &request,
        ..*context
    })?;
    if outcome.answer.context.is_none() {
        // Pins and preferences are due in every session, whatever its prompts say.
        outcome = session_start::answer_session_start(context, StartReason::Resumed)?;
    }
    outcome.follow_ups.push(given);
    Ok(outcome)
}

fn answer_prompt(context: &HookContext<'_>) -> store::Result<HookOutcome> {
    let recall = match context.mode {
        AnswerMode::Once | AnswerMode::Again => prompt::recall_for_prompt,
        AnswerMode::FactsOnly => prompt::recall_facts_only,
    };
    let recalled = recall(
        context.store, &context.recall, context.request, &context.workspace.workspace, context.now,
    )?;
    let considered = recalled.considered.into_iter();
    let considered = considered.map(|item| {
        // The text of a rejected item is not kept in any layer.
        let is_injected = item.decision == ItemDecision::Injected;
        (
            item.item,
            if is_injected {
                item.text
            } else {
                String::new()
            },
        )
    });
    let considered = considered.collect();
    let outcome = match recalled.answer {
        RecallAnswer::Inject(pack) => {
            let items = pack.items.iter().map(|item| (item.item, item.tokens));
            let items = items.collect();
            context.inject(pack.id, pack.text, items)
        }
        RecallAnswer::Abstain(silence) => HookOutcome::silent(HookSilence::Recall(silence)),
    };
    Ok(HookOutcome {
        considered,
        ..outcome
    })
}

/// Lowers the budget to what an agent accepts.
fn limit_budget(mut config: RecallConfig, limit: ContextLimit) -> RecallConfig {
    let Budget { tokens, chars, .. } = &mut config.budget;
    *tokens = (*tokens).min(limit.tokens);
    *chars = (*chars).min(limit.chars);
    config
}

/// Returns the data folder, in which the store lies.
fn data_folder(store: &Store) -> &Path {
    store.path().parent().unwrap_or(Path::new("."))
}

/// The prompt of [`warm_up`], which no session has sent.
const WARM_UP_PROMPT: &str = "which tests did we run last";
/// The event of [`warm_up`], which no agent has sent.
const WARM_UP_EVENT: &[u8] = br#"{"hook_event_name":"SessionStart","source":"startup"}"#;

/// Reads what an answer reads, for a workspace that does not exist. The first real hook then finds
/// the schema read, the statements prepared and the index in memory. Writes nothing.
pub fn warm_up(store: &Store, settings: &ServeSettings, now: Timestamp) {
    let Ok(event) = capture::hook::parse_payload(WARM_UP_EVENT, &HookHints::default()) else {
        return;
    };
    let located = LocatedWorkspace {
        workspace: Workspace {
            key: String::new(),
            root: String::new(),
        },
        is_stored: false,
    };
    let request = PromptRequest {
        prompt: WARM_UP_PROMPT.to_owned(),
        workspace: Some(String::new()),
        ..PromptRequest::default()
    };
    let context = HookContext {
        event: &event,
        store,
        layers: &LiveLayers::default(),
        scope: &settings.scope,
        recall: settings.injection.recall,
        request: &request,
        workspace: &located,
        limit: ContextLimit::default(),
        shows_notices: false,
        mode: AnswerMode::Again,
        now,
    };
    let warmed = session_start::answer_session_start(&context, StartReason::New)
        .and_then(|_| answer_prompt(&context));
    if let Err(error) = warmed {
        tracing::debug!(%error, "the warm-up failed");
    }
}

#[cfg(test)]
pub(crate) mod tests;
