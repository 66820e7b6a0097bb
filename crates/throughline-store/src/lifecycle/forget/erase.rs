//! The deletion: one transaction, table by table.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use memory::{RecordId, RecordKind, SessionId};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::needles::{LineNumbers, Needles, distinctive_words};
use super::{ForgetPlan, ForgetReport, traces};
use crate::derived::{cards, digests, events, injections, layers, patterns, signals, summaries};
use crate::error::Result;
use crate::index::{self, digest_rows};
use crate::ingest::sources;
use crate::ingest::writer::WriterState;
use crate::lifecycle::tombstones::{self, TombstoneKey, TombstoneKind};
use crate::records;
use crate::records::RecordRow;
use crate::texts::logs;
use crate::texts::logs::BlankedPieces;
use redact::Redactor;

/// Every table, and what forgetting does to it. A test fails when a table is missing here.
#[cfg_attr(not(test), expect(dead_code, reason = "a test reads it"))]
pub(super) const TABLE_EFFECTS: &[(&str, &str)] = &[
    ("records", "deleted"),
    ("blocks", "blanked"),
    ("bodies", "deleted with the last reference"),
    ("search", "deleted, merged where many were"),
    ("marks", "deleted; no text"),
    ("raw", "blanked, deleted with the session"),
    (
        "sessions",
        "deleted; a title that quotes a record is taken away",
    ),
    ("contexts", "deleted with the last record"),
    ("workspaces", "deleted with the last session"),
    ("roots", "deleted with the last session"),
    ("usage", "deleted with the session"),
    ("secrets", "deleted with the session"),
    (
        "sources",
        "path and state hidden with the last session; state blanked",
    ),
    ("source_sessions", "deleted with the session"),
    ("skips", "deleted with the last session of the source"),
    ("drift", "deleted with the last session of the source"),
    (
        "facts",
        "deleted with the last source, or when they fit themselves",
    ),
    ("fact_sources", "deleted"),
    ("fact_looks", "deleted with the session; no text"),
    (
        "summaries",
        "deleted with the session or a record of it, file and all",
    ),
    ("session_marks", "deleted with the session"),
    ("extractions", "deleted with the summary; no text"),
    ("leases", "deleted with the session; no text"),
    ("model_calls", "lose the session; no text"),
    ("events", "lose the session and their figures"),
    ("injections", "deleted with the session"),
    (
        "injected",
        "deleted with the record, the fact or the session",
    ),
    (
        "digests",
        "deleted with the session; made again without a record",
    ),
    ("evictions", "deleted with the session; no text"),
    (
        "digest_rows",
        "taken out of the index with what it says; deleted with the session",
    ),
    (
        "checkpoints",
        "deleted with the session or a record of it; made again without the record",
    ),
    (
        "context_cache",
        "deleted with a record or session of the workspace, or a fact",
    ),
    (
        "archived_cards",
        "deleted with a record or session of the workspace, or a fact",
    ),
    (
        "capsules",
        "deleted with a record or session of the workspace; made again without it",
    ),
    ("layer_counts", "deleted with the workspace; no text"),
    ("layer_figures", "deleted with the workspace; no text"),
    ("card_generation", "raised; no text"),
    ("chores", "no text"),
    (
        "signals",
        "deleted with the session; made again without a record",
    ),
    (
        "patterns",
        "deleted with any of its sessions or a record of one; found again without it",
    ),
    ("pattern_sessions", "deleted with the pattern; no text"),
    (
        "review_log",
        "stays: the user's own decision, without captured text",
    ),
    ("decision_queue", "the text is blanked with the pattern"),
    ("tombstones", "set; keyed hashes"),
    ("tombstone_keys", "set; keyed hashes"),
    ("traces", "noted; no text"),
];

/// A record that is being deleted.
struct ErasedRecord {
    stored: RecordRow,
    message: String,
    ordinal: u32,
    line: u64,
    source: i64,
    context: i64,
    /// True when its log had lost it before it was forgotten.
    detached: bool,
}

pub(super) fn erase(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    redactor: &Redactor,
    plan: &ForgetPlan,
    now: Timestamp,
) -> Result<ForgetReport> {
    writer.index.flush(tx)?;
    let mut forgotten = ForgetReport::default();
    traces::mark_pending(tx, now)?;
    // A workspace is kept while a fact refers to it, so facts are deleted first.
    let keys = plan.facts.iter().map(|fact| fact.key.as_slice());
    forgotten.facts += facts_themselves(tx, keys)?;
    let singles = singles(tx, plan)?;
    let mut record_count = singles.len();
    for session in &plan.session_ids {
        record_count += records_of(tx, *session)?;
    }
    index::prepare_removal(tx, record_count)?;
    erase_singles(tx, writer, redactor, &singles, now, &mut forgotten)?;
    erase_sessions(tx, writer, redactor, &plan.session_ids, now, &mut forgotten)?;
    // The caches hold row ids that no longer exist.
    writer.clear_ids();
    Ok(forgotten)
}

