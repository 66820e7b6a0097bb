//! Grok CLI: a file of hooks, the server in `config.toml`.

use std::path::PathBuf;

use capture::Places;
use memory::Flavor;

use super::{Integration, groups};
use crate::install::document::Wants;
use crate::install::plan::Target;
use crate::install::program::Program;

pub const INTEGRATION: Integration = Integration {
    flavor: Flavor::Grok,
    program: "grok",
    folder,
    targets,
    obstacles: |_| Vec::new(),
    advice: None,
};

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
const TIMEOUT_SECONDS: u32 = 5;

fn folder(places: &Places) -> PathBuf {
    places
        .folder("GROK_HOME")
        .unwrap_or_else(|| places.home.join(".grok"))
}

pub fn hooks(places: &Places) -> PathBuf {
    folder(places).join("hooks/throughline.json")
}

fn targets(places: &Places, program: &Program) -> Vec<Target> {
    let target = |path, wants| Target {
        agent: Flavor::Grok,
        path,
        wants,
    };
    let events = groups(EVENTS, &program.hook("--agent grok"), TIMEOUT_SECONDS);
    let program = program.word.clone();
    vec![
        target(hooks(places), Wants::Json(events)),
        target(folder(places).join("config.toml"), Wants::Toml { program }),
    ]
}
