//! Cursor: hooks in `hooks.json`, the server in `mcp.json`, as documented.

use std::path::PathBuf;

use capture::AgentEnv;
use memory::Flavor;
use serde_json::Value;

use super::{Integration, versioned_hooks_and_servers};
use crate::install::document::DesiredEntry;
use crate::install::plan::InstallTarget;
use crate::install::program::Program;

pub(crate) const INTEGRATION: Integration = Integration {
    flavor: Flavor::Cursor,
    program: "cursor",
    folder,
    targets,
    ..Integration::DEFAULTS
};

const EVENTS: &[&str] = &[
    "sessionStart", "beforeSubmitPrompt", "postToolUse", "preCompact", "stop", "sessionEnd",
];

fn folder(env: &AgentEnv) -> PathBuf {
    env.home.join(".cursor")
}

fn targets(env: &AgentEnv, program: &Program) -> Vec<InstallTarget> {
    let command = program.hook_command("--agent cursor");
    let hook = |event: &&'static str| DesiredEntry::Hook {
        event,
        command: command.clone(),
        group: format!("{{\"command\":{}}}", Value::from(command.as_str())),
    };
    let folder = folder(env);
    versioned_hooks_and_servers(
        Flavor::Cursor,
        [folder.join("hooks.json"), folder.join("mcp.json")],
        EVENTS.iter().map(hook),
        program,
        "",
    )
}
