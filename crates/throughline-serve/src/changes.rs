//! Changes that no row number tells of: facts, pins and summaries, as far as this process made them.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

/// Changes that are remembered for listeners that come back.
const REMEMBERED_MAX: usize = 1024;

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
}

impl Changes {
    /// Notes a change.
    pub fn tell(&self, changed: Changed, id: impl Into<String>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.last += 1;
        let number = kept.last;
        kept.changes.push_back((number, changed, id.into()));
        if kept.changes.len() > REMEMBERED_MAX {
            kept.changes.pop_front();
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_changes_are_remembered_and_each_is_told_once() {
        let changes = Changes::default();
        for number in 0..REMEMBERED_MAX + 10 {
            changes.tell(Changed::Fact, number.to_string());
        }
        assert_eq!(changes.after(0).len(), REMEMBERED_MAX);
        let last = changes.last();
        assert_eq!(changes.after(last - 1)[0].0, last);
        assert!(changes.after(last).is_empty());
    }
}
