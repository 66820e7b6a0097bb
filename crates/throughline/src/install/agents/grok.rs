//! Grok CLI: a file of hooks, the server in `config.toml`.

use std::path::PathBuf;

use capture::AgentEnv;
use memory::Flavor;

use super::{Integration, agent_home, hooks_and_toml};
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

fn folder(places: &AgentEnv) -> PathBuf {
    agent_home(places, "GROK_HOME", ".grok")
}

pub(crate) fn hooks_path(places: &AgentEnv) -> PathBuf {
    folder(places).join("hooks/throughline.json")
}

fn targets(places: &AgentEnv, program: &Program) -> Vec<InstallTarget> {
    let folder = folder(places);
    let mut targets = hooks_and_toml(
        Flavor::Grok,
        [hooks_path(places), folder.join("config.toml")],
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
