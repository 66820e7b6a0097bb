//! Writes a batch of an import with the same functions that capture uses.

use std::collections::{BTreeSet, HashSet};

use jiff::Timestamp;
use memory::words::StemmedText;
use memory::{Flavor, RecordId, SessionId};
use rusqlite::{OptionalExtension, Transaction, params};

use super::derived::{self, CallLine, InjectionLine, MarksLine, SummaryLine};
use super::line::{DigestLine, EvictionLine, FactLine, LogLine, bytes, decode_hex};
use crate::derived::digests::{self, CleanDigest};
use crate::derived::leases;
use crate::derived::signals::{self, CleanSignals};
use crate::error::Result;
use crate::index::digest_rows;
use crate::ingest::sanitizer::{CleanEntries, Sanitizer};
use crate::ingest::text_filter::TextFilters;
use crate::ingest::writer::WriterState;
use crate::ingest::{secrets, sources};
use crate::lifecycle::tombstones::TombstoneFilter;
use crate::records::sessions::SessionRef;
use crate::records::{self, sessions, usage, workspaces};
use crate::texts::logs::{self, LogPiece};
use redact::{CleanString, Redactor};

/// The path of records whose log the file does not name.
const NO_LOG: &str = "import";

/// How many rows of a batch were new.
#[derive(Clone, Copy, Default)]
pub(super) struct ImportCounts {
    pub records: usize,
    pub known_records: usize,
    pub forgotten_records: usize,
    pub facts: usize,
    pub log_pieces: usize,
}

/// A redacted batch, ready to be written.
pub(super) struct ImportBatch {
    pub workspaces: Vec<(CleanString, Vec<CleanString>)>,
    pub cleaned: CleanEntries,
    /// The agents of the records' sessions.
    pub flavors: Vec<Option<Flavor>>,
    /// Records that their logs had lost.
    pub detached: HashSet<RecordId>,
    pub sources: Vec<(Flavor, CleanString, CleanString)>,
    pub logs: Vec<ImportedLogPiece>,
    pub evictions: Vec<EvictionLine>,
    pub digests: Vec<ImportedDigest>,
    pub facts: Vec<ImportedFact>,
    pub summaries: Vec<SummaryLine>,
    pub marks: Vec<MarksLine>,
    pub calls: Vec<CallLine>,
    pub injections: Vec<InjectionLine>,
}

pub(super) struct ImportedDigest {
    session: String,
    made: Timestamp,
    digest: CleanDigest,
    base: Option<CleanDigest>,
    signals: CleanSignals,
    base_signals: CleanSignals,
}

pub(super) struct ImportedLogPiece {
    flavor: Flavor,
    path: CleanString,
    /// How many generations of the log came after the one that the piece is of.
    earlier: u32,
    piece: LogPiece,
}

pub(super) struct ImportedFact {
    line: FactLine,
    id: [u8; 16],
    workspace: Option<CleanString>,
    kind: CleanString,
    text: CleanString,
    tags: Option<CleanString>,
}

pub(super) fn clean_fact(sanitizer: &Sanitizer<'_>, line: FactLine) -> Option<ImportedFact> {
    let clean = |text: &String| sanitizer.clean_text(text);
    Some(ImportedFact {
        id: bytes(&line.id)?,
        workspace: line.workspace.as_ref().map(clean),
        kind: clean(&line.kind),
        text: clean(&line.text),
        tags: line.tags.as_ref().map(clean),
        line,
    })
}

pub(super) fn clean_digest(sanitizer: &Sanitizer<'_>, line: DigestLine) -> ImportedDigest {
    let clean = |text: &str| sanitizer.clean_text(text).as_str().to_owned();
    ImportedDigest {
        session: line.session,
        made: line.made,
        digest: CleanDigest::new(line.digest, clean),
        base: line.base.map(|base| CleanDigest::new(base, clean)),
        signals: CleanSignals::new(line.signals, clean),
        base_signals: CleanSignals::new(line.base_signals, clean),
    }
}

pub(super) fn clean_log(sanitizer: &mut Sanitizer<'_>, line: &LogLine) -> Option<ImportedLogPiece> {
    let text = sanitizer.clean_log(&line.text, &[]);
    Some(ImportedLogPiece {
        flavor: Flavor::from_name(&line.flavor)?,
        path: sanitizer.clean_text(&line.path),
        earlier: line.earlier,
        piece: LogPiece::new(line.offset, line.size, &text)?,
    })
}

