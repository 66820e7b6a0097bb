//! Claude Code: hooks in `settings.json`, the server in `.claude.json`.

use std::path::{Path, PathBuf};

use capture::Places;
use memory::Flavor;

use super::{EVENTS, Integration, groups, home_of, peek, server};
use crate::install::document::{Want, Wants};
use crate::install::plan::Target;
use crate::install::program::Program;

pub const INTEGRATION: Integration = Integration {
    flavor: Flavor::Claude,
    program: "claude",
    folder,
    targets,
    obstacles,
    has_plugin,
    advice: None,
};

const TIMEOUT_SECONDS: u32 = 5;

/// Where administrators forbid things.
const MANAGED: &[&str] = &[
    "/etc/claude-code/managed-settings.json",
    "/Library/Application Support/ClaudeCode/managed-settings.json",
    "C:\\Program Files\\ClaudeCode\\managed-settings.json",
];

fn folder(places: &Places) -> PathBuf {
    home_of(places, "CLAUDE_CONFIG_DIR", ".claude")
}

pub fn settings(places: &Places) -> PathBuf {
    folder(places).join("settings.json")
}

/// Its file of servers lies beside the folder, unless that was moved.
fn servers(places: &Places) -> PathBuf {
    places
        .folder("CLAUDE_CONFIG_DIR")
        .unwrap_or_else(|| places.home.clone())
        .join(".claude.json")
}

fn targets(places: &Places, program: &Program) -> Vec<Target> {
    let target = |path, wants| Target {
        agent: Flavor::Claude,
        path,
        wants: Wants::Json(wants),
    };
    // No agent is named: Grok CLI runs these hooks too, and the payload tells who it is.
    let hooks = groups(EVENTS, &program.hook(""), TIMEOUT_SECONDS);
    // Without `alwaysLoad` the model would have to search for our tools before it can use them.
    let server = Want::Server {
        list: "mcpServers",
        server: server(program, ",\"alwaysLoad\":true"),
    };
    vec![
        target(settings(places), hooks),
        target(servers(places), vec![server]),
    ]
}

fn has_plugin(places: &Places) -> bool {
    let settings = peek(&settings(places));
    let plugins = settings["enabledPlugins"].as_object();
    plugins.into_iter().flatten().any(|(name, enabled)| {
        name.split('@').next() == Some("throughline") && enabled.as_bool() == Some(true)
    })
}

fn obstacles(places: &Places) -> Vec<String> {
    let mut found = Vec::new();
    if has_plugin(places) {
        found.push(
            "its plugin `throughline` is enabled and does the same; nothing is added".to_owned(),
        );
    }
    let managed = MANAGED.iter().map(PathBuf::from);
    for path in managed.chain([settings(places)]) {
        found.extend(forbidden(&path));
    }
    found
}

fn forbidden(path: &Path) -> Vec<String> {
    let settings = peek(path);
    let is_set = |key: &&str| settings[*key].as_bool() == Some(true);
    ["disableAllHooks", "allowManagedHooksOnly"]
        .into_iter()
        .filter(is_set)
        .map(|key| format!("`{key}` in {} keeps our hooks from running", path.display()))
        .collect()
}
