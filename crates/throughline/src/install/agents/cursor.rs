//! Cursor: hooks in `hooks.json`, the server in `mcp.json`. Written after its documentation.

use std::path::PathBuf;

use capture::Places;
use memory::Flavor;
use serde_json::Value;

use super::{Integration, server};
use crate::install::document::{Want, Wants};
use crate::install::plan::Target;
use crate::install::program::Program;

pub const INTEGRATION: Integration = Integration {
    flavor: Flavor::Cursor,
    program: "cursor",
    folder,
    targets,
    obstacles: |_| Vec::new(),
    advice: None,
};

const EVENTS: &[&str] = &[
    "sessionStart",
    "postToolUse",
    "preCompact",
    "stop",
    "sessionEnd",
];

fn folder(places: &Places) -> PathBuf {
    places.home.join(".cursor")
}

fn targets(places: &Places, program: &Program) -> Vec<Target> {
    let needed = Want::Needed {
        key: "version",
        value: "1",
    };
    let command = program.hook("--agent cursor");
    let hook = |event: &&'static str| Want::Hook {
        event,
        command: command.clone(),
        group: format!("{{\"command\":{}}}", Value::from(command.as_str())),
    };
    let server = Want::Server {
        list: "mcpServers",
        server: server(program, ""),
    };
    let target = |name: &str, wants| Target {
        agent: Flavor::Cursor,
        path: folder(places).join(name),
        wants: Wants::Json(wants),
    };
    let hooks = [needed].into_iter().chain(EVENTS.iter().map(hook));
    vec![
        target("hooks.json", hooks.collect()),
        target("mcp.json", vec![server]),
    ]
}
