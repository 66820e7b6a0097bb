//! What the user configured.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::models::ModelProvider;

/// What answers depend on besides the store.
#[derive(Clone, Debug, Default)]
pub struct ServeSettings {
    pub injection: InjectionSettings,
    /// A workspace's key or folder, and the keys of others whose memory may reach it.
    pub related_workspaces: BTreeMap<String, Vec<String>>,
    pub scope: capture::CaptureScope,
    pub mcp: McpSettings,
    /// Nothing is compacted without it.
    pub compaction: Option<distill::compact::CompactionLimits>,
    /// How summaries are written; not at all without it.
    pub summary: Option<distill::summary::SummarySettings>,
    /// Who lends the configured model; none is asked without.
    pub model_provider: Option<Arc<dyn ModelProvider>>,
}

/// What agents may do over MCP besides reading.
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

/// A way in which an agent may change memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum McpPermission {
    Remember,
    Pin,
    Forget,
}

/// What is put before agents.
#[derive(Clone, Debug)]
pub struct InjectionSettings {
    /// Switched off for this run, whatever the configuration says.
    pub disabled_by_environment: bool,
    pub enabled: bool,
    /// Workspaces in which nothing is injected, by a part of their address or folder.
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
