//! Fixtures of each generation of the format, and what must hold for all of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use memory::{Block, Flavor, LogEntry, Message, Origin, Usage, UsageEntry};
use testkit::shape::shape;

use super::CODEX;
use crate::adapter::parse_text;
use crate::{InputLine, ParseOutput, SkipReason, Source, SourceFormat};

fn source(path: &Path) -> Source {
    Source {
        flavor: Flavor::Codex,
        path: path.to_owned(),
        format: SourceFormat::Lines,
    }
}

fn read(relative: &str) -> ParseOutput {
    let path = testkit::fixture(&format!("codex/{relative}"));
    let text = std::fs::read_to_string(&path).unwrap();
    parse_text(&CODEX, &source(&path), &text)
}

/// Reads lines that have no file.
fn read_lines(lines: &[&str]) -> ParseOutput {
    parse_text(
        &CODEX,
        &source(Path::new("rollout-test.jsonl")),
        &lines.join("\n"),
    )
}

/// Returns the entries of a fixture as text, with what was not understood.
fn shown(relative: &str) -> String {
    let parsed = read(relative);
    let mut text = shape(&parsed.entries);
    for (kind, count) in &parsed.unknown_kinds {
        text.push_str(&format!("unknown {kind} {count}\n"));
    }
    for skipped in &parsed.skipped {
        text.push_str(&format!("skipped {} {}\n", skipped.line, skipped.reason));
    }
    text
}

fn messages(parsed: &ParseOutput) -> Vec<&Message> {
    let mut found = Vec::new();
    for entry in &parsed.entries {
        if let LogEntry::Message(message) = entry {
            found.push(message);
        }
    }
    found
}

fn usages(parsed: &ParseOutput) -> Vec<&UsageEntry> {
    let mut found = Vec::new();
    for entry in &parsed.entries {
        if let LogEntry::Usage(usage) = entry {
            found.push(usage);
        }
    }
    found
}

/// Returns every log under the fixtures.
fn logs() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|ending| ending == "jsonl") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&testkit::fixture("codex"), &mut found);
    found.sort();
    assert!(found.len() > 15);
    found
}

const BARE: &str =
    "sessions/2025/08/23/rollout-2025-08-23T16-52-59-84b6da18-7357-4ad0-89d6-64f637ddde0d.jsonl";
const PARENT: &str =
    "sessions/2025/09/16/rollout-2025-09-16T12-47-48-9cd28a74-da7e-4458-a91a-fffec2be9d7a.jsonl";
const RESUMED: &str =
    "sessions/2025/09/16/rollout-2025-09-16T14-12-31-613a9a68-8816-40b2-a2d4-041ade599da6.jsonl";
const V140: &str =
    "sessions/2026/06/18/rollout-2026-06-18T00-52-03-019ed836-b1da-78f1-8a0c-e598363d10f4.jsonl";
const SEARCHES: &str =
    "sessions/2026/06/17/rollout-2026-06-17T10-06-46-019ed50c-2fb3-7002-a384-360bea6e7f04.jsonl";
const COMPACTED: &str =
    "sessions/2026/06/26/rollout-2026-06-26T12-20-52-019f03e0-321f-7eb2-83cc-b54ecd71be23.jsonl";
const INVENTORY: &str =
    "sessions/2026/11/15/rollout-2026-11-15T18-40-56-01a1e083-3243-7112-b608-7ab56732dcdf.jsonl";
const SECRETS: &str =
    "sessions/2026/11/15/rollout-2026-11-15T18-41-08-01a1e083-6174-7f42-8e01-140a3040c950.jsonl";
const UNICODE: &str =
    "sessions/2026/11/15/rollout-2026-11-15T18-41-13-01a1e083-73e1-7ac1-b621-5f00d0d1f698.jsonl";
const LONGHAUL: &str =
    "sessions/2026/11/15/rollout-2026-11-15T18-41-19-01a1e083-8989-7ef1-a26f-c1562215f778.jsonl";

#[test]
fn bare_items() {
    assert_snapshot!(shown(BARE));
}

#[test]
fn first_envelopes() {
    assert_snapshot!(shown(PARENT));
}

#[test]
fn resumed_log() {
    assert_snapshot!(shown(RESUMED));
}

#[test]
fn custom_tools_and_patches() {
    assert_snapshot!(shown(V140));
}

