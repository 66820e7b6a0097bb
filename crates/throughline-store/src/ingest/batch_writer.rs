//! Writing one batch inside a transaction of the writer.

use std::collections::{BTreeMap, HashSet};

use redact::{CleanString, Redactor};
use rusqlite::Transaction;

use super::batch::{Batch, BatchReport, ExpectedCursor, ReadPhase};
use super::writer::WriterState;
use super::{detached, secrets, sources};
use crate::error::Result;
use crate::index::digest_rows;
use crate::lifecycle::retention;
use crate::lifecycle::tombstones::{BlockedContent, blocked_by_tombstones};
use crate::records::sessions::{self, SessionRef};
use crate::records::{self, BatchBlocks, Insertion, RecordCounts, RecordSource, usage};
use crate::texts::logs;

/// Writes a batch, unless the source's cursor has moved since the batch was read.
pub(super) fn write_batch(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    redactor: &Redactor,
    batch: &Batch,
) -> Result<BatchReport> {
    if let ExpectedCursor::At(cursor) = &batch.expected_cursor
        && !sources::cursor_matches(tx, &batch.cursor.cursor.key, cursor.as_deref())?
    {
        return Ok(BatchReport {
            overtaken: true,
            ..BatchReport::default()
        });
    }
    let blocked = blocked_by_tombstones(tx, writer, redactor, batch)?;
    let source = sources::find_or_insert_source(tx, &batch.cursor, blocked.whole_source)?;
    let generation = logs::generation(tx, source)?;
    if batch.phase.is_restart() {
        sources::reset_diagnostics(tx, source)?;
        logs::discard_unfinished(tx, source, generation)?;
        detached::begin_rereading(tx, source)?;
    }
    let mut write = BatchWrite {
        tx,
        redactor,
        batch,
        blocked: &blocked,
        source,
        sessions: BTreeMap::new(),
        grown: BTreeMap::new(),
        recounted: HashSet::new(),
        report: BatchReport::default(),
        has_reattached: false,
    };
    write.write_sessions(writer)?;
    write.write_records(writer)?;
    write.write_usage(writer)?;
    write.write_log(writer, generation)?;
    write.finish_reread(writer, generation)?;
    write.update_counts()?;
    sources::advance_cursor(tx, source, &batch.cursor)?;
    blocked.finish(tx, source)?;
    Ok(write.report)
}

/// A batch while it is written.
struct BatchWrite<'b> {
    tx: &'b Transaction<'b>,
    redactor: &'b Redactor,
    batch: &'b Batch,
    blocked: &'b BlockedContent,
    source: i64,
    /// The sessions of the batch that were written or found.
    sessions: BTreeMap<&'b str, SessionRef>,
    /// The sessions that got new records, and how many.
    grown: BTreeMap<i64, RecordCounts>,
    /// The sessions of which all records must be counted, because some were moved or deleted.
    recounted: HashSet<i64>,
    report: BatchReport,
    /// A record came back that the source had lost.
    has_reattached: bool,
}

impl<'b> BatchWrite<'b> {
    fn is_blocked(&self, session: &CleanString) -> bool {
        self.blocked.sessions.contains(session.as_str())
    }

    /// Returns a session of the batch, and links it to the source when it is first used.
    fn session(&mut self, writer: &mut WriterState, name: &'b CleanString) -> Result<SessionRef> {
        if let Some(session) = self.sessions.get(name.as_str()) {
            return Ok(*session);
        }
        let flavor = self.batch.cursor.flavor;
        let session = sessions::find_or_insert_session(self.tx, writer, name, flavor)?;
        if sources::link_session(self.tx, self.source, session.id)? {
            writer.stored_text.forget(session.id);
            self.replace_hook_records(writer, session)?;
        }
        self.sessions.insert(name.as_str(), session);
        Ok(session)
    }

    /// Deletes the records of a session that came from the payloads of hooks: the log, which the
    /// store now gets, has the same messages with their own ids.
    fn replace_hook_records(
        &mut self,
        writer: &mut WriterState,
        session: SessionRef,
    ) -> Result<()> {
        let condition = "session = ?1 AND source <> ?2
            AND source IN (SELECT id FROM sources WHERE path = ?3)";
        let values: [&dyn rusqlite::ToSql; 3] =
            [&session.id, &self.source, &sources::HOOK_PAYLOADS];
        for stored in records::rows_where_lossy(self.tx, condition, &values)? {
            records::delete_record(self.tx, writer, &stored)?;
            self.grown.entry(session.id).or_default();
            self.recounted.insert(session.id);
        }
        Ok(())
    }

