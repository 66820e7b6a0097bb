//! `throughline watch`

use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use capture::{SweepReport, WatchOptions};
use jiff::{SignedDuration, Timestamp};
use serve::stages::SweepLog;

use crate::commands::App;
use crate::commands::ingest::{LogArgs, print_sweep_warnings, sources, stop_on_interrupt};
use crate::output::table::count;
use crate::output::{self, Exit, say, time};
use crate::stages::{self, StageRunner};

/// How often all stages run.
const STAGES_INTERVAL: SignedDuration = SignedDuration::from_mins(5);
/// How often the clock is checked.
const CLOCK_INTERVAL: Duration = Duration::from_secs(1);

/// Read the agents' session logs as they are written
///
/// First reads what is new, as `ingest` does; then waits for changes and reads each of them within
/// a second. It also updates the running summaries of live sessions, and every five minutes runs
/// digests, facts and retention. Ctrl-C stops it. It can run beside `ingest` or another `watch`,
/// and killing it loses no data.
#[derive(Debug, clap::Args)]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    logs: LogArgs,

    /// Poll for changes instead of relying on file system events
    ///
    /// Use this for folders that other machines change. Known types of network mounts are always
    /// polled.
    #[arg(long)]
    poll: bool,

    /// Print a line of JSON for each sweep that did something
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &WatchArgs) -> anyhow::Result<Exit> {
    args.logs.validate()?;
    let stop = stop_on_interrupt()?;
    let sources = sources(app, &args.logs)?;
    let options = WatchOptions {
        poll: args.poll,
        ..app.config.capture.watch_options()
    };
    let store = app.open()?;
    let stages = StageRunner::new(app, &store, &stop)?;
    // One pending message is enough, because the stages process everything that is pending.
    let (wake, woken) = sync_channel(1);
    let mut sweeps = 0_u64;
    let mut printed = Ok(());
    let now = || app.environment.clock();
    let watched = std::thread::scope(|scope| {
        let stages = &stages;
        scope.spawn(move || run_stages_until_stopped(stages, &woken));
        let mut log = SweepLog::default();
        let mut on_sweep = |sweep: &SweepReport| {
            sweeps += 1;
            log.add(&store, sweep, now());
            if sweep.records > 0 || sweeps == 1 {
                // The channel is full if the thread has not handled the last message yet.
                wake.try_send(()).ok();
            }
            if args.json {
                printed = output::print_json(sweep);
                if printed.is_err() {
                    // The reader has closed the pipe.
                    stop.store(true, Ordering::Relaxed);
                }
            } else {
                print_sweep(app, sweep, sweeps == 1);
            }
        };
        let watched = capture::watch(&store, &sources, options, &stop, &mut on_sweep, &now);
        log.flush(&store, now());
        // An error of the store ends the other thread too.
        stop.store(true, Ordering::Relaxed);
        drop(wake);
        watched
    });
    watched?;
    printed?;
    Ok(Exit::Done)
}

/// Runs the stages on a thread of its own, so that neither a long digest nor a model delays the
/// reading.
fn run_stages_until_stopped(stages: &StageRunner<'_>, woken: &Receiver<()>) {
    let clock = || stages.app.environment.clock();
    let mut last_run: Option<Timestamp> = None;
    let mut has_swept = false;
    loop {
        let is_woken = match woken.recv_timeout(CLOCK_INTERVAL) {
            Ok(()) => true,
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if stages.stop.load(Ordering::Relaxed) {
            return;
        }
        // The first sweep may take minutes, and the stages should see its full result.
        has_swept |= is_woken;
        let now = clock();
        if has_swept && last_run.is_none_or(|at| now.duration_since(at) >= STAGES_INTERVAL) {
            last_run = Some(now);
            run_all_stages(stages, now);
        } else if is_woken {
            let renewed = stages.update_summaries(now);
            if let Some(written) = stages::summaries_text(&renewed) {
                say_with_time(stages.app, &format!("wrote {written}"));
            }
        }
    }
}

/// Runs all stages. A failure is printed, and the next run tries again.
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
        Err(error) => say!("warning: maintenance failed: {error:#}"),
    }
}

fn print_sweep(app: &App<'_>, sweep: &SweepReport, is_first: bool) {
    print_sweep_warnings(sweep);
    let mut parts = Vec::new();
    if sweep.records > 0 || is_first {
        let (records, logs) = (count(sweep.records, "record"), count(sweep.ingested, "log"));
        parts.push(format!("{records} from {logs}"));
    }
    if sweep.no_longer_in_source > 0 {
        parts.push(format!(
            "{} no longer in the log, kept",
            count(sweep.no_longer_in_source, "record")
        ));
    }
    if sweep.gone > 0 {
        parts.push(format!(
            "{} deleted, their records kept",
            count(sweep.gone, "log")
        ));
    }
    if is_first && !sweep.interrupted {
        parts.push(format!("watching {}", count(sweep.discovered, "log")));
    }
    if !parts.is_empty() {
        say_with_time(app, &parts.join(", "));
    }
}

fn say_with_time(app: &App<'_>, message: &str) {
    let at = time::format_time(Some(app.environment.clock()), &app.environment.zone);
    say!("{at}  {message}");
}
