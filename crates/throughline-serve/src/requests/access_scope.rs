//! Which workspaces a client may see.

use std::path::Path;

use memory::Workspace;
use store::Store;

use crate::{ServeSettings, prompt};

/// The workspaces that a client may see: that of its folder and those that the configuration
/// relates to it, or all of them for the user's own programs.
#[derive(Clone, Debug, Default)]
pub struct AccessScope {
    workspace: Option<Workspace>,
    /// `None` for no restriction.
    keys: Option<Vec<String>>,
}

impl AccessScope {
    /// No restriction, for requests of the user.
    pub fn unrestricted() -> Self {
        Self::default()
    }

    /// Only facts without a workspace, for a client whose folder is unknown.
    pub fn global_facts_only() -> Self {
        Self {
            workspace: None,
            keys: Some(Vec::new()),
        }
    }

    /// One workspace, without those that the configuration relates to it.
    pub fn of_workspace(workspace: Workspace) -> Self {
        Self {
            keys: Some(vec![workspace.key.clone()]),
            workspace: Some(workspace),
        }
    }

    /// The scope of an agent that works in a folder.
    pub fn for_folder(
        store: &Store,
        settings: &ServeSettings,
        folder: &Path,
    ) -> store::Result<Self> {
        let workspace = prompt::workspace_of(store, settings, folder)?;
        let mut keys = vec![workspace.key.clone()];
        keys.extend_from_slice(settings.related_to(&workspace));
        Ok(Self {
            workspace: Some(workspace),
            keys: Some(keys),
        })
    }

    /// Returns the workspace that the client works in.
    pub fn workspace(&self) -> Option<&Workspace> {
        self.workspace.as_ref()
    }

    /// Returns the workspace keys, or `None` for no restriction.
    pub fn workspace_keys(&self) -> Option<&[String]> {
        self.keys.as_deref()
    }

    /// Returns whether items of a workspace may be seen.
    pub fn allows_workspace(&self, workspace: Option<&str>) -> bool {
        match &self.keys {
            None => true,
            Some(keys) => workspace.is_some_and(|key| keys.iter().any(|known| known == key)),
        }
    }

    /// Returns whether a fact may be seen. A fact without a workspace applies everywhere.
    pub fn allows_fact(&self, workspace: Option<&str>) -> bool {
        workspace.is_none() || self.allows_workspace(workspace)
    }
}
