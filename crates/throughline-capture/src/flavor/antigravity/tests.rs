//! Every fixture, read whole and in halves.

use std::collections::BTreeMap;
use std::fs;

use insta::assert_snapshot;

use super::ANTIGRAVITY;
use crate::adapter::parse_text;
use crate::test_support::{check_all, fixtures, read_fixture, show_output};

fn shown(conversation: &str, file: &str) -> String {
    let path = format!("brain/{conversation}/.system_generated/logs/{file}");
    show_output(&read_fixture(&ANTIGRAVITY, &path))
}

#[test]
fn small() {
    assert_snapshot!(shown("cli_small", "transcript.jsonl"));
}

#[test]
fn schema_drift() {
    assert_snapshot!(shown("cli_schema_drift", "transcript.jsonl"));
}

#[test]
fn answers_come_in_the_order_of_their_calls() {
    assert_snapshot!(shown("made", "transcript_full.jsonl"));
    assert_eq!(shown("made", "transcript.jsonl"), "");
}

#[test]
fn nothing_unknown_but_what_was_made_so() {
    let mut unknown = BTreeMap::new();
    let sources = fixtures(&ANTIGRAVITY);
    assert_eq!(sources.len(), 4);
    for source in &sources {
        let text = fs::read_to_string(&source.path).unwrap();
        let parsed = parse_text(&ANTIGRAVITY, source, &text);
        assert_eq!(parsed.skipped, [], "{source:?}");
        unknown.extend(parsed.unknown_kinds);
        assert!(ANTIGRAVITY.recognises(&text), "{source:?}");
    }
    assert_eq!(unknown, BTreeMap::from([("HOLOGRAM".to_owned(), 1)]));
}

#[test]
fn fixtures_pass_every_check() {
    check_all(&ANTIGRAVITY);
}
