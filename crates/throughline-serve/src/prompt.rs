//! What memory has for a prompt: the one way that the command line, hooks, HTTP and MCP go.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use memory::{SessionId, Workspace};
use recall::{ContextPack, PromptHits, PromptRequest, RecallEnv, RecallOutcome};
use serde::Serialize;
use store::{NewInjection, Store};

use crate::settings::ServeSettings;

/// Why injection is switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InjectionOff {
    Environment,
    Configuration,
    Workspace,
    /// The workspace is not captured, so that something was shown there may not be noted either.
    NotCaptured,
}

impl InjectionOff {
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
pub fn injection_off(settings: &ServeSettings, workspace: &Workspace) -> Option<InjectionOff> {
    let injection = &settings.injection;
    let named = |part: &String| workspace.key.contains(part) || workspace.root.contains(part);
    if injection.disabled_by_environment {
        Some(InjectionOff::Environment)
    } else if !injection.enabled {
        Some(InjectionOff::Configuration)
    } else if injection.disabled_workspaces.iter().any(named) {
        Some(InjectionOff::Workspace)
    } else if !settings.scope.allows(workspace) {
        Some(InjectionOff::NotCaptured)
    } else {
        None
    }
}

/// Returns the workspace around a folder, by the key the store knows it by.
pub fn workspace_of(
    store: &Store,
    settings: &ServeSettings,
    folder: &Path,
) -> store::Result<Workspace> {
    let here = settings
        .scope
        .resolve_alias(capture::git::workspace_of(folder));
    let key = store.workspace_key(&here)?;
    Ok(Workspace {
        key: key.unwrap_or_else(|| here.key.clone()),
        ..here
    })
}

/// Returns the moment a prompt is sent. A session that is too young to be known is still itself: what
/// was shown to it is not shown again.
pub fn prompt_request(
    store: &Store,
    settings: &ServeSettings,
    prompt: String,
    session: Option<&str>,
    workspace: &Workspace,
) -> store::Result<PromptRequest> {
    let session = session.map(|id| resolve_session(store, id)).transpose()?;
    let related = &settings.related_workspaces;
    let related = related
        .get(&workspace.key)
        .or_else(|| related.get(&workspace.root));
    Ok(PromptRequest {
        prompt,
        session,
        workspace: Some(workspace.key.clone()),
        related_workspaces: related.cloned().unwrap_or_default(),
        ..PromptRequest::default()
    })
}

fn resolve_session(store: &Store, id: &str) -> store::Result<SessionId> {
    let named = store.sessions_by_prefix(id, 2)?;
    Ok(match named.as_slice() {
        [only] => only.id.clone(),
        _ => SessionId::new(id),
    })
}

/// Returns what a prompt gets. Writes nothing; see [`shown`].
pub fn recall_for_prompt(
    store: &Store,
    settings: &ServeSettings,
    occasion: &PromptRequest,
    workspace: &Workspace,
    now: Timestamp,
) -> store::Result<RecallOutcome> {
    let find = recall::find_prompt_hits;
    recall_with_search(store, settings, occasion, workspace, now, find)
}

/// Returns what a prompt gets of facts alone, without a search of the records.
pub fn recall_facts_only(
    store: &Store,
    settings: &ServeSettings,
    occasion: &PromptRequest,
    workspace: &Workspace,
    now: Timestamp,
) -> store::Result<RecallOutcome> {
    let find = |_: &Store, _: &PromptRequest, _: Timestamp| Ok(PromptHits::default());
    recall_with_search(store, settings, occasion, workspace, now, find)
}

fn recall_with_search(
    store: &Store,
    settings: &ServeSettings,
    occasion: &PromptRequest,
    workspace: &Workspace,
    now: Timestamp,
    find: impl FnOnce(&Store, &PromptRequest, Timestamp) -> store::Result<PromptHits>,
) -> store::Result<RecallOutcome> {
    let word = store.injection_name(&occasion.prompt, occasion.session.as_ref(), now);
    let root = PathBuf::from(&workspace.root);
    let changed_since = |path: &Path, at: Timestamp| modified_since(&root.join(path), at);
    let world = RecallEnv {
        now,
        fence_word: &word,
        changed_since: &changed_since,
    };
    let config = &settings.injection.recall;
    recall::recall(store, occasion, config, &world, find)
}

/// Returns the account of an injection, to be recorded once the prompt is answered.
pub fn new_injection(occasion: &PromptRequest, pack: &ContextPack, now: Timestamp) -> NewInjection {
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
fn modified_since(path: &Path, at: Timestamp) -> bool {
    let modified = path.metadata().and_then(|metadata| metadata.modified());
    modified
        .ok()
        .and_then(|modified| Timestamp::try_from(modified).ok())
        .is_some_and(|modified| modified > at)
}
