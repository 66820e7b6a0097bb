use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use insta::assert_snapshot;
use memory::{LogEntry, Usage};
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::shape::shape;

use super::OPENCODE;
use crate::test_support::{
    build_database, claimed_below, insert_row, message_ids, read_file, read_new_rows, total_usage,
};
use crate::{ParseOutput, SourceFormat};

/// Makes the database of a scenario; it stays open, so that what was written stays in its log.
fn scenario(name: &str) -> (TempDir, PathBuf, Connection) {
    let tables = testkit::fixture(&format!("opencode/generated/{name}/opencode.tables.jsonl"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("opencode.db");
    let connection = build_database(&path, &fs::read_to_string(tables).unwrap());
    (folder, path, connection)
}

fn show(name: &str) -> String {
    let (_folder, path, _connection) = scenario(name);
    let parsed = read_file(&OPENCODE, &path, SourceFormat::Database);
    assert!(parsed.unknown_kinds.is_empty() && parsed.skipped.is_empty());
    shape(&parsed.entries)
}

#[test]
fn inventory() {
    assert_snapshot!(show("inventory"));
}

#[test]
fn longhaul() {
    assert_snapshot!(show("longhaul"));
}

#[test]
fn secrets() {
    assert_snapshot!(show("secrets"));
}

#[test]
fn unicode() {
    assert_snapshot!(show("unicode"));
}

fn show_files(folder: &str) -> String {
    let sources = claimed_below(&OPENCODE, &testkit::fixture(folder));
    let entries: Vec<_> = sources
        .iter()
        .flat_map(|source| read_file(&OPENCODE, &source.path, source.format).entries)
        .collect();
    shape(&entries)
}

#[test]
fn exports() {
    assert_snapshot!(show_files("opencode/export"));
}

#[test]
fn files_before_the_database() {
    assert_snapshot!(show_files("opencode/storage"));
}

#[test]
fn nothing_unknown_and_no_two_messages_with_one_name() {
    let sources = claimed_below(&OPENCODE, &testkit::fixture("opencode"));
    assert_eq!(sources.len(), 25);
    let mut seen = BTreeSet::new();
    for source in sources {
        let text = fs::read_to_string(&source.path).unwrap();
        assert!(
            OPENCODE.recognises(&text) || text.len() < 100,
            "{}",
            source.path.display()
        );
        let parsed = read_file(&OPENCODE, &source.path, source.format);
        assert!(parsed.skipped.is_empty());
        // Two of the files of parts do not say whose they are.
        let strayed = parsed
            .unknown_kinds
            .keys()
            .all(|kind| kind == "part without its message");
        assert!(strayed, "{:?}", parsed.unknown_kinds);
        for name in message_ids(&parsed) {
            assert!(
                seen.insert(name.clone()),
                "{name} in {}",
                source.path.display()
            );
        }
    }
}

/// Counts as opencode itself does: each step once, with its output apart from its reasoning.
fn count(parts: impl Iterator<Item = Value>) -> Usage {
    let mut total = Usage::default();
    for part in parts.filter(|part| part["type"] == "step-finish") {
        let count = |of: &Value| of.as_u64().unwrap_or_default();
        let tokens = &part["tokens"];
        total += Usage {
            input: count(&tokens["input"]),
            output: count(&tokens["output"]) + count(&tokens["reasoning"]),
            cache_read: count(&tokens["cache"]["read"]),
            cache_write: count(&tokens["cache"]["write"]),
            reasoning: count(&tokens["reasoning"]),
        };
    }
    total
}

#[test]
fn usage_is_what_the_steps_add_up_to() {
    for source in claimed_below(&OPENCODE, &testkit::fixture("opencode/export")) {
        let text = fs::read_to_string(&source.path).unwrap();
        let export: Value = serde_json::from_str(&text).unwrap();
        let messages = export["messages"].as_array().unwrap().iter();
        let parts = messages.flat_map(|message| message["parts"].as_array().unwrap().clone());
        assert_eq!(
            total_usage(&read_file(&OPENCODE, &source.path, source.format)),
            count(parts)
        );
    }
    for name in ["inventory", "longhaul", "secrets", "unicode"] {
        let (_folder, path, connection) = scenario(name);
        let sum = total_usage(&read_file(&OPENCODE, &path, SourceFormat::Database));
        let sql = "SELECT tokens_input, tokens_output, tokens_cache_read FROM session";
        let counted = connection.query_row(sql, [], |row| {
            Ok((
                row.get::<_, u64>(0)?,
                row.get::<_, u64>(1)?,
                row.get::<_, u64>(2)?,
            ))
        });
        assert_eq!(
            counted.unwrap(),
            (sum.input, sum.output, sum.cache_read),
            "{name}"
        );
    }
}

/// A sweep may come after any write; all of them together find what one finds at the end.
#[test]
fn readings_after_each_write_are_the_whole() {
    for name in ["inventory", "longhaul", "secrets", "unicode"] {
        let tables = testkit::fixture(&format!("opencode/generated/{name}/opencode.tables.jsonl"));
        let text = fs::read_to_string(tables).unwrap();
        let (tables, mut rows): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| line.contains("\"sql\": "));
        // The rows as they came to be what they are: a turn's own is the last to change.
        rows.sort_by_key(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            (
                line["row"]["time_updated"].as_u64(),
                line["table"] == "message",
            )
        });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("opencode.db");
        let connection = build_database(&path, &tables.join("\n"));
        let mut entries: Vec<LogEntry> = Vec::new();
        let mut state = None;
        for row in &rows {
            let row: Value = serde_json::from_str(row).unwrap();
            insert_row(&connection, row["table"].as_str().unwrap(), &row["row"]);
            let (parsed, next) = read_new_rows(&OPENCODE, &path, state.as_deref());
            // As the store does: what is there already is not added again.
            for entry in parsed.entries {
                if !entries.contains(&entry) {
                    entries.push(entry);
                }
            }
            state = Some(next);
        }
        let whole = read_file(&OPENCODE, &path, SourceFormat::Database);
        let said = |entries: &[LogEntry]| -> BTreeSet<String> {
            let said = entries
                .iter()
                .filter(|entry| !matches!(entry, LogEntry::Session(_)));
            said.map(|entry| shape(std::slice::from_ref(entry)))
                .collect()
        };
        assert_eq!(said(&entries), said(&whole.entries), "{name}");
    }
}

