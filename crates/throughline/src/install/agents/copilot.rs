//! Copilot CLI: a file of hooks, the server in `mcp-config.json`.

use std::path::PathBuf;

use capture::AgentEnv;
use memory::Flavor;
use serde_json::Value;

use super::{Integration, agent_home, versioned_hooks_and_servers};
use crate::install::document::DesiredEntry;
use crate::install::plan::InstallTarget;
use crate::install::program::Program;

pub(crate) const INTEGRATION: Integration = Integration {
    flavor: Flavor::Copilot,
    program: "copilot",
    folder,
    targets,
    ..Integration::DEFAULTS
};

const EVENTS: &[&str] = &[
    "sessionStart", "userPromptSubmitted", "postToolUse", "preCompact", "subagentStart",
    "subagentStop", "agentStop", "sessionEnd",
];
const TIMEOUT_SECONDS: u32 = 5;

fn folder(places: &AgentEnv) -> PathBuf {
    agent_home(places, "COPILOT_HOME", ".copilot")
}

fn targets(places: &AgentEnv, program: &Program) -> Vec<InstallTarget> {
    let folder = folder(places);
    versioned_hooks_and_servers(
        Flavor::Copilot,
        [
            folder.join("hooks/throughline.json"),
            folder.join("mcp-config.json"),
        ],
        EVENTS.iter().map(|event| hook(program, event)),
        program,
        ",\"type\":\"local\",\"tools\":[\"*\"]",
    )
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