pub(super) fn write_import(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    redactor: &Redactor,
    batch: &ImportBatch,
) -> Result<ImportCounts> {
    for (key, roots) in &batch.workspaces {
        for root in roots {
            workspaces::find_or_insert_workspace(tx, writer, key, root)?;
        }
    }
    let mut gate = TombstoneFilter::new(tx, redactor)?;
    for session in &batch.cleaned.sessions {
        let name = session.name.as_str();
        let title = session.title.as_ref();
        if gate.session(tx, name, None)? {
            continue;
        }
        let title = match title {
            Some(text) if gate.is_title_forgotten(tx, name, text.as_str())? => None,
            title => title,
        };
        sessions::upsert(tx, writer, session, title)?;
    }
    for (flavor, session, path) in &batch.sources {
        if gate.session(tx, session.as_str(), None)? {
            continue;
        }
        let session = sessions::find_or_insert_session(tx, writer, session, *flavor)?;
        let source = match sources::find_swept_source(tx, *flavor, path)? {
            Some(source) => source,
            None => sources::find_or_insert_imported(tx, *flavor, path)?,
        };
        if sources::link_session(tx, source, session.id)? {
            writer.stored_text.forget(session.id);
        }
    }
    let mut counts = ImportCounts::default();
    write_records(tx, writer, redactor, &mut gate, batch, &mut counts)?;
    // When the store has tombstones, a log may hold forgotten text. The records are imported, the
    // logs are not.
    for log in batch.logs.iter().filter(|_| gate.is_open()) {
        counts.log_pieces += usize::from(write_log(tx, log)?);
        // Which sessions the log belongs to is not known yet.
        writer.stored_text = TextFilters::default();
    }
    let changed: Vec<i64> = sessions_with_digest(tx, batch)?;
    for session in &changed {
        digest_rows::unindex(tx, writer, *session)?;
    }
    for line in &batch.evictions {
        write_eviction(tx, writer, line)?;
    }
    // The records of a session are written before its digest, so that the digest is up to date.
    for line in &batch.digests {
        let base = line.base.as_ref();
        digests::import(tx, &line.session, &line.digest, base, line.made)?;
        signals::import(tx, &line.session, &line.signals, &line.base_signals)?;
    }
    for session in changed {
        digest_rows::index(tx, writer, session)?;
    }
    for fact in &batch.facts {
        counts.facts += usize::from(write_fact(tx, writer, fact)?);
    }
    write_own(tx, &mut gate, batch)?;
    Ok(counts)
}

/// Returns the sessions whose digest or eviction a batch brings.
fn sessions_with_digest(tx: &Transaction<'_>, batch: &ImportBatch) -> Result<Vec<i64>> {
    let digests = batch.digests.iter().map(|line| &line.session);
    let evictions = batch.evictions.iter().map(|line| &line.session);
    let all: BTreeSet<&String> = digests.chain(evictions).collect();
    let mut sessions = Vec::new();
    for name in all {
        let found: Option<i64> = tx
            .prepare_cached("SELECT id FROM sessions WHERE name = ?1")?
            .query_row([name], |row| row.get(0))
            .optional()?;
        sessions.extend(found);
    }
    Ok(sessions)
}

fn write_own(
    tx: &Transaction<'_>,
    gate: &mut TombstoneFilter<'_>,
    batch: &ImportBatch,
) -> Result<()> {
    for line in &batch.summaries {
        // Notes paraphrase records. When records of the session were forgotten, the notes may still
        // hold their content.
        if gate.is_open() && !gate.session(tx, &line.session, None)? {
            derived::write_summary(tx, line)?;
        }
    }
    for line in &batch.marks {
        if !gate.session(tx, &line.session, None)? {
            derived::write_marks(tx, line)?;
        }
    }
    for line in &batch.calls {
        derived::write_call(tx, line)?;
    }
    for line in &batch.injections {
        let forgotten = match &line.session {
            Some(session) => gate.session(tx, session, None)?,
            None => false,
        };
        if !forgotten {
            derived::write_injection(tx, line)?;
        }
    }
    Ok(())
}

fn write_records(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    redactor: &Redactor,
    gate: &mut TombstoneFilter<'_>,
    batch: &ImportBatch,
    counts: &mut ImportCounts,
) -> Result<()> {
    let cleaned = &batch.cleaned;
    for found in &cleaned.secrets {
        if !gate.session(tx, found.session.as_str(), None)?
            && let Some(session) = known(tx, writer, &found.session)?
        {
            secrets::record_secrets(tx, writer, redactor, session, found)?;
        }
    }
    let mut blocks = records::BatchBlocks::new(&cleaned.blocks);
    let mut changed = BTreeSet::new();
    let mut unwritten = Vec::new();
    for (record, flavor) in cleaned.records.iter().zip(&batch.flavors) {
        let Some(flavor) = *flavor else { continue };
        let is_forgotten = gate.session(tx, record.session.as_str(), None)?
            || gate.is_record_forgotten(tx, record)?;
        if is_forgotten || records::is_stored(tx, record.id)? {
            counts.forgotten_records += usize::from(is_forgotten);
            counts.known_records += usize::from(!is_forgotten);
            unwritten.push(record);
            continue;
        }
        let session = sessions::find_or_insert_session(tx, writer, &record.session, flavor)?;
        let target = records::RecordSource {
            session,
            source: source_of(tx, session, flavor)?,
            line_shift: 0,
        };
        records::insert(tx, writer, target, record, &mut blocks)?;
        if batch.detached.contains(&record.id) {
            records::mark_detached(tx, record.id)?;
        }
        changed.insert(session.id);
        counts.records += 1;
    }
    // A text that no row refers to would survive forgetting.
    blocks.blank_unwritten(tx, &unwritten)?;
    for session in writer.evicted.write_returned(tx)? {
        digest_rows::remove(tx, writer, session)?;
    }
    for entry in &cleaned.usage {
        if !gate.session(tx, entry.session.as_str(), None)?
            && let Some(session) = known(tx, writer, &entry.session)?
        {
            usage::upsert(tx, session, entry)?;
        }
    }
    changed.into_iter().try_for_each(|session| {
        records::recount_session(tx, session)?;
        sessions::clear_capture_time(tx, session)
    })
}

