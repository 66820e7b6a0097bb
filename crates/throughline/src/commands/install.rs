//! `throughline install`

use std::io::{BufRead, stdin};
use std::path::{Path, PathBuf};

use memory::Flavor;
use serde::Serialize;

use crate::commands::{App, parse_flavor};
use crate::install::agents::{INTEGRATIONS, Integration};
use crate::install::plan::ConfigFileChange;
use crate::install::program::Program;
use crate::install::record::InstallManifest;
use crate::install::{self, InstallPlan, SkippedFile, apply, plugin, show};
use crate::output::table::count;
use crate::output::text::TextStyle;
use crate::output::{self, Exit, error_with_hint, say, say_styled};

/// Tell the agents on this machine of Throughline
///
/// Adds a hook and a server to the configuration of each agent, after showing what changes and asking.
/// Every other byte of those files stays, and `throughline uninstall` brings them back as they were.
/// Running it twice changes nothing.
#[derive(Debug, clap::Args)]
pub(crate) struct InstallArgs {
    /// Only these agents; without any, those that are found on this machine
    #[arg(value_name = "AGENT", value_parser = parse_flavor)]
    agents: Vec<Flavor>,

    #[command(flatten)]
    apply: ApplyArgs,

    /// Write the plugin for Claude Code, Codex CLI, Copilot CLI, Gemini CLI and opencode into this folder,
    /// instead of changing anything
    #[arg(long, value_name = "DIR", conflicts_with = "agents")]
    plugin_dir: Option<PathBuf>,
}

/// How agents' files are changed.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct ApplyArgs {
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Do not ask
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,

    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &InstallArgs) -> anyhow::Result<Exit> {
    if let Some(folder) = &args.plugin_dir {
        return write_plugin(app, folder);
    }
    let agents = select_agents(app, &args.agents)?;
    if agents.is_empty() {
        if args.apply.json {
            let nothing = InstallPlan::default();
            output::print_json(&InstallReport::new(None, &agents, &nothing))?;
        }
        say!("No agent was found that can be told of Throughline.");
        say!("hint: name one: {}", integration_names());
        return Ok(Exit::NothingFound);
    }
    let program = Program::of(app.environment);
    let mut record = InstallManifest::load(&app.home)?;
    let mut plan = install::plan_install(&agents, &app.environment.places, &program, &record);
    plan.notes.extend(custom_home_note(app));
    let report = InstallReport::new(Some(&program), &agents, &plan);
    apply_plan(app, &args.apply, &mut record, &plan, &report, &INSTALL)
}

/// What the two commands say differently.
pub(crate) struct InstallMessages {
    pub(crate) nothing: &'static str,
    pub(crate) question: &'static str,
    pub(crate) declined: &'static str,
    pub(crate) done: &'static str,
    pub(crate) would: &'static str,
}

const INSTALL: InstallMessages = InstallMessages {
    nothing: "Nothing to change: the agents know of Throughline.",
    question: "Change these files? [y/N]",
    declined: "Nothing was changed.",
    done: "Changed",
    would: "Would change",
};

/// Shows a plan, asks, and carries it out.
pub(crate) fn apply_plan(
    app: &App<'_>,
    how: &ApplyArgs,
    record: &mut InstallManifest,
    plan: &InstallPlan,
    report: &InstallReport<'_>,
    words: &InstallMessages,
) -> anyhow::Result<Exit> {
    if !how.json {
        report.print(app);
    }
    let mut applied = false;
    if how.dry_run || plan.changes.is_empty() {
        if !how.json && plan.changes.is_empty() && plan.skipped.is_empty() {
            say(words.nothing);
        } else if !how.json {
            let files = count(plan.changes.len(), "file");
            say!("{} {files}.", words.would);
        }
    } else {
        if !how.yes && !confirm(app, words.question)? {
            say(words.declined);
            return Ok(Exit::NothingFound);
        }
        for change in &plan.changes {
            apply::apply_change(&app.home, record, change)?;
        }
        applied = true;
        if !how.json {
            let files = count(plan.changes.len(), "file");
            say!("{} {files}.", words.done);
            report.print_notes();
        }
    }
    if how.json {
        output::print_json(&report.with_applied(applied))?;
    }
    Ok(if plan.skipped.is_empty() {
        Exit::Done
    } else {
        Exit::Failed
    })
}

