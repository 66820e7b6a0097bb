//! Checkpoints, snapshots and what resumes from them.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::env::TestEnv;
use crate::faults::soaking;

fn json(env: &TestEnv, args: &[&str]) -> Value {
    let ran = env.run(args);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn checkpoints_are_listed_and_compared() {
    let env = TestEnv::with_samples();
    let listed = json(&env, &["checkpoint", "4c5420d7", "--json"]);
    let checkpoints = listed["checkpoints"].as_array().unwrap();
    assert_eq!(checkpoints[0]["number"], 1);
    let last = checkpoints.last().unwrap();
    assert_eq!(last["cause"], "end");
    assert!(last["interactions"].as_u64().unwrap() > 0);
    // Making them again gives the same bytes.
    assert_eq!(json(&env, &["checkpoint", "4c5420d7", "--json"]), listed);
    let shown = env.run(&["checkpoint", "4c5420d7"]);
    assert!(shown.stdout.starts_with("CHECKPOINT"), "{}", shown.shown());
    let diff = env.run(&["checkpoint", "4c5420d7", "--diff", "1", "1"]);
    assert_eq!((diff.code, diff.stdout.as_str()), (Some(0), ""));
    assert_eq!(
        env.run(&["checkpoint", "4c5420d7", "--diff", "1", "9"])
            .code,
        Some(2)
    );
}

#[test]
fn a_snapshot_is_within_its_size() {
    let env = TestEnv::with_samples();
    for id in ["4c5420d7", "codex:01a1e083-8989", "01a1e07c"] {
        for (size, most) in [
            ("lightweight", 100),
            ("standard", 1_000),
            ("comprehensive", 5_000),
        ] {
            let snapshot = json(&env, &["snapshot", id, "--size", size, "--json"]);
            assert_eq!(snapshot["size"], size);
            assert!(snapshot["tokens"].as_u64().unwrap() <= most, "{snapshot}");
            let text = snapshot["text"].as_str().unwrap();
            assert!(
                text.contains("checkpoint") && text.contains("interactions"),
                "{text}"
            );
        }
    }
}

#[test]
fn a_session_continues_in_another_agent() {
    let env = TestEnv::with_samples();
    let plan = json(
        &env,
        &["resume", "4c5420d7", "--in", "codex", "--at", "1", "--json"],
    );
    assert_eq!(plan["agent"], "codex");
    assert_eq!(plan["command"][0], "codex");
    let prompt = plan["command"][1].as_str().unwrap();
    assert!(prompt.starts_with("<throughline-memory") && prompt.contains("checkpoint 1"));
    let shell = plan["shell"].as_str().unwrap();
    assert!(
        shell.contains("codex \"$(throughline snapshot claude:4c5420d7"),
        "{shell}"
    );
    assert!(shell.ends_with("--fence --at 1)\""), "{shell}");
    let refused = env.run(&["resume", "4c5420d7", "--in", "vim"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("throughline snapshot"),
        "{}",
        refused.stderr
    );
}

#[test]
fn forgotten_text_is_in_no_checkpoint_and_no_snapshot() {
    let env = TestEnv::with_samples();
    let before = json(&env, &["checkpoint", "4c5420d7", "--json"]);
    let asked = before["checkpoints"][0]["asked"][0]
        .as_str()
        .unwrap()
        .to_owned();
    let shown = json(&env, &["show", "4c5420d7", "--json"]);
    let records = shown["records"].as_array().unwrap();
    let prompt = records
        .iter()
        .find(|record| record["type"] == "prompt")
        .unwrap();
    let id = prompt["id"].as_str().unwrap();
    let forgot = env.run(&["forget", id, "--yes"]);
    assert_eq!(forgot.code, Some(0), "{}", forgot.shown());
    let after = env.run(&["checkpoint", "4c5420d7", "--json"]);
    assert!(!after.stdout.contains(&asked), "{}", after.stdout);
    let snapshot = env.run(&["snapshot", "4c5420d7", "--size", "comprehensive"]);
    assert!(!snapshot.stdout.contains(&asked), "{}", snapshot.stdout);
}

#[test]
fn the_start_of_a_session_is_traced_in_four_steps() {
    let env = TestEnv::with_samples();
    let trace = json(&env, &["show", "4c5420d7", "--start", "--json"]);
    let steps: Vec<_> = trace["steps"].as_array().unwrap().iter().collect();
    for (step, name) in steps
        .iter()
        .zip(["identity", "seeds", "agents", "checkpoints"])
    {
        assert!(step.as_str().unwrap().starts_with(name), "{step}");
    }
    assert_eq!(steps.len(), 4);
    let shown = env.run(&["show", "4c5420d7", "--start"]);
    assert!(
        shown.stdout.starts_with("1. identity: Claude Code"),
        "{}",
        shown.shown()
    );
}

#[test]
fn statistics_name_target_and_reason() {
    let env = TestEnv::with_samples();
    let sessions = json(&env, &["sessions", "--json"]);
    let key = sessions[0]["workspace"].as_str().unwrap();
    let stats = json(&env, &["stats", "--workspace", key, "--json"]);
    let checks = stats["checks"].as_array().unwrap();
    assert_eq!(checks.len(), 11);
    for check in checks {
        assert!(
            check["target"].is_string() && check["measured"].is_string(),
            "{check}"
        );
        let is_measured = check["value"].is_number();
        assert_eq!(
            check["is_met"] == true && is_measured,
            check["reason"].is_null(),
            "{check}"
        );
        assert!(!is_measured || check["since"].is_string(), "{check}");
    }
}

#[test]
fn a_killed_process_leaves_the_same_checkpoints() {
    let expected = {
        let env = TestEnv::with_samples();
        json(&env, &["checkpoint", "4c5420d7", "--json"])
    };
    // The soak test kills 200 times.
    let rounds: u64 = if soaking() { 200 } else { 12 };
    let env = TestEnv::with_samples();
    for round in 0..rounds {
        let args = ["checkpoint", "4c5420d7", "--json"];
        let mut command = env.command(&args);
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(1 + round * 7 % 40));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!(json(&env, &["checkpoint", "4c5420d7", "--json"]), expected);
    println!("soak: kill -9 while checkpoints are made | {rounds} kills | the same checkpoints");
}

#[test]
fn the_digests_of_a_workspace_are_rolled_up() {
    let env = TestEnv::with_samples();
    let sessions = json(&env, &["sessions", "--json"]);
    let key = sessions[0]["workspace"].as_str().unwrap();
    let rollup = json(&env, &["digest", "--rollup", "--workspace", key, "--json"]);
    let text = rollup["text"].as_str().unwrap();
    assert!(
        text.contains(" sessions: ") && text.contains("Files by sessions"),
        "{text}"
    );
    assert!(rollup["tokens"].as_u64().unwrap() <= 1_000, "{rollup}");
    assert!(rollup["sessions"].as_u64().unwrap() > 0, "{rollup}");
}
