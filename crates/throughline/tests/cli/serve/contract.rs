//! The contract of records, search and facts, beyond its documented examples.

use serde_json::{Value, json};

use super::client::{Daemon, request};
use crate::env::TestEnv;

const UUID: &str = "00000000-0000-4000-8000-000000000001";

fn record(id: &str, content: &str) -> Value {
    json!({
        "id": id, "ts": 1_794_733_200_000_i64, "type": "assistant", "session_id": "default",
        "workspace": "/code/widgets", "content": content, "tags": ["Deploy notes"],
        "metadata": { "nested": { "list": [1, null, "x"] }, "speaker": 5, "exit_code": { "a": 1 } },
    })
}

fn ids(found: &Value) -> Vec<&str> {
    let hits = found["hits"].as_array().unwrap().iter();
    hits.map(|hit| hit["id"].as_str().unwrap()).collect()
}

#[test]
fn the_same_id_is_the_same_record_and_names_it_everywhere() {
    let env = TestEnv::new();
    let daemon = Daemon::start(&env);
    let first = record(UUID, "The wombat cache is warm");
    assert_eq!(daemon.post("/memory/record", &first)["known"], false);
    let other = record(&UUID.to_uppercase().replace('A', "a"), "Another text");
    assert_eq!(
        daemon.post("/memory/record", &other),
        json!({ "id": UUID, "known": true })
    );
    // Ids that differ only at the end are not taken for copies of one record.
    let second = UUID.replace("01", "02");
    daemon.post(
        "/memory/record",
        &record(&second, "The wombat cache is cold"),
    );
    let read = daemon.get(&format!("/memory/record/{UUID}"));
    assert_eq!(
        (&read["id"], &read["content"]),
        (&json!(UUID), &first["content"])
    );
    assert_eq!(read["metadata"], first["metadata"]);
    let mut found = daemon.get("/memory/search?q=wombat");
    found["hits"]
        .as_array_mut()
        .unwrap()
        .sort_by_key(|hit| hit["id"].to_string());
    assert_eq!(ids(&found), [UUID, second.as_str()]);
    assert_eq!(found["hits"][0]["metadata"], first["metadata"]);
    let planned = env.run(&["forget", UUID, "--dry-run"]);
    assert!(planned.stdout.contains("warm"), "{}", planned.shown());

    let gone = daemon.ask("DELETE", &format!("/memory/record/{UUID}"), None);
    assert_eq!(gone.json()["records"], 1, "{}", gone.body);
    assert_eq!(daemon.post("/memory/record", &first)["known"], true);
    assert_eq!(
        ids(&daemon.get("/memory/search?q=wombat")),
        [second.as_str()]
    );
}

