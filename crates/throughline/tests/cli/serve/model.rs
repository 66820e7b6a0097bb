//! The daemon with a model on loopback that follows a script.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use testkit::model_server::{Act, ModelServer};

use super::client::Daemon;
use super::life::wait_for;
use crate::compact::TOLD;
use crate::env::TestEnv;
use crate::stages::{SESSION, configure, edit, live_log, summary_file};

#[test]
fn the_configured_model_renews_summaries_as_logs_grow() {
    let env = TestEnv::new();
    live_log(&env, 8);
    assert_eq!(env.run(&["ingest"]).code, Some(0));
    let path = summary_file(&env);
    let words = "The shelves feed the index.";
    let server = ModelServer::start(vec![edit(&path, words), Act::Say("done")]);
    configure(&env, &server, "");
    let daemon = Daemon::start_with_key(&env);
    live_log(&env, 16);
    wait_for("the model has edited the summary", || {
        fs::read_to_string(&path).unwrap().contains(words)
    });
    wait_for("the ledger tells of it", || {
        let own = env.run(&["usage", "--own", "--json"]);
        let own: Value = serde_json::from_str(&own.stdout).unwrap();
        own["calls"].as_array().unwrap().len() == 2
    });
    assert_eq!(daemon.get("/health")["status"], "ok");
}

#[test]
fn a_request_has_the_model_renew_the_summary_and_state_facts() {
    let env = TestEnv::new();
    let post = |daemon: &Daemon, kind: &str, content: &str| {
        let record = json!({
            "type": kind, "content": content, "session_id": format!("claude:{SESSION}"),
            "workspace": "/work/shop",
        });
        daemon.post("/memory/record", &record);
    };
    let summarize = format!("/memory/summarize?session_id={SESSION}");
    let daemon = Daemon::start(&env);
    post(&daemon, "prompt", "Sort the shelves.");
    let first = daemon.ask("POST", &summarize, None).json();
    assert_eq!(first["summary"]["method"], "embedded", "{first}");
    post(&daemon, "assistant", "They are sorted.");
    drop(daemon);
    let path = PathBuf::from(first["summary"]["path"].as_str().unwrap());
    let words = "The shelves feed the index.";
    let fact = r#"[{"text": "Shelves are sorted by name in the shop.", "tags": ["shelves"]}]"#;
    let acts = vec![edit(&path, words), Act::Say("done"), Act::Say(fact)];
    let server = ModelServer::start(acts);
    configure(&env, &server, "");
    let daemon = Daemon::start_with_key(&env);
    let asked = daemon.ask("POST", &summarize, None);
    let done = asked.json();
    assert_eq!(done["summary"]["method"], "model", "{done}");
    assert!(done["summary"]["content"].as_str().unwrap().contains(words));
    let facts = done["facts"].as_array().unwrap().iter();
    let by_model: Vec<_> = facts.filter(|fact| fact["trust"] == "model").collect();
    assert_eq!(by_model[0]["tags"], json!(["shelves"]), "{done}");
    assert_eq!(by_model[0]["session_id"], format!("claude:{SESSION}"));
    assert_eq!(done["model_note"], Value::Null);
}

#[test]
fn a_model_that_hangs_holds_up_neither_hooks_nor_the_end() {
    let env = TestEnv::new();
    live_log(&env, 8);
    assert_eq!(env.run(&["ingest"]).code, Some(0));
    let server = ModelServer::start(vec![Act::Hang]);
    configure(&env, &server, "timeout_ms = 600000\n");
    let mut daemon = Daemon::start_with_key(&env);
    live_log(&env, 16);
    server.wait_for(1);
    let log = env.home().join(".claude/projects/-w/other.jsonl");
    fs::create_dir_all(log.parent().unwrap()).unwrap();
    let line = json!({
        "type": "user", "uuid": "u1", "sessionId": "other", "cwd": "/w",
        "timestamp": "2026-11-16T08:59:00Z",
        "message": {"role": "user", "content": "where does the heron stand?"},
    });
    fs::write(&log, format!("{line}\n")).unwrap();
    let stop = json!({
        "session_id": "other", "transcript_path": log, "cwd": "/w",
        "hook_event_name": "Stop", "stop_hook_active": false,
    });
    assert_eq!(daemon.ask("POST", "/hook", Some(&stop)).status, 200);
    wait_for("the session is read", || {
        daemon.get("/memory/search?q=heron")["hits"] != json!([])
    });
    daemon.signal("-TERM");
    assert!(daemon.child.wait().unwrap().success());
}

#[test]
fn the_model_gives_the_account_of_a_compaction_unless_it_is_not_to_be_asked() {
    let env = TestEnv::new();
    live_log(&env, 60);
    let server = ModelServer::start(vec![Act::Say(TOLD)]);
    configure(
        &env,
        &server,
        "[summary]\nenabled = false\n[facts]\nby_model = false\n\
         [compaction]\nmin_tokens = 50\nmin_messages = 1\n",
    );
    assert_eq!(env.run(&["ingest"]).code, Some(0));
    let daemon = Daemon::start_with_key(&env);
    let asked = json!({"session_id": SESSION, "embedded": true});
    assert_eq!(daemon.post("/compact", &asked)["event"], "compaction.full");
    assert_eq!(server.got().len(), 0);
    let told = daemon.post("/compact", &json!({"session_id": SESSION}));
    assert_eq!(told["event"], "compaction.full_by_model", "{told}");
    let text = told["summary"]["text"].as_str().unwrap();
    assert!(text.contains("It is sorted by name now."), "{text}");
    // The command returns the same, except for what only it can read.
    let embedded = env.run(&["compact", SESSION, "--embedded", "--json"]);
    let embedded: Value = serde_json::from_str(&embedded.stdout).unwrap();
    assert_eq!(embedded["kept"], daemon.post("/compact", &asked)["kept"]);
}
