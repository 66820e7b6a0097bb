//! `throughline install`

use std::io::{BufRead, stdin};
use std::path::{Path, PathBuf};

use memory::Flavor;
use serde::Serialize;

use crate::commands::{App, parse_flavor};
use crate::install::agents::{INTEGRATIONS, Integration};
use crate::install::plan::Change;
use crate::install::program::Program;
use crate::install::record::Record;
use crate::install::{self, Plan, Refusal, apply, plugin, show};
use crate::output::table::count;
use crate::output::text::Paint;
use crate::output::{self, Outcome, hinted, say, say_painted};

/// Tell the agents on this machine of Throughline
///
/// Adds a hook and a server to the configuration of each agent, after showing what changes and asking.
/// Every other byte of those files stays, and `throughline uninstall` brings them back as they were.
/// Running it twice changes nothing.
#[derive(Debug, clap::Args)]
pub struct InstallArgs {
    /// Only these agents; without any, those that are found on this machine
    #[arg(value_name = "AGENT", value_parser = parse_flavor)]
    agents: Vec<Flavor>,

    #[command(flatten)]
    how: HowArgs,

    /// Write the plugin for Claude Code, Codex CLI, Copilot CLI, Gemini CLI and opencode into this folder,
    /// instead of changing anything
    #[arg(long, value_name = "DIR", conflicts_with = "agents")]
    plugin_dir: Option<PathBuf>,
}

/// How agents' files are changed.
#[derive(Debug, Default, clap::Args)]
pub struct HowArgs {
    /// Show what would change, and change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Do not ask
    #[arg(long, short = 'y')]
    pub yes: bool,

    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

pub fn run(app: &App<'_>, args: &InstallArgs) -> anyhow::Result<Outcome> {
    if let Some(folder) = &args.plugin_dir {
        return write_plugin(app, folder);
    }
    let agents = chosen(app, &args.agents)?;
    if agents.is_empty() {
        if args.how.json {
            let nothing = Plan::default();
            output::json(&Report::new(None, &agents, &nothing))?;
        }
        say("No agent was found that can be told of Throughline.");
        say(&format!("hint: name one: {}", names()));
        return Ok(Outcome::NothingFound);
    }
    let program = Program::of(app.environment);
    let mut record = Record::load(&app.home)?;
    let mut plan = install::plan(&agents, &app.environment.places, &program, &record);
    plan.notes.extend(home_note(app));
    let report = Report::new(Some(&program), &agents, &plan);
    carry_out(app, &args.how, &mut record, &plan, &report, &INSTALL)
}

/// What the two commands say differently.
pub struct Words {
    pub nothing: &'static str,
    pub question: &'static str,
    pub declined: &'static str,
    pub done: &'static str,
    pub would: &'static str,
}

const INSTALL: Words = Words {
    nothing: "Nothing to change: the agents know of Throughline.",
    question: "Change these files? [y/N]",
    declined: "Nothing was changed.",
    done: "Changed",
    would: "Would change",
};

/// Shows a plan, asks, and carries it out.
pub fn carry_out(
    app: &App<'_>,
    how: &HowArgs,
    record: &mut Record,
    plan: &Plan,
    report: &Report<'_>,
    words: &Words,
) -> anyhow::Result<Outcome> {
    if !how.json {
        report.say(app);
    }
    let mut applied = false;
    if how.dry_run || plan.changes.is_empty() {
        if !how.json && plan.changes.is_empty() && plan.refused.is_empty() {
            say(words.nothing);
        } else if !how.json {
            let files = count(plan.changes.len(), "file");
            say(&format!("{} {files}.", words.would));
        }
    } else {
        if !how.yes && !confirmed(app, words.question)? {
            say(words.declined);
            return Ok(Outcome::NothingFound);
        }
        for change in &plan.changes {
            apply::apply(&app.home, record, change)?;
        }
        applied = true;
        if !how.json {
            let files = count(plan.changes.len(), "file");
            say(&format!("{} {files}.", words.done));
            report.say_notes();
        }
    }
    if how.json {
        output::json(&report.with(applied))?;
    }
    Ok(if plan.refused.is_empty() {
        Outcome::Done
    } else {
        Outcome::Failed
    })
}

/// Asks the person at the terminal.
pub fn confirmed(app: &App<'_>, question: &str) -> anyhow::Result<bool> {
    if !app.environment.watched || !app.environment.asked {
        return Err(hinted(
            "nobody is there to confirm it",
            "add --yes, or see with --dry-run what would change",
        ));
    }
    say(question);
    let mut answer = String::new();
    stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Returns the agents that were named, or those of this machine.
pub fn chosen(app: &App<'_>, named: &[Flavor]) -> anyhow::Result<Vec<&'static Integration>> {
    if named.is_empty() {
        return Ok(install::here(
            &app.environment.places,
            &app.environment.path,
        ));
    }
    let mut agents = Vec::new();
    for flavor in named {
        let Some(integration) = Integration::of(*flavor) else {
            return Err(hinted(
                format!("{} cannot be told of Throughline", flavor.title()),
                format!(
                    "its sessions are read all the same; those that can are {}",
                    names()
                ),
            ));
        };
        agents.push(integration);
    }
    Ok(agents)
}

fn names() -> String {
    let names: Vec<_> = INTEGRATIONS.iter().map(|it| it.flavor.name()).collect();
    names.join(", ")
}

/// Agents start us without our options; what they start must find the same memory.
pub fn home_note(app: &App<'_>) -> Option<String> {
    (app.home != app.environment.data_dir).then(|| {
        format!(
            "Memory lies in {}: agents find it only when THROUGHLINE_HOME says so where they are started.",
            app.home.display()
        )
    })
}

fn write_plugin(app: &App<'_>, folder: &Path) -> anyhow::Result<Outcome> {
    plugin::write(folder)?;
    let folder = app.environment.cwd.join(folder);
    let folder = output::shell::quote(&folder.display().to_string());
    say(&format!(
        "Wrote the plugin to {folder}. Install it with the agent's own commands:"
    ));
    for line in [
        format!(
            "claude plugin marketplace add {folder} && claude plugin install throughline@throughline"
        ),
        format!(
            "codex plugin marketplace add {folder} && codex plugin add throughline@throughline"
        ),
        format!(
            "copilot plugin marketplace add {folder} && copilot plugin install throughline@throughline"
        ),
        format!("gemini extensions install {folder}/gemini"),
        format!("cp {folder}/opencode/throughline.js ~/.config/opencode/plugin/"),
    ] {
        say(&format!("  {line}"));
    }
    let program = Program::of(app.environment);
    if program.word != "throughline" {
        say("warning: throughline is not on PATH, where the plugin looks for it");
    }
    Ok(Outcome::Done)
}

/// What a plan comes to, for people and programs.
#[derive(Serialize)]
pub struct Report<'a> {
    /// How agents start us.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(skip)]
    why: Option<&'a str>,
    agents: Vec<Flavor>,
    changes: Vec<Changed<'a>>,
    refused: Vec<Refused<'a>>,
    notes: &'a [String],
    applied: bool,
    #[serde(skip)]
    plan: &'a Plan,
}

#[derive(Clone, Serialize)]
struct Changed<'a> {
    agent: Flavor,
    file: &'a Path,
    action: &'static str,
    diff: String,
}

#[derive(Clone, Serialize)]
struct Refused<'a> {
    agent: Flavor,
    file: &'a Path,
    why: &'a str,
}

