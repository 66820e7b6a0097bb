//! Gemini CLI: hooks and server in `settings.json`.

use std::path::PathBuf;

use capture::Places;
use memory::Flavor;

use super::{Integration, peek, server};
use crate::install::document::{Want, Wants};
use crate::install::plan::Target;
use crate::install::program::Program;

pub const INTEGRATION: Integration = Integration {
    flavor: Flavor::Gemini,
    program: "gemini",
    folder,
    targets,
    obstacles,
    has_plugin: |_| false,
    advice: None,
};

/// Not `PreCompress`, which comes before every call of the model.
const EVENTS: &[&str] = &[
    "SessionStart",
    "BeforeAgent",
    "AfterTool",
    "AfterAgent",
    "SessionEnd",
];
const TIMEOUT_MS: u32 = 5000;

fn folder(places: &Places) -> PathBuf {
    let home = places.folder("GEMINI_CLI_HOME");
    home.unwrap_or_else(|| places.home.clone()).join(".gemini")
}

fn targets(places: &Places, program: &Program) -> Vec<Target> {
    let command = program.hook("--agent gemini");
    let quoted = serde_json::Value::from(command.as_str());
    let group = format!(
        "{{\"hooks\":[{{\"name\":\"throughline\",\"type\":\"command\",\"command\":{quoted},\
         \"timeout\":{TIMEOUT_MS}}}]}}"
    );
    let hook = |event: &&'static str| Want::Hook {
        event,
        command: command.clone(),
        group: group.clone(),
    };
    let server = Want::Server {
        list: "mcpServers",
        server: server(program, ""),
    };
    vec![Target {
        agent: Flavor::Gemini,
        path: folder(places).join("settings.json"),
        wants: Wants::Json(EVENTS.iter().map(hook).chain([server]).collect()),
    }]
}

fn obstacles(places: &Places) -> Vec<String> {
    let path = folder(places).join("settings.json");
    let settings = peek(&path);
    let path = path.display();
    let mut found = Vec::new();
    for (group, key) in [("hooksConfig", "enabled"), ("tools", "enableHooks")] {
        if settings[group][key].as_bool() == Some(false) {
            found.push(format!(
                "`{group}.{key}` in {path} keeps our hooks from running"
            ));
        }
    }
    let allowed = settings["mcp"]["allowed"].as_array();
    if allowed.is_some_and(|list| !list.iter().any(|name| name == "throughline")) {
        found.push(format!("`mcp.allowed` in {path} keeps our server out"));
    }
    found
}