#[test]
fn searches_and_mcp() {
    assert_snapshot!(shown(SEARCHES));
}

#[test]
fn compaction_without_summary() {
    assert_snapshot!(shown(COMPACTED));
}

#[test]
fn paginated() {
    assert_snapshot!(shown(INVENTORY));
}

#[test]
fn paginated_with_secrets() {
    assert_snapshot!(shown(SECRETS));
}

#[test]
fn paginated_in_many_scripts() {
    assert_snapshot!(shown(UNICODE));
}

#[test]
fn paginated_compaction() {
    assert_snapshot!(shown(LONGHAUL));
}

#[test]
fn subagent() {
    assert_snapshot!(shown("synthetic/agentsview-traex-subagent.jsonl"));
}

#[test]
fn invented_logs() {
    let names = [
        "codex_050_legacy", "codex_051_usage", "codex_052_raw", "codex_053_rate_limit",
        "agent-sessions-large", "agent-sessions-schema_drift", "agent-sessions-small",
    ];
    let all = names.map(|name| format!("== {name}\n{}", shown(&format!("synthetic/{name}.jsonl"))));
    assert_snapshot!(all.concat());
}

#[test]
fn a_replayed_prefix_has_its_parents_names() {
    let (parent, resumed) = (read(PARENT), read(RESUMED));
    let names = |parsed: &ParseOutput| -> Vec<String> {
        messages(parsed)
            .iter()
            .map(|message| message.id.to_string())
            .collect()
    };
    let (ours, theirs) = (names(&parent), names(&resumed));
    let shared = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
    // The fork was made before the parent's last prompt, which was then interrupted.
    assert_eq!(shared, ours.len() - 2);
    assert!(theirs.len() > shared && shared > 30);
    assert!(!theirs[shared..].contains(&ours[shared]));

    let keys = |parsed: &ParseOutput| -> Vec<String> {
        usages(parsed)
            .iter()
            .map(|usage| usage.key.clone())
            .collect()
    };
    let (ours, theirs) = (keys(&parent), keys(&resumed));
    assert_eq!(ours[..], theirs[..ours.len()]);

    let session = |parsed: &ParseOutput| messages(parsed)[0].session.to_string();
    assert_eq!(
        session(&parent),
        "codex:9cd28a74-da7e-4458-a91a-fffec2be9d7a"
    );
    assert_eq!(
        session(&resumed),
        "codex:613a9a68-8816-40b2-a2d4-041ade599da6"
    );
}

/// Reads a log up to `cut` lines, and the rest with another reader, as two sweeps would.
fn read_in_two(path: &Path, lines: &[&str], cut: usize) -> Vec<LogEntry> {
    let source = source(path);
    let feed =
        |reader: &mut dyn crate::LogReader, from: usize, to: usize, out: &mut ParseOutput| {
            for (at, text) in lines.iter().enumerate().take(to).skip(from) {
                let offset = lines[..at].iter().map(|line| line.len() as u64).sum();
                reader.read_line(
                    InputLine {
                        text,
                        number: at as u64 + 1,
                        offset,
                    },
                    out,
                );
            }
            reader.finish(to == lines.len(), out);
        };
    let mut out = ParseOutput::default();
    let mut first = CODEX.open_reader(&source, None);
    feed(&mut *first, 0, cut, &mut out);
    let (from, state) = match first.resume_point() {
        Some(resume) => (usize::try_from(resume.line).unwrap() - 1, resume.state),
        None => (cut, first.state()),
    };
    let mut second = CODEX.open_reader(&source, Some(&state));
    feed(&mut *second, from, lines.len(), &mut out);
    out.entries
}

/// Returns messages and usage by name, and checks that what was told twice was told alike.
fn by_name(entries: Vec<LogEntry>) -> BTreeMap<String, LogEntry> {
    let mut named = BTreeMap::new();
    for entry in entries {
        let name = match &entry {
            LogEntry::Message(message) => message.id.to_string(),
            LogEntry::Usage(usage) => usage.key.clone(),
            LogEntry::Session(_) => continue,
        };
        if let Some(known) = named.insert(name, entry.clone()) {
            assert_eq!(known, entry);
        }
    }
    named
}

