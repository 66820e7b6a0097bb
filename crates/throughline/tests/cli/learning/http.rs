//! The routes of the learning loop, with the examples of `docs/HTTP.md`.

use std::fs;

use serde_json::{Value, json};

use super::{LearningEnv, NOW};
use crate::env::repository;
use crate::serve::client::Daemon;

const ID: &str = "b0c618ebf6fc";
const SHOP: &str = "/patterns/distribution?workspace=example.com/acme/shop";

fn started(env: &LearningEnv) -> Daemon {
    env.write_logs();
    env.run(&["ingest", "--root", "../logs"], NOW, b"");
    env.run(&["detect"], NOW, b"");
    Daemon::start(&env.env)
}

/// Checks that an answer has every documented field with its type. Documented strings are the
/// beginnings of the actual ones, and `null` may be anything.
#[track_caller]
fn check_documented(documented: &Value, actual: &Value, place: &str) {
    match (documented, actual) {
        (Value::Object(documented), Value::Object(actual)) => {
            for (name, value) in documented {
                let found = actual.get(name);
                let found = found.unwrap_or_else(|| panic!("{place} has no {name}: {actual:?}"));
                check_documented(value, found, &format!("{place} > {name}"));
            }
        }
        (Value::Array(documented), Value::Array(actual)) => {
            for (documented, actual) in documented.iter().zip(actual) {
                check_documented(documented, actual, place);
            }
        }
        (Value::String(documented), Value::String(actual)) => {
            assert!(actual.starts_with(documented.as_str()), "{place}: {actual}");
        }
        (Value::Null, _) | (Value::Number(_), Value::Number(_)) => {}
        (documented, actual) => assert_eq!(documented, actual, "{place}"),
    }
}

#[test]
fn the_documented_requests_get_their_documented_answers() {
    let env = LearningEnv::new();
    let daemon = started(&env);
    let page = fs::read_to_string(repository().join("docs/HTTP.md")).unwrap();
    let examples: Vec<&str> = page.split("```http patterns\n").skip(1).collect();
    assert!(examples.len() >= 4, "{}", examples.len());
    for example in examples {
        let (request, rest) = example.split_once("\n```").unwrap();
        let answer = rest.split("```json\n").nth(1).unwrap();
        let (answer, _) = answer.split_once("\n```").unwrap();
        let documented: Value = serde_json::from_str(answer).unwrap();
        let (head, body) = request.split_once("\n\n").unwrap_or((request, ""));
        let (method, path) = head.lines().next().unwrap().split_once(' ').unwrap();
        let body: Option<Value> = serde_json::from_str(body).ok();
        let answer = daemon.ask(method, path, body.as_ref());
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        let answer = answer.json();
        check_documented(&documented, &answer, path);
        // The distribution that comes next needs the approval of which this is the dry run.
        if let Some(body) = body.filter(|_| answer["dry_run"] == true) {
            let mut body = body;
            (body["dry_run"], body["confirm"]) = (false.into(), answer["confirm"].clone());
            daemon.post(path, &body);
        }
    }
}

#[test]
fn a_list_can_be_narrowed_and_renewed() {
    let env = LearningEnv::new();
    let daemon = started(&env);
    let all = daemon.get("/patterns");
    assert_eq!(all["total"], 2, "{all}");
    assert_eq!(all["patterns"][0]["evidence"].as_array().unwrap().len(), 3);
    let one = daemon.get(&format!("/patterns/{ID}"));
    assert_eq!(one["pattern"]["evidence"].as_array().unwrap().len(), 6);
    for (query, total) in [
        ("state=open", 2),
        ("state=approved", 0),
        ("workspace=elsewhere", 0),
        ("min_frequency=7", 0),
    ] {
        let listed = daemon.get(&format!("/patterns?{query}"));
        assert_eq!(listed["total"], total, "{query}");
    }
    let again = daemon.post("/patterns/detect", &json!({}));
    assert_eq!(again, all);
    assert_eq!(daemon.ask("GET", "/patterns?limit=0", None).status, 400);
    assert_eq!(daemon.ask("GET", "/patterns/nothing", None).status, 404);
}

