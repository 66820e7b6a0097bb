//! Whole logs of every generation of the format.

mod records;
mod sweeps;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use memory::{Flavor, LogEntry};
use serde_json::Value;
use testkit::shape::shape;

use super::CLAUDE;
use crate::{ParseOutput, Source, SourceFormat, adapter};

fn source(path: &Path) -> Source {
    let document = path
        .extension()
        .is_some_and(|extension| extension == "json");
    Source {
        flavor: Flavor::Claude,
        path: path.to_owned(),
        format: if document {
            SourceFormat::Document
        } else {
            SourceFormat::Lines
        },
    }
}

/// Reads one log under `fixtures/claude`.
fn read(file: &str) -> ParseOutput {
    let path = testkit::fixture("claude").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    adapter::parse_text(&CLAUDE, &source(&path), &text)
}

/// Shows what is made of a log, and what is not.
fn show(file: &str) -> String {
    let parsed = read(file);
    let mut shown = shape(&parsed.entries);
    for skipped in &parsed.skipped {
        shown.push_str(&format!("skipped {} {}\n", skipped.line, skipped.reason));
    }
    for (kind, count) in &parsed.unknown_kinds {
        shown.push_str(&format!("unknown {kind} {count}\n"));
    }
    shown
}

macro_rules! snapshots {
    ($($name:ident: $file:literal,)*) => {
        $(
            #[test]
            fn $name() {
                insta::assert_snapshot!(show($file));
            }
        )*
    };
}

snapshots! {
    v1_0_35_inline_sidechain: "synthetic/sidechain.jsonl",
    v1_0_55_shell_and_hooks: "projects/-Users-dain-workspace-claude-code-log-sample/71c9afe9-d9cc-4\
        583-86b3-e62ba682b83a.jsonl",
    v2_0_42_queue_and_refusals: "projects/-Users-dain-workspace-JSSoundRecorder/7acd37a8-2745-4b58-\
        a8a9-46164b22ad9e.jsonl",
    v2_0_42_agent_beside_its_session: "projects/-Users-dain-workspace-JSSoundRecorder/agent-388fb76\
        4.jsonl",
    v2_0_76_foreign_summaries: "projects/-Users-soph-Work-entire-devenv-cli/488c5296-fc78-4fdf-8cfd\
        -f1cae9454bd0.jsonl",
    v2_1_5_compaction: "projects/-Users-soph-Work-entire-devenv-cli/d1423492-e4f5-4a86-a997-1f1c8d0\
        9a940.jsonl",
    v2_1_12_glued_summary: "projects/-Users-soph-Work-entire-devenv-cli/130d7b7e-5801-4345-9bd6-f32\
        fd9b8429b.jsonl",
    v2_1_12_progress: "projects/-Users-gtrrz-victor-wks-gtrrz-victor-improve-status-cmd-output/3de1\
        5637-3629-4423-bfe4-8b85e135c885.jsonl",
    v2_1_29_queued_commands: "projects/-Users-gtrrz-victor-wks-test-cli-cli/645ea3df-c4e9-44bc-b333\
        -22c9893c32c5.jsonl",
    v2_1_62_shell_progress: "projects/-home-christso-projects-agentv/f6b7329a-914c-4f62-8090-4e29b0\
        32b173.jsonl",
    v2_1_114_session: "projects/-experiments-worktrees/ef958aa1-0e93-49f0-bb71-150f63befcd1.jsonl",
    v2_1_114_subagent: "projects/-experiments-worktrees/ef958aa1-0e93-49f0-bb71-150f63befcd1/subage\
        nts/agent-a6aa8ad077d9ea083.jsonl",
    v2_1_114_subagent_meta: "projects/-experiments-worktrees/ef958aa1-0e93-49f0-bb71-150f63befcd1/s\
        ubagents/agent-a6aa8ad077d9ea083.meta.json",
    v2_1_162_queue: "projects/-Users-paul-src-entireio-auth-go/9b138c7e-bf80-4a5d-af75-e52fc19a2db5\
        .jsonl",
    v2_1_169_titles: "projects/-Users-paul-src-entireio-auth-go/5c7298d0-aeab-4312-b0db-9432417ff7b\
        8.jsonl",
    v2_1_209_desktop: "projects/D--oh-my-posh/ce6db73e-83fb-4b8f-8848-bed8d0ea3acd.jsonl",
    v2_1_219_desktop: "projects/D--oh-my-posh/021119e5-0c91-4195-aa2d-b4109a88bc90.jsonl",
    v2_1_239_every_kind: "synthetic/agent-sessions-small.jsonl",
    v2_1_325_inventory: "generated/inventory/-home-dev-proj/4c5420d7-85c7-46b9-b34d-eaf1c42847fd.js\
        onl",
    v2_1_325_longhaul: "generated/longhaul/-home-dev-proj/703ad6e2-1d62-41f4-9458-d210f8be4c06.json\
        l",
    v2_1_325_secrets: "generated/secrets/-home-dev-proj/7142b226-68fa-46a0-8fd9-46e66b66a646.jsonl",
    v2_1_325_unicode: "generated/unicode/-home-dev-proj/288607b8-6811-4c30-9a72-7d4dd30ca525.jsonl",
    odd_lines: "synthetic/edge_cases.jsonl",
    two_sessions_in_one_log: "synthetic/dag_resume.jsonl",
}

