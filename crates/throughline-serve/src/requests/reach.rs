//! Whose memory an asker may see.

use std::path::Path;

use memory::Workspace;
use store::Store;

use crate::{Settings, prompt};

/// The workspaces an asker may see. A folder's own and those the configuration relates to it, or, for
/// the user's own programs, all.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    here: Option<Workspace>,
    /// `None` for all.
    keys: Option<Vec<String>>,
}

impl Reach {
    /// Everything: the user asks.
    pub fn everything() -> Self {
        Self::default()
    }

    /// Nothing but what holds everywhere: nobody said where the asker works.
    pub fn nowhere() -> Self {
        Self {
            here: None,
            keys: Some(Vec::new()),
        }
    }

    /// What an agent that works in a folder may see.
    pub fn of_folder(store: &Store, settings: &Settings, folder: &Path) -> store::Result<Self> {
        let here = prompt::workspace_of(store, settings, folder)?;
        let related = &settings.related;
        let related = related.get(&here.key).or_else(|| related.get(&here.root));
        let mut keys = vec![here.key.clone()];
        keys.extend(related.into_iter().flatten().cloned());
        Ok(Self {
            here: Some(here),
            keys: Some(keys),
        })
    }

    /// Returns the workspace the asker works in.
    pub fn here(&self) -> Option<&Workspace> {
        self.here.as_ref()
    }

    /// Returns the workspaces by key, or `None` for all.
    pub fn keys(&self) -> Option<&[String]> {
        self.keys.as_deref()
    }

    /// Says whether what belongs to a workspace may be seen.
    pub fn sees(&self, workspace: Option<&str>) -> bool {
        match &self.keys {
            None => true,
            Some(keys) => workspace.is_some_and(|key| keys.iter().any(|known| known == key)),
        }
    }

    /// The same for a fact, which without a workspace holds everywhere.
    pub fn sees_fact(&self, workspace: Option<&str>) -> bool {
        workspace.is_none() || self.sees(workspace)
    }
}
