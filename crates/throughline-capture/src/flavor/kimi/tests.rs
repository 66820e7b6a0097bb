//! Every fixture, read whole, in halves, and counted by other means.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use memory::Usage;

use super::KIMI;
use crate::SourceFormat;
use crate::test_support::{check_all, fixtures, read_source, show_fixture, usage_by_key};

const LAB: &str = "sessions/wd_project_ac3bb318f98e";
const TOOLS: &str = "session_1bcbe023-4f7e-4971-9dc9-43b8756045b0";

#[test]
fn tools_plans_and_a_compaction() {
    let log = show_fixture(&KIMI, &format!("{LAB}/{TOOLS}/agents/main/wire.jsonl"));
    let state = show_fixture(&KIMI, &format!("{LAB}/{TOOLS}/state.json"));
    assert_snapshot!(format!("{log}# state.json\n{state}"));
}

#[test]
fn subagent() {
    assert_snapshot!(show_fixture(
        &KIMI,
        &format!("{LAB}/{TOOLS}/agents/agent-0/wire.jsonl")
    ));
}

#[test]
fn cancelled_turns() {
    let session = format!("{LAB}/session_9eb1bf57-c1af-48a5-b658-0e8d9fe794f5");
    assert_snapshot!(show_fixture(
        &KIMI,
        &format!("{session}/agents/main/wire.jsonl")
    ));
}

#[test]
fn commands_and_changes() {
    let session = "sessions/wd_proj_0123456789ab/session_11111111-1111-4111-8111-111111111111";
    assert_snapshot!(show_fixture(
        &KIMI,
        &format!("{session}/agents/main/wire.jsonl")
    ));
}

#[test]
fn kimi_cli() {
    assert_snapshot!(show_fixture(
        &KIMI,
        "sessions/0cc175b9c0f1b6a831c399e269772661/22222222-2222-4222-8222-222222222222/wire.jsonl"
    ));
}

#[test]
fn all_fixtures_are_sound() {
    let unknown = BTreeMap::from([
        ("brand.new".to_owned(), 1),
        ("message/BrandNew".to_owned(), 1),
    ]);
    assert_eq!(check_all(&KIMI), unknown);
    let sources = fixtures(&KIMI);
    assert_eq!(sources.len(), 7);
    for source in sources {
        assert!(
            KIMI.recognises(&read_source(&KIMI, &source).0),
            "{source:?}"
        );
    }
}

#[test]
fn usage_is_what_the_lines_add_up_to() {
    for source in fixtures(&KIMI) {
        if source.format != SourceFormat::Lines {
            continue;
        }
        let (text, parsed) = read_source(&KIMI, &source);
        let mut expected = Usage::default();
        for line in text.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
            let (new, old) = (&line["usage"], &line["message"]["payload"]["token_usage"]);
            let count = |camel: &str, snake: &str| {
                new[camel]
                    .as_u64()
                    .or(old[snake].as_u64())
                    .unwrap_or_default()
            };
            expected += Usage {
                input: count("inputOther", "input_other"),
                output: count("output", "output"),
                cache_read: count("inputCacheRead", "input_cache_read"),
                cache_write: count("inputCacheCreation", "input_cache_creation"),
                reasoning: 0,
            };
        }
        assert_eq!(usage_by_key(&parsed).0, expected, "{source:?}");
    }
}
