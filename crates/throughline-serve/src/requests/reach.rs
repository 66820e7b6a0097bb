//! Whose memory an asker may see.

use std::path::Path;

use memory::Workspace;
use store::Store;

use crate::{ServeSettings, prompt};

/// The workspaces an asker may see. A folder's own and those the configuration relates to it, or, for
/// the user's own programs, all.
#[derive(Clone, Debug, Default)]
pub struct AccessScope {
    workspace: Option<Workspace>,
    /// `None` for all.
    keys: Option<Vec<String>>,
}

impl AccessScope {
    /// Everything: the user asks.
    pub fn unrestricted() -> Self {
        Self::default()
    }

    /// Nothing but what holds everywhere: nobody said where the asker works.
    pub fn global_facts_only() -> Self {
        Self {
            workspace: None,
            keys: Some(Vec::new()),
        }
    }

    /// What an agent that works in a folder may see.
    pub fn for_folder(
        store: &Store,
        settings: &ServeSettings,
        folder: &Path,
    ) -> store::Result<Self> {
        let here = prompt::workspace_of(store, settings, folder)?;
        let related = &settings.related_workspaces;
        let related = related.get(&here.key).or_else(|| related.get(&here.root));
        let mut keys = vec![here.key.clone()];
        keys.extend(related.into_iter().flatten().cloned());
        Ok(Self {
            workspace: Some(here),
            keys: Some(keys),
        })
    }

    /// Returns the workspace the asker works in.
    pub fn workspace(&self) -> Option<&Workspace> {
        self.workspace.as_ref()
    }

    /// Returns the workspaces by key, or `None` for all.
    pub fn workspace_keys(&self) -> Option<&[String]> {
        self.keys.as_deref()
    }

    /// Says whether what belongs to a workspace may be seen.
    pub fn allows_workspace(&self, workspace: Option<&str>) -> bool {
        match &self.keys {
            None => true,
            Some(keys) => workspace.is_some_and(|key| keys.iter().any(|known| known == key)),
        }
    }

    /// The same for a fact, which without a workspace holds everywhere.
    pub fn allows_fact(&self, workspace: Option<&str>) -> bool {
        workspace.is_none() || self.allows_workspace(workspace)
    }
}
