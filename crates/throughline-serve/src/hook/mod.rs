//! What an agent's hook gets, and what is done once it has it.
//!
//! [`answer`] decides and writes nothing that anybody waits for: [`start`] is what a session gets when it
//! begins, [`compact`] what must survive when its conversation is made shorter, and prompts go to
//! [`crate::prompt`]. What they say of a session is brought up to its last message by [`live`].
//! What follows from an event is a list of [`After`]s: the daemon carries them out once it has
//! answered ([`carry_out`]); where none runs they wait in [`pending`]. [`late_notes`] and
//! [`subagents`] are what one hook leaves for the next ([`leave`]). [`seen`] recognises what
//! is delivered twice. [`wire`] is how a hook's process and the daemon talk.

pub mod after;
mod compact;
mod late_notes;
mod live;
mod page;
pub mod pending;
pub mod seen;
mod start;
mod subagents;
pub mod wire;

use std::path::Path;

use capture::hook::{Hints, HookAnswer, HookEvent, HookKind, Limit, Start};
use jiff::Timestamp;
use memory::{Item, Tokens, Workspace};
use recall::{Answer, Budget, Occasion};
use serde::Serialize;
use store::{NewInjection, Store};

pub use self::after::{After, Injected, Works, carry_out};
use crate::prompt;
use crate::settings::Settings;

/// What a hook says, and what follows.
#[derive(Clone, Debug, Default)]
pub struct Answered {
    pub answer: HookAnswer,
    /// Why it says nothing.
    pub silence: Option<Quiet>,
    pub after: Vec<After>,
}

/// Why a hook says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quiet {
    /// Nothing is ever said at such an event, or the agent would not take it.
    NotAsked,
    /// It was delivered before.
    Twice,
    /// Injection is switched off here.
    Off(prompt::Off),
    /// A subagent, or a prompt that no person sent.
    NotAPerson,
    Silence(recall::Silence),
    /// There is nothing worth saying.
    Nothing,
    /// The agent does not say in which folder it works.
    Nowhere,
}

impl Answered {
    fn quiet(silence: Quiet) -> Self {
        Self {
            silence: Some(silence),
            ..Self::default()
        }
    }

    fn saying(text: String) -> Self {
        Self {
            answer: HookAnswer {
                context: Some(text),
            },
            ..Self::default()
        }
    }
}

/// Returns what an event gets, and what follows from it.
pub fn answer(
    store: &Store,
    settings: &Settings,
    event: &HookEvent,
    now: Timestamp,
) -> store::Result<Answered> {
    let twice = || seen::twice(folder(store), event, now);
    answer_unless(&twice, store, settings, event, Extent::Full, now)
}

/// The same for an event that may be known already: who was asked for it first has not answered.
pub fn answer_again(
    store: &Store,
    settings: &Settings,
    event: &HookEvent,
    now: Timestamp,
) -> store::Result<Answered> {
    answer_unless(&|| false, store, settings, event, Extent::Full, now)
}

/// Returns as much of the answer as takes next to no time: the pins, preferences and facts, without a
/// search. A hook prints this where the whole answer is not there at its deadline.
pub fn answer_from_facts(
    store: &Store,
    settings: &Settings,
    event: &HookEvent,
    now: Timestamp,
) -> store::Result<Answered> {
    answer_unless(&|| false, store, settings, event, Extent::Facts, now)
}

/// How much is read for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    Full,
    /// Only what holds in the workspace; no records are searched, no session is looked for.
    Facts,
}

fn answer_unless(
    twice: &dyn Fn() -> bool,
    store: &Store,
    settings: &Settings,
    event: &HookEvent,
    extent: Extent,
    now: Timestamp,
) -> store::Result<Answered> {
    let mut answered = if is_asked(folder(store), event) {
        said(twice, store, settings, event, extent, now)?
    } else {
        Answered::quiet(Quiet::NotAsked)
    };
    if answered.silence != Some(Quiet::Twice) {
        answered.after.extend(after::of(event));
    }
    Ok(answered)
}

