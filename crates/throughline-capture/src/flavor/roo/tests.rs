use std::fs;

use insta::assert_snapshot;
use testkit::shape::shape;

use super::ROO;
use crate::flavor::cline::CLINE;
use crate::test_support::{claimed_below, message_ids, read_file};
use crate::{AgentEnv, SourceFormat};

#[test]
fn tasks() {
    let mut all = String::new();
    for source in claimed_below(&ROO, &testkit::fixture("roo")) {
        let parsed = read_file(&ROO, &source.path, source.format);
        assert!(
            parsed.unknown_kinds.is_empty() && parsed.skipped.is_empty(),
            "{:?}",
            parsed.unknown_kinds
        );
        all += &format!("{}\n", source.path.file_name().unwrap().display());
        all += &shape(&parsed.entries);
    }
    assert_snapshot!(all);
}

/// Cline's files have the same names.
#[test]
fn each_claims_its_own() {
    assert!(claimed_below(&CLINE, &testkit::fixture("roo")).is_empty());
    assert!(claimed_below(&ROO, &testkit::fixture("cline")).is_empty());
    assert_eq!(claimed_below(&ROO, &testkit::fixture("roo")).len(), 5);
}

/// Condensing puts a summary between messages; those after it keep their names.
#[test]
fn a_condensed_conversation_keeps_its_names() {
    let source = claimed_below(&ROO, &testkit::fixture("roo")).remove(0);
    let whole = message_ids(&read_file(&ROO, &source.path, SourceFormat::Document));
    let text = fs::read_to_string(&source.path).unwrap();
    let mut messages: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    messages.retain(|message| message["isSummary"].is_null());
    let folder = tempfile::tempdir().unwrap();
    let task = source.path.parent().unwrap().file_name().unwrap();
    let copy = folder
        .path()
        .join(task)
        .join("api_conversation_history.json");
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    fs::write(&copy, serde_json::to_string(&messages).unwrap()).unwrap();
    let before = message_ids(&read_file(&ROO, &copy, SourceFormat::Document));
    assert!(before.iter().all(|name| whole.contains(name)) && before.len() < whole.len());
}

#[test]
fn places() {
    let env = AgentEnv {
        home: "/h".into(),
        ..AgentEnv::default()
    };
    let expected = "/h/.config/Code/User/globalStorage/rooveterinaryinc.roo-cline";
    assert!(ROO.roots(&env).contains(&expected.into()));
}
