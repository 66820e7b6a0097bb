//! Every fixture, read whole and as far as it had come, and counted by other means.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use insta::assert_snapshot;
use memory::{Flavor, SessionId, Usage};
use serde_json::Value;

use super::GEMINI;
use crate::adapter::parse_text;
use crate::test_support::{check_all, fixtures, messages, read_fixture, show_output, total_usage};
use crate::{CaptureScope, ParseOutput, Root, Sources, SweepControl};

fn read(project: &str, file: &str) -> ParseOutput {
    read_fixture(&GEMINI, &format!("tmp/{project}/chats/{file}"))
}

const REAL: &str = "40fc80fdb16b14b32f87f5955bf238c9ccf0836dc64373944adebc306d9cf157";
const MADE: &str = "session-2026-05-01T10-00-aaaa0001";
const CHILD: &str = "aaaa0001-0000-4000-8000-000000000001/bbbb0002.jsonl";

#[test]
fn inventory() {
    assert_snapshot!(show_output(&read(
        "proj",
        "session-2026-11-15T18-38-694b1fc8.jsonl"
    )));
}

#[test]
fn longhaul() {
    assert_snapshot!(show_output(&read(
        "proj",
        "session-2026-11-15T18-40-1e1579ce.jsonl"
    )));
}

#[test]
fn secrets() {
    assert_snapshot!(show_output(&read(
        "proj",
        "session-2026-11-15T18-39-015ed640.jsonl"
    )));
}

#[test]
fn unicode() {
    assert_snapshot!(show_output(&read(
        "proj",
        "session-2026-11-15T18-39-afc26dd8.jsonl"
    )));
}

#[test]
fn documents() {
    assert_snapshot!(show_output(&read(
        REAL,
        "session-2026-04-14T14-14-914f3c63.json"
    )));
}

#[test]
fn other_shapes() {
    let files = [
        "jsonl_v040.jsonl", "large.json", "schema_drift.json", "small.json",
    ];
    let shown = files.map(|file| show_output(&read("stage0", &format!("session-{file}"))));
    assert_snapshot!(shown.join("\n"));
}

#[test]
fn states_rewind_compaction_and_subagent() {
    let parent = show_output(&read("made", &format!("{MADE}.jsonl")));
    assert_snapshot!(parent + "\n" + &show_output(&read("made", CHILD)));
}

#[test]
fn the_later_format_stands_for_both() {
    let parsed = read("made", &format!("{MADE}.json"));
    assert!(parsed.entries.is_empty() && parsed.skipped.is_empty());
}

#[test]
fn nothing_unknown_but_what_was_made_so() {
    let mut unknown = BTreeMap::new();
    let sources = fixtures(&GEMINI);
    assert_eq!(sources.len(), 14);
    for source in &sources {
        let text = fs::read_to_string(&source.path).unwrap();
        let parsed = parse_text(&GEMINI, source, &text);
        assert_eq!(parsed.skipped, [], "{source:?}");
        unknown.extend(parsed.unknown_kinds);
        assert!(
            GEMINI.recognises(&text) || text.contains("\"history\""),
            "{source:?}"
        );
    }
    assert_eq!(
        unknown,
        BTreeMap::from([("message/hologram".to_owned(), 1)])
    );
}

#[test]
fn fixtures_pass_every_check() {
    check_all(&GEMINI);
}

/// However far a session has come, its messages have the names and places they will keep, and
/// none is there twice.
#[test]
fn a_live_session_is_a_part_of_the_whole() {
    let sources = fixtures(&GEMINI);
    let logs = sources
        .iter()
        .filter(|source| source.path.extension().unwrap() == "jsonl");
    for source in logs {
        let text = fs::read_to_string(&source.path).unwrap();
        let place = |parsed: &ParseOutput| -> BTreeMap<String, u64> {
            messages(parsed)
                .map(|message| (message.id.to_string(), message.line))
                .collect()
        };
        let whole = place(&parse_text(&GEMINI, source, &text));
        let mut end = 0;
        for line in text.split_inclusive('\n') {
            end += line.len();
            for (id, line) in place(&parse_text(&GEMINI, source, &text[..end])) {
                assert_eq!(whole.get(&id), Some(&line), "{id} in {source:?}");
            }
        }
    }
}

