//! Sessions, and the environments (`contexts`) of their records.

use jiff::Timestamp;
use memory::{FactId, Flavor, Outcome, Session, SessionId, SessionKind, SessionPatch, Usage};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use crate::Store;
use crate::columns::columns;
use crate::error::Result;
use crate::index::digest_rows;
use crate::ingest::sanitizer::CleanSession;
use crate::ingest::writer::WriterState;
use crate::query::query_all;
use crate::records::{self, workspaces};
use redact::CleanString;

/// What the writer needs to know of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionRef {
    pub id: i64,
    pub workspace: i64,
    pub flavor: Flavor,
}

/// Which sessions to list.
#[derive(Clone, Debug, Default)]
pub struct SessionFilter {
    pub flavor: Option<Flavor>,
    /// A part of the workspace's key or root.
    pub workspace: Option<String>,
    pub since: Option<Timestamp>,
    pub until: Option<Timestamp>,
    /// Also lists subagents.
    pub all_kinds: bool,
    /// Only lists sessions whose logs are gone.
    pub gone: bool,
    pub limit: usize,
}

impl Store {
    /// Lists sessions, the latest first.
    pub fn sessions(&self, filter: &SessionFilter) -> Result<Vec<Session>> {
        self.read(|connection| {
            query_all(
                connection,
                &list_sql(),
                params![
                    filter.flavor.map(Flavor::name),
                    filter.workspace,
                    filter.since.map(Timestamp::as_millisecond),
                    filter.until.map(Timestamp::as_millisecond),
                    filter.all_kinds,
                    i64::try_from(filter.limit).unwrap_or(i64::MAX),
                    filter.gone,
                ],
                read_session,
            )
        })
    }

    /// Returns at most `limit` sessions whose own or full id begins with `prefix`.
    pub fn sessions_by_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<Session>> {
        let sql = select_sessions(
            "substr(s.name, 1, length(?1)) = ?1
                OR substr(s.name, instr(s.name, ':') + 1, length(?1)) = ?1",
            "ORDER BY length(s.name), s.name LIMIT ?2",
        );
        self.read(|connection| {
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            query_all(connection, &sql, params![prefix, limit], read_session)
        })
    }

    /// Returns the time of a session's last record.
    pub fn session_end(&self, session: &SessionId) -> Result<Option<Timestamp>> {
        self.read(|connection| {
            let mut statement = connection
                .prepare_cached("SELECT coalesce(ended, started) FROM sessions WHERE name = ?1")?;
            let found = statement.query_row([session.as_str()], |row| row.get(0));
            Ok(timestamp_from_millis(found.optional()?.flatten()))
        })
    }

    /// Returns when the last of the sessions ended that a fact was taken from.
    pub fn fact_session_end(&self, fact: FactId) -> Result<Option<Timestamp>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT max(coalesce(s.ended, s.started)) FROM fact_sources x
                 JOIN sessions s ON s.id = x.session WHERE x.fact = ?1",
            )?;
            Ok(timestamp_from_millis(
                statement.query_row([fact.as_bytes()], |row| row.get(0))?,
            ))
        })
    }

    /// Returns the sessions that `parent` started.
    pub fn subagents(&self, parent: &SessionId) -> Result<Vec<Session>> {
        let sql = select_sessions("s.parent = ?1", "ORDER BY s.started, s.name");
        self.read(|connection| query_all(connection, &sql, [parent.as_str()], read_session))
    }
}

/// Returns the sessions with these numbers, in ascending order.
pub(crate) fn sessions_by_ids(connection: &Connection, ids: &[i64]) -> Result<Vec<Session>> {
    let list = serde_json::to_string(ids).unwrap_or_default();
    let sql = select_sessions("s.id IN (SELECT value FROM json_each(?1))", "ORDER BY s.id");
    query_all(connection, &sql, [list], read_session)
}

/// Records that a session has changed, which makes its digest stale.
pub(crate) fn bump_revision(tx: &Transaction<'_>, session: i64) -> Result<()> {
    tx.prepare_cached("UPDATE sessions SET revision = revision + 1 WHERE id = ?1")?
        .execute([session])?;
    Ok(())
}

/// Clears the capture time of a session that got text. The next retention run sets it.
pub(crate) fn clear_capture_time(tx: &Transaction<'_>, session: i64) -> Result<()> {
    tx.prepare_cached("UPDATE sessions SET captured = NULL WHERE id = ?1")?
        .execute([session])?;
    Ok(())
}

