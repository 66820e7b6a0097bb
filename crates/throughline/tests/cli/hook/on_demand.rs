//! The daemon that hooks start: only one, after the hook has answered, and stopped when idle.

use std::fs;

use serde_json::{Value, json};

use super::faults::PATIENT;
use super::{at_once, call_with, claude, log, machine};
use crate::env::{CommandOutput, TestEnv};
use crate::serve::life::wait_for;

const ON: (&str, &str) = ("THROUGHLINE_DAEMON", "on");

/// Kills the daemon on drop.
struct Machine {
    env: TestEnv,
}

impl Machine {
    fn new(config: &str) -> Self {
        let env = machine();
        fs::write(env.home().join("memory/config.toml"), config).unwrap();
        Self { env }
    }

    fn start(&self, session: &str, variables: &[(&str, &str)]) -> CommandOutput {
        let start = claude(json!({
            "session_id": session, "cwd": "/w", "hook_event_name": "SessionStart",
            "source": "startup",
        }));
        let ran = call_with(&self.env, &start, &[&[PATIENT, ON], variables].concat());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        ran
    }

    /// Returns `daemon.json` of the running daemon.
    fn daemon(&self) -> Option<Value> {
        let status = self.env.run(&["serve", "--status", "--json"]);
        let status: Value = serde_json::from_str(&status.stdout).ok()?;
        (status["running"] == true).then(|| status["daemon"].clone())
    }

    fn has(&self, name: &str) -> bool {
        self.env.home().join("memory").join(name).exists()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.env.run(&["serve", "--stop"]);
    }
}

