//! The whole database as text, for tests: every table, in an order that does not depend on the
//! order of writing.

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::Store;
use crate::error::Result;
use crate::hex;
use crate::texts::compression::cell_text;
use crate::texts::reader::TextReader;
use crate::{index, records};

/// The tables with the queries that show them, in a fixed order. Row numbers are shown as the names
/// they stand for.
const TABLES: &[(&str, &str)] = &[
    ("workspaces", "SELECT key FROM workspaces ORDER BY 1"),
    (
        "roots",
        "SELECT r.path, w.key FROM roots r LEFT JOIN workspaces w ON w.id = r.workspace ORDER BY 1",
    ),
    (
        "sessions",
        "SELECT s.name, s.flavor, s.kind, s.title, s.title_rank, w.key, s.cwd, s.branch, s.model,
            s.version, s.parent, s.started, s.ended, s.records, s.prompts, s.tool_calls, s.errors
         FROM sessions s LEFT JOIN workspaces w ON w.id = s.workspace ORDER BY 1",
    ),
    (
        "contexts",
        "SELECT cwd, branch, model FROM contexts ORDER BY 1, 2, 3",
    ),
    (
        "usage",
        "SELECT u.key, s.name, u.at, u.model, u.input, u.output, u.cache_read, u.cache_write,
            u.reasoning, u.cost_usd FROM usage u JOIN sessions s ON s.id = u.session ORDER BY 1",
    ),
    (
        "secrets",
        "SELECT s.name, length(x.hash), x.length, x.rule FROM secrets x
         JOIN sessions s ON s.id = x.session ORDER BY 1, 4, 3",
    ),
    (
        "sources",
        "SELECT flavor, path, size, offset, line, settled, gone, skipped, state FROM sources
         ORDER BY path",
    ),
    (
        "source_sessions",
        "SELECT f.path, s.name FROM source_sessions x JOIN sources f ON f.id = x.source
         JOIN sessions s ON s.id = x.session ORDER BY 1, 2",
    ),
    (
        "raw",
        "SELECT f.path, r.generation = f.generation, sum(r.size), f.archived FROM raw r
         JOIN sources f ON f.id = r.source AND r.generation <= f.generation
         GROUP BY f.id, r.generation ORDER BY 1, 2, 3",
    ),
    (
        "skips",
        "SELECT f.path, x.line, x.why FROM skips x JOIN sources f ON f.id = x.source
         ORDER BY 1, 2, 3",
    ),
    (
        "drift",
        "SELECT f.path, x.kind, x.count FROM drift x JOIN sources f ON f.id = x.source
         ORDER BY 1, 2",
    ),
    (
        "facts",
        "SELECT f.id, w.key, f.kind, f.text, f.words, f.tags, f.trust, f.pinned, f.made, f.seen,
            f.times, f.superseded
         FROM facts f LEFT JOIN workspaces w ON w.id = f.workspace ORDER BY 1",
    ),
    (
        "digests",
        "SELECT s.name, d.version, d.revision = s.revision, d.made, d.outcome, d.trust, d.data,
            d.base FROM digests d JOIN sessions s ON s.id = d.session ORDER BY 1",
    ),
    (
        "signals",
        "SELECT s.name, x.kind, x.name, x.text, x.times, x.ms, x.tokens, x.overcome,
            hex(x.first_record), x.version, x.evicted
         FROM signals x JOIN sessions s ON s.id = x.session ORDER BY 1, 2, 3, x.evicted",
    ),
    (
        "patterns",
        "SELECT id, kind, name, data, at FROM patterns ORDER BY 1",
    ),
    (
        "pattern_sessions",
        "SELECT x.pattern, s.name FROM pattern_sessions x JOIN sessions s ON s.id = x.session
         ORDER BY 1, 2",
    ),
    (
        "review_log",
        "SELECT pattern, decision, why, evidence, sessions, flavors, at FROM review_log
         ORDER BY id",
    ),
    (
        "decision_queue",
        "SELECT payload, sent FROM decision_queue ORDER BY id",
    ),
    (
        "evictions",
        "SELECT s.name, e.at, e.pass, e.records, e.prompts, e.tool_calls, e.errors, e.lost,
            length(e.ids), e.reread
         FROM evictions e JOIN sessions s ON s.id = e.session ORDER BY 1",
    ),
    (
        "digest_rows",
        "SELECT s.name, d.id FROM digest_rows d JOIN sessions s ON s.id = d.session ORDER BY 1",
    ),
    (
        "checkpoints",
        "SELECT s.name, c.number, c.interaction, c.revision = s.revision, c.data
         FROM checkpoints c JOIN sessions s ON s.id = c.session ORDER BY 1, 2",
    ),
    (
        "context_cache",
        "SELECT w.key, c.key, c.card, c.reads, c.last, c.prefetched
         FROM context_cache c JOIN workspaces w ON w.id = c.workspace ORDER BY 1, 2",
    ),
    (
        "archived_cards",
        "SELECT w.key, a.key, a.card, a.at
         FROM archived_cards a JOIN workspaces w ON w.id = a.workspace ORDER BY 1, 2",
    ),
    (
        "capsules",
        "SELECT w.key, c.kind, c.name, c.data
         FROM capsules c JOIN workspaces w ON w.id = c.workspace ORDER BY 1, 2, 3",
    ),
    (
        "layer_counts",
        "SELECT w.key, c.day, c.source, c.layer, c.count
         FROM layer_counts c JOIN workspaces w ON w.id = c.workspace ORDER BY 1, 2, 3, 4",
    ),
    (
        "layer_figures",
        "SELECT w.key, f.day, f.name, f.count, f.total, f.highest
         FROM layer_figures f JOIN workspaces w ON w.id = f.workspace ORDER BY 1, 2, 3",
    ),
    (
        "card_generation",
        // The number depends on the order of writing.
        "SELECT count(*) FROM card_generation",
    ),
    ("chores", "SELECT name, at FROM chores ORDER BY 1"),
    (
        "fact_sources",
        "SELECT x.fact, x.record, s.name FROM fact_sources x JOIN sessions s ON s.id = x.session
         ORDER BY 1, 2",
    ),
    (
        "tombstones",
        "SELECT t.kind, t.flavor, t.records, t.at, (SELECT group_concat(sort || 'x' || n, ' ') FROM
            (SELECT sort, count(*) AS n FROM tombstone_keys WHERE tombstone = t.id GROUP BY sort))
         FROM tombstones t ORDER BY 1, 2, 3, 5, t.name",
    ),
    ("traces", "SELECT since FROM traces"),
    (
        "fact_looks",
        "SELECT s.name, x.records FROM fact_looks x JOIN sessions s ON s.id = x.session ORDER BY 1",
    ),
    (
        "injections",
        "SELECT name, session, workspace, at, length(prompt), tokens, verdict, looked
         FROM injections ORDER BY at, name",
    ),
    (
        "injected",
        "SELECT i.name, x.position, x.kind, x.item, x.tokens, x.used FROM injected x
         JOIN injections i ON i.id = x.injection ORDER BY i.at, 1, 2",
    ),
    (
        "leases",
        "SELECT s.name, l.kind, l.since FROM leases l JOIN sessions s ON s.id = l.session
         ORDER BY 1, 2",
    ),
    (
        "summaries",
        "SELECT s.name, m.looked, m.state, m.folded, m.line, m.ordinal, m.version, m.way, m.made,
            m.last_message, m.tokens, m.tool_calls
         FROM summaries m JOIN sessions s ON s.id = m.session ORDER BY 1",
    ),
    (
        "session_marks",
        "SELECT s.name, m.name, m.starred, m.archived, m.tags
         FROM session_marks m JOIN sessions s ON s.id = m.session ORDER BY 1",
    ),
    (
        "extractions",
        "SELECT s.name, x.version, x.at, x.way, x.input, x.output, x.cache_read, x.cache_write,
            x.start_tokens, x.more_tokens, x.more_calls
         FROM extractions x JOIN sessions s ON s.id = x.session ORDER BY 1, 2",
    ),
    (
        "model_calls",
        "SELECT c.at, c.purpose, s.name, c.model, c.input, c.output, c.cache_read, c.cache_write,
            c.usd, c.outcome FROM model_calls c LEFT JOIN sessions s ON s.id = c.session
         ORDER BY 1, 2, 3, c.id",
    ),
];

