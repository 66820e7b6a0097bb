//! Sessions, and the contexts of their records.

use jiff::Timestamp;
use memory::{Flavor, Outcome, Session, SessionId, SessionKind, Usage};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use crate::clean::CleanSession;
use crate::error::Result;
use crate::redact::CleanString;
use crate::writer::Names;
use crate::{Store, records, workspaces};

/// What the writer remembers of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
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
    /// Subagents too.
    pub all_kinds: bool,
    /// Only those whose logs are gone.
    pub gone: bool,
    pub limit: usize,
}

impl Store {
    /// Lists sessions, the latest first.
    pub fn sessions(&self, filter: &SessionFilter) -> Result<Vec<Session>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&list_sql())?;
            let rows = statement.query_map(
                params![
                    filter.flavor.map(Flavor::name),
                    filter.workspace,
                    filter.since.map(Timestamp::as_millisecond),
                    filter.until.map(Timestamp::as_millisecond),
                    filter.all_kinds,
                    i64::try_from(filter.limit).unwrap_or(i64::MAX),
                    filter.gone,
                ],
                session,
            )?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Returns the sessions whose own or full id starts with `prefix`; at most `limit`.
    pub fn sessions_named(&self, prefix: &str, limit: usize) -> Result<Vec<Session>> {
        let sql = format!(
            "{SELECT} WHERE substr(s.name, 1, length(?1)) = ?1
                OR substr(s.name, instr(s.name, ':') + 1, length(?1)) = ?1
             {GROUP} ORDER BY length(s.name), s.name LIMIT ?2"
        );
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![prefix, limit], session)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Returns the sessions that `parent` started.
    pub fn subagents(&self, parent: &SessionId) -> Result<Vec<Session>> {
        let sql = format!("{SELECT} WHERE s.parent = ?1 {GROUP} ORDER BY s.started, s.name");
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map([parent.as_str()], session)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}

/// Returns the sessions with these numbers, in the order of the numbers.
pub(crate) fn of_ids(connection: &Connection, ids: &[i64]) -> Result<Vec<Session>> {
    let list = serde_json::to_string(ids).unwrap_or_default();
    let sql =
        format!("{SELECT} WHERE s.id IN (SELECT value FROM json_each(?1)) {GROUP} ORDER BY s.id");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([list], session)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Notes that something of a session has changed, so that its digest is no longer current.
pub(crate) fn touch(tx: &Transaction<'_>, session: i64) -> Result<()> {
    tx.prepare_cached("UPDATE sessions SET revision = revision + 1 WHERE id = ?1")?
        .execute([session])?;
    Ok(())
}

/// Reads sessions with their usage. [`GROUP`] must follow the condition: the usage of each session is
/// added up by way of its index, so a few sessions cost no more than their own rows of `usage`.
const SELECT: &str = "
    SELECT s.name, s.flavor, s.kind, s.title, w.key, s.cwd, s.branch, s.model, s.version, s.parent,
           s.started, s.ended, s.records, s.prompts, s.tool_calls, s.errors,
           sum(u.input), sum(u.output), sum(u.cache_read), sum(u.cache_write), sum(u.reasoning),
           sum(u.cost_usd), f.path, f.gone, d.outcome, e.records
    FROM sessions s
    LEFT JOIN digests d ON d.session = s.id
    LEFT JOIN evictions e ON e.session = s.id
    LEFT JOIN workspaces w ON w.id = s.workspace
    LEFT JOIN sources f ON f.id = (
        SELECT source FROM source_sessions WHERE session = s.id ORDER BY source LIMIT 1)
    LEFT JOIN usage u ON u.session = s.id";

const GROUP: &str = "GROUP BY s.id";

/// Returns the statement that lists sessions: it first chooses the sessions, then reads the rest of
/// what is known of those alone.
fn list_sql() -> String {
    format!(
        "{SELECT} WHERE s.id IN (
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
             ORDER BY coalesce(s.ended, s.started) DESC, s.name LIMIT ?6)
         {GROUP} ORDER BY coalesce(s.ended, s.started) DESC, s.name"
    )
}

fn session(row: &Row<'_>) -> rusqlite::Result<Session> {
    let flavor: String = row.get(1)?;
    let kind: String = row.get(2)?;
    let count = |index: usize| -> rusqlite::Result<u64> {
        Ok(row.get::<_, Option<u64>>(index)?.unwrap_or_default())
    };
    Ok(Session {
        id: SessionId::new(row.get::<_, String>(0)?),
        // A store of a later version may hold agents that this one does not know.
        flavor: Flavor::from_name(&flavor).unwrap_or(Flavor::Claude),
        kind: SessionKind::from_name(&kind),
        title: row.get(3)?,
        workspace: row.get(4)?,
        cwd: row.get(5)?,
        branch: row.get(6)?,
        model: row.get(7)?,
        version: row.get(8)?,
        parent: row.get::<_, Option<String>>(9)?.map(SessionId::new),
        started: timestamp(row.get(10)?),
        ended: timestamp(row.get(11)?),
        records: count(12)?,
        prompts: count(13)?,
        tool_calls: count(14)?,
        errors: count(15)?,
        usage: Usage {
            input: count(16)?,
            output: count(17)?,
            cache_read: count(18)?,
            cache_write: count(19)?,
            reasoning: count(20)?,
        },
        cost_usd: row.get(21)?,
        source: row.get(22)?,
        source_gone: row.get::<_, Option<bool>>(23)?.unwrap_or_default(),
        outcome: row
            .get::<_, Option<String>>(24)?
            .map(|name| Outcome::from_name(&name)),
        evicted: count(25)?,
    })
}

