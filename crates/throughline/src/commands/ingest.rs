//! `throughline ingest`

use std::collections::HashMap;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use capture::flavor::ADAPTERS;
use capture::{Adapter, Discovery, Root, SweepPlan, SweepProgress, SweepReport};
use distill::model_facts;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use memory::{Flavor, SessionId};
use serde::Serialize;
use serve::hook::{FollowUpEnv, pending, run_follow_ups};
use store::Store;
use store::retention::RetentionReport;

use crate::commands::{App, parse_flavor};
use crate::output::table::{count, format_bytes};
use crate::output::{self, Exit, error_with_hint, say};
use crate::stages::{StageResults, StageRunner};

/// Read the agents' session logs into memory
///
/// Finds the logs of the agents on this machine, reads what is new in them, takes the secrets out and
/// stores the rest. Live sessions get a running summary, sessions that have gone quiet a digest and their
/// facts, and what the retention settings do not keep goes. Running it twice changes nothing; interrupted, it goes on where it stopped.
#[derive(Debug, clap::Args)]
pub(crate) struct IngestArgs {
    /// Discover and parse, and write nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    logs: LogArgs,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// Which logs are read.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct LogArgs {
    /// Only this agent's logs; may be given several times
    #[arg(long, value_name = "NAME", value_parser = parse_flavor)]
    agent: Vec<Flavor>,

    /// Look in this folder instead of the agents' own; may be given several times
    ///
    /// A folder of logs, an agent's home such as ~/.claude, or a folder that holds such homes.
    #[arg(long, value_name = "DIR")]
    root: Vec<PathBuf>,
}

impl LogArgs {
    /// Only the logs in this folder.
    pub(crate) fn in_folder(folder: PathBuf) -> Self {
        Self {
            agent: Vec::new(),
            root: vec![folder],
        }
    }

    pub(crate) fn validate(&self) -> anyhow::Result<()> {
        for root in &self.root {
            root.metadata()
                .with_context(|| format!("cannot look in {}", root.display()))?;
        }
        Ok(())
    }

    /// Says whether all of the agents' folders are meant.
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
        output::print_json(&ingested.print_sweep())?;
    } else {
        ingested.print();
    }
    Ok(match &ingested.sweep {
        sweep if sweep.interrupted => Exit::Interrupted,
        sweep if sweep.failed > 0 => Exit::Failed,
        _ => Exit::Done,
    })
}

/// What an ingest came to.
#[derive(Debug)]
pub(crate) struct IngestOutcome {
    pub(crate) sweep: SweepReport,
    /// `None` when nothing was to be written.
    stages: Option<StageResults>,
}

/// Reads what is new and does what follows from it.
pub(crate) fn ingest(app: &App<'_>, logs: &LogArgs) -> anyhow::Result<IngestOutcome> {
    with_sweep_plan(app, logs, |plan, bar, stop| {
        let now = app.environment.now;
        let store = app.open()?;
        let sweep = capture::sweep(&store, plan, now)?;
        if !sweep.interrupted {
            run_pending_follow_ups(app, &store, logs, stop);
        }
        bar.set_message("distilling");
        let stages = StageRunner::new(app, &store, stop)?;
        Ok(IngestOutcome {
            sweep,
            stages: Some(stages.run_all(now)?),
        })
    })
}

/// Reads what is new and writes nothing.
fn dry_run(app: &App<'_>, logs: &LogArgs) -> anyhow::Result<IngestOutcome> {
    with_sweep_plan(app, logs, |plan, _, _| {
        let cursors = if app.has_store() {
            app.open()?.cursors()?
        } else {
            HashMap::new()
        };
        Ok(IngestOutcome {
            sweep: capture::dry_run(&cursors, plan, app.environment.now),
            stages: None,
        })
    })
}

