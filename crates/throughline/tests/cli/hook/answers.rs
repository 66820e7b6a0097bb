//! The answers to hooks.

use std::fmt::Write;

use insta::assert_snapshot;
use serde_json::json;

use super::{AGENTS, Line, call, call_with, claude, lines, log, machine, schema};
use crate::env::TestEnv;

const NOW: &str = "THROUGHLINE_NOW";
const PATIENT: (&str, &str) = ("THROUGHLINE_HOOK_DEADLINE_MS", "30000");

/// A prompt that the samples can answer.
fn prompt(session: &str, id: &str) -> Line {
    claude(json!({
        "session_id": session, "cwd": "/home/dev/proj", "prompt_id": id,
        "hook_event_name": "UserPromptSubmit",
        "prompt": "we decided where the reorder threshold must come from: config.toml or code?",
    }))
}

fn start(session: &str, source: &str) -> Line {
    claude(json!({
        "session_id": session, "cwd": "/home/dev/proj", "source": source,
        "hook_event_name": "SessionStart",
    }))
}

#[track_caller]
fn said(line: &Line, env: &TestEnv) -> Option<String> {
    said_at(line, env, "2026-11-16T09:00:00Z")
}

#[track_caller]
fn said_at(line: &Line, env: &TestEnv, now: &str) -> Option<String> {
    let ran = call_with(env, line, &[(NOW, now), PATIENT]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    schema::context("claude", line, &ran.stdout)
}

#[test]
fn every_payload_of_every_agent_gets_an_answer_it_understands() {
    let mut shown = String::new();
    for agent in AGENTS {
        let env = machine();
        for line in lines(agent) {
            let ran = call(&env, &line);
            assert_eq!(ran.code, Some(0), "{agent} {}", line.name);
            assert_eq!(ran.stderr, "", "{agent} {}", line.name);
            if let Some(context) = schema::context(agent, &line, &ran.stdout) {
                let lines = context.lines().count();
                writeln!(shown, "{agent} {}: {lines} lines", line.name).unwrap();
            }
        }
        assert_eq!(log(&env), "", "{agent}");
    }
    assert_snapshot!("hook_who_is_told", shown);
}

#[test]
fn a_session_is_told_at_its_start_what_holds_and_where_the_last_one_stood() {
    let env = machine();
    let text = said(&start("new", "startup"), &env).unwrap();
    let word = text.split('"').nth(1).unwrap().to_owned();
    assert_snapshot!("hook_session_start", text.replace(&word, "WORD"));
    // A duplicate delivery is not answered, and nothing is shown twice.
    assert_eq!(said(&start("new", "startup"), &env), None);
    assert_eq!(said(&start("new", "resume"), &env), None);
}

#[test]
fn where_the_last_session_stood_is_told_to_the_next_one() {
    let env = TestEnv::new();
    let name = "4c5420d7-85c7-46b9-b34d-eaf1c42847fd.jsonl";
    let folder = env.home().join(".claude/projects/-home-dev-proj");
    let log = crate::env::samples()
        .join("claude/projects/-home-dev-proj")
        .join(name);
    // The session looks interactive.
    let text = std::fs::read_to_string(log).unwrap();
    let text = text.replace("\"sdk-cli\"", "\"cli\"");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(name), text).unwrap();
    assert_eq!(env.run(&["ingest"]).code, Some(0));
    let text = said(&start("new", "startup"), &env).unwrap();
    let word = text.split('"').nth(1).unwrap().to_owned();
    assert_snapshot!("hook_last_session", text.replace(&word, "WORD"));
    // A resumed session knows it already; after weeks it is no longer relevant.
    assert_eq!(said(&start("more", "resume"), &env), None);
    let late = said_at(&start("late", "startup"), &env, "2027-01-16T09:00:00Z");
    assert_eq!(late, None);
}

#[test]
fn a_prompt_is_answered_once_and_nothing_is_shown_twice() {
    let env = machine();
    let first = said(&prompt("new", "p1"), &env).unwrap();
    assert!(first.contains("config.toml"), "{first}");
    assert_eq!(said(&prompt("new", "p1"), &env), None, "delivered twice");
    // The injection is still queued, not recorded, but counts as shown.
    let again = said_at(&prompt("new", "p2"), &env, "2026-11-16T09:05:00Z");
    assert_eq!(again, None, "shown before");
    assert!(said(&prompt("other", "p1"), &env).is_some());
    let listed = env.run(&["injections", "--json"]).stdout;
    assert!(!listed.contains("claude:new"), "{listed}");
    assert_eq!(env.run(&["ingest"]).code, Some(0));
    let listed = env.run(&["injections", "--json"]).stdout;
    let word = first.split('"').nth(1).unwrap();
    assert!(
        listed.contains("claude:new") && listed.contains(word),
        "{listed}"
    );
    let left = std::fs::read_dir(env.home().join("memory/pending")).unwrap();
    assert_eq!(left.count(), 1, "only the lock stays");
}

