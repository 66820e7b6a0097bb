//! `throughline forget` and `throughline redact --rescan`, with the bytes that they leave.

use std::path::{Path, PathBuf};

use insta::assert_snapshot;

use crate::env::TestEnv;

/// A machine with a Claude Code and a Codex session whose words occur nowhere else.
struct Machine {
    env: TestEnv,
}

fn claude(session: &str, uuid: &str, role: &str, text: &str) -> String {
    let entry = serde_json::json!({
        "type": role, "uuid": uuid, "parentUuid": null, "sessionId": session,
        "timestamp": "2026-01-05T09:00:00.000Z", "cwd": "/work/proj", "version": "2.1.98",
        "gitBranch": "main", "message": {"role": role, "content": text},
    });
    format!("{entry}\n")
}

fn codex(kind: &str, payload: &serde_json::Value) -> String {
    let line = serde_json::json!({
        "timestamp": "2026-01-06T09:00:00.000Z", "type": kind, "payload": payload,
    });
    format!("{line}\n")
}

impl Machine {
    fn new() -> Self {
        let machine = Self {
            env: TestEnv::new(),
        };
        let claude_log = [
            claude(
                "11111111-aaaa", "u1", "user", "where does the zorblaxine go",
            ),
            claude(
                "11111111-aaaa",
                "u2",
                "assistant",
                "the quivertine goes into the shed",
            ),
            claude(
                "11111111-aaaa",
                "u3",
                "user",
                "then paint the mistfjord blue",
            ),
        ];
        machine.write(
            "projects/-work-proj/11111111-aaaa.jsonl",
            &claude_log.concat(),
        );
        let other = claude(
            "22222222-bbbb",
            "v1",
            "user",
            "a second talk about plumhaven",
        );
        machine.write("projects/-work-proj/22222222-bbbb.jsonl", &other);
        // Codex CLI logs every message twice.
        let said = "look after the kelpwright please";
        let text = [
            codex(
                "session_meta",
                &serde_json::json!({
                    "id": "33333333-cccc", "timestamp": "2026-01-06T09:00:00.000Z",
                    "cwd": "/work/sea", "originator": "codex_cli_rs", "cli_version": "0.98.0",
                }),
            ),
            codex(
                "response_item",
                &serde_json::json!({
                    "type": "message", "role": "user",
                    "content": [{"type": "input_text", "text": said}],
                }),
            ),
            codex(
                "event_msg",
                &serde_json::json!({"type": "user_message", "message": said}),
            ),
            codex(
                "response_item",
                &serde_json::json!({
                    "type": "message", "role": "assistant",
                    "content": [{"type": "output_text", "text": "the driftmoor is looked after"}],
                }),
            ),
        ];
        machine.write(
            "sessions/2026/01/06/rollout-2026-01-06T09-00-00-33333333-cccc.jsonl",
            &text.concat(),
        );
        machine.ingest();
        machine
    }

