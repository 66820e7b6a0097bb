//! Live capture: the agents' folders are watched, and what changes is swept at once.
//!
//! [`ground`] keeps a watcher on every root that exists; what it hears gathers in [`changes`], where
//! a burst becomes one sweep of just those files. Events are a hint and no more: every so often
//! everything is looked at again, which finds what no event told of, and where no events come at all
//! (a network mount, no watches left) that is done every few seconds.

mod changes;
mod ground;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use store::Store;

use crate::source::{discover, discover_paths};
use crate::{Adapter, CaptureScope, Discovery, Root, SourceError, SweepPlan, SweepReport, sweep};
use changes::{ChangeQueue, PathChanges};
use ground::RootWatcher;

/// How often everything is looked at again although events come.
pub const RESCAN_EVERY: Duration = Duration::from_secs(60);
/// The same where no events come.
const POLL_EVERY: Duration = Duration::from_secs(1);
/// How often the flag to stop is looked at.
const STOP_CHECK_EVERY: Duration = Duration::from_millis(500);
/// How often it is looked whether roots have come or gone.
const ROOT_CHECK_EVERY: Duration = Duration::from_millis(900);
/// Looking at everything may take one part in so many of the time: the larger the tree, the rarer
/// the look. It is never put off further than to this many times its usual turn.
const RESCAN_SHARE: u32 = 200;
const POLL_SHARE: u32 = 50;
const RESCAN_DELAY_FACTOR_MAX: u32 = 10;
/// How long changes wait after a sweep that took long.
const SWEEP_PAUSE_MAX: Duration = Duration::from_secs(5);
/// How long to wait after the store failed, at first and at most.
const RETRY_DELAY_MIN: Duration = Duration::from_secs(1);
const RETRY_DELAY_MAX: Duration = Duration::from_secs(60);

/// What is watched, and how.
#[derive(Clone, Copy, Debug)]
pub struct WatchOptions<'a> {
    pub adapters: &'a [&'a Adapter],
    pub roots: &'a [Root],
    pub scope: &'a CaptureScope,
    pub threads: usize,
    /// Keep the logs themselves too.
    pub archive: bool,
    /// The roots are all of the agents' folders, so what is not found may be gone.
    pub all_roots: bool,
    /// How often everything is looked at again, at most.
    pub rescan_every: Duration,
    /// Look again and again instead of waiting for events.
    pub poll: bool,
}

/// Sweeps, then waits for changes and sweeps those, until `stop` is set from outside. `on_sweep`
/// hears of the first sweep and of every other that did something.
///
/// A store that fails for a while (locked, disk full) is tried again; nothing is lost meanwhile,
/// because cursors move only with what was written.
pub fn watch(
    store: &Store,
    watch: &WatchOptions<'_>,
    stop: &AtomicBool,
    on_sweep: &mut dyn FnMut(&SweepReport),
    now: &dyn Fn() -> Timestamp,
) -> store::Result<()> {
    let mailbox = Arc::new(ChangeQueue::default());
    // Watched before the first look, so that nothing falls between the two.
    let mut ground = RootWatcher::new(&mailbox, watch.poll);
    ground.watch_new_roots(watch.roots);
    let mut armed = Instant::now();
    let mut pace = WatchSchedule::new(watch);
    let mut told = ReportFilter::default();
    while !stop.load(Ordering::Relaxed) {
        let look = match pace.due_target(now()) {
            Some(look) => look,
            None => {
                let mut changes = mailbox.wait_for_burst(STOP_CHECK_EVERY, pace.not_before);
                if armed.elapsed() >= ROOT_CHECK_EVERY {
                    changes.needs_rescan |= ground.watch_new_roots(watch.roots);
                    armed = Instant::now();
                }
                pace.is_polling = ground.needs_polling();
                match SweepTarget::from_changes(changes) {
                    Some(look) => look,
                    None => continue,
                }
            }
        };
        let started = Instant::now();
        let swept = match &look {
            SweepTarget::AllRoots => rescan(store, watch, stop, now()),
            SweepTarget::Paths(paths) => sweep_paths(store, watch, paths, stop, now()),
        };
        match swept {
            Ok(swept) => {
                pace.record_success(&look, &swept, started.elapsed());
                if swept.conflicts > 0 {
                    mailbox.request_rescan();
                }
                if told.should_report(&look, &swept) {
                    on_sweep(&swept);
                }
            }
            Err(error) if is_transient(&error) => {
                tracing::warn!(%error, "a sweep failed and will be tried again");
                pace.record_failure();
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Looks at everything below the roots.
pub fn rescan(
    store: &Store,
    watch: &WatchOptions<'_>,
    stop: &AtomicBool,
    now: Timestamp,
) -> store::Result<SweepReport> {
    let found = discover(watch.adapters, watch.roots);
    sweep(store, &watch.sweep_plan(found, stop, watch.all_roots), now)
}

/// Looks at the sources that changes at these paths concern. That a source is gone is noticed by
/// [`rescan`] alone.
pub fn sweep_paths(
    store: &Store,
    watch: &WatchOptions<'_>,
    paths: &BTreeSet<PathBuf>,
    stop: &AtomicBool,
    now: Timestamp,
) -> store::Result<SweepReport> {
    let found = discover_paths(watch.adapters, watch.roots, paths);
    if found.sources.is_empty() {
        let trouble = found.errors;
        return Ok(SweepReport {
            trouble,
            ..SweepReport::default()
        });
    }
    sweep(store, &watch.sweep_plan(found, stop, false), now)
}

impl WatchOptions<'_> {
    fn sweep_plan<'p>(
        &'p self,
        found: Discovery,
        stop: &'p AtomicBool,
        complete: bool,
    ) -> SweepPlan<'p> {
        SweepPlan {
            adapters: self.adapters,
            discovery: found,
            scope: self.scope,
            threads: self.threads,
            stop,
            progress: &|_| {},
            archive: self.archive,
            all_roots: complete,
        }
    }
}

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
}

