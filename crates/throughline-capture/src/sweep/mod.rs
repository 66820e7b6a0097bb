//! The sweep: find the logs, read what is new in them, clean it, store it.
//!
//! A sweep goes through these parts:
//!
//! 1. [`worklist`] compares the discovered sources with the stored cursors and keeps those that
//!    have changed.
//! 2. [`reader`] runs several threads. Each takes the next source, reads it with [`crate::tail`]
//!    and makes batches of it ([`batch`]); [`access`] decides which sessions may be captured, and
//!    [`in_flight`] limits how far a thread runs ahead of the disk.
//! 3. [`writer`] appends the batches in the order of the sources, so that the same logs always
//!    make the same store, whatever the timing of the threads.
//!
//! Each batch is written together with its cursor or not at all, so a sweep may be interrupted at
//! any point: the next one resumes where it stopped.

mod access;
mod batch;
mod hook_turn;
mod in_flight;
mod reader;
mod report;
mod worklist;
mod writer;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use memory::LogEntry;
use store::{Cursor, ScrubReport, Store};

pub use self::hook_turn::store_hook_turn;
use self::report::ChunkCounts;
pub(crate) use self::report::{SweepOutcome, earlier};
pub use self::report::{SweepProgress, SweepReport};
use self::worklist::Worklist;
use self::writer::BatchWriter;
use crate::discovery::Discovery;
use crate::{Sources, tail};

/// Up to this many sources, the cursors are loaded by key instead of all at once.
const CURSORS_BY_KEY_MAX: usize = 64;
/// How many times a sweep is repeated because another process wrote the same sources meanwhile.
const RESWEEPS_MAX: usize = 8;

/// How a sweep is stopped, and who is told of its progress.
#[derive(Clone, Copy)]
pub struct SweepControl<'a> {
    /// Set by another thread to end the sweep early.
    pub stop: &'a AtomicBool,
    /// Called after each source.
    pub progress: &'a (dyn Fn(SweepProgress) + Sync),
}

impl<'a> SweepControl<'a> {
    /// Returns a control without progress reports.
    pub fn new(stop: &'a AtomicBool) -> Self {
        Self {
            stop,
            progress: &|_| {},
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for SweepControl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SweepControl")
            .field("stop", self.stop)
            .finish_non_exhaustive()
    }
}

/// Reads what is new in all sources and stores it.
pub fn sweep(
    store: &Store,
    sources: &Sources,
    control: &SweepControl<'_>,
    now: Timestamp,
) -> store::Result<SweepReport> {
    sweep_discovered(store, sources, &sources.discover(), control, now)
}

/// Reads what is new in the sources at these paths. Only [`sweep`] notices that a source is gone.
pub fn sweep_paths(
    store: &Store,
    sources: &Sources,
    paths: &BTreeSet<PathBuf>,
    control: &SweepControl<'_>,
    now: Timestamp,
) -> store::Result<SweepReport> {
    sweep_discovered(store, sources, &sources.discover_paths(paths), control, now)
}

/// Reads what is new in sources that were discovered before.
pub fn sweep_discovered(
    store: &Store,
    sources: &Sources,
    discovery: &Discovery,
    control: &SweepControl<'_>,
    now: Timestamp,
) -> store::Result<SweepReport> {
    let pass = SweepPass {
        sources,
        discovery,
        control,
        now,
    };
    Ok(pass.run(store)?.report)
}

/// Reads what is new in sources that were discovered before and counts it. Writes nothing.
pub fn dry_run(
    cursors: &HashMap<[u8; 16], Cursor>,
    sources: &Sources,
    discovery: &Discovery,
    control: &SweepControl<'_>,
    now: Timestamp,
) -> SweepReport {
    let pass = SweepPass {
        sources,
        discovery,
        control,
        now,
    };
    let worklist = Worklist::new(&pass, cursors);
    let mut outcome = worklist.initial_outcome();
    for (index, source) in worklist.sources.iter().enumerate() {
        if control.is_stopped() {
            break;
        }
        let Some(adapter) = sources.adapter(source.flavor) else {
            continue;
        };
        let cursor = cursors.get(&tail::source_key(&source.path));
        let read_before = outcome.report.read_bytes;
        let read = tail::read_source(adapter, source, cursor, now, &mut |chunk| {
            outcome.add_counts(ChunkCounts::of(source, &chunk));
            let entries = chunk.parsed.entries.into_iter();
            let records = entries.map(|entry| match entry {
                LogEntry::Message(message) => memory::record::project_records(message).len(),
                LogEntry::Session(_) | LogEntry::Usage(_) => 0,
            });
            outcome.report.records += records.sum::<usize>();
            ControlFlow::Continue(())
        });
        let read_bytes = outcome.report.read_bytes - read_before;
        let was_only_touched = worklist.was_only_touched(index, read_bytes);
        outcome.add_read_result(&source.path, was_only_touched, read.err());
        (control.progress)(worklist.progress(&outcome.report, index + 1));
    }
    outcome.report.interrupted = control.is_stopped();
    outcome.report
}

/// The inputs of one sweep.
pub(crate) struct SweepPass<'a> {
    pub(crate) sources: &'a Sources,
    pub(crate) discovery: &'a Discovery,
    pub(crate) control: &'a SweepControl<'a>,
    pub(crate) now: Timestamp,
}

