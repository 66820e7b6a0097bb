//! Resolves a selection into sessions to delete as a whole and single records of other sessions.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use jiff::Timestamp;
use memory::{RecordId, SessionId};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};

use super::{ForgetPlan, PlannedFact, PlannedRecord, Selection};
use crate::error::{Error, Result};
use crate::hex;
use crate::index::{self, digest_rows};
use crate::records::sessions::{self, timestamp_from_millis};
use crate::records::{self, SUBMITTED_ID};
use crate::texts::blocks;
use crate::texts::reader::{TEXT_COLUMNS, TextReader};

/// How much of a text is shown before it is deleted.
const SHOWN_CHARS_MAX: usize = 120;

pub(super) fn plan(connection: &Connection, selection: &Selection) -> Result<ForgetPlan> {
    let mut doomed = ForgetPlan::default();
    if selection.is_empty() {
        return Ok(doomed);
    }
    let named = named_sessions(connection, selection)?;
    let rows = rows(connection, selection, &named)?;
    let whole = whole_sessions(connection, selection, &named, &rows)?;
    doomed.sessions = whole
        .iter()
        .filter_map(|id| sessions::session_by_number(connection, *id).transpose())
        .collect::<Result<_>>()?;
    doomed.session_ids = whole.iter().copied().collect();
    doomed.records = singles(connection, &rows, &whole)?;
    doomed.facts = facts(connection, selection)?;
    for fact in derived_facts(connection, &doomed)? {
        if !doomed.facts.iter().any(|other| other.key == fact.key) {
            doomed.facts.push(fact);
        }
    }
    doomed.sources = sources(connection, &doomed)?;
    Ok(doomed)
}

/// Returns the row ids of the named sessions and of the subagents they started.
fn named_sessions(connection: &Connection, selection: &Selection) -> Result<BTreeSet<i64>> {
    let mut found = BTreeSet::new();
    let mut names: Vec<String> = selection
        .sessions
        .iter()
        .map(|id| id.as_str().to_owned())
        .collect();
    while let Some(name) = names.pop() {
        let sql = "SELECT id FROM sessions WHERE name = ?1";
        let id: Option<i64> = connection
            .prepare_cached(sql)?
            .query_row([&name], |row| row.get(0))
            .optional()?;
        if id.is_none_or(|id| found.insert(id)) {
            let sql = "SELECT name FROM sessions WHERE (parent = ?1 AND kind = 'subagent')
                OR substr(name, 1, length(?1) + 1) = ?1 || '/'";
            let mut statement = connection.prepare_cached(sql)?;
            let children = statement.query_map([&name], |row| row.get(0))?;
            for child in children {
                names.push(child?);
            }
        }
    }
    Ok(found)
}

/// Returns the matching rows by session.
fn rows(
    connection: &Connection,
    selection: &Selection,
    named: &BTreeSet<i64>,
) -> Result<BTreeMap<i64, Vec<i64>>> {
    let mut conditions = Vec::new();
    let mut values = Vec::new();
    if !selection.names_nothing() {
        let sessions: Vec<_> = named.iter().map(ToString::to_string).collect();
        let ids: Vec<_> = selection
            .records
            .iter()
            .map(|id| format!("x'{id}'"))
            .collect();
        conditions.push(format!(
            "(r.session IN ({}) OR r.id IN ({}))",
            sessions.join(", "),
            ids.join(", ")
        ));
    }
    if let Some(workspace) = &selection.workspace {
        let ids = workspaces(connection, workspace)?;
        let ids: Vec<_> = ids.iter().map(ToString::to_string).collect();
        conditions.push(format!("s.workspace IN ({})", ids.join(", ")));
    }
    if let Some(flavor) = selection.flavor {
        values.push(Value::Text(flavor.name().to_owned()));
        conditions.push(format!("s.flavor = ?{}", values.len()));
    }
    if !selection.kinds.is_empty() {
        let kinds = selection
            .kinds
            .iter()
            .map(|kind| (*kind as i64).to_string());
        let kinds: Vec<_> = kinds.collect();
        conditions.push(format!("r.kind IN ({})", kinds.join(", ")));
    }
    if let Some(before) = selection.before {
        values.push(Value::Integer(before.as_millisecond()));
        conditions.push(format!("coalesce(r.at, s.started) < ?{}", values.len()));
    }
    if let Some(query) = &selection.query {
        let found = index::rows_with_all_words(connection, query)?;
        values.push(Value::Text(
            serde_json::to_string(&found).unwrap_or_default(),
        ));
        conditions.push(format!(
            "r.row IN (SELECT value FROM json_each(?{}))",
            values.len()
        ));
    }
    let sql = format!(
        "SELECT r.session, r.row FROM records r JOIN sessions s ON s.id = r.session WHERE {}",
        conditions.join(" AND ")
    );
    let mut statement = connection.prepare(&sql)?;
    let mut found = statement.query(params_from_iter(values))?;
    let mut rows: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    while let Some(row) = found.next()? {
        rows.entry(row.get(0)?).or_default().push(row.get(1)?);
    }
    Ok(rows)
}

