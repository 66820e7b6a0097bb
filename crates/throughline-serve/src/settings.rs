//! The part of the user's configuration that answers depend on.

use std::collections::BTreeMap;
use std::sync::Arc;

use distill::compact::CompactionLimits;
use memory::{Tokens, Workspace};
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
    pub compaction: CompactionSettings,
    /// `None` switches running summaries off.
    pub summary: Option<distill::summary::SummarySettings>,
    /// The model may state facts.
    pub extract_facts_with_model: bool,
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

/// How conversations are compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionSettings {
    pub limits: CompactionLimits,
    /// Whether the running summary is used. A full compaction is always possible.
    pub uses_summary: bool,
    /// The size from which a conversation is due for an automatic compaction; `None` means never.
    pub auto_tokens: Option<Tokens>,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self {
            limits: CompactionLimits::default(),
            uses_summary: true,
            auto_tokens: Some(AUTO_TOKENS),
        }
    }
}

/// Four fifths of a context window of 200,000 tokens.
const AUTO_TOKENS: Tokens = Tokens(160_000);

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
    /// Tell the user what was injected, in agents that can show a message.
    pub notices: bool,
    /// The keys of workspaces whose prompts are given texts that may contain a secret. They add to
    /// `recall.include_sensitive`, which is for all workspaces.
    pub sensitive_workspaces: Vec<String>,
    /// How memory is recalled, before the workspace is known; see [`Self::recall_in`].
    pub recall: recall::RecallConfig,
}

impl InjectionSettings {
    /// Returns how memory is recalled for the prompts of a workspace.
    pub fn recall_in(&self, workspace: Option<&Workspace>) -> recall::RecallConfig {
        let is_listed =
            workspace.is_some_and(|workspace| self.sensitive_workspaces.contains(&workspace.key));
        recall::RecallConfig {
            include_sensitive: self.recall.include_sensitive || is_listed,
            ..self.recall
        }
    }
}

impl Default for InjectionSettings {
    fn default() -> Self {
        Self {
            disabled_by_environment: false,
            enabled: true,
            disabled_workspaces: Vec::new(),
            notices: true,
            sensitive_workspaces: Vec::new(),
            recall: recall::RecallConfig::default(),
        }
    }
}