/// Tables that are no part of what memory holds: the log of what was done differs between two ways
/// to the same memory.
const NOT_MEMORY: &[&str] = &["events"];

/// Tables that [`TABLES`] does not list because they are shown with the records.
const WITH_RECORDS: &[&str] = &[
    "records", "blocks", "bodies", "search", "search_terms", "marks", "tombstone_keys",
];

impl Store {
    /// Returns all of memory as text, table by table.
    pub fn dump(&self) -> Result<String> {
        self.read(|connection| {
            let mut out = String::new();
            report_unlisted_tables(connection, &mut out)?;
            for (name, sql) in TABLES {
                out += &format!("# {name}\n");
                dump_table(connection, sql, &mut out)?;
            }
            out += "# records\n";
            dump_records(connection, &mut out)?;
            Ok(out)
        })
    }
}

/// Reports a table that is not listed, so that a new table gets its query.
fn report_unlisted_tables(connection: &Connection, out: &mut String) -> Result<()> {
    let mut statement = connection.prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'table'
         AND name NOT LIKE 'search!_%' ESCAPE '!' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'",
    )?;
    let names = statement.query_map([], |row| row.get::<_, String>(0))?;
    for name in names {
        let name = name?;
        let shown = TABLES.iter().any(|(table, _)| *table == name);
        let mut elsewhere = WITH_RECORDS.iter().chain(NOT_MEMORY);
        if !shown && !elsewhere.any(|table| *table == name) {
            *out += &format!("# {name}: NOT SHOWN\n");
        }
    }
    Ok(())
}

