//! Collects file events between sweeps: a bounded set of paths, however many events come.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// With more changed paths than this, all roots are rescanned instead.
const PATHS_MAX: usize = 1024;
/// A burst of events is over when none came for this long.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// A burst that does not end is cut after this time, so that a new line is read within a second.
const DEBOUNCE_MAX: Duration = Duration::from_millis(400);

/// The queue between the file watcher's thread and the thread that sweeps.
#[derive(Debug, Default)]
pub(super) struct ChangeQueue {
    changes: Mutex<PathChanges>,
    burst_started: Condvar,
}

/// The changes of one burst of file events.
#[derive(Debug, Default)]
pub(super) struct PathChanges {
    pub(super) paths: BTreeSet<PathBuf>,
    /// All roots must be rescanned, because more changed than `paths` can hold.
    pub(super) needs_rescan: bool,
    /// The times of the first and the last event of the burst.
    burst: Option<(Instant, Instant)>,
}

impl ChangeQueue {
    pub(super) fn push_path(&self, path: PathBuf) {
        self.update(|changes| {
            if changes.needs_rescan || changes.paths.len() >= PATHS_MAX {
                changes.paths.clear();
                changes.needs_rescan = true;
            } else {
                changes.paths.insert(path);
            }
        });
    }

    pub(super) fn request_rescan(&self) {
        self.update(|changes| {
            changes.paths.clear();
            changes.needs_rescan = true;
        });
    }

    fn update(&self, change: impl FnOnce(&mut PathChanges)) {
        let mut changes = self.lock();
        change(&mut changes);
        let now = Instant::now();
        let is_first = changes.burst.is_none();
        let began = changes.burst.map_or(now, |(began, _)| began);
        changes.burst = Some((began, now));
        drop(changes);
        if is_first {
            self.burst_started.notify_one();
        }
    }

    /// Waits until a burst of events is over, but at least until `not_before`, and takes its
    /// changes. Returns no changes if no burst is over after `timeout`.
    pub(super) fn wait_for_burst(&self, timeout: Duration, not_before: Instant) -> PathChanges {
        let end = Instant::now() + timeout;
        let mut changes = self.lock();
        loop {
            let now = Instant::now();
            let due = changes
                .burst
                .map(|(began, last)| (last + DEBOUNCE).min(began + DEBOUNCE_MAX).max(not_before));
            if due.is_some_and(|due| due <= now) {
                return std::mem::take(&mut changes);
            }
            if end <= now {
                return PathChanges::default();
            }
            let until = due.map_or(end, |due| due.min(end));
            (changes, _) = self
                .burst_started
                .wait_timeout(changes, until - now)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, PathChanges> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(queue: &ChangeQueue) -> (usize, bool) {
        let changes = queue.wait_for_burst(Duration::from_secs(60), Instant::now());
        (changes.paths.len(), changes.needs_rescan)
    }

    #[test]
    fn a_burst_becomes_one_set_of_paths() {
        let queue = ChangeQueue::default();
        for event in 0..10_000 {
            queue.push_path(PathBuf::from(format!("/logs/{}", event % 3)));
        }
        assert_eq!(taken(&queue), (3, false));
        assert!(
            queue
                .wait_for_burst(Duration::ZERO, Instant::now())
                .paths
                .is_empty()
        );
    }

    #[test]
    fn too_many_paths_become_a_rescan() {
        let queue = ChangeQueue::default();
        for event in 0..=PATHS_MAX {
            queue.push_path(PathBuf::from(format!("/logs/{event}")));
        }
        queue.push_path(PathBuf::from("/logs/one/more"));
        assert_eq!(taken(&queue), (0, true));
        queue.push_path(PathBuf::from("/logs/later"));
        assert_eq!(taken(&queue), (1, false));
    }
}
