//! `throughline ingest`

use std::collections::HashMap;
use std::io::Write;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use capture::flavor::ADAPTERS;
use capture::{Adapter, Discovery, Root, Sources, SweepControl, SweepProgress, SweepReport};
use distill::model_facts;
use indicatif::ProgressBar;
use memory::{Flavor, SessionId};
use serde::Serialize;
use serve::hook::{pending, run_follow_ups};
use store::retention::RetentionReport;
use store::{OpenMode, Store};

use crate::commands::{App, parse_flavor};
use crate::keychain::SystemKeychain;
use crate::output::progress::progress_bar;
use crate::output::table::{count, format_bytes};
use crate::output::text::sanitize;
use crate::output::{self, Exit, error_with_hint, say};
use crate::stages::{StageResults, StageRunner};

const PROGRESS: &str = "{wide_bar} {decimal_bytes}/{decimal_total_bytes} \
    at {decimal_bytes_per_sec}, {eta} left, {msg}";
/// At most this many warnings about logs are printed.
const WARNINGS_MAX: usize = 20;

/// Read the agents' session logs into the store
///
/// Finds the logs of the agents on this machine, reads what is new, removes secrets and stores the
/// rest. Then it updates the running summaries of live sessions, writes digests and extracts facts
/// for finished sessions, and applies the retention settings. Running it twice changes nothing;
/// after an interruption it continues where it stopped.
#[derive(Debug, clap::Args)]
pub(crate) struct IngestArgs {
    /// Find and parse the logs, but store nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    logs: LogArgs,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// Selects the logs to read.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct LogArgs {
    /// Only logs of this agent; can be repeated
    #[arg(long, value_name = "NAME", value_parser = parse_flavor)]
    agent: Vec<Flavor>,

    /// Search this folder instead of the agents' default folders; can be repeated
    ///
    /// A folder with logs, the home of an agent such as ~/.claude, or a folder with such homes.
    #[arg(long, value_name = "DIR")]
    root: Vec<PathBuf>,
}

impl LogArgs {
    /// Selects all logs in one folder.
    pub(crate) fn in_folder(folder: PathBuf) -> Self {
        Self {
            agent: Vec::new(),
            root: vec![folder],
        }
    }

    pub(crate) fn validate(&self) -> anyhow::Result<()> {
        for root in &self.root {
            root.metadata()
                .with_context(|| format!("cannot read {}", root.display()))?;
        }
        Ok(())
    }

    /// Returns whether all logs of all configured agents are selected.
    pub(crate) fn covers_all_agents(&self) -> bool {
        self.root.is_empty() && self.agent.is_empty()
    }
}

pub(crate) fn run(app: &App<'_>, args: &IngestArgs) -> anyhow::Result<Exit> {
    let ingested = if args.dry_run {
        dry_run(app, &args.logs)?
    } else {
        ingest(app, &args.logs)?
    };
    if args.json {
        output::print_json(&ingested.report())?;
    } else if args.dry_run {
        // What a dry run reports is its result, so it can be piped.
        let lines = describe_sweep(&ingested.sweep, "Would ingest").join("\n");
        writeln!(app.output(), "{}", sanitize(&lines))?;
        print_sweep_problems(&ingested.sweep);
    } else {
        ingested.print();
    }
    Ok(match &ingested.sweep {
        sweep if sweep.interrupted => Exit::Interrupted,
        sweep if sweep.failed > 0 => Exit::Failed,
        _ => ingested
            .stages
            .as_ref()
            .map_or(Exit::Done, |stages| stages.retention.exit(false)),
    })
}

/// The results of an ingest.
#[derive(Debug)]
pub(crate) struct IngestOutcome {
    pub(crate) sweep: SweepReport,
    /// `None` for a dry run.
    stages: Option<StageResults>,
}

/// Reads what is new and runs the stages that follow.
pub(crate) fn ingest(app: &App<'_>, logs: &LogArgs) -> anyhow::Result<IngestOutcome> {
    with_discovery(app, logs, |(sources, discovery, control), bar, stop| {
        let now = app.environment.now;
        let store = app.open()?;
        let mut sweep = capture::sweep_discovered(&store, sources, discovery, control, now)?;
        if logs.root.is_empty() && !sweep.interrupted {
            let found = newly_found(app, sources);
            if !found.roots.is_empty() {
                sweep.add(capture::sweep(&store, &found, control, now)?);
            }
        }
        serve::stages::record_sweep(&store, &sweep, now);
        let stages = StageRunner::new(app, &store, stop)?;
        if !sweep.interrupted {
            run_pending_follow_ups(&stages, sources);
        }
        bar.set_message("distilling");
        Ok(IngestOutcome {
            sweep,
            stages: Some(stages.run_all(now)?),
        })
    })
}