#[test]
fn a_second_reading_adds_only_what_is_new() {
    let (_folder, path, connection) = scenario("secrets");
    let (first, state) = read_new_rows(&OPENCODE, &path, None);
    assert!(!state.contains("AKIA") && !first.entries.is_empty());
    let later = 1_894_767_751_931_u64;
    let session = "ses_1";
    let turn = json!({"id": "msg_ff0000000001aaaaaaaaaaaaaa", "session_id": session,
        "time_created": later, "time_updated": later,
        "data": {"role": "user", "time": {"created": later}}});
    let words = json!({"id": "prt_ff0000000002aaaaaaaaaaaaaa", "session_id": session,
        "message_id": "msg_ff0000000001aaaaaaaaaaaaaa", "time_created": later,
        "time_updated": later, "data": {"type": "text", "text": "and now?"}});
    insert_row(&connection, "message", &turn);
    insert_row(&connection, "part", &words);
    let (second, state) = read_new_rows(&OPENCODE, &path, Some(&state));
    // The newest rows are given again, and are the same: the store has them.
    let second = ParseOutput {
        entries: second
            .entries
            .into_iter()
            .filter(|new| !first.entries.contains(new))
            .collect(),
        ..second
    };
    assert_eq!(message_ids(&second), ["prt_ff0000000002aaaaaaaaaaaaaa"]);
    assert_eq!(second.entries.len(), 1);
    // A clock that was set back hides nothing.
    let early = json!({"id": "prt_ff0000000003aaaaaaaaaaaaaa", "session_id": session,
        "message_id": "msg_ff0000000001aaaaaaaaaaaaaa", "time_created": 5,
        "time_updated": 5, "data": {"type": "text", "text": "hello?"}});
    insert_row(&connection, "part", &early);
    let (third, _) = read_new_rows(&OPENCODE, &path, Some(&state));
    assert!(message_ids(&third).contains(&"prt_ff0000000003aaaaaaaaaaaaaa".to_owned()));
}

fn step(connection: &Connection, at: u64, id: &str, turn: &str, data: &Value) {
    let row = json!({"id": id, "session_id": "ses_1", "message_id": turn,
        "time_created": at, "time_updated": at, "data": data});
    insert_row(connection, "part", &row);
}

fn say(connection: &Connection, at: u64, id: &str, data: &Value) {
    let row = json!({"id": id, "session_id": "ses_1",
        "time_created": at, "time_updated": at, "data": data});
    insert_row(connection, "message", &row);
}

const TABLES: &str = concat!(
    r#"{"table":"session","sql":"CREATE TABLE session (id text PRIMARY KEY, parent_id text,"#,
    r#" directory text, title text, time_created integer, time_updated integer)"}"#,
    "\n",
    r#"{"table":"message","sql":"CREATE TABLE message (id text PRIMARY KEY, session_id text"#,
    r#", time_created integer, time_updated integer, data text)"}"#,
    "\n",
    r#"{"table":"part","sql":"CREATE TABLE part (id text PRIMARY KEY, message_id text, sess"#,
    r#"ion_id text, time_created integer, time_updated integer, data text)"}"#,
    "\n",
    r#"{"table":"session","row":{"id":"ses_1","parent_id":null,"directory":"/p","title":"Ne"#,
    r#"w session - x","time_created":1794767000000,"time_updated":1794767000000}}"#,
);

