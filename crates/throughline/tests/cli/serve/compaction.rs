//! Compaction as a service: requests in and out, in the formats of both APIs.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value, json};
use testkit::model_server::ModelServer;

use super::client::{Answer, Daemon, request};
use crate::env::{TestEnv, repository};

/// Limits with which the short sessions of the fixtures can be compacted.
const LOW_LIMITS: &str =
    "[compaction]\nmin_tokens = 1\nmin_messages = 1\nmax_tokens = 2000\nauto_tokens = 300\n";

fn start_with_limits(env: &TestEnv, limits: &str) -> Daemon {
    std::fs::write(env.home().join("memory/config.toml"), limits).unwrap();
    Daemon::start(env)
}

/// Sends a request to the loopback model, which checks it as strictly as the real API.
#[track_caller]
fn send(server: &ModelServer, format: &str, mut body: Value, of: &str) {
    let path = match format {
        "anthropic" => "/v1/messages",
        _ => "/v1/chat/completions",
    };
    body["stream"] = json!(true);
    let headers = [
        ("x-api-key", "not-a-real-key"),
        ("anthropic-version", "2023-06-01"),
    ];
    let text = body.to_string();
    let sent = request("POST", path, "localhost", &headers, Some(&text));
    let address = server.url().replace("http://", "");
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(sent.as_bytes()).unwrap();
    let answer = Answer::read(stream);
    assert_eq!(answer.status, 200, "{of} as {format}: {}", answer.body);
}

#[test]
fn every_session_of_the_fixtures_becomes_requests_that_models_accept() {
    let env = TestEnv::new();
    let root = repository().join("fixtures").display().to_string();
    env.run(&["ingest", "--root", &root]);
    let daemon = start_with_limits(&env, LOW_LIMITS);
    let server = ModelServer::start(Vec::new());
    let mut events: BTreeMap<String, usize> = BTreeMap::new();
    let sessions = daemon.get("/sessions?limit=500");
    let sessions = sessions.as_array().unwrap();
    for session in sessions {
        let id = session["id"].as_str().unwrap();
        for format in ["anthropic", "openai"] {
            let body = json!({"session_id": id, "format": format, "embedded": true});
            let answer = daemon.ask("POST", "/compact", Some(&body));
            // Some sessions of the fixtures are rows of a database or pasted records.
            let event = match answer.status {
                200 => answer.json()["event"].as_str().unwrap().to_owned(),
                status => format!("{status}: {}", answer.body),
            };
            *events.entry(event).or_default() += 1;
            let Value::Object(mut request) = answer.json()["request"].take() else {
                continue;
            };
            // Not every log names its model.
            request.entry("model").or_insert(json!("any"));
            let request = Value::Object(request);
            send(&server, format, request.clone(), id);
            // The output is valid input.
            let again = daemon.post("/compact", &request);
            if again["request"].is_object() {
                send(&server, format, again["request"].clone(), id);
            }
        }
    }
    println!("{} sessions: {events:#?}", sessions.len());
    let count = |event: &str| events.get(event).copied().unwrap_or_default();
    let compacted = count("compaction.full") + count("compaction.used_summary");
    assert!(sessions.len() > 100 && compacted > 80, "{events:#?}");
    let is_expected = |event: &&String| event.starts_with("compaction.");
    assert!(
        events.keys().all(|event| is_expected(&event)),
        "{events:#?}"
    );
}

#[test]
fn a_list_of_messages_is_compacted_with_what_the_caller_knows() {
    let env = TestEnv::new();
    let daemon = start_with_limits(&env, LOW_LIMITS);
    let long = "the list is sorted by name and then by size ".repeat(60);
    let messages = json!([
        {"role": "user", "content": format!("Sort the list. {long}"), "uuid": "m1"},
        {"role": "assistant", "uuid": "m2", "content": [
            {"type": "thinking", "thinking": "Sort it.", "signature": "c2lnbmVk"},
            {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/p/a.rs"}}]},
        {"role": "user", "uuid": "m3", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "fn a() {}"},
            {"type": "text", "text": "Is it done?"}]},
    ]);
    let body = json!({
        "model": "m", "max_tokens": 9, "tools": [{"name": "Read", "input_schema": {}}],
        "messages": messages, "summary": "# Task\nSort it.", "last_summarized_id": "m1",
        "hook_results": ["Run the linter."], "trigger": "auto",
    });
    let answer = daemon.post("/compact", &body);
    assert_eq!(answer["event"], "compaction.used_summary", "{answer}");
    assert_eq!(answer["boundary"]["trigger"], "auto");
    assert_eq!(answer["boundary"]["last"], "m3");
    assert_eq!(answer["hook_results"], "Run the linter.");
    let request = &answer["request"];
    assert_eq!(request["messages"][1]["content"], messages[1]["content"]);
    assert!(
        request["messages"][0]
            .to_string()
            .contains("Run the linter.")
    );
    send(
        &ModelServer::start(Vec::new()),
        "anthropic",
        request.clone(),
        "the list",
    );
    let short = json!([{"role": "user", "content": "hello"}]);
    let declined = daemon.post("/compact", &short);
    assert_eq!(declined["declined"]["name"], "too_short", "{declined}");
    for wrong in [
        json!({}),
        json!({"session_id": ""}),
        json!({"messages": [], "format": "x"}),
    ] {
        assert_eq!(
            daemon.ask("POST", "/compact", Some(&wrong)).status,
            400,
            "{wrong}"
        );
    }
}
