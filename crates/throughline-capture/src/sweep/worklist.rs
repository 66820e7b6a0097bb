//! Decides which of the discovered sources a sweep must read.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use store::Cursor;

use super::report::{SweepOutcome, earlier};
use super::{SweepPass, SweepProgress, SweepReport};
use crate::discovery::SourceError;
use crate::{Source, tail};

/// The sources that must be read, and what became of the others.
pub(super) struct Worklist<'a> {
    pub(super) sources: Vec<&'a Source>,
    /// The indices of sources that have the size they had when they were last read.
    same_size: HashSet<usize>,
    cursors: &'a HashMap<[u8; 16], Cursor>,
    /// The keys of all discovered sources that still exist.
    seen_keys: HashSet<[u8; 16]>,
    discovered: usize,
    unchanged: usize,
    total_bytes: u64,
    errors: Vec<SourceError>,
    complete_at: Option<Timestamp>,
}

impl<'a> Worklist<'a> {
    pub(super) fn new(pass: &SweepPass<'a>, cursors: &'a HashMap<[u8; 16], Cursor>) -> Self {
        let mut worklist = Self {
            sources: Vec::new(),
            same_size: HashSet::new(),
            cursors,
            seen_keys: HashSet::new(),
            discovered: pass.discovery.sources.len(),
            unchanged: 0,
            total_bytes: 0,
            errors: pass.discovery.errors.clone(),
            complete_at: None,
        };
        for source in &pass.discovery.sources {
            worklist.add(source, pass.now);
        }
        worklist
    }

    fn add(&mut self, source: &'a Source, now: Timestamp) {
        let identity = match tail::source_stamp(source) {
            Ok(identity) => identity,
            // It vanished after discovery, and is gone like the sources that discovery missed.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            Err(error) => {
                self.seen_keys.insert(tail::source_key(&source.path));
                self.errors.push(SourceError::new(&source.path, &error));
                return;
            }
        };
        self.seen_keys.insert(tail::source_key(&source.path));
        let cursor = self.cursor_of(source);
        if let Some(cursor) = cursor
            && tail::is_unchanged(cursor, &identity, now)
        {
            self.unchanged += 1;
            if !cursor.complete {
                self.complete_at = earlier(self.complete_at, tail::complete_at(&identity));
            }
            return;
        }
        let read_before = cursor.map_or(0, |cursor| cursor.offset.min(identity.size));
        self.total_bytes += identity.size - read_before;
        if cursor.is_some_and(|cursor| cursor.identity.size == identity.size) {
            self.same_size.insert(self.sources.len());
        }
        self.sources.push(source);
    }

    /// Says whether a source of which `read_bytes` were read has changed in nothing but its time.
    pub(super) fn was_only_touched(&self, index: usize, read_bytes: u64) -> bool {
        read_bytes == 0 && self.same_size.contains(&index)
    }

    pub(super) fn cursor_of(&self, source: &Source) -> Option<&'a Cursor> {
        self.cursors.get(&tail::source_key(&source.path))
    }

    /// Returns the cursors of sources that were not discovered and are not marked as gone yet.
    pub(super) fn cursors_not_seen(&self) -> impl Iterator<Item = &'a Cursor> {
        let cursors = self.cursors.values();
        cursors.filter(|cursor| !cursor.gone && !self.seen_keys.contains(&cursor.key))
    }

    pub(super) fn initial_outcome(&self) -> SweepOutcome {
        SweepOutcome {
            report: SweepReport {
                discovered: self.discovered,
                skipped_unchanged: self.unchanged,
                trouble: self.errors.clone(),
                ..SweepReport::default()
            },
            complete_at: self.complete_at,
            conflicts: 0,
        }
    }

    pub(super) fn progress(&self, report: &SweepReport, sources: usize) -> SweepProgress {
        SweepProgress {
            read_bytes: report.read_bytes,
            total_bytes: self.total_bytes,
            sources,
            sources_total: self.sources.len(),
            records: report.records,
        }
    }
}
