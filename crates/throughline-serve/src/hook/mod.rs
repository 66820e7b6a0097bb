//! What an agent's hook gets, and what is done once it has it.
//!
//! [`answer`] decides and writes nothing that anybody waits for: [`start`] is what a session gets when it
//! begins, [`compact`] what must survive when its conversation is made shorter, and prompts go to
//! [`crate::prompt`]. What they say of a session is brought up to its last message by [`live`].
//! What follows from an event is a list of [`After`]s: the daemon carries them out once it has
//! answered ([`carry_out`]); where none runs they wait in [`pending`]. [`late_notes`] and
//! [`subagents`] are what one hook leaves for the next ([`leave`]). [`seen`] recognises what
//! is delivered twice. [`wire`] is how a hook's process and the daemon talk.

mod compact;
pub mod follow_up;
mod late_notes;
mod live;
mod page;
pub mod pending;
pub mod seen;
mod start;
mod subagents;
pub mod wire;

use std::path::Path;

use capture::hook::{ContextLimit, HookAnswer, HookEvent, HookHints, HookKind, StartReason};
use jiff::Timestamp;
use memory::{MemoryItem, Tokens, Workspace};
use recall::{Budget, PromptRequest, RecallAnswer};
use serde::Serialize;
use store::{NewInjection, Store};

pub use self::follow_up::{FollowUp, PendingInjection, run_follow_ups};
use crate::prompt;
use crate::settings::ServeSettings;

/// What a hook says, and what follows.
#[derive(Clone, Debug, Default)]
pub struct HookOutcome {
    pub answer: HookAnswer,
    /// Why it says nothing.
    pub silence: Option<HookSilence>,
    pub follow_ups: Vec<FollowUp>,
}

/// Why a hook says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HookSilence {
    /// Nothing is ever said at such an event, or the agent would not take it.
    EventNotAnswered,
    /// It was delivered before.
    Duplicate,
    /// Injection is switched off here.
    Off(prompt::InjectionOff),
    /// A subagent, or a prompt that no person sent.
    NotFromUser,
    Recall(recall::Silence),
    /// There is nothing worth saying.
    NothingRelevant,
    /// The agent does not say in which folder it works.
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

/// Returns what an event gets, and what follows from it.
pub fn answer_event(
    store: &Store,
    settings: &ServeSettings,
    event: &HookEvent,
    now: Timestamp,
) -> store::Result<HookOutcome> {
    let twice = || seen::is_duplicate(data_folder(store), event, now);
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

/// Returns as much of the answer as takes next to no time: the pins, preferences and facts, without a
/// search. A hook prints this where the whole answer is not there at its deadline.
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
    /// Only what holds in the workspace; no records are searched, no session is looked for.
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
        answered.follow_ups.extend(follow_up::follow_ups_of(event));
    }
    Ok(answered)
}

/// Says whether anything may be said at an event. After a tool call that is only so where notes
/// wait for it: that way must stay short.
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

/// Leaves what later hooks need to know of an event: what was shown, that a compaction happened,
/// that a subagent runs. The hook's process calls it once it has printed its answer.
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
        } => compact::restore_after_compaction(&scene),
        HookKind::SessionStart { source } => start::answer_session_start(&scene, source),
        HookKind::PreCompact => compact::preserve_before_compaction(&scene),
        _ => Ok(HookOutcome::silent(HookSilence::EventNotAnswered)),
    }
}

/// Where something is said.
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
    /// Returns the word that closes this injection's fence.
    fn fence_id(&self) -> String {
        let PromptRequest {
            prompt, session, ..
        } = self.request;
        self.store
            .injection_name(prompt, session.as_ref(), self.now)
    }

    /// Returns the answer that shows a text, with the account of what it shows.
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
            // The account may wait outside of the store: only a name from there has been cleaned.
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

/// Gives the notes of a compacted conversation with an event that comes later, beside what the
/// event gets anyway.
fn answer_with_notes(scene: &HookContext<'_>, compaction: String) -> store::Result<HookOutcome> {
    let mut notes = compact::restore_after_compaction(scene)?;
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

/// Returns the folder of everything we write.
fn data_folder(store: &Store) -> &Path {
    store.path().parent().unwrap_or(Path::new("."))
}

/// The words of a prompt that no session sent; see [`warm_up`].
const WARM_UP_PROMPT: &str = "which tests did we run last";
/// An event that no agent sent.
const WARM_UP_EVENT: &[u8] = br#"{"hook_event_name":"SessionStart","source":"startup"}"#;

/// Reads what an answer reads, for a workspace that does not exist: the first hook then finds the schema
/// read, the statements prepared and the index in memory. Writes nothing.
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
                start::answer_session_start(&scene, StartReason::New)?;
                answer_prompt(&scene)
            });
    if let Err(error) = warmed {
        tracing::debug!(%error, "the first hook will find nothing prepared");
    }
}

#[cfg(test)]
mod tests;
