//! What the user configured.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::models::Models;

/// What answers depend on besides the store.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub injection: Injection,
    /// A workspace's key or folder, and the keys of others whose memory may reach it.
    pub related: BTreeMap<String, Vec<String>>,
    pub scope: capture::Scope,
    pub mcp: Mcp,
    /// Nothing is compacted without it.
    pub compaction: Option<distill::compact::Limits>,
    /// How summaries are written; not at all without it.
    pub summary: Option<distill::renew::Settings>,
    /// Who lends the configured model; none is asked without.
    pub models: Option<Arc<dyn Models>>,
}

/// What agents may do over MCP besides reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mcp {
    pub write: Vec<Write>,
}

impl Default for Mcp {
    fn default() -> Self {
        Self {
            write: vec![Write::Remember],
        }
    }
}

/// A way in which an agent may change memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Write {
    Remember,
    Pin,
    Forget,
}

/// What is put before agents.
#[derive(Clone, Debug)]
pub struct Injection {
    /// Switched off for this run, whatever the configuration says.
    pub off_now: bool,
    pub enabled: bool,
    /// Workspaces in which nothing is injected, by a part of their address or folder.
    pub off_in: Vec<String>,
    pub recall: recall::Config,
}

impl Default for Injection {
    fn default() -> Self {
        Self {
            off_now: false,
            enabled: true,
            off_in: Vec::new(),
            recall: recall::Config::default(),
        }
    }
}
