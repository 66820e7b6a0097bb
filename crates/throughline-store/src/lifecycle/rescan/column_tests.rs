//! Every column with captured text is scanned.

use std::collections::BTreeSet;

use memory::{FactKind, Flavor, SessionId, Trust};

use super::*;
use crate::{LeaseKind, LeaseOutcome, MarksPatch, NewFact, NewSummary, SummaryMethod};

const SECRET: &str = "ghp_aB3dE6fG9hJ2kL5mN8pQ1rS4tU7vW0xY3z4Q";

/// Columns without captured text (our own names, names of agents and models, ids from agents), and
/// columns that are scanned in another way (`content` with the records, `words` with the facts).
const NOT_TEXT: &[&str] = &[
    "chores.name", "contexts.model", "digests.outcome", "drift.kind", "events.name",
    "evictions.pass", "extractions.way", "facts.kind", "facts.words", "injected.kind",
    "injections.name", "injections.session", "injections.workspace", "layer_counts.layer",
    "layer_counts.source", "layer_figures.name", "leases.kind", "model_calls.model",
    "capsules.kind", "model_calls.outcome", "model_calls.purpose", "pattern_sessions.pattern",
    "patterns.id", "patterns.kind", "records.call", "records.content", "records.message",
    "review_log.decision", "review_log.evidence", "review_log.pattern", "secrets.rule",
    "sessions.flavor", "sessions.kind", "sessions.model", "sessions.name", "sessions.parent",
    "sessions.version", "signals.kind", "skips.why", "sources.flavor", "summaries.last_message",
    "summaries.way", "tombstones.flavor", "tombstones.kind", "usage.model",
];

