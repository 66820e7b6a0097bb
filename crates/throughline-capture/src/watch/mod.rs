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

use crate::source::{discover, discover_at};
use crate::{Adapter, Discovered, Plan, Root, Scope, Sweep, Trouble, sweep};
use changes::{Changes, Mailbox};
use ground::Ground;

/// How often everything is looked at again although events come.
pub const RESCAN_EVERY: Duration = Duration::from_secs(60);
/// The same where no events come.
const POLL_EVERY: Duration = Duration::from_secs(1);
/// How often the flag to stop is looked at.
const TICK: Duration = Duration::from_millis(500);
/// How often it is looked whether roots have come or gone.
const ROOTS_EVERY: Duration = Duration::from_millis(900);
/// Looking at everything may take one part in so many of the time: the larger the tree, the rarer
/// the look. It is never put off further than to this many times its usual turn.
const RESCAN_SHARE: u32 = 200;
const POLL_SHARE: u32 = 50;
const RESCAN_PUT_OFF_MAX: u32 = 10;
/// How long changes wait after a sweep that took long.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// How long to wait after the store failed, at first and at most.
const PATIENCE: Duration = Duration::from_secs(1);
const PATIENCE_MAX: Duration = Duration::from_secs(60);

/// What is watched, and how.
#[derive(Clone, Copy, Debug)]
pub struct Watch<'a> {
    pub adapters: &'a [&'a dyn Adapter],
    pub roots: &'a [Root],
    pub scope: &'a Scope,
    pub threads: usize,
    /// Keep the logs themselves too.
    pub archive: bool,
    /// The roots are all of the agents' folders, so what is not found may be gone.
    pub complete: bool,
    /// How often everything is looked at again, at most.
    pub rescan: Duration,
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
    watch: &Watch<'_>,
    stop: &AtomicBool,
    on_sweep: &mut dyn FnMut(&Sweep),
    now: &dyn Fn() -> Timestamp,
) -> store::Result<()> {
    let mailbox = Arc::new(Mailbox::default());
    // Watched before the first look, so that nothing falls between the two.
    let mut ground = Ground::new(&mailbox, watch.poll);
    ground.arm(watch.roots);
    let mut armed = Instant::now();
    let mut pace = Pace::new(watch);
    let mut told = Told::default();
    while !stop.load(Ordering::Relaxed) {
        let look = match pace.look(now()) {
            Some(look) => look,
            None => {
                let mut changes = mailbox.wait(TICK, pace.not_before);
                if armed.elapsed() >= ROOTS_EVERY {
                    changes.everything |= ground.arm(watch.roots);
                    armed = Instant::now();
                }
                pace.is_polling = ground.is_deaf();
                match Look::at(changes) {
                    Some(look) => look,
                    None => continue,
                }
            }
        };
        let started = Instant::now();
        let swept = match &look {
            Look::Everything => rescan(store, watch, stop, now()),
            Look::Changed(paths) => sweep_changed(store, watch, paths, stop, now()),
        };
        match swept {
            Ok(swept) => {
                pace.went_well(&look, &swept, started.elapsed());
                if swept.overtaken > 0 {
                    mailbox.anything_changed();
                }
                if told.is_news(&look, &swept) {
                    on_sweep(&swept);
                }
            }
            Err(error) if is_passing(&error) => {
                tracing::warn!(%error, "a sweep failed and will be tried again");
                pace.failed();
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Looks at everything below the roots.
pub fn rescan(
    store: &Store,
    watch: &Watch<'_>,
    stop: &AtomicBool,
    now: Timestamp,
) -> store::Result<Sweep> {
    let found = discover(watch.adapters, watch.roots);
    sweep(store, &watch.plan(found, stop, watch.complete), now)
}

/// Looks at the sources that changes at these paths concern. That a source is gone is noticed by
/// [`rescan`] alone.
pub fn sweep_changed(
    store: &Store,
    watch: &Watch<'_>,
    paths: &BTreeSet<PathBuf>,
    stop: &AtomicBool,
    now: Timestamp,
) -> store::Result<Sweep> {
    let found = discover_at(watch.adapters, watch.roots, paths);
    if found.sources.is_empty() {
        let trouble = found.trouble;
        return Ok(Sweep {
            trouble,
            ..Sweep::default()
        });
    }
    sweep(store, &watch.plan(found, stop, false), now)
}

impl Watch<'_> {
    fn plan<'p>(&'p self, found: Discovered, stop: &'p AtomicBool, complete: bool) -> Plan<'p> {
        Plan {
            adapters: self.adapters,
            found,
            scope: self.scope,
            threads: self.threads,
            stop,
            progress: &|_| {},
            archive: self.archive,
            complete,
        }
    }
}

enum Look {
    Everything,
    Changed(BTreeSet<PathBuf>),
}

impl Look {
    fn at(changes: Changes) -> Option<Self> {
        if changes.everything {
            Some(Self::Everything)
        } else if changes.paths.is_empty() {
            None
        } else {
            Some(Self::Changed(changes.paths))
        }
    }
}

/// Decides when to look next.
struct Pace {
    rescan: Duration,
    is_polling: bool,
    /// When everything was last looked at; `None` before the first time and when that failed.
    rescanned: Option<Instant>,
    /// How long it takes to look at everything and find nothing.
    look_takes: Duration,
    /// When the first source that was left open counts as finished.
    settles_at: Option<Timestamp>,
    /// Changes wait until then.
    not_before: Instant,
    patience: Duration,
}

impl Pace {
    fn new(watch: &Watch<'_>) -> Self {
        Self {
            rescan: watch.rescan,
            is_polling: watch.poll,
            rescanned: None,
            look_takes: Duration::ZERO,
            settles_at: None,
            not_before: Instant::now(),
            patience: PATIENCE,
        }
    }

    /// Says whether to look at everything now, though nothing was heard.
    fn look(&self, now: Timestamp) -> Option<Look> {
        if Instant::now() < self.not_before {
            return None;
        }
        let is_due = self.rescanned.is_none_or(|at| at.elapsed() >= self.every());
        (is_due || self.settles_at.is_some_and(|at| now > at)).then_some(Look::Everything)
    }

    /// Returns how often everything is looked at.
    fn every(&self) -> Duration {
        if self.is_polling {
            POLL_EVERY
                .max(self.look_takes * POLL_SHARE)
                .min(self.rescan)
        } else {
            let least = self.look_takes * RESCAN_SHARE;
            self.rescan.max(least.min(self.rescan * RESCAN_PUT_OFF_MAX))
        }
    }

    fn went_well(&mut self, look: &Look, swept: &Sweep, took: Duration) {
        self.patience = PATIENCE;
        match look {
            Look::Everything => {
                self.rescanned = Some(Instant::now());
                if swept.ingested == 0 {
                    self.look_takes = took;
                }
                self.settles_at = swept.settles_at;
            }
            Look::Changed(_) => {
                let both = [self.settles_at, swept.settles_at];
                self.settles_at = both.into_iter().flatten().min();
                // A file that is read whole at each change, and changes all the time, takes half of
                // our time and no more.
                self.not_before = Instant::now() + took.min(PAUSE_MAX);
            }
        }
    }

    fn failed(&mut self) {
        self.rescanned = None;
        self.not_before = Instant::now() + self.patience;
        self.patience = (self.patience * 2).min(PATIENCE_MAX);
    }
}

/// What was reported already.
#[derive(Default)]
struct Told {
    /// The trouble of the last look at everything, which each look meets again.
    trouble: Option<Vec<Trouble>>,
}

impl Told {
    fn is_news(&mut self, look: &Look, swept: &Sweep) -> bool {
        let did_something = swept.ingested > 0 || swept.gone > 0;
        match look {
            Look::Everything if self.trouble.as_ref() != Some(&swept.trouble) => {
                self.trouble = Some(swept.trouble.clone());
                true
            }
            Look::Everything => did_something,
            Look::Changed(_) => did_something || !swept.trouble.is_empty(),
        }
    }
}

/// Says whether it is worth trying again: the disk may be free again, another process done.
fn is_passing(error: &store::Error) -> bool {
    matches!(error, store::Error::Sqlite(_) | store::Error::Io { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_the_tree_the_rarer_the_look() {
        let every = |is_polling: bool, ingested: usize, took_ms: u64| {
            let swept = Sweep {
                ingested,
                ..Sweep::default()
            };
            let watch = Watch {
                adapters: &[],
                roots: &[],
                scope: &Scope::default(),
                threads: 1,
                archive: false,
                complete: true,
                rescan: RESCAN_EVERY,
                poll: is_polling,
            };
            let mut pace = Pace::new(&watch);
            let took = Duration::from_millis(took_ms);
            pace.went_well(&Look::Everything, &swept, took);
            pace.every().as_secs()
        };
        assert_eq!([every(false, 0, 5), every(true, 0, 5)], [60, 1]);
        assert_eq!([every(false, 0, 500), every(true, 0, 500)], [100, 25]);
        assert_eq!([every(false, 0, 90_000), every(true, 0, 90_000)], [600, 60]);
        // A backlog that took long to read says nothing of how long a look takes.
        assert_eq!([every(false, 9, 90_000), every(true, 9, 90_000)], [60, 1]);
    }
}
