//! `throughline up`

use std::path::PathBuf;

use memory::Flavor;
use serde::Serialize;

use crate::commands::ingest::{self, IngestOutcome, LogArgs};
use crate::commands::install::{ProgramArgs, ReportTarget, confirm};
use crate::commands::{App, install as command, sessions};
use crate::config::Config;
use crate::daemon::{self, DaemonStart};
use crate::install;
use crate::install::manifest::InstallManifest;
use crate::install::program::{Program, shell_command};
use crate::output::table::count;
use crate::output::{self, Exit};
use crate::samples;

/// Set up Throughline: read the logs, install into agents, start the daemon
///
/// This is the one command for a new machine. It asks before it changes the configuration of
/// agents. Running it again does only what is left to do.
#[derive(Debug, clap::Args)]
pub(crate) struct UpArgs {
    /// Use sample sessions in a store of their own, without changing any agent
    #[arg(long)]
    sample: bool,

    /// Install into agents without asking for confirmation
    #[arg(long, short = 'y')]
    yes: bool,

    #[command(flatten)]
    program: ProgramArgs,

    /// Do not start the daemon
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
            ingest: ingested.report(),
            agents,
            daemon,
        })?;
    } else {
        let program = shell_command(app.environment);
        print_daemon(&program, &daemon);
        print_next_steps(&program, &ingested);
    }
    Ok(if is_failed { Exit::Failed } else { Exit::Done })
}

#[derive(Serialize)]
struct UpReport<'a> {
    ingest: ingest::IngestReport<'a>,
    agents: AgentsReport,
    daemon: DaemonStart,
}

/// The result of installing into the agents.
#[derive(Serialize)]
struct AgentsReport {
    found: Vec<Flavor>,
    /// Files that were changed.
    changed: Vec<PathBuf>,
    /// Files that would have been changed with confirmation.
    pending: Vec<PathBuf>,
    refused: Vec<PathBuf>,
    notes: Vec<String>,
}

/// Installs into the agents after asking for confirmation. Without a terminal, prints how to do it
/// later.
fn install_into_agents(app: &App<'_>, args: &UpArgs) -> anyhow::Result<AgentsReport> {
    let places = &app.environment.places;
    let agents = install::detect_agents(places, &app.environment.path);
    let program = Program::of(app.environment, args.program.policy());
    let mut manifest = InstallManifest::load(&app.home)?;
    let mut plan = install::plan_install(&agents, places, &program, &manifest);
    plan.notes.extend(command::custom_home_note(app));
    let report = command::InstallReport::new(Some(&program), &agents, &plan);
    let has_changes = !plan.is_empty();
    if !args.json && !agents.is_empty() {
        say!("");
        report.print(app, ReportTarget::Messages)?;
    }
    let can_ask =
        app.environment.stderr_is_terminal && app.environment.stdin_is_terminal && !args.json;
    let agreed = has_changes && (args.yes || (can_ask && confirm(app, "Change these files?")?));
    if agreed {
        plan.apply(&app.home, &mut manifest)?;
    }
    if !args.json {
        let files = count(plan.changes.len(), "file");
        match (has_changes, agreed) {
            (true, true) => {
                say!("Changed {files}.");
                report.print_notes();
            }
            (true, false) => say!("Did not change {files}; run `throughline install` to do so."),
            (false, _) if agents.is_empty() => {
                say!("Found no agent into which Throughline can be installed.");
            }
            (false, _) => say!("Throughline is already installed."),
        }
    }
    let paths: Vec<_> = plan.changes.iter().map(|it| it.path.clone()).collect();
    let (changed, pending) = if agreed {
        (paths, Vec::new())
    } else {
        (Vec::new(), paths)
    };
    Ok(AgentsReport {
        found: agents.iter().map(|agent| agent.flavor).collect(),
        changed,
        pending,
        refused: plan.skipped.iter().map(|it| it.path.clone()).collect(),
        notes: plan.notes,
    })
}

fn print_daemon(program: &str, daemon: &DaemonStart) {
    match daemon {
        DaemonStart::Started => {
            say!("The daemon is running; new log lines are read as they are written.");
        }
        DaemonStart::Absent => say!("Run `{program} watch` to read logs as they are written."),
        DaemonStart::Failed(reason) => {
            say!("warning: the daemon did not start: {reason}; everything works without it");
        }
    }
}

fn print_next_steps(program: &str, ingested: &IngestOutcome) {
    say!("");
    if ingested.sweep.discovered == 0 {
        say!("There are no sessions yet. Work with an agent, or try sample sessions with");
        say!("  {program} up --sample");
        return;
    }
    say!("Next:");
    say!("  {program} search WORDS   search your sessions");
    say!("  {program} sessions       list your sessions");
    say!("  {program} doctor         check the setup");
}

/// Ingests the sample sessions into a separate store beside the default one.
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
        output::print_json(&ingested.report())?;
        return Ok(Exit::Done);
    }
    ingested.print();
    say!("");
    sessions::list_recent(&sample)?;
    let home = output::shell::quote(&sample.home.display().to_string());
    say!("");
    say!("These are sample sessions in a separate store. Try:");
    let program = shell_command(app.environment);
    say!("  {program} --home {home} search threshold");
    say!("  {program} --home {home} show 4c5420d7");
    say!("Delete them with: rm -r {home}");
    Ok(Exit::Done)
}
