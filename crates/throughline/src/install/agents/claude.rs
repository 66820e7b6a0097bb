//! Claude Code: hooks and permissions in `settings.json`, the server in `.claude.json`.

use std::path::{Path, PathBuf};

use capture::AgentEnv;
use memory::Flavor;

use super::{
    EVENTS, Integration, allowed_tools, hook_groups, is_plugin_enabled, read_json_or_null,
    server_json,
};
use crate::install::document::{DesiredContent, DesiredEntry};
use crate::install::instructions::{CommandForm, skill_and_commands};
use crate::install::plan::InstallTarget;
use crate::install::program::Program;

pub(crate) const INTEGRATION: Integration = Integration {
    flavor: Flavor::Claude,
    program: "claude",
    folder,
    targets,
    obstacles,
    has_plugin,
    plugin_removal: "claude plugin uninstall throughline@throughline",
    ..Integration::DEFAULTS
};

const TIMEOUT_SECONDS: u32 = 5;

/// Settings files of administrators.
const MANAGED_SETTINGS: &[&str] = &[
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
    "C:\\Program Files\\ClaudeCode\\managed-settings.json",
];

fn folder(env: &AgentEnv) -> PathBuf {
    env.folder_or_home("CLAUDE_CONFIG_DIR", ".claude")
}

pub(crate) fn settings_path(env: &AgentEnv) -> PathBuf {
    folder(env).join("settings.json")
}

/// Returns the file of MCP servers, which is beside the folder unless the folder was moved.
fn servers_path(env: &AgentEnv) -> PathBuf {
    env.folder_variable("CLAUDE_CONFIG_DIR")
        .unwrap_or_else(|| env.home.clone())
        .join(".claude.json")
}

fn targets(env: &AgentEnv, program: &Program) -> Vec<InstallTarget> {
    let target =
        |path, wants| InstallTarget::new(Flavor::Claude, path, DesiredContent::Json(wants));
    // The command does not name the agent, because Grok CLI also runs these hooks. The payload
    // identifies it.
    let mut settings = hook_groups(EVENTS, &program.hook_command(""), TIMEOUT_SECONDS);
    settings.extend(allowed_tools());
    // Without `alwaysLoad` the model has to search for our tools before it can use them.
    let server = DesiredEntry::Server {
        list: "mcpServers",
        server: server_json(program, ",\"alwaysLoad\":true"),
    };
    let mut targets = vec![
        target(settings_path(env), settings),
        target(servers_path(env), vec![server]),
    ];
    targets.extend(skill_and_commands(
        Flavor::Claude,
        &folder(env).join("skills"),
        &folder(env).join("commands"),
        CommandForm::Markdown {
            arguments: "$ARGUMENTS",
        },
    ));
    targets
}

fn has_plugin(env: &AgentEnv) -> bool {
    is_plugin_enabled(&settings_path(env))
}

fn obstacles(env: &AgentEnv) -> Vec<String> {
    let managed = MANAGED_SETTINGS.iter().map(PathBuf::from);
    managed
        .chain([settings_path(env)])
        .flat_map(|path| blocking_settings(&path))
        .collect()
}

fn blocking_settings(path: &Path) -> Vec<String> {
    let settings = read_json_or_null(path);
    let is_set = |key: &&str| settings[*key].as_bool() == Some(true);
    ["disableAllHooks", "allowManagedHooksOnly"]
        .into_iter()
        .filter(is_set)
        .map(|key| format!("`{key}` in {} disables the hooks", path.display()))
        .collect()
}