    /// Writes what the batch says of sessions, and the secrets that it has shown.
    fn write_sessions(&mut self, writer: &mut WriterState) -> Result<()> {
        for session in &self.batch.cleaned.sessions {
            if !self.is_blocked(&session.name) {
                sessions::upsert(self.tx, writer, session, self.blocked.title(session))?;
            }
        }
        for found in &self.batch.cleaned.secrets {
            if !self.is_blocked(&found.session) {
                let session = self.session(writer, &found.session)?;
                secrets::record_secrets(self.tx, writer, self.redactor, session, found)?;
            }
        }
        Ok(())
    }

    fn write_records(&mut self, writer: &mut WriterState) -> Result<()> {
        let line_shift = if self.batch.phase.is_reread() {
            0
        } else {
            detached::line_shift(self.tx, self.source)?
        };
        let mut blocks = BatchBlocks::new(&self.batch.cleaned.blocks);
        let mut unwritten = Vec::new();
        for (index, record) in self.batch.cleaned.records.iter().enumerate() {
            if self.blocked.records.contains(&index) {
                unwritten.push(record);
                continue;
            }
            let session = self.session(writer, &record.session)?;
            let target = RecordSource {
                session,
                source: self.source,
                line_shift,
            };
            match records::insert(self.tx, writer, target, record, &mut blocks)? {
                Insertion::New => {
                    self.report.records += 1;
                    self.grown.entry(session.id).or_default().add(record.kind);
                    continue;
                }
                Insertion::Reattached => self.has_reattached = true,
                Insertion::AlreadyStored | Insertion::Evicted => {}
            }
            self.recounted.insert(session.id);
            unwritten.push(record);
        }
        blocks.blank_unwritten(self.tx, &unwritten)?;
        for session in writer.evicted.write_returned(self.tx)? {
            digest_rows::remove(self.tx, writer, session)?;
            self.recounted.insert(session);
        }
        Ok(())
    }

    fn write_usage(&mut self, writer: &mut WriterState) -> Result<()> {
        let mut changed: HashSet<i64> = self.grown.keys().copied().collect();
        for entry in &self.batch.cleaned.usage {
            if self.is_blocked(&entry.session) {
                continue;
            }
            let session = self.session(writer, &entry.session)?;
            if usage::upsert(self.tx, session, entry)? && changed.insert(session.id) {
                sessions::bump_revision(self.tx, session.id)?;
            }
        }
        Ok(())
    }

    /// Archives the piece of the log. A log that is read again is not archived once records of it
    /// were evicted, because that would bring their text back.
    fn write_log(&mut self, writer: &mut WriterState, generation: i64) -> Result<()> {
        let Some(piece) = &self.batch.piece else {
            return Ok(());
        };
        let is_reread = self.batch.phase.is_reread();
        if self.blocked.whole_source || (is_reread && self.has_evicted(writer)?) {
            return Ok(());
        }
        let cursor = &self.batch.cursor.cursor;
        let blanked = self
            .blocked
            .blank_piece(self.tx, self.redactor, piece, cursor)?;
        let piece = blanked.as_ref().unwrap_or(piece);
        logs::insert(
            self.tx,
            self.source,
            generation + i64::from(is_reread),
            piece,
        )?;
        secrets::add_piece_to_filters(self.tx, writer, self.source, piece)
    }

    fn has_evicted(&self, writer: &mut WriterState) -> Result<bool> {
        for session in self.sessions.values() {
            if writer.evicted.has_evicted(self.tx, session.id)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Marks the records that a source has lost when it was read to its end, and restores the order
    /// of its log once it holds everything again.
    fn finish_reread(&mut self, writer: &mut WriterState, generation: i64) -> Result<()> {
        let (tx, source) = (self.tx, self.source);
        let mut is_end = false;
        if let ReadPhase::RereadEnd { held, .. } = &self.batch.phase {
            is_end = true;
            let last_line = self.batch.cursor.cursor.line;
            let lost = detached::finish_rereading(tx, writer, source, held, last_line)?;
            self.report.detached = lost.detached;
            self.report.rereads_others = lost.rereads_others;
            logs::switch_generation(tx, source, generation + 1, lost.detached > 0)?;
        }
        if (self.has_reattached || is_end) && !detached::has_detached_records(tx, source)? {
            detached::restore_lines(tx, source)?;
            logs::keep_only_current(tx, source)?;
        }
        Ok(())
    }

    /// Updates the counts of the sessions that got new records. Counting all records of a session
    /// for every batch would make a long session quadratic.
    fn update_counts(&self) -> Result<()> {
        let tx = self.tx;
        for (&session, counts) in &self.grown {
            let is_plain = !self.batch.phase.is_reread()
                && !self.recounted.contains(&session)
                && !retention::has_evictions(tx, session)?;
            if is_plain {
                records::add_to_counts(tx, session, counts)?;
            } else {
                records::recount_session(tx, session)?;
            }
            sessions::clear_capture_time(tx, session)?;
        }
        Ok(())
    }
}