/// Finds the logs and calls `go` with what to read, under a progress bar.
fn with_sweep_plan<T>(
    app: &App<'_>,
    logs: &LogArgs,
    go: impl FnOnce(&SweepPlan<'_>, &ProgressBar, &Arc<AtomicBool>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    logs.validate()?;
    let stop = stop_on_interrupt()?;
    let adapters = adapters(app, logs)?;
    let found = capture::discover(&adapters, &roots(app, logs, &adapters));
    let bar = progress_bar(app, &found);
    let show = |progress: SweepProgress| {
        bar.set_length(progress.total_bytes);
        bar.set_position(progress.read_bytes);
        bar.set_message(format!(
            "{} of {} logs",
            progress.sources, progress.sources_total
        ));
    };
    let scope = app.config.scope();
    let plan = SweepPlan {
        adapters: &adapters,
        discovery: found,
        scope: &scope,
        threads: threads(app),
        stop: &stop,
        progress: &show,
        archive: app.config.capture.archive,
        all_roots: logs.covers_all_agents(),
    };
    let done = go(&plan, &bar, &stop);
    bar.finish_and_clear();
    done
}

impl IngestOutcome {
    pub(crate) fn print_sweep(&self) -> IngestReport<'_> {
        IngestReport::new(&self.sweep, self.stages.as_ref())
    }

    /// Says it to people.
    pub(crate) fn print(&self) {
        report(&self.sweep, self.stages.is_none());
        if let Some(done) = &self.stages {
            done.retention.print();
            for line in done.report_lines() {
                say(&line);
            }
        }
        if self.sweep.discovered == 0 {
            say!(
                "hint: no agent's logs were found; `throughline doctor` says where it looks, \
                and --root DIR looks elsewhere",
            );
        }
    }
}

/// What an ingest did.
#[derive(Serialize)]
pub(crate) struct IngestReport<'a> {
    #[serde(flatten)]
    sweep: &'a SweepReport,
    /// Sessions that got a digest.
    analyzed: usize,
    /// What was found without a model. Absent when nothing was looked for, as are those below.
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

/// Does what hooks left for later. Trouble with it is no trouble with the sweep: it goes on waiting.
fn run_pending_follow_ups(app: &App<'_>, store: &Store, args: &LogArgs, stop: &AtomicBool) {
    let done = adapters(app, args).and_then(|adapters| {
        // Whoever looked everywhere has read what hooks told of.
        let roots = if args.covers_all_agents() {
            Vec::new()
        } else {
            default_roots(app, &adapters)
        };
        let settings = crate::model::summary_settings(app)?;
        let summaries = app.config.summary.enabled && !store.is_encrypted();
        let works = FollowUpEnv {
            adapters: &adapters,
            roots: &roots,
            scope: &app.config.scope(),
            archive: app.config.capture.archive,
            threads: threads(app),
            summaries: summaries.then_some(&settings),
            facts: app.config.facts.extract,
            stop,
        };
        let now = app.environment.now;
        pending::drain(&app.home, |after| -> anyhow::Result<()> {
            Ok(run_follow_ups(store, &works, after, now)?)
        })
    });
    if let Err(error) = done {
        say!("warning: what hooks left is not all done: {error:#}");
    }
}

/// Returns a flag that Ctrl-C sets. What is being written is finished; the rest waits for the next
/// time.
pub(crate) fn stop_on_interrupt() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))?;
    Ok(stop)
}

/// Returns the adapters of the agents that are captured.
pub(crate) fn adapters(app: &App<'_>, args: &LogArgs) -> anyhow::Result<Vec<&'static dyn Adapter>> {
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
            "no agent is captured",
            format!("name some under `agents` in {}", app.config_path.display()),
        ));
    }
    Ok(adapters)
}

/// Returns the folders that were asked for, or the usual ones.
pub(crate) fn roots(app: &App<'_>, args: &LogArgs, adapters: &[&dyn Adapter]) -> Vec<Root> {
    if !args.root.is_empty() {
        // The agents that are asked for are the adapters; which of them wrote a file, its content
        // decides.
        let root = |path: &PathBuf| Root {
            path: path.clone(),
            flavor: None,
        };
        return args.root.iter().map(root).collect();
    }
    default_roots(app, adapters)
}

