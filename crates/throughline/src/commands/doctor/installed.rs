//! Finds out into which agents Throughline is installed, and what keeps it from working there.

use std::io::Write;
use std::path::PathBuf;

use memory::Flavor;
use serde::Serialize;

use crate::commands::App;
use crate::install;
use crate::install::program::{BuildFolderPolicy, Program};
use crate::output::table::format_table;

/// The state of one agent on this machine.
#[derive(Serialize)]
pub(crate) struct InstallStatus {
    agent: Flavor,
    /// The files that contain our entries.
    files: Vec<PathBuf>,
    /// Our plugin is enabled.
    plugin: bool,
    obstacles: Vec<String>,
}

pub(crate) fn install_statuses(app: &App<'_>) -> Vec<InstallStatus> {
    let places = &app.environment.places;
    let program = Program::of(app.environment, BuildFolderPolicy::RunInPlace);
    install::detect_agents(places, &app.environment.path)
        .into_iter()
        .map(|agent| InstallStatus {
            agent: agent.flavor,
            files: agent
                .targets(places, &program)
                .into_iter()
                .map(|target| target.path)
                .filter(|path| install::has_our_entries(path))
                .collect(),
            plugin: agent.has_plugin(places),
            obstacles: agent.obstacles(places),
        })
        .collect()
}

pub(crate) fn print(out: &mut impl Write, installed: &[InstallStatus]) -> anyhow::Result<()> {
    if installed.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nHooks and tools")?;
    let rows: Vec<_> = installed
        .iter()
        .map(|it| vec![format!("  {}", it.agent.title()), status_text(it)])
        .collect();
    write!(out, "{}", format_table(&rows))?;
    for it in installed {
        for obstacle in &it.obstacles {
            writeln!(out, "  {}: {obstacle}", it.agent.title())?;
        }
    }
    Ok(())
}

fn status_text(installed: &InstallStatus) -> String {
    let names: Vec<_> = installed
        .files
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    match (names.is_empty(), installed.plugin) {
        (true, true) => "installed as a plugin".to_owned(),
        (true, false) => "not installed; run `throughline install`".to_owned(),
        (false, false) => format!("installed in {}", names.join(", ")),
        (false, true) => {
            "installed twice, with hooks and as a plugin; run `throughline uninstall` \
                          to keep only the plugin"
                .to_owned()
        }
    }
}
