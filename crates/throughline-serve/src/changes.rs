//! Changes that no row number tells of: facts, pins and summaries, whoever made them.
//!
//! What stands in the store is compared with what stood there at the last look. Only listeners look, and
//! no more often than one of them would, however many they are.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde::Serialize;
use store::{Standing, Store};

/// Changes that are remembered for listeners that come back.
const REMEMBERED_MAX: usize = 1024;
/// Nothing is compared sooner again.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// The files' times are not exact enough to be relied on for ever.
const LOOK_ANYWAY: Duration = Duration::from_secs(5);

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Changed {
    Fact,
    Summary,
}

/// The last changes, numbered.
#[derive(Debug, Default)]
pub struct Changes {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    last: u64,
    changes: VecDeque<(u64, Changed, String)>,
    seen: Option<Seen>,
}

/// What stood at the last look.
#[derive(Debug)]
struct Seen {
    at: Instant,
    files: [Option<Stamp>; 2],
    standings: BTreeMap<Standing, u64>,
}

type Stamp = (u64, SystemTime);

impl Changes {
    /// Notes what has changed since the last look. The first look only sees what there is.
    pub fn look(&self, store: &Store) -> store::Result<()> {
        self.look_at(store, Instant::now())
    }

    fn look_at(&self, store: &Store, now: Instant) -> store::Result<()> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let files = files(store.path());
        if let Some(seen) = &kept.seen {
            let since = now.saturating_duration_since(seen.at);
            if since < LOOK_EVERY || (since < LOOK_ANYWAY && files == seen.files) {
                return Ok(());
            }
        }
        let standings = store.standings()?;
        let before = kept.seen.replace(Seen {
            at: now,
            files,
            standings: standings.clone(),
        });
        if let Some(before) = before {
            for standing in differing(&before.standings, &standings) {
                kept.tell(standing);
            }
        }
        Ok(())
    }

    /// Returns the number of the last change.
    pub fn last(&self) -> u64 {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.last
    }

    /// Returns the changes after a number, as far as they are remembered.
    pub fn after(&self, number: u64) -> Vec<(u64, Changed, String)> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let after = kept.changes.iter().filter(|(at, ..)| *at > number);
        after.cloned().collect()
    }
}

impl Kept {
    fn tell(&mut self, standing: &Standing) {
        let (changed, id) = match standing {
            Standing::Fact(id) => (Changed::Fact, id.to_string()),
            Standing::Summary(session) => (Changed::Summary, session.to_string()),
        };
        self.last += 1;
        self.changes.push_back((self.last, changed, id));
        if self.changes.len() > REMEMBERED_MAX {
            self.changes.pop_front();
        }
    }
}

/// Returns what came, went or is another.
fn differing<'a>(
    before: &'a BTreeMap<Standing, u64>,
    after: &'a BTreeMap<Standing, u64>,
) -> Vec<&'a Standing> {
    let came = after
        .iter()
        .filter(|(standing, stamp)| before.get(standing) != Some(stamp));
    let went = before
        .keys()
        .filter(|standing| !after.contains_key(standing));
    came.map(|(standing, _)| standing).chain(went).collect()
}

/// Every commit of whatever process changes the store's file or its log.
fn files(path: &Path) -> [Option<Stamp>; 2] {
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
        let changes = Changes::default();
        let mut now = Instant::now();
        let mut look = || {
            now += LOOK_ANYWAY;
            changes.look_at(&store, now).unwrap();
        };
        other.remember(fact("the first stands before")).unwrap();
        look();
        assert_eq!(changes.last(), 0);
        let kept = other.remember(fact("herons stand in water")).unwrap();
        look();
        look();
        let told = changes.after(0);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0].1, Changed::Fact);
        assert_eq!(told[0].2, kept.id.to_string());
        other.set_pinned(kept.id, true).unwrap();
        look();
        assert_eq!(changes.after(1).len(), 1);
        assert!(changes.after(changes.last()).is_empty());
        let mut full = Kept::default();
        for _ in 0..REMEMBERED_MAX + 10 {
            full.tell(&Standing::Fact(kept.id));
        }
        assert_eq!(full.changes.len(), REMEMBERED_MAX);
    }
}