fn dump_table(connection: &Connection, sql: &str, out: &mut String) -> Result<()> {
    let mut statement = connection.prepare(sql)?;
    let columns = statement.column_count();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let cells: Vec<_> = (0..columns)
            .map(|i| row.get_ref(i).map(format_value))
            .collect::<Result<_, _>>()?;
        *out += &cells.join(" | ");
        out.push('\n');
    }
    Ok(())
}

fn format_value(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "-".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).replace('\n', "⏎"),
        ValueRef::Blob(bytes) => match cell_text(value) {
            Some(text) => text.replace('\n', "⏎"),
            None => hex::encode(bytes),
        },
    }
}

fn dump_records(connection: &Connection, out: &mut String) -> Result<()> {
    let sql = records::select_records("ORDER BY s.name, r.line, r.ordinal, r.id");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let texts = TextReader::default();
    while let Some(row) = rows.next()? {
        let record = records::read_record(connection, row, &texts)?;
        let json = serde_json::to_string(&record).unwrap_or_default();
        *out += &json;
        out.push('\n');
    }
    let orphans: i64 = connection.query_row(
        "SELECT count(*) FROM bodies WHERE hash NOT IN
            (SELECT body FROM records WHERE body IS NOT NULL UNION SELECT body FROM raw)",
        [],
        |row| row.get(0),
    )?;
    let empty: i64 = connection.query_row(
        "SELECT count(*) FROM blocks WHERE id NOT IN
            (SELECT block FROM records WHERE block IS NOT NULL
             UNION SELECT block FROM raw WHERE block IS NOT NULL)",
        [],
        |row| row.get(0),
    )?;
    if empty > 0 {
        *out += &format!("# blocks: {empty} without an owner\n");
    }
    let count =
        |sql: &str| connection.query_row(sql, [index::match_all_expression()], |row| row.get(0));
    let indexed: i64 = count(
        "SELECT count(*) FROM (SELECT rowid AS id FROM search WHERE search MATCH ?1) d
         LEFT JOIN records r ON r.row = d.id AND r.copy = 0
         LEFT JOIN digest_rows g ON g.row = d.id WHERE (r.row IS NULL) = (g.row IS NULL)",
    )?;
    let missing: i64 = count(
        "SELECT count(*) FROM (SELECT row FROM records WHERE copy = 0
            UNION ALL SELECT row FROM digest_rows)
         WHERE row NOT IN (SELECT rowid FROM search WHERE search MATCH ?1)",
    )?;
    *out += &format!("# bodies: {orphans} without an owner\n");
    *out += &format!("# search: {indexed} without a record, {missing} not indexed\n");
    Ok(())
}
