//! The ledger of model calls: every call that Throughline itself made, and what it cost.

use jiff::{SignedDuration, Timestamp};
use memory::{SessionId, Usage};
use rusqlite::{Transaction, params};

use crate::Store;
use crate::columns::columns;
use crate::derived::leases;
use crate::error::Result;
use crate::query::query_all;
use crate::records::sessions::timestamp_from_millis;
use redact::CleanString;

/// Older entries are deleted.
const LEDGER_RETENTION: SignedDuration = SignedDuration::from_hours(24 * 400);

/// One call of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCall {
    pub at: Timestamp,
    /// The purpose of the call: `summary`, `facts` or `compaction`.
    pub purpose: String,
    pub session: Option<SessionId>,
    pub model: String,
    pub usage: Usage,
    /// The cost in US dollars; unknown where the model has no price.
    pub usd: Option<f64>,
    /// `ok`, or the name of the error.
    pub outcome: String,
}

/// The tokens and the cost of the model calls of a period.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ModelSpending {
    pub tokens: u64,
    pub usd: f64,
}

impl Store {
    /// Adds a call to the ledger.
    pub fn record_model_call(&self, call: &ModelCall) -> Result<()> {
        let clean = |text: &str| self.redactor().clean(text).into_owned();
        let texts = [&call.purpose, &call.model, &call.outcome].map(|text| clean(text));
        let call = call.clone();
        self.write(move |tx, _| insert(tx, &call, &texts))
    }

    /// Returns the calls since a time, the latest first.
    pub fn model_calls(&self, since: Option<Timestamp>, limit: usize) -> Result<Vec<ModelCall>> {
        let sql = format!(
            "SELECT {} FROM model_calls c LEFT JOIN sessions s ON s.id = c.session
             WHERE (?1 IS NULL OR c.at >= ?1) ORDER BY c.at DESC, c.id DESC LIMIT ?2",
            col::SQL
        );
        self.read(|connection| {
            let since = since.map(Timestamp::as_millisecond);
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            query_all(connection, &sql, params![since, limit], |row| {
                Ok(ModelCall {
                    at: timestamp_from_millis(row.get(col::at)?).unwrap_or(Timestamp::UNIX_EPOCH),
                    purpose: row.get(col::purpose)?,
                    session: row
                        .get::<_, Option<String>>(col::session)?
                        .map(SessionId::new),
                    model: row.get(col::model)?,
                    usage: Usage {
                        input: row.get(col::input)?,
                        output: row.get(col::output)?,
                        cache_read: row.get(col::cache_read)?,
                        cache_write: row.get(col::cache_write)?,
                        reasoning: 0,
                    },
                    usd: row.get(col::usd)?,
                    outcome: row.get(col::outcome)?,
                })
            })
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

columns! {
    mod col {
        at: "c.at",
        purpose: "c.purpose",
        session: "s.name",
        model: "c.model",
        input: "c.input",
        output: "c.output",
        cache_read: "c.cache_read",
        cache_write: "c.cache_write",
        usd: "c.usd",
        outcome: "c.outcome",
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

/// Removes a forgotten session from the ledger; its cost stays.
pub(crate) fn forget_session(tx: &Transaction<'_>, session: i64) -> Result<()> {
    tx.prepare_cached("UPDATE model_calls SET session = NULL WHERE session = ?1")?
        .execute([session])?;
    Ok(())
}
