//! Access to the user's configuration file, which only the program reads and writes.

use std::fmt::Debug;
use std::path::Path;

use serde::Serialize;
use utoipa::ToSchema;

use crate::InjectionSettings;

/// A setting in effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ConfigSetting {
    /// Its section and name, such as `injection.enabled`
    pub key: String,
    /// Its value, as TOML
    pub value: String,
    /// The line of the file that sets it; none if it has its default
    pub line: Option<usize>,
}

/// A switch that the page offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigSwitch {
    /// Whether prompts are given anything at all.
    Injection(bool),
    /// Whether the prompts of a workspace are given anything.
    WorkspaceInjection { workspace: String, on: bool },
    /// Whether texts that may contain a secret are given to the prompts of all workspaces.
    Sensitive(bool),
    /// Whether they are given to the prompts of one workspace.
    WorkspaceSensitive { workspace: String, on: bool },
}

/// A change of the file that has not been made yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigEdit {
    /// The whole text now; `None` if the file does not exist.
    pub before: Option<String>,
    /// The whole text afterwards.
    pub after: String,
    /// The lines that change.
    pub diff: String,
}

/// The configuration file of the user. Errors are messages for the user.
pub trait ConfigFile: Debug + Send + Sync {
    fn path(&self) -> &Path;

    /// Returns every setting in effect.
    fn settings(&self) -> Result<Vec<ConfigSetting>, String>;

    /// Plans to set a switch. Everything else in the file stays as it is, comments too. `None` if
    /// the switch is set like that already.
    fn plan(&self, switch: &ConfigSwitch) -> Result<Option<ConfigEdit>, String>;

    /// Writes a planned change, unless the file has changed since. Returns the new settings.
    fn apply(&self, edit: &ConfigEdit) -> Result<InjectionSettings, String>;
}