/// Half a sentence is not memory; an unfinished turn is, once the session has gone on.
#[test]
fn what_is_still_written_waits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("opencode.db");
    let connection = build_database(&path, TABLES);
    let at = 1_794_767_000_000;
    say(&connection, at, "msg_1", &json!({"role": "user"}));
    step(
        &connection,
        at,
        "prt_1",
        "msg_1",
        &json!({"type": "text", "text": "go"}),
    );
    say(
        &connection,
        at + 1,
        "msg_2",
        &json!({"role": "assistant", "modelID": "m"}),
    );
    let tool =
        |state: Value| json!({"type": "tool", "tool": "bash", "callID": "c", "state": state});
    let half = json!({"type": "text", "text": "I w", "time": {"start": at}});
    step(&connection, at + 2, "prt_2", "msg_2", &half);
    step(
        &connection,
        at + 2,
        "prt_3",
        "msg_2",
        &tool(json!({"status": "pending", "input": {}})),
    );
    let (first, state) = read_new_rows(&OPENCODE, &path, None);
    assert_eq!(message_ids(&first), ["prt_1"]);
    assert!(shape(&first.entries).contains("FirstPrompt \"go\""));
    let full = json!({"type": "text", "text": "I will", "time": {"start": at, "end": at + 3}});
    step(&connection, at + 3, "prt_2", "msg_2", &full);
    let running = json!({"status": "running", "input": {"command": "make"}});
    step(&connection, at + 4, "prt_3", "msg_2", &tool(running));
    let (second, state) = read_new_rows(&OPENCODE, &path, Some(&state));
    assert_eq!(message_ids(&second), ["prt_1", "prt_2"]);
    // The program died during the call, and the session continues much later.
    say(&connection, at + 900_000, "msg_3", &json!({"role": "user"}));
    let (third, _) = read_new_rows(&OPENCODE, &path, Some(&state));
    assert_snapshot!(shape(&third.entries));
}

/// Rows that are only in the write-ahead log are read; uncommitted ones are not.
#[test]
fn rows_in_the_log_count_once_they_are_committed() {
    let (folder, path, connection) = scenario("longhaul");
    let listing = || -> BTreeSet<_> {
        fs::read_dir(folder.path())
            .unwrap()
            .map(|file| file.unwrap().file_name())
            .collect()
    };
    let before = listing();
    assert!(fs::metadata(store::foreign::wal_path(&path)).unwrap().len() > 0);
    let all = message_ids(&read_file(&OPENCODE, &path, SourceFormat::Database));
    connection.execute_batch("BEGIN").unwrap();
    let row = json!({"id": "prt_ff0000000003aaaaaaaaaaaaaa", "session_id": "s",
        "message_id": "msg_1e080e4e6001m2JyZtVAW9K0Dw", "time_created": 5, "time_updated": 5,
        "data": {"type": "text", "text": "more"}});
    insert_row(&connection, "part", &row);
    assert_eq!(
        message_ids(&read_file(&OPENCODE, &path, SourceFormat::Database)),
        all
    );
    connection.execute_batch("COMMIT").unwrap();
    assert_eq!(
        message_ids(&read_file(&OPENCODE, &path, SourceFormat::Database)).len(),
        all.len() + 1
    );
    assert_eq!(listing(), before);
}

#[test]
fn files_that_the_database_took_over_are_not_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("storage/part/msg_1/prt_1.json");
    fs::create_dir_all(old.parent().unwrap()).unwrap();
    fs::write(&old, "{}").unwrap();
    let claims = || claimed_below(&OPENCODE, folder.path()).len();
    assert_eq!(claims(), 1);
    let connection = Connection::open(folder.path().join("opencode.db")).unwrap();
    connection.execute_batch("CREATE TABLE other (x)").unwrap();
    assert_eq!(claims(), 2, "a database without sessions took nothing over");
    connection
        .execute_batch("CREATE TABLE session (id)")
        .unwrap();
    assert_eq!(claims(), 1);
}

#[test]
fn damaged_rows_are_passed_over() {
    let (_folder, path, connection) = scenario("inventory");
    let whole = message_ids(&read_file(&OPENCODE, &path, SourceFormat::Database)).len();
    connection
        .execute_batch("UPDATE part SET data = substr(data, 1, 40) WHERE rowid = 1")
        .unwrap();
    connection
        .execute_batch("UPDATE message SET data = '7' WHERE rowid = 2")
        .unwrap();
    connection
        .execute_batch("UPDATE message SET data = x'ff' WHERE rowid = 3")
        .unwrap();
    let parsed: ParseOutput = read_file(&OPENCODE, &path, SourceFormat::Database);
    assert_eq!(parsed.skipped.len(), 2);
    assert!(message_ids(&parsed).len() < whole && message_ids(&parsed).len() > whole / 2);
}

/// A session that is only in the tables to come is noticed, not read.
#[test]
fn the_tables_to_come_are_noticed() {
    let (_folder, path, connection) = scenario("secrets");
    let (first, state) = read_new_rows(&OPENCODE, &path, None);
    assert!(first.unknown_kinds.is_empty());
    let row = json!({"id": "m", "session_id": "ses_new", "type": "user", "seq": 1,
        "time_created": 5, "time_updated": 5, "data": {}});
    insert_row(&connection, "session_message", &row);
    let (second, state) = read_new_rows(&OPENCODE, &path, Some(&state));
    assert_eq!(second.unknown_kinds.get("session_message/user"), Some(&1));
    assert!(
        read_new_rows(&OPENCODE, &path, Some(&state))
            .0
            .unknown_kinds
            .is_empty()
    );
}
