//! Which agents are told of Throughline, and what is in the way.

use std::io::Write;
use std::path::PathBuf;

use memory::Flavor;
use serde::Serialize;

use crate::commands::App;
use crate::install;
use crate::install::program::Program;
use crate::output::table::format_table;

/// An agent of this machine that can be told of us.
#[derive(Serialize)]
pub(crate) struct InstallStatus {
    agent: Flavor,
    /// The files that have something of ours.
    files: Vec<PathBuf>,
    obstacles: Vec<String>,
}

pub(crate) fn install_statuses(app: &App<'_>) -> Vec<InstallStatus> {
    let places = &app.environment.places;
    let program = Program::of(app.environment);
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
            obstacles: agent.obstacles(places),
        })
        .collect()
}

pub(crate) fn print(out: &mut impl Write, installed: &[InstallStatus]) -> anyhow::Result<()> {
    if installed.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nTold of Throughline")?;
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
    if names.is_empty() {
        "not told; `throughline install` does it".to_owned()
    } else {
        format!("told in {}", names.join(", "))
    }
}
