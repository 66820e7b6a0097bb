//! Sessions, and the environments (`contexts`) of their records.

use std::fmt;

use jiff::Timestamp;
use memory::{FactId, Flavor, Outcome, Session, SessionId, SessionKind, SessionPatch, Usage};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, ToSql, Transaction, params};

use crate::Store;
use crate::columns::columns;
use crate::error::Result;
use crate::index::digest_rows;
use crate::ingest::sanitizer::CleanSession;
use crate::ingest::writer::WriterState;
use crate::query::query_all;
use crate::records::marks::{self, MarkFilter};
use crate::records::{self, workspaces};
use redact::CleanString;

/// What the writer needs to know about a session.
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
    pub kind: Option<SessionKind>,
    pub outcome: Option<Outcome>,
    pub branch: Option<String>,
    /// A part of the name or title.
    pub title: Option<String>,
    pub marks: MarkFilter,
    /// Only lists sessions whose logs are gone.
    pub gone: bool,
    /// Only lists sessions after this one, in the order of the list.
    pub after: Option<SessionCursor>,
    pub limit: usize,
}

/// The place of a session in a list, from which the next page goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionCursor {
    active_millis: i64,
    session: String,
}

impl SessionCursor {
    /// Returns the place of a session.
    pub fn at(session: &Session) -> Self {
        let active = session.ended.or(session.started);
        Self {
            active_millis: active.map_or(0, Timestamp::as_millisecond),
            session: session.id.as_str().to_owned(),
        }
    }

    /// Parses what `Display` writes. Returns `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let (millis, session) = text.split_once('~')?;
        Some(Self {
            active_millis: millis.parse().ok()?,
            session: session.to_owned(),
        })
    }
}

impl fmt::Display for SessionCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}~{}", self.active_millis, self.session)
    }
}

impl Store {
    /// Lists sessions, the latest first.
    pub fn sessions(&self, filter: &SessionFilter) -> Result<Vec<Session>> {
        self.read(|connection| {
            let values = filter.values();
            query_all(
                connection,
                &list_sql(),
                named(&values).as_slice(),
                read_session,
            )
        })
    }

    /// Counts the sessions that a filter selects, on all of its pages.
    pub fn count_sessions(&self, filter: &SessionFilter) -> Result<u64> {
        let all = SessionFilter {
            after: None,
            limit: usize::MAX,
            ..filter.clone()
        };
        if all.selects_by_kind_alone() {
            return self.read(|connection| {
                let mut statement = connection.prepare_cached(COUNT_LISTED)?;
                Ok(statement.query_row([all.all_kinds], |row| row.get(0))?)
            });
        }
        let sql = format!("SELECT count(*) FROM ({SELECTED_IDS})");
        self.read(|connection| {
            let values = all.values();
            let mut statement = connection.prepare_cached(&sql)?;
            Ok(statement.query_row(named(&values).as_slice(), |row| row.get(0))?)
        })
    }

