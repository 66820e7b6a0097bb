//! Every fixture, read whole and in halves, and counted by other means.

use std::collections::BTreeMap;
use std::fs;

use insta::assert_snapshot;
use memory::{Block, LogEntry, Origin, Usage};
use serde_json::Value;

use super::COPILOT;
use crate::SourceFormat;
use crate::adapter::parse_text;
use crate::test_support::{check_all, fixtures, messages, read_fixture, show_output, total_usage};

fn shown(session: &str) -> String {
    let read = |file: &str| read_fixture(&COPILOT, &format!("session-state/{file}"));
    let folder = testkit::fixture("copilot/session-state").join(session);
    if !folder.is_dir() {
        return show_output(&read(&format!("{session}.jsonl")));
    }
    let mut shown = show_output(&read(&format!("{session}/events.jsonl")));
    if folder.join("workspace.yaml").exists() {
        shown += &show_output(&read(&format!("{session}/workspace.yaml")));
    }
    shown
}

#[test]
fn inventory() {
    assert_snapshot!(shown("ac54d803-8da0-4cef-bfb8-f6417bc6e5ec"));
}

#[test]
fn longhaul() {
    assert_snapshot!(shown("5b079235-b2c9-4c77-9146-b0ed2edde4f2"));
}

#[test]
fn secrets() {
    assert_snapshot!(shown("aedafe4e-0077-415f-bfad-46e450338cfe"));
}

#[test]
fn hooks_and_permissions() {
    assert_snapshot!(shown("10fb4666-56f0-4352-90fc-715caf95b418"));
}

#[test]
fn skills() {
    assert_snapshot!(shown("378ab881-f02f-435c-9673-0c8d7c7d6bef"));
}

#[test]
fn first_layouts() {
    let sessions = [
        "aaaabbbb-1111-2222-3333-ccccddddeeee",
        "stage0-small",
        "stage0-large",
        "stage0-schema_drift",
    ];
    assert_snapshot!(sessions.map(shown).join("\n"));
}

#[test]
fn subagent_refusal_and_sums() {
    assert_snapshot!(shown("cccc0003-0000-4000-8000-000000000003"));
}

#[test]
fn nothing_unknown_but_what_was_made_so() {
    let mut unknown = BTreeMap::new();
    let mut skipped = 0;
    let sources = fixtures(&COPILOT);
    assert_eq!(sources.len(), 16);
    for source in &sources {
        let text = fs::read_to_string(&source.path).unwrap();
        let parsed = parse_text(&COPILOT, source, &text);
        skipped += parsed.skipped.len();
        unknown.extend(parsed.unknown_kinds);
        let is_log = source.format == SourceFormat::Lines;
        assert_eq!(COPILOT.recognises(&text), is_log, "{source:?}");
    }
    assert_eq!(
        unknown,
        BTreeMap::from([("session.hologram".to_owned(), 1)])
    );
    assert_eq!(skipped, 1);
}

#[test]
fn fixtures_pass_every_check() {
    check_all(&COPILOT);
}

/// Prompts are those that a hook of the same session saw being submitted.
#[test]
fn prompts_are_what_was_submitted() {
    let mut compared = 0;
    for source in fixtures(&COPILOT) {
        let text = fs::read_to_string(&source.path).unwrap();
        let events = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let submitted: Vec<String> = events
            .filter(|event| event["data"]["hookType"] == "userPromptSubmitted")
            .filter(|event| event["type"] == "hook.start")
            .filter_map(|event| Some(event["data"]["input"]["prompt"].as_str()?.to_owned()))
            .collect();
        if submitted.is_empty() {
            continue;
        }
        let parsed = parse_text(&COPILOT, &source, &text);
        for message in messages(&parsed).filter(|message| message.origin == Origin::Human) {
            for block in &message.blocks {
                if let Block::Text(prompt) = block {
                    assert!(submitted.contains(prompt), "{prompt} in {source:?}");
                }
            }
        }
        compared += 1;
    }
    assert_eq!(compared, 6);
}

/// Our total equals Copilot's own total over the session.
#[test]
fn usage_is_what_the_session_sums_up_to() {
    let mut compared = 0;
    for source in fixtures(&COPILOT) {
        let text = fs::read_to_string(&source.path).unwrap();
        let events = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut expected = None;
        let mut compaction = Usage::default();
        let count = |usage: &Value| {
            let count = |key: &str| usage[key].as_u64().unwrap_or_default();
            let cached = count("cacheReadTokens") + count("cacheWriteTokens");
            Usage {
                input: count("inputTokens").saturating_sub(cached),
                output: count("outputTokens"),
                cache_read: count("cacheReadTokens"),
                cache_write: count("cacheWriteTokens"),
                reasoning: count("reasoningTokens"),
            }
        };
        for event in events {
            match event["type"].as_str() {
                Some("session.shutdown") => {
                    let mut sum = Usage::default();
                    for metrics in event["data"]["modelMetrics"].as_object().unwrap().values() {
                        sum += count(&metrics["usage"]);
                    }
                    expected = Some(sum);
                }
                Some("session.compaction_complete") => {
                    compaction += count(&event["data"]["compactionTokensUsed"]);
                }
                _ => {}
            }
        }
        let (Some(mut expected), false) = (expected, source.path.ends_with("stage0-small.jsonl"))
        else {
            continue;
        };
        expected += compaction;
        // As the store does: the last telling of a response counts.
        let mut told = BTreeMap::new();
        for entry in parse_text(&COPILOT, &source, &text).entries {
            if let LogEntry::Usage(entry) = entry {
                told.insert(entry.key, entry.usage);
            }
        }
        let mut usage = Usage::default();
        told.into_values().for_each(|entry| usage += entry);
        assert_eq!(usage, expected, "{source:?}");
        compared += 1;
    }
    assert_eq!(compared, 7);
}

/// Subagents may be billed to another model than their messages name, or name none.
#[test]
fn output_is_counted_once_whatever_model_it_is_told_of() {
    let message = |model: &str, tokens: u64| {
        format!(
            concat!(
                r#"{{"type":"assistant.message","id":"{model}{tokens}","#,
                r#""data":{{"content":"x",{model}"outputTokens":{tokens}}}}}"#,
            ),
            model = model,
            tokens = tokens,
        )
        .replace(&format!(r#""id":"{model}"#), r#""id":""#)
    };
    let log = [
        message("", 5),
        message(r#""model":"a","#, 20),
        message(r#""model":"a","#, 7),
        r#"{"type":"session.shutdown","id":"s","data":{"modelMetrics":{
            "a":{"usage":{"inputTokens":9,"outputTokens":20}},
            "b":{"usage":{"inputTokens":9,"outputTokens":15}}}}}"#
            .replace('\n', ""),
    ];
    let source = crate::Source {
        flavor: memory::Flavor::Copilot,
        path: "s/events.jsonl".into(),
        format: SourceFormat::Lines,
    };
    let total = total_usage(&parse_text(&COPILOT, &source, &log.join("\n")));
    assert_eq!((total.input, total.output), (18, 35));
}
