//! The stages after a sweep: summaries, facts and digests, with and without a model.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::model_server::{Act, ModelServer};

use crate::env::{CommandOutput, TestEnv};

pub const SESSION: &str = "7a1c0e55-0000-4000-8000-00000000beef";
const HINT: &str = "_How the parts of the system fit together_";

/// A log of a session that went on until half an hour ago, in so many turns of about 900 tokens.
pub fn live_log(env: &TestEnv, turns: usize) -> PathBuf {
    let folder = env.home().join(".claude/projects/-work-shop");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{SESSION}.jsonl"));
    let lines: Vec<_> = (0..turns).map(turn).collect();
    std::fs::write(&path, lines.concat()).unwrap();
    path
}

fn turn(number: usize) -> String {
    let line = |role: &str, content: Value, name: &str| {
        let line = json!({
            "type": role, "uuid": format!("{name}{number}"), "parentUuid": null,
            "sessionId": SESSION,
            "cwd": "/work/shop", "timestamp": format!("2026-11-16T08:{:02}:00Z", number.min(29)),
            "message": {
                "id": format!("msg_{number}"), "role": role, "model": "claude-sonnet-5",
                "content": content,
            },
        });
        format!("{line}\n")
    };
    let asked = format!("Sort shelf {number} by name. {}", "it ".repeat(450));
    let said =
        json!([{"type": "text", "text": format!("Sorted shelf {number}. {}", "so ".repeat(450))}]);
    line("user", json!(asked), "u") + &line("assistant", said, "a")
}

pub fn configure(env: &TestEnv, server: &ModelServer, more: &str) {
    env.configure_model(server, more);
}

fn run(env: &TestEnv, args: &[&str]) -> CommandOutput {
    env.run_with_key(args, "not-a-real-key")
}

#[track_caller]
fn json_of(ran: &CommandOutput) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.shown()))
}

pub fn summary_file(env: &TestEnv) -> PathBuf {
    PathBuf::from(run(env, &["summary", SESSION, "--path"]).stdout.trim())
}

pub fn edit(path: &Path, words: &str) -> Act {
    let new = format!("{HINT}\n{words}");
    let input = json!({"file_path": path, "old_string": HINT, "new_string": new});
    Act::Call(vec![("edit", input)])
}

#[test]
fn an_ingest_tells_what_it_found_and_wrote() {
    let env = TestEnv::new();
    live_log(&env, 8);
    let report = json_of(&run(&env, &["ingest", "--json"]));
    assert_eq!(report["facts"]["sessions"], 1);
    assert!(report["facts"]["facts"].is_u64());
    assert_eq!(report["facts_by_model"], Value::Null);
    assert_eq!(
        report["summaries"]["written"][0],
        format!("claude:{SESSION}")
    );
    assert_eq!(report["summaries"]["by_model"], 0);
}

#[test]
fn an_ingest_lets_the_model_renew_summaries_and_find_facts() {
    let env = TestEnv::new();
    live_log(&env, 8);
    assert_eq!(run(&env, &["ingest"]).code, Some(0));
    let path = summary_file(&env);
    let words = "The shelves feed the index.";
    let said = "[{\"text\": \"Shelves are sorted by name in the shop.\", \"tags\": [\"shelves\"]}]";
    let server = ModelServer::start(vec![edit(&path, words), Act::Say("done"), Act::Say(said)]);
    configure(&env, &server, "");
    live_log(&env, 16);
    let ran = run(&env, &["ingest", "--json"]);
    let report = json_of(&ran);
    assert_eq!(report["summaries"]["by_model"], 1, "{}", ran.shown());
    assert_eq!(report["facts_by_model"]["facts"], 1, "{}", ran.shown());
    assert!(std::fs::read_to_string(&path).unwrap().contains(words));
    let facts = json_of(&run(&env, &["facts", "--json"]));
    assert_eq!(facts[0]["trust"], "model");
    let own = json_of(&run(&env, &["usage", "--own", "--json"]));
    let calls = own["calls"].as_array().unwrap().iter();
    let purposes: Vec<_> = calls
        .map(|call| call["purpose"].as_str().unwrap())
        .collect();
    assert_eq!(purposes, ["facts", "summary", "summary"]);
    let again = json_of(&run(&env, &["ingest", "--json"]));
    assert_eq!(
        (&again["facts_by_model"]["sessions"], server.got().len()),
        (&json!(0), 3)
    );
}

#[test]
fn nobody_is_asked_who_is_switched_off_or_has_no_key() {
    let server = ModelServer::start(vec![]);
    let env = TestEnv::new();
    configure(&env, &server, "enabled = false\n");
    live_log(&env, 8);
    assert_eq!(run(&env, &["ingest"]).code, Some(0));
    configure(
        &env,
        &server,
        "[facts]\nby_model = false\n[summary]\nenabled = false\n",
    );
    live_log(&env, 16);
    assert_eq!(run(&env, &["ingest"]).code, Some(0));
    configure(&env, &server, "");
    live_log(&env, 24);
    let off = env
        .command(&["ingest"])
        .env("THROUGHLINE_MODEL", "off")
        .output();
    assert!(off.unwrap().status.success());
    live_log(&env, 32);
    // The API key is missing: that is reported, and everything else is done.
    let ran = env.run(&["ingest", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(
        ran.stderr
            .contains("the environment variable TEST_KEY is not set"),
        "{}",
        ran.shown()
    );
    assert_eq!(
        json_of(&ran)["summaries"]["written"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(server.got().len(), 0);
}

#[test]
fn facts_are_asked_for_by_hand() {
    let env = TestEnv::new();
    live_log(&env, 4);
    assert_eq!(run(&env, &["ingest"]).code, Some(0));
    let none = run(&env, &["facts", "--extract", SESSION]);
    assert_eq!(none.code, Some(2));
    assert!(
        none.stderr.contains("no model is configured"),
        "{}",
        none.shown()
    );
    let said =
        "[{\"text\": \"Shelves are sorted by name.\"}, {\"text\": \"/clear\"}, {\"fact\": 1}]";
    let server = ModelServer::start(vec![Act::Say(said), Act::Say(said), Act::Status(401, None)]);
    configure(&env, &server, "");
    let ran = run(&env, &["facts", "--extract", SESSION]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert!(
        ran.stderr
            .starts_with("Found 1 fact; 0 known before, 2 left out.\n"),
        "{}",
        ran.stderr
    );
    let again = json_of(&run(&env, &["facts", "--extract", SESSION, "--json"]));
    assert_eq!(again["facts"][0]["repeated"], true);
    let refused = run(&env, &["facts", "--extract", SESSION]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("HTTP status 401") && refused.stderr.contains("hint: "));
}
