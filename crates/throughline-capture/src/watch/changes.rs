//! What happened since the last look: few paths, however many events.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// More changed paths than this are no longer told apart: everything is looked at.
const PATHS_MAX: usize = 1024;
/// A burst is over when nothing happened for this long.
const QUIET: Duration = Duration::from_millis(100);
/// A burst that does not end is cut here, so that a new line is found within a second.
const BURST_MAX: Duration = Duration::from_millis(400);

/// Where events are left by the watcher's thread and taken by ours.
#[derive(Debug, Default)]
pub struct Mailbox {
    changes: Mutex<Changes>,
    bell: Condvar,
}

#[derive(Debug, Default)]
pub struct Changes {
    pub paths: BTreeSet<PathBuf>,
    /// More changed than was kept.
    pub everything: bool,
    /// When the burst began, and its last event.
    burst: Option<(Instant, Instant)>,
}

impl Mailbox {
    pub fn path_changed(&self, path: PathBuf) {
        self.note(|changes| {
            if changes.everything || changes.paths.len() >= PATHS_MAX {
                changes.paths.clear();
                changes.everything = true;
            } else {
                changes.paths.insert(path);
            }
        });
    }

    pub fn anything_changed(&self) {
        self.note(|changes| {
            changes.paths.clear();
            changes.everything = true;
        });
    }

    fn note(&self, note: impl FnOnce(&mut Changes)) {
        let mut changes = self.lock();
        note(&mut changes);
        let now = Instant::now();
        let is_first = changes.burst.is_none();
        let began = changes.burst.map_or(now, |(began, _)| began);
        changes.burst = Some((began, now));
        drop(changes);
        if is_first {
            self.bell.notify_one();
        }
    }

    /// Waits until a burst of changes is over, but not before `not_before`, and takes it. Returns
    /// nothing when none is after `patience`.
    pub fn wait(&self, patience: Duration, not_before: Instant) -> Changes {
        let end = Instant::now() + patience;
        let mut changes = self.lock();
        loop {
            let now = Instant::now();
            let due = changes
                .burst
                .map(|(began, last)| (last + QUIET).min(began + BURST_MAX).max(not_before));
            if due.is_some_and(|due| due <= now) {
                return std::mem::take(&mut changes);
            }
            if end <= now {
                return Changes::default();
            }
            let until = due.map_or(end, |due| due.min(end));
            (changes, _) = self
                .bell
                .wait_timeout(changes, until - now)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Changes> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(mailbox: &Mailbox) -> (usize, bool) {
        let changes = mailbox.wait(Duration::from_secs(60), Instant::now());
        (changes.paths.len(), changes.everything)
    }

    #[test]
    fn a_burst_is_taken_at_once() {
        let mailbox = Mailbox::default();
        for event in 0..10_000 {
            mailbox.path_changed(PathBuf::from(format!("/logs/{}", event % 3)));
        }
        assert_eq!(taken(&mailbox), (3, false));
        assert!(
            mailbox
                .wait(Duration::ZERO, Instant::now())
                .paths
                .is_empty()
        );
    }

    #[test]
    fn too_many_paths_are_everything() {
        let mailbox = Mailbox::default();
        for event in 0..=PATHS_MAX {
            mailbox.path_changed(PathBuf::from(format!("/logs/{event}")));
        }
        mailbox.path_changed(PathBuf::from("/logs/one/more"));
        assert_eq!(taken(&mailbox), (0, true));
        mailbox.path_changed(PathBuf::from("/logs/later"));
        assert_eq!(taken(&mailbox), (1, false));
    }
}
