//! Every route, over the socket.

use serde_json::{Value, json};

use super::client::Daemon;
use crate::env::TestEnv;

/// Encodes a word for a URL.
fn encode(word: &str) -> String {
    word.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn record(text: &str) -> Value {
    json!({
        "session_id": "claude:given-1", "type": "prompt", "content": text,
        "folder": "/code/widgets", "at": "2026-11-15T09:00:00Z",
    })
}

#[test]
fn a_record_is_given_found_read_pinned_and_forgotten() {
    let env = TestEnv::new();
    let daemon = Daemon::start(&env);
    let kept = daemon.post(
        "/memory/record",
        &record("The wombat cache is cleared at noon"),
    );
    assert_eq!(kept["known"], false);
    let again = daemon.post(
        "/memory/record",
        &record("The wombat cache is cleared at noon"),
    );
    assert_eq!((&again["known"], &again["id"]), (&json!(true), &kept["id"]));

    let id = kept["id"].as_str().unwrap();
    let read = daemon.get(&format!("/memory/record/{id}"));
    assert_eq!(read["content"], "The wombat cache is cleared at noon");
    assert_eq!(
        (&read["trust"], &read["type"]),
        (&json!("user"), &json!("prompt"))
    );
    let search = "/memory/search?q=wombat+cache&k=5&type=prompt&workspace=widgets";
    let found = daemon.get(search);
    assert_eq!(found["hits"][0]["id"], id);
    assert!(found["hits"][0]["details"].is_null());
    let explained = daemon.get(&format!("{search}&explain=true"));
    assert!(explained["hits"][0]["details"]["why"].is_array());
    let none = daemon.get("/memory/search?q=wombat&since=2026-11-16");
    assert_eq!(none["hits"], json!([]));
    let of_session = daemon.get("/memory/search?q=wombat&session_id=claude:given-1");
    assert_eq!(of_session["hits"][0]["id"], id);

    let pinned = daemon.post("/memory/pin", &json!({ "id": id }));
    let fact = pinned["id"].as_str().unwrap();
    assert_eq!(daemon.get("/memory/facts")["facts"][0]["pinned"], true);
    daemon.post("/memory/pin", &json!({ "id": fact, "pinned": false }));
    assert_eq!(daemon.get("/memory/facts")["facts"][0]["pinned"], false);

    let path = format!("/memory/record/{id}");
    let gone = daemon.ask("DELETE", &path, None);
    assert_eq!(gone.status, 200, "{}", gone.body);
    assert_eq!(gone.json()["traces_cleared"], true);
    assert_eq!(daemon.ask("GET", &path, None).status, 404);
    assert_eq!(daemon.get("/memory/search?q=wombat")["hits"], json!([]));
    assert_eq!(daemon.get("/memory/facts")["facts"], json!([]));
    let back = daemon.post(
        "/memory/record",
        &record("The wombat cache is cleared at noon"),
    );
    assert_eq!(back["known"], true, "what was forgotten came back");
    assert_eq!(daemon.ask("GET", &path, None).status, 404);
}

#[test]
fn a_record_with_fields_of_its_own_is_stored() {
    let env = TestEnv::new();
    let daemon = Daemon::start(&env);
    let mut given = record("The wombat cache is cleared at noon");
    given["role"] = json!("user");
    given["usage"] = json!({ "tokens": 7 });
    given["ts"] = json!(1_794_733_200_000.75);
    let kept = daemon.post("/memory/record", &given);
    assert_eq!(kept["ignored"], json!(["role", "usage"]));
    let id = kept["id"].as_str().unwrap();
    let read = daemon.get(&format!("/memory/record/{id}"));
    assert_eq!(read["ts"], 1_794_733_200_000_i64);
}

/// Whoever writes `dry_run` without a value must not lose anything.
#[test]
fn a_dry_run_needs_no_value() {
    let env = TestEnv::new();
    let daemon = Daemon::start(&env);
    daemon.post("/memory/record", &record("The wombat cache"));
    for flag in ["dry_run", "dry_run=", "dry_run=true", "dry_run=1"] {
        for path in [
            "/workspaces?path=/code/widgets&",
            "/sessions/claude:given-1?",
        ] {
            let planned = daemon.ask("DELETE", &format!("{path}{flag}"), None).json();
            assert_eq!(planned["dry_run"], true, "{path}{flag}");
        }
    }
    let path = "/sessions/claude:given-1?dry_run=false";
    let gone = daemon.ask("DELETE", path, None).json();
    assert_eq!(
        (&gone["dry_run"], &gone["records"]),
        (&json!(false), &json!(1))
    );
}

#[test]
fn secrets_and_files_that_hold_them_do_not_get_in() {
    let env = TestEnv::new();
    let daemon = Daemon::start(&env);
    let token = format!("ghp_{}", "a1B2".repeat(9));
    let kept = daemon.post(
        "/memory/record",
        &record(&format!("export GITHUB_TOKEN={token}")),
    );
    let read = daemon.get(&format!("/memory/record/{}", kept["id"].as_str().unwrap()));
    assert!(!read.to_string().contains(&token), "{read}");
    let mut env_file = record("PASSWORD=hunter2hunter2");
    env_file["type"] = json!("tool_result");
    env_file["path"] = json!("/code/widgets/.env");
    let kept = daemon.post("/memory/record", &env_file);
    let read = daemon.get(&format!("/memory/record/{}", kept["id"].as_str().unwrap()));
    assert!(read["content"].as_str().unwrap().starts_with("[not kept: "));
    let mut fenced = record("");
    fenced["content"] = json!("<throughline-memory>old</throughline-memory> go on");
    let kept = daemon.post("/memory/record", &fenced);
    let read = daemon.get(&format!("/memory/record/{}", kept["id"].as_str().unwrap()));
    assert_eq!(read["content"], " go on");
}

#[test]
fn sessions_are_listed_read_and_paged() {
    let env = TestEnv::with_samples();
    let daemon = Daemon::start(&env);
    let listed = daemon.get("/sessions?limit=3");
    let id = listed[0]["id"].as_str().unwrap();
    let read = daemon.get(&format!("/sessions/{id}"));
    assert_eq!(read["session"]["id"], id);
    assert!(read["digest"].is_object(), "{read}");
    let mut ids = Vec::new();
    let mut from = json!(0);
    while !from.is_null() {
        let page = daemon.get(&format!("/sessions/{id}/timeline?from={from}&limit=3"));
        ids.extend(page["records"].as_array().unwrap().clone());
        from = page["next"].clone();
    }
    assert_eq!(json!(ids.len()), listed[0]["records"]);
    let all = daemon.get(&format!("/sessions/{id}/timeline?limit=500"));
    assert_eq!(json!(ids), all["records"]);
    assert_eq!(daemon.ask("GET", "/sessions/nobody", None).status, 404);
}

#[test]
fn sessions_are_filtered_and_paged_by_a_cursor() {
    let env = TestEnv::with_samples();
    let daemon = Daemon::start(&env);
    let all = daemon.get("/sessions?all=true");
    let all = all.as_array().unwrap();
    let (mut path, mut ids) = ("/sessions?all=true&limit=2".to_owned(), Vec::new());
    loop {
        let page = daemon.ask("GET", &path, None);
        assert_eq!(page.header("x-total-count"), Some(all.len().to_string()));
        ids.extend(page.json().as_array().unwrap().clone());
        let Some(link) = page.header("link") else {
            break;
        };
        path = link.split(['<', '>']).nth(1).unwrap().to_owned();
    }
    assert_eq!(&ids, all);
    for (name, field) in [
        ("agent", "agent"),
        ("branch", "branch"),
        ("outcome", "outcome"),
    ] {
        let value = all[0][field].as_str().unwrap();
        let expected = all.iter().filter(|session| session[field] == value).count();
        let found = daemon.get(&format!("/sessions?all=true&{name}={value}"));
        assert_eq!(found.as_array().unwrap().len(), expected, "{name}={value}");
    }
    for wrong in [
        "agent=nobody", "kind=odd", "outcome=odd", "cursor=odd", "until=odd",
    ] {
        let answer = daemon.ask("GET", &format!("/sessions?{wrong}"), None);
        assert_eq!(answer.status, 400, "{wrong}");
    }
}

#[test]
fn a_record_opens_in_its_place() {
    let env = TestEnv::with_samples();
    let daemon = Daemon::start(&env);
    let listed = daemon.get("/sessions?limit=1");
    let id = listed[0]["id"].as_str().unwrap();
    let all = daemon.get(&format!("/sessions/{id}/timeline?limit=500"));
    let records = all["records"].as_array().unwrap();
    assert!(records.len() > 4, "{all}");
    let middle = records.len() / 2;
    let record = records[middle]["id"].as_str().unwrap();
    let around = daemon.get(&format!("/sessions/{id}/timeline?around={record}&limit=3"));
    assert_eq!(around["records"][1], records[middle]);
    assert_eq!(around["records"][1]["n"], middle);
    let end = daemon.get(&format!("/sessions/{id}/timeline?from=-2"));
    assert_eq!(
        end["records"].as_array().unwrap(),
        &records[records.len() - 2..]
    );
    let cut = daemon.get(&format!("/sessions/{id}/timeline?cut=5"));
    assert_eq!(cut["records"][0]["content"].as_str().unwrap().len(), 5);
    assert_eq!(cut["records"][0]["bytes"], records[0]["bytes"]);
    let calls = |kind: &str| -> Vec<&Value> {
        let of_kind = records.iter().filter(|record| record["type"] == kind);
        of_kind.map(|record| &record["call"]).collect()
    };
    assert!(
        calls("tool_result")
            .iter()
            .all(|call| calls("tool_use").contains(call))
    );
    let outline = daemon.get(&format!("/sessions/{id}/outline"));
    for (at, record) in records.iter().enumerate() {
        assert_eq!(outline["kind"][at], record["type"]);
        assert_eq!(outline["bytes"][at], record["bytes"]);
        if record["type"] == "artifact" {
            let places = &outline["changes"][record["path"].as_str().unwrap()];
            assert!(places.as_array().unwrap().contains(&json!(at)), "{outline}");
        }
    }
    let word = records[middle]["content"].as_str().unwrap();
    let word = word.split_whitespace().next().unwrap().to_uppercase();
    let found = daemon.get(&format!("/sessions/{id}/find?q={}", encode(&word)));
    assert!(
        found["matches"]
            .as_array()
            .unwrap()
            .contains(&json!(middle)),
        "{found}"
    );
}

#[test]
fn a_session_is_summarized_and_compacted() {
    let env = TestEnv::with_samples();
    let daemon = Daemon::start(&env);
    let listed = daemon.get("/sessions?limit=1");
    let id = listed[0]["id"].as_str().unwrap();
    let path = format!("/memory/summarize?session_id={id}");
    let done = daemon.ask("POST", &path, None);
    assert_eq!(done.status, 200, "{}", done.body);
    assert_eq!(done.json()["summary"]["version"], 1);
    assert_eq!(
        daemon.get(&format!("/sessions/{id}"))["summary"],
        done.json()["summary"]["content"]
    );
    assert!(done.json()["facts"].is_array());
    let compacted = daemon.post("/compact", &json!({ "session_id": id }));
    let event = compacted["event"].as_str().unwrap();
    assert!(event.starts_with("compaction."), "{compacted}");
}

#[test]
fn what_is_exported_is_what_the_command_exports() {
    let env = TestEnv::with_samples();
    let daemon = Daemon::start(&env);
    let answer = daemon.ask("GET", "/memory/export?format=jsonl", None);
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("content-type: application/jsonl"));
    let exported = env.run(&["export"]);
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    // The home folder is masked in the output of the command.
    assert_eq!(lines(&answer.body).len(), lines(&exported.stdout).len());
    assert!(answer.body.len() > 10_000);
    assert_eq!(
        daemon.ask("GET", "/memory/export?format=xml", None).status,
        400
    );
}

