//! The agents that can be told of us: which files that takes, one module each.

mod claude;
mod codex;
mod copilot;
mod cursor;
mod gemini;
mod grok;
mod opencode;

use std::path::{Path, PathBuf};

use capture::AgentEnv;
use memory::Flavor;
use serde_json::Value;

use super::document::{DesiredContent, DesiredEntry};
use super::json::scan;
use super::plan::InstallTarget;
use super::program::{Program, find_on_path};

pub(crate) use self::opencode::PLUGIN_SCRIPT;

/// An agent that can be told of us.
#[derive(Debug)]
pub(crate) struct Integration {
    pub(crate) flavor: Flavor,
    /// Its own program.
    program: &'static str,
    /// Where it keeps its configuration.
    folder: fn(&AgentEnv) -> PathBuf,
    targets: fn(&AgentEnv, &Program) -> Vec<InstallTarget>,
    /// What in its configuration keeps our entries from working.
    obstacles: fn(&AgentEnv) -> Vec<String>,
    /// Says whether our plugin is enabled there, which does the same.
    has_plugin: fn(&AgentEnv) -> bool,
    /// What a person has to do.
    pub(crate) advice: Option<&'static str>,
}

/// Claude Code comes before Grok CLI, which reads its hooks too.
pub(crate) const INTEGRATIONS: &[Integration] = &[
    claude::INTEGRATION,
    codex::INTEGRATION,
    gemini::INTEGRATION,
    grok::INTEGRATION,
    copilot::INTEGRATION,
    opencode::INTEGRATION,
    cursor::INTEGRATION,
];

impl Integration {
    pub(crate) fn for_flavor(flavor: Flavor) -> Option<&'static Self> {
        INTEGRATIONS.iter().find(|it| it.flavor == flavor)
    }

    /// Says whether the agent is on this machine: its folder, or its program.
    pub(crate) fn is_detected(&self, places: &AgentEnv, path: &[PathBuf]) -> bool {
        (self.folder)(places).is_dir() || find_on_path(self.program, path).is_some()
    }

    pub(crate) fn targets(&self, places: &AgentEnv, program: &Program) -> Vec<InstallTarget> {
        (self.targets)(places, program)
    }

    pub(crate) fn has_plugin(&self, places: &AgentEnv) -> bool {
        (self.has_plugin)(places)
    }

    pub(crate) fn obstacles(&self, places: &AgentEnv) -> Vec<String> {
        (self.obstacles)(places)
    }
}

/// The file whose hooks Grok CLI runs as its own.
pub(crate) fn claude_settings_path(places: &AgentEnv) -> PathBuf {
    claude::settings_path(places)
}

/// The file of Grok CLI's own hooks.
pub(crate) fn grok_hooks_path(places: &AgentEnv) -> PathBuf {
    grok::hooks_path(places)
}

/// The events of Claude Code that others took over with its form.
const EVENTS: &[&str] = &[
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUse",
    "PreCompact",
    "PostCompact",
    "SubagentStart",
    "SubagentStop",
    "Stop",
    "SessionEnd",
];

/// The folder that a variable names, else the usual one in the user's home.
fn agent_home(places: &AgentEnv, variable: &str, usual: &str) -> PathBuf {
    places
        .folder_variable(variable)
        .unwrap_or_else(|| places.home.join(usual))
}

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
        InstallTarget {
            agent,
            path: hooks,
            desired: DesiredContent::Json(events),
        },
        InstallTarget {
            agent,
            path: config,
            desired: DesiredContent::Toml { program },
        },
    ]
}

/// A file of hooks that names the version of its form, and a list of servers.
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
    let target = |path, wants| InstallTarget {
        agent,
        path,
        desired: DesiredContent::Json(wants),
    };
    vec![
        target(hooks, [version].into_iter().chain(wanted).collect()),
        target(servers, vec![server]),
    ]
}

/// Hooks in the form that Claude Code invented and others took over; the timeout in the agent's unit.
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

/// A server in the form of most agents, with more members behind its own.
fn server_json(program: &Program, more: &str) -> String {
    let program = Value::from(program.command.as_str());
    format!("{{\"command\":{program},\"args\":[\"mcp\"]{more}}}")
}

/// Reads a JSON configuration for what it says about us. Whoever needs it whole complains of it.
fn read_json_or_null(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    scan::scan(&text).map_or(Value::Null, |root| root.to_value())
}

/// Reads a TOML configuration for what it says about us.
fn read_toml_or_empty(path: &Path) -> toml::Table {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.parse().unwrap_or_default()
}