/// Says whether anything may be said at an event. After a tool call that is only so where notes
/// wait for it: that way must stay short.
pub fn is_asked(home: &Path, event: &HookEvent) -> bool {
    let kind = match event.kind {
        HookKind::SessionStart { .. } | HookKind::Prompt { .. } | HookKind::PreCompact => true,
        HookKind::ToolAfter if late_notes::is_carrier(event) => {
            let session = event.session.as_ref();
            session.is_some_and(|session| late_notes::is_waiting(home, session))
        }
        _ => false,
    };
    kind && event.dialect.takes_context(&event.kind)
}

/// Leaves what later hooks need to know of an event: what was shown, that a compaction happened,
/// that a subagent runs. The hook's process calls it once it has printed its answer.
pub fn leave(
    home: &Path,
    event: &HookEvent,
    after: &[After],
    now: Timestamp,
) -> std::io::Result<()> {
    let Some(session) = &event.session else {
        return Ok(());
    };
    late_notes::remember(home, event)?;
    subagents::remember(home, event, now)?;
    let mut waiting = Vec::new();
    for one in after {
        match one {
            After::NotesGiven {
                session,
                compaction,
            } => late_notes::given(home, session, compaction)?,
            one => waiting.push(one.clone()),
        }
    }
    pending::put(home, session, &waiting)
}

fn said(
    twice: &dyn Fn() -> bool,
    store: &Store,
    settings: &Settings,
    event: &HookEvent,
    extent: Extent,
    now: Timestamp,
) -> store::Result<Answered> {
    let automatic = matches!(
        event.kind,
        HookKind::Prompt {
            automatic: true,
            ..
        }
    );
    if event.subagent.is_some() || automatic {
        return Ok(Answered::quiet(Quiet::NotAPerson));
    }
    let Some(cwd) = &event.cwd else {
        return Ok(Answered::quiet(Quiet::Nowhere));
    };
    if subagents::is_subagent(store, folder(store), event, now)? {
        return Ok(Answered::quiet(Quiet::NotAPerson));
    }
    if twice() {
        return Ok(Answered::quiet(Quiet::Twice));
    }
    let workspace = prompt::workspace_of(store, settings, cwd)?;
    if let Some(off) = prompt::off(settings, &workspace) {
        return Ok(Answered::quiet(Quiet::Off(off)));
    }
    let asked = match &event.kind {
        HookKind::Prompt { text, .. } => text.clone(),
        _ => String::new(),
    };
    let mut occasion = prompt::occasion(store, settings, asked, None, &workspace)?;
    occasion.session = event.session.clone();
    if let Some(session) = &occasion.session {
        occasion.shown = pending::shown(folder(store), session);
    }
    let scene = Scene {
        event,
        store,
        settings: &fitted(settings, event.dialect.limit()),
        occasion: &occasion,
        workspace: &workspace,
        limit: event.dialect.limit(),
        extent,
        now,
    };
    if let Some(compaction) = late_notes::due(store, folder(store), event)? {
        return with_notes(&scene, compaction);
    }
    match event.kind {
        HookKind::Prompt { .. } => of_prompt(&scene),
        HookKind::SessionStart {
            source: Start::Compacted,
        } => compact::restored(&scene),
        HookKind::SessionStart { source } => start::start(&scene, source),
        HookKind::PreCompact => compact::must_survive(&scene),
        _ => Ok(Answered::quiet(Quiet::NotAsked)),
    }
}

/// Where something is said.
struct Scene<'a> {
    event: &'a HookEvent,
    store: &'a Store,
    settings: &'a Settings,
    occasion: &'a Occasion,
    workspace: &'a Workspace,
    limit: Limit,
    extent: Extent,
    now: Timestamp,
}

impl Scene<'_> {
    /// Returns the word that closes this injection's fence.
    fn word(&self) -> String {
        let Occasion {
            prompt, session, ..
        } = self.occasion;
        self.store
            .injection_name(prompt, session.as_ref(), self.now)
    }

    /// Returns the answer that shows a text, with the account of what it shows.
    fn shows(
        &self,
        word: String,
        text: String,
        items: Vec<(Item, Tokens)>,
    ) -> store::Result<Answered> {
        let tokens = memory::tokens::estimate(&text);
        let injection = NewInjection {
            name: word,
            session: self.occasion.session.clone(),
            // The account may wait outside of the store: only a name from there has been cleaned.
            workspace: self.store.workspace_key(self.workspace)?,
            at: self.now,
            prompt: self.occasion.prompt.clone(),
            tokens,
            items,
        };
        Ok(Answered {
            after: vec![After::Injected(Injected::new(self.store, &injection))],
            ..Answered::saying(text)
        })
    }
}