#[test]
fn a_rejection_is_recorded_once() {
    let env = LearningEnv::new();
    let daemon = started(&env);
    let path = format!("/patterns/{ID}/review");
    let reject = json!({ "decision": "reject", "why": "not ours" });
    assert_eq!(daemon.post(&path, &reject)["new"], true);
    assert_eq!(daemon.post(&path, &reject)["new"], false);
    let one = daemon.get(&format!("/patterns/{ID}"));
    assert_eq!(one["reviews"][0]["decision"], "reject");
    assert_eq!(one["pattern"]["state"], "rejected");
    assert_eq!(one["pattern"]["needs_decision"], false);
    let wrong = json!({ "decision": "maybe" });
    assert_eq!(daemon.ask("POST", &path, Some(&wrong)).status, 400);
}

#[test]
fn an_approval_and_a_distribution_need_the_tokens_of_their_dry_runs() {
    let env = LearningEnv::new();
    let daemon = started(&env);
    let path = format!("/patterns/{ID}/review");
    let file = env.shop().join(format!(".throughline/patterns/{ID}.md"));
    let claude = env.shop().join("CLAUDE.md");
    let before = fs::read_to_string(&claude).unwrap();
    let approve = json!({ "decision": "approve", "why": "weekly" });
    let refused = daemon.ask("POST", &path, Some(&approve));
    assert_eq!(refused.status, 409, "{}", refused.body);
    let with = |body: &Value, name: &str, value: Value| {
        let mut body = body.clone();
        body[name] = value;
        body
    };
    let shown = daemon.post(&path, &with(&approve, "dry_run", true.into()));
    let diff = shown["diff"].as_str().unwrap();
    assert!(diff.contains("+id = \"b0c618ebf6fc\""), "{diff}");
    // The path is the one in the repository, as `git apply` takes it.
    let name = format!(".throughline/patterns/{ID}.md");
    let header = format!("diff --git a/{name} b/{name}\n");
    assert!(diff.starts_with(&header), "{diff}");
    assert!(!file.exists());
    let confirmed = with(&approve, "confirm", shown["confirm"].clone());
    // Another text is another change.
    let other = with(&confirmed, "text", "Check errors".into());
    assert_eq!(daemon.ask("POST", &path, Some(&other)).status, 409);
    let long = with(&approve, "text", "word ".repeat(61).into());
    assert_eq!(daemon.ask("POST", &path, Some(&long)).status, 400);
    let approved = daemon.post(&path, &confirmed);
    assert_eq!(
        (&approved["new"], &approved["status"]),
        (&json!(true), &json!("approved"))
    );
    assert!(file.exists());
    assert_eq!(daemon.get("/patterns?state=approved")["total"], 1);

    let plan = daemon.get(SHOP);
    assert_eq!(plan["changes"].as_array().unwrap().len(), 2, "{plan}");
    assert_eq!(fs::read_to_string(&claude).unwrap(), before);
    let workspace = json!({ "workspace": "example.com/acme/shop" });
    let target = "/patterns/distribution";
    assert_eq!(daemon.ask("POST", target, Some(&workspace)).status, 409);
    let confirmed = with(&workspace, "confirm", plan["confirm"].clone());
    assert_eq!(daemon.post(target, &confirmed)["applied"], true);
    assert!(fs::read_to_string(&claude).unwrap().contains(ID));
    let again = daemon.get(SHOP);
    assert_eq!(
        (&again["changes"], &again["confirm"]),
        (&json!([]), &Value::Null)
    );
    let effects = daemon.get("/patterns/effects");
    assert_eq!(effects["effects"][0]["state"], "too-early", "{effects}");
    assert_eq!(effects["effects"][0]["curve"][0]["phase"], "history");
    assert_eq!(
        daemon.get("/patterns")["patterns"][0]["effect"],
        "too-early"
    );

    let withdraw = json!({ "decision": "withdraw" });
    let shown = daemon.post(&path, &with(&withdraw, "dry_run", true.into()));
    daemon.post(&path, &with(&withdraw, "confirm", shown["confirm"].clone()));
    let removal = daemon.get(SHOP);
    daemon.post(
        target,
        &with(&workspace, "confirm", removal["confirm"].clone()),
    );
    assert_eq!(fs::read_to_string(&claude).unwrap(), before);
    let elsewhere = daemon.ask("GET", "/patterns/distribution?workspace=nowhere", None);
    assert_eq!(elsewhere.status, 404);
}
