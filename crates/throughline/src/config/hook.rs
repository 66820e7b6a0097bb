//! The `[hook]` section, and what a hook reads of the rest.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{CaptureConfig, InjectionConfig, ServeConfig, WorkspacesConfig};
use crate::model::{ModelConfig, Provider};

#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct HookConfig {
    pub(crate) deadline_ms: u64,
}

impl Default for HookConfig {
    fn default() -> Self {
        Self { deadline_ms: 50 }
    }
}

/// As much of the configuration as an answer depends on. The rest, such as the list of prices, takes longer
/// to read than an answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct HookAnswerConfig {
    capture: CaptureConfig,
    #[serde(alias = "workspace")]
    workspaces: WorkspacesConfig,
    injection: InjectionConfig,
    pub(crate) hook: HookConfig,
    pub(crate) serve: ServeConfig,
}

impl HookAnswerConfig {
    /// Reads a file. One that was asked for must be there; the usual one need not.
    pub(crate) fn load(asked: Option<&Path>, usual: &Path) -> anyhow::Result<Self> {
        Ok(super::read_toml(asked, usual)?.unwrap_or_default())
    }

    pub(crate) fn settings(&self, injection_off: bool) -> serve::ServeSettings {
        serve::ServeSettings {
            injection: self.injection.settings(injection_off),
            related_workspaces: self.workspaces.related.clone(),
            scope: self.capture.scope(&self.workspaces),
            ..serve::ServeSettings::default()
        }
    }
}

/// What a daemon needs of the environment for the model that the configuration names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ModelEnvironment {
    /// A model is asked.
    pub(crate) is_used: bool,
    /// The variable with its key; empty where none is named.
    pub(crate) key_variable: String,
    /// It is another program, which reads variables of its own.
    pub(crate) is_program: bool,
}

impl ModelEnvironment {
    /// Reads them from a configuration file. One that cannot be read names no model.
    pub(crate) fn load(config: &Path) -> Self {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct WithModel {
            model: ModelConfig,
        }
        let model = match super::read_toml::<WithModel>(None, config) {
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
            key_variable: model.key_env,
            is_program: model.provider == Provider::Cli,
        }
    }
}
