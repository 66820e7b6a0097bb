//! Tokens and cost, counted once per API response.

use jiff::Timestamp;
use rusqlite::{Transaction, params};

use crate::clean::CleanUsage;
use crate::error::Result;
use crate::redact::CleanString;
use crate::sessions::Known;

/// Writes the usage of a response. A log tells it several times, and only the last telling is
/// complete, so the largest figures count; a copy of the log does not take it from its session.
pub(crate) fn upsert(tx: &Transaction<'_>, session: Known, usage: &CleanUsage) -> Result<()> {
    let entry = &usage.entry;
    tx.prepare_cached(
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
            cost_usd = coalesce(excluded.cost_usd, cost_usd)",
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
    Ok(())
}