#[test]
fn one_record_of_each_type() {
    let mut shown = String::new();
    for file in files() {
        let name = file.strip_prefix(testkit::fixture("claude")).unwrap();
        if let Ok(name) = name.strip_prefix("messages-by-type") {
            let text = std::fs::read_to_string(&file).unwrap();
            let parsed = adapter::parse_text(&CLAUDE, &source(&file), &text);
            let messages = parsed.entries.into_iter();
            let messages: Vec<_> = messages
                .filter(|entry| matches!(entry, LogEntry::Message(_)))
                .collect();
            shown.push_str(&format!("{}\n{}", name.display(), shape(&messages)));
        }
    }
    insta::assert_snapshot!(shown);
}

/// Every file under `fixtures/claude` that the adapter claims.
fn files() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&testkit::fixture("claude"), &mut found);
    found.sort();
    let roots = ["claude", "claude/messages-by-type"].map(testkit::fixture);
    found.retain(|path| {
        let claims = |root: &PathBuf| CLAUDE.claim(root, path.strip_prefix(root).ok()?);
        roots.iter().any(|root| claims(root).is_some())
    });
    found
}

#[test]
fn every_log_is_understood() {
    let mut unknown = BTreeMap::new();
    let mut skipped = BTreeSet::new();
    for file in files() {
        let text = std::fs::read_to_string(&file).unwrap();
        let parsed = adapter::parse_text(&CLAUDE, &source(&file), &text);
        unknown.extend(parsed.unknown_kinds);
        if !parsed.skipped.is_empty() {
            skipped.insert(file.file_name().unwrap().to_owned());
        }
        let log = source(&file).format == SourceFormat::Lines && !text.is_empty();
        assert!(!log || CLAUDE.recognises(&text), "{}", file.display());
    }
    // Both are made up by a test of another reader; no log has been seen with them.
    assert_eq!(
        format!("{unknown:?}"),
        r#"{"tool_result": 1, "tool_use": 1}"#
    );
    assert_eq!(format!("{skipped:?}"), r#"{"edge_cases.jsonl"}"#);
}

#[test]
fn output_tokens_are_counted_once() {
    for file in files() {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut counted: BTreeMap<String, u64> = BTreeMap::new();
        for entry in adapter::parse_text(&CLAUDE, &source(&file), &text).entries {
            if let LogEntry::Usage(entry) = entry {
                let most = counted.entry(entry.key).or_default();
                *most = entry.usage.output.max(*most);
            }
        }
        let mut expected: BTreeMap<String, u64> = BTreeMap::new();
        for record in text
            .lines()
            .flat_map(|line| serde_json::Deserializer::from_str(line).into_iter::<Value>())
            .filter_map(Result::ok)
            .filter(|record| record["type"] == "assistant")
        {
            let message = &record["message"];
            if let (Some(id), Some(output)) = (
                message["id"].as_str(),
                message["usage"]["output_tokens"].as_u64(),
            ) {
                let most = expected.entry(id.to_owned()).or_default();
                *most = output.max(*most);
            }
        }
        let (counted, expected): (u64, u64) = (counted.values().sum(), expected.values().sum());
        assert_eq!(counted, expected, "{}", file.display());
    }
}
