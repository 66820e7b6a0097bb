//! Decides what an agent's hook answers, and what happens afterwards.
//!
//! [`answer_event`] decides and writes nothing that the agent would have to wait for. [`session_start`]
//! answers the start of a session, [`compaction`] a compaction of its conversation, and prompts go to
//! [`crate::prompt`]. [`log_tail`] reads the end of a session's log that is not stored yet, so that
//! answers are up to date.
//!
//! The work that follows an event is a list of [`FollowUp`]s. The daemon runs them once it has
//! answered; without a daemon they wait in [`pending`]. [`late_notes`] and [`subagents`] are notes
//! from one hook to the next ([`save_for_later_hooks`]). [`duplicates`] detects events that are delivered
//! twice. [`wire`] is the protocol between a hook's process and the daemon.

pub mod after;
mod compaction;
mod late_notes;
mod log_tail;
mod bounded_fence;
pub mod pending;
pub mod duplicates;
mod session_start;
mod subagents;
pub mod wire;

use std::path::Path;

use capture::hook::{ContextLimit, HookAnswer, HookEvent, HookHints, HookKind, StartReason};
use jiff::Timestamp;
use memory::{MemoryItem, Tokens, Workspace};
use recall::{Budget, PromptRequest, RecallAnswer};
use serde::Serialize;
use store::{NewInjection, Store};

pub use self::after::{FollowUp, FollowUpEnv, PendingInjection, run_follow_ups};
use crate::prompt;
use crate::settings::ServeSettings;

/// The answer to a hook, and the work that follows it.
#[derive(Clone, Debug, Default)]
pub struct HookOutcome {
    pub answer: HookAnswer,
    /// Why the answer is empty, if it is.
    pub silence: Option<HookSilence>,
    pub follow_ups: Vec<FollowUp>,
}

/// Why a hook answers nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
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
            },
            ..Self::default()
        }
    }
}

/// Answers an event, unless it was delivered before.
pub fn answer_event(
    store: &Store,
    settings: &ServeSettings,
    event: &HookEvent,
    now: Timestamp,
) -> store::Result<HookOutcome> {
    let twice = || duplicates::is_duplicate(data_folder(store), event, now);
    answer_with_dedup(&twice, store, settings, event, AnswerDepth::Full, now)
}

/// The same for an event that may be known already: who was asked for it first has not answered.
pub fn answer_event_without_dedup(
    store: &Store,
    settings: &ServeSettings,
    event: &HookEvent,
    now: Timestamp,
) -> store::Result<HookOutcome> {
    answer_with_dedup(&|| false, store, settings, event, AnswerDepth::Full, now)
}

/// Answers an event from pins, preferences and facts only, without a search. A hook prints this if
/// the full answer is not ready at its deadline.
pub fn answer_from_facts(
    store: &Store,
    settings: &ServeSettings,
    event: &HookEvent,
    now: Timestamp,
) -> store::Result<HookOutcome> {
    answer_with_dedup(
        &|| false,
        store,
        settings,
        event,
        AnswerDepth::FactsOnly,
        now,
    )
}

/// How much is read for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnswerDepth {
    Full,
    /// Facts of the workspace only; no records are searched, and no earlier session is described.
    FactsOnly,
}

fn answer_with_dedup(
    twice: &dyn Fn() -> bool,
    store: &Store,
    settings: &ServeSettings,
    event: &HookEvent,
    extent: AnswerDepth,
    now: Timestamp,
) -> store::Result<HookOutcome> {
    let mut answered = if may_add_context(data_folder(store), event) {
        decide_answer(twice, store, settings, event, extent, now)?
    } else {
        HookOutcome::silent(HookSilence::EventNotAnswered)
    };
    if answered.silence != Some(HookSilence::Duplicate) {
        answered.follow_ups.extend(after::follow_ups_of(event));
    }
    Ok(answered)
}

