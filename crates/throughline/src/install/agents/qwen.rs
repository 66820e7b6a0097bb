//! Qwen Code: hooks, permissions and server in `settings.json`, in the format of Claude Code.

use std::path::PathBuf;

use capture::AgentEnv;
use memory::Flavor;

use super::{Integration, allowed_tools, hook_groups, read_json_or_null, server_json};
use crate::install::document::{DesiredContent, DesiredEntry};
use crate::install::instructions::{CommandForm, skill_and_commands};
use crate::install::plan::InstallTarget;
use crate::install::program::Program;

pub(crate) const INTEGRATION: Integration = Integration {
    flavor: Flavor::Qwen,
    program: "qwen",
    folder,
    targets,
    obstacles,
    ..Integration::DEFAULTS
};

const EVENTS: &[&str] = &[
    "SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "SubagentStart",
    "SubagentStop", "Stop", "SessionEnd",
];
const TIMEOUT_MS: u32 = 5000;

fn folder(env: &AgentEnv) -> PathBuf {
    env.folder_or_home("QWEN_HOME", ".qwen")
}

fn targets(env: &AgentEnv, program: &Program) -> Vec<InstallTarget> {
    let folder = folder(env);
    let command = program.hook_command("--agent qwen");
    let mut settings = hook_groups(EVENTS, &command, TIMEOUT_MS);
    settings.extend(allowed_tools());
    settings.push(DesiredEntry::Server {
        list: "mcpServers",
        server: server_json(program, ""),
    });
    let mut targets = vec![InstallTarget::new(
        Flavor::Qwen,
        folder.join("settings.json"),
        DesiredContent::Json(settings),
    )];
    targets.extend(skill_and_commands(
        Flavor::Qwen,
        &folder.join("skills"),
        &folder.join("commands"),
        CommandForm::Markdown {
            arguments: "{{args}}",
        },
    ));
    targets
}

fn obstacles(env: &AgentEnv) -> Vec<String> {
    let path = folder(env).join("settings.json");
    let settings = read_json_or_null(&path);
    let is_disabled = settings["disableAllHooks"].as_bool() == Some(true);
    let obstacle =
        is_disabled.then(|| format!("`disableAllHooks` in {} disables the hooks", path.display()));
    obstacle.into_iter().collect()
}