/// Returns the folders where the agents of this machine keep their logs.
pub(crate) fn default_roots(app: &App<'_>, adapters: &[&dyn Adapter]) -> Vec<Root> {
    let mut roots = Vec::new();
    for adapter in adapters {
        let flavor = adapter.flavor();
        let paths = match app.config.roots.get(flavor.name()) {
            Some(configured) => configured_roots(app, configured),
            None => adapter.roots(&app.environment.places),
        };
        roots.extend(paths.into_iter().map(|path| Root {
            path,
            flavor: Some(flavor),
        }));
    }
    roots
}

/// Returns the folders that the configuration names, with `~` for the user's home. One that is not
/// there is most likely a mistake, unlike the usual folder of an agent that is not installed.
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
        say!("warning: {missing}, named under [roots] in {file}, does not exist");
    }
    paths
}

pub(crate) fn threads(app: &App<'_>) -> usize {
    match app.config.capture.threads {
        // One more than there are processors: a thread that is ahead of its turn waits.
        0 => 1 + std::thread::available_parallelism().map_or(1, NonZero::get),
        threads => threads,
    }
}

fn progress_bar(app: &App<'_>, found: &Discovery) -> ProgressBar {
    if !app.environment.stderr_is_terminal || found.sources.is_empty() {
        return ProgressBar::hidden();
    }
    let style = "{bar:30} {bytes}/{total_bytes} at {bytes_per_sec}, {eta} left, {msg}";
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    match ProgressStyle::with_template(style) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn report(sweep: &SweepReport, dry_run: bool) {
    let verb = if dry_run { "Would ingest" } else { "Ingested" };
    say!(
        "{verb} {} from {} ({}).",
        count(sweep.records, "record"),
        count(sweep.ingested, "log"),
        format_bytes(sweep.read_bytes),
    );
    let mut notes = vec![
        format!("{} discovered", sweep.discovered),
        format!("{} unchanged", sweep.skipped_unchanged),
    ];
    if sweep.gone > 0 {
        notes.push(format!("{} gone, their records kept", sweep.gone));
    }
    say!("Logs: {}.", notes.join(", "));
    match sweep.no_longer_in_source {
        0 => {}
        1 => say!("1 record is no longer in its source; kept."),
        lost => say!("{lost} records are no longer in their source; kept."),
    }
    let skipped: Vec<_> = sweep
        .skipped_lines
        .iter()
        .map(|(why, lines)| format!("{lines} {why}"))
        .collect();
    if !skipped.is_empty() {
        say!("Lines passed over: {}.", skipped.join(", "));
    }
    if !sweep.unknown.is_empty() {
        let kinds: Vec<_> = sweep.unknown.keys().take(5).cloned().collect();
        say!("Entries of unknown kinds left out: {}.", kinds.join(", "));
    }
    if sweep.clamped > 0 {
        say!(
            "Token counts or costs out of range, clamped: {}.",
            count(sweep.clamped, "response"),
        );
    }
    print_sweep_warnings(sweep);
    if sweep.failed > 0 {
        say!(
            "error: {} could not be stored; the others were\nhint: `throughline doctor --deep` \
             checks the store, `throughline doctor --repair` repairs it",
            count(sweep.failed, "log"),
        );
    }
    if sweep.interrupted {
        say!("Interrupted; run it again to go on.");
    }
}

/// Says what could not be read.
pub(crate) fn print_sweep_warnings(sweep: &SweepReport) {
    for trouble in sweep.trouble.iter().take(20) {
        say!("warning: {}: {}", trouble.path.display(), trouble.why);
    }
    if sweep.trouble.len() > 20 {
        say!(
            "warning: and {} more; --json lists them all",
            sweep.trouble.len() - 20
        );
    }
}
