//! Ways to read a session: its parts, transcripts, reports, the handoff to another agent, and
//! names that a shell completes.

use std::process::Command;

use insta::assert_snapshot;
use serde_json::Value;

use crate::env::{TestEnv, samples};

const SESSION: &str = "4c5420d7";

#[test]
fn a_hit_opens_in_its_place() {
    let env = TestEnv::with_samples();
    let found = env
        .run(&["search", "hard-code", "--type", "prompt", "-n", "1"])
        .stdout;
    let hit = found.lines().nth(1).unwrap();
    let id = hit.split_whitespace().nth(2).unwrap();
    assert_snapshot!(
        "show_around",
        env.run(&["show", id, "--around", "1"]).shown()
    );
    let alone: Value = serde_json::from_str(&env.run(&["show", id, "--json"]).stdout).unwrap();
    assert!(alone["id"].as_str().unwrap().starts_with(id));
    let around = env.run(&["show", id, "--around", "2", "--json"]).stdout;
    let around: Value = serde_json::from_str(&around).unwrap();
    assert_eq!(around.as_array().unwrap().len(), 5);
    assert_eq!(around[2]["id"], alone["id"]);
    assert_eq!(env.run(&["show", SESSION, "--around", "2"]).code, Some(2));
}

#[test]
fn a_session_is_shown_in_part() {
    let env = TestEnv::with_samples();
    let records = |filter: &[&str]| {
        let ran = env.run(&[&["show", SESSION, "--json"], filter].concat());
        let json: Value = serde_json::from_str(&ran.stdout).unwrap();
        json["records"].as_array().unwrap().clone()
    };
    let prompts = records(&["--prompts"]);
    assert_eq!(prompts.len(), 3);
    assert!(prompts.iter().all(|record| record["type"] == "prompt"));
    let matching = records(&["--grep", "CONFIG.toml"]);
    assert!(matching.len() > 3, "{matching:?}");
    let contains = |record: &Value| record["content"].as_str().unwrap().contains("config.toml");
    assert!(matching.iter().all(contains));
    let late = records(&["--from", "18:33:11"]);
    assert!(!late.is_empty() && late.len() < records(&[]).len());
    let none = env.run(&["show", SESSION, "--grep", "zeppelin"]);
    assert_eq!(none.code, Some(1), "{}", none.shown());
}

#[test]
fn a_fact_is_shown_and_edited() {
    let env = TestEnv::with_samples();
    let fact = env
        .run(&["prefer", "use npm", "--everywhere", "--json"])
        .stdout;
    let fact: Value = serde_json::from_str(&fact).unwrap();
    let id = &fact["id"].as_str().unwrap()[..8];
    let edited = env.run(&["facts", "edit", id, "use", "pnpm", "--json"]);
    let edited: Value = serde_json::from_str(&edited.stdout).unwrap();
    assert_eq!(edited["text"], "use pnpm");
    assert_eq!(edited["kind"], "preference");
    let new = &edited["id"].as_str().unwrap()[..8];
    let shown = env.run(&["show", new]).stdout;
    assert!(shown.starts_with("use pnpm\n"), "{shown}");
    let old = env.run(&["show", id]).stdout;
    assert!(old.contains(&format!("replaced by {new}")), "{old}");
}