/// Asks the person at the terminal.
pub(crate) fn confirm(app: &App<'_>, question: &str) -> anyhow::Result<bool> {
    if !app.environment.stderr_is_terminal || !app.environment.stdin_is_terminal {
        return Err(error_with_hint(
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
pub(crate) fn select_agents(
    app: &App<'_>,
    named: &[Flavor],
) -> anyhow::Result<Vec<&'static Integration>> {
    if named.is_empty() {
        return Ok(install::detect_agents(
            &app.environment.places,
            &app.environment.path,
        ));
    }
    let mut agents = Vec::new();
    for flavor in named {
        let Some(integration) = Integration::for_flavor(*flavor) else {
            return Err(error_with_hint(
                format!("{} cannot be told of Throughline", flavor.title()),
                format!(
                    "its sessions are read all the same; those that can are {}",
                    integration_names()
                ),
            ));
        };
        agents.push(integration);
    }
    Ok(agents)
}

fn integration_names() -> String {
    let names: Vec<_> = INTEGRATIONS.iter().map(|it| it.flavor.name()).collect();
    names.join(", ")
}

/// Agents start us without our options; what they start must find the same memory.
pub(crate) fn custom_home_note(app: &App<'_>) -> Option<String> {
    (app.home != app.environment.data_dir).then(|| {
        format!(
            "Memory lies in {}: agents find it only when THROUGHLINE_HOME says so where they are started.",
            app.home.display()
        )
    })
}

fn write_plugin(app: &App<'_>, folder: &Path) -> anyhow::Result<Exit> {
    plugin::write_plugin_files(folder)?;
    let folder = app.environment.cwd.join(folder);
    let folder = output::shell::quote(&folder.display().to_string());
    say!("Wrote the plugin to {folder}. Install it with the agent's own commands:");
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
        say!("  {line}");
    }
    let program = Program::of(app.environment);
    if program.command != "throughline" {
        say!("warning: throughline is not on PATH, where the plugin looks for it");
    }
    Ok(Exit::Done)
}

/// What a plan comes to, for people and programs.
#[derive(Serialize)]
pub(crate) struct InstallReport<'a> {
    /// How agents start us.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(skip)]
    reason: Option<&'a str>,
    agents: Vec<Flavor>,
    changes: Vec<FileChangeReport<'a>>,
    refused: Vec<SkippedFileReport<'a>>,
    notes: &'a [String],
    applied: bool,
    #[serde(skip)]
    plan: &'a InstallPlan,
}

#[derive(Clone, Serialize)]
struct FileChangeReport<'a> {
    agent: Flavor,
    file: &'a Path,
    action: &'static str,
    diff: String,
}

#[derive(Clone, Serialize)]
struct SkippedFileReport<'a> {
    agent: Flavor,
    file: &'a Path,
    why: &'a str,
}

impl<'a> InstallReport<'a> {
    pub(crate) fn new(
        program: Option<&'a Program>,
        agents: &[&Integration],
        plan: &'a InstallPlan,
    ) -> Self {
        Self {
            command: program.map(|program| program.hook_command("")),
            reason: program.map(|program| program.reason.as_str()),
            agents: agents.iter().map(|agent| agent.flavor).collect(),
            changes: plan.changes.iter().map(FileChangeReport::new).collect(),
            refused: plan.skipped.iter().map(SkippedFileReport::new).collect(),
            notes: &plan.notes,
            applied: false,
            plan,
        }
    }

    fn with_applied(&self, applied: bool) -> Self {
        Self {
            command: self.command.clone(),
            agents: self.agents.clone(),
            changes: self.changes.clone(),
            refused: self.refused.clone(),
            applied,
            ..*self
        }
    }

    pub(crate) fn print(&self, app: &App<'_>) {
        let titles: Vec<_> = self.agents.iter().map(|agent| agent.title()).collect();
        if !titles.is_empty() {
            say!("Agents: {}.", titles.join(", "));
        }
        if let (Some(command), Some(why)) = (&self.command, self.reason)
            && !self.changes.is_empty()
        {
            say!("They start `{command}`: {why}.");
        }
        let paint = TextStyle {
            color: app.environment.color && app.environment.stderr_is_terminal,
        };
        for change in &self.plan.changes {
            let path = change.path.display();
            say!("\n  {} {path}", change_action(change));
            say_styled(show::diff(change, paint).trim_end());
        }
        for refusal in &self.plan.skipped {
            say!(
                "warning: {} is left as it is: {}",
                refusal.path.display(),
                refusal.reason
            );
        }
        if self.changes.is_empty() {
            self.print_notes();
        } else {
            say!("");
        }
    }

    pub(crate) fn print_notes(&self) {
        for note in self.notes {
            say!("note: {note}");
        }
    }
}

impl<'a> FileChangeReport<'a> {
    fn new(change: &'a ConfigFileChange) -> Self {
        Self {
            agent: change.agent,
            file: &change.path,
            action: change_action(change),
            diff: show::diff(change, TextStyle { color: false }),
        }
    }
}

impl<'a> SkippedFileReport<'a> {
    fn new(refusal: &'a SkippedFile) -> Self {
        Self {
            agent: refusal.agent,
            file: &refusal.path,
            why: &refusal.reason,
        }
    }
}

fn change_action(change: &ConfigFileChange) -> &'static str {
    match (&change.before, &change.after) {
        (None, _) => "create",
        (_, None) => "remove",
        _ => "change",
    }
}
