//! Which sessions of a source may be captured, by the workspaces that the configuration allows.

use std::collections::HashMap;

use memory::{Flavor, SessionId, SessionPatch, Workspace};
use serde_json::Value;

use crate::git::Workspaces;
use crate::scope::Scope;

/// Looks up the folder of a session and, for one that is stored, the key of its workspace.
pub(super) type FindFolder<'a> = Box<dyn Fn(&SessionId) -> Option<(String, Option<String>)> + 'a>;

/// Stands in the place of a line of a shared log that belongs to a workspace we must not capture.
const NOT_KEPT: &str = "{\"type\":\"throughline-not-kept\"}\n";

/// The workspaces of the sessions in one source.
pub(super) struct Access<'a> {
    pub scope: &'a Scope,
    pub workspaces: &'a mut Workspaces,
    pub find_folder: FindFolder<'a>,
    /// The source holds prompts of every session; its lines are judged one by one.
    pub is_shared: bool,
    /// Another file tells where the session works, so an unknown workspace may be a denied one.
    pub is_part: bool,
    /// Something of the source was captured before.
    pub is_resumed: bool,
    pub roots: HashMap<SessionId, Option<Workspace>>,
    /// What was met of the source so far.
    pub met_allowed: bool,
    pub met_denied: bool,
}

impl Access<'_> {
    /// Notes where a session works, and returns its workspace if the patch names one.
    pub fn note(&mut self, patch: &SessionPatch) -> Option<Workspace> {
        let cwd = patch.cwd.as_deref()?;
        let workspace = self.workspaces.of(cwd, patch.remote.as_deref())?;
        let workspace = self.scope.alias(workspace);
        let known = self.roots.entry(patch.id.clone()).or_default();
        known.get_or_insert_with(|| workspace.clone());
        Some(workspace)
    }

    /// Returns the workspace of a session, from this source or from the store.
    pub fn workspace(&mut self, session: &SessionId) -> Option<Workspace> {
        if let Some(known) = self.roots.get(session) {
            return known.clone();
        }
        let found = (self.find_folder)(session);
        let found = found.and_then(|(folder, key)| {
            let workspace = self.scope.alias(self.workspaces.of(&folder, None)?);
            Some(Workspace {
                key: key.unwrap_or(workspace.key),
                root: workspace.root,
            })
        });
        self.roots.insert(session.clone(), found.clone());
        found
    }

    /// Says whether a session may be captured. Where only some workspaces may be, a session of an
    /// unknown one is left out if it might be of the others.
    pub fn allows(&mut self, session: &SessionId) -> bool {
        if !self.scope.is_selective() {
            self.met_allowed = true;
            return true;
        }
        let is_allowed = match self.workspace(session) {
            Some(workspace) => self.scope.allows(&workspace),
            None => self.scope.allowed.is_empty() && !self.is_shared && !self.is_part,
        };
        self.met_allowed |= is_allowed;
        self.met_denied |= !is_allowed && self.roots.get(session).is_some_and(Option::is_some);
        is_allowed
    }

    /// Says whether nothing at all of the source may be kept, as far as it was read.
    pub fn denies_source(&self) -> bool {
        self.scope.is_selective()
            && !self.is_shared
            && !self.met_allowed
            && (self.met_denied || !self.is_resumed)
    }

    /// Returns a part of a shared log without the lines of workspaces that are not captured.
    pub fn shared_lines(&mut self, flavor: Flavor, text: &str) -> String {
        text.split_inclusive('\n')
            .map(|line| match self.allows_line(flavor, line) {
                true => line,
                false => NOT_KEPT,
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
        if let Some(workspace) = folder.and_then(|folder| self.workspaces.of(folder, None)) {
            return self.scope.allows(&self.scope.alias(workspace));
        }
        text(&["sessionId", "session_id", "id"])
            .is_some_and(|id| self.allows(&SessionId::of(flavor, id)))
    }
}
