use std::collections::BTreeSet;
use std::fs;

use insta::assert_snapshot;
use memory::Usage;
use serde_json::Value;
use testkit::shape::shape;

use super::CLINE;
use crate::test_support::{claimed_below, message_ids, read_file, total_usage};
use crate::{AgentEnv, SourceFormat};

fn show(folder: &str) -> String {
    let mut all = String::new();
    for source in claimed_below(&CLINE, &testkit::fixture(folder)) {
        let parsed = read_file(&CLINE, &source.path, source.format);
        assert!(
            parsed.unknown_kinds.is_empty() && parsed.skipped.is_empty(),
            "{:?}",
            parsed.unknown_kinds
        );
        all += &format!("{}\n", source.path.file_name().unwrap().display());
        all += &shape(&parsed.entries);
    }
    all
}

#[test]
fn tasks_of_the_extension() {
    assert_snapshot!(show("cline/tasks"));
}

#[test]
fn sessions_of_the_newer_store() {
    assert_snapshot!(show("cline/sessions"));
}

#[test]
fn the_list_of_tasks() {
    assert_snapshot!(show("cline/state"));
}

#[test]
fn every_file_is_recognised_and_every_message_has_its_name() {
    let sources = claimed_below(&CLINE, &testkit::fixture("cline"));
    assert_eq!(sources.len(), 7);
    let mut seen = BTreeSet::new();
    for source in sources {
        let text = fs::read_to_string(&source.path).unwrap();
        assert!(CLINE.recognises(&text), "{}", source.path.display());
        for name in message_ids(&read_file(&CLINE, &source.path, source.format)) {
            assert!(
                seen.insert(name.clone()),
                "{name} in {}",
                source.path.display()
            );
        }
    }
}

#[test]
fn usage_is_what_the_messages_add_up_to() {
    let count = |value: &Value| value.as_u64().unwrap_or_default();
    for source in claimed_below(&CLINE, &testkit::fixture("cline")) {
        let text = fs::read_to_string(&source.path).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        let mut expected = Usage::default();
        for message in document["messages"].as_array().into_iter().flatten() {
            let metrics = &message["metrics"];
            let (read, write) = (
                count(&metrics["cacheReadTokens"]),
                count(&metrics["cacheWriteTokens"]),
            );
            expected += Usage {
                input: count(&metrics["inputTokens"]).saturating_sub(read + write),
                output: count(&metrics["outputTokens"]),
                cache_read: read,
                cache_write: write,
                reasoning: 0,
            };
        }
        for shown in document.as_array().into_iter().flatten() {
            if shown["say"] == "api_req_started" {
                let told: Value = serde_json::from_str(shown["text"].as_str().unwrap()).unwrap();
                expected += Usage {
                    input: count(&told["tokensIn"]),
                    output: count(&told["tokensOut"]),
                    cache_read: count(&told["cacheReads"]),
                    cache_write: count(&told["cacheWrites"]),
                    reasoning: 0,
                };
            }
        }
        let parsed = read_file(&CLINE, &source.path, source.format);
        assert_eq!(total_usage(&parsed), expected, "{}", source.path.display());
    }
}

/// A file is written whole each time; what was in it keeps its name.
#[test]
fn a_longer_conversation_keeps_the_names_of_the_shorter() {
    let folder = tempfile::tempdir().unwrap();
    for relative in [
        "tasks/1762853000000/api_conversation_history.json",
        "sessions/1784094124598_rruoq/1784094124598_rruoq.messages.json",
    ] {
        let path = testkit::fixture("cline").join(relative);
        let whole = message_ids(&read_file(&CLINE, &path, SourceFormat::Document));
        let copy = folder.path().join(relative);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        let mut document: Value =
            serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let list = match &mut document {
            Value::Array(list) => list,
            document => document["messages"].as_array_mut().unwrap(),
        };
        list.truncate(5);
        fs::write(&copy, document.to_string()).unwrap();
        let part = message_ids(&read_file(&CLINE, &copy, SourceFormat::Document));
        assert!(part.len() > 4 && whole.starts_with(&part));
    }
}

#[test]
fn damage_is_survived() {
    let folder = tempfile::tempdir().unwrap();
    for source in claimed_below(&CLINE, &testkit::fixture("cline")) {
        let text = fs::read_to_string(&source.path).unwrap();
        let copy = folder.path().join(source.path.file_name().unwrap());
        for cut in (0..text.len()).step_by(text.len() / 50 + 1) {
            fs::write(&copy, &text[..text.floor_char_boundary(cut)]).unwrap();
            let parsed = read_file(&CLINE, &copy, source.format);
            assert!(parsed.entries.is_empty() && parsed.skipped.len() <= 1);
        }
    }
}

#[test]
fn places() {
    let env = AgentEnv {
        home: "/h".into(),
        ..AgentEnv::default()
    };
    let roots = CLINE.roots(&env);
    let extension = "/h/.config/Code/User/globalStorage/saoudrizwan.claude-dev";
    assert!(roots.contains(&extension.into()) && roots.contains(&"/h/.cline/data".into()));
}
