//! The rows of an export: the columns of each query, and the line that a row becomes.

use memory::{SessionKind, Usage};
use rusqlite::Row;

use super::line::{EvictionLine, FactLine, RecordLine, SessionLine, UsageLine, encode_hex};
use crate::columns::columns;
use crate::derived::facts::fact_columns;
use crate::error::Result;
use crate::records;
use crate::records::sessions::timestamp_from_millis;

columns! {
    /// A session `s` in its workspace `w`.
    pub(super) mod session_columns {
        id: "s.id",
        name: "s.name",
        flavor: "s.flavor",
        kind: "s.kind",
        title: "s.title",
        title_rank: "s.title_rank",
        workspace: "w.key",
        cwd: "s.cwd",
        branch: "s.branch",
        model: "s.model",
        version: "s.version",
        parent: "s.parent",
        started: "s.started",
        ended: "s.ended",
    }
}

/// Returns the row id of a session and its line.
pub(super) fn session_line(row: &Row<'_>) -> rusqlite::Result<(i64, SessionLine)> {
    use session_columns as column;
    let kind: String = row.get(column::kind)?;
    let line = SessionLine {
        id: row.get(column::name)?,
        flavor: row.get(column::flavor)?,
        kind: SessionKind::from_name(&kind).unwrap_or_default(),
        title: row.get(column::title)?,
        title_rank: row.get(column::title_rank)?,
        workspace: row.get(column::workspace)?,
        cwd: row.get(column::cwd)?,
        branch: row.get(column::branch)?,
        model: row.get(column::model)?,
        version: row.get(column::version)?,
        parent: row.get(column::parent)?,
        started: timestamp_from_millis(row.get(column::started)?),
        ended: timestamp_from_millis(row.get(column::ended)?),
    };
    Ok((row.get(column::id)?, line))
}

columns! {
    /// A record `r` of the session `s` in the environment `c`. The columns of its text come last,
    /// because the text's reader finds them by the position of the first.
    pub(super) mod record_columns {
        id: "r.id",
        session: "s.name",
        message: "r.message",
        line: "r.line",
        ordinal: "r.ordinal",
        kind: "r.kind",
        trust: "r.trust",
        at: "r.at",
        tool: "r.tool",
        path: "r.path",
        call: "r.call",
        tags: "r.tags",
        metadata: "r.metadata",
        cwd: "c.cwd",
        branch: "c.branch",
        model: "c.model",
        detached: "r.detached",
        checksum: "r.checksum",
        content: "r.content",
        block: "r.block",
        start: "r.start",
        size: "r.size",
        body: "r.body",
    }
}

pub(super) fn record_line(row: &Row<'_>, content: String) -> Result<RecordLine> {
    use record_columns as column;
    let text = |position| {
        Ok::<_, rusqlite::Error>(row.get::<_, Option<String>>(position)?.unwrap_or_default())
    };
    Ok(RecordLine {
        id: encode_hex(&row.get::<_, Vec<u8>>(column::id)?),
        session: row.get(column::session)?,
        message: row.get(column::message)?,
        line: row.get(column::line)?,
        ordinal: row.get(column::ordinal)?,
        kind: records::kind_from_number(row.get(column::kind)?),
        trust: records::trust_from_number(row.get(column::trust)?),
        at: timestamp_from_millis(row.get(column::at)?),
        tool: row.get(column::tool)?,
        path: row.get(column::path)?,
        call: row.get(column::call)?,
        tags: serde_json::from_str(&text(column::tags)?).unwrap_or_default(),
        metadata: serde_json::from_str(&text(column::metadata)?).unwrap_or_default(),
        cwd: text(column::cwd)?,
        branch: text(column::branch)?,
        model: text(column::model)?,
        detached: row.get(column::detached)?,
        content,
    })
}

columns! {
    /// The usage `u` of one API response in the session `s`.
    pub(super) mod usage_columns {
        key: "u.key",
        session: "s.name",
        at: "u.at",
        model: "u.model",
        input: "u.input",
        output: "u.output",
        cache_read: "u.cache_read",
        cache_write: "u.cache_write",
        reasoning: "u.reasoning",
        cost_usd: "u.cost_usd",
    }
}

pub(super) fn usage_line(row: &Row<'_>) -> rusqlite::Result<UsageLine> {
    use usage_columns as column;
    Ok(UsageLine {
        key: encode_hex(&row.get::<_, Vec<u8>>(column::key)?),
        session: row.get(column::session)?,
        at: timestamp_from_millis(row.get(column::at)?),
        model: row.get(column::model)?,
        usage: Usage {
            input: row.get(column::input)?,
            output: row.get(column::output)?,
            cache_read: row.get(column::cache_read)?,
            cache_write: row.get(column::cache_write)?,
            reasoning: row.get(column::reasoning)?,
        },
        cost_usd: row.get(column::cost_usd)?,
    })
}

columns! {
    /// The eviction of a session's records.
    pub(super) mod eviction_columns {
        at: "at",
        pass: "pass",
        records: "records",
        prompts: "prompts",
        tool_calls: "tool_calls",
        errors: "errors",
        lost: "lost",
        ids: "ids",
        reread: "reread",
    }
}

pub(super) fn eviction_line(session: &str, row: &Row<'_>) -> rusqlite::Result<EvictionLine> {
    use eviction_columns as column;
    Ok(EvictionLine {
        session: session.to_owned(),
        at: timestamp_from_millis(row.get(column::at)?).unwrap_or_default(),
        pass: row.get(column::pass)?,
        records: row.get(column::records)?,
        prompts: row.get(column::prompts)?,
        tool_calls: row.get(column::tool_calls)?,
        errors: row.get(column::errors)?,
        lost: row.get(column::lost)?,
        ids: encode_hex(&row.get::<_, Vec<u8>>(column::ids)?),
        reread: Some(row.get(column::reread)?),
    })
}

/// Returns the line of a fact, without its sources.
pub(super) fn fact_line(row: &Row<'_>) -> rusqlite::Result<FactLine> {
    use fact_columns as column;
    let superseded: Option<Vec<u8>> = row.get(column::superseded)?;
    Ok(FactLine {
        id: encode_hex(&row.get::<_, Vec<u8>>(column::id)?),
        workspace: row.get(column::workspace)?,
        kind: row.get(column::kind)?,
        text: row.get(column::text)?,
        tags: row.get(column::tags)?,
        trust: records::trust_from_number(row.get(column::trust)?),
        pinned: row.get(column::pinned)?,
        made: timestamp_from_millis(row.get(column::made)?).unwrap_or_default(),
        seen: timestamp_from_millis(row.get(column::seen)?).unwrap_or_default(),
        times: row.get(column::times)?,
        superseded: superseded.map(|id| encode_hex(&id)),
        sources: Vec::new(),
    })
}