columns! {
    mod col {
        name: "s.name",
        flavor: "s.flavor",
        kind: "s.kind",
        title: "s.title",
        workspace: "w.key",
        cwd: "s.cwd",
        branch: "s.branch",
        model: "s.model",
        version: "s.version",
        parent: "s.parent",
        started: "s.started",
        ended: "s.ended",
        records: "s.records",
        prompts: "s.prompts",
        tool_calls: "s.tool_calls",
        errors: "s.errors",
        input: "CAST(total(max(u.input, 0)) AS INTEGER)",
        output: "CAST(total(max(u.output, 0)) AS INTEGER)",
        cache_read: "CAST(total(max(u.cache_read, 0)) AS INTEGER)",
        cache_write: "CAST(total(max(u.cache_write, 0)) AS INTEGER)",
        reasoning: "CAST(total(max(u.reasoning, 0)) AS INTEGER)",
        cost_usd: "sum(u.cost_usd)",
        source: "f.path",
        source_gone: "f.gone",
        outcome: "d.outcome",
        evicted: "e.records",
        detached: "(SELECT count(*) FROM source_sessions x
            JOIN records r INDEXED BY records_detached
                ON r.source = x.source AND r.detached AND r.session = s.id
            WHERE x.session = s.id)",
    }
}

/// Returns the query for sessions with their usage. The usage of each session is summed by its
/// index, so that a few sessions cost only their own rows of `usage`.
fn select_sessions(condition: &str, order: &str) -> String {
    format!(
        "SELECT {} FROM sessions s
         LEFT JOIN digests d ON d.session = s.id
         LEFT JOIN evictions e ON e.session = s.id
         LEFT JOIN workspaces w ON w.id = s.workspace
         LEFT JOIN sources f ON f.id = (
             SELECT source FROM source_sessions WHERE session = s.id ORDER BY source LIMIT 1)
         LEFT JOIN usage u ON u.session = s.id
         WHERE {condition} GROUP BY s.id {order}",
        col::SQL
    )
}

/// Returns the query that lists sessions. It selects the sessions first, and reads the rest for
/// those alone.
fn list_sql() -> String {
    select_sessions(
        "s.id IN (
             SELECT s.id FROM sessions s LEFT JOIN workspaces w ON w.id = s.workspace
             WHERE (?1 IS NULL OR s.flavor = ?1)
               AND (?2 IS NULL OR instr(w.key, ?2) OR EXISTS
                 (SELECT 1 FROM roots x WHERE x.workspace = w.id AND instr(x.path, ?2)))
               AND (?3 IS NULL OR coalesce(s.ended, s.started) >= ?3)
               AND (?4 IS NULL OR s.started < ?4)
               AND (?5 OR s.kind <> 'subagent') AND s.records > 0
               AND (NOT ?7 OR NOT EXISTS (
                    SELECT 1 FROM source_sessions x JOIN sources y ON y.id = x.source
                    WHERE x.session = s.id AND NOT y.gone))
             ORDER BY coalesce(s.ended, s.started) DESC, s.name LIMIT ?6)",
        "ORDER BY coalesce(s.ended, s.started) DESC, s.name",
    )
}

fn read_session(row: &Row<'_>) -> rusqlite::Result<Session> {
    let flavor: String = row.get(col::flavor)?;
    let kind: String = row.get(col::kind)?;
    let count = |index: usize| -> rusqlite::Result<u64> {
        Ok(row.get::<_, Option<u64>>(index)?.unwrap_or_default())
    };
    Ok(Session {
        id: SessionId::new(row.get::<_, String>(col::name)?),
        // A later version may have stored an agent that this one does not know.
        flavor: Flavor::from_name(&flavor).unwrap_or(Flavor::Claude),
        kind: SessionKind::from_name(&kind),
        title: row.get(col::title)?,
        workspace: row.get(col::workspace)?,
        cwd: row.get(col::cwd)?,
        branch: row.get(col::branch)?,
        model: row.get(col::model)?,
        version: row.get(col::version)?,
        parent: row
            .get::<_, Option<String>>(col::parent)?
            .map(SessionId::new),
        started: timestamp_from_millis(row.get(col::started)?),
        ended: timestamp_from_millis(row.get(col::ended)?),
        records: count(col::records)?,
        prompts: count(col::prompts)?,
        tool_calls: count(col::tool_calls)?,
        errors: count(col::errors)?,
        usage: Usage {
            input: count(col::input)?,
            output: count(col::output)?,
            cache_read: count(col::cache_read)?,
            cache_write: count(col::cache_write)?,
            reasoning: count(col::reasoning)?,
        },
        cost_usd: row.get(col::cost_usd)?,
        source: row.get(col::source)?,
        source_gone: row
            .get::<_, Option<bool>>(col::source_gone)?
            .unwrap_or_default(),
        outcome: row
            .get::<_, Option<String>>(col::outcome)?
            .map(|name| Outcome::from_name(&name)),
        evicted: count(col::evicted)?,
        detached: count(col::detached)?,
    })
}