fn records_of(tx: &Transaction<'_>, session: i64) -> Result<usize> {
    let sql = "SELECT count(*) FROM records WHERE session = ?1 AND copy = 0";
    Ok(tx
        .prepare_cached(sql)?
        .query_row([session], |row| row.get(0))?)
}

fn singles(tx: &Transaction<'_>, plan: &ForgetPlan) -> Result<Vec<ErasedRecord>> {
    let mut rows = BTreeSet::new();
    for record in &plan.records {
        rows.insert(record.row);
        let (low, high) = record.id.duplicate_range();
        let sql = "SELECT row, session FROM records WHERE id BETWEEN ?1 AND ?2";
        let mut statement = tx.prepare_cached(sql)?;
        let mut copies = statement.query(params![low.as_bytes(), high.as_bytes()])?;
        while let Some(copy) = copies.next()? {
            // Another fork may have been captured since the plan was made.
            if !plan.session_ids.contains(&copy.get(1)?) {
                rows.insert(copy.get(0)?);
            }
        }
    }
    let mut all = Vec::new();
    for row in rows {
        all.extend(erased_records(tx, "row = ?1", row)?);
    }
    Ok(all)
}

fn erased_records(tx: &Transaction<'_>, condition: &str, value: i64) -> Result<Vec<ErasedRecord>> {
    let stored = records::rows_where_lossy(tx, condition, &[&value])?;
    let sql = "SELECT message, ordinal, coalesce(log_line, line), source, context, detached
        FROM records WHERE row = ?1";
    let mut statement = tx.prepare_cached(sql)?;
    let with_place = |stored: RecordRow| {
        let place = statement.query_row([stored.row], |row| {
            Ok((
                row.get(0)?,
                row.get(1)?,
                row.get(2)?,
                row.get(3)?,
                row.get(4)?,
                row.get(5)?,
            ))
        });
        let (message, ordinal, line, source, context, detached) = place?;
        Ok(ErasedRecord {
            stored,
            message,
            ordinal,
            line,
            source,
            context,
            detached,
        })
    };
    stored.into_iter().map(with_place).collect()
}

/// Forgets records of sessions that stay.
fn erase_singles(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    redactor: &Redactor,
    singles: &[ErasedRecord],
    now: Timestamp,
    forgotten: &mut ForgetReport,
) -> Result<()> {
    if singles.is_empty() {
        return Ok(());
    }
    let mut graves = BTreeMap::new();
    for record in singles {
        let (session, flavor) = name_of(tx, record.stored.session)?;
        let keys = record_keys(redactor, &session, record);
        let name = tombstones::copy_key(redactor, record.stored.id).0;
        let id =
            tombstones::insert_tombstone(tx, name, TombstoneKind::Record, &flavor, &keys, 1, now)?;
        graves.insert(record.stored.session, id);
    }
    let mut with_digest_row = BTreeSet::new();
    for session in graves.keys() {
        if digest_rows::unindex(tx, writer, *session)? {
            with_digest_row.insert(*session);
        }
    }
    erase_records(tx, writer, singles)?;
    forgotten.records += singles.len();
    forgotten.unreadable += lost_texts(singles);
    forgotten.facts += facts_of_records(tx, singles)?;
    let needles = needles(tx, singles)?;
    let mut sources = BTreeSet::new();
    for (session, grave) in graves {
        sources.extend(sources_of(tx, session)?);
        untitle(tx, redactor, session, grave, &needles)?;
        digests::retract(tx, session, |text| needles.matches(text))?;
        signals::retract(tx, session, |text| needles.matches(text))?;
        patterns::forget_session(tx, session)?;
        layers::forget_session(tx, session)?;
        records::recount_session(tx, session)?;
        if with_digest_row.contains(&session) {
            digest_rows::index(tx, writer, session)?;
        }
    }
    sources.extend(singles.iter().map(|record| record.source));
    let lines = LogLines::of(singles);
    forgotten.add_blanked(blank_sources(tx, &sources, &needles, &lines)?);
    contexts(tx, singles)
}

