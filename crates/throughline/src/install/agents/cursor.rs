//! Cursor: hooks in `hooks.json`, the server in `mcp.json`. Written after its documentation.

use std::path::PathBuf;

use capture::Places;
use memory::Flavor;
use serde_json::Value;

use super::{Integration, numbered};
use crate::install::document::Want;
use crate::install::plan::Target;
use crate::install::program::Program;

pub const INTEGRATION: Integration = Integration {
    flavor: Flavor::Cursor,
    program: "cursor",
    folder,
    targets,
    obstacles: |_| Vec::new(),
    has_plugin: |_| false,
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
    let command = program.hook("--agent cursor");
    let hook = |event: &&'static str| Want::Hook {
        event,
        command: command.clone(),
        group: format!("{{\"command\":{}}}", Value::from(command.as_str())),
    };
    let folder = folder(places);
    numbered(
        Flavor::Cursor,
        [folder.join("hooks.json"), folder.join("mcp.json")],
        EVENTS.iter().map(hook),
        program,
        "",
    )
}