#[test]
fn two_sweeps_read_what_one_reads() {
    for path in logs() {
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let whole = parse_text(&CODEX, &source(&path), &text).entries;
        let count = whole
            .iter()
            .filter(|entry| !matches!(entry, LogEntry::Session(_)))
            .count();
        let whole = by_name(whole);
        assert_eq!(
            whole.len(),
            count,
            "{} names an entry twice",
            path.display()
        );
        for cut in 0..=lines.len() {
            let halves = by_name(read_in_two(&path, &lines, cut));
            assert_eq!(halves, whole, "{} cut at {cut}", path.display());
        }
    }
}

#[test]
fn tokens_are_the_last_totals() {
    for path in logs() {
        let text = std::fs::read_to_string(&path).unwrap();
        let (mut sum, mut last) = (0, 0);
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            let total = &line["payload"]["info"]["total_token_usage"];
            if total.is_object() {
                let now = total["input_tokens"].as_u64().unwrap_or(0)
                    + total["output_tokens"].as_u64().unwrap_or(0);
                if now < last {
                    sum += last;
                }
                last = now;
            }
        }
        let parsed = parse_text(&CODEX, &source(&path), &text);
        let mut used = Usage::default();
        for usage in usages(&parsed) {
            used += usage.usage;
        }
        assert_eq!(used.total(), sum + last, "{}", path.display());
    }
}

#[test]
fn only_invented_kinds_are_unknown() {
    for path in logs() {
        let text = std::fs::read_to_string(&path).unwrap();
        let parsed = parse_text(&CODEX, &source(&path), &text);
        let invented = path
            .components()
            .any(|part| part.as_os_str() == "synthetic");
        assert!(
            invented || parsed.unknown_kinds.is_empty(),
            "{}: {:?}",
            path.display(),
            parsed.unknown_kinds
        );
        assert!(
            parsed.skipped.is_empty(),
            "{}: {:?}",
            path.display(),
            parsed.skipped
        );
        assert!(CODEX.recognises(text.get(..4096).unwrap_or(&text)) || invented);
    }
}

#[test]
fn a_compressed_log_reads_the_same() {
    let path = testkit::fixture(&format!("codex/{INVENTORY}"));
    let text = std::fs::read(&path).unwrap();
    let packed = zstd::encode_all(&text[..], 3).unwrap();
    let unpacked = String::from_utf8(zstd::decode_all(&packed[..]).unwrap()).unwrap();
    let relative = PathBuf::from(format!("{INVENTORY}.zst"));
    let format = CODEX.claim(Path::new("/"), &relative).unwrap();
    assert_eq!(format, SourceFormat::LinesZstd);
    let packed = Source {
        flavor: Flavor::Codex,
        path: relative,
        format,
    };
    assert_eq!(
        parse_text(&CODEX, &packed, &unpacked).entries,
        read(INVENTORY).entries
    );
}

#[test]
fn each_change_is_one_artifact() {
    let call = concat!(
        r#"{"type":"response_item","payload":{"type":"custom_tool_call","call_id":"c","name":"ap"#,
        r#"ply_patch","input":"*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"}}"#,
    );
    let event = concat!(
        r#"{"type":"event_msg","payload":{"type":"patch_apply_end","call_id":"c","success":true,"#,
        r#""changes":{"/p/a":{"type":"add","content":"x\n"}}}}"#,
    );
    let result = concat!(
        r#"{"type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"c","ou"#,
        r#"tput":"Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess."}}"#,
    );
    let changes = |lines: &[&str]| -> Vec<String> {
        let parsed = read_lines(lines);
        messages(&parsed)
            .iter()
            .flat_map(|message| &message.blocks)
            .filter_map(|block| match block {
                Block::ToolResult(result) => Some(&result.changes),
                _ => None,
            })
            .flatten()
            .map(|change| format!("{} {}", change.path, change.diff.trim()))
            .collect()
    };
    assert_eq!(changes(&[call, event, result]), ["/p/a x"]);
    assert_eq!(changes(&[call, result, event]), ["a +x"]);
    assert_eq!(changes(&[call, result]), ["a +x"]);
    let failed = event.replace("true", "false");
    assert_eq!(changes(&[call, &failed, result]), [""; 0]);
    let item = event
        .replace(
            r#""type":"patch_apply_end","call_id":"c","#,
            r#""type":"item_completed","item":{"type":"FileChange","id":"c","#,
        )
        .replace("}}}}", "}}}}}");
    assert_eq!(changes(&[call, &item, result]), ["/p/a x"]);
}

