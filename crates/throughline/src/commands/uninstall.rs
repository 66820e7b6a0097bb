//! `throughline uninstall`

use memory::Flavor;

use crate::commands::install::{
    ApplyArgs, InstallMessages, InstallReport, apply_plan, select_agents,
};
use crate::commands::{App, parse_flavor};
use crate::daemon;
use crate::install;
use crate::install::agents::{INTEGRATIONS, Integration, claude_settings_path};
use crate::install::program::Program;
use crate::install::record::InstallManifest;
use crate::output::Exit;

/// Take Throughline out of the agents again
///
/// Files that nobody has changed since become byte for byte what they were; from others only our own
/// entries are taken out. Memory itself stays.
#[derive(Debug, clap::Args)]
pub(crate) struct UninstallArgs {
    /// Only these agents; without any, all of them
    #[arg(value_name = "AGENT", value_parser = parse_flavor)]
    agents: Vec<Flavor>,

    #[command(flatten)]
    apply: ApplyArgs,
}

const UNINSTALL: InstallMessages = InstallMessages {
    nothing: "Nothing to change: no agent knows of Throughline.",
    question: "Change these files? [y/N]",
    declined: "Nothing was changed.",
    done: "Changed",
    would: "Would change",
};

pub(crate) fn run(app: &App<'_>, args: &UninstallArgs) -> anyhow::Result<Exit> {
    let agents: Vec<&'static Integration> = if args.agents.is_empty() {
        INTEGRATIONS.iter().collect()
    } else {
        select_agents(app, &args.agents)?
    };
    let places = &app.environment.places;
    let program = Program::of(app.environment);
    let mut record = InstallManifest::load(&app.home)?;
    let mut plan = install::plan_removal(&agents, places, &program, &record, &app.home)?;
    let settings = claude_settings_path(places);
    let is_left = |agent: Flavor| !agents.iter().any(|it| it.flavor == agent);
    if is_left(Flavor::Grok) && plan.changes.iter().any(|change| change.path == settings) {
        plan.notes.push(
            "Grok CLI ran the hooks of Claude Code; `throughline install grok` gives it its own."
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
    let outcome = apply_plan(app, &args.apply, &mut record, &plan, &report, &UNINSTALL)?;
    if !args.apply.dry_run && plan.skipped.is_empty() {
        drop_stale_entries(app, &agents, &mut record)?;
    }
    // Without hooks nobody would start it or need it again.
    let is_done = outcome == Exit::Done && !args.apply.dry_run && args.agents.is_empty();
    if is_done && daemon::stop_background(&app.home) {
        say!("Stopped the daemon.");
    }
    Ok(outcome)
}

/// Takes files out of the record that hold nothing of ours any more, or are gone.
fn drop_stale_entries(
    app: &App<'_>,
    agents: &[&'static Integration],
    record: &mut InstallManifest,
) -> anyhow::Result<()> {
    let is_asked = |name: &str| agents.iter().any(|agent| agent.flavor.name() == name);
    let gone: Vec<_> = record
        .files
        .iter()
        .filter(|(path, entry)| is_asked(&entry.agent) && !install::has_our_entries(path))
        .map(|(path, _)| path.clone())
        .collect();
    for path in &gone {
        record.remove_entry(&app.home, path)?;
    }
    if !gone.is_empty() {
        record.save(&app.home)?;
        say!("Forgot the files that had nothing of Throughline left.");
    }
    Ok(())
}
