//! What happened since the last look: few paths, however many events.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// More changed paths than this are no longer told apart: everything is looked at.
const PATHS_MAX: usize = 1024;
/// A burst is over when nothing happened for this long.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// A burst that does not end is cut here, so that a new line is found within a second.
const DEBOUNCE_MAX: Duration = Duration::from_millis(400);

/// Where events are left by the watcher's thread and taken by ours.
#[derive(Debug, Default)]
pub struct ChangeQueue {
    changes: Mutex<PathChanges>,
    burst_started: Condvar,
}

#[derive(Debug, Default)]
pub struct PathChanges {
    pub paths: BTreeSet<PathBuf>,
    /// More changed than was kept.
    pub needs_rescan: bool,
    /// When the burst began, and its last event.
    burst: Option<(Instant, Instant)>,
}

impl ChangeQueue {
    pub fn push_path(&self, path: PathBuf) {
        self.update(|changes| {
            if changes.needs_rescan || changes.paths.len() >= PATHS_MAX {
                changes.paths.clear();
                changes.needs_rescan = true;
            } else {
                changes.paths.insert(path);
            }
        });
    }

    pub fn request_rescan(&self) {
        self.update(|changes| {
            changes.paths.clear();
            changes.needs_rescan = true;
        });
    }

    fn update(&self, note: impl FnOnce(&mut PathChanges)) {
        let mut changes = self.lock();
        note(&mut changes);
        let now = Instant::now();
        let is_first = changes.burst.is_none();
        let began = changes.burst.map_or(now, |(began, _)| began);
        changes.burst = Some((began, now));
        drop(changes);
        if is_first {
            self.burst_started.notify_one();
        }
    }

    /// Waits until a burst of changes is over, but not before `not_before`, and takes it. Returns
    /// nothing when none is after `patience`.
    pub fn wait_for_burst(&self, patience: Duration, not_before: Instant) -> PathChanges {
        let end = Instant::now() + patience;
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

    fn taken(mailbox: &ChangeQueue) -> (usize, bool) {
        let changes = mailbox.wait_for_burst(Duration::from_secs(60), Instant::now());
        (changes.paths.len(), changes.needs_rescan)
    }

    #[test]
    fn a_burst_is_taken_at_once() {
        let mailbox = ChangeQueue::default();
        for event in 0..10_000 {
            mailbox.push_path(PathBuf::from(format!("/logs/{}", event % 3)));
        }
        assert_eq!(taken(&mailbox), (3, false));
        assert!(
            mailbox
                .wait_for_burst(Duration::ZERO, Instant::now())
                .paths
                .is_empty()
        );
    }

    #[test]
    fn too_many_paths_are_everything() {
        let mailbox = ChangeQueue::default();
        for event in 0..=PATHS_MAX {
            mailbox.push_path(PathBuf::from(format!("/logs/{event}")));
        }
        mailbox.push_path(PathBuf::from("/logs/one/more"));
        assert_eq!(taken(&mailbox), (0, true));
        mailbox.push_path(PathBuf::from("/logs/later"));
        assert_eq!(taken(&mailbox), (1, false));
    }
}
