//! A batch: what was read from one source, written with the cursor behind it or not at all.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use memory::{Flavor, RecordId};
use rusqlite::Transaction;

use crate::error::Result;
use crate::index::digest_rows;
use crate::ingest::sanitizer::{CleanEntries, Sanitizer};
use crate::ingest::sources::{CleanCursor, Cursor};
use crate::ingest::writer::{CommitMode, WriterState};
use crate::ingest::{detached, secrets, sources};
use crate::lifecycle::tombstones::blocked_by_tombstones;
use crate::records::Insertion;
use crate::records::sessions::SessionRef;
use crate::records::{self, sessions, usage};
use crate::texts::logs::{self, LogPiece};
use crate::{Store, Ticket};
use redact::{CleanString, Redactor};

/// What one reading of a source gave.
#[derive(Debug)]
pub struct Batch {
    pub(crate) cleaned: CleanEntries,
    pub(crate) cursor: CleanCursor,
    phase: ReadPhase,
    piece: Option<LogPiece>,
    expected_cursor: ExpectedCursor,
    /// Dropped with the batch, when it is written.
    guard: Option<Box<dyn std::any::Any + Send>>,
}

/// Where the source's cursor must stand for a batch to be written.
#[derive(Debug)]
enum ExpectedCursor {
    Any,
    At(Option<Box<Cursor>>),
}

/// How a batch follows what was read of its source before.
#[derive(Debug, Default)]
pub enum ReadPhase {
    /// It goes on where the cursor stood.
    #[default]
    Appended,
    /// The source is read again from its start; this batch is the first.
    RereadStart,
    /// It goes on in a source that is being read again.
    RereadMiddle,
    /// The last batch of a source that was read again from its start; the first one too if
    /// `restarted`. Stored records of the source that are not in `held` are marked as detached.
    RereadEnd {
        held: HashSet<RecordId>,
        restarted: bool,
    },
}

/// A piece of a source's own log.
#[derive(Debug)]
pub struct LogChunk {
    pub offset: u64,
    pub size: u64,
    pub text: String,
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BatchReport {
    pub records: usize,
    /// Records that the source held when it was last read and holds no longer. They stay.
    pub detached: usize,
    /// Other sources may hold what this one has lost; the next sweep reads them again.
    pub rereads_others: bool,
    /// Nothing was written: another process has read the source meanwhile.
    pub overtaken: bool,
}

/// What was met besides entries.
#[derive(Debug, Default)]
pub struct ParseIssues {
    /// Line and reason of what was passed over.
    pub skipped: Vec<(u64, String)>,
    /// Kinds of entries that the adapter did not know.
    pub unknown: BTreeMap<String, u64>,
}

/// What a batch was read from, and how.
#[derive(Debug)]
pub struct BatchOrigin<'a> {
    pub flavor: Flavor,
    pub path: &'a Path,
    /// Where the source was left.
    pub cursor: Cursor,
    pub phase: ReadPhase,
    pub issues: ParseIssues,
    /// The text itself, for the archive.
    pub log: Option<LogChunk>,
}

/// What a record takes in memory besides its text and terms, and a line that was passed over.
const RECORD_OVERHEAD_BYTES: usize = 1 << 10;
const SKIPPED_BYTES: usize = 64;
/// So many bytes weigh as much as a record when batches share a commit: a group is kept in memory
/// until it is on disk.
const BYTES_PER_WEIGHT: usize = 16 << 10;

impl Batch {
    pub fn new(door: &mut Sanitizer<'_>, cleaned: CleanEntries, from: BatchOrigin<'_>) -> Self {
        let log = from.log;
        let piece =
            log.and_then(|log| LogPiece::new(log.offset, log.size, &door.clean_log(&log.text)));
        let clean = |text: &str| door.clean_text(text);
        let BatchOrigin {
            issues: odd,
            cursor,
            phase,
            ..
        } = from;
        let cursor = CleanCursor {
            flavor: from.flavor,
            path: clean(&from.path.to_string_lossy()),
            state: cursor.state.as_deref().map(clean),
            skipped: odd
                .skipped
                .into_iter()
                .map(|(line, why)| (line, clean(&why)))
                .collect(),
            unknown: odd
                .unknown
                .into_iter()
                .map(|(kind, count)| (clean(&kind), count))
                .collect(),
            cursor,
        };
        Self {
            cleaned,
            cursor,
            phase,
            piece,
            expected_cursor: ExpectedCursor::Any,
            guard: None,
        }
    }

    /// Keeps something until the batch is written or given up.
    pub fn with_guard(mut self, held: impl Send + 'static) -> Self {
        self.guard = Some(Box::new(held));
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
        let odd = self.cursor.skipped.len() * SKIPPED_BYTES;
        texts.sum::<usize>() + piece + blocks.sum::<usize>() + odd
    }

    /// Lets the batch be written only if the source's cursor is still the one it was read from.
    pub fn after(mut self, cursor: Option<Cursor>) -> Self {
        self.expected_cursor = ExpectedCursor::At(cursor.map(Box::new));
        self
    }
}

impl Store {
    /// Writes a batch; the ticket is honoured when it is on disk, together with others that come
    /// soon after, or at [`Store::flush`].
    pub fn append(&self, batch: Batch) -> Ticket<BatchReport> {
        let redactor = self.redactor_handle();
        let weight = batch.cleaned.records.len() + batch.size_bytes() / BYTES_PER_WEIGHT;
        self.writer()
            .submit(weight, CommitMode::Grouped, move |tx, writer| {
                write_batch(tx, writer, &redactor, &batch)
            })
    }