impl SweepPass<'_> {
    /// Sweeps, and sweeps again while other processes write the same sources.
    pub(crate) fn run(&self, store: &Store) -> store::Result<SweepOutcome> {
        if self.discovery.sources.is_empty() && !self.discovery.is_complete {
            return Ok(SweepOutcome::of_errors(&self.discovery.errors));
        }
        if self.discovery.is_complete {
            // An older version may have archived text that today's scope withholds.
            let scrub = store.scrub_archive(&self.sources.scope, self.now)?;
            if scrub != ScrubReport::default() {
                tracing::info!(?scrub, "rewrote the archive by the rules of [capture]");
            }
        }
        let mut outcome = self.run_once(store)?;
        for _ in 0..RESWEEPS_MAX {
            if outcome.conflicts == 0 || outcome.report.interrupted {
                break;
            }
            outcome.merge_resweep(self.run_once(store)?);
        }
        Ok(outcome)
    }

    fn run_once(&self, store: &Store) -> store::Result<SweepOutcome> {
        let cursors = self.load_cursors(store)?;
        let worklist = Worklist::new(self, &cursors);
        let mut writer = BatchWriter::new(store, self.control, &worklist);
        reader::read_worklist(store, self, &worklist, |event| writer.handle_event(event))?;
        let mut outcome = writer.finish()?;
        outcome.report.gone = self.mark_gone(store, &worklist)?;
        outcome.report.interrupted = self.control.is_stopped();
        Ok(outcome)
    }

    fn load_cursors(&self, store: &Store) -> store::Result<HashMap<[u8; 16], Cursor>> {
        let sources = &self.discovery.sources;
        if self.discovery.is_complete || sources.len() > CURSORS_BY_KEY_MAX {
            return store.cursors();
        }
        let keys = sources.iter().map(|source| tail::source_key(&source.path));
        store.cursors_of(&keys.collect::<Vec<_>>())
    }

    /// Marks the sources that a complete discovery did not find, and returns how many they are.
    fn mark_gone(&self, store: &Store, worklist: &Worklist<'_>) -> store::Result<usize> {
        if !self.discovery.is_complete {
            return Ok(0);
        }
        let mut gone = Vec::new();
        for cursor in worklist.cursors_not_seen() {
            let path = store.source_path(cursor.key)?.map(PathBuf::from);
            // The stored path may have been changed by the redactor, or may be in a folder that
            // was named on the command line once. Such a source may still exist.
            if path.is_some_and(|path| tail::source_key(&path) == cursor.key && is_absent(&path)) {
                gone.push(cursor.key);
            }
        }
        gone.sort_unstable();
        let count = gone.len();
        if count > 0 {
            store.mark_sources_gone(gone).wait()?;
        }
        Ok(count)
    }
}

fn is_absent(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}
