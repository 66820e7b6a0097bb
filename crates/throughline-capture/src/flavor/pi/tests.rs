//! Every fixture, read whole, in halves, and counted by other means.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use memory::{Flavor, LogEntry, SessionId, SessionPatch, Usage};
use serde_json::json;

use super::PI;
use super::log::PiLogReader;
use crate::test_support::{check_all, fixtures, read_source, show_fixture, usage_by_key};
use crate::{InputLine, LogReader, ParseOutput};

const MADE: &str = "agent/sessions/--home-dev-proj--";

#[test]
fn version_1() {
    assert_snapshot!(show_fixture(
        &PI,
        "agent/sessions/--Users-badlogic-workspaces-pi-mono--/2025-11-20T23-33-50-805Z_d703a1a9-1b7\
            b-4fb1-b512-c9738b1fe617.jsonl"
    ));
}

#[test]
fn version_3() {
    assert_snapshot!(show_fixture(
        &PI,
        "agent/sessions/--Users-soph-Work-entire-devenv-auth-go--/2026-05-20T10-00-33-231Z_019e44d4\
            -6ecf-7c1d-96ab-582effc13411.jsonl"
    ));
}

#[test]
fn compacted() {
    assert_snapshot!(show_fixture(
        &PI,
        "agent/sessions/--tmp-as-agent-fixture-project--/2026-05-12T01-02-27-657Z_019e19b4-eb48-746\
            a-aa6b-8dfcfa37954b.jsonl"
    ));
}

#[test]
fn every_kind_of_entry() {
    assert_snapshot!(show_fixture(
        &PI,
        &format!("{MADE}/2026-06-01T09-00-00-000Z_11111111-1111-4111-8111-111111111111.jsonl")
    ));
}

#[test]
fn fork() {
    assert_snapshot!(show_fixture(
        &PI,
        &format!("{MADE}/2026-06-01T10-00-00-000Z_22222222-2222-4222-8222-222222222222.jsonl")
    ));
}

#[test]
fn all_fixtures_are_sound() {
    let unknown = check_all(&PI);
    assert_eq!(unknown, BTreeMap::from([("brand_new_kind".to_owned(), 1)]));
    let sources = fixtures(&PI);
    assert_eq!(sources.len(), 5);
    for source in sources {
        assert!(PI.recognises(&read_source(&PI, &source).0), "{source:?}");
    }
}

/// Each response is an entry of its own, and says its tokens and its price.
#[test]
fn usage_is_what_the_lines_add_up_to() {
    for source in fixtures(&PI) {
        let (text, parsed) = read_source(&PI, &source);
        let (mut usage, mut cost) = (Usage::default(), 0.0);
        for line in text.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
            let billed = &line["message"]["usage"];
            let count = |key: &str| billed[key].as_u64().unwrap_or_default();
            usage += Usage {
                input: count("input"),
                output: count("output"),
                cache_read: count("cacheRead"),
                cache_write: count("cacheWrite"),
                reasoning: 0,
            };
            cost += billed["cost"]["total"].as_f64().unwrap_or_default();
        }
        let (counted, paid) = usage_by_key(&parsed);
        assert_eq!(counted, usage, "{source:?}");
        assert!((paid - cost).abs() < 1e-9, "{paid} {cost}");
    }
}

/// A fork is titled by its first own prompt, and by its parent's only while it has none.
#[test]
fn a_fork_is_titled_by_its_own_prompt() {
    let header = json!({
        "type": "session",
        "id": "f",
        "timestamp": "2026-06-01T10:00:00Z",
        "cwd": "/p",
        "parentSession": "/s/2026_o.jsonl",
    });
    let header = header.to_string();
    let prompt = |time: &str, text: &str| {
        let message = json!({
            "type": "message",
            "id": time,
            "timestamp": format!("2026-06-01T{time}Z"),
            "message": {"role": "user", "content": text},
        });
        message.to_string()
    };
    let title = |prompts: &[String]| {
        let source = fixtures(&PI).swap_remove(0);
        let mut reader = PiLogReader::new(&source, None);
        let mut merged = SessionPatch::new(SessionId::of(Flavor::Pi, "f"), Flavor::Pi);
        let lines = std::iter::once(header.as_str()).chain(prompts.iter().map(String::as_str));
        for (number, text) in (1..).zip(lines) {
            let mut out = ParseOutput::default();
            reader.read_line(
                InputLine {
                    number,
                    text,
                    offset: 0,
                },
                &mut out,
            );
            for entry in out.entries {
                if let LogEntry::Session(patch) = entry {
                    merged.merge(patch);
                }
            }
            // The next line is read by another process.
            reader = PiLogReader::new(&source, Some(&reader.state()));
        }
        merged.title.map(|title| title.text)
    };
    let parents = [
        prompt("09:00:00", "count the lines"),
        prompt("09:30:00", "and the words"),
    ];
    assert_eq!(title(&parents).as_deref(), Some("count the lines"));
    let [first, second] = parents;
    let own = prompt("10:00:01", "rename the module");
    let later = prompt("10:00:02", "now test it");
    let titled = title(&[first, second, own, later]);
    assert_eq!(titled.as_deref(), Some("rename the module"));
}

/// A fork repeats its parent's entries and bills under their names.
#[test]
fn a_fork_repeats_names() {
    let names = |index: usize| -> Vec<String> {
        let made = fixtures(&PI)
            .into_iter()
            .filter(|s| s.path.to_string_lossy().contains(MADE));
        let source = made.collect::<Vec<_>>().swap_remove(index);
        let (_, parsed) = read_source(&PI, &source);
        let names = parsed.entries.iter().filter_map(|entry| match entry {
            LogEntry::Message(message) => Some(message.id.to_string()),
            LogEntry::Usage(usage) => Some(usage.key.clone()),
            LogEntry::Session(_) => None,
        });
        names.collect()
    };
    let (original, fork) = (names(0), names(1));
    assert_eq!(original[..7], fork[..7]);
}