fn record_keys(redactor: &Redactor, session: &str, record: &ErasedRecord) -> Vec<TombstoneKey> {
    let ErasedRecord {
        stored,
        message,
        ordinal,
        ..
    } = record;
    let mut keys = vec![
        tombstones::copy_key(redactor, stored.id),
        tombstones::entry_key(redactor, session, message, *ordinal, stored.kind),
    ];
    if stored.is_lost {
        return keys;
    }
    keys.push(tombstones::text_key(redactor, session, &stored.text));
    if stored.kind == RecordKind::Prompt {
        keys.extend(tombstones::prompt_key(redactor, &stored.text));
    }
    keys
}

/// Forgets whole sessions.
fn erase_sessions(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    redactor: &Redactor,
    ids: &[i64],
    now: Timestamp,
    forgotten: &mut ForgetReport,
) -> Result<()> {
    for &id in ids {
        let (name, flavor) = name_of(tx, id)?;
        // Its words are looked up in the index after the rows are deleted.
        digest_rows::remove(tx, writer, id)?;
        let all = erased_records(tx, "session = ?1", id)?;
        let mut keys = vec![tombstones::session_key(redactor, &name)];
        for record in all.iter().filter(|record| !record.stored.copy) {
            keys.push(tombstones::copy_key(redactor, record.stored.id));
            if record.stored.kind == RecordKind::Prompt && !record.stored.is_lost {
                keys.extend(tombstones::prompt_key(redactor, &record.stored.text));
            }
        }
        tombstones::insert_tombstone(
            tx,
            keys[0].0,
            TombstoneKind::Session,
            &flavor,
            &keys,
            all.len(),
            now,
        )?;
        erase_records(tx, writer, &all)?;
        for record in &all {
            injections::forget_item(tx, record.stored.id.as_bytes())?;
        }
        forgotten.records += all.len();
        forgotten.unreadable += lost_texts(&all);
        forgotten.facts += facts_of_session(tx, id)?;
        forgotten.add_blanked(erase_logs(tx, id, ids, &all)?);
        forgotten.add_blanked(erase_mentions(tx, id, &name, &flavor)?);
        erase_session(tx, id, &name)?;
        contexts(tx, &all)?;
    }
    forgotten.sessions += ids.len();
    Ok(())
}

/// Removes a session from its archived logs: a log of its own is deleted, a shared one rewritten.
fn erase_logs(
    tx: &Transaction<'_>,
    id: i64,
    erased_sessions: &[i64],
    all: &[ErasedRecord],
) -> Result<BlankedPieces> {
    let mut blanked = BlankedPieces::default();
    let mut shared = BTreeSet::new();
    for source in sources_of(tx, id)? {
        let sessions = sessions_of(tx, source)?;
        if sessions.contains(&id) && sessions.iter().all(|id| erased_sessions.contains(id)) {
            blanked.pieces += logs::delete_log(tx, source)?;
            sources::hide(tx, source)?;
        } else {
            shared.insert(source);
        }
    }
    if shared.is_empty() {
        return Ok(blanked);
    }
    let needles = needles(tx, all)?;
    blanked.add(blank_sources(tx, &shared, &needles, &LogLines::of(all))?);
    Ok(blanked)
}

/// Empties the lines of histories that name a forgotten session, or the folders of a workspace
/// whose last session it was.
fn erase_mentions(
    tx: &Transaction<'_>,
    id: i64,
    name: &str,
    flavor: &str,
) -> Result<BlankedPieces> {
    let mut values = vec![SessionId::new(name).native().to_owned()];
    let workspace = "SELECT workspace FROM sessions WHERE id = ?1 AND workspace NOT IN (
        SELECT workspace FROM sessions WHERE id <> ?1 AND workspace IS NOT NULL)";
    let folders = format!(
        "SELECT path FROM roots WHERE workspace IN ({workspace})
         UNION SELECT cwd FROM sessions WHERE id = ?1 AND cwd IS NOT NULL
            AND workspace IN ({workspace})"
    );
    let mut statement = tx.prepare_cached(&folders)?;
    let rows = statement.query_map([id], |row| row.get(0))?;
    values.extend(rows.collect::<Result<Vec<String>, _>>()?);
    let histories = "SELECT id FROM sources WHERE flavor = ?1 AND NOT forgotten
        AND (path LIKE '%history.jsonl' OR path LIKE '%session_index.jsonl')
        AND path NOT LIKE '%chat_history.jsonl'";
    let mut statement = tx.prepare_cached(histories)?;
    let rows = statement.query_map([flavor], |row| row.get(0))?;
    let histories: Vec<i64> = rows.collect::<Result<_, _>>()?;
    let mut blanked = BlankedPieces::default();
    for source in histories {
        blanked.add(logs::blank_lines_naming(tx, source, &values)?);
    }
    Ok(blanked)
}

