//! Codex CLI: hooks in `hooks.json`, the server in `config.toml`.

use std::path::PathBuf;

use capture::AgentEnv;
use memory::Flavor;

use super::{Integration, hooks_and_toml, read_toml_or_empty};
use crate::install::instructions::{CommandForm, skill_and_commands};
use crate::install::plan::InstallTarget;
use crate::install::program::Program;

pub(crate) const INTEGRATION: Integration = Integration {
    flavor: Flavor::Codex,
    program: "codex",
    folder,
    targets,
    obstacles,
    has_plugin,
    plugin_removal: "codex plugin remove throughline@throughline",
    advice: Some(
        "Codex CLI runs new hooks only after you trust them: run `codex`, type /hooks, and trust \
         the hooks of Throughline",
    ),
};

/// Codex CLI waits no longer than this for a hook at the end of a session.
const TIMEOUT_SECONDS: u32 = 3;

fn folder(env: &AgentEnv) -> PathBuf {
    env.folder_or_home("CODEX_HOME", ".codex")
}

fn targets(env: &AgentEnv, program: &Program) -> Vec<InstallTarget> {
    let folder = folder(env);
    // Codex CLI trusts the exact text of a command, so a changed command must be trusted again.
    let mut targets = hooks_and_toml(
        Flavor::Codex,
        [folder.join("hooks.json"), folder.join("config.toml")],
        program,
        TIMEOUT_SECONDS,
    );
    // It has no commands of users; `$recall` starts the skill of that name.
    let skills = folder.join("skills");
    targets.extend(skill_and_commands(
        Flavor::Codex,
        &skills,
        &skills,
        CommandForm::Skill,
    ));
    targets
}

fn has_plugin(env: &AgentEnv) -> bool {
    let config = read_toml_or_empty(&folder(env).join("config.toml"));
    let plugins = config.get("plugins").and_then(toml::Value::as_table);
    plugins.into_iter().flatten().any(|(name, plugin)| {
        let enabled = plugin.get("enabled").and_then(toml::Value::as_bool);
        name.split('@').next() == Some("throughline") && enabled != Some(false)
    })
}

fn obstacles(env: &AgentEnv) -> Vec<String> {
    let path = folder(env).join("config.toml");
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
            format!("`{key} = false` under [features] in {path} disables the hooks")
        })
        .collect()
}