/// A new text column must be scanned, or be listed above.
#[test]
fn every_column_of_text_is_looked_at_or_is_none() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let sql = "SELECT m.name || '.' || c.name FROM sqlite_schema m, pragma_table_info(m.name) c
         WHERE m.type = 'table' AND m.name NOT LIKE 'search%' AND m.name NOT LIKE 'sqlite%'
           AND c.type = 'TEXT' ORDER BY 1";
    let columns: BTreeSet<String> = store
        .read(|connection| {
            let mut statement = connection.prepare(sql)?;
            let rows = statement.query_map([], |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .unwrap();
    let places = RECORD_COLUMNS.iter().chain(OTHER_COLUMNS);
    let mut known: BTreeSet<String> = places
        .map(|place| format!("{}.{}", place.table, place.column))
        .collect();
    known.extend(NOT_TEXT.iter().map(|name| (*name).to_owned()));
    let passed_over: Vec<_> = columns.difference(&known).collect();
    let not_there: Vec<_> = known.difference(&columns).collect();
    assert_eq!((passed_over, not_there), Default::default());
}

/// A store with a session, its summary and a fact from it.
fn store_of_one(folder: &std::path::Path) -> (Store, SessionId) {
    let store = Store::open(folder).unwrap();
    let at = Timestamp::from_second(1_767_600_000).unwrap();
    let text = concat!(
        r#"{"memory":"export","format":1}"#,
        "\n",
        r#"{"memory":"workspace","key":"example.com/w","roots":["/code/w"]}"#,
        "\n",
        r#"{"memory":"session","id":"claude:s","flavor":"claude","kind":"main","#,
        r#""title":"t","workspace":"example.com/w","cwd":"/code/w","branch":"b"}"#,
        "\n",
        r#"{"memory":"source","session":"claude:s","path":"/logs/s.jsonl"}"#,
        "\n",
        r#"{"memory":"record","id":"00112233445566778899aabbccddeeff","#,
        r#""session":"claude:s","message":"m","line":1,"ordinal":0,"#,
        r#""type":"prompt","trust":"user","tool":"Bash","path":"/code/w/a","#,
        r#""tags":["x"],"metadata":{"k":"v"},"cwd":"/code/w","branch":"b","#,
        r#""content":"words"}"#,
        "\n",
    );
    let running = std::sync::atomic::AtomicBool::new(false);
    let taken = store.import(
        &mut text.as_bytes(),
        crate::ImportTrust::All,
        &running,
        &|_| {},
    );
    assert_eq!(taken.unwrap().skipped_lines, []);
    let session = SessionId::of(Flavor::Claude, "s");
    let LeaseOutcome::Granted(lease) = store
        .acquire_lease(&session, LeaseKind::Extraction, at)
        .unwrap()
    else {
        panic!("the lease is free");
    };
    let notes = NewSummary {
        text: "# Notes\n\nwords\n".to_owned(),
        method: SummaryMethod::Embedded,
        at,
        last: None,
        tokens: memory::Tokens(1),
        tool_calls: 0,
        usage: memory::Usage::default(),
        duration_ms: 0,
        thresholds: [1, 1, 1],
    };
    store.write_summary(&lease, &notes).unwrap();
    let fact = NewFact {
        workspace: None,
        kind: FactKind::Decision,
        text: "we settled on tabs".to_owned(),
        tags: vec!["style".to_owned()],
        trust: Trust::User,
        pinned: false,
        at,
        sources: Vec::new(),
    };
    store.remember(fact).unwrap();
    let event = crate::EventName::SweepFinished;
    let figures = serde_json::Map::new();
    store.record_event(at, event, None, figures).unwrap();
    let starred = MarksPatch {
        starred: Some(true),
        ..MarksPatch::default()
    };
    store.mark_session(&session, &starred).unwrap();
    (store, session)
}

#[test]
fn a_secret_in_any_column_goes() {
    for place in RECORD_COLUMNS.iter().chain(OTHER_COLUMNS) {
        let TextColumn { table, key, column } = place;
        let dir = tempfile::tempdir().unwrap();
        let (store, _) = store_of_one(dir.path());
        let connection = Connection::open(store.path()).unwrap();
        if *table == "digests" {
            let sql = "INSERT INTO digests (session, version, revision, made, outcome, trust, data)
                 SELECT id, 1, 0, 0, 'unclear', 0, '{}' FROM sessions";
            connection.execute(sql, []).unwrap();
        }
        plant_rows(&connection, table);
        let planted = format!(r#"["{SECRET}"]"#);
        let sql = format!(
            "UPDATE {table} SET {column} = ?1 WHERE {key} = (SELECT max({key}) FROM {table})"
        );
        let cell = match *table {
            "checkpoints" => compressed_cell(&planted),
            _ => Value::Text(planted),
        };
        let changed = connection.execute(&sql, [cell]).unwrap();
        assert_eq!(changed, 1, "{table}.{column}");
        drop(connection);
        check_gone(&store, &format!("{table}.{column}"));
    }
}

/// Adds the rows of tables that [`store_of_one`] leaves empty.
fn plant_rows(connection: &Connection, table: &str) {
    let review = "INSERT INTO review_log (pattern, decision, evidence, sessions, flavors, at)
        VALUES ('p', 'reject', 'e', 3, 1, 0)";
    let rows: &[&str] = match table {
        "signals" => &[
            "INSERT INTO signals (session, kind, name, text, times, ms, tokens, overcome,
                version) SELECT id, 'diag', 'n', 't', 1, 0, 0, 0, 1 FROM sessions",
        ],
        "checkpoints" => &[
            "INSERT INTO checkpoints (session, number, interaction, revision, data)
                SELECT id, 1, 1, revision, '{}' FROM sessions",
        ],
        "context_cache" => &[
            "INSERT INTO context_cache (workspace, key, card, reads, last, prefetched)
                SELECT id, 'file:a', '{}', 0, 0, 0 FROM workspaces",
        ],
        "archived_cards" => &["INSERT INTO archived_cards (workspace, key, card, at)
                SELECT id, 'file:a', '{}', 0 FROM workspaces"],
        "capsules" => &["INSERT INTO capsules (workspace, kind, name, data)
                SELECT id, 'skill', 'n', '{}' FROM workspaces"],
        "patterns" => &["INSERT INTO patterns VALUES ('p', 'diag', 'n', '{}', 0)"],
        "review_log" => &[review],
        "decision_queue" => &[
            review,
            "INSERT INTO decision_queue (review, payload) SELECT id, '{}' FROM review_log",
        ],
        _ => &[],
    };
    for sql in rows {
        connection.execute(sql, []).unwrap();
    }
}

#[test]
fn a_secret_in_notes_goes() {
    let dir = tempfile::tempdir().unwrap();
    let (store, session) = store_of_one(dir.path());
    let path = store.summary_path(&session);
    std::fs::write(&path, format!("# Notes\n\nthe token is {SECRET}\n")).unwrap();
    check_gone(&store, "summary.md");
    let text = std::fs::read_to_string(path).unwrap();
    assert!(
        text.contains("the token is [redacted:github-token:"),
        "{text}"
    );
}

#[track_caller]
fn check_gone(store: &Store, place: &str) {
    let now = Timestamp::from_second(1_767_700_000).unwrap();
    let rescan = store.rescan(RescanScope::All, now, &|_| {}).unwrap();
    assert_eq!(rescan.changed, 1, "{place}");
    let folder = store.path().parent().unwrap();
    for file in crate::lifecycle::forget::managed_files(folder).unwrap() {
        let bytes = std::fs::read(&file.path).unwrap();
        let found = memchr::memmem::find(&bytes, SECRET.as_bytes());
        assert_eq!(found, None, "{place} in {}", file.path.display());
    }
    assert_eq!(
        store
            .rescan(RescanScope::All, now, &|_| {})
            .unwrap()
            .changed,
        0
    );
}
