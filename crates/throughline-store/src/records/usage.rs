//! Tokens and cost, counted once per API response.

use jiff::Timestamp;
use memory::{Flavor, SessionId, Usage};
use rusqlite::{Row, Transaction, params};

use crate::Store;
use crate::columns::columns;
use crate::error::Result;
use crate::ingest::sanitizer::CleanUsage;
use crate::records::sessions::{SessionRef, timestamp_from_millis};
use redact::CleanString;

/// Which usage to add up.
#[derive(Clone, Debug, Default)]
pub struct UsageFilter {
    pub flavor: Option<Flavor>,
    /// A part of the workspace's key or root.
    pub workspace: Option<String>,
    pub session: Option<SessionId>,
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
}

/// What one session used of one model within a quarter of an hour, because the days of every time
/// zone consist of whole quarters. Responses whose cost the log states are counted apart.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageRow {
    pub session: SessionId,
    pub title: Option<String>,
    /// The name of the agent, which a later version may have written.
    pub agent: String,
    pub workspace: Option<String>,
    pub model: Option<String>,
    /// The start of the quarter.
    pub quarter: Option<Timestamp>,
    pub usage: Usage,
    /// The number of API responses, or of prompts where the log has no finer count.
    pub requests: u64,
    /// The cost that the log states.
    pub cost_usd: Option<f64>,
}

const QUARTER_MS: i64 = 15 * 60 * 1000;

/// When a model was called, and how many tokens it read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestSize {
    pub at: Timestamp,
    pub tokens: u64,
}

/// What one response of a model used.
#[derive(Clone, Debug, PartialEq)]
pub struct ResponseUsage {
    pub at: Option<Timestamp>,
    pub model: Option<String>,
    pub usage: Usage,
    /// The cost that the log states.
    pub cost_usd: Option<f64>,
}

impl Store {
    /// Returns what each response in a session used, in the order of time.
    pub fn session_responses(&self, session: &SessionId) -> Result<Vec<ResponseUsage>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT at, model, max(input, 0), max(output, 0), max(cache_read, 0),
                        max(cache_write, 0), max(reasoning, 0), cost_usd
                 FROM usage WHERE session = (SELECT id FROM sessions WHERE name = ?1)
                 ORDER BY at",
            )?;
            let rows = statement.query_map([session.as_str()], |row| {
                Ok(ResponseUsage {
                    at: timestamp_from_millis(row.get(0)?),
                    model: row.get(1)?,
                    usage: Usage {
                        input: row.get(2)?,
                        output: row.get(3)?,
                        cache_read: row.get(4)?,
                        cache_write: row.get(5)?,
                        reasoning: row.get(6)?,
                    },
                    cost_usd: row.get(7)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Returns the sizes of a session's last requests, the latest first.
    pub fn last_requests(&self, session: &SessionId, limit: usize) -> Result<Vec<RequestSize>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT at, input + cache_read + cache_write FROM usage
                 WHERE session = (SELECT id FROM sessions WHERE name = ?1) AND at IS NOT NULL
                 ORDER BY at DESC LIMIT ?2",
            )?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![session.as_str(), limit], |row| {
                Ok((timestamp_from_millis(row.get(0)?), row.get(1)?))
            })?;
            let mut sizes = Vec::new();
            for row in rows {
                let (at, tokens) = row?;
                sizes.extend(at.map(|at| RequestSize { at, tokens }));
            }
            Ok(sizes)
        })
    }

    /// Returns the usage in order of sessions.
    pub fn usage(&self, filter: &UsageFilter) -> Result<Vec<UsageRow>> {
        // A log without times for its usage gets the time of its session. `sum` fails when integers
        // overflow; `total` adds floating-point numbers, and the cast saturates.
        let sql = format!(
            "WITH dated AS (
                SELECT u.*, s.name, s.title, s.flavor, w.key AS workspace,
                       coalesce(u.at, s.ended, s.started) AS moment
                FROM usage u
                JOIN sessions s ON s.id = u.session
                LEFT JOIN workspaces w ON w.id = s.workspace
                WHERE (?1 IS NULL OR s.flavor = ?1)
                  AND (?2 IS NULL OR instr(w.key, ?2) OR EXISTS
                    (SELECT 1 FROM roots x WHERE x.workspace = w.id AND instr(x.path, ?2)))
                  AND (?3 IS NULL OR s.name = ?3))
            SELECT {}
            FROM dated
            WHERE (?4 IS NULL OR moment >= ?4) AND (?5 IS NULL OR moment < ?5)
            GROUP BY session, model, quarter, cost_usd IS NULL
            ORDER BY name, model, quarter, cost_usd IS NULL",
            col::SQL
        );
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map(
                params![
                    filter.flavor.map(Flavor::name),
                    filter.workspace,
                    filter.session.as_ref().map(SessionId::as_str),
                    filter.since.map(Timestamp::as_millisecond),
                    filter.until.map(Timestamp::as_millisecond),
                    QUARTER_MS,
                ],
                usage_row,
            )?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