/// Returns whether an event may be answered with context. After a tool call that is the case only
/// if notes are pending, because that path must stay short.
pub fn may_add_context(home: &Path, event: &HookEvent) -> bool {
    let kind = match event.kind {
        HookKind::SessionStart { .. } | HookKind::Prompt { .. } | HookKind::PreCompact => true,
        HookKind::ToolAfter if late_notes::can_carry_notes(event) => {
            let session = event.session.as_ref();
            session.is_some_and(|session| late_notes::has_pending_notes(home, session))
        }
        _ => false,
    };
    kind && event.dialect.accepts_context(&event.kind)
}

/// Saves what later hooks need to know of an event: what was shown, that a compaction happened,
/// that a subagent runs. The hook's process calls this once it has printed its answer.
pub fn save_for_later_hooks(
    home: &Path,
    event: &HookEvent,
    after: &[FollowUp],
    now: Timestamp,
) -> std::io::Result<()> {
    let Some(session) = &event.session else {
        return Ok(());
    };
    late_notes::record_compaction(home, event)?;
    subagents::track_subagents(home, event, now)?;
    let mut waiting = Vec::new();
    for one in after {
        match one {
            FollowUp::NotesGiven {
                session,
                compaction,
            } => late_notes::mark_notes_given(home, session, compaction)?,
            one => waiting.push(one.clone()),
        }
    }
    pending::enqueue(home, session, &waiting)
}

fn decide_answer(
    twice: &dyn Fn() -> bool,
    store: &Store,
    settings: &ServeSettings,
    event: &HookEvent,
    extent: AnswerDepth,
    now: Timestamp,
) -> store::Result<HookOutcome> {
    let automatic = matches!(
        event.kind,
        HookKind::Prompt {
            automatic: true,
            ..
        }
    );
    if event.subagent.is_some() || automatic {
        return Ok(HookOutcome::silent(HookSilence::NotFromUser));
    }
    let Some(cwd) = &event.cwd else {
        return Ok(HookOutcome::silent(HookSilence::NoFolder));
    };
    if subagents::is_subagent(store, data_folder(store), event, now)? {
        return Ok(HookOutcome::silent(HookSilence::NotFromUser));
    }
    if twice() {
        return Ok(HookOutcome::silent(HookSilence::Duplicate));
    }
    let workspace = prompt::workspace_of(store, settings, cwd)?;
    if let Some(off) = prompt::injection_off(settings, &workspace) {
        return Ok(HookOutcome::silent(HookSilence::Off(off)));
    }
    let asked = match &event.kind {
        HookKind::Prompt { text, .. } => text.clone(),
        _ => String::new(),
    };
    let mut occasion = prompt::prompt_request(store, settings, asked, None, &workspace)?;
    occasion.session = event.session.clone();
    if let Some(session) = &occasion.session {
        occasion.unrecorded_items = pending::pending_injected_items(data_folder(store), session);
    }
    let scene = HookContext {
        event,
        store,
        settings: &limit_budget(settings, event.dialect.context_limit()),
        request: &occasion,
        workspace: &workspace,
        limit: event.dialect.context_limit(),
        depth: extent,
        now,
    };
    if let Some(compaction) = late_notes::due_compaction(store, data_folder(store), event)? {
        return answer_with_notes(&scene, compaction);
    }
    match event.kind {
        HookKind::Prompt { .. } => answer_prompt(&scene),
        HookKind::SessionStart {
            source: StartReason::Compacted,
        } => compaction::restore_after_compaction(&scene),
        HookKind::SessionStart { source } => session_start::answer_session_start(&scene, source),
        HookKind::PreCompact => compaction::preserve_before_compaction(&scene),
        _ => Ok(HookOutcome::silent(HookSilence::EventNotAnswered)),
    }
}

