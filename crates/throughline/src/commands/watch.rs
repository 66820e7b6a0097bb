//! `throughline watch`

use std::sync::atomic::Ordering;

use capture::watch::RESCAN_EVERY;
use capture::{Sweep, Watch};

use crate::commands::App;
use crate::commands::ingest::{LogArgs, adapters, renew, roots, stop_on_interrupt, threads, warn};
use crate::output::table::count;
use crate::output::{self, Outcome, say, time};

/// Read the agents' session logs as they are written
///
/// First reads what is new, as `ingest` does; then waits, and reads each change within a second. Ctrl-C
/// stops it. It may be stopped or killed at any time, and run beside `ingest` or another `watch`.
#[derive(Debug, clap::Args)]
pub struct WatchArgs {
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

pub fn run(app: &App<'_>, args: &WatchArgs) -> anyhow::Result<Outcome> {
    args.logs.check()?;
    let stop = stop_on_interrupt()?;
    let adapters = adapters(app, &args.logs)?;
    let roots = roots(app, &args.logs, &adapters);
    let scope = app.config.scope();
    let watch = Watch {
        adapters: &adapters,
        roots: &roots,
        scope: &scope,
        threads: threads(app),
        archive: app.config.capture.archive,
        complete: args.logs.is_complete(),
        rescan: RESCAN_EVERY,
        poll: args.poll,
    };
    let store = app.open()?;
    let mut sweeps = 0_u64;
    let mut printed = Ok(());
    let mut on_sweep = |sweep: &Sweep| {
        sweeps += 1;
        if sweep.records > 0 {
            renew(app, &store, app.environment.clock());
        }
        if args.json {
            printed = output::json(sweep);
            if printed.is_err() {
                // Nobody reads any more.
                stop.store(true, Ordering::Relaxed);
            }
        } else {
            tell(app, sweep, sweeps == 1);
        }
    };
    let now = || app.environment.clock();
    capture::watch(&store, &watch, &stop, &mut on_sweep, &now)?;
    printed?;
    Ok(Outcome::Done)
}

fn tell(app: &App<'_>, sweep: &Sweep, is_first: bool) {
    warn(sweep);
    let mut did = Vec::new();
    if sweep.records > 0 || is_first {
        let (records, logs) = (count(sweep.records, "record"), count(sweep.ingested, "log"));
        did.push(format!("{records} from {logs}"));
    }
    if sweep.removed > 0 {
        did.push(format!(
            "{} of rewritten logs removed",
            count(sweep.removed, "record")
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
        let at = time::show(Some(app.environment.clock()), &app.environment.zone);
        say(&format!("{at}  {}", did.join(", ")));
    }
}