#[test]
fn a_fact_is_forgotten_by_its_id() {
    let env = TestEnv::with_samples();
    let fact = env
        .run(&["prefer", "use npm", "--everywhere", "--json"])
        .stdout;
    let fact: Value = serde_json::from_str(&fact).unwrap();
    let ran = env.run(&["forget", &fact["id"].as_str().unwrap()[..8], "--yes"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(!env.run(&["facts"]).stdout.contains("use npm"));
}

#[test]
fn transcripts_are_readable_and_harmless() {
    let env = TestEnv::new();
    let logs = env.home().join(".claude/projects/-p");
    std::fs::create_dir_all(&logs).unwrap();
    let line = |uuid: &str, text: &str| {
        serde_json::json!({
            "type": "user", "uuid": uuid, "sessionId": "s", "cwd": "/p",
            "timestamp": "2026-11-14T10:00:00Z",
            "message": {"role": "user", "content": text},
        })
        .to_string()
            + "\n"
    };
    let text = line(
        "u1",
        "Why does <script>alert(1)</script> & `a<b` fail?\n# Not a heading",
    );
    std::fs::write(logs.join("s.jsonl"), text).unwrap();
    env.run(&["ingest"]);
    assert_snapshot!(
        "export_markdown",
        env.run(&["export", "--format", "markdown", "s"]).shown()
    );
    let file = env.home().join("s.html").display().to_string();
    let wrote = env.run(&["export", "--format", "html", "s", "--output", &file]);
    assert_eq!(wrote.code, Some(0), "{}", wrote.shown());
    let html = std::fs::read_to_string(&file).unwrap();
    assert!(!html.contains("<script"), "{html}");
    assert!(html.contains("&lt;script&gt;alert(1)"), "{html}");
    assert!(html.contains("default-src 'none'"), "{html}");
}

#[test]
fn a_week_is_reported() {
    let env = TestEnv::with_samples();
    assert_snapshot!(
        "digest_since",
        env.run(&["digest", "--since", "7d"]).shown()
    );
    assert_eq!(env.run(&["digest", "--since", "1h"]).code, Some(1));
}

#[test]
fn another_agent_gets_a_fenced_account() {
    let env = TestEnv::with_samples();
    let ran = env.run(&["handoff", SESSION, "--to", "codex", "--print"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let prompt = ran.stdout;
    assert!(prompt.contains("<throughline-memory id="), "{prompt}");
    assert!(prompt.contains("config.toml"), "{prompt}");
    let json = env.run(&[
        "handoff", SESSION, "--to", "codex", "--budget", "300", "--json",
    ]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["command"][0], "codex");
    assert!(json["tokens"].as_u64().unwrap() <= 300, "{json}");
    let cannot = env.run(&["handoff", SESSION, "--to", "aider"]);
    assert_eq!(cannot.code, Some(2), "{}", cannot.shown());
    // The session's folder is not on this machine.
    let nowhere = env.run(&["handoff", SESSION, "--to", "codex"]);
    assert!(
        nowhere.stderr.contains("/home/dev/proj"),
        "{}",
        nowhere.shown()
    );
}

#[test]
fn a_deleted_log_is_put_back_and_resumed() {
    let env = TestEnv::new();
    let name = "7142b226-68fa-46a0-8fd9-46e66b66a646.jsonl";
    let logs = env.home().join(".claude/projects/-home-dev-proj");
    std::fs::create_dir_all(&logs).unwrap();
    let log = logs.join(name);
    std::fs::copy(
        samples().join("claude/projects/-home-dev-proj").join(name),
        &log,
    )
    .unwrap();
    env.run(&["ingest"]);
    let before = env.run(&["show", "7142b226", "--json"]).stdout;
    assert_eq!(env.run(&["restore-log", "7142b226"]).code, Some(2));
    std::fs::remove_file(&log).unwrap();
    env.run(&["ingest"]);
    let warned = env.run(&["resume", "7142b226"]);
    assert!(warned.stderr.contains("--restore"), "{}", warned.shown());
    let planned = env.run(&["restore-log", "7142b226", "--dry-run"]);
    assert!(
        planned.stdout.ends_with(&format!("{name}\n")),
        "{}",
        planned.shown()
    );
    assert!(!log.exists());
    let resumed = env.run(&["resume", "7142b226", "--restore"]);
    assert!(
        resumed.stdout.contains("claude --resume"),
        "{}",
        resumed.shown()
    );
    assert!(log.exists(), "{}", resumed.shown());
    env.run(&["ingest"]);
    let after = env.run(&["show", "7142b226", "--json"]).stdout;
    let records =
        |text: &str| -> Value { serde_json::from_str::<Value>(text).unwrap()["records"].clone() };
    assert_eq!(records(&after), records(&before));
}

#[test]
fn a_file_is_redacted() {
    let env = TestEnv::new();
    let file = env.home().join("notes.txt");
    std::fs::write(&file, "export DB_PASSWORD=correct-horse-7-battery\n").unwrap();
    let ran = env.run(&["redact", &file.display().to_string()]);
    assert!(ran.stdout.contains("[redacted:"), "{}", ran.shown());
    assert_eq!(env.run(&["redact", "nosuchfile"]).code, Some(2));
}

#[test]
fn manual_pages_are_written() {
    let env = TestEnv::new();
    let folder = env.home().join("man1");
    env.run(&["man", &folder.display().to_string()]);
    let page = std::fs::read_to_string(folder.join("throughline-search.1")).unwrap();
    assert!(page.contains(".TH throughline-search"), "{page}");
}

#[cfg(unix)]
#[test]
#[expect(clippy::disallowed_methods, reason = "the test runs a shell")]
fn a_shell_completes_names_from_the_store() {
    let env = TestEnv::with_samples();
    let script = env.home().join("completion.bash");
    std::fs::write(&script, env.run(&["completions", "bash"]).stdout).unwrap();
    let complete = |words: &str| {
        let ask = format!(
            ". {}; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _throughline_dynamic throughline \"${{COMP_WORDS[COMP_CWORD]}}\"; \
             echo \"${{COMPREPLY[*]}}\"",
            script.display()
        );
        let built = std::path::Path::new(env!("CARGO_BIN_EXE_throughline"));
        let path = format!("{}:/usr/bin:/bin", built.parent().unwrap().display());
        let output = Command::new("bash")
            .args(["-c", &ask])
            .env_clear()
            .env("PATH", path)
            .env("HOME", env.home())
            .env("THROUGHLINE_HOME", env.home().join("memory"))
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(complete("throughline show 4c"), "4c5420d7\n");
    assert_eq!(complete("throughline sessions --agent gr"), "grok\n");
    assert_eq!(complete("throughline search x --workspace pr"), "proj\n");
    assert_eq!(complete("throughline sess"), "sessions\n");
    env.run(&["tag", "4c5420d7", "inventory"]);
    assert_eq!(complete("throughline tag 4c"), "4c5420d7\n");
    assert_eq!(complete("throughline tag 4c5420d7 inv"), "inventory\n");
    assert_eq!(complete("throughline install gr"), "grok\n");
}
