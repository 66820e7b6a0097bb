use std::fs;
use std::path::PathBuf;

use insta::assert_snapshot;
use memory::{LogEntry, Usage};
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::shape::shape;

use super::GOOSE;
use crate::test_support::{
    build_database, claimed_below, insert_row, message_ids, read_file, read_new_rows, total_usage,
};
use crate::{AgentEnv, InputLine, ParseOutput, SourceFormat};

/// Makes the database; it stays open, so that what was written stays in its log.
fn made() -> (TempDir, PathBuf, Connection) {
    let tables = fs::read_to_string(testkit::fixture("goose/made/sessions.tables.jsonl")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let connection = build_database(&path, &tables);
    (folder, path, connection)
}

#[test]
fn sessions_of_every_kind() {
    let (_folder, path, _connection) = made();
    let parsed = read_file(&GOOSE, &path, SourceFormat::Database);
    assert_eq!(
        parsed.unknown_kinds.into_iter().collect::<Vec<_>>(),
        [("content/hologram".into(), 1)]
    );
    assert_snapshot!(shape(&parsed.entries));
}

#[test]
fn files_before_the_database() {
    let path = testkit::fixture("goose/sessions/20250304_100000.jsonl");
    let parsed = read_file(&GOOSE, &path, SourceFormat::Lines);
    assert!(parsed.unknown_kinds.is_empty() && parsed.skipped.is_empty());
    assert_snapshot!(shape(&parsed.entries));
}

#[test]
fn a_real_database_without_messages() {
    let sources = claimed_below(&GOOSE, &testkit::fixture("goose"));
    assert_eq!(sources.len(), 2);
    let parsed = read_file(
        &GOOSE,
        &testkit::fixture("goose/sessions/sessions.db"),
        SourceFormat::Database,
    );
    assert_snapshot!(shape(&parsed.entries));
}

#[test]
fn usage_is_what_goose_adds_up() {
    let (_folder, path, connection) = made();
    let sql = "SELECT sum(accumulated_input_tokens), sum(accumulated_output_tokens) FROM sessions";
    let (input, output) = connection
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap();
    let expected = Usage {
        input,
        output,
        ..Usage::default()
    };
    assert_eq!(
        total_usage(&read_file(&GOOSE, &path, SourceFormat::Database)),
        expected
    );
}

fn say(connection: &Connection, text: &str) {
    let row = json!({"session_id": "20260302_2", "role": "user", "created_timestamp": 1_772_443_000,
        "content_json": [{"type": "text", "text": text}]});
    insert_row(connection, "messages", &row);
}

#[test]
fn a_second_reading_adds_only_what_is_new() {
    let (_folder, path, connection) = made();
    let (first, state) = read_new_rows(&GOOSE, &path, None);
    let (again, state) = read_new_rows(&GOOSE, &path, Some(&state));
    assert!(message_ids(&again).is_empty() && !message_ids(&first).is_empty());
    say(&connection, "And the tests?");
    let (second, _) = read_new_rows(&GOOSE, &path, Some(&state));
    assert_eq!(message_ids(&second).len(), 1);
    let (whole, _) = read_new_rows(&GOOSE, &path, None);
    assert!(whole.entries.contains(second.entries.last().unwrap()));
}

/// Compacting deletes all rows of a session and writes them again.
#[test]
fn a_conversation_written_anew_keeps_its_names() {
    let (_folder, path, connection) = made();
    let (first, state) = read_new_rows(&GOOSE, &path, None);
    connection
        .execute_batch(
            "CREATE TEMP TABLE kept AS SELECT * FROM messages WHERE session_id = '20260302_1';
             DELETE FROM messages WHERE session_id = '20260302_1';
             UPDATE kept SET id = NULL;
             INSERT INTO messages SELECT * FROM kept;",
        )
        .unwrap();
    let (second, _) = read_new_rows(&GOOSE, &path, Some(&state));
    let fresh = second
        .entries
        .iter()
        .filter(|entry| !first.entries.contains(entry));
    assert_eq!(fresh.count(), 0);
    assert!(message_ids(&second).len() > 5);
}

/// Rows that are only in the write-ahead log are read; uncommitted ones are not.
#[test]
fn rows_in_the_log_count_once_they_are_committed() {
    let (_folder, path, connection) = made();
    assert!(fs::metadata(store::foreign::wal_path(&path)).unwrap().len() > 0);
    let (_, state) = read_new_rows(&GOOSE, &path, None);
    connection.execute_batch("BEGIN").unwrap();
    say(&connection, "Not yet.");
    assert!(message_ids(&read_new_rows(&GOOSE, &path, Some(&state)).0).is_empty());
    connection.execute_batch("COMMIT").unwrap();
    assert_eq!(
        message_ids(&read_new_rows(&GOOSE, &path, Some(&state)).0).len(),
        1
    );
}

#[test]
fn a_session_that_was_taken_over_has_the_names_of_its_file() {
    let path = testkit::fixture("goose/sessions/20250304_100000.jsonl");
    let file = read_file(&GOOSE, &path, SourceFormat::Lines);
    let (_folder, database, connection) = made();
    let session = json!({"id": "20250304_100000", "working_dir": "/home/dev/old"});
    insert_row(&connection, "sessions", &session);
    for line in fs::read_to_string(path).unwrap().lines().skip(1) {
        let line: Value = serde_json::from_str(line).unwrap();
        let row = json!({"session_id": "20250304_100000", "role": line["role"],
            "content_json": line["content"], "created_timestamp": line["created"]});
        insert_row(&connection, "messages", &row);
    }
    let taken_over = message_ids(&read_file(&GOOSE, &database, SourceFormat::Database));
    assert!(taken_over.starts_with(&message_ids(&file)));
}

#[test]
fn two_halves_are_the_whole() {
    let path = testkit::fixture("goose/sessions/20250304_100000.jsonl");
    let whole = read_file(&GOOSE, &path, SourceFormat::Lines);
    let text = fs::read_to_string(&path).unwrap();
    let source = claimed_below(&GOOSE, &testkit::fixture("goose")).remove(0);
    assert_eq!(source.path, path);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for cut in 0..=lines.len() {
        let mut out = ParseOutput::default();
        let mut state = None;
        for half in [&lines[..cut], &lines[cut..]] {
            let mut reader = GOOSE.open_reader(&source, state.as_deref());
            for text in half {
                reader.read_line(
                    InputLine {
                        text,
                        number: 1,
                        offset: 0,
                    },
                    &mut out,
                );
            }
            reader.finish(true, &mut out);
            state = Some(reader.state());
        }
        assert_eq!(out.entries, whole.entries, "cut after line {cut}");
    }
}

#[test]
fn damage_is_passed_over() {
    let (_folder, path, connection) = made();
    connection
        .execute_batch("UPDATE messages SET content_json = '[{' WHERE id = 2")
        .unwrap();
    connection
        .execute_batch("UPDATE messages SET role = 'tool' WHERE id = 3")
        .unwrap();
    let parsed = read_file(&GOOSE, &path, SourceFormat::Database);
    assert_eq!(
        (parsed.skipped.len(), parsed.unknown_kinds.get("role/tool")),
        (1, Some(&1))
    );
    let text =
        fs::read_to_string(testkit::fixture("goose/sessions/20250304_100000.jsonl")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.jsonl");
    for cut in 0..text.len() {
        fs::write(&file, &text.as_bytes()[..cut]).unwrap();
        let parsed = read_file(&GOOSE, &file, SourceFormat::Lines);
        assert!(parsed.skipped.len() <= 1);
        assert!(
            parsed
                .entries
                .iter()
                .all(|entry| !matches!(entry, LogEntry::Session(p) if p.cwd.is_none()))
        );
    }
}

#[test]
fn places_and_names() {
    let mut env = AgentEnv {
        home: "/h".into(),
        ..AgentEnv::default()
    };
    assert_eq!(
        GOOSE.roots(&env),
        [PathBuf::from("/h/.local/share/goose/sessions")]
    );
    env.variables.insert("GOOSE_PATH_ROOT".into(), "/g".into());
    assert_eq!(GOOSE.roots(&env), [PathBuf::from("/g/data/sessions")]);
    let claim = |path: &str| GOOSE.claim("/x".as_ref(), path.as_ref());
    assert_eq!(claim("sessions/sessions.db"), Some(SourceFormat::Database));
    assert_eq!(
        claim("sessions/20250304_100000.jsonl"),
        Some(SourceFormat::Lines)
    );
    assert_eq!(
        claim("goose/sessions/mine.jsonl"),
        Some(SourceFormat::Lines)
    );
    assert_eq!(claim("sessions/rollout-2026.jsonl"), None);
    assert_eq!(claim("backups/sessions.db"), None);
}
