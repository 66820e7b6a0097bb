//! `throughline ingest`

use std::collections::HashMap;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::serve::stages;
use anyhow::Context;
use capture::flavor::ADAPTERS;
use capture::{Adapter, Discovered, Plan, Progress, Root, Sweep};
use distill::renew::Renewed;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::Timestamp;
use memory::Flavor;
use serde::Serialize;
use store::Store;
use store::retention::Retained;

use crate::commands::retain::Kept;
use crate::commands::{App, parse_flavor, retain, serve};
use crate::output::table::{bytes, count};
use crate::output::{self, Outcome, hinted, say};

/// Read the agents' session logs into memory
///
/// Finds the logs of the agents on this machine, reads what is new in them, takes the secrets out and
/// stores the rest. Sessions that have gone quiet get a digest, and what the retention settings do not
/// keep goes. Running it twice changes nothing; interrupted, it goes on where it stopped.
#[derive(Debug, clap::Args)]
pub struct IngestArgs {
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
pub struct LogArgs {
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
    pub fn check(&self) -> anyhow::Result<()> {
        for root in &self.root {
            root.metadata()
                .with_context(|| format!("cannot look in {}", root.display()))?;
        }
        Ok(())
    }

    /// Says whether all of the agents' folders are meant.
    pub fn is_complete(&self) -> bool {
        self.root.is_empty() && self.agent.is_empty()
    }
}

pub fn run(app: &App<'_>, args: &IngestArgs) -> anyhow::Result<Outcome> {
    args.logs.check()?;
    let stop = stop_on_interrupt()?;
    let adapters = adapters(app, &args.logs)?;
    let found = capture::discover(&adapters, &roots(app, &args.logs, &adapters));
    let bar = progress_bar(app, &found);
    let show = |progress: Progress| {
        bar.set_length(progress.total_bytes);
        bar.set_position(progress.read_bytes);
        bar.set_message(format!(
            "{} of {} logs",
            progress.sources, progress.sources_total
        ));
    };
    let scope = app.config.scope();
    let plan = Plan {
        adapters: &adapters,
        found,
        scope: &scope,
        threads: threads(app),
        stop: &stop,
        progress: &show,
        archive: app.config.capture.archive,
        complete: args.logs.is_complete(),
    };
    let now = app.environment.now;
    let mut found_facts = None;
    let mut renewed = Renewed::default();
    let (sweep, kept) = if args.dry_run {
        let cursors = if app.has_store() {
            app.open()?.cursors()?
        } else {
            HashMap::new()
        };
        (capture::survey(&cursors, &plan, now), None)
    } else {
        let store = app.open()?;
        let sweep = capture::sweep(&store, &plan, now)?;
        if !sweep.interrupted {
            renewed = renew(app, &store, now);
        }
        bar.set_message("distilling");
        // Facts are taken from records that retention may let go of.
        found_facts = distill(app, &store, &stop)?;
        (sweep, Some(retain::distill_and_evict(app, &store, &stop)?))
    };
    bar.finish_and_clear();
    if args.json {
        output::json(&Report::new(&sweep, kept.as_ref()))?;
    } else {
        report(&sweep, args.dry_run);
        if let Some(kept) = &kept {
            kept.say();
        }
        if let Some(found) = found_facts.filter(|found| found.facts > 0) {
            let sessions = count(found.sessions, "session");
            say(&format!(
                "Found {} in {sessions}.",
                count(found.facts, "fact")
            ));
        }
        if !renewed.written.is_empty() {
            let summaries = match renewed.written.len() {
                1 => "1 summary".to_owned(),
                many => format!("{many} summaries"),
            };
            say(&format!("Wrote {summaries} of live sessions."));
        }
        if sweep.discovered == 0 {
            say(
                "hint: no agent's logs were found; `throughline doctor` says where it looks, \
                and --root DIR looks elsewhere",
            );
        }
    }
    Ok(if sweep.interrupted {
        Outcome::Interrupted
    } else {
        Outcome::Done
    })
}

/// What an ingest did.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    sweep: &'a Sweep,
    /// Sessions that got a digest.
    analyzed: usize,
    /// Absent when nothing was written.
    retention: Option<&'a Retained>,
}

impl<'a> Report<'a> {
    fn new(sweep: &'a Sweep, kept: Option<&'a Kept>) -> Self {
        Self {
            sweep,
            analyzed: kept.map_or(0, |kept| kept.digested.analyzed),
            retention: kept.map(|kept| &kept.retained),
        }
    }
}

/// Does what follows a sweep: the facts of sessions that have ended, and whether what was injected
/// into them was used.
fn distill(
    app: &App<'_>,
    store: &Store,
    stop: &AtomicBool,
) -> anyhow::Result<Option<distill::facts::Report>> {
    let now = app.environment.now;
    Ok(stages::look_back(store, &serve::stages(app)?, stop, now)?)
}

