use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use memory::{LogEntry, Usage};
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::shape::shape;

use super::CURSOR;
use crate::test_support::{
    build_database, claimed_below, insert_row, message_ids, read_file, read_new_rows, total_usage,
};
use crate::{InputLine, ParseOutput, SourceFormat};

/// Makes a database of a fixture; it stays open, so that what was written stays in its log.
fn made(folder: &str) -> (TempDir, PathBuf, Connection) {
    let from = testkit::fixture(&format!("cursor/{folder}"));
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("state.vscdb");
    if let Ok(workspace) = fs::read(from.join("workspace.json")) {
        fs::write(base.path().join("workspace.json"), workspace).unwrap();
    }
    let tables = fs::read_to_string(from.join("state.tables.jsonl")).unwrap();
    let connection = build_database(&path, &tables);
    (base, path, connection)
}

#[test]
fn a_workspace_of_2024() {
    let (_base, path, _connection) = made("workspaceStorage/sample");
    let parsed = read_file(&CURSOR, &path, SourceFormat::Database);
    assert!(parsed.unknown_kinds.is_empty() && parsed.skipped.is_empty());
    assert_snapshot!(shape(&parsed.entries));
}

#[test]
fn one_value_for_each_bubble() {
    let (_base, path, _connection) = made("globalStorage");
    let parsed = read_file(&CURSOR, &path, SourceFormat::Database);
    assert!(parsed.unknown_kinds.is_empty() && parsed.skipped.is_empty());
    assert_snapshot!(shape(&parsed.entries));
}

/// The store holds credentials: keys that are not conversations are never read.
#[test]
fn other_keys_are_not_read() {
    for folder in ["workspaceStorage/sample", "globalStorage"] {
        let (_base, path, _connection) = made(folder);
        let (parsed, state) = read_new_rows(&CURSOR, &path, None);
        let all = format!("{:?}{state}", parsed.entries);
        assert!(!all.contains("nobody-may-read") && !all.contains("secret layout"));
    }
}

fn put(connection: &Connection, key: &str, value: &Value) {
    insert_row(
        connection,
        "cursorDiskKV",
        &json!({"key": key, "value": value}),
    );
}

#[test]
fn a_second_reading_adds_only_what_is_new() {
    let (_base, path, connection) = made("globalStorage");
    let (first, state) = read_new_rows(&CURSOR, &path, None);
    assert_eq!(message_ids(&first).len(), 7 + 3 + 2);
    // The last rows are given again, and are the same: the store has them.
    let mut known = first.entries;
    let mut fresh = |parsed: ParseOutput| -> Vec<LogEntry> {
        let fresh = parsed
            .entries
            .into_iter()
            .filter(|entry| !known.contains(entry));
        let fresh: Vec<_> = fresh.collect();
        known.extend(fresh.iter().cloned());
        fresh
    };
    let (again, state) = read_new_rows(&CURSOR, &path, Some(&state));
    assert!(fresh(again).is_empty());
    // An answer is written while it is made: the bubble, the list, and the bubble again.
    let composer = |status: &str| {
        json!({"composerId": "c", "status": status,
            "fullConversationHeadersOnly": [{"bubbleId": "q"}, {"bubbleId": "a"}]})
    };
    put(
        &connection,
        "bubbleId:c:q",
        &json!({"type": 1, "text": "why?"}),
    );
    put(
        &connection,
        "bubbleId:c:a",
        &json!({"type": 2, "text": "Bec"}),
    );
    let (early, state) = read_new_rows(&CURSOR, &path, Some(&state));
    assert!(fresh(early).is_empty(), "not in a list yet");
    put(&connection, "composerData:c", &composer("generating"));
    let (half, state) = read_new_rows(&CURSOR, &path, Some(&state));
    let half = shape(&fresh(half));
    assert!(half.contains("why?") && !half.contains("Bec"));
    put(
        &connection,
        "bubbleId:c:a",
        &json!({"type": 2, "text": "Because."}),
    );
    put(&connection, "composerData:c", &composer("completed"));
    let (full, state) = read_new_rows(&CURSOR, &path, Some(&state));
    let full = shape(&fresh(full));
    assert!(
        full.contains("text \"Because.\"") && full.lines().count() == 2,
        "{full}"
    );
    // A conversation is deleted, and the next ones get its rows.
    connection
        .execute_batch("DELETE FROM cursorDiskKV WHERE key LIKE '%:c%'")
        .unwrap();
    for number in 0..4 {
        let inside = json!({"conversation": [{"type": 1, "bubbleId": number.to_string(),
            "text": "again"}]});
        put(&connection, &format!("composerData:d{number}"), &inside);
    }
    let (after, _) = read_new_rows(&CURSOR, &path, Some(&state));
    assert_eq!(shape(&fresh(after)).matches("text \"again\"").count(), 4);
}

#[test]
fn a_workspace_is_read_again_when_it_was_written() {
    let (_base, path, connection) = made("workspaceStorage/sample");
    let (first, state) = read_new_rows(&CURSOR, &path, None);
    let (again, state) = read_new_rows(&CURSOR, &path, Some(&state));
    assert!(again.entries.is_empty());
    connection
        .execute_batch("UPDATE ItemTable SET value = value || ' '")
        .unwrap();
    let (same, _) = read_new_rows(&CURSOR, &path, Some(&state));
    assert_eq!(same.entries, first.entries);
}

