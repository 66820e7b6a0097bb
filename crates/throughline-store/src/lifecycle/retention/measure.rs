//! Measuring what the store holds on disk.

use jiff::Timestamp;
use memory::SessionId;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Transaction, params};
use serde::Serialize;

use super::plan::{RetainedSession, RetentionState};
use crate::Store;
use crate::derived::digests::CLOCK_SLACK_MS;
use crate::error::Result;
use crate::lifecycle::maintenance::AGE_HELD_BACK_TASK;
use crate::records::sessions::timestamp_from_millis;

/// What the pages of the database are used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DiskUsage {
    /// Records, their texts, their index and the logs.
    pub raw_bytes: u64,
    /// Sessions, digests, facts and usage.
    pub distilled_bytes: u64,
    /// Unused pages, which are used again before the file grows.
    pub free_bytes: u64,
    /// The time of the last activity in any session.
    #[serde(skip)]
    pub newest: Option<Timestamp>,
    /// When `delete_after` last postponed sessions.
    #[serde(skip)]
    pub age_held_back: Option<Timestamp>,
}

/// The size of a record besides its text: its columns, and its part of the indexes.
const RECORD_BYTES: i64 = 200;
/// The size of what remains of an evicted session.
const SESSION_BYTES: i64 = 300;
const USAGE_BYTES: i64 = 120;

impl Store {
    /// Measures the disk usage of the store.
    pub fn disk_usage(&self, now: Timestamp) -> Result<DiskUsage> {
        self.read(|connection| measure_usage(connection, now))
    }

    /// Lists the sessions with raw text, each with its share of the raw bytes.
    pub(super) fn retained_sessions(
        &self,
        usage: &DiskUsage,
        quiet_before: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<RetainedSession>> {
        self.read(|connection| measure_sessions(connection, usage, quiet_before, now))
    }

    /// Returns the capture time of the text that has been stored longest.
    pub(super) fn oldest_captured(&self) -> Result<Option<Timestamp>> {
        const SQL: &str = "
            SELECT min(s.captured) FROM sessions s
            LEFT JOIN evictions e ON e.session = s.id WHERE s.records > coalesce(e.records, 0)";
        self.read(|connection| {
            let oldest = connection
                .prepare_cached(SQL)?
                .query_row([], |row| row.get(0))?;
            Ok(timestamp_from_millis(oldest))
        })
    }

    /// Says whether a sweep has captured anything since the last retention run.
    pub(super) fn has_new_captures(&self, now: Timestamp) -> Result<bool> {
        let sql = format!("SELECT EXISTS (SELECT 1 FROM sessions WHERE {NOT_STAMPED})");
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            Ok(statement.query_row([latest_ms(now)], |row| row.get(0))?)
        })
    }
}

/// The condition for sessions without a capture time, or with one from a clock that was far ahead.
const NOT_STAMPED: &str = "captured IS NULL OR captured > ?1";

/// Later times come from a wrong clock.
fn latest_ms(now: Timestamp) -> i64 {
    now.as_millisecond() + CLOCK_SLACK_MS
}

/// Sets the capture time of everything that was captured since the last retention run.
pub(super) fn stamp_captures(tx: &Transaction<'_>, now: Timestamp) -> Result<()> {
    let sql = format!("UPDATE sessions SET captured = ?2 WHERE {NOT_STAMPED}");
    tx.prepare_cached(&sql)?
        .execute([latest_ms(now), now.as_millisecond()])?;
    Ok(())
}

/// The page size, unless SQLite reports another one.
const PAGE_BYTES: u64 = 4096;

