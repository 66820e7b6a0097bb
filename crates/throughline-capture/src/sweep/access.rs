//! Which sessions of a source may be captured, by the workspaces that the configuration allows.

use std::collections::HashMap;

use memory::{Flavor, SessionId, SessionPatch, Workspace};
use serde_json::Value;

use crate::git::WorkspaceResolver;
use crate::scope::CaptureScope;

/// Looks up the folder of a session and, for one that is stored, the key of its workspace.
pub(super) type FindFolder<'a> = Box<dyn Fn(&SessionId) -> Option<(String, Option<String>)> + 'a>;

/// Stands in the place of a line of a shared log that belongs to a workspace we must not capture.
const OMITTED_LINE: &str = "{\"type\":\"throughline-not-kept\"}\n";

/// The workspaces of the sessions in one source.
pub(super) struct SourceAccess<'a> {
    pub scope: &'a CaptureScope,
    pub resolver: &'a mut WorkspaceResolver,
    pub find_folder: FindFolder<'a>,
    /// The source holds prompts of every session; its lines are judged one by one.
    pub is_shared: bool,
    /// Another file tells where the session works, so an unknown workspace may be a denied one.
    pub folder_is_elsewhere: bool,
    /// Something of the source was captured before.
    pub is_resumed: bool,
    pub workspaces_by_session: HashMap<SessionId, Option<Workspace>>,
    /// What was met of the source so far.
    pub saw_allowed: bool,
    pub saw_denied: bool,
}

impl SourceAccess<'_> {
    /// Notes where a session works, and returns its workspace if the patch names one.
    pub fn record_workspace(&mut self, patch: &SessionPatch) -> Option<Workspace> {
        let cwd = patch.cwd.as_deref()?;
        let workspace = self.resolver.resolve(cwd, patch.remote.as_deref())?;
        let workspace = self.scope.resolve_alias(workspace);
        let known = self
            .workspaces_by_session
            .entry(patch.id.clone())
            .or_default();
        known.get_or_insert_with(|| workspace.clone());
        Some(workspace)
    }

    /// Returns the workspace of a session, from this source or from the store.
    pub fn workspace_of_session(&mut self, session: &SessionId) -> Option<Workspace> {
        if let Some(known) = self.workspaces_by_session.get(session) {
            return known.clone();
        }
        let found = (self.find_folder)(session);
        let found = found.and_then(|(folder, key)| {
            let workspace = self
                .scope
                .resolve_alias(self.resolver.resolve(&folder, None)?);
            Some(Workspace {
                key: key.unwrap_or(workspace.key),
                root: workspace.root,
            })
        });
        self.workspaces_by_session
            .insert(session.clone(), found.clone());
        found
    }

    /// Says whether a session may be captured. Where only some workspaces may be, a session of an
    /// unknown one is left out if it might be of the others.
    pub fn allows(&mut self, session: &SessionId) -> bool {
        if !self.scope.is_selective() {
            self.saw_allowed = true;
            return true;
        }
        let is_allowed = match self.workspace_of_session(session) {
            Some(workspace) => self.scope.allows(&workspace),
            None => self.scope.allowed.is_empty() && !self.is_shared && !self.folder_is_elsewhere,
        };
        self.saw_allowed |= is_allowed;
        self.saw_denied |= !is_allowed
            && self
                .workspaces_by_session
                .get(session)
                .is_some_and(Option::is_some);
        is_allowed
    }

    /// Says whether nothing at all of the source may be kept, as far as it was read.
    pub fn denies_source(&self) -> bool {
        self.scope.is_selective()
            && !self.is_shared
            && !self.saw_allowed
            && (self.saw_denied || !self.is_resumed)
    }

    /// Returns a part of a shared log without the lines of workspaces that are not captured.
    pub fn filter_shared_lines(&mut self, flavor: Flavor, text: &str) -> String {
        text.split_inclusive('\n')
            .map(|line| match self.allows_line(flavor, line) {
                true => line,
                false => OMITTED_LINE,
            })
            .collect()
    }

    fn allows_line(&mut self, flavor: Flavor, line: &str) -> bool {
        if line.trim().is_empty() {
            return true;
        }
        let Ok(Value::Object(fields)) = serde_json::from_str(line.trim()) else {
            return false;
        };
        let text = |names: &[&str]| {
            let mut values = names.iter().filter_map(|name| fields.get(*name)?.as_str());
            values.find(|value| !value.is_empty())
        };
        let folder = text(&["project", "cwd"]);
        if let Some(workspace) = folder.and_then(|folder| self.resolver.resolve(folder, None)) {
            return self.scope.allows(&self.scope.resolve_alias(workspace));
        }
        text(&["sessionId", "session_id", "id"])
            .is_some_and(|id| self.allows(&SessionId::of(flavor, id)))
    }
}
