//! Kimi Code: hooks and permissions in `config.toml`, the server in `mcp.json`.

use std::path::PathBuf;

use capture::AgentEnv;
use memory::Flavor;

use super::{Integration, server_json};
use crate::install::document::{DesiredContent, DesiredEntry};
use crate::install::instructions::{CommandForm, skill_and_commands};
use crate::install::our_entries::{READ_ONLY_TOOLS, qualified_tool_name};
use crate::install::plan::InstallTarget;
use crate::install::program::Program;
use crate::install::toml_lists::TomlListEntry;

pub(crate) const INTEGRATION: Integration = Integration {
    flavor: Flavor::Kimi,
    program: "kimi",
    folder,
    targets,
    ..Integration::DEFAULTS
};

const EVENTS: &[&str] = &[
    "SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "PostCompact", "SubagentStop",
    "Stop", "SessionEnd",
];
const TIMEOUT_SECONDS: u32 = 5;

fn folder(env: &AgentEnv) -> PathBuf {
    env.folder_or_home("KIMI_CODE_HOME", ".kimi-code")
}

fn targets(env: &AgentEnv, program: &Program) -> Vec<InstallTarget> {
    let folder = folder(env);
    let command = toml_edit::Value::from(program.hook_command("--agent kimi"));
    let hooks = EVENTS.iter().map(|event| TomlListEntry {
        list: "hooks",
        lines: format!("event = \"{event}\"\ncommand = {command}\ntimeout = {TIMEOUT_SECONDS}"),
    });
    let permissions = READ_ONLY_TOOLS.iter().map(|tool| TomlListEntry {
        list: "permission.rules",
        lines: format!(
            "decision = \"allow\"\npattern = \"{}\"",
            qualified_tool_name(tool)
        ),
    });
    let server = DesiredEntry::Server {
        list: "mcpServers",
        server: server_json(program, ""),
    };
    let target = |path, desired| InstallTarget::new(Flavor::Kimi, path, desired);
    let mut targets = vec![
        target(
            folder.join("config.toml"),
            DesiredContent::TomlLists(hooks.chain(permissions).collect()),
        ),
        target(folder.join("mcp.json"), DesiredContent::Json(vec![server])),
    ];
    let skills = folder.join("skills");
    targets.extend(skill_and_commands(
        Flavor::Kimi,
        &skills,
        &skills,
        CommandForm::Skill,
    ));
    targets
}
