//! opencode: a plugin of one file, the server in `opencode.json`.

use std::path::PathBuf;

use capture::Places;
use memory::Flavor;
use serde_json::Value;

use super::Integration;
use crate::install::document::{Want, Wants};
use crate::install::plan::Target;
use crate::install::program::Program;

pub const INTEGRATION: Integration = Integration {
    flavor: Flavor::Opencode,
    program: "opencode",
    folder,
    targets,
    obstacles: |_| Vec::new(),
    has_plugin: |_| false,
    advice: None,
};

/// The plugin, which hands what happens to `throughline hook`.
pub const SHIM: &str = include_str!("../../../../../plugin/opencode/throughline.js");

fn folder(places: &Places) -> PathBuf {
    places
        .folder("XDG_CONFIG_HOME")
        .unwrap_or_else(|| places.home.join(".config"))
        .join("opencode")
}

fn targets(places: &Places, program: &Program) -> Vec<Target> {
    let program = Value::from(program.word.as_str());
    let server = Want::Server {
        list: "mcp",
        server: format!("{{\"type\":\"local\",\"command\":[{program},\"mcp\"],\"enabled\":true}}"),
    };
    let target = |path, wants| Target {
        agent: Flavor::Opencode,
        path,
        wants,
    };
    // A program that is not on PATH is named where the plugin looks for its name.
    let shim = SHIM.replace("\"throughline\"; // PROGRAM", &format!("{program};"));
    vec![
        target(
            folder(places).join("plugin/throughline.js"),
            Wants::Whole(shim),
        ),
        target(config(places), Wants::Json(vec![server])),
    ]
}

/// It reads either; what is there is kept to.
fn config(places: &Places) -> PathBuf {
    let with_comments = folder(places).join("opencode.jsonc");
    if with_comments.exists() {
        with_comments
    } else {
        folder(places).join("opencode.json")
    }
}
