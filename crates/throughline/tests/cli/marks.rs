//! Names, stars, tags and the archive: marks of the user on sessions.

use serde_json::Value;

use crate::env::{TestEnv, samples};

const SESSION: &str = "4c5420d7";

fn marked_env() -> TestEnv {
    let env = TestEnv::with_samples();
    for arguments in [
        &["name", SESSION, "The", "threshold"][..],
        &["star", SESSION],
        &["tag", SESSION, "inventory", "refactor"],
    ] {
        let ran = env.run(arguments);
        assert_eq!(ran.code, Some(0), "{}", ran.shown());
    }
    env
}

#[track_caller]
fn marks(env: &TestEnv) -> (Value, Value, Value) {
    let shown = env.run(&["show", SESSION, "--json"]).stdout;
    let json: Value = serde_json::from_str(&shown).unwrap();
    let session = &json["session"];
    (
        session["name"].clone(),
        session["starred"].clone(),
        session["tags"].clone(),
    )
}

fn all_marks() -> (Value, Value, Value) {
    let tags = serde_json::json!(["inventory", "refactor"]);
    ("The threshold".into(), true.into(), tags)
}

#[test]
fn marks_are_shown_and_select_sessions() {
    let env = marked_env();
    assert_eq!(marks(&env), all_marks());
    let starred = env.run(&["sessions", "--starred"]).stdout;
    assert!(
        starred.contains("★ The threshold #inventory #refactor"),
        "{starred}"
    );
    assert_eq!(starred.lines().count(), 2, "{starred}");
    assert_eq!(env.run(&["sessions", "--tag", "inventory"]).stdout, starred);
    assert_eq!(env.run(&["sessions", "--tag", "nosuch"]).code, Some(1));
    for filter in [&["--starred"][..], &["--session-tag", "refactor"]] {
        let mut arguments = vec!["search", "threshold", "--json"];
        arguments.extend(filter);
        let found: Value = serde_json::from_str(&env.run(&arguments).stdout).unwrap();
        let hits = found["hits"].as_array().unwrap();
        assert!(hits.len() > 3, "{found}");
        for hit in hits {
            assert!(hit["session"].as_str().unwrap().contains(SESSION), "{hit}");
            assert_eq!(hit["title"], "The threshold");
        }
    }
    let found = env.run(&["search", "threshold"]).stdout;
    assert!(found.contains("★ The threshold #inventory"), "{found}");
    env.run(&["tag", SESSION, "refactor", "--off"]);
    env.run(&["star", SESSION, "--off"]);
    assert!(env.run(&["name", SESSION]).stderr.contains("named"));
    env.run(&["name", SESSION, "--off"]);
    let left = (Value::Null, Value::Null, serde_json::json!(["inventory"]));
    assert_eq!(marks(&env), left);
}

#[test]
fn archived_sessions_are_listed_only_when_asked_for() {
    let env = TestEnv::with_samples();
    env.run(&["archive", SESSION]);
    assert!(!env.run(&["sessions"]).stdout.contains(SESSION));
    assert!(
        env.run(&["sessions", "--archived"])
            .stdout
            .contains(SESSION)
    );
    assert!(env.run(&["search", "threshold"]).stdout.contains(SESSION));
    env.run(&["archive", SESSION, "--off"]);
    assert!(env.run(&["sessions"]).stdout.contains(SESSION));
}

#[test]
fn marks_outlive_another_ingest_and_travel_with_an_export() {
    let env = marked_env();
    env.run(&["ingest", "--root", &samples().display().to_string()]);
    assert_eq!(marks(&env), all_marks());
    let file = env.home().join("memory.jsonl").display().to_string();
    env.run(&["export", "--output", &file]);
    let other = TestEnv::new();
    let imported = other.run(&["import", &file]);
    assert_eq!(imported.code, Some(0), "{}", imported.shown());
    assert_eq!(marks(&other), all_marks());
}

#[test]
fn marks_are_redacted_and_forgotten() {
    let env = marked_env();
    let token = ["gh", "p_"].concat() + "Zq7RkT2mVx9LsWc4YbN8fHd3JgP6uAe1QoXi";
    env.run(&["name", SESSION, &token]);
    let name = marks(&env).0;
    assert!(name.as_str().unwrap().contains("[redacted:"), "{name}");
    env.run(&["forget", SESSION, "--yes"]);
    env.run(&["forget", "--allow", SESSION]);
    env.run(&["ingest", "--root", &samples().display().to_string()]);
    assert_eq!(env.run(&["sessions", "--starred"]).code, Some(1));
}