impl<'a> Report<'a> {
    pub fn new(program: Option<&'a Program>, agents: &[&Integration], plan: &'a Plan) -> Self {
        Self {
            command: program.map(|program| program.hook("")),
            why: program.map(|program| program.why.as_str()),
            agents: agents.iter().map(|agent| agent.flavor).collect(),
            changes: plan.changes.iter().map(Changed::new).collect(),
            refused: plan.refused.iter().map(Refused::new).collect(),
            notes: &plan.notes,
            applied: false,
            plan,
        }
    }

    fn with(&self, applied: bool) -> Self {
        Self {
            command: self.command.clone(),
            agents: self.agents.clone(),
            changes: self.changes.clone(),
            refused: self.refused.clone(),
            applied,
            ..*self
        }
    }

    pub fn say(&self, app: &App<'_>) {
        let titles: Vec<_> = self.agents.iter().map(|agent| agent.title()).collect();
        if !titles.is_empty() {
            say(&format!("Agents: {}.", titles.join(", ")));
        }
        if let (Some(command), Some(why)) = (&self.command, self.why)
            && !self.changes.is_empty()
        {
            say(&format!("They start `{command}`: {why}."));
        }
        let paint = Paint {
            color: app.environment.color && app.environment.watched,
        };
        for change in &self.plan.changes {
            let path = change.path.display();
            say(&format!("\n  {} {path}", action(change)));
            say_painted(show::diff(change, paint).trim_end());
        }
        for refusal in &self.plan.refused {
            say(&format!(
                "warning: {} is left as it is: {}",
                refusal.path.display(),
                refusal.why
            ));
        }
        if self.changes.is_empty() {
            self.say_notes();
        } else {
            say("");
        }
    }

    pub fn say_notes(&self) {
        for note in self.notes {
            say(&format!("note: {note}"));
        }
    }
}

impl<'a> Changed<'a> {
    fn new(change: &'a Change) -> Self {
        Self {
            agent: change.agent,
            file: &change.path,
            action: action(change),
            diff: show::diff(change, Paint { color: false }),
        }
    }
}

impl<'a> Refused<'a> {
    fn new(refusal: &'a Refusal) -> Self {
        Self {
            agent: refusal.agent,
            file: &refusal.path,
            why: &refusal.why,
        }
    }
}

fn action(change: &Change) -> &'static str {
    match (&change.before, &change.after) {
        (None, _) => "create",
        (_, None) => "remove",
        _ => "change",
    }
}
