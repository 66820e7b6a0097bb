//! The `[hook]` section, and what a hook reads of the rest.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Capture, Injection, Serve, Workspaces};
use crate::model::{ModelConfig, Provider};

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

/// What a daemon needs of the environment for the model that the configuration names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelVariables {
    /// A model is asked.
    pub is_used: bool,
    /// The variable with its key; empty where none is named.
    pub key: String,
    /// It is another program, which reads variables of its own.
    pub is_program: bool,
}

impl ModelVariables {
    /// Reads them from a configuration file. One that cannot be read names no model.
    pub fn load(config: &Path) -> Self {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct WithModel {
            model: ModelConfig,
        }
        let model = match super::read::<WithModel>(None, config) {
            Ok(config) => config.unwrap_or_default().model,
            Err(error) => {
                tracing::debug!(%error, "the daemon is started without a model's variables");
                return Self::default();
            }
        };
        if !model.enabled || model.provider == Provider::None {
            return Self::default();
        }
        Self {
            is_used: true,
            key: model.key_env,
            is_program: model.provider == Provider::Cli,
        }
    }
}
