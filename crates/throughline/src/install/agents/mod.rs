//! The agents into which Throughline can be installed. Each module lists the files of one agent and
//! the entries that they need.

mod claude;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod grok;
mod kimi;
mod opencode;
mod pi;
mod qwen;

use std::path::{Path, PathBuf};

use capture::AgentEnv;
use memory::Flavor;
use serde_json::Value;

use super::document::{DesiredContent, DesiredEntry};
use super::json::scan;
use super::our_entries::{READ_ONLY_TOOLS, SERVER, qualified_tool_name};
use super::plan::InstallTarget;
use super::program::{Program, find_on_path};

pub(crate) use self::opencode::PLUGIN_SCRIPT;
pub(crate) use self::pi::EXTENSION_SCRIPT;

/// An agent with support for hooks.
#[derive(Debug)]
pub(crate) struct Integration {
    pub(crate) flavor: Flavor,
    /// The name of its program.
    program: &'static str,
    /// Its configuration folder.
    folder: fn(&AgentEnv) -> PathBuf,
    targets: fn(&AgentEnv, &Program) -> Vec<InstallTarget>,
    /// Settings of the agent that keep our entries from working.
    obstacles: fn(&AgentEnv) -> Vec<String>,
    /// Returns whether our plugin is enabled, which makes an installation unnecessary.
    has_plugin: fn(&AgentEnv) -> bool,
    /// The command that removes our plugin.
    pub(crate) plugin_removal: &'static str,
    /// What the user has to do after the installation.
    pub(crate) advice: Option<&'static str>,
}

/// All agents. Claude Code comes before Grok CLI, which also runs the hooks of Claude Code.
pub(crate) const INTEGRATIONS: &[Integration] = &[
    claude::INTEGRATION,
    codex::INTEGRATION,
    gemini::INTEGRATION,
    grok::INTEGRATION,
    copilot::INTEGRATION,
    opencode::INTEGRATION,
    qwen::INTEGRATION,
    kimi::INTEGRATION,
    pi::INTEGRATION,
    cursor::INTEGRATION,
];

impl Integration {
    /// The defaults of the optional parts, for struct update syntax.
    const DEFAULTS: Self = Self {
        flavor: Flavor::Claude,
        program: "",
        folder: |_| PathBuf::new(),
        targets: |_, _| Vec::new(),
        obstacles: |_| Vec::new(),
        has_plugin: |_| false,
        plugin_removal: "",
        advice: None,
    };

    pub(crate) fn for_flavor(flavor: Flavor) -> Option<&'static Self> {
        INTEGRATIONS.iter().find(|it| it.flavor == flavor)
    }

    /// Returns whether the agent is on this machine: its folder exists or its program is on PATH.
    pub(crate) fn is_detected(&self, env: &AgentEnv, path: &[PathBuf]) -> bool {
        (self.folder)(env).is_dir() || find_on_path(self.program, path).is_some()
    }

    pub(crate) fn targets(&self, env: &AgentEnv, program: &Program) -> Vec<InstallTarget> {
        (self.targets)(env, program)
    }

    pub(crate) fn has_plugin(&self, env: &AgentEnv) -> bool {
        (self.has_plugin)(env)
    }

    pub(crate) fn obstacles(&self, env: &AgentEnv) -> Vec<String> {
        (self.obstacles)(env)
    }
}

/// The settings of Claude Code, whose hooks Grok CLI also runs.
pub(crate) fn claude_settings_path(env: &AgentEnv) -> PathBuf {
    claude::settings_path(env)
}

/// The file of Grok CLI's own hooks.
pub(crate) fn grok_hooks_path(env: &AgentEnv) -> PathBuf {
    grok::hooks_path(env)
}

/// The events of Claude Code that other agents adopted, with the same JSON.
const EVENTS: &[&str] = &[
    "SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "PostCompact",
    "SubagentStart", "SubagentStop", "Stop", "SessionEnd",
];

/// A file of hooks in Claude Code's form, and the server in a TOML configuration.
fn hooks_and_toml(
    agent: Flavor,
    [hooks, config]: [PathBuf; 2],
    program: &Program,
    timeout: u32,
) -> Vec<InstallTarget> {
    let command = program.hook_command(&format!("--agent {}", agent.name()));
    let events = hook_groups(EVENTS, &command, timeout);
    let program = program.command.clone();
    vec![
        InstallTarget::new(agent, hooks, DesiredContent::Json(events)),
        InstallTarget::new(agent, config, DesiredContent::Toml { program }),
    ]
}

/// The targets of agents with a versioned file of hooks and a list of MCP servers.
fn versioned_hooks_and_servers(
    agent: Flavor,
    [hooks, servers]: [PathBuf; 2],
    wanted: impl Iterator<Item = DesiredEntry>,
    program: &Program,
    more: &str,
) -> Vec<InstallTarget> {
    let version = DesiredEntry::Member {
        key: "version",
        value: "1",
    };
    let server = DesiredEntry::Server {
        list: "mcpServers",
        server: server_json(program, more),
    };
    let target = |path, wants| InstallTarget::new(agent, path, DesiredContent::Json(wants));
    vec![
        target(hooks, [version].into_iter().chain(wanted).collect()),
        target(servers, vec![server]),
    ]
}

/// Hooks in the format of Claude Code, which other agents adopted; the unit of the timeout depends
/// on the agent.
fn hook_groups(events: &[&'static str], command: &str, timeout: u32) -> Vec<DesiredEntry> {
    let quoted = Value::from(command);
    let group = format!(
        "{{\"hooks\":[{{\"type\":\"command\",\"command\":{quoted},\"timeout\":{timeout}}}]}}"
    );
    let hook = |event: &&'static str| DesiredEntry::Hook {
        event,
        command: command.to_owned(),
        group: group.clone(),
    };
    events.iter().map(hook).collect()
}

/// The JSON of our MCP server in the format of most agents; `more` holds additional members.
fn server_json(program: &Program, more: &str) -> String {
    let program = Value::from(program.command.as_str());
    format!("{{\"command\":{program},\"args\":[\"mcp\"]{more}}}")
}

/// Permissions to use our tools that only read without a question.
fn allowed_tools() -> impl Iterator<Item = DesiredEntry> {
    READ_ONLY_TOOLS
        .iter()
        .map(|tool| DesiredEntry::AllowedTool {
            name: qualified_tool_name(tool),
        })
}

/// Returns whether our plugin is enabled in a settings file in the format of Claude Code.
fn is_plugin_enabled(settings: &Path) -> bool {
    let settings = read_json_or_null(settings);
    let plugins = settings["enabledPlugins"].as_object();
    plugins.into_iter().flatten().any(|(name, enabled)| {
        name.split('@').next() == Some(SERVER) && enabled.as_bool() == Some(true)
    })
}

/// Reads a JSON file, or returns null. Errors are reported when the file is to be changed.
fn read_json_or_null(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    scan::scan(&text).map_or(Value::Null, |root| root.to_value())
}

/// Reads a TOML file, or returns an empty table.
fn read_toml_or_empty(path: &Path) -> toml::Table {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.parse().unwrap_or_default()
}
