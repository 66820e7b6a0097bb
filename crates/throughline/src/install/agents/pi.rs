//! Pi: an extension of one file. Pi has no MCP; its skill names the commands of the command line.

use std::path::PathBuf;

use capture::AgentEnv;
use memory::Flavor;
use serde_json::Value;

use super::Integration;
use crate::install::document::DesiredContent;
use crate::install::instructions::{CommandForm, skill_and_commands};
use crate::install::plan::InstallTarget;
use crate::install::program::Program;

pub(crate) const INTEGRATION: Integration = Integration {
    flavor: Flavor::Pi,
    program: "pi",
    folder,
    targets,
    ..Integration::DEFAULTS
};

/// The extension, which passes events to `throughline hook`.
pub(crate) const EXTENSION_SCRIPT: &str = include_str!("../../../../../plugin/pi/throughline.ts");

fn folder(env: &AgentEnv) -> PathBuf {
    env.folder_or_home("PI_CODING_AGENT_DIR", ".pi/agent")
}

fn targets(env: &AgentEnv, program: &Program) -> Vec<InstallTarget> {
    let folder = folder(env);
    let program = Value::from(program.command.as_str());
    // If the program is not on PATH, its path replaces the name in the script.
    let script = EXTENSION_SCRIPT.replace("\"throughline\"; // PROGRAM", &format!("{program};"));
    let mut targets = vec![InstallTarget::new(
        Flavor::Pi,
        folder.join("extensions/throughline.ts"),
        DesiredContent::WholeFile(script),
    )];
    targets.extend(skill_and_commands(
        Flavor::Pi,
        &folder.join("skills"),
        &folder.join("prompts"),
        CommandForm::Markdown {
            arguments: "$ARGUMENTS",
        },
    ));
    targets
}