    /// Returns at most `limit` sessions whose own or full id begins with `prefix`.
    pub fn sessions_by_prefix(&self, prefix: &str, limit: usize) -> Result<Vec<Session>> {
        let sql = prefix_sql();
        // Every string that begins with the prefix sorts before this one.
        let end = format!("{prefix}{}", char::MAX);
        self.read(|connection| {
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            query_all(connection, &sql, params![prefix, end, limit], read_session)
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
        name_mark: "m.name",
        starred: "m.starred",
        archived: "m.archived",
        tags: "m.tags",
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
         LEFT JOIN session_marks m ON m.session = s.id
         LEFT JOIN sources f ON f.id = (
             SELECT source FROM source_sessions WHERE session = s.id ORDER BY source LIMIT 1)
         LEFT JOIN usage u ON u.session = s.id
         WHERE {condition} GROUP BY s.id {order}",
        col::SQL
    )
}

/// The numbers of the sessions that a filter selects, in the order of the list. The index on the
/// order lets a page end as soon as it is full.
const SELECTED_IDS: &str = "
    SELECT s.id FROM sessions s LEFT JOIN workspaces w ON w.id = s.workspace
    LEFT JOIN session_marks m ON m.session = s.id
    WHERE (:flavor IS NULL OR s.flavor = :flavor)
      AND (:workspace IS NULL OR instr(w.key, :workspace) OR EXISTS
        (SELECT 1 FROM roots x WHERE x.workspace = w.id AND instr(x.path, :workspace)))
      AND coalesce(s.ended, s.started, 0) >= :since
      AND (:until IS NULL OR s.started < :until)
      AND (:all_kinds OR s.kind <> 'subagent') AND (:kind IS NULL OR s.kind = :kind)
      AND s.records > 0
      AND (:outcome IS NULL
        OR EXISTS (SELECT 1 FROM digests d WHERE d.session = s.id AND d.outcome = :outcome))
      AND (:branch IS NULL OR s.branch = :branch)
      AND (:title IS NULL OR instr(lower(coalesce(m.name, s.title)), lower(:title)))
      AND coalesce(m.archived, 0) = :archived AND (NOT :starred OR m.starred)
      AND (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(m.tags) WHERE value = :tag))
      AND (NOT :gone OR NOT EXISTS (
           SELECT 1 FROM source_sessions x JOIN sources y ON y.id = x.source
           WHERE x.session = s.id AND NOT y.gone))
      AND coalesce(s.ended, s.started, 0) <= :active
      AND (coalesce(s.ended, s.started, 0) < :active OR s.name > :after)
    ORDER BY coalesce(s.ended, s.started, 0) DESC, s.name LIMIT :limit";

/// How many sessions [`SELECTED_IDS`] selects without a filter; `?1` includes subagents. This takes
/// a fifth of the time: the marks of the few archived sessions are looked up, not those of all.
const COUNT_LISTED: &str = "
    SELECT (SELECT count(*) FROM sessions WHERE records > 0 AND (?1 OR kind <> 'subagent'))
        - (SELECT count(*) FROM session_marks m JOIN sessions s ON s.id = m.session
           WHERE m.archived AND s.records > 0 AND (?1 OR s.kind <> 'subagent'))";

type NamedValues = [(&'static str, Value); 16];

impl SessionFilter {
    /// Says whether the filter selects all sessions, with or without subagents.
    fn selects_by_kind_alone(&self) -> bool {
        let selects_text =
            self.workspace.is_some() || self.branch.is_some() || self.title.is_some();
        let selects_time = self.since.is_some() || self.until.is_some() || self.after.is_some();
        let selects_type = self.flavor.is_some() || self.kind.is_some() || self.outcome.is_some();
        let selects_state = self.gone || !self.marks.is_empty();
        !(selects_text || selects_time || selects_type || selects_state)
    }

    /// The values of [`SELECTED_IDS`].
    fn values(&self) -> NamedValues {
        let millis = |at: Option<Timestamp>| at.map(Timestamp::as_millisecond);
        let text = |text: Option<&str>| Value::from(text.map(str::to_owned));
        let after = self.after.as_ref();
        [
            (":flavor", text(self.flavor.map(Flavor::name))),
            (":workspace", text(self.workspace.as_deref())),
            (":since", millis(self.since).unwrap_or(i64::MIN).into()),
            (":until", millis(self.until).into()),
            (":all_kinds", (self.all_kinds || self.kind.is_some()).into()),
            (":kind", text(self.kind.map(SessionKind::name))),
            (":outcome", text(self.outcome.map(Outcome::name))),
            (":branch", text(self.branch.as_deref())),
            (":title", text(self.title.as_deref())),
            (":gone", self.gone.into()),
            (":archived", self.marks.archived.into()),
            (":starred", self.marks.starred.into()),
            (":tag", text(self.marks.tag.as_deref())),
            (
                ":active",
                after.map_or(i64::MAX, |after| after.active_millis).into(),
            ),
            (
                ":after",
                text(Some(after.map_or("", |after| &after.session))),
            ),
            (
                ":limit",
                i64::try_from(self.limit).unwrap_or(i64::MAX).into(),
            ),
        ]
    }
}

/// Returns values in the form that a statement takes.
fn named(values: &NamedValues) -> [(&'static str, &dyn ToSql); 16] {
    values
        .each_ref()
        .map(|(name, value)| (*name, value as &dyn ToSql))
}

/// Returns the query that lists sessions. It selects the sessions first, and reads the rest for
/// those alone.
fn list_sql() -> String {
    select_sessions(
        &format!("s.id IN ({SELECTED_IDS})"),
        "ORDER BY coalesce(s.ended, s.started, 0) DESC, s.name",
    )
}

/// Returns the query for sessions by the beginning of their ids.
fn prefix_sql() -> String {
    select_sessions(
        "s.id IN (
             SELECT id FROM sessions WHERE name >= ?1 AND name < ?2
             UNION SELECT id FROM sessions
                 WHERE substr(name, instr(name, ':') + 1) >= ?1
                   AND substr(name, instr(name, ':') + 1) < ?2)",
        "ORDER BY length(s.name), s.name LIMIT ?3",
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
        kind: SessionKind::from_name(&kind).unwrap_or_default(),
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
        // A program sends its records; it has no log that could be gone.
        source_gone: flavor != Flavor::Program.name()
            && row
                .get::<_, Option<bool>>(col::source_gone)?
                .unwrap_or_default(),
        outcome: row
            .get::<_, Option<String>>(col::outcome)?
            .map(|name| Outcome::from_name(&name).unwrap_or_default()),
        evicted: count(col::evicted)?,
        detached: count(col::detached)?,
        marks: marks::marks_from_row(row, col::name_mark)?,
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

    /// Lists end when a page is full, and an id is found without reading all sessions.
    #[test]
    fn sessions_are_selected_by_an_index() {
        let dir = tempfile::tempdir().unwrap();
        let connection =
            crate::open::connection::open_writer(&dir.path().join("t.db"), None).unwrap();
        let plan = |sql: &str| -> String {
            let mut plan = connection
                .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
                .unwrap();
            let steps = plan.raw_query().mapped(|row| row.get::<_, String>(3));
            steps.map(Result::unwrap).collect::<Vec<_>>().join("\n")
        };
        let list = plan(SELECTED_IDS);
        assert!(list.contains("sessions_by_activity"), "{list}");
        assert!(!list.contains("TEMP B-TREE"), "{list}");
        let by_prefix = plan(&prefix_sql());
        assert!(by_prefix.contains("sessions_by_native_id"), "{by_prefix}");
        assert!(!by_prefix.contains("SCAN sessions"), "{by_prefix}");
    }

    #[test]
    fn the_short_count_equals_the_list() {
        let dir = tempfile::tempdir().unwrap();
        let connection =
            crate::open::connection::open_writer(&dir.path().join("t.db"), None).unwrap();
        connection
            .execute_batch(
                "INSERT INTO sessions (id, name, flavor, kind, records, started) VALUES
                    (1, 'claude:a', 'claude', 'main', 3, 10),
                    (2, 'claude:b', 'claude', 'subagent', 2, 20),
                    (3, 'codex:c', 'codex', 'main', 0, 30),
                    (4, 'codex:d', 'codex', 'main', 1, 40),
                    (5, 'codex:e', 'codex', 'subagent', 1, 50),
                    (6, 'codex:f', 'codex', 'headless', 1, 60);
                 INSERT INTO session_marks (session, starred, archived, tags) VALUES
                    (1, 1, 0, '[]'), (3, 0, 1, '[]'), (4, 0, 1, '[]'), (5, 0, 1, '[]');",
            )
            .unwrap();
        for (all_kinds, expected) in [(false, 2), (true, 3)] {
            let filter = SessionFilter {
                all_kinds,
                limit: usize::MAX,
                ..SessionFilter::default()
            };
            assert!(filter.selects_by_kind_alone());
            let listed: u64 = connection
                .query_row(
                    &format!("SELECT count(*) FROM ({SELECTED_IDS})"),
                    named(&filter.values()).as_slice(),
                    |row| row.get(0),
                )
                .unwrap();
            let counted: u64 = connection
                .query_row(COUNT_LISTED, [all_kinds], |row| row.get(0))
                .unwrap();
            assert_eq!((listed, counted), (expected, expected), "{all_kinds}");
        }
    }

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
