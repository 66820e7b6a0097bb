//! Grok CLI: a file of hooks, the server in `config.toml`.

use std::path::PathBuf;

use capture::AgentEnv;
use memory::Flavor;

use super::{Integration, hooks_and_toml};
use crate::install::instructions::{CommandForm, skill_and_commands};
use crate::install::plan::InstallTarget;
use crate::install::program::Program;

pub(crate) const INTEGRATION: Integration = Integration {
    flavor: Flavor::Grok,
    program: "grok",
    folder,
    targets,
    ..Integration::DEFAULTS
};

const TIMEOUT_SECONDS: u32 = 5;

fn folder(env: &AgentEnv) -> PathBuf {
    env.folder_or_home("GROK_HOME", ".grok")
}

pub(crate) fn hooks_path(env: &AgentEnv) -> PathBuf {
    folder(env).join("hooks/throughline.json")
}

fn targets(env: &AgentEnv, program: &Program) -> Vec<InstallTarget> {
    let folder = folder(env);
    let mut targets = hooks_and_toml(
        Flavor::Grok,
        [hooks_path(env), folder.join("config.toml")],
        program,
        TIMEOUT_SECONDS,
    );
    targets.extend(skill_and_commands(
        Flavor::Grok,
        &folder.join("skills"),
        &folder.join("commands"),
        CommandForm::Markdown {
            arguments: "$ARGUMENTS",
        },
    ));
    targets
}