#[test]
fn a_fact_is_remembered_and_reaches_a_prompt() {
    let env = TestEnv::new();
    let daemon = Daemon::start(&env);
    let fact =
        json!({ "text": "Use pnpm for installs", "folder": "/code/widgets", "kind": "decision" });
    let kept = daemon.post("/memory/remember", &fact);
    assert_eq!(daemon.post("/memory/remember", &fact)["repeated"], true);
    let prompt = json!({
        "prompt": "How do we run installs with pnpm here?", "folder": "/code/widgets",
        "session_id": "claude:s1",
    });
    let mut dry = prompt.clone();
    dry["dry_run"] = json!(true);
    let preview = daemon.post("/memory/context", &dry);
    // Nothing is shown twice to a session, so what a dry run recorded would now be missing.
    let context = daemon.post("/memory/context", &prompt);
    assert_eq!(preview["text"], context["text"]);
    assert_eq!(context["items"], json!([kept["id"]]), "{context}");
    assert!(
        context["text"]
            .as_str()
            .unwrap()
            .contains("<throughline-memory")
    );
    let elsewhere =
        json!({ "prompt": "How do we run installs with pnpm here?", "folder": "/work/other" });
    let context = daemon.post("/memory/context", &elsewhere);
    assert_eq!(
        (&context["text"], &context["items"]),
        (&json!(""), &json!([]))
    );
    assert!(context["silence"].is_string());
}

