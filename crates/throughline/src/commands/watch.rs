//! `throughline watch`

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use capture::watch::RESCAN_EVERY;
use capture::{SweepReport, WatchOptions};
use jiff::{SignedDuration, Timestamp};

use crate::commands::App;
use crate::commands::ingest::{
    LogArgs, adapters, print_sweep_warnings, roots, stop_on_interrupt, threads,
};
use crate::output::table::count;
use crate::output::{self, Exit, say, time};
use crate::stages::{self, StageRunner};

/// How often sessions that have come to rest are looked for.
const STAGES_INTERVAL: SignedDuration = SignedDuration::from_mins(5);
/// How often it is asked what time it is.
const CLOCK_INTERVAL: Duration = Duration::from_secs(1);

/// Read the agents' session logs as they are written
///
/// First reads what is new, as `ingest` does; then waits, and reads each change within a second. Beside that it
/// does what `ingest` does behind its reading: running summaries of the sessions that go on, and every five
/// minutes digests, facts and retention of those that have gone quiet. Ctrl-C stops it. It may be stopped or killed at any time, and run beside `ingest` or another `watch`.
#[derive(Debug, clap::Args)]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    logs: LogArgs,

    /// Look again and again instead of waiting for the system to tell of changes
    ///
    /// For folders whose changes come from elsewhere. Known kinds of network mounts are polled
    /// without being asked.
    #[arg(long)]
    poll: bool,

    /// Print a report as JSON, one line for each sweep that did something
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &WatchArgs) -> anyhow::Result<Exit> {
    args.logs.validate()?;
    let stop = stop_on_interrupt()?;
    let adapters = adapters(app, &args.logs)?;
    let roots = roots(app, &args.logs, &adapters);
    let scope = app.config.scope();
    let watch = WatchOptions {
        adapters: &adapters,
        roots: &roots,
        scope: &scope,
        threads: threads(app),
        archive: app.config.capture.archive,
        all_roots: args.logs.covers_all_agents(),
        rescan_every: RESCAN_EVERY,
        poll: args.poll,
    };
    let store = app.open()?;
    let stages = StageRunner::new(app, &store, &stop)?;
    // One waiting message is enough: whoever is woken looks at everything that is pending.
    let (wake, woken) = sync_channel(1);
    let mut sweeps = 0_u64;
    let mut printed = Ok(());
    let now = || app.environment.clock();
    let watched = std::thread::scope(|scope| {
        let stages = &stages;
        scope.spawn(move || run_stages_until_stopped(stages, &woken));
        let mut on_sweep = |sweep: &SweepReport| {
            sweeps += 1;
            if sweep.records > 0 || sweeps == 1 {
                let _is_awake = wake.try_send(());
            }
            if args.json {
                printed = output::print_json(sweep);
                if printed.is_err() {
                    // Nobody reads any more.
                    stop.store(true, Ordering::Relaxed);
                }
            } else {
                print_sweep(app, sweep, sweeps == 1);
            }
        };
        let watched = capture::watch(&store, &watch, &stop, &mut on_sweep, &now);
        // A store that failed for good ends the other thread too.
        stop.store(true, Ordering::Relaxed);
        drop(wake);
        watched
    });
    watched?;
    printed?;
    Ok(Exit::Done)
}

/// Does what follows the reading, on a thread of its own, so that the reading waits for nothing: neither
/// for a long digest nor for a model.
fn run_stages_until_stopped(stages: &StageRunner<'_>, woken: &Receiver<()>) {
    let clock = || stages.app.environment.clock();
    let mut rested: Option<Timestamp> = None;
    let mut began = false;
    loop {
        let is_woken = match woken.recv_timeout(CLOCK_INTERVAL) {
            Ok(()) => true,
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if stages.stop.load(Ordering::Relaxed) {
            return;
        }
        // The first sweep may take minutes; half of a history is not distilled.
        began |= is_woken;
        let now = clock();
        if began && rested.is_none_or(|at| now.duration_since(at) >= STAGES_INTERVAL) {
            rested = Some(now);
            run_all_stages(stages, now);
        } else if is_woken {
            let renewed = stages.update_summaries(now);
            if let Some(written) = stages::summaries_text(&renewed) {
                say_with_time(stages.app, &format!("wrote {written}"));
            }
        }
    }
}

/// Runs all stages; what went wrong is tried again the next time.
fn run_all_stages(stages: &StageRunner<'_>, now: Timestamp) {
    match stages.run_all(now) {
        Ok(done) => {
            if done.retention.has_changes() {
                done.retention.print();
            }
            for line in done.report_lines() {
                say(&line);
            }
        }
        Err(error) => say!("warning: sessions are not distilled: {error:#}"),
    }
}

fn print_sweep(app: &App<'_>, sweep: &SweepReport, is_first: bool) {
    print_sweep_warnings(sweep);
    let mut did = Vec::new();
    if sweep.records > 0 || is_first {
        let (records, logs) = (count(sweep.records, "record"), count(sweep.ingested, "log"));
        did.push(format!("{records} from {logs}"));
    }
    if sweep.no_longer_in_source > 0 {
        did.push(format!(
            "{} no longer in the source, kept",
            count(sweep.no_longer_in_source, "record")
        ));
    }
    if sweep.gone > 0 {
        did.push(format!(
            "{} gone, their records kept",
            count(sweep.gone, "log")
        ));
    }
    if is_first && !sweep.interrupted {
        did.push(format!("watching {}", count(sweep.discovered, "log")));
    }
    if !did.is_empty() {
        say_with_time(app, &did.join(", "));
    }
}

fn say_with_time(app: &App<'_>, what: &str) {
    let at = time::format_time(Some(app.environment.clock()), &app.environment.zone);
    say!("{at}  {what}");
}