/// Returns a session by its number.
pub(crate) fn session_by_number(connection: &Connection, id: i64) -> Result<Option<Session>> {
    let sql = select_sessions("s.id = ?1", "");
    let mut statement = connection.prepare_cached(&sql)?;
    Ok(statement.query_row([id], read_session).optional()?)
}

pub(crate) fn timestamp_from_millis(millis: Option<i64>) -> Option<Timestamp> {
    millis.and_then(|millis| Timestamp::from_millisecond(millis).ok())
}

/// Merges new information into a session, in the same way as `SessionPatch::merge`.
pub(crate) fn upsert(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    session: &CleanSession,
    title: Option<&CleanString>,
) -> Result<()> {
    let workspace = match &session.workspace {
        Some((key, root)) => Some(workspaces::find_or_insert_workspace(tx, writer, key, root)?),
        None => None,
    };
    let before = find_or_insert_session(tx, writer, &session.name, session.patch.flavor)?;
    let patch = &session.patch;
    let has_digest_row = digest_rows::unindex(tx, writer, before.id)?;
    tx.prepare_cached(
        "UPDATE sessions SET
            kind = CASE WHEN kind = 'subagent' THEN kind ELSE coalesce(?2, kind) END,
            title = CASE WHEN ?3 IS NULL THEN title
                WHEN ?4 > title_rank OR title IS NULL OR (?4 = title_rank AND NOT ?11) THEN ?3
                ELSE title END,
            title_rank = CASE WHEN ?3 IS NOT NULL THEN max(?4, title_rank) ELSE title_rank END,
            workspace = coalesce(workspace, ?5),
            cwd = coalesce(cwd, ?6),
            branch = coalesce(?7, branch),
            model = coalesce(?8, model),
            version = coalesce(?9, version),
            parent = coalesce(parent, ?10)
         WHERE id = ?1",
    )?
    .execute(params![
        before.id,
        patch.kind.map(SessionKind::name),
        title.map(CleanString::as_str),
        patch.title.as_ref().map_or(0, |title| title.rank.number()),
        workspace,
        session.cwd.as_ref().map(CleanString::as_str),
        session.branch.as_ref().map(CleanString::as_str),
        session.model.as_ref().map(CleanString::as_str),
        session.version.as_ref().map(CleanString::as_str),
        session.parent.as_ref().map(CleanString::as_str),
        patch
            .title
            .as_ref()
            .is_some_and(|title| title.rank.yields_to_equal()),
    ])?;
    update_times(tx, before.id, patch)?;
    if let (0, Some(workspace)) = (before.workspace, workspace) {
        let known = SessionRef {
            workspace,
            ..before
        };
        writer
            .sessions
            .insert(session.name.as_str().to_owned(), known);
        records::reindex_records(tx, writer, before, known)?;
    }
    if has_digest_row {
        digest_rows::index(tx, writer, before.id)?;
    }
    Ok(())
}

/// Extends the time span of a session. Times from a log replace those of the file.
fn update_times(tx: &Transaction<'_>, session: i64, patch: &SessionPatch) -> Result<()> {
    let millis = |at: Option<Timestamp>| at.map(Timestamp::as_millisecond);
    if patch.started.or(patch.ended).is_some() {
        tx.prepare_cached(
            "UPDATE sessions SET
                started = iif(dated_by_file, ?2,
                    min(coalesce(started, ?2), coalesce(?2, started))),
                ended = iif(dated_by_file, ?3, max(coalesce(ended, ?3), coalesce(?3, ended))),
                dated_by_file = 0
             WHERE id = ?1",
        )?
        .execute(params![session, millis(patch.started), millis(patch.ended)])?;
    } else if let Some(at) = millis(patch.file_time) {
        tx.prepare_cached(
            "UPDATE sessions SET started = coalesce(started, ?2),
                ended = max(coalesce(ended, ?2), ?2), dated_by_file = 1
             WHERE id = ?1 AND (dated_by_file OR (started IS NULL AND ended IS NULL))",
        )?
        .execute([session, at])?;
    }
    Ok(())
}

