//! `throughline install`

use std::path::{Path, PathBuf};

use memory::Flavor;
use serde::Serialize;

use crate::commands::{App, parse_flavor};
use crate::install::agents::{INTEGRATIONS, Integration};
use crate::install::diff::DiffLength;
use crate::install::manifest::InstallManifest;
use crate::install::plan::ConfigFileChange;
use crate::install::program::{BuildFolderPolicy, Program};
use crate::install::{self, InstallPlan, SkippedFile, diff, plugin};
use crate::output::table::count;
use crate::output::text::{TextStyle, sanitize};
use crate::output::wrap::wrap_line;
use crate::output::{self, Exit, error_with_hint, say, say_styled};

/// Install Throughline into the coding agents on this machine
///
/// Adds hooks and an MCP server to the configuration of each agent, after showing the changes and
/// asking for confirmation. The rest of the files is not changed, and `throughline uninstall`
/// restores them byte for byte. Running it twice changes nothing.
#[derive(Debug, clap::Args)]
pub(crate) struct InstallArgs {
    /// Only these agents [default: all agents found on this machine]
    #[arg(value_name = "AGENT", value_parser = parse_flavor)]
    agents: Vec<Flavor>,

    #[command(flatten)]
    apply: ApplyArgs,

    #[command(flatten)]
    program: ProgramArgs,

    /// Write the plugin for Claude Code, Codex CLI, Copilot CLI, Gemini CLI, opencode and Pi to
    /// this folder instead of installing
    #[arg(long, value_name = "DIR", conflicts_with = "agents")]
    plugin_dir: Option<PathBuf>,
}

/// Which program the agents run.
#[derive(Debug, clap::Args)]
pub(crate) struct ProgramArgs {
    /// Let agents run this program where it is, even in a build folder
    ///
    /// Without this, a program in the output folder of a build that is not on PATH is copied to
    /// `~/.local/bin`.
    #[arg(long)]
    no_copy: bool,
}

impl ProgramArgs {
    pub(crate) fn policy(&self) -> BuildFolderPolicy {
        if self.no_copy {
            BuildFolderPolicy::RunInPlace
        } else {
            BuildFolderPolicy::Copy
        }
    }
}

/// How changes to the agents' files are applied.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct ApplyArgs {
    /// Show what would change, without changing it
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Do not ask for confirmation
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,

    /// Print the result as JSON
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
        say!("Found no agent into which Throughline can be installed.");
        say!("hint: give the name of an agent: {}", integration_names());
        return Ok(Exit::NothingFound);
    }
    let program = Program::of(app.environment, args.program.policy());
    let mut manifest = InstallManifest::load(&app.home)?;
    let mut plan = install::plan_install(&agents, &app.environment.places, &program, &manifest);
    plan.notes.extend(custom_home_note(app));
    let report = InstallReport::new(Some(&program), &agents, &plan);
    let exit = apply_plan(app, &args.apply, &mut manifest, &plan, &report, &INSTALL)?;
    // Hooks do nothing without a store, because a hook alone does not say that its user wants one.
    if exit == Exit::Done && !args.apply.dry_run {
        drop(app.open()?);
    }
    Ok(exit)
}

/// The messages in which `install` and `uninstall` differ.
pub(crate) struct InstallMessages {
    pub(crate) nothing: &'static str,
    pub(crate) question: &'static str,
    pub(crate) declined: &'static str,
    pub(crate) done: &'static str,
}

const INSTALL: InstallMessages = InstallMessages {
    nothing: "Nothing to change: Throughline is already installed.",
    question: "Change these files?",
    declined: "Nothing was changed.",
    done: "Changed",
};

