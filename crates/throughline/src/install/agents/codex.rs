//! Codex CLI: hooks in `hooks.json`, the server in `config.toml`.

use std::path::PathBuf;

use capture::AgentEnv;
use memory::Flavor;

use super::{Integration, agent_home, hooks_and_toml, read_toml_or_empty};
use crate::install::plan::InstallTarget;
use crate::install::program::Program;

pub(crate) const INTEGRATION: Integration = Integration {
    flavor: Flavor::Codex,
    program: "codex",
    folder,
    targets,
    obstacles,
    has_plugin: |_| false,
    advice: Some(
        "Codex CLI runs a new hook only once you trust it: open `codex`, type /hooks, and trust those \
         of Throughline",
    ),
};

/// Of a hook at the end of a session it waits for no more.
const TIMEOUT_SECONDS: u32 = 3;

fn folder(places: &AgentEnv) -> PathBuf {
    agent_home(places, "CODEX_HOME", ".codex")
}

fn targets(places: &AgentEnv, program: &Program) -> Vec<InstallTarget> {
    let folder = folder(places);
    // Trust is given to the command's very text: changed, it would have to be given again.
    hooks_and_toml(
        Flavor::Codex,
        [folder.join("hooks.json"), folder.join("config.toml")],
        program,
        TIMEOUT_SECONDS,
    )
}

fn obstacles(places: &AgentEnv) -> Vec<String> {
    let path = folder(places).join("config.toml");
    let config = read_toml_or_empty(&path);
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