    fn logs(&self) -> PathBuf {
        self.env.home().join("logs")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.logs().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn ingest(&self) {
        let root = self.logs().display().to_string();
        let ran = self.env.run(&["ingest", "--root", &root]);
        assert_eq!(ran.code, Some(0), "{}", ran.shown());
    }

    /// Returns whether a word is in one of our files or in an archived log.
    fn holds(&self, word: &str) -> bool {
        let memory = self.env.home().join("memory");
        let in_bytes = files(&memory).iter().any(|file| {
            let bytes = std::fs::read(file).unwrap().to_ascii_lowercase();
            // The index stores common prefixes of neighboring words once.
            let tail = &word.as_bytes()[3..];
            bytes.windows(tail.len()).any(|window| window == tail)
        });
        let in_logs = ["11111111-aaaa", "22222222-bbbb", "33333333-cccc"]
            .iter()
            .any(|id| {
                self.env.run(&["export", "--raw", id]).stdout.contains(word)
                    || self.env.run(&["show", id, "--json"]).stdout.contains(word)
            });
        in_bytes || in_logs
    }

    fn record(&self, word: &str) -> String {
        let found = self.env.run(&["search", word, "--json"]).stdout;
        let found: serde_json::Value = serde_json::from_str(&found).unwrap();
        // The answer to a prompt may come before the prompt that has the word.
        let mut hits = found["hits"].as_array().unwrap().iter();
        let hit = hits.find(|hit| hit["snippet"].as_str().unwrap().contains(word));
        hit.unwrap()["id"].as_str().unwrap().to_owned()
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect()
}

#[test]
fn a_record_goes_and_stays_away() {
    let machine = Machine::new();
    let words = ["zorblaxine", "quivertine", "kelpwright"];
    for word in words {
        assert!(machine.holds(word), "{word}");
        let id = machine.record(word);
        let ran = machine.env.run(&["forget", &id[..16], "--yes"]);
        assert_eq!(ran.code, Some(0), "{}", ran.shown());
    }
    for word in words {
        assert!(!machine.holds(word), "{word}");
    }
    // The title was the first prompt; a sweep of a log that grew, or lies elsewhere, brings
    // nothing.
    machine.ingest();
    let log = machine
        .logs()
        .join("projects/-work-proj/11111111-aaaa.jsonl");
    let mut text = std::fs::read_to_string(&log).unwrap();
    text += &claude("11111111-aaaa", "u4", "user", "and then the hollowmere");
    std::fs::write(&log, &text).unwrap();
    machine.ingest();
    machine.write(
        "projects/-work-proj/44444444-dddd.jsonl",
        &text.replace("11111111-aaaa", "44444444-dddd"),
    );
    machine.ingest();
    std::fs::rename(&log, log.with_file_name("moved.jsonl")).unwrap();
    machine.ingest();
    for word in words {
        assert!(!machine.holds(word), "{word}");
    }
    for word in ["mistfjord", "hollowmere", "plumhaven", "driftmoor"] {
        assert!(machine.holds(word), "{word}");
    }
}

#[test]
fn a_session_goes_and_stays_away() {
    let machine = Machine::new();
    let ran = machine
        .env
        .run(&["forget", "claude:11111111", "33333333", "--yes"]);
    assert_snapshot!("forget_session", ran.shown());
    let words = [
        "zorblaxine", "quivertine", "mistfjord", "kelpwright", "driftmoor",
    ];
    let log = machine
        .logs()
        .join("projects/-work-proj/11111111-aaaa.jsonl");
    let text = std::fs::read_to_string(&log).unwrap()
        + &claude("11111111-aaaa", "u4", "user", "and then the hollowmere");
    std::fs::write(&log, text).unwrap();
    machine.ingest();
    for word in words.iter().chain(&["hollowmere", "11111111", "33333333"]) {
        assert!(!machine.holds(word), "{word}");
    }
    assert!(machine.holds("plumhaven"));
    assert_eq!(
        machine
            .env
            .run(&["forget", "--allow", "claude:11111111-aaaa"])
            .code,
        Some(0)
    );
    machine.ingest();
    assert!(machine.holds("hollowmere"));
    assert!(!machine.holds("kelpwright"));
}

#[test]
fn it_says_what_it_does() {
    let machine = Machine::new();
    let show = |args: &[&str]| machine.env.run(args).shown();
    assert_snapshot!("forget_nothing", show(&["forget"]));
    assert_snapshot!(
        "forget_unconfirmed",
        show(&["forget", "--query", "zorblaxine"])
    );
    assert_snapshot!(
        "forget_dry_run",
        show(&["forget", "--dry-run", "--before", "2026-01-06"])
    );
    assert_snapshot!(
        "forget_dry_run_json",
        show(&["forget", "--dry-run", "--json", "--query", "zorblaxine"])
    );
    assert_snapshot!(
        "forget_no_fit",
        show(&["forget", "--query", "zorblaxine mistfjord", "--yes"])
    );
    assert_snapshot!(
        "forget_query",
        show(&["forget", "--query", "zorblaxine", "--yes"])
    );
    assert_snapshot!(
        "forget_workspace",
        show(&["forget", "--workspace", "/work/sea", "--yes", "--json"])
    );
    assert_snapshot!("forget_list", show(&["forget", "--list"]));
    assert_snapshot!(
        "forget_allow_unknown",
        show(&["forget", "--allow", "nobody"])
    );
    assert_snapshot!("redact_rescan", show(&["redact", "--rescan"]));
    assert_snapshot!(
        "redact_rescan_all",
        show(&["redact", "--rescan", "--all", "--dry-run", "--json"])
    );
}
