//! The ledger: every call of a model that Throughline itself made, and what it cost.

use jiff::{SignedDuration, Timestamp};
use memory::{SessionId, Usage};
use rusqlite::{Transaction, params};

use crate::Store;
use crate::derived::leases;
use crate::error::Result;
use crate::ingest::writer::CommitMode;
use crate::records::sessions::timestamp_from_millis;
use redact::CleanString;

/// Older entries are dropped.
const LEDGER_RETENTION: SignedDuration = SignedDuration::from_hours(24 * 400);

/// One call of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCall {
    pub at: Timestamp,
    /// What it was for: `summary`, `facts`, `compaction`.
    pub purpose: String,
    pub session: Option<SessionId>,
    pub model: String,
    pub usage: Usage,
    /// In US dollars; unknown where the model has no price.
    pub usd: Option<f64>,
    /// `ok`, or the name of what went wrong.
    pub outcome: String,
}

/// What was spent in a span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ModelSpending {
    pub tokens: u64,
    pub usd: f64,
}

impl Store {
    /// Enters a call into the ledger.
    pub fn record_model_call(&self, call: &ModelCall) -> Result<()> {
        let clean = |text: &str| self.redactor().clean(text).into_owned();
        let texts = [&call.purpose, &call.model, &call.outcome].map(|text| clean(text));
        let call = call.clone();
        let ticket = self
            .writer()
            .submit(1, CommitMode::Immediate, move |tx, _| {
                insert(tx, &call, &texts)
            });
        ticket.wait()
    }

    /// Returns the calls since a time, the latest first.
    pub fn model_calls(&self, since: Option<Timestamp>, limit: usize) -> Result<Vec<ModelCall>> {
        const SQL: &str = "
            SELECT c.at, c.purpose, s.name, c.model, c.input, c.output, c.cache_read,
                   c.cache_write, c.usd, c.outcome
            FROM model_calls c LEFT JOIN sessions s ON s.id = c.session
            WHERE (?1 IS NULL OR c.at >= ?1) ORDER BY c.at DESC, c.id DESC LIMIT ?2";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(SQL)?;
            let since = since.map(Timestamp::as_millisecond);
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![since, limit], |row| {
                Ok(ModelCall {
                    at: timestamp_from_millis(row.get(0)?).unwrap_or(Timestamp::UNIX_EPOCH),
                    purpose: row.get(1)?,
                    session: row.get::<_, Option<String>>(2)?.map(SessionId::new),
                    model: row.get(3)?,
                    usage: Usage {
                        input: row.get(4)?,
                        output: row.get(5)?,
                        cache_read: row.get(6)?,
                        cache_write: row.get(7)?,
                        reasoning: 0,
                    },
                    usd: row.get(8)?,
                    outcome: row.get(9)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Adds up what was spent since a time.
    pub fn spending_since(&self, since: Timestamp) -> Result<ModelSpending> {
        const SQL: &str = "
            SELECT CAST(total(input + output + cache_read + cache_write) AS INTEGER),
                   coalesce(sum(usd), 0.0) FROM model_calls WHERE at >= ?1";
        self.read(|connection| {
            let row = |row: &rusqlite::Row<'_>| {
                Ok(ModelSpending {
                    tokens: row.get(0)?,
                    usd: row.get(1)?,
                })
            };
            Ok(connection
                .prepare_cached(SQL)?
                .query_row([since.as_millisecond()], row)?)
        })
    }
}

fn insert(tx: &Transaction<'_>, call: &ModelCall, texts: &[CleanString; 3]) -> Result<()> {
    let session = match &call.session {
        Some(session) => leases::session_number(tx, session)?,
        None => None,
    };
    let [purpose, model, outcome] = texts;
    let usage = call.usage.clamped();
    tx.prepare_cached(
        "INSERT INTO model_calls (at, purpose, session, model, input, output, cache_read,
            cache_write, usd, outcome) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?
    .execute(params![
        call.at.as_millisecond(),
        purpose.as_str(),
        session,
        model.as_str(),
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_write,
        call.usd.map(memory::session::clamp_cost),
        outcome.as_str(),
    ])?;
    let oldest =
        call.at.as_millisecond() - i64::try_from(LEDGER_RETENTION.as_millis()).unwrap_or(i64::MAX);
    tx.prepare_cached("DELETE FROM model_calls WHERE at < ?1")?
        .execute([oldest])?;
    Ok(())
}

/// Lets the ledger forget which session a call was for; what was spent stays spent.
pub(crate) fn forget_session(tx: &Transaction<'_>, session: i64) -> Result<()> {
    tx.prepare_cached("UPDATE model_calls SET session = NULL WHERE session = ?1")?
        .execute([session])?;
    Ok(())
}