fn measure_usage(connection: &Connection, now: Timestamp) -> Result<DiskUsage> {
    let number =
        |sql: &str| -> Result<u64> { Ok(connection.query_row(sql, [], |row| row.get(0))?) };
    let page = page_size(connection)?;
    let pages = number("PRAGMA page_count")?;
    let free = number("PRAGMA freelist_count")?;
    let distilled: u64 = connection.query_row(
        "SELECT (SELECT coalesce(sum(length(data) + coalesce(length(base), 0)), 0) FROM digests)
              + (SELECT coalesce(sum(length(name) + length(text) + 60), 0) FROM signals)
              + (SELECT coalesce(sum(length(ids)), 0) FROM evictions)
              + (SELECT coalesce(sum(length(text) + coalesce(length(tags), 0)), 0) FROM facts)
              + (SELECT count(*) FROM usage) * ?1 + (SELECT count(*) FROM sessions) * ?2",
        [USAGE_BYTES, SESSION_BYTES],
        |row| row.get(0),
    )?;
    let newest = connection
        .prepare_cached(
            "SELECT max(coalesce(ended, started)) FROM sessions
             WHERE coalesce(ended, started) <= ?1",
        )?
        .query_row([latest_ms(now)], |row| row.get(0))?;
    let held_back = connection
        .prepare_cached("SELECT max(at) FROM chores WHERE name = ?1")?
        .query_row([AGE_HELD_BACK_TASK], |row| row.get(0))?;
    // Every table and index has a page, even an empty one. No eviction frees it, so it does not
    // count against a limit.
    let roots = number("SELECT count(*) FROM sqlite_schema WHERE rootpage > 0")?;
    let used = pages.saturating_sub(free).saturating_sub(roots) * page;
    Ok(DiskUsage {
        raw_bytes: used.saturating_sub(distilled),
        distilled_bytes: distilled,
        free_bytes: free * page,
        newest: timestamp_from_millis(newest),
        age_held_back: timestamp_from_millis(held_back),
    })
}

/// SQLCipher returns the page size as text.
fn page_size(connection: &Connection) -> Result<u64> {
    let size = connection.query_row("PRAGMA page_size", [], |row| match row.get_ref(0)? {
        ValueRef::Text(text) => Ok(std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.parse().ok())),
        _ => row.get(0).map(Some),
    })?;
    Ok(size.unwrap_or(PAGE_BYTES))
}

/// A session's share of the raw bytes is estimated by the length of its texts and logs. What an
/// eviction frees is measured afterwards, because texts share blocks and sessions share bodies.
fn measure_sessions(
    connection: &Connection,
    usage: &DiskUsage,
    quiet_before: Timestamp,
    now: Timestamp,
) -> Result<Vec<RetainedSession>> {
    const SQL: &str = "
        WITH texts AS (
                 SELECT session, count(*) * ?1 + sum(size) AS weight FROM records
                 GROUP BY session),
             logs AS (
                 SELECT x.session, CAST(total(r.size) AS INTEGER) / 4 AS weight
                 FROM source_sessions x JOIN raw r ON r.source = x.source GROUP BY x.session)
        SELECT s.name, w.key, coalesce(s.ended, s.started, 0), t.weight + coalesce(l.weight, 0),
               d.revision IS s.revision, EXISTS (
                   SELECT 1 FROM fact_sources y JOIN facts f ON f.id = y.fact
                   WHERE y.session = s.id AND f.pinned),
               s.captured, NOT EXISTS (
                   SELECT 1 FROM source_sessions z JOIN sources f ON f.id = z.source
                   WHERE z.session = s.id AND NOT f.gone)
        FROM texts t JOIN sessions s ON s.id = t.session
        LEFT JOIN logs l ON l.session = s.id
        LEFT JOIN workspaces w ON w.id = s.workspace
        LEFT JOIN digests d ON d.session = s.id
        ORDER BY s.id";
    let mut statement = connection.prepare_cached(SQL)?;
    let late = latest_ms(now);
    let rows = statement.query_map(params![RECORD_BYTES], |row| {
        let last: i64 = row.get(2)?;
        let is_live = last > quiet_before.as_millisecond() && last <= late;
        let state = match (is_live, row.get(4)?) {
            (true, digested) => RetentionState::Live { digested },
            (false, true) => RetentionState::Digested,
            (false, false) => RetentionState::Undigested,
        };
        // Another process has set the capture time while the sweep was still running.
        let is_just_read = |at: &i64| *at > now.as_millisecond() && *at <= late;
        let captured: Option<i64> = row.get(6)?;
        Ok(RetainedSession {
            session: SessionId::new(row.get::<_, String>(0)?),
            workspace: row.get(1)?,
            last: timestamp_from_millis(Some(last)).unwrap_or_default(),
            captured: timestamp_from_millis(captured.filter(|at| !is_just_read(at))),
            bytes: row.get(3)?,
            state,
            pinned: row.get(5)?,
            only_copy: row.get(7)?,
        })
    })?;
    let mut retained: Vec<RetainedSession> = rows.collect::<Result<_, _>>()?;
    let weights: u64 = retained
        .iter()
        .fold(0, |sum, session| sum.saturating_add(session.bytes));
    for session in &mut retained {
        let share =
            u128::from(usage.raw_bytes) * u128::from(session.bytes) / u128::from(weights.max(1));
        session.bytes = u64::try_from(share).unwrap_or(u64::MAX);
    }
    Ok(retained)
}