    /// Waits until everything handed in before is on disk.
    pub fn flush(&self) -> Result<()> {
        self.writer()
            .submit(0, CommitMode::Immediate, |_, _| Ok(()))
            .wait()
    }
}

fn write_batch(
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
    let kept_out = blocked_by_tombstones(tx, writer, redactor, batch)?;
    let source = sources::find_or_insert_source(tx, &batch.cursor, kept_out.whole_source)?;
    let whole = logs::generation(tx, source)?;
    let is_restart = matches!(
        batch.phase,
        ReadPhase::RereadStart
            | ReadPhase::RereadEnd {
                restarted: true,
                ..
            }
    );
    if is_restart {
        sources::reset_diagnostics(tx, source)?;
        logs::discard_unfinished(tx, source, whole)?;
        detached::begin_rereading(tx, source)?;
    }
    let is_reread = !matches!(batch.phase, ReadPhase::Appended);
    let read_from = records::RecordSource {
        id: source,
        line_shift: if is_reread {
            0
        } else {
            detached::line_shift(tx, source)?
        },
    };
    let flavor = batch.cursor.flavor;
    let is_kept_out = |session: &CleanString| kept_out.sessions.contains(session.as_str());
    for session in &batch.cleaned.sessions {
        if !is_kept_out(&session.name) {
            sessions::upsert(tx, writer, session, kept_out.title(session))?;
        }
    }
    let mut sessions = BTreeMap::new();
    for secrets in &batch.cleaned.secrets {
        if is_kept_out(&secrets.session) {
            continue;
        }
        let session = linked_session(tx, writer, &mut sessions, source, &secrets.session, flavor)?;
        secrets::record_secrets(tx, writer, redactor, session, secrets)?;
    }
    let mut blocks = records::BatchBlocks::new(&batch.cleaned.blocks);
    let mut written = BatchReport::default();
    let mut grown = HashSet::new();
    let mut unwritten = Vec::new();
    let mut is_reattached = false;
    for (at, record) in batch.cleaned.records.iter().enumerate() {
        if kept_out.records.contains(&at) {
            unwritten.push(record);
            continue;
        }
        let session = linked_session(tx, writer, &mut sessions, source, &record.session, flavor)?;
        match records::insert(tx, writer, session, read_from, record, &mut blocks)? {
            Insertion::New => {
                written.records += 1;
                grown.insert(session.id);
                continue;
            }
            Insertion::Reattached => is_reattached = true,
            Insertion::AlreadyStored | Insertion::Evicted => {}
        }
        unwritten.push(record);
    }
    // A text without a row would outlive its being forgotten.
    blocks.blank_unwritten(tx, &unwritten)?;
    for session in writer.evicted.write_returned(tx)? {
        digest_rows::remove(tx, writer, session)?;
    }
    let mut changed = grown.clone();
    for usage in &batch.cleaned.usage {
        if is_kept_out(&usage.session) {
            continue;
        }
        let session = linked_session(tx, writer, &mut sessions, source, &usage.session, flavor)?;
        if usage::upsert(tx, session, usage)? && changed.insert(session.id) {
            sessions::bump_revision(tx, session.id)?;
        }
    }
    let generation = whole + i64::from(is_reread);
    // What is read again of a log whose records were evicted must not come back.
    let is_gone = generation != whole && any_evicted(tx, writer, sessions.values())?;
    if let Some(piece) = &batch.piece
        && !kept_out.whole_source
        && !is_gone
    {
        let blanked = kept_out.blank_piece(tx, redactor, piece, &batch.cursor.cursor)?;
        let piece = blanked.as_ref().unwrap_or(piece);
        logs::insert(tx, source, generation, piece)?;
        secrets::add_piece_to_filters(tx, writer, source, piece)?;
    }
    if let ReadPhase::RereadEnd { held, .. } = &batch.phase {
        let last_line = batch.cursor.cursor.line;
        let lost = detached::finish_rereading(tx, writer, source, held, last_line)?;
        written.detached = lost.detached;
        written.rereads_others = lost.rereads_others;
        logs::switch_generation(tx, source, generation, lost.detached > 0)?;
    }
    if (is_reattached || matches!(batch.phase, ReadPhase::RereadEnd { .. }))
        && !detached::has_detached_records(tx, source)?
    {
        detached::restore_lines(tx, source)?;
        logs::keep_only_current(tx, source)?;
    }
    for session in sessions
        .values()
        .filter(|session| grown.contains(&session.id))
    {
        records::recount_session(tx, session.id)?;
        sessions::clear_capture_time(tx, session.id)?;
    }
    sources::advance_cursor(tx, source, &batch.cursor)?;
    kept_out.finish(tx, source)?;
    Ok(written)
}

fn any_evicted<'s>(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    sessions: impl Iterator<Item = &'s SessionRef>,
) -> Result<bool> {
    for session in sessions {
        if writer.evicted.has_evicted(tx, session.id)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns a session of the batch, linked to its source on first sight.
fn linked_session<'b>(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    sessions: &mut BTreeMap<&'b str, SessionRef>,
    source: i64,
    name: &'b CleanString,
    flavor: Flavor,
) -> Result<SessionRef> {
    if let Some(known) = sessions.get(name.as_str()) {
        return Ok(*known);
    }
    let known = sessions::find_or_insert_session(tx, writer, name, flavor)?;
    if sources::link_session(tx, source, known.id)? {
        writer.stored_text.forget(known.id);
    }
    sessions.insert(name.as_str(), known);
    Ok(known)
}