#[test]
fn hooks_of_a_new_installation_start_the_daemon() {
    let machine = Machine {
        env: TestEnv::new(),
    };
    machine.start("s1", &[]);
    assert_eq!(machine.daemon(), None, "nobody has installed anything");
    let ran = machine.env.run(&["install", "claude", "--yes"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    machine.start("s2", &[]);
    wait_for("the daemon", || machine.daemon().is_some());
}

#[test]
fn what_the_daemon_does_after_a_session_is_in_the_event_log() {
    let machine = Machine::new("");
    machine.start("s0", &[]);
    wait_for("the daemon", || machine.daemon().is_some());
    let log = machine.env.home().join(".claude/projects/-w/s1.jsonl");
    fs::create_dir_all(log.parent().unwrap()).unwrap();
    let prompt = json!({
        "type": "user", "uuid": "u1", "sessionId": "s1", "cwd": "/w", "version": "2.1.0",
        "timestamp": "2026-11-16T08:59:00Z",
        "message": {"role": "user", "content": "We decided to use port 8123 for the metrics."},
    });
    fs::write(&log, format!("{prompt}\n")).unwrap();
    let end = claude(json!({
        "session_id": "s1", "transcript_path": log, "cwd": "/w", "hook_event_name": "SessionEnd",
        "reason": "exit",
    }));
    call_with(&machine.env, &end, &[PATIENT, ON]);
    let has_event = |name: &str, is_it: &dyn Fn(&Value) -> bool| {
        let listed = machine.env.run(&["events", "--name", name, "--json"]);
        let listed: Vec<Value> = serde_json::from_str(&listed.stdout).unwrap_or_default();
        listed.iter().any(is_it)
    };
    wait_for("the facts of the session", || {
        has_event("facts.extracted", &|event| {
            event["session_id"] == "claude:s1" && event["figures"]["facts"] == 1
        })
    });
    machine.env.run(&["serve", "--stop"]);
    let reads_prompt = |event: &Value| event["figures"]["records"] == 1;
    assert!(has_event("sweep.finished", &reads_prompt));
}

#[test]
fn many_hooks_start_one_daemon_which_stops_when_told() {
    let machine = Machine::new("");
    let sessions: Vec<_> = (0..8).map(|number| format!("s{number}")).collect();
    let said = at_once(&sessions, |session| machine.start(session, &[]).stdout);
    assert!(
        said.iter().all(|text| text.contains("unittest -q")),
        "{said:?}"
    );
    wait_for("the daemon answers", || machine.daemon().is_some());
    let card = machine.daemon().unwrap();
    assert_eq!(card["background"], true);
    assert!(!machine.has("daemon.tries"));
    let said = fs::read_to_string(machine.env.home().join("memory/daemon.log")).unwrap();
    assert!(!said.contains("already running"), "{said}");
    assert!(machine.start("s9", &[]).stdout.contains("unittest -q"));
    assert_eq!(machine.daemon().unwrap()["pid"], card["pid"]);
    let stopped = machine.env.run(&["serve", "--stop"]);
    assert_eq!(stopped.code, Some(0));
    assert!(
        stopped.stderr.contains("`start = false` under [serve]"),
        "{}",
        stopped.stderr
    );
    assert!(machine.daemon().is_none());
    assert_eq!(log(&machine.env), "");
}

#[cfg(target_os = "linux")]
#[test]
fn it_keeps_nothing_of_the_agents_environment_that_it_does_not_need() {
    let machine = Machine::new("");
    let secrets = [("ANTHROPIC_API_KEY", "sk-none"), ("CODEX_HOME", "/codex")];
    machine.start("s1", &secrets);
    wait_for("the daemon answers", || machine.daemon().is_some());
    let card = machine.daemon().unwrap();
    assert_eq!(card["address"], Value::Null);
    let variables = fs::read(format!("/proc/{}/environ", card["pid"])).unwrap();
    let variables = String::from_utf8(variables).unwrap();
    let names: Vec<_> = variables
        .split_terminator('\0')
        .filter_map(|variable| Some(variable.split_once('=')?.0))
        .collect();
    assert!(
        names.contains(&"CODEX_HOME") && names.contains(&"HOME"),
        "{names:?}"
    );
    assert!(!names.contains(&"ANTHROPIC_API_KEY"), "{names:?}");
}

#[test]
fn an_idle_daemon_stops() {
    let machine = Machine::new("[serve]\nidle_minutes = 0.02");
    machine.start("s", &[]);
    let home = machine.env.home().join("memory");
    wait_for("the daemon started and stopped", || {
        let said = fs::read_to_string(home.join("daemon.log")).unwrap_or_default();
        said.contains("Stopped after being idle") && !machine.has("daemon.sock")
    });
}

#[test]
fn none_is_started_where_it_is_not_wanted() {
    let off = Machine::new("[serve]\nstart = false");
    off.start("s", &[]);
    let on = Machine::new("");
    on.start("s", &[("CI", "true")]);
    on.start("t", &[("THROUGHLINE_DAEMON", "off")]);
    let empty = Machine {
        env: TestEnv::new(),
    };
    empty.start("s", &[]);
    for machine in [&off, &on, &empty] {
        for trace in ["daemon.tries", "daemon.log", "daemon.lock"] {
            assert!(!machine.has(trace), "{trace}");
        }
    }
}

#[test]
fn one_that_cannot_run_is_not_started_with_every_hook() {
    let machine = Machine::new("");
    fs::create_dir_all(machine.env.home().join("memory/daemon.sock/in-the-way")).unwrap();
    let home = machine.env.home().join("memory");
    let failed = || {
        let said = fs::read_to_string(home.join("daemon.log")).unwrap_or_default();
        said.matches("cannot listen").count()
    };
    assert!(machine.start("s0", &[]).stdout.contains("unittest -q"));
    wait_for("it has failed", || failed() == 1);
    for session in ["s1", "s2", "s3"] {
        assert!(machine.start(session, &[]).stdout.contains("unittest -q"));
    }
    assert_eq!(fs::read_to_string(home.join("daemon.tries")).unwrap(), "1");
    assert_eq!(failed(), 1);
}

#[test]
fn a_changed_configuration_holds_for_the_next_hook() {
    let machine = Machine::new("");
    machine.start("s0", &[]);
    wait_for("the daemon answers", || machine.daemon().is_some());
    let first = machine.daemon().unwrap()["boot"].clone();
    let config = machine.env.home().join("memory/config.toml");
    fs::write(config, "[injection]\nenabled = false").unwrap();
    assert_eq!(machine.start("s1", &[]).stdout, "");
    wait_for("another has taken its place", || {
        machine.start("s2", &[]);
        machine.daemon().is_some_and(|card| card["boot"] != first)
    });
    assert_eq!(machine.start("s3", &[]).stdout, "");
}

#[test]
fn injection_that_is_off_for_one_agent_stays_so_beside_a_daemon_and_for_that_one_only() {
    let machine = Machine::new("");
    let off = [("THROUGHLINE_INJECTION", "off")];
    assert_eq!(machine.start("s0", &off).stdout, "");
    wait_for("the daemon answers", || {
        machine.start("s1", &[]);
        machine.daemon().is_some()
    });
    assert_eq!(machine.start("s2", &off).stdout, "");
    assert!(machine.start("s3", &[]).stdout.contains("unittest -q"));
}

#[test]
fn whoever_needs_the_store_alone_gets_it_and_uninstall_leaves_no_daemon() {
    let machine = Machine::new("");
    machine.start("s0", &[]);
    wait_for("the daemon answers", || machine.daemon().is_some());
    let backup = machine.env.home().join("copy.db").display().to_string();
    assert_eq!(machine.env.run(&["backup", &backup]).code, Some(0));
    let restored = machine.env.run(&["restore", &backup]);
    assert_eq!(restored.code, Some(0), "{}", restored.shown());
    assert!(
        restored.stderr.contains("Stopped the daemon"),
        "{}",
        restored.stderr
    );
    assert!(machine.daemon().is_none());
    machine.start("s1", &[]);
    wait_for("it answers again", || machine.daemon().is_some());
    let gone = machine.env.run(&["uninstall", "--yes"]);
    assert_eq!(gone.code, Some(0), "{}", gone.shown());
    assert!(machine.daemon().is_none());
}