/// Returns the row id of a session that was written before.
fn known(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    name: &CleanString,
) -> Result<Option<SessionRef>> {
    let flavor = name.as_str().split(':').next().and_then(Flavor::from_name);
    match flavor {
        Some(flavor) => sessions::find_or_insert_session(tx, writer, name, flavor).map(Some),
        None => match leases::session_number(tx, &SessionId::new(name.as_str()))? {
            Some(number) => sessions::session_ref(tx, number),
            None => Ok(None),
        },
    }
}

fn source_of(tx: &Transaction<'_>, session: SessionRef, flavor: Flavor) -> Result<i64> {
    if let Some(source) = sources::source_of_session(tx, session.id)? {
        return Ok(source);
    }
    // The source is not linked: the next export would name a log that never existed.
    sources::find_or_insert_imported(tx, flavor, &CleanString::from_static(NO_LOG))
}

/// Writes a piece of a log unless this machine has read that log itself.
fn write_log(tx: &Transaction<'_>, log: &ImportedLogPiece) -> Result<bool> {
    if let Some(source) = sources::find_swept_source(tx, log.flavor, &log.path)?
        && logs::has_log_pieces(tx, source)?
    {
        return Ok(false);
    }
    let source = sources::find_or_insert_imported(tx, log.flavor, &log.path)?;
    let generation = logs::generation(tx, source)? - i64::from(log.earlier);
    logs::insert(tx, source, generation, &log.piece)?;
    Ok(true)
}

fn write_eviction(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    line: &EvictionLine,
) -> Result<()> {
    let written = tx
        .prepare_cached(
            "INSERT INTO evictions (session, at, pass, records, prompts, tool_calls, errors, lost,
                ids, reread)
             SELECT id, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10 FROM sessions WHERE name = ?1
             ON CONFLICT (session) DO NOTHING RETURNING session",
        )?
        .query_row(
            params![
                line.session,
                line.at.as_millisecond(),
                line.pass,
                line.records,
                line.prompts,
                line.tool_calls,
                line.errors,
                line.lost,
                decode_hex(&line.ids),
                line.may_return(),
            ],
            |row| row.get(0),
        )
        .optional()?;
    match written {
        Some(session) => {
            writer.evicted.forget(session);
            records::recount_session(tx, session)
        }
        None => Ok(()),
    }
}

/// Writes a fact, or merges it into the existing one.
fn write_fact(tx: &Transaction<'_>, writer: &mut WriterState, fact: &ImportedFact) -> Result<bool> {
    let line = &fact.line;
    let workspace = match &fact.workspace {
        Some(key) => Some(workspaces::find_or_insert_workspace(
            tx,
            writer,
            key,
            &CleanString::from_static(""),
        )?),
        None => None,
    };
    let changed = tx
        .prepare_cached(
            "INSERT INTO facts (id, workspace, kind, text, words, tags, trust, pinned, made, seen,
                times, superseded)
             VALUES (?1, ?2, ?3, ?4, ?12, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
             ON CONFLICT (id) DO NOTHING",
        )?
        .execute(params![
            fact.id,
            workspace,
            fact.kind.as_str(),
            fact.text.as_str(),
            fact.tags.as_ref().map(CleanString::as_str),
            line.trust as i64,
            line.pinned,
            line.made.as_millisecond(),
            line.seen.as_millisecond(),
            line.times,
            line.superseded.as_deref().and_then(bytes),
            StemmedText::parse(fact.text.as_str()).to_line(),
        ])?;
    for (record, session) in &line.sources {
        let sql = "INSERT OR IGNORE INTO fact_sources (fact, record, session)
             SELECT ?1, ?2, id FROM sessions WHERE name = ?3";
        if let Some(record) = bytes(record) {
            tx.prepare_cached(sql)?
                .execute(params![fact.id, record, session])?;
        }
    }
    Ok(changed > 0)
}