#[test]
fn mcp_is_served_over_http_for_the_folder_that_the_header_names() {
    let env = TestEnv::new();
    let daemon = Daemon::start(&env);
    let fact = json!({ "text": "Deploys go through staging first", "folder": "/code/widgets" });
    daemon.post("/memory/remember", &fact);
    let ask = |folder: Option<&str>| {
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {
                "name": "memory_search",
                "arguments": { "query": "staging deploys" },
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "0" },
                    "io.modelcontextprotocol/clientCapabilities": {},
                },
            },
        });
        let bearer = format!("Bearer {}", daemon.token);
        let mut headers = vec![
            ("Accept", "application/json, text/event-stream"),
            ("Authorization", bearer.as_str()),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", "memory_search"),
        ];
        headers.extend(folder.map(|folder| ("Throughline-Folder", folder)));
        let host = daemon.address.clone();
        let body = body.to_string();
        let request = super::client::request("POST", "/mcp", &host, &headers, Some(&body));
        let answer = daemon.tcp(&request);
        assert_eq!(answer.status, 200, "{answer:?}");
        let text = answer
            .body
            .lines()
            .find(|line| line.contains("jsonrpc"))
            .unwrap();
        let text = text.trim_start_matches("data: ");
        let said: Value = serde_json::from_str(text).unwrap();
        said["result"]["structuredContent"].clone()
    };
    assert_eq!(
        ask(Some("/code/widgets"))["hits"].as_array().unwrap().len(),
        1
    );
    assert_eq!(ask(Some("/work/other"))["hits"], json!([]));
    let nowhere = ask(None);
    assert_eq!(nowhere["hits"], json!([]));
    assert!(
        nowhere["note"]
            .as_str()
            .unwrap()
            .contains("client's folder is unknown")
    );
}

