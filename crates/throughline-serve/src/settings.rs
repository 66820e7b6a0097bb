//! What the user configured.

use std::collections::BTreeMap;

/// What answers depend on besides the store.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub injection: Injection,
    /// A workspace's key or folder, and the keys of others whose memory may reach it.
    pub related: BTreeMap<String, Vec<String>>,
    pub scope: capture::Scope,
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
