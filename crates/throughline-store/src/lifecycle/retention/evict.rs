//! Evicting one session: its records, their texts, their rows in the index, its logs.

use std::collections::HashMap;

use jiff::Timestamp;
use memory::{RecordId, RecordKind, SessionId};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::evicted::ID_PREFIX_BYTES;
use super::plan::{EvictionPass, PlannedEviction};
use crate::derived::{layers, signals};
use crate::error::Result;
use crate::index::digest_rows;
use crate::ingest::writer::WriterState;
use crate::query::query_all;
use crate::records;
use crate::texts::{blocks, bodies, logs};

/// The outcome of a planned eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EvictOutcome {
    Evicted,
    /// The session has changed since it was planned, and stays.
    Changed,
}

/// The state of a session, read again before the eviction.
struct CurrentState {
    id: i64,
    digested: bool,
    pinned: bool,
    live: bool,
    /// A sweep has read more of the session since the last retention run.
    just_read: bool,
}

/// Evicts a session, if it has not changed since it was planned.
pub(super) fn evict(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    evict: &PlannedEviction,
    quiet_before: Timestamp,
    now: Timestamp,
) -> Result<EvictOutcome> {
    let Some(state) = current_state(tx, &evict.session, quiet_before, now)? else {
        return Ok(EvictOutcome::Changed);
    };
    let is_last_resort = evict.pass == EvictionPass::Overflow;
    if state.pinned || state.just_read || !is_last_resort && (state.live || !state.digested) {
        return Ok(EvictOutcome::Changed);
    }
    let rows = session_rows(tx, state.id)?;
    if rows.is_empty() {
        return Ok(EvictOutcome::Changed);
    }
    digest_rows::unindex(tx, writer, state.id)?;
    record_eviction(tx, &state, &rows, evict.pass, now)?;
    let mut in_blocks: HashMap<i64, Vec<(usize, usize)>> = HashMap::new();
    for row in &rows {
        records::unindex_row(tx, writer, row.row)?;
        tx.prepare_cached("DELETE FROM records WHERE row = ?1")?
            .execute([row.row])?;
        if let Some((block, start, size)) = row.block {
            in_blocks.entry(block).or_default().push((start, size));
        }
    }
    for row in &rows {
        if let Some(body) = &row.body {
            bodies::delete_unused_body(tx, body)?;
        }
        if !row.copy {
            records::promote_copy(tx, writer, row.id)?;
        }
    }
    // A checkpoint quotes the records; what stays of an evicted session is its digest.
    layers::forget_session(tx, state.id)?;
    delete_unshared_logs(tx, state.id)?;
    let mut in_blocks: Vec<_> = in_blocks.into_iter().collect();
    in_blocks.sort_unstable_by_key(|(block, _)| *block);
    for (block, parts) in in_blocks {
        blocks::blank_texts(tx, block, &parts)?;
    }
    writer.evicted.forget(state.id);
    digest_rows::index(tx, writer, state.id)?;
    Ok(EvictOutcome::Evicted)
}

fn current_state(
    tx: &Transaction<'_>,
    session: &SessionId,
    quiet_before: Timestamp,
    now: Timestamp,
) -> Result<Option<CurrentState>> {
    const SQL: &str = "
        SELECT s.id, d.revision IS s.revision, EXISTS (
                SELECT 1 FROM fact_sources x JOIN facts f ON f.id = x.fact
                WHERE x.session = s.id AND f.pinned),
            coalesce(s.ended, s.started, 0) > ?2 AND coalesce(s.ended, s.started, 0) <= ?3,
            s.captured IS NULL
        FROM sessions s LEFT JOIN digests d ON d.session = s.id WHERE s.name = ?1";
    let late = now.as_millisecond() + crate::derived::digests::CLOCK_SLACK_MS;
    Ok(tx
        .prepare_cached(SQL)?
        .query_row(
            params![session.as_str(), quiet_before.as_millisecond(), late],
            |row| {
                Ok(CurrentState {
                    id: row.get(0)?,
                    digested: row.get(1)?,
                    pinned: row.get(2)?,
                    live: row.get(3)?,
                    just_read: row.get(4)?,
                })
            },
        )
        .optional()?)
}

/// A record to be evicted.
struct EvictedRow {
    row: i64,
    id: RecordId,
    kind: RecordKind,
    copy: bool,
    block: Option<(i64, usize, usize)>,
    body: Option<Vec<u8>>,
}

fn session_rows(connection: &Connection, session: i64) -> Result<Vec<EvictedRow>> {
    query_all(
        connection,
        "SELECT row, id, kind, copy, block, start, size, body FROM records WHERE session = ?1
         ORDER BY row",
        [session],
        |row| {
            let block: Option<i64> = row.get(4)?;
            let start: Option<usize> = row.get(5)?;
            let size: usize = row.get(6)?;
            Ok(EvictedRow {
                row: row.get(0)?,
                id: RecordId::from_bytes(row.get(1)?),
                kind: records::kind_from_number(row.get(2)?),
                copy: row.get(3)?,
                block: block.zip(start).map(|(block, start)| (block, start, size)),
                body: row.get(7)?,
            })
        },
    )
}

/// Records what is evicted, before it is deleted.
fn record_eviction(
    tx: &Transaction<'_>,
    state: &CurrentState,
    rows: &[EvictedRow],
    pass: EvictionPass,
    now: Timestamp,
) -> Result<()> {
    let count = |kind: RecordKind| rows.iter().filter(|row| row.kind == kind).count();
    let ids: Vec<u8> = rows
        .iter()
        .flat_map(|row| row.id.as_bytes()[..ID_PREFIX_BYTES].to_vec())
        .collect();
    let lost = if state.digested { 0 } else { rows.len() };
    // SQLite turns the concatenation of blobs into text, so it is cast back.
    tx.prepare_cached(
        "INSERT INTO evictions (session, at, pass, records, prompts, tool_calls, errors, lost, ids)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (session) DO UPDATE SET at = excluded.at, pass = excluded.pass,
            records = records + excluded.records, prompts = prompts + excluded.prompts,
            tool_calls = tool_calls + excluded.tool_calls, errors = errors + excluded.errors,
            lost = lost + excluded.lost, reread = 0, ids = CAST(ids || excluded.ids AS BLOB)",
    )?
    .execute(params![
        state.id,
        now.as_millisecond(),
        pass.name(),
        rows.len(),
        count(RecordKind::Prompt),
        count(RecordKind::ToolUse),
        count(RecordKind::Error),
        lost,
        ids,
    ])?;
    // A stale digest says more than none.
    tx.prepare_cached("UPDATE digests SET base = data WHERE session = ?1")?
        .execute([state.id])?;
    signals::mark_evicted(tx, state.id)
}

/// Deletes the logs of a session, except for those that other sessions' records came from.
fn delete_unshared_logs(tx: &Transaction<'_>, session: i64) -> Result<()> {
    let mut statement = tx.prepare_cached(
        "SELECT x.source FROM source_sessions x WHERE x.session = ?1 AND NOT EXISTS (
            SELECT 1 FROM source_sessions y WHERE y.source = x.source AND EXISTS (
                SELECT 1 FROM records r WHERE r.session = y.session))",
    )?;
    let sources: Vec<i64> = statement
        .query_map([session], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for source in sources {
        let kept = logs::text_locations(tx, "source = ?1", &[&source])?;
        tx.prepare_cached("DELETE FROM raw WHERE source = ?1")?
            .execute([source])?;
        kept.iter()
            .try_for_each(|kept| logs::release_text(tx, kept))?;
    }
    Ok(())
}