#[test]
fn filters_hold_for_facts_and_records_alike() {
    let env = TestEnv::new();
    let daemon = Daemon::start(&env);
    daemon.post("/memory/record", &record(UUID, "The wombat cache is warm"));
    let fact = json!({
        "text": "The wombat cache stays warm", "folder": "/code/widgets", "tags": ["ops"],
    });
    let fact = daemon.post("/memory/remember", &fact)["id"].clone();
    let fact = fact.as_str().unwrap();
    let check = |filter: &str, expected: &[&str]| {
        let found = daemon.get(&format!("/memory/search?q=wombat+cache{filter}"));
        let mut found = ids(&found);
        found.sort_unstable();
        assert_eq!(found, expected, "{filter}");
    };
    check(
        "&type=&tag=&since=&k=&session_id=&workspace=",
        &[UUID, fact],
    );
    for name in ["fact", "facts"] {
        check(&format!("&type={name}"), &[fact]);
    }
    for name in ["record", "records", "assistant"] {
        check(&format!("&type={name}"), &[UUID]);
    }
    check("&tag=ops", &[fact]);
    check("&tag=deploy+NOTES", &[UUID]);
    check("&tag=deploy", &[]);
    check("&session_id=default", &[UUID]);
    check("&since=1794733200000", &[UUID, fact]);
    check("&since=1794733200001", &[fact]);
    check("&since=2026-11-16T00:00:00Z", &[fact]);
    check("&workspace=/code/gadgets", &[]);
    // The words of a tag are found like those of the text.
    assert_eq!(ids(&daemon.get("/memory/search?q=deploy")), [UUID]);

    let search = |args: &[&str]| {
        let ran = env.run(&[&["search", "wombat", "cache", "--json"], args].concat());
        let found: Value = serde_json::from_str(&ran.stdout).unwrap();
        let hits = found["hits"].as_array().unwrap().iter();
        hits.map(|hit| hit["type"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(search(&["--type", "fact"]), ["fact"]);
    assert_eq!(search(&["--tag", "Deploy notes"]), ["assistant"]);
    assert_eq!(search(&["--type", "facts", "--type", "records"]).len(), 2);
}

#[test]
fn facts_and_records_share_one_ranking() {
    let env = TestEnv::new();
    let daemon = Daemon::start(&env);
    daemon.post(
        "/memory/record",
        &record(UUID, "The wombat cache is cleared at noon"),
    );
    for text in [
        "The wombat cache is cleared at noon sharp",
        "The wombat cache has two shards",
    ] {
        daemon.post("/memory/remember", &json!({ "text": text }));
    }
    let found = daemon.get("/memory/search?q=wombat+cache+cleared+noon");
    let hits = found["hits"].as_array().unwrap();
    let scores: Vec<f64> = hits
        .iter()
        .map(|hit| hit["score"].as_f64().unwrap())
        .collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    let types: Vec<_> = hits
        .iter()
        .map(|hit| hit["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        hits.last().unwrap()["snippet"],
        "The wombat cache has two shards",
        "{types:?}"
    );
    assert_eq!(types.iter().filter(|kind| **kind == "fact").count(), 2);
    assert_eq!(
        daemon.get("/memory/search?q=wombat+cache&k=1")["hits"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn twenty_hits_are_small_and_can_be_streamed() {
    let env = TestEnv::with_samples();
    let daemon = Daemon::start(&env);
    let path = "/memory/search?q=the+file+test+error+index&k=20";
    let answer = daemon.ask("GET", path, None);
    assert_eq!(answer.json()["hits"].as_array().unwrap().len(), 20);
    assert!(answer.body.len() <= 8_000, "{} bytes", answer.body.len());
    let headers = [("Accept", "application/x-ndjson")];
    let streamed = daemon.socket(&request("GET", path, "localhost", &headers, None));
    assert!(streamed.head.contains("content-type: application/x-ndjson"));
    let lines: Vec<Value> = streamed
        .body
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(json!(lines[..20]), answer.json()["hits"]);
    assert!(lines[20]["took_ms"].is_u64(), "{}", lines[20]);
}

#[test]
fn secrets_in_metadata_do_not_get_in() {
    let env = TestEnv::new();
    let daemon = Daemon::start(&env);
    let mut given = record(UUID, "deployed");
    given["metadata"] = json!({ "env": { "password": "hunter2hunter2", "region": "eu" } });
    daemon.post("/memory/record", &given);
    let read = daemon.get(&format!("/memory/record/{UUID}"));
    assert!(!read.to_string().contains("hunter2"), "{read}");
    assert_eq!(read["metadata"]["env"]["region"], "eu", "{read}");
}

#[test]
fn a_fact_is_changed_and_listed_page_by_page() {
    let env = TestEnv::new();
    let daemon = Daemon::start(&env);
    for animal in ["Wombats dig", "Herons wade", "Otters swim"] {
        daemon.post(
            "/memory/remember",
            &json!({ "text": animal, "tags": ["zoo"] }),
        );
    }
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = daemon.get(&format!("/memory/facts?tag=zoo&limit=2&cursor={cursor}"));
        seen.extend(page["facts"].as_array().unwrap().clone());
        match page["next"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(seen.len(), 3);
    let id = seen[0]["id"].as_str().unwrap();
    let path = format!("/memory/fact/{id}");
    let pinned = daemon.ask(
        "PATCH",
        &path,
        Some(&json!({ "pinned": true, "kind": "decision" })),
    );
    let pinned = pinned.json();
    assert_eq!(
        (&pinned["id"], &pinned["pinned"]),
        (&json!(id), &json!(true))
    );
    assert_eq!(
        (&pinned["kind"], &pinned["times"]),
        (&json!("decision"), &json!(1))
    );
    let changed = daemon.ask(
        "PATCH",
        &path,
        Some(&json!({ "content": "Badgers sleep all day" })),
    );
    let changed = changed.json();
    assert_eq!(changed["history"][0]["id"], id, "{changed}");
    assert_eq!(
        daemon.get("/memory/facts")["facts"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
    assert_eq!(
        daemon.get("/memory/facts?history=true")["facts"]
            .as_array()
            .unwrap()
            .len(),
        4
    );
    assert_eq!(daemon.get(&path)["superseded_by"], changed["id"]);
    assert_eq!(
        daemon
            .ask("GET", "/memory/facts?cursor=nothing", None)
            .status,
        400
    );
}

#[test]
fn what_was_done_is_logged_with_its_figures() {
    let env = TestEnv::with_samples();
    let listed = env.run(&["events", "--name", "sweep", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed[0]["name"], "sweep.finished");
    assert!(
        listed[0]["figures"]["records"].as_u64().unwrap() > 0,
        "{listed}"
    );
    let shown = env.run(&["events", "-n", "100"]);
    assert!(
        shown.stdout.contains("sweep.finished  "),
        "{}",
        shown.shown()
    );
    assert_eq!(
        env.run(&["events", "--name", "session.resumed"]).code,
        Some(1)
    );
    let wrong = env.run(&["events", "--name", "swep"]);
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong.stderr.contains("the events are extraction.finished"),
        "{}",
        wrong.shown()
    );
    let daemon = Daemon::start(&env);
    let logged = daemon.get("/events/log?name=sweep");
    assert_eq!(logged[0]["figures"], listed[0]["figures"]);
    let after = logged[0]["id"].as_i64().unwrap();
    assert_eq!(
        daemon.get(&format!("/events/log?name=sweep&after={after}")),
        json!([])
    );
    let accept = [("Accept", "application/json")];
    let asked = request("GET", "/events?name=sweep", "localhost", &accept, None);
    assert_eq!(daemon.socket(&asked).json(), logged);
}

#[test]
fn activity_is_streamed_to_listeners_that_ask_for_it() {
    let env = TestEnv::with_samples();
    let daemon = Daemon::start(&env);
    let mut listener = daemon.listen_to("/events?activity=true", None);
    let body = json!({"session_id": "7142b226", "embedded": true});
    let compacted = daemon.post("/compact", &body);
    let (first, event) = listener.next();
    assert_eq!(event["name"], "switch.checked", "{event}");
    let (_, event) = listener.next();
    assert_eq!(event["name"], "compaction.declined.no_summary", "{event}");
    let (_, event) = listener.next();
    assert_eq!(event["name"], compacted["event"], "{event}");
    assert!(event["figures"]["tokens"].as_u64().is_some(), "{event}");
    let mut again = daemon.listen_to("/events?activity=true", Some(&first));
    assert_eq!(again.next().1["name"], "compaction.declined.no_summary");
}

#[test]
fn people_ask_for_files_commands_and_errors() {
    let env = TestEnv::with_samples();
    let daemon = Daemon::start(&env);
    for (route, command) in [("/blame", "blame"), ("/how", "how")] {
        let question = if command == "blame" {
            "README.md"
        } else {
            "cargo"
        };
        let told = daemon.get(&format!("{route}?q={question}&limit=3"));
        let ran = env.run(&[command, question, "-n", "3", "--json"]);
        let own: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| json!([]));
        assert_eq!(told, own, "{}", ran.shown());
    }
    assert!(daemon.get("/fix?q=error%3A+no+such+file")["ways"].is_array());
}