/// Returns when a session was last active, if that is known.
pub(crate) fn last_active(connection: &Connection, session: i64) -> Result<Option<Timestamp>> {
    let millis: Option<Option<i64>> = connection
        .prepare_cached("SELECT coalesce(ended, started) FROM sessions WHERE id = ?1")?
        .query_row([session], |row| row.get(0))
        .optional()?;
    Ok(timestamp_from_millis(millis.flatten()))
}

/// Returns the reference of a session by its number.
pub(crate) fn session_ref(connection: &Connection, id: i64) -> Result<Option<SessionRef>> {
    let found: Option<(i64, String)> = connection
        .prepare_cached("SELECT coalesce(workspace, 0), flavor FROM sessions WHERE id = ?1")?
        .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(found.and_then(|(workspace, flavor)| {
        Some(SessionRef {
            id,
            workspace,
            flavor: Flavor::from_name(&flavor)?,
        })
    }))
}

/// Returns the reference of a session, inserting its row when there is none.
pub(crate) fn find_or_insert_session(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    name: &CleanString,
    flavor: Flavor,
) -> Result<SessionRef> {
    if let Some(known) = writer.sessions.get(name.as_str()) {
        return Ok(*known);
    }
    let found = find_session(tx, name.as_str())?;
    let known = match found {
        Some((id, workspace)) => SessionRef {
            id,
            workspace,
            flavor,
        },
        None => {
            tx.prepare_cached("INSERT INTO sessions (name, flavor) VALUES (?1, ?2)")?
                .execute(params![name.as_str(), flavor.name()])?;
            SessionRef {
                id: tx.last_insert_rowid(),
                workspace: 0,
                flavor,
            }
        }
    };
    writer.sessions.insert(name.as_str().to_owned(), known);
    Ok(known)
}

fn find_session(connection: &Connection, name: &str) -> Result<Option<(i64, i64)>> {
    Ok(connection
        .prepare_cached("SELECT id, coalesce(workspace, 0) FROM sessions WHERE name = ?1")?
        .query_row([name], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?)
}

/// Returns the number of a record's environment, inserting its row when there is none.
pub(crate) fn find_or_insert_context(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    context: &[CleanString; 3],
) -> Result<i64> {
    let [cwd, branch, model] = context;
    let key = (
        cwd.as_str().to_owned(),
        branch.as_str().to_owned(),
        model.as_str().to_owned(),
    );
    if let Some(id) = writer.contexts.get(&key) {
        return Ok(*id);
    }
    let id = tx
        .prepare_cached(
            "INSERT INTO contexts (cwd, branch, model) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET cwd = excluded.cwd RETURNING id",
        )?
        .query_row(params![key.0, key.1, key.2], |row| row.get(0))?;
    writer.contexts.insert(key, id);
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Session start reads one page of sessions; it must not add up the usage of all of them.
    #[test]
    fn the_usage_of_sessions_is_read_by_its_index() {
        let dir = tempfile::tempdir().unwrap();
        let connection =
            crate::open::connection::open_writer(&dir.path().join("t.db"), None).unwrap();
        for sql in [
            list_sql(),
            select_sessions("s.id = ?1", ""),
            select_sessions("s.parent = ?1", "ORDER BY s.started, s.name"),
        ] {
            let explained = format!("EXPLAIN QUERY PLAN {sql}");
            let mut plan = connection.prepare(&explained).unwrap();
            let steps = plan.raw_query().mapped(|row| row.get::<_, String>(3));
            let steps: Vec<_> = steps.map(Result::unwrap).collect();
            let usage = steps.iter().filter(|step| step.contains(" u"));
            assert!(
                usage.clone().count() > 0
                    && usage.clone().all(|step| step.contains("usage_by_session")),
                "{steps:#?}"
            );
            assert!(
                !steps.iter().any(|step| step.contains("MATERIALIZE")),
                "{steps:#?}"
            );
        }
    }
}
