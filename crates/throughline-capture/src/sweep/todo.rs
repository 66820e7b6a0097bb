//! What a sweep has to do: which of the sources it found have changed.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use store::Cursor;

use super::{SweepPlan, SweepProgress, SweepReport};
use crate::source::SourceError;
use crate::{Adapter, Source, tail};

/// The sources that must be read, and what became of the others.
pub(super) struct SweepWorklist<'a> {
    pub sources: Vec<&'a Source>,
    pub adapters: &'a [&'a Adapter],
    pub cursors: &'a HashMap<[u8; 16], Cursor>,
    pub seen_keys: HashSet<[u8; 16]>,
    pub discovered: usize,
    pub unchanged: usize,
    pub total_bytes: u64,
    pub errors: Vec<SourceError>,
    pub settles_at: Option<Timestamp>,
}

impl<'a> SweepWorklist<'a> {
    pub fn new(
        plan: &'a SweepPlan<'a>,
        cursors: &'a HashMap<[u8; 16], Cursor>,
        now: Timestamp,
    ) -> Self {
        let mut todo = Self {
            sources: Vec::new(),
            adapters: plan.adapters,
            cursors,
            seen_keys: HashSet::new(),
            discovered: plan.discovery.sources.len(),
            unchanged: 0,
            total_bytes: 0,
            errors: plan.discovery.errors.clone(),
            settles_at: None,
        };
        for source in &plan.discovery.sources {
            let key = tail::source_key(&source.path);
            let stamp = match tail::source_stamp(source) {
                Ok(stamp) => stamp,
                // It vanished between the look and now: gone, like those of earlier sweeps.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(error) => {
                    todo.seen_keys.insert(key);
                    todo.errors.push(SourceError::new(&source.path, &error));
                    continue;
                }
            };
            todo.seen_keys.insert(key);
            let cursor = cursors.get(&key);
            if let Some(cursor) = cursor
                && tail::is_unchanged(cursor, &stamp, now)
            {
                todo.unchanged += 1;
                if !cursor.complete {
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

    pub fn adapter_for(&self, index: usize) -> Option<&'a Adapter> {
        let flavor = self.sources.get(index)?.flavor;
        self.adapters
            .iter()
            .copied()
            .find(|adapter| adapter.flavor() == flavor)
    }

    pub fn initial_report(&self) -> SweepReport {
        SweepReport {
            discovered: self.discovered,
            skipped_unchanged: self.unchanged,
            trouble: self.errors.clone(),
            settles_at: self.settles_at,
            ..SweepReport::default()
        }
    }

    pub fn progress(&self, sweep: &SweepReport, sources: usize) -> SweepProgress {
        SweepProgress {
            read_bytes: sweep.read_bytes,
            total_bytes: self.total_bytes,
            sources,
            sources_total: self.sources.len(),
            records: sweep.records,
        }
    }
}
