//! What a sweep has to do: which of the sources it found have changed.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use store::Cursor;

use super::{Plan, Progress, Sweep};
use crate::source::Trouble;
use crate::{Adapter, Source, tail};

/// The sources that must be read, and what became of the others.
pub(super) struct Todo<'a> {
    pub sources: Vec<&'a Source>,
    pub adapters: &'a [&'a dyn Adapter],
    pub cursors: &'a HashMap<[u8; 16], Cursor>,
    pub seen: HashSet<[u8; 16]>,
    pub discovered: usize,
    pub unchanged: usize,
    pub total_bytes: u64,
    pub trouble: Vec<Trouble>,
    pub settles_at: Option<Timestamp>,
}

impl<'a> Todo<'a> {
    pub fn new(plan: &'a Plan<'a>, cursors: &'a HashMap<[u8; 16], Cursor>, now: Timestamp) -> Self {
        let mut todo = Self {
            sources: Vec::new(),
            adapters: plan.adapters,
            cursors,
            seen: HashSet::new(),
            discovered: plan.found.sources.len(),
            unchanged: 0,
            total_bytes: 0,
            trouble: plan.found.trouble.clone(),
            settles_at: None,
        };
        for source in &plan.found.sources {
            let key = tail::key(&source.path);
            let stamp = match tail::stamp_of(source) {
                Ok(stamp) => stamp,
                // It vanished between the look and now: gone, like those of earlier sweeps.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => {
                    todo.seen.insert(key);
                    todo.trouble.push(Trouble::new(&source.path, &error));
                    continue;
                }
            };
            todo.seen.insert(key);
            let cursor = cursors.get(&key);
            if let Some(cursor) = cursor
                && tail::is_unchanged(cursor, &stamp, now)
            {
                todo.unchanged += 1;
                if !cursor.settled {
                    let at = tail::settles_at(&stamp);
                    todo.settles_at = [todo.settles_at, at].into_iter().flatten().min();
                }
                continue;
            }
            let read_before = cursor.map_or(0, |cursor| cursor.offset.min(stamp.size));
            todo.total_bytes += stamp.size - read_before;
            todo.sources.push(source);
        }
        todo
    }

    pub fn adapter(&self, index: usize) -> Option<&'a dyn Adapter> {
        let flavor = self.sources.get(index)?.flavor;
        self.adapters
            .iter()
            .copied()
            .find(|adapter| adapter.flavor() == flavor)
    }

    pub fn report(&self) -> Sweep {
        Sweep {
            discovered: self.discovered,
            skipped_unchanged: self.unchanged,
            trouble: self.trouble.clone(),
            settles_at: self.settles_at,
            ..Sweep::default()
        }
    }

    pub fn progress(&self, sweep: &Sweep, sources: usize) -> Progress {
        Progress {
            read_bytes: sweep.read_bytes,
            total_bytes: self.total_bytes,
            sources,
            sources_total: self.sources.len(),
            records: sweep.records,
        }
    }
}