fn workspaces(connection: &Connection, name: &str) -> Result<Vec<i64>> {
    let name = if name.len() > 1 {
        name.trim_end_matches('/')
    } else {
        name
    };
    let sql = "SELECT id FROM workspaces WHERE key = ?1
            OR substr(key, -length(?1) - 1) IN ('/' || ?1, ':' || ?1)
        UNION SELECT workspace FROM roots WHERE path = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([name], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Returns the sessions of which nothing would remain, including those without records.
fn whole_sessions(
    connection: &Connection,
    selection: &Selection,
    named: &BTreeSet<i64>,
    rows: &BTreeMap<i64, Vec<i64>>,
) -> Result<BTreeSet<i64>> {
    let mut whole = BTreeSet::new();
    for (session, rows) in rows {
        let sql = "SELECT count(*) FROM records WHERE session = ?1";
        let all: usize = connection
            .prepare_cached(sql)?
            .query_row([session], |row| row.get(0))?;
        // A record that was named is deleted alone, even if it is the only one of its session.
        let by_name = selection.sessions.is_empty() && !selection.has_filter();
        if rows.len() == all && !by_name {
            whole.insert(*session);
        }
    }
    if !selection.kinds.is_empty() || !selection.records.is_empty() {
        return Ok(whole);
    }
    // A session without records matches words only when its digest has them all.
    let matching = match &selection.query {
        Some(query) => {
            let rows = index::rows_with_all_words(connection, query)?;
            Some(digest_rows::sessions_of_rows(connection, &rows)?)
        }
        None => None,
    };
    let mut statement = connection.prepare_cached(
        "SELECT id, workspace, flavor, coalesce(ended, started) FROM sessions s
         WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.session = s.id)",
    )?;
    let within = match &selection.workspace {
        Some(name) => Some(workspaces(connection, name)?),
        None => None,
    };
    let mut empty = statement.query([])?;
    while let Some(row) = empty.next()? {
        let (id, workspace, flavor, ended): (i64, Option<i64>, String, Option<i64>) =
            (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
        let fits = matching
            .as_ref()
            .is_none_or(|matching| matching.contains(&id))
            && (selection.names_nothing() || named.contains(&id))
            && within
                .as_ref()
                .is_none_or(|ids| workspace.is_some_and(|id| ids.contains(&id)))
            && selection
                .flavor
                .is_none_or(|wanted| wanted.name() == flavor)
            && selection
                .before
                .is_none_or(|before| ended.is_some_and(|at| at < before.as_millisecond()));
        if fits {
            whole.insert(id);
        }
    }
    Ok(whole)
}

/// Returns the records that are deleted singly: matching records of sessions that stay, and the
/// copies that other sessions have of deleted records. The original of a repeated record stays.
fn singles(
    connection: &Connection,
    rows: &BTreeMap<i64, Vec<i64>>,
    whole: &BTreeSet<i64>,
) -> Result<Vec<PlannedRecord>> {
    let mut doomed = BTreeMap::new();
    for (session, rows) in rows {
        for row in rows {
            let sql = "SELECT id, copy FROM records WHERE row = ?1";
            let (id, copy): ([u8; 16], bool) = connection
                .prepare_cached(sql)?
                .query_row([row], |row| Ok((row.get(0)?, row.get(1)?)))?;
            if whole.contains(session) && copy {
                continue;
            }
            let (low, high) = RecordId::from_bytes(id).duplicate_range();
            let sql = "SELECT row, session FROM records WHERE id BETWEEN ?1 AND ?2";
            let mut statement = connection.prepare_cached(sql)?;
            let mut copies = statement.query(params![low.as_bytes(), high.as_bytes()])?;
            while let Some(copy) = copies.next()? {
                if !whole.contains(&copy.get::<_, i64>(1)?) {
                    doomed.insert(copy.get::<_, i64>(0)?, ());
                }
            }
        }
    }
    let mut cache = HashMap::new();
    doomed
        .into_keys()
        .map(|row| shown(connection, row, &mut cache))
        .collect()
}

fn shown(
    connection: &Connection,
    row: i64,
    cache: &mut HashMap<i64, String>,
) -> Result<PlannedRecord> {
    let sql = format!(
        "SELECT r.id, r.kind, r.at, s.name, r.size, r.copy, {SUBMITTED_ID}, {TEXT_COLUMNS}
         FROM records r JOIN sessions s ON s.id = r.session WHERE r.row = ?1"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query([row])?;
    let Some(stored) = found.next()? else {
        return Err(rusqlite::Error::QueryReturnedNoRows.into());
    };
    // The records of a session are stored in the same blocks.
    let block: Option<i64> = stored.get(8)?;
    let text = match block {
        Some(block) => {
            if !cache.contains_key(&block) {
                cache.clear();
                cache.insert(
                    block,
                    readable(blocks::read_whole_block(connection, block))?,
                );
            }
            let (start, size): (usize, usize) = (stored.get(9)?, stored.get(10)?);
            let whole = cache.get(&block).map_or("", String::as_str);
            whole
                .get(start..start + size)
                .unwrap_or_default()
                .to_owned()
        }
        None => readable(TextReader::default().read(connection, stored, 7))?,
    };
    let id = RecordId::from_bytes(stored.get(0)?);
    let submitted: Option<String> = stored.get(6)?;
    Ok(PlannedRecord {
        id,
        public_id: submitted.unwrap_or_else(|| id.to_string()),
        kind: records::kind_from_number(stored.get(1)?),
        at: timestamp_from_millis(stored.get(2)?),
        session: SessionId::new(stored.get::<_, String>(3)?),
        size_bytes: stored.get(4)?,
        copy: stored.get(5)?,
        text: first_line(&text),
        row,
    })
}

/// Returns a text to show. It is empty when the text is missing or unreadable, because damaged
/// records can be forgotten too.
fn readable(text: Result<String>) -> Result<String> {
    match text {
        Err(Error::MissingText(_)) => Ok(String::new()),
        text => text,
    }
}

fn first_line(text: &str) -> String {
    let line = text.trim_start().lines().next().unwrap_or_default();
    line.chars().take(SHOWN_CHARS_MAX).collect()
}

/// Returns the facts that match themselves. Facts that only lose their sources are found later.
/// Returns the facts that lose their last source with the plan.
fn derived_facts(connection: &Connection, doomed: &ForgetPlan) -> Result<Vec<PlannedFact>> {
    let sessions: Vec<_> = doomed.session_ids.iter().map(ToString::to_string).collect();
    let records = doomed
        .records
        .iter()
        .map(|record| format!("x'{}'", record.id));
    let records: Vec<_> = records.collect();
    let sql = format!(
        "SELECT f.id, f.text FROM facts f
         WHERE EXISTS (SELECT 1 FROM fact_sources x WHERE x.fact = f.id AND ({within}))
           AND NOT EXISTS (SELECT 1 FROM fact_sources x WHERE x.fact = f.id AND NOT ({within}))
         ORDER BY f.id",
        within = format_args!(
            "x.session IN ({}) OR x.record IN ({})",
            sessions.join(", "),
            records.join(", ")
        ),
    );
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map([], |row| {
        let (key, text): (Vec<u8>, String) = (row.get(0)?, row.get(1)?);
        Ok(PlannedFact {
            id: hex::encode(&key),
            text: first_line(&text),
            key,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn facts(connection: &Connection, selection: &Selection) -> Result<Vec<PlannedFact>> {
    let kinds = !selection.kinds.is_empty() || selection.flavor.is_some();
    let by_filter = selection.names_nothing() && selection.has_filter() && !kinds;
    if selection.facts.is_empty() && !by_filter {
        return Ok(Vec::new());
    }
    let within = match &selection.workspace {
        Some(name) => Some(workspaces(connection, name)?),
        None => None,
    };
    let words: Option<Vec<_>> = selection.query.as_deref().map(|query| {
        let words = super::needles::words_in(query);
        words.into_iter().collect()
    });
    let mut statement =
        connection.prepare_cached("SELECT id, workspace, made, text FROM facts ORDER BY id")?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (key, text): (Vec<u8>, String) = (row.get(0)?, row.get(3)?);
        let (workspace, made): (Option<i64>, Option<Timestamp>) =
            (row.get(1)?, timestamp_from_millis(row.get(2)?));
        let named = selection.facts.iter().any(|id| id.as_slice() == key);
        let fits = by_filter
            && within
                .as_ref()
                .is_none_or(|ids| workspace.is_some_and(|id| ids.contains(&id)))
            && selection
                .before
                .is_none_or(|before| made.is_some_and(|at| at < before))
            && words.as_ref().is_none_or(|words| {
                let of_fact = super::needles::words_in(&text);
                !words.is_empty() && words.iter().all(|word| of_fact.contains(word))
            });
        if named || fits {
            let id = hex::encode(&key);
            found.push(PlannedFact {
                id,
                text: first_line(&text),
                key,
            });
        }
    }
    Ok(found)
}

/// Returns the agents' files that hold the deleted records and still exist.
fn sources(connection: &Connection, doomed: &ForgetPlan) -> Result<Vec<String>> {
    let mut paths = BTreeSet::new();
    let sql = "SELECT f.path FROM source_sessions x JOIN sources f ON f.id = x.source
        WHERE x.session = ?1 AND NOT f.gone AND NOT f.forgotten";
    for id in &doomed.session_ids {
        let mut statement = connection.prepare_cached(sql)?;
        for path in statement.query_map([id], |row| row.get::<_, String>(0))? {
            paths.insert(path?);
        }
    }
    let sql = "SELECT f.path FROM records r JOIN sources f ON f.id = r.source
        WHERE r.row = ?1 AND NOT f.gone AND NOT f.forgotten";
    for record in &doomed.records {
        let path: Option<String> = connection
            .prepare_cached(sql)?
            .query_row([record.row], |row| row.get(0))
            .optional()?;
        paths.extend(path);
    }
    Ok(paths
        .into_iter()
        .filter(|path| Path::new(path).exists())
        .collect())
}
