//! A model drafts the text of a pattern, and the user approves it.

use std::fs;

use serde_json::Value;
use testkit::model_server::{Act, ModelServer};

use super::{LearningEnv, NOW};

const DRAFT: &str = "- Check the error of every `Close` and wrap it before you run the linter.";

/// An environment with candidates and a model that answers with the given texts.
fn with_model(replies: Vec<Act>) -> (LearningEnv, ModelServer, String) {
    let env = LearningEnv::new();
    env.write_logs();
    env.run(&["ingest", "--root", "../logs"], NOW, b"");
    let found = env.json(&["detect", "--json"], NOW);
    let id = found["candidates"][0]["id"].as_str().unwrap().to_owned();
    let server = ModelServer::start(replies);
    env.env.configure_model(&server, "");
    (env, server, id)
}

#[test]
fn a_draft_waits_for_the_users_approval() {
    let (env, server, id) = with_model(vec![Act::Say(DRAFT)]);
    let drafted = env.json(&["curate", "--draft", &id, "--json"], NOW);
    let text = drafted["draft"].as_str().unwrap();
    assert!(
        text.starts_with("Check the error of every `Close`"),
        "{text}"
    );
    assert!(text.contains("because that cost"), "{text}");
    let sent = format!("{:?}", server.got());
    assert!(sent.contains("golangci/errcheck") && sent.contains("throughline-memory"));
    let file = env.shop().join(format!(".throughline/patterns/{id}.md"));
    let entry = fs::read_to_string(&file).unwrap();
    assert!(entry.contains("trust = \"model\"") && entry.contains("drafted_by = \"claude-haiku"));
    // Neither the gate nor a distribution takes a draft for the user's word.
    let pending = env.json(&["curate", "--json"], NOW);
    let first: &Value = &pending["pending"][0];
    assert_eq!(
        (&first["guidance"], &first["trust"]),
        (&text.into(), &"model".into())
    );
    env.run(&["curate", "--auto-approve"], NOW, b"");
    let plan = env.json(&["distribute", "--json"], NOW);
    assert_eq!(plan["changes"], serde_json::json!([]), "{plan}");
    let approved = env.run(&["curate", "--approve", &id], NOW, b"");
    assert_eq!(approved.code, Some(0), "{}", approved.shown());
    let entry = fs::read_to_string(&file).unwrap();
    assert!(
        !entry.contains("trust") && entry.contains("drafted_by"),
        "{entry}"
    );
    let plan = env.json(&["distribute", "--json"], NOW);
    assert!(
        plan["changes"][0]["diff"]
            .as_str()
            .unwrap()
            .contains("Check the error")
    );
    let again = env.run(&["curate", "--draft", &id], NOW, b"");
    assert_eq!(again.code, Some(2), "{}", again.shown());
}

#[test]
fn a_draft_is_shown_as_one_and_can_be_declined() {
    let (env, _server, id) = with_model(vec![Act::Say(DRAFT)]);
    let asked = env.run(&["curate"], NOW, b"m\nr not ours\nq\n");
    assert!(
        asked.stderr.contains("[m]odel's draft"),
        "{}",
        asked.shown()
    );
    assert!(
        asked.stderr.contains("Draft by claude-haiku"),
        "{}",
        asked.shown()
    );
    assert!(
        !env.shop()
            .join(format!(".throughline/patterns/{id}.md"))
            .exists()
    );
}

#[test]
fn a_long_draft_and_a_missing_model_are_reported() {
    let long = "word ".repeat(80);
    let (env, _server, id) = with_model(vec![Act::Say(Box::leak(long.into_boxed_str()))]);
    let refused = env.run(&["curate", "--draft", &id], NOW, b"");
    assert_eq!(refused.code, Some(2), "{}", refused.shown());
    assert!(refused.stderr.contains("words"), "{}", refused.shown());
    let without = LearningEnv::new();
    without.write_logs();
    without.run(&["ingest", "--root", "../logs"], NOW, b"");
    let refused = without.run(&["curate", "--draft", "b0c618"], NOW, b"");
    assert!(
        refused.stderr.contains("no model is configured"),
        "{}",
        refused.shown()
    );
}
