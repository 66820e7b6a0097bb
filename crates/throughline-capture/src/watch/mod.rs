//! Live capture: watches the agents' folders and sweeps what changes at once.
//!
//! [`roots`] keeps a file watcher on every root that exists. Its events gather in [`changes`],
//! where a burst of them becomes one sweep of just those files. Events are only hints: all roots
//! are rescanned from time to time, which finds what no event reported. Where no events come at all
//! (a network mount, no inotify watches left), the rescan happens every second or so instead.

mod changes;
mod roots;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use store::Store;

use self::changes::{ChangeQueue, PathChanges};
use self::roots::RootWatcher;
use crate::sweep::{SweepOutcome, SweepPass, earlier};
use crate::{SourceError, Sources, SweepControl, SweepReport};

/// How often all roots are rescanned although events come.
pub const RESCAN_EVERY: Duration = Duration::from_secs(60);
/// How often all roots are rescanned where no events come.
const POLL_EVERY: Duration = Duration::from_secs(1);
/// How often the stop flag is read.
const STOP_CHECK_EVERY: Duration = Duration::from_millis(500);
/// How often the watcher checks whether roots have appeared or vanished.
const ROOT_CHECK_EVERY: Duration = Duration::from_millis(900);
/// A rescan may take this fraction of the time (one part in 200, or in 50 when polling): the larger
/// the tree, the rarer the rescan.
const RESCAN_SHARE: u32 = 200;
const POLL_SHARE: u32 = 50;
/// A slow rescan is delayed to at most this many times the usual interval.
const RESCAN_DELAY_FACTOR_MAX: u32 = 10;
/// The longest pause after a sweep of changed paths.
const SWEEP_PAUSE_MAX: Duration = Duration::from_secs(5);
/// The delay before a retry after the store failed; it doubles with each failure.
const RETRY_DELAY_MIN: Duration = Duration::from_secs(1);
const RETRY_DELAY_MAX: Duration = Duration::from_secs(60);

/// How folders are watched.
#[derive(Clone, Copy, Debug)]
pub struct WatchOptions {
    /// How often all roots are rescanned, at most.
    pub rescan_every: Duration,
    /// Poll instead of waiting for file events.
    pub poll: bool,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            rescan_every: RESCAN_EVERY,
            poll: false,
        }
    }
}

