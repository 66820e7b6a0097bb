//! Every fixture, read whole and in halves, and counted by other means.

use std::collections::BTreeMap;
use std::fs;

use insta::assert_snapshot;
use memory::{Flavor, Usage};
use serde_json::Value;

use super::QWEN;
use crate::adapter::parse_text;
use crate::flavor::adapter_for;
use crate::test_support::{check_all, fixtures, read_fixture, show_output, total_usage};

fn shown(relative: &str) -> String {
    show_output(&read_fixture(&QWEN, &format!("projects/{relative}")))
}

#[test]
fn made_by_others() {
    let files = [
        "019f0000-0000-7000-8000-000000000001",
        "019f0000-0000-7000-8000-000000000002",
        "019f0000-0000-7000-8000-000000000004",
        "019f0000-0000-7000-8000-000000000005",
        "019f0000000070008000000000000003",
    ];
    let shown =
        files.map(|file| shown(&format!("-tmp-as-qwen-fixture-project/chats/{file}.jsonl")));
    assert_snapshot!(shown.join("\n"));
}

#[test]
fn changes_compression_and_subagent() {
    let parent = shown("-home-dev-made/chats/dddd0004.jsonl");
    let child = shown("-home-dev-made/subagents/dddd0004/agent-explore-7f3c.jsonl");
    assert_snapshot!(parent + "\n" + &child);
}

#[test]
fn nothing_unknown_but_what_was_made_so() {
    let mut unknown = BTreeMap::new();
    let mut skipped = 0;
    let sources = fixtures(&QWEN);
    assert_eq!(sources.len(), 8);
    for source in &sources {
        let text = fs::read_to_string(&source.path).unwrap();
        let parsed = parse_text(&QWEN, source, &text);
        skipped += parsed.skipped.len();
        unknown.extend(parsed.unknown_kinds);
        let knows = |flavor| adapter_for(flavor).unwrap().recognises(&text);
        assert!(knows(Flavor::Qwen) && !knows(Flavor::Claude), "{source:?}");
    }
    assert_eq!(unknown, BTreeMap::from([("system/hologram".to_owned(), 1)]));
    assert_eq!(skipped, 1);
}

#[test]
fn fixtures_pass_every_check() {
    check_all(&QWEN);
}

#[test]
fn usage_is_what_the_records_add_up_to() {
    for source in fixtures(&QWEN) {
        let text = fs::read_to_string(&source.path).unwrap();
        let mut expected = Usage::default();
        for line in text.lines() {
            let Ok(line) = serde_json::from_str::<Value>(line) else {
                continue;
            };
            let tokens = &line["usageMetadata"];
            let count = |key: &str| tokens[key].as_u64().unwrap_or_default();
            let (prompt, cached) = (count("promptTokenCount"), count("cachedContentTokenCount"));
            let said = count("candidatesTokenCount");
            let thoughts = count("thoughtsTokenCount");
            let total = tokens["totalTokenCount"]
                .as_u64()
                .unwrap_or(prompt + said + thoughts);
            expected += Usage {
                input: prompt - cached,
                output: total - prompt,
                cache_read: cached,
                cache_write: 0,
                reasoning: thoughts,
            };
        }
        assert_eq!(
            total_usage(&parse_text(&QWEN, &source, &text)),
            expected,
            "{source:?}"
        );
    }
}