/// Rows that are only in the write-ahead log are read; uncommitted ones are not.
#[test]
fn rows_in_the_log_count_once_they_are_committed() {
    let (_base, path, connection) = made("globalStorage");
    assert!(fs::metadata(store::foreign::wal_path(&path)).unwrap().len() > 0);
    let (_, state) = read_new_rows(&CURSOR, &path, None);
    connection.execute_batch("BEGIN").unwrap();
    let inside = json!({"conversation": [{"type": 1, "bubbleId": "b", "text": "hello"}]});
    put(&connection, "composerData:c", &inside);
    let seen =
        || message_ids(&read_new_rows(&CURSOR, &path, Some(&state)).0).contains(&"b".to_owned());
    assert!(!seen());
    connection.execute_batch("COMMIT").unwrap();
    assert!(seen());
}

#[test]
fn usage_is_what_the_bubbles_add_up_to() {
    let (_base, path, connection) = made("globalStorage");
    let mut expected = Usage::default();
    let sql = "SELECT value FROM cursorDiskKV WHERE key LIKE 'bubbleId:%'";
    let mut statement = connection.prepare(sql).unwrap();
    let values = statement
        .query_map([], |row| row.get::<_, String>(0))
        .unwrap();
    for value in values {
        let bubble: Value = serde_json::from_str(&value.unwrap()).unwrap();
        expected.input += bubble["tokenCount"]["inputTokens"]
            .as_u64()
            .unwrap_or_default();
        expected.output += bubble["tokenCount"]["outputTokens"]
            .as_u64()
            .unwrap_or_default();
    }
    assert!(expected.input > 0);
    assert_eq!(
        total_usage(&read_file(&CURSOR, &path, SourceFormat::Database)),
        expected
    );
}

#[test]
fn damaged_values_are_passed_over() {
    let (_base, path, connection) = made("globalStorage");
    connection
        .execute_batch(
            "UPDATE cursorDiskKV SET value = substr(value, 1, 20) WHERE rowid = 1;
             UPDATE cursorDiskKV SET value = NULL WHERE rowid = 2;
             UPDATE cursorDiskKV SET value = x'ff00' WHERE rowid = 3;
             UPDATE cursorDiskKV SET value = '{\"type\":\"odd\"}' WHERE rowid = 4;",
        )
        .unwrap();
    let parsed = read_file(&CURSOR, &path, SourceFormat::Database);
    assert_eq!(
        (
            parsed.skipped.len(),
            parsed.unknown_kinds.get("bubble/type")
        ),
        (1, Some(&1))
    );
    assert!(message_ids(&parsed).len() > 4);
}

#[test]
fn transcripts() {
    let mut all = String::new();
    for source in claimed_below(&CURSOR, &testkit::fixture("cursor")) {
        let parsed = read_file(&CURSOR, &source.path, source.format);
        let text = fs::read_to_string(&source.path).unwrap();
        assert!(CURSOR.recognises(&text));
        all += &format!("{} {:?}\n", name(&source.path), parsed.unknown_kinds);
        all += &shape(&parsed.entries);
    }
    assert_snapshot!(all);
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

#[test]
fn two_halves_are_the_whole() {
    for source in claimed_below(&CURSOR, &testkit::fixture("cursor")) {
        let whole = read_file(&CURSOR, &source.path, SourceFormat::Lines);
        let text = fs::read_to_string(&source.path).unwrap();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for cut in 0..=lines.len() {
            let mut out = ParseOutput::default();
            let mut state = None;
            for (half, first) in [(&lines[..cut], 1), (&lines[cut..], cut as u64 + 1)] {
                let mut reader = CURSOR.open_reader(&source, state.as_deref());
                for (number, text) in (first..).zip(half) {
                    reader.read_line(
                        InputLine {
                            text,
                            number,
                            offset: 0,
                        },
                        &mut out,
                    );
                }
                reader.finish(true, &mut out);
                state = Some(reader.state());
            }
            assert_eq!(
                out.entries,
                whole.entries,
                "{} {cut}",
                source.path.display()
            );
        }
    }
}

/// The editor's database tells more of a conversation than its transcript.
#[test]
fn a_transcript_of_a_conversation_in_the_database_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    let storage = home.path().join(".config/Cursor/User/globalStorage");
    let transcripts = home.path().join(".cursor/projects/p/agent-transcripts");
    for folder in [&storage, &transcripts] {
        fs::create_dir_all(folder).unwrap();
    }
    for session in ["c", "d"] {
        fs::write(transcripts.join(format!("{session}.jsonl")), "").unwrap();
    }
    assert_eq!(claimed_below(&CURSOR, home.path()).len(), 2);
    let tables = "CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
                  INSERT INTO cursorDiskKV VALUES ('composerData:c', '{}');";
    let connection = Connection::open(storage.join("state.vscdb")).unwrap();
    connection.execute_batch(tables).unwrap();
    let left: Vec<_> = claimed_below(&CURSOR, home.path())
        .into_iter()
        .map(|s| s.path)
        .collect();
    assert_eq!(
        left,
        [storage.join("state.vscdb"), transcripts.join("d.jsonl")]
    );
}
