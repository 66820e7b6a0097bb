//! `throughline compact` on logs and sessions.

use insta::assert_snapshot;
use serde_json::Value;
use testkit::model_server::{Act, ModelServer};

use crate::env::{CommandOutput, TestEnv, repository};

/// A log with requests, a rule, changes and a failure.
fn log() -> String {
    let file = concat!(
        "fixtures/claude/generated/inventory/-home-dev-proj/",
        "4c5420d7-85c7-46b9-b34d-eaf1c42847fd.jsonl"
    );
    repository().join(file).display().to_string()
}

/// Limits with which the short log can be compacted.
pub const LOW_LIMITS: &str = "[compaction]\nmin_tokens = 50\nmin_messages = 1\n";

/// Returns a machine on which short conversations are compacted.
fn machine() -> TestEnv {
    let env = TestEnv::new();
    std::fs::write(env.home().join("memory/config.toml"), LOW_LIMITS).unwrap();
    env
}

#[track_caller]
fn json(ran: &CommandOutput) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.shown()))
}

#[test]
fn a_log_becomes_notes_and_its_end() {
    let env = machine();
    let ran = env.run(&["compact", &log()]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    // The notes contain the path of the log, so their size depends on it.
    let is_sized = |line: &&str| line.starts_with("notes ") || line.starts_with("after ");
    let shown = ran.shown();
    let shown: Vec<_> = shown.lines().filter(|line| !is_sized(line)).collect();
    assert_snapshot!("compact", shown.join("\n"));
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
    let env = machine();
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
    let unread = json(&env.run(&["compact", &log(), "--json", "--summary", "/nowhere.md"]));
    assert_eq!(unread["fell_through"]["name"], "failed");
    let lost = run("# Task\nSort.\n", &["--covers", "nobody"]);
    assert_eq!(lost["fell_through"]["name"], "coverage_lost");
}

#[test]
fn what_cannot_be_compacted_says_why() {
    let env = machine();
    let ran = env.run(&["compact", &log(), "--threshold", "9"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr
            .starts_with("The summary was not used: the session has no summary yet.\n")
    );
    assert!(
        ran.stderr.ends_with("not fewer than the threshold of 9.\n"),
        "{}",
        ran.stderr
    );
    let tight = json(&env.run(&["compact", &log(), "--threshold", "9", "--json"]));
    assert_eq!(tight["event"], "compaction.declined.still_too_large");
    let readme = repository().join("README.md").display().to_string();
    assert_snapshot!(env.run(&["compact", &readme]).shown(), @r"
    error: $REPO/README.md is not the log of a known agent
    hint: `throughline doctor` lists the agents
    [2]
    ");
    assert_snapshot!(env.run(&["compact", "nothing"]).shown(), @r"
    error: there is no store in $HOME/memory
    hint: run `throughline up` to set it up, or `throughline ingest` to only read the logs
    [2]
    ");
}

#[test]
fn the_running_summary_can_be_switched_off_and_a_full_compaction_remains() {
    let env = TestEnv::new();
    let config = env.home().join("memory/config.toml");
    let reason = |switches: &str, value: &str| {
        std::fs::write(&config, format!("{LOW_LIMITS}{switches}")).unwrap();
        let output = env
            .command(&["compact", &log(), "--json"])
            .env("THROUGHLINE_COMPACTION", value)
            .output()
            .unwrap();
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(value["event"], "compaction.full", "{value}");
        value["fell_through"]["name"].as_str().unwrap().to_owned()
    };
    for switch in ["enabled = false\n", "[summary]\nenabled = false\n"] {
        assert_eq!(reason(switch, ""), "disabled");
        assert_eq!(reason(switch, "on"), "no_summary");
    }
    assert_eq!(reason("", "off"), "disabled");
    assert_eq!(reason("", ""), "no_summary");
}

#[test]
fn a_short_conversation_is_declined_by_name() {
    let env = TestEnv::new();
    let ran = env.run(&["compact", &log(), "--embedded"]);
    assert_eq!(ran.code, Some(1), "{}", ran.shown());
    let rule = "at least 10000 tokens and 5 messages with text";
    assert!(ran.stderr.contains(rule), "{}", ran.stderr);
    let value = json(&env.run(&["compact", &log(), "--json", "--auto"]));
    assert_eq!(value["event"], "compaction.declined.not_due");
}

#[test]
fn a_request_on_standard_input_becomes_a_request() {
    let env = machine();
    let long = "the list is sorted by name and then by size ".repeat(60);
    let secret = "ghp_Zq83hfKw02mmVbX1Zq83hfKw02mmVbX1Zq83";
    let messages = serde_json::json!([
        {"role": "system", "content": "You are brief."},
        {"role": "user", "content": format!("Sort the list. {long} {secret}")},
        {"role": "assistant", "content": "Sorted. Anything else that should be done with it?"},
        {"role": "user", "content": format!("Now the docs, with {secret}, and keep it at one page, \
            because nobody reads more than one page of docs about a list of names and sizes.")},
    ]);
    let body = serde_json::json!({"model": "gpt-5", "messages": messages, "temperature": 0.5});
    let run = |args: &[&str], body: &Value| {
        let args = [&["compact", "-", "--embedded"], args].concat();
        env.run_with(&args, body.to_string().as_bytes())
    };
    let request = json(&run(&["--request"], &body));
    assert_eq!(request["model"], "gpt-5");
    assert_eq!(request["temperature"], 0.5);
    let sent = request["messages"].as_array().unwrap();
    assert_eq!(sent[0], messages[0]);
    assert_eq!(sent.last(), messages.as_array().unwrap().last());
    let notes = sent[1]["content"].to_string();
    assert!(notes.contains("The beginning of this conversation was cut off"));
    assert!(
        !notes.contains(secret) && notes.contains("[redacted:"),
        "{notes}"
    );
    let value = json(&run(&["--json"], &messages));
    assert_eq!(value["summary"]["is_compact_summary"], true);
    assert_eq!(value["summary"]["is_visible_in_transcript_only"], true);
    assert_eq!(value["request"]["messages"], request["messages"]);
    let wrong = run(&["--json"], &serde_json::json!([{"role": "robot"}]));
    assert_eq!(wrong.code, Some(2), "{}", wrong.shown());
}

#[test]
fn a_session_is_compacted_from_its_log_and_never_from_memory() {
    let env = machine();
    let home = env.home().join("projects/-home-dev-proj");
    let log_copy = home.join("4c5420d7-85c7-46b9-b34d-eaf1c42847fd.jsonl");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::copy(log(), &log_copy).unwrap();
    let root = env.home().join("projects").display().to_string();
    env.run(&["ingest", "--root", &root]);
    let by_session = json(&env.run(&["compact", "4c5420d7", "--json"]));
    let by_file = json(&env.run(&["compact", &log_copy.display().to_string(), "--json"]));
    assert_eq!(by_session["figures"], by_file["figures"]);
    assert_eq!(by_session["kept"], by_file["kept"]);
    std::fs::remove_file(&log_copy).unwrap();
    let shown = env.run(&["compact", "4c5420d7"]).shown();
    let shown = shown.replace("4c5420d7-85c7-46b9-b34d-eaf1c42847fd", "$ID");
    assert_snapshot!(shown, @r"
    error: the log of claude:$ID no longer exists, so there is nothing to compact
    hint: `throughline export --raw` writes the archived copy, with secrets redacted
    [2]
    ");
}

/// Claude Code continues a session in a new file when it is resumed in another folder, and some
/// versions copy the earlier messages into it.
#[test]
fn a_session_in_several_files_is_compacted_as_one() {
    let env = machine();
    let name = "4c5420d7-85c7-46b9-b34d-eaf1c42847fd.jsonl";
    let text = std::fs::read_to_string(log()).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let middle = lines.len() / 2;
    let write = |folder: &str, lines: &[&str]| {
        let folder = env.home().join("projects").join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(name), lines.concat()).unwrap();
    };
    // The later file is found first.
    write("-a-later", &lines[middle - 5..]);
    write("-b-earlier", &lines[..middle]);
    let root = env.home().join("projects").display().to_string();
    env.run(&["ingest", "--root", &root]);
    let whole = json(&env.run(&["compact", &log(), "--json"]));
    let parts = json(&env.run(&["compact", "4c5420d7", "--json"]));
    assert_eq!(
        parts["figures"]["messages_before"],
        whole["figures"]["messages_before"]
    );
    assert_eq!(parts["kept"], whole["kept"]);
    std::fs::remove_file(env.home().join("projects/-a-later").join(name)).unwrap();
    let rest = json(&env.run(&["compact", "4c5420d7", "--json"]));
    assert!(
        rest["figures"]["messages_before"].as_u64() > Some(0),
        "{rest}"
    );
}

pub const TOLD: &str = "# Title\nThe inventory\n# Current state\nIt is sorted by name now.\n\
    # Task\nSort it.\n# Files and functions\n# Commands and workflow\n# Errors and corrections\n\
    # System documentation\n# Learnings\n# Key results\n# Worklog\n";

/// Runs with a model on loopback that follows a script.
fn with_model(env: &TestEnv, script: Vec<Act>, args: &[&str]) -> (CommandOutput, usize) {
    let server = ModelServer::start(script);
    env.configure_model(&server, LOW_LIMITS);
    let ran = env.run_with_key(args, "not-a-real-key");
    (ran, server.got().len())
}

#[test]
fn a_configured_model_gives_the_account_and_the_ledger_tells() {
    let env = TestEnv::new();
    let args = ["compact", &log(), "--json"];
    let (ran, asked) = with_model(&env, vec![Act::Say(TOLD)], &args);
    let value = json(&ran);
    assert_eq!(
        (value["event"].as_str(), asked),
        (Some("compaction.full_by_model"), 1)
    );
    assert_eq!(value["model_declined"], Value::Null);
    let text = value["summary"]["text"].as_str().unwrap();
    assert!(text.contains("It is sorted by name now."));
    let own = json(&env.run(&["usage", "--own", "--json"]));
    assert_eq!(own["calls"][0]["purpose"], "compaction");
    let embedded = ["compact", &log(), "--json", "--embedded"];
    let (ran, asked) = with_model(&env, vec![Act::Say(TOLD)], &embedded);
    assert_eq!(
        (json(&ran)["event"].as_str(), asked),
        (Some("compaction.full"), 0)
    );
}

#[test]
fn a_model_that_fails_keeps_nobody_from_compacting() {
    let env = TestEnv::new();
    let args = ["compact", &log()];
    let (ran, _) = with_model(&env, vec![Act::Status(401, None)], &args);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(
        ran.stderr.contains(
            "The model was not used: the model produced no usable summary: \
             the provider returned HTTP status 401: Overloaded."
        ),
        "{}",
        ran.stderr
    );
    // A missing API key does not fail either.
    let ran = env.run(&["compact", &log(), "--json"]);
    let value = json(&ran);
    assert_eq!(value["event"], "compaction.full");
    assert_eq!(value["model_declined"]["name"], "model_failed");
}
