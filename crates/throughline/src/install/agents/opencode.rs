//! opencode: a plugin of one file, the server in `opencode.json`.

use std::path::PathBuf;

use capture::AgentEnv;
use memory::Flavor;
use serde_json::Value;

use super::Integration;
use crate::install::document::{DesiredContent, DesiredEntry};
use crate::install::instructions::{CommandForm, skill_and_commands};
use crate::install::plan::InstallTarget;
use crate::install::program::Program;

pub(crate) const INTEGRATION: Integration = Integration {
    flavor: Flavor::Opencode,
    program: "opencode",
    folder,
    targets,
    ..Integration::DEFAULTS
};

/// The plugin, which passes events to `throughline hook`.
pub(crate) const PLUGIN_SCRIPT: &str =
    include_str!("../../../../../plugin/opencode/throughline.js");

fn folder(env: &AgentEnv) -> PathBuf {
    env.folder_variable("XDG_CONFIG_HOME")
        .unwrap_or_else(|| env.home.join(".config"))
        .join("opencode")
}

fn targets(env: &AgentEnv, program: &Program) -> Vec<InstallTarget> {
    let program = Value::from(program.command.as_str());
    let server = DesiredEntry::Server {
        list: "mcp",
        server: format!("{{\"type\":\"local\",\"command\":[{program},\"mcp\"],\"enabled\":true}}"),
    };
    let target = |path, wants| InstallTarget::new(Flavor::Opencode, path, wants);
    // If the program is not on PATH, its path replaces the name in the script.
    let script = PLUGIN_SCRIPT.replace("\"throughline\"; // PROGRAM", &format!("{program};"));
    let folder = folder(env);
    let mut targets = vec![
        target(
            folder.join("plugin/throughline.js"),
            DesiredContent::WholeFile(script),
        ),
        target(config_path(env), DesiredContent::Json(vec![server])),
    ];
    targets.extend(skill_and_commands(
        Flavor::Opencode,
        &folder.join("skills"),
        &folder.join("commands"),
        CommandForm::Markdown {
            arguments: "$ARGUMENTS",
        },
    ));
    targets
}

/// Returns the configuration file. opencode reads both names, so an existing file is used.
fn config_path(env: &AgentEnv) -> PathBuf {
    let with_comments = folder(env).join("opencode.jsonc");
    if with_comments.exists() {
        with_comments
    } else {
        folder(env).join("opencode.json")
    }
}
