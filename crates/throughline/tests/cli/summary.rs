//! Running summaries: written by ingest, by hand, by a model, and by a process that is killed.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use serde_json::{Value, json};
use testkit::model_server::{Act, ModelServer};

use crate::env::{CommandOutput, TestEnv, samples};

/// A session of the samples.
const SESSION: &str = "703ad6e2";
const HINT: &str = "_How the parts of the system fit together_";

/// A home folder in which half of a sample session is ingested and summarized.
fn half_told() -> TestEnv {
    let env = TestEnv::new();
    tell(&env, 2);
    let wrote = env.run(&["summarize", SESSION, "--embedded"]);
    assert_eq!(wrote.code, Some(0), "{}", wrote.shown());
    env
}

/// Writes a part of the log (all of it, or a half) and ingests it.
fn tell(env: &TestEnv, part: usize) {
    const LOG: &str = "projects/-home-dev-proj/703ad6e2-1d62-41f4-9458-d210f8be4c06.jsonl";
    let text = std::fs::read_to_string(samples().join("claude").join(LOG)).unwrap();
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    let path = env.home().join(".claude").join(LOG);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, lines[..lines.len() / part].concat()).unwrap();
    assert_eq!(env.run(&["ingest"]).code, Some(0));
}

fn configure(env: &TestEnv, server: &ModelServer, more: &str) {
    env.configure_model(server, more);
}

fn command(env: &TestEnv, args: &[&str]) -> Command {
    let mut command = env.command(args);
    command.env("TEST_KEY", "not-a-real-key-77");
    command
}

fn run(env: &TestEnv, args: &[&str]) -> CommandOutput {
    env.run_with_key(args, "not-a-real-key-77")
}

fn path(env: &TestEnv) -> PathBuf {
    let shown = run(env, &["summary", SESSION, "--path"]).stdout;
    PathBuf::from(shown.trim())
}

fn edit(path: &std::path::Path, words: &str) -> Act {
    let new = format!("{HINT}\n{words}");
    let input = json!({"file_path": path, "old_string": HINT, "new_string": new});
    Act::Call(vec![("edit", input)])
}

#[test]
fn a_summary_by_hand_and_as_json() {
    let env = TestEnv::with_samples();
    assert_eq!(env.run(&["summary", "no-such"]).code, Some(2));
    assert_snapshot!(
        "summarize_dry_run",
        env.run(&["summarize", SESSION, "--dry-run"]).shown()
    );
    let wrote = env.run(&["summarize", SESSION]);
    assert_eq!(wrote.code, Some(0), "{}", wrote.shown());
    let json: Value =
        serde_json::from_str(&env.run(&["summary", SESSION, "--json"]).stdout).unwrap();
    assert_eq!(json["way"], "embedded");
    assert_eq!(json["sections"][1]["heading"], "Current state");
    assert!(json["last_summarized_id"].is_string());
    let text = std::fs::read_to_string(path(&env)).unwrap();
    assert!(text.starts_with("# Title\n"));
    assert_snapshot!(
        "summarize_no_model",
        env.run(&["summarize", SESSION, "--model"]).shown()
    );
    assert_snapshot!("usage_own_nothing", env.run(&["usage", "--own"]).shown());
}

#[test]
fn a_model_writes_and_the_ledger_tells() {
    let env = half_told();
    let path = path(&env);
    let words = "The parser feeds the index.";
    let server = ModelServer::start(vec![edit(&path, words), Act::Say("done")]);
    configure(&env, &server, "");
    // Everything is covered, so there is nothing for a model to read.
    let ran = run(&env, &["summarize", SESSION, "--model"]);
    assert_eq!(
        (ran.code, server.got().len()),
        (Some(1), 0),
        "{}",
        ran.shown()
    );
    tell(&env, 1);
    let ran = run(&env, &["summarize", SESSION, "--model", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(words));
    let own: Value =
        serde_json::from_str(&run(&env, &["usage", "--own", "--json"]).stdout).unwrap();
    assert_eq!(own["calls"].as_array().unwrap().len(), 2);
    assert_eq!(own["calls"][0]["outcome"], "ok");
    assert!(own["today"]["cost_usd"].as_f64().unwrap() > 0.0);
    // The API key is in the requests and nowhere else.
    assert!(
        server
            .got()
            .iter()
            .all(|got| got.header("x-api-key") == Some("not-a-real-key-77"))
    );
    for file in testkit::files_below(&env.home().join("memory")) {
        let bytes = std::fs::read(&file).unwrap();
        let found = bytes
            .windows(17)
            .any(|window| window == b"not-a-real-key-77");
        assert!(!found, "{}", file.display());
    }
}

#[test]
fn a_budget_and_a_switch_keep_models_from_being_asked() {
    let server = ModelServer::start(vec![]);
    let env = TestEnv::with_samples();
    for (limits, said) in [
        ("daily_tokens = 10", "daily token budget exceeded"),
        ("daily_usd = 0.0", "daily budget exceeded"),
        ("enabled = false", "models are disabled"),
    ] {
        configure(&env, &server, limits);
        let ran = run(&env, &["summarize", SESSION, "--model"]);
        assert!(
            ran.code == Some(2) && ran.stderr.contains(said),
            "{}",
            ran.shown()
        );
    }
    configure(&env, &server, "");
    let off = command(&env, &["summarize", SESSION, "--model"])
        .env("THROUGHLINE_MODEL", "off")
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&off.stderr).contains("models are disabled"));
    assert_eq!(server.got().len(), 0);
    let doctor = run(&env, &["doctor"]).stdout;
    assert!(
        doctor.contains("sent to the model at http://127.0.0.1"),
        "{doctor}"
    );
}

/// Kills an extraction between its first edit and its end.
#[test]
fn killed_half_way_the_old_summary_stays() {
    let env = half_told();
    let path = path(&env);
    let folder = path.parent().unwrap().to_owned();
    let server = ModelServer::start(vec![edit(&path, "half a thought"), Act::Hang]);
    configure(&env, &server, "timeout_ms = 60000");
    tell(&env, 1);
    let old = std::fs::read_to_string(&path).unwrap();
    let mut child = command(&env, &["summarize", SESSION, "--model"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    server.wait_for(2);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), old);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    assert!(
        run(&env, &["summary", SESSION])
            .stdout
            .starts_with("# Title")
    );

    // The lease of the killed process expires after a minute.
    let busy = run(&env, &["summarize", SESSION, "--embedded"]);
    assert!(
        busy.stderr
            .contains("another process has been writing the summary since"),
        "{}",
        busy.shown()
    );
    let server = ModelServer::start(vec![edit(&path, "a whole thought"), Act::Say("done")]);
    configure(&env, &server, "");
    let later = command(&env, &["summarize", SESSION, "--model"])
        .env("THROUGHLINE_NOW", "2026-11-16T09:01:01Z")
        .output()
        .unwrap();
    assert!(
        later.status.success(),
        "{}",
        String::from_utf8_lossy(&later.stderr)
    );
    assert!(
        std::fs::read_to_string(&path)
            .unwrap()
            .contains("a whole thought")
    );
}
