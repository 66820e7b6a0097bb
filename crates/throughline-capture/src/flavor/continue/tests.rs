//! Every fixture, read whole, damaged, and counted by other means.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use memory::{Block, LogEntry, Usage};

use super::CONTINUE;
use crate::adapter::parse_text;
use crate::test_support::{check_all, fixtures, read_source, show_fixture, usage_by_key};

#[test]
fn question_and_answer() {
    assert_snapshot!(show_fixture(
        &CONTINUE,
        "sessions/28fdaafd-5b3a-4342-90db-c3581e27b607.json"
    ));
}

#[test]
fn several_turns() {
    assert_snapshot!(show_fixture(
        &CONTINUE,
        "sessions/76fca5a1-da61-4e20-adf9-8db422b365d0.json"
    ));
}

#[test]
fn tools_and_summaries() {
    assert_snapshot!(show_fixture(
        &CONTINUE,
        "sessions/11111111-1111-4111-8111-111111111111.json"
    ));
}

#[test]
fn all_fixtures_are_sound() {
    let unknown = check_all(&CONTINUE);
    let expected = BTreeMap::from([("message/narrator".to_owned(), 1)]);
    assert_eq!(unknown, expected);
    let sources = fixtures(&CONTINUE);
    assert_eq!(sources.len(), 3);
    for source in sources {
        let (text, _) = read_source(&CONTINUE, &source);
        assert!(CONTINUE.recognises(&text), "{source:?}");
    }
}

/// The logs of whole prompts hold other people's files and keys.
#[test]
fn prompt_logs_are_not_read() {
    for source in fixtures(&CONTINUE) {
        let (text, parsed) = read_source(&CONTINUE, &source);
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        let items = document["history"].as_array().unwrap();
        let prompts = items
            .iter()
            .flat_map(|item| item["promptLogs"].as_array().cloned().unwrap_or_default())
            .filter_map(|log| log["prompt"].as_str().map(str::to_owned));
        let said: Vec<String> = parsed.entries.iter().flat_map(texts).collect();
        for prompt in prompts {
            assert!(!said.iter().any(|text| text.contains(&prompt)));
        }
    }
}

fn texts(entry: &LogEntry) -> Vec<String> {
    let LogEntry::Message(message) = entry else {
        return Vec::new();
    };
    let texts = message.blocks.iter().map(|block| match block {
        Block::Text(text) | Block::Thinking(text) | Block::Summary(text) => text.clone(),
        other => format!("{other:?}"),
    });
    texts.collect()
}

#[test]
fn every_prompt_and_answer_is_there_once() {
    for source in fixtures(&CONTINUE) {
        let (text, parsed) = read_source(&CONTINUE, &source);
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        let items = document["history"].as_array().unwrap();
        let said = |role: &str| {
            items
                .iter()
                .filter(|i| i["message"]["role"] == role)
                .count()
        };
        let read = |role: memory::Role| {
            let messages = parsed.entries.iter().filter(|entry| match entry {
                LogEntry::Message(message) => {
                    message.role == role && message.origin != memory::Origin::Tool
                }
                _ => false,
            });
            messages.count()
        };
        assert_eq!(read(memory::Role::User), said("user"));
        assert_eq!(
            read(memory::Role::Assistant),
            said("assistant") + said("thinking")
        );
    }
}

#[test]
fn usage_is_what_the_messages_add_up_to() {
    for source in fixtures(&CONTINUE) {
        let (text, parsed) = read_source(&CONTINUE, &source);
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut expected = Usage::default();
        for item in document["history"].as_array().unwrap() {
            let usage = &item["message"]["usage"];
            let cached = usage["promptTokensDetails"]["cachedTokens"].as_u64();
            let cached = cached.unwrap_or_default();
            expected += Usage {
                input: usage["promptTokens"].as_u64().unwrap_or_default() - cached,
                output: usage["completionTokens"].as_u64().unwrap_or_default(),
                cache_read: cached,
                ..Usage::default()
            };
        }
        assert_eq!(usage_by_key(&parsed).0, expected);
    }
}

/// The document is rewritten after each turn: what was there keeps its names.
#[test]
fn a_grown_session_keeps_its_names() {
    for source in fixtures(&CONTINUE) {
        let (text, whole) = read_source(&CONTINUE, &source);
        let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
        let items = document["history"].as_array_mut().unwrap();
        items.truncate(items.len() - 1);
        let before = parse_text(&CONTINUE, &source, &document.to_string());
        let names = |parsed: &crate::ParseOutput| -> Vec<String> {
            let names = parsed.entries.iter().filter_map(|entry| match entry {
                LogEntry::Message(message) => Some(message.id.to_string()),
                _ => None,
            });
            names.collect()
        };
        let (before, whole) = (names(&before), names(&whole));
        assert_eq!(before[..], whole[..before.len()]);
    }
}
