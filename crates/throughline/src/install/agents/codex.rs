//! Codex CLI: hooks in `hooks.json`, the server in `config.toml`.

use std::path::PathBuf;

use capture::Places;
use memory::Flavor;

use super::{Integration, groups, peek_toml};
use crate::install::document::Wants;
use crate::install::plan::Target;
use crate::install::program::Program;

pub const INTEGRATION: Integration = Integration {
    flavor: Flavor::Codex,
    program: "codex",
    folder,
    targets,
    obstacles,
    advice: Some(
        "Codex CLI runs a new hook only once you trust it: open `codex`, type /hooks, and trust those \
         of Throughline",
    ),
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
/// Of a hook at the end of a session it waits for no more.
const TIMEOUT_SECONDS: u32 = 3;

fn folder(places: &Places) -> PathBuf {
    places
        .folder("CODEX_HOME")
        .unwrap_or_else(|| places.home.join(".codex"))
}

fn targets(places: &Places, program: &Program) -> Vec<Target> {
    let target = |name: &str, wants| Target {
        agent: Flavor::Codex,
        path: folder(places).join(name),
        wants,
    };
    // Trust is given to this very text: changed, it would have to be given again.
    let command = program.hook("--agent codex");
    let hooks = groups(EVENTS, &command, TIMEOUT_SECONDS);
    let program = program.word.clone();
    vec![
        target("hooks.json", Wants::Json(hooks)),
        target("config.toml", Wants::Toml { program }),
    ]
}

fn obstacles(places: &Places) -> Vec<String> {
    let path = folder(places).join("config.toml");
    let config = peek_toml(&path);
    let is_off = |key: &&str| {
        let feature = config
            .get("features")
            .and_then(|features| features.get(*key));
        feature.and_then(toml::Value::as_bool) == Some(false)
    };
    ["hooks", "codex_hooks"]
        .into_iter()
        .filter(is_off)
        .map(|key| {
            let path = path.display();
            format!("`{key} = false` under [features] in {path} keeps our hooks from running")
        })
        .collect()
}