/// Gives the notes of a compacted conversation with an event that comes later, beside what the
/// event gets anyway.
fn with_notes(scene: &Scene<'_>, compaction: String) -> store::Result<Answered> {
    let mut notes = compact::restored(scene)?;
    let Some(text) = notes.answer.context.clone() else {
        return of_prompt(scene);
    };
    notes.after.extend(
        scene
            .occasion
            .session
            .clone()
            .map(|session| After::NotesGiven {
                session,
                compaction,
            }),
    );
    if !matches!(scene.event.kind, HookKind::Prompt { .. }) {
        return Ok(notes);
    }
    let mut occasion = scene.occasion.clone();
    for after in &notes.after {
        if let After::Injected(injected) = after {
            let items = injected.items().into_iter();
            occasion.shown.extend(items.map(|(item, _)| item));
        }
    }
    let recalled = of_prompt(&Scene {
        occasion: &occasion,
        ..*scene
    })?;
    if let Some(more) = recalled.answer.context {
        let both = format!("{text}\n{more}");
        if scene.limit.holds(&both) {
            notes.answer.context = Some(both);
            notes.after.extend(recalled.after);
        }
    }
    Ok(notes)
}

fn of_prompt(scene: &Scene<'_>) -> store::Result<Answered> {
    let answer = match scene.extent {
        Extent::Full => prompt::answer,
        Extent::Facts => prompt::answer_from_facts,
    };
    let recalled = answer(
        scene.store,
        scene.settings,
        scene.occasion,
        scene.workspace,
        scene.now,
    )?;
    match recalled.answer {
        Answer::Inject(pack) => {
            let items = pack.items.iter().map(|item| (item.item, item.tokens));
            scene.shows(pack.id.clone(), pack.text.clone(), items.collect())
        }
        Answer::Abstain(silence) => Ok(Answered::quiet(Quiet::Silence(silence))),
    }
}

/// Returns the settings with no larger budget than an agent takes.
fn fitted(settings: &Settings, limit: Limit) -> Settings {
    let mut settings = settings.clone();
    let Budget { tokens, chars, .. } = &mut settings.injection.recall.budget;
    *tokens = (*tokens).min(limit.tokens);
    *chars = (*chars).min(limit.chars);
    settings
}

/// Returns the folder of everything we write.
fn folder(store: &Store) -> &Path {
    store.path().parent().unwrap_or(Path::new("."))
}

/// The words of a prompt that no session sent; see [`warm_up`].
const WARM_UP_PROMPT: &str = "which tests did we run last";
/// An event that no agent sent.
const WARM_UP_EVENT: &[u8] = br#"{"hook_event_name":"SessionStart","source":"startup"}"#;

/// Reads what an answer reads, for a workspace that does not exist: the first hook then finds the schema
/// read, the statements prepared and the index in memory. Writes nothing.
pub fn warm_up(store: &Store, settings: &Settings, now: Timestamp) {
    let workspace = Workspace {
        key: String::new(),
        root: String::new(),
    };
    let Ok(event) = capture::hook::read(WARM_UP_EVENT, &Hints::default()) else {
        return;
    };
    let warmed = prompt::occasion(store, settings, WARM_UP_PROMPT.to_owned(), None, &workspace)
        .and_then(|occasion| {
            let scene = Scene {
                event: &event,
                store,
                settings,
                occasion: &occasion,
                workspace: &workspace,
                limit: Limit::default(),
                extent: Extent::Full,
                now,
            };
            start::start(&scene, Start::New)?;
            of_prompt(&scene)
        });
    if let Err(error) = warmed {
        tracing::debug!(%error, "the first hook will find nothing prepared");
    }
}

#[cfg(test)]
mod tests;