/// Writes the summaries that are due. They are a comfort: trouble with them is no trouble with the sweep.
pub fn renew(app: &App<'_>, store: &Store, now: Timestamp) -> Renewed {
    let renewed = serve::stages(app).and_then(|stages| Ok(stages::renew(store, &stages, now)?));
    renewed.unwrap_or_else(|error| {
        say(&format!("warning: no summaries: {error:#}"));
        Renewed::default()
    })
}

/// Returns a flag that Ctrl-C sets. What is being written is finished; the rest waits for the next
/// time.
pub fn stop_on_interrupt() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&stop);
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))?;
    Ok(stop)
}

/// Returns the adapters of the agents that are captured.
pub fn adapters(app: &App<'_>, args: &LogArgs) -> anyhow::Result<Vec<&'static dyn Adapter>> {
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
        return Err(hinted(
            "no agent is captured",
            format!("name some under `agents` in {}", app.config_path.display()),
        ));
    }
    Ok(adapters)
}

/// Returns the folders that were asked for, or the usual ones.
pub fn roots(app: &App<'_>, args: &LogArgs, adapters: &[&dyn Adapter]) -> Vec<Root> {
    if !args.root.is_empty() {
        let flavor = if let [only] = args.agent.as_slice() {
            Some(*only)
        } else {
            None
        };
        return args
            .root
            .iter()
            .map(|path| Root {
                path: path.clone(),
                flavor,
            })
            .collect();
    }
    usual_roots(app, adapters)
}

/// Returns the folders where the agents of this machine keep their logs.
pub fn usual_roots(app: &App<'_>, adapters: &[&dyn Adapter]) -> Vec<Root> {
    let mut roots = Vec::new();
    for adapter in adapters {
        let flavor = adapter.flavor();
        let paths = match app.config.roots.get(flavor.name()) {
            Some(configured) => configured.clone(),
            None => adapter.roots(&app.environment.places),
        };
        roots.extend(paths.into_iter().map(|path| Root {
            path,
            flavor: Some(flavor),
        }));
    }
    roots
}

pub fn threads(app: &App<'_>) -> usize {
    match app.config.capture.threads {
        // One more than there are processors: a thread that is ahead of its turn waits.
        0 => 1 + std::thread::available_parallelism().map_or(1, NonZero::get),
        threads => threads,
    }
}

fn progress_bar(app: &App<'_>, found: &Discovered) -> ProgressBar {
    if !app.environment.watched || found.sources.is_empty() {
        return ProgressBar::hidden();
    }
    let style = "{bar:30} {bytes}/{total_bytes} at {bytes_per_sec}, {eta} left, {msg}";
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    match ProgressStyle::with_template(style) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn report(sweep: &Sweep, dry_run: bool) {
    let verb = if dry_run { "Would ingest" } else { "Ingested" };
    say(&format!(
        "{verb} {} from {} ({}).",
        count(sweep.records, "record"),
        count(sweep.ingested, "log"),
        bytes(sweep.read_bytes),
    ));
    let mut notes = vec![
        format!("{} discovered", sweep.discovered),
        format!("{} unchanged", sweep.skipped_unchanged),
    ];
    if sweep.gone > 0 {
        notes.push(format!("{} gone, their records kept", sweep.gone));
    }
    if sweep.removed > 0 {
        notes.push(format!(
            "{} of rewritten logs removed",
            count(sweep.removed, "record")
        ));
    }
    say(&format!("Logs: {}.", notes.join(", ")));
    let skipped: Vec<_> = sweep
        .skipped_lines
        .iter()
        .map(|(why, lines)| format!("{lines} {why}"))
        .collect();
    if !skipped.is_empty() {
        say(&format!("Lines passed over: {}.", skipped.join(", ")));
    }
    if !sweep.unknown.is_empty() {
        let kinds: Vec<_> = sweep.unknown.keys().take(5).cloned().collect();
        say(&format!(
            "Entries of unknown kinds left out: {}.",
            kinds.join(", ")
        ));
    }
    warn(sweep);
    if sweep.interrupted {
        say("Interrupted; run it again to go on.");
    }
}

/// Says what could not be read.
pub fn warn(sweep: &Sweep) {
    for trouble in sweep.trouble.iter().take(20) {
        say(&format!(
            "warning: {}: {}",
            trouble.path.display(),
            trouble.why
        ));
    }
    if sweep.trouble.len() > 20 {
        say(&format!(
            "warning: and {} more; --json lists them all",
            sweep.trouble.len() - 20
        ));
    }
}
