//! A batch: what was read from one source, written together with the cursor behind it or not at
//! all.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use memory::{Flavor, RecordId};

use super::batch_writer::write_batch;
use super::sanitizer::{CleanEntries, Sanitizer};
use super::sources::{CleanCursor, Cursor};
use super::writer::CommitMode;
use crate::error::Result;
use crate::texts::logs::LogPiece;
use crate::{Store, Ticket};

/// The memory that a record takes besides its text and terms, and that a skipped line takes.
const RECORD_OVERHEAD_BYTES: usize = 1 << 10;
const SKIPPED_BYTES: usize = 64;
/// How many bytes of a batch weigh as much as one record when batches share a commit. A group stays
/// in memory until it is on disk, so its bytes have to count too.
const BYTES_PER_WEIGHT: usize = 16 << 10;

/// What one reading of a source gave, redacted and ready to be written.
#[derive(Debug)]
pub struct Batch {
    pub(crate) cleaned: CleanEntries,
    pub(crate) cursor: CleanCursor,
    pub(super) phase: ReadPhase,
    pub(super) piece: Option<LogPiece>,
    pub(super) expected_cursor: ExpectedCursor,
    /// Dropped with the batch, once it is written.
    guard: Option<Box<dyn std::any::Any + Send>>,
}

/// The stored cursor that a batch requires to be written.
#[derive(Debug)]
pub(super) enum ExpectedCursor {
    Any,
    /// `None` for a source that was never read.
    At(Option<Box<Cursor>>),
}

/// How a batch follows what was read of its source before.
#[derive(Debug, Default)]
pub enum ReadPhase {
    /// The batch continues at the stored cursor.
    #[default]
    Appended,
    /// The source is read again from its start, and this is the first batch.
    RereadStart,
    /// The batch continues in a source that is read again.
    RereadMiddle,
    /// The last batch of a source that was read again from its start; also the first one if
    /// `restarted`. Stored records of the source that are not in `held` are marked as detached.
    RereadEnd {
        held: HashSet<RecordId>,
        restarted: bool,
    },
}

impl ReadPhase {
    pub(super) fn is_restart(&self) -> bool {
        let restarted_at_end = matches!(self, Self::RereadEnd { restarted, .. } if *restarted);
        matches!(self, Self::RereadStart) || restarted_at_end
    }

    pub(super) fn is_reread(&self) -> bool {
        !matches!(self, Self::Appended)
    }
}

/// A piece of a source's own log.
#[derive(Debug)]
pub struct LogChunk {
    pub offset: u64,
    pub size: u64,
    pub text: String,
}

/// What writing a batch changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchReport {
    pub records: usize,
    /// Records that the source held when it was last read and no longer holds. They stay stored.
    pub detached: usize,
    /// Other sources may hold what this one has lost; the next sweep reads them again.
    pub rereads_others: bool,
    /// Nothing was written, because another process has read the source in the meantime.
    pub overtaken: bool,
}

/// What an adapter could not use.
#[derive(Debug, Default)]
pub struct ParseIssues {
    /// The number of each skipped line, and why it was skipped.
    pub skipped: Vec<(u64, String)>,
    /// How often each unknown kind of entry occurred.
    pub unknown: BTreeMap<String, u64>,
}

/// The source that a batch was read from, and how it was read.
#[derive(Debug)]
pub struct BatchOrigin<'a> {
    pub flavor: Flavor,
    pub path: &'a Path,
    /// The position after the last entry of the batch.
    pub cursor: Cursor,
    pub phase: ReadPhase,
    pub issues: ParseIssues,
    /// The text of the log itself, for the archive.
    pub log: Option<LogChunk>,
}

impl Batch {
    pub fn new(
        sanitizer: &mut Sanitizer<'_>,
        cleaned: CleanEntries,
        origin: BatchOrigin<'_>,
    ) -> Self {
        let piece = origin.log.and_then(|log| {
            let text = sanitizer.clean_log(&log.text, &cleaned.records);
            LogPiece::new(log.offset, log.size, &text)
        });
        let clean = |text: &str| sanitizer.clean_text(text);
        let skipped = origin.issues.skipped.into_iter();
        let unknown = origin.issues.unknown.into_iter();
        let cursor = CleanCursor {
            flavor: origin.flavor,
            path: clean(&origin.path.to_string_lossy()),
            state: origin.cursor.state.as_deref().map(clean),
            skipped: skipped.map(|(line, why)| (line, clean(&why))).collect(),
            unknown: unknown.map(|(kind, count)| (clean(&kind), count)).collect(),
            cursor: origin.cursor,
        };
        Self {
            cleaned,
            cursor,
            phase: origin.phase,
            piece,
            expected_cursor: ExpectedCursor::Any,
            guard: None,
        }
    }

    /// Keeps a value until the batch is written or dropped.
    pub fn with_guard(mut self, guard: impl Send + 'static) -> Self {
        self.guard = Some(Box::new(guard));
        self
    }

    /// Returns about how much memory the batch takes.
    pub fn size_bytes(&self) -> usize {
        let records = &self.cleaned.records;
        let texts = records.iter().map(|record| {
            RECORD_OVERHEAD_BYTES + record.content.as_str().len() + record.terms.len()
        });
        let piece = self.piece.as_ref().map_or(0, |piece| piece.body.data.len());
        let blocks = self.cleaned.blocks.iter().map(Vec::len);
        let skipped = self.cursor.skipped.len() * SKIPPED_BYTES;
        texts.sum::<usize>() + piece + blocks.sum::<usize>() + skipped
    }

    /// Requires that the stored cursor is still the one from which the batch was read.
    pub fn after(mut self, cursor: Option<Cursor>) -> Self {
        self.expected_cursor = ExpectedCursor::At(cursor.map(Box::new));
        self
    }

    /// Accepts any stored cursor.
    pub fn after_any(mut self) -> Self {
        self.expected_cursor = ExpectedCursor::Any;
        self
    }
}

impl Store {
    /// Queues a batch. The ticket resolves when the batch is on disk; it shares a commit with
    /// others that follow soon, or is committed by [`Store::flush`].
    pub fn append(&self, batch: Batch) -> Ticket<BatchReport> {
        let redactor = self.redactor_handle();
        let weight = batch.cleaned.records.len() + batch.size_bytes() / BYTES_PER_WEIGHT;
        self.writer()
            .submit(weight, CommitMode::Grouped, move |tx, writer| {
                write_batch(tx, writer, &redactor, &batch)
            })
    }

    /// Waits until everything queued before is on disk.
    pub fn flush(&self) -> Result<()> {
        self.writer()
            .submit(0, CommitMode::Immediate, |_, _| Ok(()))
            .wait()
    }
}