/// Returns a session by its number.
pub(crate) fn by_number(connection: &Connection, id: i64) -> Result<Option<Session>> {
    let sql = format!("{SELECT} WHERE s.id = ?1 {GROUP}");
    let mut statement = connection.prepare_cached(&sql)?;
    Ok(statement.query_row([id], session).optional()?)
}

pub(crate) fn timestamp(millis: Option<i64>) -> Option<Timestamp> {
    millis.and_then(|millis| Timestamp::from_millisecond(millis).ok())
}

/// Writes what is known of a session now. Mirrors `SessionPatch::merge`.
pub(crate) fn upsert(
    tx: &Transaction<'_>,
    names: &mut Names,
    session: &CleanSession,
    title: Option<&CleanString>,
) -> Result<()> {
    let workspace = match &session.workspace {
        Some((key, root)) => Some(workspaces::known(tx, names, key, root)?),
        None => None,
    };
    let before = known(tx, names, &session.name, session.patch.flavor)?;
    let patch = &session.patch;
    tx.prepare_cached(
        "UPDATE sessions SET
            kind = CASE WHEN kind = 'subagent' THEN kind ELSE coalesce(?2, kind) END,
            title = CASE WHEN ?3 IS NOT NULL AND ?4 >= title_rank THEN ?3 ELSE title END,
            title_rank = CASE WHEN ?3 IS NOT NULL THEN max(?4, title_rank) ELSE title_rank END,
            workspace = coalesce(workspace, ?5),
            cwd = coalesce(cwd, ?6),
            branch = coalesce(?7, branch),
            model = coalesce(?8, model),
            version = coalesce(?9, version),
            parent = coalesce(parent, ?10),
            started = min(coalesce(started, ?11), coalesce(?11, started)),
            ended = max(coalesce(ended, ?12), coalesce(?12, ended))
         WHERE id = ?1",
    )?
    .execute(params![
        before.id,
        patch.kind.map(SessionKind::name),
        title.map(CleanString::as_str),
        patch.title.as_ref().map_or(0, |title| title.rank as i64),
        workspace,
        session.cwd.as_ref().map(CleanString::as_str),
        session.branch.as_ref().map(CleanString::as_str),
        session.model.as_ref().map(CleanString::as_str),
        session.version.as_ref().map(CleanString::as_str),
        session.parent.as_ref().map(CleanString::as_str),
        patch.started.map(Timestamp::as_millisecond),
        patch.ended.map(Timestamp::as_millisecond),
    ])?;
    if let (0, Some(workspace)) = (before.workspace, workspace) {
        let known = Known {
            workspace,
            ..before
        };
        names
            .sessions
            .insert(session.name.as_str().to_owned(), known);
        records::reindex(tx, names, before, known)?;
    }
    Ok(())
}

/// Returns a session's number, making its row when there is none.
pub(crate) fn known(
    tx: &Transaction<'_>,
    names: &mut Names,
    name: &CleanString,
    flavor: Flavor,
) -> Result<Known> {
    if let Some(known) = names.sessions.get(name.as_str()) {
        return Ok(*known);
    }
    let found = find(tx, name.as_str())?;
    let known = match found {
        Some((id, workspace)) => Known {
            id,
            workspace,
            flavor,
        },
        None => {
            tx.prepare_cached("INSERT INTO sessions (name, flavor) VALUES (?1, ?2)")?
                .execute(params![name.as_str(), flavor.name()])?;
            Known {
                id: tx.last_insert_rowid(),
                workspace: 0,
                flavor,
            }
        }
    };
    names.sessions.insert(name.as_str().to_owned(), known);
    Ok(known)
}

fn find(connection: &Connection, name: &str) -> Result<Option<(i64, i64)>> {
    Ok(connection
        .prepare_cached("SELECT id, coalesce(workspace, 0) FROM sessions WHERE name = ?1")?
        .query_row([name], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?)
}

/// Returns the number of the place where a record was made.
pub(crate) fn context(
    tx: &Transaction<'_>,
    names: &mut Names,
    context: &[CleanString; 3],
) -> Result<i64> {
    let [cwd, branch, model] = context;
    let key = (
        cwd.as_str().to_owned(),
        branch.as_str().to_owned(),
        model.as_str().to_owned(),
    );
    if let Some(id) = names.contexts.get(&key) {
        return Ok(*id);
    }
    let id = tx
        .prepare_cached(
            "INSERT INTO contexts (cwd, branch, model) VALUES (?1, ?2, ?3)
             ON CONFLICT DO UPDATE SET cwd = excluded.cwd RETURNING id",
        )?
        .query_row(params![key.0, key.1, key.2], |row| row.get(0))?;
    names.contexts.insert(key, id);
    Ok(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Session start reads one page of sessions; it must not add up the usage of all of them.
    #[test]
    fn the_usage_of_sessions_is_read_by_its_index() {
        let dir = tempfile::tempdir().unwrap();
        let connection = crate::open::writer(&dir.path().join("t.db"), None).unwrap();
        for sql in [
            list_sql(),
            format!("{SELECT} WHERE s.id = ?1 {GROUP}"),
            format!("{SELECT} WHERE s.parent = ?1 {GROUP} ORDER BY s.started, s.name"),
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
