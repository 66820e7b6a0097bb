//! What memory has for a prompt: the one way that the command line, hooks, HTTP and MCP go.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use memory::{SessionId, Workspace};
use recall::offered::Candidates;
use recall::{ContextPack, Occasion, Recalled, World};
use serde::Serialize;
use store::{NewInjection, Store};

use crate::settings::Settings;

/// Why injection is switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Off {
    Environment,
    Configuration,
    Workspace,
    /// The workspace is not captured, so that something was shown there may not be noted either.
    NotCaptured,
}

impl Off {
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Environment => "THROUGHLINE_INJECTION is off",
            Self::Configuration => "[injection] enabled is false in the configuration",
            Self::Workspace => "the configuration switches it off for this workspace",
            Self::NotCaptured => {
                "this workspace is not captured: see `allow` and `deny` under [capture]"
            }
        }
    }
}

/// Says why nothing may be injected in a workspace.
pub fn off(settings: &Settings, workspace: &Workspace) -> Option<Off> {
    let injection = &settings.injection;
    let named = |part: &String| workspace.key.contains(part) || workspace.root.contains(part);
    if injection.off_now {
        Some(Off::Environment)
    } else if !injection.enabled {
        Some(Off::Configuration)
    } else if injection.off_in.iter().any(named) {
        Some(Off::Workspace)
    } else if !settings.scope.allows(workspace) {
        Some(Off::NotCaptured)
    } else {
        None
    }
}

/// Returns the workspace around a folder, by the key the store knows it by.
pub fn workspace_of(store: &Store, settings: &Settings, folder: &Path) -> store::Result<Workspace> {
    let here = settings.scope.alias(capture::git::workspace_of(folder));
    let key = store.workspace_key(&here)?;
    Ok(Workspace {
        key: key.unwrap_or_else(|| here.key.clone()),
        ..here
    })
}

/// Returns the moment a prompt is sent. A session that is too young to be known is still itself: what
/// was shown to it is not shown again.
pub fn occasion(
    store: &Store,
    settings: &Settings,
    prompt: String,
    session: Option<&str>,
    workspace: &Workspace,
) -> store::Result<Occasion> {
    let session = session.map(|id| session_named(store, id)).transpose()?;
    let related = &settings.related;
    let related = related
        .get(&workspace.key)
        .or_else(|| related.get(&workspace.root));
    Ok(Occasion {
        prompt,
        session,
        workspace: Some(workspace.key.clone()),
        related: related.cloned().unwrap_or_default(),
        ..Occasion::default()
    })
}

fn session_named(store: &Store, id: &str) -> store::Result<SessionId> {
    let named = store.sessions_named(id, 2)?;
    Ok(match named.as_slice() {
        [only] => only.id.clone(),
        _ => SessionId::new(id),
    })
}

/// Returns what a prompt gets. Writes nothing; see [`shown`].
pub fn answer(
    store: &Store,
    settings: &Settings,
    occasion: &Occasion,
    workspace: &Workspace,
    now: Timestamp,
) -> store::Result<Recalled> {
    let find = recall::offered::find;
    answer_with(store, settings, occasion, workspace, now, find)
}

/// Returns what a prompt gets of facts alone, without a search of the records.
pub fn answer_from_facts(
    store: &Store,
    settings: &Settings,
    occasion: &Occasion,
    workspace: &Workspace,
    now: Timestamp,
) -> store::Result<Recalled> {
    let find = |_: &Store, _: &Occasion, _: Timestamp| Ok(Candidates::default());
    answer_with(store, settings, occasion, workspace, now, find)
}

fn answer_with(
    store: &Store,
    settings: &Settings,
    occasion: &Occasion,
    workspace: &Workspace,
    now: Timestamp,
    find: impl FnOnce(&Store, &Occasion, Timestamp) -> store::Result<Candidates>,
) -> store::Result<Recalled> {
    let word = store.injection_name(&occasion.prompt, occasion.session.as_ref(), now);
    let root = PathBuf::from(&workspace.root);
    let changed_since = |path: &Path, at: Timestamp| changed_since(&root.join(path), at);
    let world = World {
        now,
        word: &word,
        changed_since: &changed_since,
    };
    let config = &settings.injection.recall;
    recall::recall(store, occasion, config, &world, find)
}

/// Returns the account of an injection, to be recorded once the prompt is answered.
pub fn shown(occasion: &Occasion, pack: &ContextPack, now: Timestamp) -> NewInjection {
    let items = pack.items.iter();
    NewInjection {
        name: pack.id.clone(),
        session: occasion.session.clone(),
        workspace: occasion.workspace.clone(),
        at: now,
        prompt: occasion.prompt.clone(),
        tokens: pack.tokens,
        items: items.map(|item| (item.item, item.tokens)).collect(),
    }
}

/// Says whether a file was written after a time. A file that is gone says nothing.
fn changed_since(path: &Path, at: Timestamp) -> bool {
    let modified = path.metadata().and_then(|metadata| metadata.modified());
    modified
        .ok()
        .and_then(|modified| Timestamp::try_from(modified).ok())
        .is_some_and(|modified| modified > at)
}