/// Counts the records whose text could not be read.
fn lost_texts(all: &[ErasedRecord]) -> usize {
    all.iter().filter(|record| record.stored.is_lost).count()
}

/// Tables whose rows belong to one session.
const SESSIONS_OWN: &[&str] = &[
    "usage", "secrets", "source_sessions", "digests", "digest_rows", "evictions", "fact_looks",
    "session_marks", "signals",
];

fn erase_session(tx: &Transaction<'_>, id: i64, name: &str) -> Result<()> {
    let workspace: Option<i64> = tx
        .prepare_cached("SELECT workspace FROM sessions WHERE id = ?1")?
        .query_row([id], |row| row.get(0))?;
    patterns::forget_session(tx, id)?;
    layers::forget_session(tx, id)?;
    for table in SESSIONS_OWN {
        tx.execute(&format!("DELETE FROM {table} WHERE session = ?1"), [id])?;
    }
    injections::forget_session(tx, name)?;
    summaries::forget_session(tx, id)?;
    events::forget_session(tx, id)?;
    tx.execute("DELETE FROM sessions WHERE id = ?1", [id])?;
    tx.execute(
        "UPDATE sessions SET parent = NULL WHERE parent = ?1",
        [name],
    )?;
    let Some(workspace) = workspace else {
        return Ok(());
    };
    let lived_in = "SELECT EXISTS (SELECT 1 FROM sessions WHERE workspace = ?1)
        OR EXISTS (SELECT 1 FROM facts WHERE workspace = ?1)";
    if tx.query_row(lived_in, [workspace], |row| row.get::<_, bool>(0))? {
        return Ok(());
    }
    let key: String = tx.query_row(
        "SELECT key FROM workspaces WHERE id = ?1",
        [workspace],
        |row| row.get(0),
    )?;
    injections::forget_workspace(tx, &key)?;
    cards::forget_workspace(tx, workspace)?;
    tx.execute("DELETE FROM roots WHERE workspace = ?1", [workspace])?;
    tx.execute("DELETE FROM workspaces WHERE id = ?1", [workspace])?;
    Ok(())
}

fn erase_records(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    all: &[ErasedRecord],
) -> Result<()> {
    let stored: Vec<_> = all.iter().map(|record| &record.stored).collect();
    records::delete_records(tx, writer, &stored)?;
    // Words are looked up in the index after the rows are deleted.
    writer.index.flush(tx)
}

/// The lines of forgotten records, by source.
#[derive(Default)]
struct LogLines {
    /// Lines of the log as it was last read.
    current: BTreeMap<i64, LineNumbers>,
    /// Lines of the log before it lost the records.
    earlier: BTreeMap<i64, LineNumbers>,
}

impl LogLines {
    fn of(all: &[ErasedRecord]) -> Self {
        let mut lines = Self::default();
        for record in all {
            let of_sources = if record.detached {
                &mut lines.earlier
            } else {
                &mut lines.current
            };
            let of_source = of_sources.entry(record.source).or_default();
            of_source.insert(record.line);
        }
        lines
    }
}

/// Returns what to search logs and titles for: the texts, and the words that only they had.
fn needles(tx: &Transaction<'_>, all: &[ErasedRecord]) -> Result<Needles> {
    let mut needles = Needles::default();
    for record in all {
        needles.add(&record.stored.text);
    }
    for word in distinctive_words(all.iter().map(|record| record.stored.text.as_str())) {
        if !index::contains_word(tx, &word)? {
            needles.add_word(word);
        }
    }
    Ok(needles)
}

fn blank_sources(
    tx: &Transaction<'_>,
    all: &BTreeSet<i64>,
    needles: &Needles,
    lines: &LogLines,
) -> Result<BlankedPieces> {
    let mut all_blanked = BlankedPieces::default();
    let none = LineNumbers::new();
    for source in all {
        let current = lines.current.get(source).unwrap_or(&none);
        let earlier = lines.earlier.get(source).unwrap_or(&none);
        all_blanked.add(logs::blank_forgotten(
            tx, *source, needles, current, earlier,
        )?);
        sources::blank_state(tx, *source, needles)?;
    }
    Ok(all_blanked)
}

