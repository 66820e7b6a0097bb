//! `throughline compact` on logs and sessions.

use insta::assert_snapshot;
use serde_json::Value;

use crate::env::{Ran, TestEnv, repository};

/// A log with parallel calls, results between the entries of a response, and a plan.
fn log() -> String {
    let file = "fixtures/claude/generated/longhaul/-home-dev-proj/703ad6e2-1d62-41f4-9458-d210f8be4c06.jsonl";
    repository().join(file).display().to_string()
}

#[track_caller]
fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.shown()))
}

#[test]
fn a_log_becomes_notes_and_its_end() {
    let env = TestEnv::new();
    let ran = env.run(&["compact", &log()]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert_snapshot!("compact", ran.shown());
    let value = json(&env.run(&["compact", &log(), "--json"]));
    assert_eq!(value["event"], "compaction.full");
    assert_eq!(value["fell_through"]["name"], "no_summary");
    let figures = &value["figures"];
    assert!(figures["tokens_after"].as_u64() < figures["tokens_before"].as_u64());
    assert_eq!(value["boundary"]["trigger"], "manual");
    assert!(
        value["summary"]["text"]
            .as_str()
            .unwrap()
            .contains("The user's last request")
    );
    // Nothing was written.
    assert!(!env.home().join("memory/throughline.db").exists());
}

#[test]
fn notes_by_hand() {
    let env = TestEnv::new();
    let notes = env.home().join("notes.md");
    let run = |text: &str, covers: &[&str]| {
        std::fs::write(&notes, text).unwrap();
        let notes = notes.display().to_string();
        let log = log();
        let mut args = vec!["compact", &log, "--json", "--summary", &notes];
        args.extend(covers);
        json(&env.run(&args))
    };
    let bare = run("# Title\n# Task\n", &[]);
    assert_eq!(bare["fell_through"]["name"], "bare_template");
    let lost = run("# Task\nSort.\n", &["--covers", "nobody"]);
    assert_eq!(lost["fell_through"]["name"], "coverage_lost");
}

#[test]
fn what_cannot_be_compacted_says_why() {
    let env = TestEnv::new();
    assert_snapshot!(
        env.run(&["compact", &log(), "--threshold", "9"]).shown(),
        @""
    );
    let tight = json(&env.run(&["compact", &log(), "--threshold", "9", "--json"]));
    assert_eq!(tight["event"], "compaction.declined.still_too_large");
    let readme = repository().join("README.md").display().to_string();
    assert_snapshot!(env.run(&["compact", &readme]).shown(), @"");
    assert_snapshot!(env.run(&["compact", "nothing"]).shown(), @"");
}

#[test]
fn it_can_be_switched_off() {
    let env = TestEnv::new();
    let config = env.home().join("memory/config.toml");
    std::fs::write(&config, "[compaction]\nenabled = false\n").unwrap();
    let switched = |value: &str| {
        let output = env
            .command(&["compact", &log(), "--json"])
            .env("THROUGHLINE_COMPACTION", value)
            .output()
            .unwrap();
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        (
            value["event"].as_str().unwrap().to_owned(),
            output.status.code(),
        )
    };
    let off = ("compaction.declined.off".to_owned(), Some(1));
    let on = ("compaction.full".to_owned(), Some(0));
    assert_eq!(switched(""), off);
    assert_eq!(switched("on"), on);
    std::fs::remove_file(&config).unwrap();
    assert_eq!(switched("off"), off);
    assert_eq!(switched(""), on);
}

#[test]
fn a_session_is_compacted_from_its_log_and_never_from_memory() {
    let env = TestEnv::new();
    let home = env.home().join("projects/-home-dev-proj");
    let log_copy = home.join("703ad6e2-1d62-41f4-9458-d210f8be4c06.jsonl");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::copy(log(), &log_copy).unwrap();
    let root = env.home().join("projects").display().to_string();
    env.run(&["ingest", "--root", &root]);
    let by_session = json(&env.run(&["compact", "703ad6e2", "--json"]));
    let by_file = json(&env.run(&["compact", &log_copy.display().to_string(), "--json"]));
    assert_eq!(by_session["figures"], by_file["figures"]);
    assert_eq!(by_session["kept"], by_file["kept"]);
    std::fs::remove_file(&log_copy).unwrap();
    assert_snapshot!(env.run(&["compact", "703ad6e2"]).shown(), @"");
}