/// Sweeps all sources, then waits for changes and sweeps those, until another thread sets `stop`.
/// `on_sweep` gets the report of the first sweep and of every later one that did something.
///
/// A store that fails for a while (locked, disk full) is retried. Nothing is lost meanwhile,
/// because cursors move only together with what was written.
pub fn watch(
    store: &Store,
    sources: &Sources,
    options: WatchOptions,
    stop: &AtomicBool,
    on_sweep: &mut dyn FnMut(&SweepReport),
    now: &dyn Fn() -> Timestamp,
) -> store::Result<()> {
    let queue = Arc::new(ChangeQueue::default());
    // The roots are watched before the first sweep, so that no change falls between the two.
    let mut watcher = RootWatcher::new(&queue, options.poll);
    watcher.watch_new_roots(&sources.roots);
    let mut roots_checked = Instant::now();
    let mut schedule = WatchSchedule::new(options);
    let mut filter = ReportFilter::default();
    while !stop.load(Ordering::Relaxed) {
        let target = match schedule.due_target(now()) {
            Some(target) => target,
            None => {
                let mut changes = queue.wait_for_burst(STOP_CHECK_EVERY, schedule.not_before);
                if roots_checked.elapsed() >= ROOT_CHECK_EVERY {
                    changes.needs_rescan |= watcher.watch_new_roots(&sources.roots);
                    roots_checked = Instant::now();
                }
                schedule.is_polling = watcher.needs_polling();
                match SweepTarget::from_changes(changes) {
                    Some(target) => target,
                    None => continue,
                }
            }
        };
        let started = Instant::now();
        match target.sweep(store, sources, stop, now()) {
            Ok(outcome) => {
                schedule.record_success(&target, &outcome, started.elapsed());
                if outcome.conflicts > 0 {
                    queue.request_rescan();
                }
                if filter.should_report(&target, &outcome.report) {
                    on_sweep(&outcome.report);
                }
            }
            Err(error) if is_transient(&error) => {
                tracing::warn!(%error, "a sweep failed and will be retried");
                schedule.record_failure();
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The paths that the next sweep covers.
enum SweepTarget {
    AllRoots,
    Paths(BTreeSet<PathBuf>),
}

impl SweepTarget {
    fn from_changes(changes: PathChanges) -> Option<Self> {
        if changes.needs_rescan {
            Some(Self::AllRoots)
        } else if changes.paths.is_empty() {
            None
        } else {
            Some(Self::Paths(changes.paths))
        }
    }

    fn sweep(
        &self,
        store: &Store,
        sources: &Sources,
        stop: &AtomicBool,
        now: Timestamp,
    ) -> store::Result<SweepOutcome> {
        let discovery = match self {
            Self::AllRoots => sources.discover(),
            Self::Paths(paths) => sources.discover_paths(paths),
        };
        let pass = SweepPass {
            sources,
            discovery: &discovery,
            control: &SweepControl::new(stop),
            now,
        };
        pass.run(store)
    }
}

/// Decides when the next sweep is due.
struct WatchSchedule {
    rescan_every: Duration,
    is_polling: bool,
    /// When all roots were last rescanned; `None` before the first rescan and after a failed sweep.
    last_rescan: Option<Instant>,
    /// How long a rescan takes that finds nothing new.
    idle_rescan_time: Duration,
    /// When the first incomplete source counts as complete and must be read again.
    complete_at: Option<Timestamp>,
    /// Changes wait until this time.
    not_before: Instant,
    retry_delay: Duration,
}

impl WatchSchedule {
    fn new(options: WatchOptions) -> Self {
        Self {
            rescan_every: options.rescan_every,
            is_polling: options.poll,
            last_rescan: None,
            idle_rescan_time: Duration::ZERO,
            complete_at: None,
            not_before: Instant::now(),
            retry_delay: RETRY_DELAY_MIN,
        }
    }

    /// Returns the sweep that is due now although no event came, if there is one.
    fn due_target(&self, now: Timestamp) -> Option<SweepTarget> {
        if Instant::now() < self.not_before {
            return None;
        }
        let is_due = self
            .last_rescan
            .is_none_or(|at| at.elapsed() >= self.rescan_interval());
        let is_complete_now = self.complete_at.is_some_and(|at| now > at);
        (is_due || is_complete_now).then_some(SweepTarget::AllRoots)
    }

    /// Returns the time between two rescans of all roots.
    fn rescan_interval(&self) -> Duration {
        if self.is_polling {
            POLL_EVERY
                .max(self.idle_rescan_time * POLL_SHARE)
                .min(self.rescan_every)
        } else {
            let least = self.idle_rescan_time * RESCAN_SHARE;
            self.rescan_every
                .max(least.min(self.rescan_every * RESCAN_DELAY_FACTOR_MAX))
        }
    }

    fn record_success(&mut self, target: &SweepTarget, outcome: &SweepOutcome, took: Duration) {
        self.retry_delay = RETRY_DELAY_MIN;
        match target {
            SweepTarget::AllRoots => {
                self.last_rescan = Some(Instant::now());
                if outcome.report.ingested == 0 {
                    self.idle_rescan_time = took;
                }
                self.complete_at = outcome.complete_at;
            }
            SweepTarget::Paths(_) => {
                self.complete_at = earlier(self.complete_at, outcome.complete_at);
                // A file that changes all the time and is read whole at each change takes at most
                // half of our time.
                self.not_before = Instant::now() + took.min(SWEEP_PAUSE_MAX);
            }
        }
    }

    fn record_failure(&mut self) {
        self.last_rescan = None;
        self.not_before = Instant::now() + self.retry_delay;
        self.retry_delay = (self.retry_delay * 2).min(RETRY_DELAY_MAX);
    }
}

/// Suppresses reports that say nothing new.
#[derive(Default)]
struct ReportFilter {
    /// The errors of the last rescan. The next one meets them again.
    last_errors: Option<Vec<SourceError>>,
}

impl ReportFilter {
    fn should_report(&mut self, target: &SweepTarget, report: &SweepReport) -> bool {
        let did_something = report.ingested > 0 || report.gone > 0;
        match target {
            SweepTarget::AllRoots if self.last_errors.as_ref() != Some(&report.trouble) => {
                self.last_errors = Some(report.trouble.clone());
                true
            }
            SweepTarget::AllRoots => did_something,
            SweepTarget::Paths(_) => did_something || !report.trouble.is_empty(),
        }
    }
}

/// Says whether a retry may succeed: the disk may have room again, another process may be done.
fn is_transient(error: &store::Error) -> bool {
    matches!(error, store::Error::Sqlite(_) | store::Error::Io { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_the_tree_the_rarer_the_rescan() {
        let interval = |poll: bool, ingested: usize, took_ms: u64| {
            let mut outcome = SweepOutcome::default();
            outcome.report.ingested = ingested;
            let mut schedule = WatchSchedule::new(WatchOptions {
                poll,
                ..WatchOptions::default()
            });
            let took = Duration::from_millis(took_ms);
            schedule.record_success(&SweepTarget::AllRoots, &outcome, took);
            schedule.rescan_interval().as_secs()
        };
        assert_eq!([interval(false, 0, 5), interval(true, 0, 5)], [60, 1]);
        assert_eq!([interval(false, 0, 500), interval(true, 0, 500)], [100, 25]);
        let slow = [interval(false, 0, 90_000), interval(true, 0, 90_000)];
        assert_eq!(slow, [600, 60]);
        // A backlog that took long to read says nothing about how long a rescan takes.
        let backlog = [interval(false, 9, 90_000), interval(true, 9, 90_000)];
        assert_eq!(backlog, [60, 1]);
    }
}