/// Parses what is new and writes nothing.
fn dry_run(app: &App<'_>, logs: &LogArgs) -> anyhow::Result<IngestOutcome> {
    with_discovery(app, logs, |(sources, discovery, control), _, _| {
        let cursors = if app.has_store() {
            app.open()?.cursors()?
        } else {
            HashMap::new()
        };
        Ok(IngestOutcome {
            sweep: capture::dry_run(&cursors, sources, discovery, control, app.environment.now),
            stages: None,
        })
    })
}

/// The logs to sweep: the capture setup, what was discovered, and how the sweep is stopped.
type SweepInputs<'a> = (&'a Sources, &'a Discovery, &'a SweepControl<'a>);

/// Finds the logs and calls `run` with what to read, under a progress bar.
fn with_discovery<T>(
    app: &App<'_>,
    logs: &LogArgs,
    run: impl FnOnce(SweepInputs<'_>, &ProgressBar, &Arc<AtomicBool>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    logs.validate()?;
    let stop = stop_on_interrupt()?;
    let sources = sources(app, logs)?;
    let discovery = sources.discover();
    let bar = if discovery.sources.is_empty() {
        ProgressBar::hidden()
    } else {
        progress_bar(app.environment, PROGRESS)
    };
    let show = |progress: SweepProgress| {
        bar.set_length(progress.total_bytes);
        bar.set_position(progress.read_bytes);
        bar.set_message(format!(
            "{} of {} logs",
            progress.sources, progress.sources_total
        ));
    };
    let control = SweepControl {
        stop: &stop,
        progress: &show,
    };
    let result = run((&sources, &discovery, &control), &bar, &stop);
    bar.finish_and_clear();
    result
}

impl IngestOutcome {
    pub(crate) fn report(&self) -> IngestReport<'_> {
        IngestReport::new(&self.sweep, self.stages.as_ref())
    }

    /// Prints the results as messages.
    pub(crate) fn print(&self) {
        for line in describe_sweep(&self.sweep, "Ingested") {
            say(&line);
        }
        print_sweep_problems(&self.sweep);
        if let Some(done) = &self.stages {
            done.retention.print();
            for line in done.report_lines() {
                say(&line);
            }
        }
        if self.sweep.discovered == 0 {
            say!(
                "hint: no logs were found; `throughline doctor` lists the folders that were \
                 searched, and --root DIR searches another one",
            );
        }
    }
}

/// The results of an ingest, as JSON.
#[derive(Serialize)]
pub(crate) struct IngestReport<'a> {
    #[serde(flatten)]
    sweep: &'a SweepReport,
    /// The number of sessions that got a digest.
    analyzed: usize,
    /// Facts found without a model. This and the fields below are absent in a dry run.
    facts: Option<distill::facts::FactReport>,
    facts_by_model: Option<&'a model_facts::stage::ModelFactReport>,
    summaries: Option<SummariesReport<'a>>,
    retention: Option<&'a RetentionReport>,
}

#[derive(Serialize)]
struct SummariesReport<'a> {
    looked: usize,
    written: &'a [SessionId],
    by_model: usize,
    refused: Option<&'a str>,
}

impl<'a> IngestReport<'a> {
    fn new(sweep: &'a SweepReport, done: Option<&'a StageResults>) -> Self {
        Self {
            sweep,
            analyzed: done.map_or(0, |done| done.retention.digested.analyzed),
            facts: done.and_then(|done| done.facts),
            facts_by_model: done.and_then(|done| done.model_facts.as_ref()),
            summaries: done.map(|done| SummariesReport {
                looked: done.summaries.examined,
                written: &done.summaries.written,
                by_model: done.summaries.by_model,
                refused: done.summaries.refused.as_deref(),
            }),
            retention: done.map(|done| &done.retention.retained),
        }
    }
}