/// Counts each message's tokens once, as they were written last.
#[test]
fn usage_is_what_the_messages_say() {
    for source in fixtures(&GEMINI) {
        if source.path.ends_with(format!("{MADE}.json")) {
            continue;
        }
        let text = fs::read_to_string(&source.path).unwrap();
        let mut tokens = BTreeMap::new();
        let records: Vec<Value> = match serde_json::from_str::<Value>(&text) {
            Ok(document) => document["messages"].as_array().cloned().unwrap_or_default(),
            Err(_) => text
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok())
                .collect(),
        };
        for record in records {
            if let (Some(id), true) = (record["id"].as_str(), record["tokens"].is_object()) {
                tokens.insert(id.to_owned(), record["tokens"].clone());
            }
        }
        let mut expected = Usage::default();
        let mut total = 0;
        for tokens in tokens.values() {
            let count = |key: &str| tokens[key].as_u64().unwrap();
            total += count("total");
            expected += Usage {
                input: count("input") - count("cached") + count("tool"),
                output: count("output") + count("thoughts"),
                cache_read: count("cached"),
                cache_write: 0,
                reasoning: count("thoughts"),
            };
        }
        let usage = total_usage(&parse_text(&GEMINI, &source, &text));
        assert_eq!(usage, expected, "{source:?}");
        assert_eq!(usage.total(), total, "as Gemini itself adds up");
    }
}

/// Sweeps a home and returns all that the store holds of its conversations.
fn swept(store: &store::Store, home: &Path) -> Vec<String> {
    let root = Root {
        path: home.to_owned(),
        flavor: Some(Flavor::Gemini),
    };
    let sources = Sources {
        adapters: vec![&GEMINI],
        roots: vec![root],
        all_roots: false,
        scope: CaptureScope::default(),
        archive: true,
        threads: 1,
    };
    let stop = AtomicBool::new(false);
    let control = SweepControl::new(&stop);
    let now = "2026-05-01T11:00:00Z".parse().unwrap();
    crate::sweep(store, &sources, &control, now).unwrap();
    let mut texts = Vec::new();
    let session = SessionId::of(Flavor::Gemini, "s");
    store
        .each_record(&session, |record| {
            texts.push(format!("{} {}", record.kind, record.content));
        })
        .unwrap();
    texts
}

/// A session while it is written, resumed by a later version at last: the store holds what the
/// log says now, once.
#[test]
fn the_store_follows_a_live_session() {
    let (home, memory) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = store::Store::open(memory.path()).unwrap();
    let chats = home.path().join("tmp/proj/chats");
    fs::create_dir_all(&chats).unwrap();
    let header = r#"{"sessionId":"s","projectHash":"h","startTime":"2026-05-01T10:00:00Z""#;
    let prompt = r#"{"id":"1","type":"user","content":"Go."}"#;
    let half = r#"{"id":"2","type":"gemini","content":"I wi"}"#;
    let whole = r#"{"id":"2","type":"gemini","content":"I will."}"#;

    let old = chats.join("session-s.json");
    fs::write(&old, format!(r#"{header},"messages":[{prompt},{half}]}}"#)).unwrap();
    assert_eq!(swept(&store, home.path()), ["prompt Go.", "assistant I wi"]);

    let new = chats.join("session-s.jsonl");
    let mut log = format!("{header}}}\n{prompt}\n{half}\n");
    fs::write(&new, &log).unwrap();
    assert_eq!(swept(&store, home.path()), ["prompt Go.", "assistant I wi"]);

    log += &whole[..20];
    fs::write(&new, &log).unwrap();
    assert_eq!(swept(&store, home.path()), ["prompt Go.", "assistant I wi"]);

    log += &format!(
        "{}\n{{\"id\":\"3\",\"type\":\"user\",\"content\":\"More.\"}}\n",
        &whole[20..]
    );
    fs::write(&new, &log).unwrap();
    let final_state = ["prompt Go.", "assistant I will.", "prompt More."];
    assert_eq!(swept(&store, home.path()), final_state);
    assert_eq!(swept(&store, home.path()), final_state);
}
