//! The writing side of a sweep: appends batches and counts what became of them.

use std::collections::{BTreeSet, VecDeque};

use store::{BatchReport, Store, Ticket};

use super::SweepControl;
use super::reader::ReadEvent;
use super::report::SweepOutcome;
use super::worklist::Worklist;
use crate::discovery::SourceError;

/// The batches that were handed to the store, and the counts of the sweep so far.
pub(super) struct BatchWriter<'a> {
    store: &'a Store,
    control: &'a SweepControl<'a>,
    worklist: &'a Worklist<'a>,
    outcome: SweepOutcome,
    /// The batches that are not written yet, each with the index of its source.
    tickets: VecDeque<(usize, Ticket<BatchReport>)>,
    /// The sources of which the store rejected a batch.
    failed: BTreeSet<usize>,
    /// The bytes that were read before the current source.
    read_before: u64,
}

impl<'a> BatchWriter<'a> {
    pub(super) fn new(
        store: &'a Store,
        control: &'a SweepControl<'a>,
        worklist: &'a Worklist<'a>,
    ) -> Self {
        Self {
            store,
            control,
            worklist,
            outcome: worklist.initial_outcome(),
            tickets: VecDeque::new(),
            failed: BTreeSet::new(),
            read_before: 0,
        }
    }

    pub(super) fn handle_event(&mut self, event: ReadEvent) -> store::Result<()> {
        match event {
            ReadEvent::Batch {
                source,
                batch,
                counts,
            } => {
                self.tickets.push_back((source, self.store.append(*batch)));
                self.outcome.add_counts(counts);
            }
            ReadEvent::SourceDone { source, error } => {
                let path = &self.worklist.sources[source].path;
                let read = self.outcome.report.read_bytes - self.read_before;
                self.read_before += read;
                let was_only_touched = self.worklist.was_only_touched(source, read);
                self.outcome.add_read_result(path, was_only_touched, error);
                while let Some((index, ticket)) = self.tickets.front()
                    && let Some(written) = ticket.poll()
                {
                    let index = *index;
                    self.tickets.pop_front();
                    self.count_batch(index, written)?;
                }
                let progress = self.worklist.progress(&self.outcome.report, source + 1);
                (self.control.progress)(progress);
            }
        }
        Ok(())
    }

    /// Waits until all batches are on disk.
    pub(super) fn finish(mut self) -> store::Result<SweepOutcome> {
        self.store.flush()?;
        while let Some((index, ticket)) = self.tickets.pop_front() {
            self.count_batch(index, ticket.wait())?;
        }
        Ok(self.outcome)
    }

    /// Counts what became of a batch. A batch that fails for a reason of its own costs only its
    /// source: the report names the source, and its cursor stays, so the next sweep tries again.
    fn count_batch(
        &mut self,
        index: usize,
        written: store::Result<BatchReport>,
    ) -> store::Result<()> {
        match written {
            Ok(mut report) => {
                // The later batches of a failed source expect a cursor that was never written.
                // That is not a conflict with another process.
                report.overtaken &= !self.failed.contains(&index);
                self.outcome.add_batch(report);
            }
            Err(error) if error.affects_all_writes() => return Err(error),
            Err(error) => {
                if self.failed.insert(index) {
                    let report = &mut self.outcome.report;
                    let path = &self.worklist.sources[index].path;
                    report.failed += 1;
                    report.ingested = report.ingested.saturating_sub(1);
                    report.trouble.push(SourceError::new(path, &error));
                }
            }
        }
        Ok(())
    }
}
