//! Copilot CLI: a file of hooks, the server in `mcp-config.json`.

use std::path::PathBuf;

use capture::AgentEnv;
use memory::Flavor;
use serde_json::Value;

use super::{Integration, is_plugin_enabled, versioned_hooks_and_servers};
use crate::install::document::DesiredEntry;
use crate::install::instructions::{CommandForm, skill_and_commands};
use crate::install::plan::InstallTarget;
use crate::install::program::Program;

pub(crate) const INTEGRATION: Integration = Integration {
    flavor: Flavor::Copilot,
    program: "copilot",
    folder,
    targets,
    has_plugin,
    plugin_removal: "copilot plugin uninstall throughline@throughline",
    ..Integration::DEFAULTS
};

const EVENTS: &[&str] = &[
    "sessionStart", "userPromptSubmitted", "postToolUse", "preCompact", "subagentStart",
    "subagentStop", "agentStop", "sessionEnd",
];
const TIMEOUT_SECONDS: u32 = 5;

fn folder(env: &AgentEnv) -> PathBuf {
    env.folder_or_home("COPILOT_HOME", ".copilot")
}

fn targets(env: &AgentEnv, program: &Program) -> Vec<InstallTarget> {
    let folder = folder(env);
    let mut targets = versioned_hooks_and_servers(
        Flavor::Copilot,
        [
            folder.join("hooks/throughline.json"),
            folder.join("mcp-config.json"),
        ],
        EVENTS.iter().map(|event| hook(program, event)),
        program,
        ",\"type\":\"local\",\"tools\":[\"*\"]",
    );
    // It has no commands of users, but each skill is a command.
    let skills = folder.join("skills");
    targets.extend(skill_and_commands(
        Flavor::Copilot,
        &skills,
        &skills,
        CommandForm::Skill,
    ));
    targets
}

fn has_plugin(env: &AgentEnv) -> bool {
    is_plugin_enabled(&folder(env).join("settings.json"))
}

/// Returns the hook of an event. Payloads do not contain the event, so the command names it.
fn hook(program: &Program, event: &'static str) -> DesiredEntry {
    let command = program.hook_command(&format!("--agent copilot --event {event}"));
    let quoted = Value::from(command.as_str());
    let windows = if command.starts_with(['"', '\'']) {
        Value::from(format!("& {command}"))
    } else {
        quoted.clone()
    };
    let group = format!(
        "{{\"type\":\"command\",\"bash\":{quoted},\"powershell\":{windows},\
         \"timeoutSec\":{TIMEOUT_SECONDS}}}"
    );
    DesiredEntry::Hook {
        event,
        command,
        group,
    }
}
