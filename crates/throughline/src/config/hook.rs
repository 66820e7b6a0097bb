//! The `[hook]` section, and what a hook reads of the rest.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Capture, Injection, Serve, Workspaces};

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hook {
    pub deadline_ms: u64,
}

impl Default for Hook {
    fn default() -> Self {
        Self { deadline_ms: 50 }
    }
}

/// As much of the configuration as an answer depends on. The rest, such as the list of prices, takes longer
/// to read than an answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Answering {
    capture: Capture,
    #[serde(alias = "workspace")]
    workspaces: Workspaces,
    injection: Injection,
    pub hook: Hook,
    pub serve: Serve,
}

impl Answering {
    /// Reads a file. One that was asked for must be there; the usual one need not.
    pub fn load(asked: Option<&Path>, usual: &Path) -> anyhow::Result<Self> {
        Ok(super::read(asked, usual)?.unwrap_or_default())
    }

    pub fn settings(&self, injection_off: bool) -> serve::Settings {
        serve::Settings {
            injection: self.injection.settings(injection_off),
            related: self.workspaces.related.clone(),
            scope: self.capture.scope(&self.workspaces),
            ..serve::Settings::default()
        }
    }
}