/// Everything that an answer is decided from.
struct HookContext<'a> {
    event: &'a HookEvent,
    store: &'a Store,
    settings: &'a ServeSettings,
    request: &'a PromptRequest,
    workspace: &'a Workspace,
    limit: ContextLimit,
    depth: AnswerDepth,
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
    fn inject(
        &self,
        word: String,
        text: String,
        items: Vec<(MemoryItem, Tokens)>,
    ) -> store::Result<HookOutcome> {
        let tokens = memory::tokens::estimate(&text);
        let injection = NewInjection {
            name: word,
            session: self.request.session.clone(),
            // The follow-up may wait outside the store, so it names the workspace only by a key
            // from the store, which has been redacted.
            workspace: self.store.workspace_key(self.workspace)?,
            at: self.now,
            prompt: self.request.prompt.clone(),
            tokens,
            items,
        };
        Ok(HookOutcome {
            follow_ups: vec![FollowUp::Injected(PendingInjection::new(
                self.store, &injection,
            ))],
            ..HookOutcome::with_context(text)
        })
    }
}

/// Answers a later event with the notes of a compacted conversation, besides what the event gets
/// anyway.
fn answer_with_notes(scene: &HookContext<'_>, compaction: String) -> store::Result<HookOutcome> {
    let mut notes = compaction::restore_after_compaction(scene)?;
    let Some(text) = notes.answer.context.clone() else {
        return answer_prompt(scene);
    };
    notes.follow_ups.extend(
        scene
            .request
            .session
            .clone()
            .map(|session| FollowUp::NotesGiven {
                session,
                compaction,
            }),
    );
    if !matches!(scene.event.kind, HookKind::Prompt { .. }) {
        return Ok(notes);
    }
    let mut occasion = scene.request.clone();
    for after in &notes.follow_ups {
        if let FollowUp::Injected(injected) = after {
            let items = injected.items().into_iter();
            occasion
                .unrecorded_items
                .extend(items.map(|(item, _)| item));
        }
    }
    let recalled = answer_prompt(&HookContext {
        request: &occasion,
        ..*scene
    })?;
    if let Some(more) = recalled.answer.context {
        let both = format!("{text}\n{more}");
        if scene.limit.fits(&both) {
            notes.answer.context = Some(both);
            notes.follow_ups.extend(recalled.follow_ups);
        }
    }
    Ok(notes)
}

fn answer_prompt(scene: &HookContext<'_>) -> store::Result<HookOutcome> {
    let answer = match scene.depth {
        AnswerDepth::Full => prompt::recall_for_prompt,
        AnswerDepth::FactsOnly => prompt::recall_facts_only,
    };
    let recalled = answer(
        scene.store,
        scene.settings,
        scene.request,
        scene.workspace,
        scene.now,
    )?;
    match recalled.answer {
        RecallAnswer::Inject(pack) => {
            let items = pack.items.iter().map(|item| (item.item, item.tokens));
            scene.inject(pack.id.clone(), pack.text.clone(), items.collect())
        }
        RecallAnswer::Abstain(silence) => Ok(HookOutcome::silent(HookSilence::Recall(silence))),
    }
}

/// Returns the settings with no larger budget than an agent takes.
fn limit_budget(settings: &ServeSettings, limit: ContextLimit) -> ServeSettings {
    let mut settings = settings.clone();
    let Budget { tokens, chars, .. } = &mut settings.injection.recall.budget;
    *tokens = (*tokens).min(limit.tokens);
    *chars = (*chars).min(limit.chars);
    settings
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
    let workspace = Workspace {
        key: String::new(),
        root: String::new(),
    };
    let Ok(event) = capture::hook::parse_payload(WARM_UP_EVENT, &HookHints::default()) else {
        return;
    };
    let warmed =
        prompt::prompt_request(store, settings, WARM_UP_PROMPT.to_owned(), None, &workspace)
            .and_then(|occasion| {
                let scene = HookContext {
                    event: &event,
                    store,
                    settings,
                    request: &occasion,
                    workspace: &workspace,
                    limit: ContextLimit::default(),
                    depth: AnswerDepth::Full,
                    now,
                };
                session_start::answer_session_start(&scene, StartReason::New)?;
                answer_prompt(&scene)
            });
    if let Err(error) = warmed {
        tracing::debug!(%error, "the warm-up failed");
    }
}

#[cfg(test)]
mod tests;
