//! How a daemon starts, works and ends.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Daemon, request};
use crate::env::TestEnv;

/// Waits for a condition, and fails if it takes too long.
#[track_caller]
pub fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn it_ends_in_good_order_when_it_is_told_to() {
    for signal in ["-TERM", "-INT"] {
        let env = TestEnv::new();
        let mut daemon = Daemon::start(&env);
        let mut listener = daemon.listen(None);
        let kept = daemon.post(
            "/memory/remember",
            &json!({ "text": "This stays for good" }),
        );
        assert_eq!(listener.next().1["id"], kept["id"]);
        daemon.signal("-HUP");
        assert_eq!(daemon.get("/health")["status"], "ok");
        daemon.signal(signal);
        assert!(daemon.child.wait().unwrap().success(), "{signal}");
        let home = env.home().join("memory");
        for gone in ["daemon.sock", "daemon.json"] {
            assert!(!home.join(gone).exists(), "{gone}");
        }
        // The database file itself is complete: the write-ahead log was checkpointed.
        let log = fs::metadata(home.join("throughline.db-wal")).map_or(0, |log| log.len());
        assert_eq!(log, 0);
        assert!(env.run(&["facts"]).stdout.contains("This stays for good"));
    }
}

#[test]
fn a_second_daemon_for_the_same_folder_is_refused() {
    let env = TestEnv::new();
    let daemon = Daemon::start(&env);
    let second = env.run(&["serve"]);
    assert_eq!(second.code, Some(2));
    assert!(
        second
            .stderr
            .contains("a daemon is already running for $HOME/memory")
    );
    assert!(
        second
            .stderr
            .contains("hint: use `throughline serve --status`")
    );
    assert_eq!(daemon.get("/health")["status"], "ok");
}

#[test]
fn what_a_killed_daemon_left_is_taken_over() {
    let env = TestEnv::new();
    let mut first = Daemon::start(&env);
    let token = first.token.clone();
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    assert!(env.home().join("memory/daemon.sock").exists());
    assert_eq!(env.run(&["serve", "--status"]).code, Some(1));
    assert_eq!(env.run(&["serve", "--stop"]).code, Some(1));
    let second = Daemon::start(&env);
    assert_eq!(second.get("/health")["status"], "ok");
    assert_eq!(second.token, token);
}

#[test]
fn it_is_started_looked_at_and_stopped_by_commands() {
    let env = TestEnv::new();
    let started = env.run(&["serve", "--detach", "--json"]);
    assert_eq!(started.code, Some(0), "{}", started.stderr);
    let started: Value = serde_json::from_str(&started.stdout).unwrap();
    let status = env.run(&["serve", "--status", "--json"]);
    let status: Value = serde_json::from_str(&status.stdout).unwrap();
    assert_eq!(
        (&status["running"], &status["daemon"]["pid"]),
        (&json!(true), &started["pid"])
    );
    assert_eq!(status["health"]["pid"], started["pid"]);
    let again = env.run(&["serve", "--detach", "--json"]);
    let again: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(again["pid"], started["pid"]);
    assert_eq!(env.run(&["serve", "--stop"]).code, Some(0));
    let status = env.run(&["serve", "--status", "--json"]);
    assert_eq!(
        (status.stdout.trim(), status.code),
        (r#"{"running":false}"#, Some(1))
    );
}

#[test]
fn one_in_the_background_opens_no_port_unless_it_is_asked_for() {
    let env = TestEnv::new();
    let address = |args: &[&str]| {
        let started = env.run(&[&["serve", "--detach", "--json"], args].concat());
        assert_eq!(started.code, Some(0), "{}", started.shown());
        let card: Value = serde_json::from_str(&started.stdout).unwrap();
        assert_eq!(env.run(&["serve", "--stop"]).code, Some(0));
        card["address"].as_str().map(str::to_owned)
    };
    assert_eq!(address(&[]), None);
    let asked = address(&["--port", "7411"]);
    assert!(asked.is_some_and(|address| address.starts_with("127.0.0.1:")));
    let config = env.home().join("memory/config.toml");
    fs::write(&config, "[serve]\nport = 7411").unwrap();
    let configured = address(&[]);
    assert!(configured.is_some_and(|address| address.starts_with("127.0.0.1:")));
}

#[test]
fn a_relative_configuration_is_found_by_a_daemon_in_the_background() {
    let env = TestEnv::new();
    fs::write(env.home().join("own.toml"), "[serve]\nport = 7411").unwrap();
    let started = env
        .command(&["--config", "own.toml", "serve", "--detach", "--json"])
        .current_dir(env.home())
        .output()
        .unwrap();
    env.run(&["serve", "--stop"]);
    let card: Value = serde_json::from_slice(&started.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&started.stderr)));
    assert!(card["address"].is_string(), "{card}");
}

#[test]
fn one_that_does_not_answer_is_not_said_to_run() {
    let env = TestEnv::new();
    let daemon = Daemon::start(&env);
    daemon.signal("-STOP");
    let started = env.run(&["serve", "--detach"]);
    daemon.signal("-CONT");
    assert_eq!(started.code, Some(2), "{}", started.shown());
    let pid = daemon.child.id().to_string();
    assert!(
        started.stderr.contains("does not answer"),
        "{}",
        started.stderr
    );
    assert!(started.stderr.contains(&pid), "{}", started.stderr);
}