/// Decides when to look next.
struct WatchSchedule {
    rescan_every: Duration,
    is_polling: bool,
    /// When everything was last looked at; `None` before the first time and when that failed.
    last_rescan: Option<Instant>,
    /// How long it takes to look at everything and find nothing.
    idle_rescan_time: Duration,
    /// When the first source that was left open counts as finished.
    settles_at: Option<Timestamp>,
    /// Changes wait until then.
    not_before: Instant,
    retry_delay: Duration,
}

impl WatchSchedule {
    fn new(watch: &WatchOptions<'_>) -> Self {
        Self {
            rescan_every: watch.rescan_every,
            is_polling: watch.poll,
            last_rescan: None,
            idle_rescan_time: Duration::ZERO,
            settles_at: None,
            not_before: Instant::now(),
            retry_delay: RETRY_DELAY_MIN,
        }
    }

    /// Says whether to look at everything now, though nothing was heard.
    fn due_target(&self, now: Timestamp) -> Option<SweepTarget> {
        if Instant::now() < self.not_before {
            return None;
        }
        let is_due = self
            .last_rescan
            .is_none_or(|at| at.elapsed() >= self.rescan_interval());
        (is_due || self.settles_at.is_some_and(|at| now > at)).then_some(SweepTarget::AllRoots)
    }

    /// Returns how often everything is looked at.
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

    fn record_success(&mut self, look: &SweepTarget, swept: &SweepReport, took: Duration) {
        self.retry_delay = RETRY_DELAY_MIN;
        match look {
            SweepTarget::AllRoots => {
                self.last_rescan = Some(Instant::now());
                if swept.ingested == 0 {
                    self.idle_rescan_time = took;
                }
                self.settles_at = swept.settles_at;
            }
            SweepTarget::Paths(_) => {
                let both = [self.settles_at, swept.settles_at];
                self.settles_at = both.into_iter().flatten().min();
                // A file that is read whole at each change, and changes all the time, takes half of
                // our time and no more.
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

/// What was reported already.
#[derive(Default)]
struct ReportFilter {
    /// The trouble of the last look at everything, which each look meets again.
    last_errors: Option<Vec<SourceError>>,
}

impl ReportFilter {
    fn should_report(&mut self, look: &SweepTarget, swept: &SweepReport) -> bool {
        let did_something = swept.ingested > 0 || swept.gone > 0;
        match look {
            SweepTarget::AllRoots if self.last_errors.as_ref() != Some(&swept.trouble) => {
                self.last_errors = Some(swept.trouble.clone());
                true
            }
            SweepTarget::AllRoots => did_something,
            SweepTarget::Paths(_) => did_something || !swept.trouble.is_empty(),
        }
    }
}

/// Says whether it is worth trying again: the disk may be free again, another process done.
fn is_transient(error: &store::Error) -> bool {
    matches!(error, store::Error::Sqlite(_) | store::Error::Io { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_the_tree_the_rarer_the_look() {
        let every = |is_polling: bool, ingested: usize, took_ms: u64| {
            let swept = SweepReport {
                ingested,
                ..SweepReport::default()
            };
            let watch = WatchOptions {
                adapters: &[],
                roots: &[],
                scope: &CaptureScope::default(),
                threads: 1,
                archive: false,
                all_roots: true,
                rescan_every: RESCAN_EVERY,
                poll: is_polling,
            };
            let mut pace = WatchSchedule::new(&watch);
            let took = Duration::from_millis(took_ms);
            pace.record_success(&SweepTarget::AllRoots, &swept, took);
            pace.rescan_interval().as_secs()
        };
        assert_eq!([every(false, 0, 5), every(true, 0, 5)], [60, 1]);
        assert_eq!([every(false, 0, 500), every(true, 0, 500)], [100, 25]);
        assert_eq!([every(false, 0, 90_000), every(true, 0, 90_000)], [600, 60]);
        // A backlog that took long to read says nothing of how long a look takes.
        assert_eq!([every(false, 9, 90_000), every(true, 9, 90_000)], [60, 1]);
    }
}
