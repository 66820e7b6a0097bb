//! Every fixture, read whole and in halves.

use std::collections::BTreeMap;
use std::fs;

use insta::assert_snapshot;

use super::Antigravity;
use crate::Adapter;
use crate::adapter::parse_text;
use crate::flavor::check::{self, show};

fn shown(conversation: &str, file: &str) -> String {
    let path = format!("brain/{conversation}/.system_generated/logs/{file}");
    show(&check::read(&Antigravity, &path))
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
    let sources = check::sources(&Antigravity);
    assert_eq!(sources.len(), 4);
    for source in &sources {
        let text = fs::read_to_string(&source.path).unwrap();
        let parsed = parse_text(&Antigravity, source, &text);
        assert_eq!(parsed.skipped, [], "{source:?}");
        unknown.extend(parsed.unknown_kinds);
        assert!(Antigravity.recognises(&text), "{source:?}");
    }
    assert_eq!(unknown, BTreeMap::from([("HOLOGRAM".to_owned(), 1)]));
}

#[test]
fn names_and_order() {
    check::names_and_order(&Antigravity);
}

#[test]
fn two_halves_are_the_whole() {
    check::two_halves_are_the_whole(&Antigravity);
}

#[test]
fn damage_is_survived() {
    check::damage_is_survived(&Antigravity);
}