/// Shows a plan, asks for confirmation, and applies it.
pub(crate) fn apply_plan(
    app: &App<'_>,
    how: &ApplyArgs,
    manifest: &mut InstallManifest,
    plan: &InstallPlan,
    report: &InstallReport<'_>,
    words: &InstallMessages,
) -> anyhow::Result<Exit> {
    if !how.json {
        let target = if how.dry_run {
            ReportTarget::Data
        } else {
            ReportTarget::Messages
        };
        report.print(app, target)?;
    }
    let mut applied = false;
    let files = count(plan.changes.len(), "file");
    if plan.is_empty() {
        if !how.json && plan.skipped.is_empty() {
            say(words.nothing);
        }
    } else if how.dry_run {
        if !how.json {
            say!("Would change {files}.");
        }
    } else {
        if !how.yes && !confirm(app, words.question)? {
            say(words.declined);
            return Ok(Exit::NothingFound);
        }
        plan.apply(&app.home, manifest)?;
        applied = true;
        if !how.json {
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

/// Asks whether to change the files that were shown.
pub(crate) fn confirm(app: &App<'_>, question: &str) -> anyhow::Result<bool> {
    let instead = "add --yes, or use --dry-run to see what would change";
    app.confirm(question, instead, || {})
}

/// Returns the agents with these names, or without names the agents on this machine.
pub(crate) fn select_agents(
    app: &App<'_>,
    named: &[Flavor],
) -> anyhow::Result<Vec<&'static Integration>> {
    if named.is_empty() {
        return Ok(install::detect_agents(
            &app.environment.places, &app.environment.path,
        ));
    }
    let mut agents = Vec::new();
    for flavor in named {
        let Some(integration) = Integration::for_flavor(*flavor) else {
            return Err(error_with_hint(
                format!("Throughline cannot be installed into {}", flavor.title()),
                format!(
                    "its sessions are read anyway; the agents with hooks are {}",
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

/// Returns a note if a custom data folder is used: agents run hooks without our options, so only
/// the environment can tell them of the folder.
pub(crate) fn custom_home_note(app: &App<'_>) -> Option<String> {
    (app.home != app.environment.data_dir).then(|| {
        format!(
            "The data folder is {}. Set THROUGHLINE_HOME to it in the environment of the agents, \
             or their hooks use the default folder.",
            app.home.display()
        )
    })
}

fn write_plugin(app: &App<'_>, folder: &Path) -> anyhow::Result<Exit> {
    plugin::write_plugin_files(folder)?;
    let folder = app.environment.cwd.join(folder);
    let folder = output::shell::quote(&folder.display().to_string());
    say!("Wrote the plugin to {folder}. Install it with the commands of the agents:");
    for line in [
        format!(
            "claude plugin marketplace add {folder} && claude plugin install \
             throughline@throughline"
        ),
        format!(
            "codex plugin marketplace add {folder} && codex plugin add throughline@throughline"
        ),
        format!(
            "copilot plugin marketplace add {folder} && copilot plugin install \
             throughline@throughline"
        ),
        format!("gemini extensions install {folder}/gemini"),
        format!("cp {folder}/opencode/throughline.js ~/.config/opencode/plugin/"),
        format!("cp {folder}/pi/throughline.ts ~/.pi/agent/extensions/"),
    ] {
        say!("  {line}");
    }
    let program = Program::of(app.environment, BuildFolderPolicy::RunInPlace);
    if program.command != "throughline" {
        say!("warning: the plugin runs `throughline`, which is not on PATH");
    }
    Ok(Exit::Done)
}

/// Where a plan is printed: as the data that the command was asked for, or as a message before a
/// question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportTarget {
    Data,
    Messages,
}

/// A plan, formatted for people and for programs.
#[derive(Serialize)]
pub(crate) struct InstallReport<'a> {
    /// The command line of the hooks.
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

    /// Prints the planned changes.
    pub(crate) fn print(&self, app: &App<'_>, target: ReportTarget) -> anyhow::Result<()> {
        let color = app.environment.color
            && (target == ReportTarget::Data || app.environment.stderr_is_terminal);
        let length = match target {
            ReportTarget::Data => DiffLength::Whole,
            ReportTarget::Messages => DiffLength::Beginning,
        };
        let text = self.format_changes(length, TextStyle { color });
        match target {
            ReportTarget::Data => output::print_text(&text)?,
            ReportTarget::Messages => say_styled(text.trim_end()),
        }
        for refusal in &self.plan.skipped {
            say!(
                "warning: {} was not changed: {}",
                refusal.path.display(),
                refusal.reason
            );
        }
        if self.plan.is_empty() {
            self.print_notes();
        } else {
            say!("");
        }
        Ok(())
    }

    fn format_changes(&self, length: DiffLength, paint: TextStyle) -> String {
        let mut text = String::new();
        let titles: Vec<_> = self.agents.iter().map(|agent| agent.title()).collect();
        if !titles.is_empty() {
            let line = format!("Agents: {}.", titles.join(", "));
            let columns = crate::environment::message_columns().unwrap_or(usize::MAX);
            text += &(wrap_line(&line, columns).join("\n") + "\n");
        }
        if let (Some(command), Some(why)) = (&self.command, self.reason)
            && !self.plan.is_empty()
        {
            text += &sanitize(&format!("They will run `{command}`: {why}.\n"));
        }
        if let Some(copy) = &self.plan.program_copy {
            let (from, to) = (copy.from.display(), copy.to.display());
            text += &sanitize(&format!("\n  copy {from} to {to}\n"));
        }
        for change in &self.plan.changes {
            let path = change.path.display();
            text += &sanitize(&format!("\n  {} {path}\n", change_action(change)));
            text += &diff::format_diff(change, length, paint);
        }
        text
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
            diff: diff::format_diff(change, DiffLength::Whole, TextStyle { color: false }),
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
