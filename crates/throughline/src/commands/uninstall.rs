//! `throughline uninstall`

use memory::Flavor;

use crate::commands::install::{
    ApplyArgs, InstallMessages, InstallReport, apply_plan, select_agents,
};
use crate::commands::{App, parse_flavor};
use crate::daemon;
use crate::install;
use crate::install::agents::{INTEGRATIONS, Integration, claude_settings_path};
use crate::install::manifest::InstallManifest;
use crate::install::program::{BuildFolderPolicy, Program};
use crate::output::Exit;

/// Remove Throughline from the coding agents
///
/// Files that have not been changed since are restored byte for byte; from others only the entries
/// of Throughline are removed. The store is kept.
#[derive(Debug, clap::Args)]
pub(crate) struct UninstallArgs {
    /// Only these agents [default: all agents]
    #[arg(value_name = "AGENT", value_parser = parse_flavor)]
    agents: Vec<Flavor>,

    #[command(flatten)]
    apply: ApplyArgs,
}

const UNINSTALL: InstallMessages = InstallMessages {
    nothing: "Nothing to change: Throughline is not installed.",
    question: "Change these files?",
    declined: "Nothing was changed.",
    done: "Changed",
};

pub(crate) fn run(app: &App<'_>, args: &UninstallArgs) -> anyhow::Result<Exit> {
    let agents: Vec<&'static Integration> = if args.agents.is_empty() {
        INTEGRATIONS.iter().collect()
    } else {
        select_agents(app, &args.agents)?
    };
    let places = &app.environment.places;
    let program = Program::of(app.environment, BuildFolderPolicy::RunInPlace);
    let mut manifest = InstallManifest::load(&app.home)?;
    let mut plan = install::plan_removal(&agents, places, &program, &manifest, &app.home)?;
    let settings = claude_settings_path(places);
    let is_left = |agent: Flavor| !agents.iter().any(|it| it.flavor == agent);
    if is_left(Flavor::Grok) && plan.changes.iter().any(|change| change.path == settings) {
        plan.notes.push(
            "Grok CLI ran the hooks of Claude Code; run `throughline install grok` to give it \
             its own."
                .to_owned(),
        );
    }
    let changed: Vec<_> = agents
        .iter()
        .copied()
        .filter(|agent| {
            plan.changes
                .iter()
                .any(|change| change.agent == agent.flavor)
        })
        .collect();
    let report = InstallReport::new(None, &changed, &plan);
    let outcome = apply_plan(app, &args.apply, &mut manifest, &plan, &report, &UNINSTALL)?;
    if !args.apply.dry_run && plan.skipped.is_empty() {
        drop_stale_entries(app, &agents, &mut manifest)?;
    }
    // Without hooks nothing uses the daemon any more.
    let is_done = outcome == Exit::Done && !args.apply.dry_run && args.agents.is_empty();
    if is_done && daemon::stop_background(&app.home) {
        say!("Stopped the daemon.");
    }
    Ok(outcome)
}

/// Removes files from the manifest that no longer contain our entries or no longer exist.
fn drop_stale_entries(
    app: &App<'_>,
    agents: &[&'static Integration],
    manifest: &mut InstallManifest,
) -> anyhow::Result<()> {
    let is_selected = |name: &str| agents.iter().any(|agent| agent.flavor.name() == name);
    let stale: Vec<_> = manifest
        .files
        .iter()
        .filter(|(path, entry)| is_selected(&entry.agent) && !install::has_our_entries(path))
        .map(|(path, _)| path.clone())
        .collect();
    for path in &stale {
        manifest.remove_entry(&app.home, path)?;
    }
    if !stale.is_empty() {
        manifest.save(&app.home)?;
        say!("Removed files from the manifest that no longer contain Throughline.");
    }
    Ok(())
}