#[test]
fn logs_are_read_as_they_grow() {
    let env = TestEnv::new();
    let folder = env.home().join(".claude/projects/-work-widgets");
    fs::create_dir_all(&folder).unwrap();
    let daemon = Daemon::start(&env);
    let line = json!({
        "type": "user", "uuid": "u1", "sessionId": "live-1", "cwd": "/code/widgets",
        "timestamp": "2026-11-16T08:59:00Z", "version": "2.1.0", "userType": "external",
        "message": { "role": "user", "content": "please find the pelican" },
    });
    fs::write(folder.join("live-1.jsonl"), format!("{line}\n")).unwrap();
    let found = || daemon.get("/memory/search?q=pelican")["hits"] != json!([]);
    wait_for("the log is read", found);
}

/// The `Stop` event of Claude Code for a session that has not been ingested.
fn stopped(env: &TestEnv) -> String {
    let log = env.home().join(".claude/projects/-work/live-2.jsonl");
    fs::create_dir_all(log.parent().unwrap()).unwrap();
    let prompt = json!({
        "type": "user", "uuid": "u1", "sessionId": "live-2", "cwd": "/work",
        "timestamp": "2026-11-16T08:59:00Z",
        "message": { "role": "user", "content": "Where does the heron stand?" },
    });
    fs::write(&log, format!("{prompt}\n")).unwrap();
    json!({
        "session_id": "live-2", "transcript_path": log, "cwd": "/work",
        "hook_event_name": "Stop", "stop_hook_active": false,
    })
    .to_string()
}

#[test]
fn what_hooks_left_is_read_and_removed() {
    let env = TestEnv::with_samples();
    let left = env.home().join("memory/pending");
    let mut hook = env.command(&["hook"]);
    hook.env("THROUGHLINE_HOOK_DEADLINE_MS", "30000");
    let ran = crate::hook::feed_to(&mut hook, stopped(&env).as_bytes());
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    assert_ne!(fs::read_dir(&left).unwrap().count(), 0);
    fs::write(left.join("torn.json"), "{\"transcr").unwrap();
    let daemon = Daemon::start(&env);
    wait_for("the session is read", || {
        daemon.get("/memory/search?q=heron")["hits"] != json!([])
    });
    wait_for("what was left is gone", || {
        let names = fs::read_dir(&left).unwrap().flatten();
        let mut names = names.map(|file| file.file_name());
        names.all(|name| name == "torn.json" || name == "lock")
    });
}

#[test]
fn hooks_are_answered_by_it() {
    let env = TestEnv::with_samples();
    env.run(&["prefer", "run the tests with unittest -q", "--everywhere"]);
    let daemon = Daemon::start(&env);
    let start = json!({
        "session_id": "live-3", "cwd": "/work", "hook_event_name": "SessionStart",
        "transcript_path": env.home().join(".claude/projects/-work/live-3.jsonl"),
        "source": "startup",
    });
    let mut hook = env.command(&["hook"]);
    hook.env("THROUGHLINE_HOOK_DEADLINE_MS", "30000");
    let ran = crate::hook::feed_to(&mut hook, start.to_string().as_bytes());
    assert_eq!(ran.code, Some(0));
    assert!(ran.stdout.contains("unittest -q"), "{}", ran.shown());
    // What follows from the end of a turn is done by the daemon, with what the hook noted of its
    // answer.
    let mut hook = env.command(&["hook"]);
    hook.env("THROUGHLINE_HOOK_DEADLINE_MS", "30000");
    crate::hook::feed_to(&mut hook, stopped(&env).as_bytes());
    wait_for("the session is read", || {
        daemon.get("/memory/search?q=heron")["hits"] != json!([])
    });
    wait_for("what was shown is recorded", || {
        env.run(&["injections", "--session", "claude:live-3"]).code == Some(0)
    });
    let pending = fs::read_dir(env.home().join("memory/pending")).unwrap();
    let mut left = pending.map(|file| file.unwrap().file_name());
    assert!(left.all(|name| name == "lock"));
    // Requests of other users are rejected.
    let bearer = format!("Bearer {}", daemon.token);
    let headers = [("Authorization", bearer.as_str())];
    let body = start.to_string();
    let asked = request("POST", "/hook", &daemon.address, &headers, Some(&body));
    assert_eq!(daemon.tcp(&asked).status, 403);
}

#[test]
fn other_commands_work_beside_it() {
    let env = TestEnv::with_samples();
    let daemon = Daemon::start(&env);
    let kept = env.run(&[
        "remember", "--everywhere", "The", "heron", "stands", "still",
    ]);
    assert_eq!(kept.code, Some(0), "{}", kept.stderr);
    let facts = daemon.get("/memory/facts").to_string();
    assert!(facts.contains("The heron stands still"));
    assert_eq!(env.run(&["search", "threshold"]).code, Some(0));
    assert_eq!(
        env.run(&["forget", "--query", "threshold", "-y"]).code,
        Some(0)
    );
    assert_eq!(daemon.get("/memory/search?q=threshold")["hits"], json!([]));
}