/// Runs the follow-ups that hooks left while no daemon ran. If that fails, they stay pending; the
/// sweep has succeeded all the same.
fn run_pending_follow_ups(stages: &StageRunner<'_>, swept: &Sources) {
    let app = stages.app;
    let sources = Sources {
        // A sweep of all roots has already read every log that a hook may have reported.
        roots: if swept.all_roots {
            Vec::new()
        } else {
            default_roots(app, &swept.adapters)
        },
        all_roots: false,
        ..swept.clone()
    };
    let context = stages.context(&sources, app.environment.now);
    let drained = pending::drain(&app.home, |follow_ups| -> anyhow::Result<()> {
        Ok(run_follow_ups(follow_ups, &context)?)
    });
    if let Err(error) = drained {
        say!("warning: some deferred hook work failed: {error:#}");
    }
}

/// Returns a flag that Ctrl-C sets. Commands then finish what they are writing and exit; the next
/// run continues.
pub(crate) fn stop_on_interrupt() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))?;
    Ok(stop)
}

/// Returns the capture setup: the logs that were asked for, and the configured rules.
pub(crate) fn sources(app: &App<'_>, args: &LogArgs) -> anyhow::Result<Sources> {
    let adapters = adapters(app, args)?;
    Ok(Sources {
        roots: roots(app, args, &adapters),
        adapters,
        all_roots: args.covers_all_agents(),
        scope: app.config.scope(),
        archive: app.config.capture.archive,
        threads: threads(app),
    })
}