#[test]
fn events_tell_of_every_change_and_go_on_where_a_listener_was() {
    let env = TestEnv::new();
    let daemon = Daemon::start(&env);
    daemon.post("/memory/record", &record("before anybody listened"));
    let mut listener = daemon.listen(None);
    let kept = daemon.post("/memory/record", &record("the first that is heard"));
    let (first, told) = listener.next();
    assert_eq!(
        (&told["change"], &told["id"]),
        (&json!("record"), &kept["id"])
    );
    assert_eq!(told["session_id"], "claude:given-1");
    drop(listener);

    let missed = daemon.post("/memory/record", &record("said while nobody listened"));
    let fact = daemon.post("/memory/remember", &json!({ "text": "Nobody heard this" }));
    let mut listener = daemon.listen(Some(&first));
    assert_eq!(listener.next().1["id"], missed["id"]);
    let (_, told) = listener.next();
    assert_eq!(
        (&told["change"], &told["id"]),
        (&json!("fact"), &fact["id"])
    );

    // Changes by other processes are reported, too.
    let stated = env.run(&["remember", "--everywhere", "Herons", "stand", "still"]);
    assert_eq!(stated.code, Some(0), "{}", stated.shown());
    let (_, told) = listener.next();
    assert_eq!(told["change"], "fact");
    let facts = daemon.get("/memory/facts").to_string();
    assert!(facts.contains(told["id"].as_str().unwrap()), "{told}");
    let id = missed["id"].as_str().unwrap();
    let path = format!("/memory/record/{id}");
    assert_eq!(daemon.ask("DELETE", &path, None).status, 200);
    let (last, told) = listener.next();
    assert_eq!(told["change"], "forgotten");
    drop((listener, daemon));

    let daemon = Daemon::start(&env);
    let later = daemon.post("/memory/record", &record("after another start"));
    let mut listener = daemon.listen(Some(&last));
    assert_eq!(listener.next().1["id"], later["id"]);
}