#[test]
fn what_was_said_before_an_interruption_is_told_once() {
    let event = |text: &str| {
        format!(r#"{{"type":"event_msg","payload":{{"type":"agent_message","message":"{text}"}}}}"#)
    };
    let item = |text: &str| {
        format!(
            concat!(
                r#"{{"type":"response_item","payload":{{"type":"message","role":"assistant","#,
                r#""content":[{{"type":"output_text","text":"{text}"}}]}}}}"#,
            ),
            text = text,
        )
    };
    let aborted = r#"{"type":"event_msg","payload":{"type":"turn_aborted","reason":"replaced"}}"#;
    let said = |lines: &[&str]| -> Vec<Block> {
        let parsed = read_lines(lines);
        messages(&parsed)
            .iter()
            .flat_map(|message| message.blocks.clone())
            .collect()
    };
    let (one, other) = (Block::Text("one".into()), Block::Text("other".into()));
    assert_eq!(
        said(&[&event("one"), &item("one"), &event("other"), aborted]),
        [one.clone(), other]
    );
    assert_eq!(
        said(&[&item("one"), &event("one"), aborted]),
        said(&[&item("one")])
    );
    assert_eq!(said(&[&event("one"), &item("one"), aborted]), [one]);
}

#[test]
fn a_subagent_is_asked_by_a_model_and_repeats_a_person() {
    let meta = concat!(
        r#"{"ordinal":0,"type":"session_meta","payload":{"id":"child","source":{"subagent":{"thr"#,
        r#"ead_spawn":{"parent_thread_id":"main"}}},"subagent_history_start_ordinal":2}}"#,
    );
    let prompt = |ordinal: u64, text: &str| {
        format!(
            concat!(
                r#"{{"ordinal":{ordinal},"type":"response_item","payload":{{"type":"message","#,
                r#""role":"user","content":[{{"type":"input_text","text":"{text}"}}]}}}}"#,
            ),
            ordinal = ordinal,
            text = text,
        )
    };
    let parsed = read_lines(&[
        meta,
        &prompt(1, "to the parent"),
        &prompt(2, "to the child"),
    ]);
    let origins: Vec<Origin> = messages(&parsed)
        .iter()
        .map(|message| message.origin)
        .collect();
    assert_eq!(origins, [Origin::Human, Origin::Model]);
}

#[test]
fn names_come_from_the_index() {
    let path = Path::new("/home/dev/.codex/session_index.jsonl");
    let text = r#"{"id":"01a1","thread_name":"Inventory","updated_at":"2026-11-15T18:41:19Z"}"#;
    let parsed = parse_text(&CODEX, &source(path), text);
    assert_snapshot!(shape(&parsed.entries), @r#"session codex:01a1 title=Custom "Inventory""#);
}

#[test]
fn the_oldest_form_is_one_document() {
    let text = concat!(
        r#"{"session":{"id":"s1","timestamp":"2025-05-01T10:00:00.000Z","instructions":""},"item"#,
        r#"s":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]},{""#,
        r#"type":"reasoning","summary":[]},{"type":"message","role":"assistant","content":[{"typ"#,
        r#"e":"output_text","text":"hello"}]}]}"#,
    );
    let source = Source {
        flavor: Flavor::Codex,
        path: "rollout-2025-05-01-s1.json".into(),
        format: SourceFormat::Document,
    };
    assert_snapshot!(shape(&parse_text(&CODEX, &source, text).entries));
}

#[test]
fn damage_is_named_and_the_rest_is_read() {
    let parsed = read_lines(&[
        "not json",
        r#"{"type":"response_item","payload":"text"}"#,
        r#"{"type":"response_item","payload":{"type":"message","role":"user","content":"plain"}}"#,
        r#"{"type":"response_item","payload":{"type":"message","role":7,"content":[7]}}"#,
        concat!(
            r#"{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":""#,
            r#"many"}}}"#,
        ),
        r#"{"type":"event_msg","payload":{"type":"never_seen"}}"#,
    ]);
    let why: Vec<SkipReason> = parsed
        .skipped
        .iter()
        .map(|skipped| skipped.reason)
        .collect();
    assert_eq!(why, [SkipReason::Malformed, SkipReason::Malformed]);
    assert_eq!(
        parsed.unknown_kinds.keys().collect::<Vec<_>>(),
        ["event_msg/never_seen"]
    );
    assert_eq!(messages(&parsed).len(), 1);
}