/// Returns the adapters of the agents that are captured.
fn adapters(app: &App<'_>, args: &LogArgs) -> anyhow::Result<Vec<&'static Adapter>> {
    let wanted = |flavor: Flavor| {
        if args.agent.is_empty() {
            app.config
                .capture
                .agents
                .iter()
                .any(|name| name == flavor.name())
        } else {
            args.agent.contains(&flavor)
        }
    };
    let adapters: Vec<_> = ADAPTERS
        .iter()
        .copied()
        .filter(|adapter| wanted(adapter.flavor()))
        .collect();
    if adapters.is_empty() {
        return Err(error_with_hint(
            "no agent is selected",
            format!(
                "add some to `agents` under [capture] in {}",
                app.config_path.display()
            ),
        ));
    }
    Ok(adapters)
}

/// Returns the folders of --root, or else the default ones.
fn roots(app: &App<'_>, args: &LogArgs, adapters: &[&Adapter]) -> Vec<Root> {
    if !args.root.is_empty() {
        // The folder does not say which agent wrote a log, so the adapters inspect its content.
        let root = |path: &PathBuf| Root {
            path: path.clone(),
            flavor: None,
        };
        return args.root.iter().map(root).collect();
    }
    default_roots(app, adapters)
}

/// Returns the folders where the agents keep their logs, by configuration or by default.
pub(crate) fn default_roots(app: &App<'_>, adapters: &[&Adapter]) -> Vec<Root> {
    let mut roots = Vec::new();
    for adapter in adapters {
        let flavor = adapter.flavor();
        let paths = match app.config.roots.get(flavor.name()) {
            Some(configured) => configured_roots(app, configured),
            None if flavor == Flavor::Aider => {
                let mut paths = adapter.roots(&app.environment.places);
                paths.extend(aider_histories(app));
                paths
            }
            None => adapter.roots(&app.environment.places),
        };
        roots.extend(paths.into_iter().map(|path| Root {
            path,
            flavor: Some(flavor),
        }));
    }
    roots
}

/// The most workspaces in which a history of Aider is looked for.
const WORKSPACES_MAX: usize = 1000;

/// Returns the histories of Aider in the known workspaces. Aider keeps one in each repository and
/// none in a common place.
fn aider_histories(app: &App<'_>) -> Vec<PathBuf> {
    if !app.has_store() {
        return Vec::new();
    }
    let workspaces = Store::open_with(&app.home, OpenMode::ReadOnly, &SystemKeychain)
        .and_then(|store| store.workspaces_matching("", WORKSPACES_MAX));
    let workspaces = workspaces.unwrap_or_else(|error| {
        tracing::debug!(%error, "cannot list the workspaces");
        Vec::new()
    });
    workspaces
        .iter()
        .map(|workspace| Path::new(&workspace.root).join(capture::flavor::AIDER_HISTORY))
        .filter(|path| path.is_absolute() && path.is_file())
        .collect()
}

/// Returns the sources that are known only since a sweep: histories of Aider in workspaces that the
/// logs of other agents named for the first time.
fn newly_found(app: &App<'_>, swept: &Sources) -> Sources {
    let mut histories = Vec::new();
    if swept.captures(Flavor::Aider) && !app.config.roots.contains_key(Flavor::Aider.name()) {
        histories = aider_histories(app);
        histories.retain(|path| swept.roots.iter().all(|known| known.path != *path));
    }
    let root = |path| Root {
        path,
        flavor: Some(Flavor::Aider),
    };
    Sources {
        roots: histories.into_iter().map(root).collect(),
        all_roots: false,
        ..swept.clone()
    }
}

/// Expands `~` in configured folders, and warns of those that do not exist: they are probably
/// mistakes, unlike the default folder of an agent that is not installed.
fn configured_roots(app: &App<'_>, configured: &[PathBuf]) -> Vec<PathBuf> {
    let home = &app.environment.places.home;
    let expand = |path: &PathBuf| match path.strip_prefix("~") {
        Ok(rest) => home.join(rest),
        Err(_) => path.clone(),
    };
    let paths: Vec<_> = configured.iter().map(expand).collect();
    for missing in paths.iter().filter(|path| !path.exists()) {
        let file = app.config_path.display();
        let missing = missing.display();
        say!("warning: {missing}, listed under [roots] in {file}, does not exist");
    }
    paths
}

pub(crate) fn threads(app: &App<'_>) -> usize {
    match app.config.capture.threads {
        // One more than there are processors, because batches are written in order and a thread
        // that is ahead waits for its turn.
        0 => 1 + std::thread::available_parallelism().map_or(1, NonZero::get),
        threads => threads,
    }
}

/// Returns what a sweep read and skipped, one sentence per line.
fn describe_sweep(sweep: &SweepReport, verb: &str) -> Vec<String> {
    let mut lines = vec![format!(
        "{verb} {} from {} ({}).",
        count(sweep.records, "record"),
        count(sweep.ingested, "log"),
        format_bytes(sweep.read_bytes),
    )];
    let mut notes = vec![
        format!("{} found", sweep.discovered),
        format!("{} unchanged", sweep.skipped_unchanged),
    ];
    if sweep.gone > 0 {
        notes.push(format!("{} deleted, their records kept", sweep.gone));
    }
    lines.push(format!("Logs: {}.", notes.join(", ")));
    match sweep.no_longer_in_source {
        0 => {}
        1 => lines.push("Kept 1 record that is no longer in its log.".to_owned()),
        lost => lines.push(format!(
            "Kept {lost} records that are no longer in their logs."
        )),
    }
    let skipped: Vec<_> = sweep
        .skipped_lines
        .iter()
        .map(|(reason, lines)| format!("{lines} {reason}"))
        .collect();
    if !skipped.is_empty() {
        lines.push(format!("Skipped lines: {}.", skipped.join(", ")));
    }
    if !sweep.unknown.is_empty() {
        let kinds: Vec<_> = sweep.unknown.keys().take(5).cloned().collect();
        lines.push(format!(
            "Skipped unknown entry types: {}.",
            kinds.join(", ")
        ));
    }
    if sweep.clamped > 0 {
        lines.push(format!(
            "Clamped token counts or costs that were out of range: {}.",
            count(sweep.clamped, "response"),
        ));
    }
    lines
}

fn print_sweep_problems(sweep: &SweepReport) {
    print_sweep_warnings(sweep);
    if sweep.failed > 0 {
        say!(
            "error: {} could not be stored; the others were\nhint: run `throughline doctor --deep` \
             to check the store, `throughline doctor --repair` to repair it",
            count(sweep.failed, "log"),
        );
    }
    if sweep.interrupted {
        say!("Interrupted; run the command again to continue.");
    }
}

/// Prints a warning for each log that could not be read.
pub(crate) fn print_sweep_warnings(sweep: &SweepReport) {
    for trouble in sweep.trouble.iter().take(WARNINGS_MAX) {
        say!("warning: {}: {}", trouble.path.display(), trouble.why);
    }
    if sweep.trouble.len() > WARNINGS_MAX {
        say!(
            "warning: {} more logs could not be read; --json lists all of them",
            sweep.trouble.len() - WARNINGS_MAX
        );
    }
}