/// Removes a title that was derived from a forgotten record, and blocks it from now on.
fn untitle(
    tx: &Transaction<'_>,
    redactor: &Redactor,
    session: i64,
    grave: i64,
    needles: &Needles,
) -> Result<()> {
    let sql = "SELECT name, title FROM sessions WHERE id = ?1 AND title IS NOT NULL";
    let found: Option<(String, String)> = tx
        .prepare_cached(sql)?
        .query_row([session], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((name, title)) = found.filter(|(_, title)| needles.matches(title)) else {
        return Ok(());
    };
    tx.execute(
        "UPDATE sessions SET title = NULL, title_rank = 0 WHERE id = ?1",
        [session],
    )?;
    tombstones::add(tx, grave, &[tombstones::title_key(redactor, &name, &title)])
}

/// Returns the sources that may hold a session's text: its own, and those of its agent that belong
/// to no single session, such as prompt histories.
fn sources_of(connection: &Connection, session: i64) -> Result<Vec<i64>> {
    let sql = "SELECT source FROM source_sessions WHERE session = ?1
        UNION SELECT source FROM records WHERE session = ?1
        UNION SELECT f.id FROM sources f
            WHERE f.flavor = (SELECT flavor FROM sessions WHERE id = ?1) AND NOT f.forgotten
            AND (SELECT count(*) FROM (
                SELECT 1 FROM source_sessions x WHERE x.source = f.id LIMIT 2)) <> 1";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([session], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn sessions_of(connection: &Connection, source: i64) -> Result<Vec<i64>> {
    let sql = "SELECT session FROM source_sessions WHERE source = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([source], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn name_of(connection: &Connection, session: i64) -> Result<(String, String)> {
    let sql = "SELECT name, flavor FROM sessions WHERE id = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.query_row([session], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

/// Deletes the contexts that no record refers to.
fn contexts(tx: &Transaction<'_>, all: &[ErasedRecord]) -> Result<()> {
    let ids: BTreeSet<i64> = all.iter().map(|record| record.context).collect();
    for id in ids {
        tx.prepare_cached(
            "DELETE FROM contexts WHERE id = ?1
             AND NOT EXISTS (SELECT 1 FROM records WHERE context = ?1)",
        )?
        .execute([id])?;
    }
    Ok(())
}

fn facts_of_records(tx: &Transaction<'_>, all: &[ErasedRecord]) -> Result<usize> {
    let mut touched = BTreeSet::new();
    for record in all {
        touched.extend(unlink(tx, "record = ?1", &record.stored.id)?);
        injections::forget_item(tx, record.stored.id.as_bytes())?;
    }
    without_source(tx, touched)
}

fn facts_of_session(tx: &Transaction<'_>, session: i64) -> Result<usize> {
    let touched = unlink(tx, "session = ?1", &session)?;
    without_source(tx, touched)
}

/// Deletes the links from facts to deleted records, and returns those facts.
fn unlink(
    tx: &Transaction<'_>,
    condition: &str,
    value: &dyn ToSqlValue,
) -> Result<BTreeSet<Vec<u8>>> {
    let sql = format!("DELETE FROM fact_sources WHERE {condition} RETURNING fact");
    let mut statement = tx.prepare_cached(&sql)?;
    let rows = statement.query_map([value.value()], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

trait ToSqlValue {
    fn value(&self) -> rusqlite::types::Value;
}

impl ToSqlValue for i64 {
    fn value(&self) -> rusqlite::types::Value {
        (*self).into()
    }
}

impl ToSqlValue for RecordId {
    fn value(&self) -> rusqlite::types::Value {
        self.as_bytes().to_vec().into()
    }
}

/// Deletes those of the facts that have lost their last source.
fn without_source(tx: &Transaction<'_>, touched: BTreeSet<Vec<u8>>) -> Result<usize> {
    let sql = "SELECT NOT EXISTS (SELECT 1 FROM fact_sources WHERE fact = ?1)";
    let mut bare = Vec::new();
    for fact in touched {
        if tx
            .prepare_cached(sql)?
            .query_row([&fact], |row| row.get(0))?
        {
            bare.push(fact);
        }
    }
    facts_themselves(tx, bare.iter().map(Vec::as_slice))
}

fn facts_themselves<'k>(
    tx: &Transaction<'_>,
    keys: impl Iterator<Item = &'k [u8]>,
) -> Result<usize> {
    let mut count = 0;
    for key in keys {
        tx.execute("DELETE FROM fact_sources WHERE fact = ?1", [key])?;
        injections::forget_item(tx, key)?;
        tx.execute(
            "UPDATE facts SET superseded = NULL WHERE superseded = ?1",
            [key],
        )?;
        count += tx.execute("DELETE FROM facts WHERE id = ?1", [key])?;
    }
    if count > 0 {
        cards::forget_facts(tx)?;
    }
    Ok(count)
}
