//! Recalls memory for one prompt. The command line, hooks, HTTP and MCP all come through here.

use std::path::Path;

use jiff::Timestamp;
use memory::{SessionId, Workspace};
use recall::PromptHits;
use recall::{ContextPack, PromptRequest, RecallConfig, RecallEnv, RecallOutcome};
use serde::Serialize;
use store::{NewInjection, Store};

use crate::settings::ServeSettings;

/// The reason why injection is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum InjectionOff {
    Environment,
    Configuration,
    Workspace,
    /// The workspace is excluded from capture, so injections there may not be recorded either.
    NotCaptured,
}

impl InjectionOff {
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Environment => "THROUGHLINE_INJECTION is off",
            Self::Configuration => "[injection] enabled is false in the configuration",
            Self::Workspace => "the configuration turns injection off for this workspace",
            Self::NotCaptured => {
                "this workspace is not captured: see `allow` and `deny` under [capture]"
            }
        }
    }
}

/// Returns why nothing may be injected in a workspace, or `None` if injection is on.
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

/// Returns the workspace that contains a folder, with the key under which the store has it.
pub fn workspace_of(
    store: &Store,
    settings: &ServeSettings,
    folder: &Path,
) -> store::Result<Workspace> {
    Ok(locate_workspace(store, settings, folder)?.workspace)
}

/// A workspace, and whether the store has it.
pub(crate) struct LocatedWorkspace {
    pub(crate) workspace: Workspace,
    pub(crate) is_stored: bool,
}

pub(crate) fn locate_workspace(
    store: &Store,
    settings: &ServeSettings,
    folder: &Path,
) -> store::Result<LocatedWorkspace> {
    let found = capture::git::workspace_of(folder);
    let mut workspace = settings.scope.resolve_alias(found);
    let stored_key = store.workspace_key(&workspace)?;
    let is_stored = stored_key.is_some();
    if let Some(key) = stored_key {
        workspace.key = key;
    }
    Ok(LocatedWorkspace {
        workspace,
        is_stored,
    })
}

/// Builds the recall request for a prompt. A session that the store does not have yet keeps its own
/// id, so that what was shown to it is not shown again.
pub fn prompt_request(
    store: &Store,
    settings: &ServeSettings,
    prompt: String,
    session: Option<&str>,
    workspace: &Workspace,
) -> store::Result<PromptRequest> {
    let session = session.map(|id| resolve_session(store, id)).transpose()?;
    Ok(PromptRequest {
        prompt,
        session,
        workspace: Some(workspace.key.clone()),
        related_workspaces: settings.related_to(workspace).to_vec(),
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

/// Recalls memory for a prompt. Writes nothing; the caller records the injection once the prompt is
/// answered.
pub fn recall_for_prompt(
    store: &Store,
    config: &RecallConfig,
    request: &PromptRequest,
    workspace: &Workspace,
    now: Timestamp,
) -> store::Result<RecallOutcome> {
    let find = recall::find_prompt_hits;
    run_recall(store, config, request, workspace, now, find)
}

/// Recalls facts only, without searching records.
pub fn recall_facts_only(
    store: &Store,
    config: &RecallConfig,
    request: &PromptRequest,
    workspace: &Workspace,
    now: Timestamp,
) -> store::Result<RecallOutcome> {
    let find_nothing = |_: &Store, _: &PromptRequest, _: Timestamp| Ok(PromptHits::default());
    run_recall(store, config, request, workspace, now, find_nothing)
}

fn run_recall(
    store: &Store,
    config: &RecallConfig,
    request: &PromptRequest,
    workspace: &Workspace,
    now: Timestamp,
    find: impl FnOnce(&Store, &PromptRequest, Timestamp) -> store::Result<PromptHits>,
) -> store::Result<RecallOutcome> {
    let fence_id = store.injection_name(&request.prompt, request.session.as_ref(), now);
    let root = Path::new(&workspace.root);
    let env = RecallEnv {
        now,
        fence_word: &fence_id,
        changed_since: &|path, at| modified_since(&root.join(path), at),
    };
    recall::recall(store, request, config, &env, find)
}

/// Builds the row that records an injection after the prompt is answered.
pub fn new_injection(request: &PromptRequest, pack: &ContextPack, now: Timestamp) -> NewInjection {
    let items = pack.items.iter();
    NewInjection {
        name: pack.id.clone(),
        session: request.session.clone(),
        workspace: request.workspace.clone(),
        at: now,
        prompt: request.prompt.clone(),
        tokens: pack.tokens,
        items: items.map(|item| (item.item, item.tokens)).collect(),
    }
}

/// Returns whether a file was modified after a time. A missing file counts as unmodified.
pub fn modified_since(path: &Path, at: Timestamp) -> bool {
    let modified = path.metadata().and_then(|metadata| metadata.modified());
    modified
        .ok()
        .and_then(|modified| Timestamp::try_from(modified).ok())
        .is_some_and(|modified| modified > at)
}
