//! opencode: a plugin of one file, the server in `opencode.json`.

use std::path::PathBuf;

use capture::AgentEnv;
use memory::Flavor;
use serde_json::Value;

use super::Integration;
use crate::install::document::{DesiredContent, DesiredEntry};
use crate::install::plan::InstallTarget;
use crate::install::program::Program;

pub(crate) const INTEGRATION: Integration = Integration {
    flavor: Flavor::Opencode,
    program: "opencode",
    folder,
    targets,
    obstacles: |_| Vec::new(),
    has_plugin: |_| false,
    advice: None,
};

/// The plugin, which hands what happens to `throughline hook`.
pub(crate) const PLUGIN_SCRIPT: &str =
    include_str!("../../../../../plugin/opencode/throughline.js");

fn folder(places: &AgentEnv) -> PathBuf {
    places
        .folder_variable("XDG_CONFIG_HOME")
        .unwrap_or_else(|| places.home.join(".config"))
        .join("opencode")
}

fn targets(places: &AgentEnv, program: &Program) -> Vec<InstallTarget> {
    let program = Value::from(program.command.as_str());
    let server = DesiredEntry::Server {
        list: "mcp",
        server: format!("{{\"type\":\"local\",\"command\":[{program},\"mcp\"],\"enabled\":true}}"),
    };
    let target = |path, wants| InstallTarget {
        agent: Flavor::Opencode,
        path,
        desired: wants,
    };
    // A program that is not on PATH is named where the plugin looks for its name.
    let shim = PLUGIN_SCRIPT.replace("\"throughline\"; // PROGRAM", &format!("{program};"));
    vec![
        target(
            folder(places).join("plugin/throughline.js"),
            DesiredContent::WholeFile(shim),
        ),
        target(config_path(places), DesiredContent::Json(vec![server])),
    ]
}

/// It reads either; what is there is kept to.
fn config_path(places: &AgentEnv) -> PathBuf {
    let with_comments = folder(places).join("opencode.jsonc");
    if with_comments.exists() {
        with_comments
    } else {
        folder(places).join("opencode.json")
    }
}
