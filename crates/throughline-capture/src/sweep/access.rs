//! Decides which sessions of a source may be captured, by the workspaces that the configuration
//! allows.

use std::collections::HashMap;

use memory::{Flavor, SessionId, SessionPatch, Workspace};
use serde_json::Value;
use store::{Cursor, UNREAD_HEAD};

use crate::git::WorkspaceResolver;
use crate::scope::CaptureScope;
use crate::{Source, SourceFormat};

/// Looks up the folder of a session and, for one that is stored, the key of its workspace.
pub(super) type FindFolder<'a> = Box<dyn Fn(&SessionId) -> Option<(String, Option<String>)> + 'a>;

/// Replaces a line of a shared log that belongs to a workspace we must not capture.
const OMITTED_LINE: &str = "{\"type\":\"throughline-not-kept\"}\n";

/// The workspaces of the sessions in one source.
pub(super) struct SourceAccess<'a> {
    pub(super) scope: &'a CaptureScope,
    resolver: &'a mut WorkspaceResolver,
    find_folder: FindFolder<'a>,
    /// The source holds prompts of every session, so each line is judged on its own.
    pub(super) is_shared: bool,
    /// Another file names the session's folder, so an unknown workspace may be a denied one.
    folder_is_elsewhere: bool,
    /// An earlier sweep captured part of the source.
    is_resumed: bool,
    workspaces: HashMap<SessionId, Option<Workspace>>,
    /// A session of an allowed workspace was met in the source.
    saw_allowed: bool,
    /// A session of a denied workspace was met in the source.
    pub(super) saw_denied: bool,
}

impl<'a> SourceAccess<'a> {
    pub(super) fn new(
        scope: &'a CaptureScope,
        resolver: &'a mut WorkspaceResolver,
        find_folder: FindFolder<'a>,
        (source, is_shared): (&Source, bool),
        cursor: Option<&Cursor>,
    ) -> Self {
        let is_resumed =
            cursor.is_some_and(|cursor| cursor.head != UNREAD_HEAD && cursor.offset > 0);
        Self {
            scope,
            resolver,
            find_folder,
            is_shared,
            folder_is_elsewhere: source.format == SourceFormat::Document,
            is_resumed,
            workspaces: HashMap::new(),
            saw_allowed: false,
            saw_denied: false,
        }
    }

    /// Records where a session works, and returns its workspace if the patch names one. The first
    /// workspace that a source names for a session is the one that counts.
    pub(super) fn record_workspace(&mut self, patch: &SessionPatch) -> Option<Workspace> {
        let cwd = patch.cwd.as_deref()?;
        let workspace = self.resolver.resolve(cwd, patch.remote.as_deref())?;
        let workspace = self.scope.resolve_alias(workspace);
        let known = self.workspaces.entry(patch.id.clone()).or_default();
        known.get_or_insert_with(|| workspace.clone());
        Some(workspace)
    }

    /// Returns the workspace of a session, from this source or from the store.
    pub(super) fn workspace_of_session(&mut self, session: &SessionId) -> Option<Workspace> {
        if let Some(known) = self.workspaces.get(session) {
            return known.clone();
        }
        let found = (self.find_folder)(session).and_then(|(folder, key)| {
            let workspace = self.resolver.resolve(&folder, None)?;
            let workspace = self.scope.resolve_alias(workspace);
            Some(Workspace {
                key: key.unwrap_or(workspace.key),
                root: workspace.root,
            })
        });
        self.workspaces.insert(session.clone(), found.clone());
        found
    }

    /// Says whether a session may be captured. If the configuration allows only some workspaces, a
    /// session of an unknown workspace is left out when it might belong to one of the others.
    pub(super) fn allows(&mut self, session: &SessionId) -> bool {
        if !self.scope.is_selective() {
            self.saw_allowed = true;
            return true;
        }
        let is_allowed = match self.workspace_of_session(session) {
            Some(workspace) => self.scope.allows(&workspace),
            None => self.scope.allowed.is_empty() && !self.is_shared && !self.folder_is_elsewhere,
        };
        self.saw_allowed |= is_allowed;
        self.saw_denied |= !is_allowed && self.workspaces.get(session).is_some_and(Option::is_some);
        is_allowed
    }

    /// Says whether nothing of the source may be kept, judging by what was read of it so far.
    pub(super) fn denies_source(&self) -> bool {
        self.scope.is_selective()
            && !self.is_shared
            && !self.saw_allowed
            && (self.saw_denied || !self.is_resumed)
    }

    /// Returns a piece of a shared log without the lines of workspaces that are not captured.
    pub(super) fn filter_shared_lines(&mut self, flavor: Flavor, text: &str) -> String {
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
