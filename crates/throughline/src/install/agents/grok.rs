//! Grok CLI: a file of hooks, the server in `config.toml`.

use std::path::PathBuf;

use capture::Places;
use memory::Flavor;

use super::{Integration, home_of, hooks_and_toml};
use crate::install::plan::Target;
use crate::install::program::Program;

pub const INTEGRATION: Integration = Integration {
    flavor: Flavor::Grok,
    program: "grok",
    folder,
    targets,
    obstacles: |_| Vec::new(),
    has_plugin: |_| false,
    advice: None,
};

const TIMEOUT_SECONDS: u32 = 5;

fn folder(places: &Places) -> PathBuf {
    home_of(places, "GROK_HOME", ".grok")
}

pub fn hooks(places: &Places) -> PathBuf {
    folder(places).join("hooks/throughline.json")
}

fn targets(places: &Places, program: &Program) -> Vec<Target> {
    let config = folder(places).join("config.toml");
    hooks_and_toml(
        Flavor::Grok,
        [hooks(places), config],
        program,
        TIMEOUT_SECONDS,
    )
}
