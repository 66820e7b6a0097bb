//! The part of the user's configuration that answers depend on.

use std::collections::BTreeMap;
use std::sync::Arc;

use memory::Workspace;
use serde::{Deserialize, Serialize};

use crate::models::ModelProvider;

/// The settings of every front end. The binary fills them from the configuration file and the
/// environment.
#[derive(Clone, Debug, Default)]
pub struct ServeSettings {
    pub injection: InjectionSettings,
    /// Maps a workspace's key or folder to the keys of other workspaces whose memory it may see.
    pub related_workspaces: BTreeMap<String, Vec<String>>,
    pub scope: capture::CaptureScope,
    pub mcp: McpSettings,
    /// `None` switches compaction off.
    pub compaction: Option<distill::compact::CompactionLimits>,
    /// `None` switches running summaries off.
    pub summary: Option<distill::summary::SummarySettings>,
    /// `None` where no model is configured.
    pub model_provider: Option<Arc<dyn ModelProvider>>,
}

impl ServeSettings {
    /// Returns the keys of the workspaces whose memory a workspace may see besides its own.
    pub(crate) fn related_to(&self, workspace: &Workspace) -> &[String] {
        let related = self.related_workspaces.get(&workspace.key);
        let related = related.or_else(|| self.related_workspaces.get(&workspace.root));
        related.map_or(&[], Vec::as_slice)
    }
}

/// What agents may write over MCP. Reading is always allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpSettings {
    pub write: Vec<McpPermission>,
}

impl Default for McpSettings {
    fn default() -> Self {
        Self {
            write: vec![McpPermission::Remember],
        }
    }
}

/// One kind of write that the user can allow an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum McpPermission {
    Remember,
    Pin,
    Forget,
}

/// Whether and how memory is injected into agents' prompts.
#[derive(Clone, Debug)]
pub struct InjectionSettings {
    /// Set by the environment for this run; wins over the configuration.
    pub disabled_by_environment: bool,
    pub enabled: bool,
    /// Workspaces without injection, each given as a part of its key or folder.
    pub disabled_workspaces: Vec<String>,
    pub recall: recall::RecallConfig,
}

impl Default for InjectionSettings {
    fn default() -> Self {
        Self {
            disabled_by_environment: false,
            enabled: true,
            disabled_workspaces: Vec::new(),
            recall: recall::RecallConfig::default(),
        }
    }
}
