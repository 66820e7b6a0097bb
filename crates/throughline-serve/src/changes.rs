//! Detects changes to facts, pins and summaries, which have no row number that only grows.
//!
//! Any process may write to the store, so changes are found by comparing its current state with the
//! state at the previous poll. Only connected event listeners poll, and all of them share one
//! tracker, so the number of listeners does not multiply the work.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;
use store::{Store, VersionedItem};

/// Changes kept in memory for listeners that reconnect.
const CHANGES_KEPT_MAX: usize = 1024;
/// Polls that follow sooner than this are skipped.
const POLL_INTERVAL_MIN: Duration = Duration::from_millis(200);
/// A poll compares the state at least this often even if the database files look unchanged: their
/// modification times are too coarse to rely on alone.
const FULL_POLL_INTERVAL: Duration = Duration::from_secs(5);

/// The kind of item that changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    Fact,
    Summary,
}

/// Keeps the latest changes, each with a sequence number.
#[derive(Debug, Default)]
pub struct ChangeTracker {
    log: Mutex<ChangeLog>,
}

#[derive(Debug, Default)]
struct ChangeLog {
    last_number: u64,
    changes: VecDeque<(u64, ChangeKind, String)>,
    baseline: Option<ChangeBaseline>,
}

/// The state of the store at the previous poll.
#[derive(Debug)]
struct ChangeBaseline {
    polled_at: Instant,
    file_stamps: [Option<DatabaseFileStamp>; 2],
    versions: BTreeMap<VersionedItem, u64>,
}

type DatabaseFileStamp = (u64, SystemTime);

impl ChangeTracker {
    /// Records the changes since the previous poll. The first poll only takes the baseline.
    pub fn poll(&self, store: &Store) -> store::Result<()> {
        self.poll_at(store, Instant::now())
    }

    fn poll_at(&self, store: &Store, now: Instant) -> store::Result<()> {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let files = database_file_stamps(store.path());
        if let Some(baseline) = &log.baseline {
            let since = now.saturating_duration_since(baseline.polled_at);
            if since < POLL_INTERVAL_MIN
                || (since < FULL_POLL_INTERVAL && files == baseline.file_stamps)
            {
                return Ok(());
            }
        }
        let versions = store.item_versions()?;
        let before = log.baseline.replace(ChangeBaseline {
            polled_at: now,
            file_stamps: files,
            versions: versions.clone(),
        });
        if let Some(before) = before {
            for item in changed_items(&before.versions, &versions) {
                log.append_change(item);
            }
        }
        Ok(())
    }

    /// Returns the sequence number of the latest change.
    pub fn last_number(&self) -> u64 {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.last_number
    }

    /// Returns the changes after a sequence number, as far as they are still kept.
    pub fn changes_after(&self, number: u64) -> Vec<(u64, ChangeKind, String)> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let after = log.changes.iter().filter(|(at, ..)| *at > number);
        after.cloned().collect()
    }
}

impl ChangeLog {
    fn append_change(&mut self, item: &VersionedItem) {
        let (changed, id) = match item {
            VersionedItem::Fact(id) => (ChangeKind::Fact, id.to_string()),
            VersionedItem::Summary(session) => (ChangeKind::Summary, session.to_string()),
        };
        self.last_number += 1;
        self.changes.push_back((self.last_number, changed, id));
        if self.changes.len() > CHANGES_KEPT_MAX {
            self.changes.pop_front();
        }
    }
}

/// Returns the items that were added, removed or modified.
fn changed_items<'a>(
    before: &'a BTreeMap<VersionedItem, u64>,
    after: &'a BTreeMap<VersionedItem, u64>,
) -> Vec<&'a VersionedItem> {
    let changed = after
        .iter()
        .filter(|(item, stamp)| before.get(item) != Some(stamp));
    let went = before.keys().filter(|item| !after.contains_key(item));
    changed.map(|(item, _)| item).chain(went).collect()
}

/// Returns the size and modification time of the database file and its write-ahead log. Every
/// commit by any process changes one of them.
fn database_file_stamps(path: &Path) -> [Option<DatabaseFileStamp>; 2] {
    [path.to_owned(), path.with_extension("db-wal")].map(|path| {
        let file = path.metadata().ok()?;
        Some((file.len(), file.modified().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use memory::{FactKind, Trust};
    use store::NewFact;

    use super::*;

    fn fact(text: &str) -> NewFact {
        NewFact {
            workspace: None,
            kind: FactKind::Note,
            text: text.to_owned(),
            tags: Vec::new(),
            trust: Trust::User,
            pinned: false,
            at: "2026-11-16T09:00:00Z".parse().unwrap(),
            sources: Vec::new(),
        }
    }

    #[test]
    fn what_others_changed_is_told_once_and_only_the_last_is_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let (store, other) = (Store::open(dir.path()), Store::open(dir.path()));
        let (store, other) = (store.unwrap(), other.unwrap());
        let changes = ChangeTracker::default();
        let mut now = Instant::now();
        let mut look = || {
            now += FULL_POLL_INTERVAL;
            changes.poll_at(&store, now).unwrap();
        };
        other.remember(fact("the first stands before")).unwrap();
        look();
        assert_eq!(changes.last_number(), 0);
        let fact = other.remember(fact("herons stand in water")).unwrap();
        look();
        look();
        let told = changes.changes_after(0);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].1, ChangeKind::Fact);
        assert_eq!(told[0].2, fact.id.to_string());
        other.set_pinned(fact.id, true).unwrap();
        look();
        assert_eq!(changes.changes_after(1).len(), 1);
        assert!(changes.changes_after(changes.last_number()).is_empty());
        let mut full = ChangeLog::default();
        for _ in 0..CHANGES_KEPT_MAX + 10 {
            full.append_change(&VersionedItem::Fact(fact.id));
        }
        assert_eq!(full.changes.len(), CHANGES_KEPT_MAX);
    }
}