columns! {
    mod col {
        session: "name",
        title: "title",
        agent: "flavor",
        workspace: "workspace",
        model: "model",
        quarter: "moment - moment % ?6 AS quarter",
        input: "CAST(total(max(input, 0)) AS INTEGER)",
        output: "CAST(total(max(output, 0)) AS INTEGER)",
        cache_read: "CAST(total(max(cache_read, 0)) AS INTEGER)",
        cache_write: "CAST(total(max(cache_write, 0)) AS INTEGER)",
        reasoning: "CAST(total(max(reasoning, 0)) AS INTEGER)",
        requests: "count(*)",
        cost_usd: "sum(cost_usd)",
    }
}

fn usage_row(row: &Row<'_>) -> rusqlite::Result<UsageRow> {
    Ok(UsageRow {
        session: SessionId::new(row.get::<_, String>(col::session)?),
        title: row.get(col::title)?,
        agent: row.get(col::agent)?,
        workspace: row.get(col::workspace)?,
        model: row.get(col::model)?,
        quarter: timestamp_from_millis(row.get(col::quarter)?),
        usage: Usage {
            input: row.get(col::input)?,
            output: row.get(col::output)?,
            cache_read: row.get(col::cache_read)?,
            cache_write: row.get(col::cache_write)?,
            reasoning: row.get(col::reasoning)?,
        },
        requests: row.get(col::requests)?,
        cost_usd: row.get(col::cost_usd)?,
    })
}

/// Writes the usage of a response. A log states it several times and only the last one is complete,
/// so the largest numbers count. A copy of the log does not move the usage to its session. Returns
/// whether anything changed.
pub(crate) fn upsert(
    tx: &Transaction<'_>,
    session: SessionRef,
    usage: &CleanUsage,
) -> Result<bool> {
    let entry = &usage.entry;
    let changed = tx
        .prepare_cached(
            "INSERT INTO usage (key, session, at, model, input, output, cache_read, cache_write,
            reasoning, cost_usd)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT (key) DO UPDATE SET
            session = CASE WHEN (
                SELECT (coalesce(a.started, 9e15), a.name) < (coalesce(b.started, 9e15), b.name)
                FROM sessions a, sessions b WHERE a.id = excluded.session AND b.id = usage.session)
                THEN excluded.session ELSE session END,
            at = coalesce(at, excluded.at),
            model = coalesce(excluded.model, model),
            input = max(input, excluded.input),
            output = max(output, excluded.output),
            cache_read = max(cache_read, excluded.cache_read),
            cache_write = max(cache_write, excluded.cache_write),
            reasoning = max(reasoning, excluded.reasoning),
            cost_usd = coalesce(excluded.cost_usd, cost_usd)
         WHERE excluded.session <> session OR excluded.input > input OR excluded.output > output
            OR excluded.cache_read > cache_read OR excluded.cache_write > cache_write
            OR excluded.reasoning > reasoning
            OR (excluded.cost_usd IS NOT NULL AND excluded.cost_usd IS NOT cost_usd)
            OR (excluded.model IS NOT NULL AND excluded.model IS NOT model)
            OR (excluded.at IS NOT NULL AND at IS NULL)",
        )?
        .execute(params![
            usage.key,
            session.id,
            entry.at.map(Timestamp::as_millisecond),
            usage.model.as_ref().map(CleanString::as_str),
            entry.usage.input,
            entry.usage.output,
            entry.usage.cache_read,
            entry.usage.cache_write,
            entry.usage.reasoning,
            entry.cost_usd,
        ])?;
    Ok(changed > 0)
}
