//! `throughline up`

use std::path::PathBuf;

use memory::Flavor;
use serde::Serialize;

use crate::commands::ingest::{self, Ingested, LogArgs};
use crate::commands::install::confirmed;
use crate::commands::{App, install as command, sessions};
use crate::config::Config;
use crate::daemon::{self, Daemon};
use crate::install::program::Program;
use crate::install::record::Record;
use crate::install::{self, apply};
use crate::output::table::count;
use crate::output::{self, Outcome, say};
use crate::samples;

/// Set everything up: read the logs, tell the agents, start the daemon
///
/// The one command for a new machine. It asks before it changes anything of the agents, and running it
/// again does only what is left to do.
#[derive(Debug, clap::Args)]
pub struct UpArgs {
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

pub fn run(app: &App<'_>, args: &UpArgs) -> anyhow::Result<Outcome> {
    if args.sample {
        return show_sample(app, args.json);
    }
    let ingested = ingest::ingest(app, &LogArgs::default())?;
    if !args.json {
        ingested.say();
    }
    if ingested.sweep.interrupted {
        return Ok(Outcome::Interrupted);
    }
    let agents = tell_agents(app, args)?;
    let daemon = if args.no_daemon {
        Daemon::Absent
    } else {
        match daemon::start(app, None) {
            Ok(_) => Daemon::Started,
            Err(error) => Daemon::Failed(format!("{error:#}")),
        }
    };
    let is_failed = !agents.refused.is_empty();
    if args.json {
        output::json(&Report {
            ingest: ingested.report(),
            agents,
            daemon,
        })?;
    } else {
        say_daemon(&daemon);
        say_next(&ingested);
    }
    Ok(if is_failed {
        Outcome::Failed
    } else {
        Outcome::Done
    })
}

#[derive(Serialize)]
struct Report<'a> {
    ingest: ingest::Report<'a>,
    agents: Agents,
    daemon: Daemon,
}

/// What became of telling the agents.
#[derive(Serialize)]
struct Agents {
    found: Vec<Flavor>,
    /// Files that were changed.
    changed: Vec<PathBuf>,
    /// Files that would change, had somebody agreed.
    pending: Vec<PathBuf>,
    refused: Vec<PathBuf>,
    notes: Vec<String>,
}

/// Offers to tell the agents. Who cannot be asked is told how to do it.
fn tell_agents(app: &App<'_>, args: &UpArgs) -> anyhow::Result<Agents> {
    let places = &app.environment.places;
    let here = install::here(places, &app.environment.path);
    let program = Program::of(app.environment);
    let mut record = Record::load(&app.home)?;
    let mut plan = install::plan(&here, places, &program, &record);
    plan.notes.extend(command::home_note(app));
    let report = command::Report::new(Some(&program), &here, &plan);
    let is_new = !plan.changes.is_empty();
    if !args.json && !here.is_empty() {
        say("");
        report.say(app);
    }
    let can_ask = app.environment.watched && app.environment.asked && !args.json;
    let agreed = is_new && (args.yes || (can_ask && confirmed(app, "Change these files? [y/N]")?));
    if agreed {
        for change in &plan.changes {
            apply::apply(&app.home, &mut record, change)?;
        }
    }
    if !args.json {
        let files = count(plan.changes.len(), "file");
        match (is_new, agreed) {
            (true, true) => {
                say(&format!("Changed {files}."));
                report.say_notes();
            }
            (true, false) => say(&format!(
                "Left {files} as they are; `throughline install` changes them."
            )),
            (false, _) if here.is_empty() => say("No agent was found that could be told."),
            (false, _) => say("The agents know of Throughline."),
        }
    }
    let paths: Vec<_> = plan.changes.iter().map(|it| it.path.clone()).collect();
    let (changed, pending) = if agreed {
        (paths, Vec::new())
    } else {
        (Vec::new(), paths)
    };
    Ok(Agents {
        found: here.iter().map(|agent| agent.flavor).collect(),
        changed,
        pending,
        refused: plan.refused.iter().map(|it| it.path.clone()).collect(),
        notes: plan.notes,
    })
}

fn say_daemon(daemon: &Daemon) {
    match daemon {
        Daemon::Started => say("The daemon runs: what agents write is read as they write it."),
        Daemon::Absent => say("`throughline watch` keeps reading while agents work."),
        Daemon::Failed(why) => say(&format!(
            "warning: the daemon did not start: {why}; everything works without it"
        )),
    }
}

fn say_next(ingested: &Ingested) {
    say("");
    if ingested.sweep.discovered == 0 {
        say("There are no sessions yet: work with an agent, or look at sample ones with");
        say("  throughline up --sample");
        return;
    }
    say("Next:");
    say("  throughline search WORDS   find something in your sessions");
    say("  throughline sessions       list them");
    say("  throughline doctor         see where you stand");
}

/// Reads the sample sessions into a memory beside the usual one.
fn show_sample(app: &App<'_>, json: bool) -> anyhow::Result<Outcome> {
    let mut name = app.home.file_name().unwrap_or_default().to_owned();
    name.push("-sample");
    let home = app.home.with_file_name(name);
    let logs = home.join("logs");
    samples::write(&logs)?;
    let sample = App {
        environment: app.environment,
        config: Config::default(),
        config_path: app.config_path.clone(),
        home,
    };
    let ingested = ingest::ingest(&sample, &LogArgs::in_folder(logs))?;
    if json {
        output::json(&ingested.report())?;
        return Ok(Outcome::Done);
    }
    ingested.say();
    say("");
    sessions::list_recent(&sample)?;
    let home = output::shell::quote(&sample.home.display().to_string());
    say("");
    say("These are samples, in a memory of their own. Try:");
    say(&format!("  throughline --home {home} search threshold"));
    say(&format!("  throughline --home {home} show 4c5420d7"));
    say(&format!("Remove them with: rm -r {home}"));
    Ok(Outcome::Done)
}