#[test]
fn problems_say_what_is_wrong_in_one_form() {
    let env = TestEnv::new();
    let daemon = Daemon::start(&env);
    let check = |method: &str, path: &str, body: Option<Value>, status: u16, part: &str| {
        let answer = daemon.ask(method, path, body.as_ref());
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
        assert!(
            answer
                .head
                .contains("content-type: application/problem+json"),
            "{path}"
        );
        let problem = answer.json();
        assert_eq!(problem["status"], status);
        assert!(answer.body.contains(part), "{path}: {}", answer.body);
        answer
    };
    check(
        "GET", "/memory/record/xyz", None, 400, "32 hexadecimal digits",
    );
    check(
        "GET",
        &format!("/memory/record/{}", "0".repeat(32)),
        None,
        404,
        "no record has the id",
    );
    check("GET", "/memory/search", None, 400, "missing field `q`");
    check(
        "GET",
        "/memory/search?q=a&since=yesterday",
        None,
        400,
        "2026-01-05",
    );
    check(
        "GET",
        "/memory/search?q=a&wordspace=x",
        None,
        400,
        "unknown field",
    );
    check(
        "POST",
        "/memory/record",
        Some(json!({ "type": "prompt" })),
        400,
        "session_id",
    );
    let no_uuid = json!({ "id": "7", "session_id": "s", "type": "prompt", "content": "x" });
    check("POST", "/memory/record", Some(no_uuid), 400, "not a UUID");
    check("GET", "/nothing", None, 404, "openapi.json");
    let nobody = format!("/memory/record/{}", "0".repeat(32));
    check("DELETE", &nobody, None, 404, "no record or fact has the id");
    check("GET", "/memory/search?q=a&k=101", None, 400, "at most 100");
    let path = "/workspaces?path=/nowhere&dry_run=maybe";
    check("DELETE", path, None, 400, "neither true nor false");
    let answer = check("PUT", "/memory/record", Some(json!({})), 405, "method");
    assert!(answer.head.contains("allow: post"), "{}", answer.head);
    let words = json!({ "text": "word ".repeat(41) });
    check(
        "POST",
        "/memory/remember",
        Some(words),
        400,
        "at most 40 words",
    );
}
