//! What a sweep counts: per chunk, in total, and for the caller.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;
use store::BatchReport;

use crate::Source;
use crate::discovery::SourceError;
use crate::tail::{self, SourceChunk};

/// The result of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SweepReport {
    pub discovered: usize,
    pub ingested: usize,
    pub skipped_unchanged: usize,
    /// Sources that existed at an earlier sweep and no longer do. Their records stay.
    pub gone: usize,
    pub records: usize,
    /// Records that their source held when it was last read and no longer holds. They stay.
    pub no_longer_in_source: usize,
    pub read_bytes: u64,
    /// Skipped lines, by reason.
    pub skipped_lines: BTreeMap<String, usize>,
    /// Kinds of entries that an adapter did not know, by agent.
    pub unknown: BTreeMap<String, u64>,
    /// Usage entries whose numbers were out of range and were clamped.
    pub clamped: usize,
    /// Files and folders that could not be read or stored.
    pub trouble: Vec<SourceError>,
    /// Sources whose records the store could not write. `trouble` names them, and the next sweep
    /// reads them again.
    pub failed: usize,
    /// The sweep was stopped before it was done.
    pub interrupted: bool,
}

impl SweepReport {
    /// Adds the results of a sweep of other sources.
    pub fn add(&mut self, other: Self) {
        self.discovered += other.discovered;
        self.ingested += other.ingested;
        self.skipped_unchanged += other.skipped_unchanged;
        self.gone += other.gone;
        self.records += other.records;
        self.no_longer_in_source += other.no_longer_in_source;
        self.read_bytes += other.read_bytes;
        for (reason, lines) in other.skipped_lines {
            *self.skipped_lines.entry(reason).or_default() += lines;
        }
        for (kind, entries) in other.unknown {
            *self.unknown.entry(kind).or_default() += entries;
        }
        self.clamped += other.clamped;
        self.trouble.extend(other.trouble);
        self.failed += other.failed;
        self.interrupted |= other.interrupted;
    }
}

/// How far a sweep has come, in bytes to read.
#[derive(Clone, Copy, Debug)]
pub struct SweepProgress {
    pub read_bytes: u64,
    pub total_bytes: u64,
    pub sources: usize,
    pub sources_total: usize,
    pub records: usize,
}

/// The counts that one chunk of a source adds to a sweep.
#[derive(Debug, Default)]
pub(super) struct ChunkCounts {
    pub(super) read_bytes: u64,
    pub(super) skipped_lines: BTreeMap<String, usize>,
    pub(super) unknown: BTreeMap<String, u64>,
    pub(super) clamped: usize,
    pub(super) complete_at: Option<Timestamp>,
}

impl ChunkCounts {
    pub(super) fn of(source: &Source, chunk: &SourceChunk) -> Self {
        let mut counts = Self {
            read_bytes: chunk.read_bytes,
            ..Self::default()
        };
        if chunk.is_last && !chunk.cursor.complete {
            counts.complete_at = tail::complete_at(&chunk.cursor.identity);
        }
        for skipped in &chunk.parsed.skipped {
            let reason = skipped.reason.to_string();
            *counts.skipped_lines.entry(reason).or_default() += 1;
        }
        for (kind, count) in &chunk.parsed.unknown_kinds {
            let kind = format!("{} {kind}", source.flavor);
            *counts.unknown.entry(kind).or_default() += count;
        }
        counts
    }
}

/// The report of a sweep, with what decides when the next one is due.
#[derive(Debug, Default)]
pub(crate) struct SweepOutcome {
    pub(crate) report: SweepReport,
    /// When the first of the incomplete sources counts as complete and must be read again, even
    /// if it does not change.
    pub(crate) complete_at: Option<Timestamp>,
    /// Batches after which sources must be read again, because another process read the same
    /// source meanwhile, or because other sources may hold what this one has lost.
    pub(crate) conflicts: usize,
}

impl SweepOutcome {
    pub(super) fn of_errors(errors: &[SourceError]) -> Self {
        let mut outcome = Self::default();
        outcome.report.trouble = errors.to_vec();
        outcome
    }

    pub(super) fn add_counts(&mut self, counts: ChunkCounts) {
        let report = &mut self.report;
        report.read_bytes += counts.read_bytes;
        report.clamped += counts.clamped;
        for (reason, count) in counts.skipped_lines {
            *report.skipped_lines.entry(reason).or_default() += count;
        }
        for (kind, count) in counts.unknown {
            *report.unknown.entry(kind).or_default() += count;
        }
        self.complete_at = earlier(self.complete_at, counts.complete_at);
    }

    /// Counts a source that was read to its end, or reports why it was not.
    pub(super) fn add_read_result(
        &mut self,
        path: &Path,
        was_only_touched: bool,
        error: Option<io::Error>,
    ) {
        match error {
            None if was_only_touched => self.report.skipped_unchanged += 1,
            None => self.report.ingested += 1,
            Some(error) => self.report.trouble.push(SourceError::new(path, &error)),
        }
    }

    pub(super) fn add_batch(&mut self, batch: BatchReport) {
        self.conflicts += usize::from(batch.overtaken || batch.rereads_others);
        self.report.records += batch.records;
        self.report.no_longer_in_source += batch.detached;
    }

    /// Adds a second sweep of the same sources. It has met the same unreadable files again, so its
    /// errors replace the earlier ones.
    pub(super) fn merge_resweep(&mut self, again: Self) {
        let (report, again_report) = (&mut self.report, again.report);
        report.ingested += again_report.ingested;
        report.gone += again_report.gone;
        report.records += again_report.records;
        report.no_longer_in_source += again_report.no_longer_in_source;
        report.read_bytes += again_report.read_bytes;
        report.trouble = again_report.trouble;
        report.failed = again_report.failed;
        report.clamped = again_report.clamped;
        report.interrupted = again_report.interrupted;
        self.complete_at = again.complete_at;
        self.conflicts = again.conflicts;
    }
}

/// Returns the earlier of two times, either of which may be unknown.
pub(crate) fn earlier(a: Option<Timestamp>, b: Option<Timestamp>) -> Option<Timestamp> {
    [a, b].into_iter().flatten().min()
}
