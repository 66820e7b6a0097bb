//! The `[hook]` section, and the parts of the configuration that a hook reads.

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

/// The sections that the answer to a hook depends on. Parsing the others, above all the price list,
/// would take longer than answering.
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
    /// Loads the sections. A file that was asked for must exist; the default file need not.
    pub(crate) fn load(asked: Option<&Path>, default_path: &Path) -> anyhow::Result<Self> {
        Ok(super::read_toml(asked, default_path)?.unwrap_or_default())
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

/// Which environment variables a daemon needs for the configured model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ModelEnvironment {
    /// A model is configured and enabled.
    pub(crate) is_used: bool,
    /// The variable that holds the API key; empty if none is configured.
    pub(crate) key_variable: String,
    /// The model is a program, which reads variables of its own.
    pub(crate) is_program: bool,
}

impl ModelEnvironment {
    /// Loads them from a configuration file. A file that cannot be parsed configures no model.
    pub(crate) fn load(config: &Path) -> Self {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct WithModel {
            model: ModelConfig,
        }
        let model = match super::read_toml::<WithModel>(None, config) {
            Ok(config) => config.unwrap_or_default().model,
            Err(error) => {
                tracing::debug!(%error, "cannot read [model]; its variables are not passed on");
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