#[test]
fn a_prompt_is_answered_in_every_agent_that_takes_it() {
    let env = machine();
    for (agent, event, takes) in [
        ("claude", "UserPromptSubmit", true),
        ("codex", "UserPromptSubmit", true),
        ("gemini", "BeforeAgent", true),
        ("copilot", "userPromptSubmitted", true),
        ("opencode", "chat.message", true),
        ("grok", "UserPromptSubmit", false),
        ("cursor", "beforeSubmitPrompt", false),
    ] {
        let mut line = lines(agent)
            .into_iter()
            .find(|line| line.event() == event)
            .unwrap();
        line.payload["prompt"] = prompt("", "").payload["prompt"].clone();
        for id in ["session_id", "sessionId", "conversation_id"] {
            if let Some(id) = line.payload.get_mut(id) {
                *id = json!(format!("{agent}-1"));
            }
        }
        let ran = call(&env, &line);
        let context = schema::context(agent, &line, &ran.stdout);
        assert_eq!(context.is_some(), takes, "{agent}: {}", ran.stdout);
    }
}

#[test]
fn what_no_person_typed_gets_nothing() {
    let env = machine();
    let with = |key: &str, value: &str| {
        let mut line = prompt(&format!("s-{key}"), "p");
        line.payload[key] = json!(value);
        line
    };
    for line in [
        with("agent_id", "a1"),
        with("source", "loop_wakeup"),
        with(
            "prompt",
            "/compact keep the reorder threshold of the inventory",
        ),
        with(
            "prompt",
            "<task-notification>reorder threshold of the inventory</task-notification>",
        ),
        with("prompt", "continue"),
    ] {
        assert_eq!(said(&line, &env), None, "{}", line.payload);
    }
    assert!(said(&with("source", "user"), &env).is_some());
}

#[test]
fn switched_off_it_is_silent() {
    let env = machine();
    let line = prompt("new", "p");
    for variable in [
        ("THROUGHLINE_INJECTION", "off"),
        ("THROUGHLINE_INSIDE", "1"),
    ] {
        let ran = call_with(&env, &line, &[variable, PATIENT]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    }
    let config = env.home().join("memory/config.toml");
    for text in [
        "[injection]\nenabled = false",
        "[injection]\noff = [\"/dev/proj\"]",
    ] {
        std::fs::write(&config, text).unwrap();
        let ran = call_with(&env, &line, &[(NOW, "2026-11-16T10:00:00Z"), PATIENT]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{text}");
    }
    std::fs::write(&config, "").unwrap();
    assert!(said_at(&line, &env, "2026-11-16T11:00:00Z").is_some());
}

#[test]
fn a_compaction_is_heard_of_and_the_session_gets_its_notes_back() {
    const SESSION: &str = "703ad6e2-1d62-41f4-9458-d210f8be4c06";
    let env = machine();
    let before = claude(json!({
        "session_id": SESSION, "cwd": "/home/dev/proj", "trigger": "auto",
        "hook_event_name": "PreCompact",
    }));
    assert_eq!(said(&before, &env), None);
    // The follow-up work is queued: the next daemon or ingest updates the summary.
    assert!(
        !env.run(&["summary", SESSION])
            .shown()
            .contains("Current state")
    );
    assert_eq!(env.run(&["ingest"]).code, Some(0));
    assert!(
        env.run(&["summary", SESSION])
            .stdout
            .contains("Current state")
    );
    let text = said(&start(SESSION, "compact"), &env).unwrap();
    let word = text.split('"').nth(1).unwrap().to_owned();
    assert_snapshot!(
        "hook_compact",
        text.replace(&word, "WORD")
            .replace(&env.home().display().to_string(), "$HOME")
    );
}

#[test]
fn the_log_is_read_when_an_agent_stops() {
    let env = TestEnv::new();
    assert_eq!(env.run(&["remember", "a", "--everywhere"]).code, Some(0));
    let name = "4c5420d7-85c7-46b9-b34d-eaf1c42847fd";
    let log = format!("projects/-home-dev-proj/{name}.jsonl");
    let path = env.home().join(".claude").join(&log);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::copy(crate::env::samples().join("claude").join(&log), &path).unwrap();
    let stop = claude(json!({
        "session_id": name, "cwd": "/home/dev/proj", "transcript_path": path,
        "hook_event_name": "Stop", "last_assistant_message": "a secret",
    }));
    assert_eq!(said(&stop, &env), None);
    let waits = env
        .home()
        .join("memory/pending")
        .join(format!("claude-{name}.jsonl"));
    let text = std::fs::read_to_string(&waits).unwrap();
    assert!(
        !text.contains("secret") && !text.contains(".claude"),
        "{text}"
    );
    assert_eq!(said(&stop, &env), None);
    assert_eq!(
        std::fs::read_to_string(&waits).unwrap(),
        text,
        "each thing waits once"
    );
    // An ingest of another folder also runs the queue.
    let elsewhere = tempfile::tempdir().unwrap();
    let elsewhere = elsewhere.path().display().to_string();
    assert_eq!(env.run(&["ingest", "--root", &elsewhere]).code, Some(0));
    assert!(env.run(&["sessions"]).stdout.contains(&name[..8]));
    assert!(!waits.exists());
}
