//! `throughline uninstall`

use memory::Flavor;

use crate::commands::install::{HowArgs, Report, Words, carry_out, chosen};
use crate::commands::{App, parse_flavor};
use crate::daemon;
use crate::install;
use crate::install::agents::{INTEGRATIONS, Integration, claude_settings};
use crate::install::program::Program;
use crate::install::record::Record;
use crate::output::{Outcome, say};

/// Take Throughline out of the agents again
///
/// Files that nobody has changed since become byte for byte what they were; from others only our own
/// entries are taken out. Memory itself stays.
#[derive(Debug, clap::Args)]
pub struct UninstallArgs {
    /// Only these agents; without any, all of them
    #[arg(value_name = "AGENT", value_parser = parse_flavor)]
    agents: Vec<Flavor>,

    #[command(flatten)]
    how: HowArgs,
}

const UNINSTALL: Words = Words {
    nothing: "Nothing to change: no agent knows of Throughline.",
    question: "Change these files? [y/N]",
    declined: "Nothing was changed.",
    done: "Changed",
    would: "Would change",
};

pub fn run(app: &App<'_>, args: &UninstallArgs) -> anyhow::Result<Outcome> {
    let agents: Vec<&'static Integration> = if args.agents.is_empty() {
        INTEGRATIONS.iter().collect()
    } else {
        chosen(app, &args.agents)?
    };
    let places = &app.environment.places;
    let program = Program::of(app.environment);
    let mut record = Record::load(&app.home)?;
    let mut plan = install::plan_removal(&agents, places, &program, &record, &app.home)?;
    let settings = claude_settings(places);
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
    let report = Report::new(None, &changed, &plan);
    let outcome = carry_out(app, &args.how, &mut record, &plan, &report, &UNINSTALL)?;
    if !args.how.dry_run && plan.refused.is_empty() {
        forget_gone(app, &agents, &mut record)?;
    }
    // Without hooks nobody would start it or need it again.
    let is_done = outcome == Outcome::Done && !args.how.dry_run && args.agents.is_empty();
    if is_done && daemon::step_aside(&app.home) {
        say("Stopped the daemon.");
    }
    Ok(outcome)
}

/// Takes files out of the record that hold nothing of ours any more, or are gone.
fn forget_gone(
    app: &App<'_>,
    agents: &[&'static Integration],
    record: &mut Record,
) -> anyhow::Result<()> {
    let is_asked = |name: &str| agents.iter().any(|agent| agent.flavor.name() == name);
    let gone: Vec<_> = record
        .files
        .iter()
        .filter(|(path, entry)| is_asked(&entry.agent) && !install::has_ours(path))
        .map(|(path, _)| path.clone())
        .collect();
    for path in &gone {
        record.drop(&app.home, path)?;
    }
    if !gone.is_empty() {
        record.save(&app.home)?;
        say("Forgot the files that had nothing of Throughline left.");
    }
    Ok(())
}
