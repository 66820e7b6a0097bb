//! `throughline up`

use std::path::PathBuf;

use memory::Flavor;
use serde::Serialize;

use crate::commands::ingest::{self, IngestOutcome, LogArgs};
use crate::commands::install::confirm;
use crate::commands::{App, install as command, sessions};
use crate::config::Config;
use crate::daemon::{self, DaemonStart};
use crate::install::program::Program;
use crate::install::record::InstallManifest;
use crate::install::{self, apply};
use crate::output::table::count;
use crate::output::{self, Exit};
use crate::samples;

/// Set everything up: read the logs, tell the agents, start the daemon
///
/// The one command for a new machine. It asks before it changes anything of the agents, and running it
/// again does only what is left to do.
#[derive(Debug, clap::Args)]
pub(crate) struct UpArgs {
    /// Show it on sample sessions, in a memory of their own; no agent is changed
    #[arg(long)]
    sample: bool,

    /// Tell the agents without asking
    #[arg(long, short = 'y')]
    yes: bool,

    /// Leave the daemon alone
    #[arg(long)]
    no_daemon: bool,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &UpArgs) -> anyhow::Result<Exit> {
    if args.sample {
        return ingest_samples(app, args.json);
    }
    let ingested = ingest::ingest(app, &LogArgs::default())?;
    if !args.json {
        ingested.print();
    }
    if ingested.sweep.interrupted {
        return Ok(Exit::Interrupted);
    }
    let agents = install_into_agents(app, args)?;
    let daemon = if args.no_daemon {
        DaemonStart::Absent
    } else {
        match daemon::start(app, None) {
            Ok(_) => DaemonStart::Started,
            Err(error) => DaemonStart::Failed(format!("{error:#}")),
        }
    };
    let is_failed = !agents.refused.is_empty();
    if args.json {
        output::print_json(&UpReport {
            ingest: ingested.print_sweep(),
            agents,
            daemon,
        })?;
    } else {
        print_daemon(&daemon);
        print_next_steps(&ingested);
    }
    Ok(if is_failed { Exit::Failed } else { Exit::Done })
}

#[derive(Serialize)]
struct UpReport<'a> {
    ingest: ingest::IngestReport<'a>,
    agents: AgentsReport,
    daemon: DaemonStart,
}

/// What became of telling the agents.
#[derive(Serialize)]
struct AgentsReport {
    found: Vec<Flavor>,
    /// Files that were changed.
    changed: Vec<PathBuf>,
    /// Files that would change, had somebody agreed.
    pending: Vec<PathBuf>,
    refused: Vec<PathBuf>,
    notes: Vec<String>,
}

/// Offers to tell the agents. Who cannot be asked is told how to do it.
fn install_into_agents(app: &App<'_>, args: &UpArgs) -> anyhow::Result<AgentsReport> {
    let places = &app.environment.places;
    let here = install::detect_agents(places, &app.environment.path);
    let program = Program::of(app.environment);
    let mut record = InstallManifest::load(&app.home)?;
    let mut plan = install::plan_install(&here, places, &program, &record);
    plan.notes.extend(command::custom_home_note(app));
    let report = command::InstallReport::new(Some(&program), &here, &plan);
    let is_new = !plan.changes.is_empty();
    if !args.json && !here.is_empty() {
        say!("");
        report.print(app);
    }
    let can_ask =
        app.environment.stderr_is_terminal && app.environment.stdin_is_terminal && !args.json;
    let agreed = is_new && (args.yes || (can_ask && confirm(app, "Change these files? [y/N]")?));
    if agreed {
        for change in &plan.changes {
            apply::apply_change(&app.home, &mut record, change)?;
        }
    }
    if !args.json {
        let files = count(plan.changes.len(), "file");
        match (is_new, agreed) {
            (true, true) => {
                say!("Changed {files}.");
                report.print_notes();
            }
            (true, false) => say!("Left {files} as they are; `throughline install` changes them."),
            (false, _) if here.is_empty() => say!("No agent was found that could be told."),
            (false, _) => say!("The agents know of Throughline."),
        }
    }
    let paths: Vec<_> = plan.changes.iter().map(|it| it.path.clone()).collect();
    let (changed, pending) = if agreed {
        (paths, Vec::new())
    } else {
        (Vec::new(), paths)
    };
    Ok(AgentsReport {
        found: here.iter().map(|agent| agent.flavor).collect(),
        changed,
        pending,
        refused: plan.skipped.iter().map(|it| it.path.clone()).collect(),
        notes: plan.notes,
    })
}

fn print_daemon(daemon: &DaemonStart) {
    match daemon {
        DaemonStart::Started => {
            say!("The daemon runs: what agents write is read as they write it.")
        }
        DaemonStart::Absent => say!("`throughline watch` keeps reading while agents work."),
        DaemonStart::Failed(why) => {
            say!("warning: the daemon did not start: {why}; everything works without it")
        }
    }
}

fn print_next_steps(ingested: &IngestOutcome) {
    say!("");
    if ingested.sweep.discovered == 0 {
        say!("There are no sessions yet: work with an agent, or look at sample ones with");
        say!("  throughline up --sample");
        return;
    }
    say!("Next:");
    say!("  throughline search WORDS   find something in your sessions");
    say!("  throughline sessions       list them");
    say!("  throughline doctor         see where you stand");
}

/// Reads the sample sessions into a memory beside the usual one.
fn ingest_samples(app: &App<'_>, json: bool) -> anyhow::Result<Exit> {
    let mut name = app.home.file_name().unwrap_or_default().to_owned();
    name.push("-sample");
    let home = app.home.with_file_name(name);
    let logs = home.join("logs");
    samples::write_samples(&logs)?;
    let sample = App {
        environment: app.environment,
        config: Config::default(),
        config_path: app.config_path.clone(),
        home,
    };
    let ingested = ingest::ingest(&sample, &LogArgs::in_folder(logs))?;
    if json {
        output::print_json(&ingested.print_sweep())?;
        return Ok(Exit::Done);
    }
    ingested.print();
    say!("");
    sessions::list_recent(&sample)?;
    let home = output::shell::quote(&sample.home.display().to_string());
    say!("");
    say!("These are samples, in a memory of their own. Try:");
    say!("  throughline --home {home} search threshold");
    say!("  throughline --home {home} show 4c5420d7");
    say!("Remove them with: rm -r {home}");
    Ok(Exit::Done)
}
