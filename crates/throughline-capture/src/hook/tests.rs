use std::fmt::Write;

use serde::Deserialize;
use serde_json::Value;

use super::*;

#[derive(Deserialize)]
struct Line {
    name: String,
    event: Option<String>,
    env: serde_json::Map<String, Value>,
    payload: Value,
}

fn lines(agent: &str) -> Vec<Line> {
    let path = testkit::fixture(&format!("hooks/{agent}.jsonl"));
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

fn event(line: &Line) -> HookEvent {
    let hints = HookHints {
        event: line.event.clone(),
        environment_agent: line
            .env
            .contains_key("COPILOT_CLI")
            .then_some(Flavor::Copilot),
        ..HookHints::default()
    };
    parse_payload(line.payload.to_string().as_bytes(), &hints).unwrap()
}

fn of(payload: &Value) -> Result<HookEvent, HookParseError> {
    parse_payload(payload.to_string().as_bytes(), &HookHints::default())
}

#[test]
fn every_payload_is_its_agents_and_means_what_it_says() {
    let mut shown = String::new();
    for agent in [
        "claude", "codex", "gemini", "grok", "copilot", "opencode", "cursor", "qwen", "kimi", "pi",
    ] {
        for line in lines(agent) {
            let event = event(&line);
            assert_eq!(event.flavor.name(), agent, "{}", line.name);
            let session = event.session.as_ref().unwrap();
            assert!(session.as_str().starts_with(agent), "{session}");
            assert_eq!(event.cwd.as_deref(), Some("/home/dev/proj".as_ref()));
            let what = match &event.kind {
                HookKind::SessionStart { source } => format!("session-start {source:?}"),
                kind => kind.name().to_owned(),
            };
            let marks = [
                event.transcript.is_some().then_some("log"),
                event.subagent.is_some().then_some("subagent"),
                event.prompt_id.is_some().then_some("turn"),
                event.call_id.is_some().then_some("call"),
            ];
            let marks: Vec<_> = marks.into_iter().flatten().collect();
            writeln!(shown, "{agent} {}: {what} ({})", line.name, marks.join(" ")).unwrap();
        }
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn an_answer_is_in_the_agents_own_words() {
    let mut shown = String::new();
    for agent in [
        "claude", "codex", "gemini", "grok", "copilot", "opencode", "cursor", "qwen", "kimi", "pi",
    ] {
        let mut seen = std::collections::BTreeSet::new();
        for line in lines(agent) {
            let event = event(&line);
            let answer = HookAnswer {
                context: Some("T".to_owned()),
                notice: Some("N".to_owned()),
            };
            let written = answer.render(&event);
            if seen.insert(event.name.clone()) {
                writeln!(shown, "{agent} {}: {written}", event.name).unwrap();
            }
        }
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn grok_is_recognised_where_it_runs_claudes_hooks() {
    let line = &lines("grok")[0];
    let hints = HookHints {
        agent: Some(Flavor::Claude),
        ..HookHints::default()
    };
    let event = parse_payload(line.payload.to_string().as_bytes(), &hints).unwrap();
    assert_eq!(event.flavor, Flavor::Grok);
}

/// As Copilot sends it from a plugin: with the time, as Gemini does, but without saying where its
/// log lies.
#[test]
fn copilot_with_a_plugin_is_not_taken_for_gemini() {
    let payload = br#"{"hook_event_name":"SessionStart","session_id":"s","cwd":"/work",
        "timestamp":"2026-11-16T08:00:00.000Z","source":"new","initial_prompt":"x"}"#;
    let event = parse_payload(payload, &HookHints::default()).unwrap();
    assert_eq!(event.flavor, Flavor::Copilot);
    // Of Claude Code's form of an answer it takes nothing.
    let answer = event.dialect.render_context(&event, "words", None);
    assert_eq!(answer, r#"{"additionalContext":"words"}"#);
}

#[test]
fn copilot_with_a_plugin_speaks_as_claude_does() {
    let payload = serde_json::json!({
        "session_id": "s", "cwd": "/w", "hook_event_name": "UserPromptSubmit", "prompt": "why?",
    });
    let hints = HookHints {
        environment_agent: Some(Flavor::Copilot),
        ..HookHints::default()
    };
    let event = parse_payload(payload.to_string().as_bytes(), &hints).unwrap();
    assert_eq!(event.flavor, Flavor::Copilot);
    let answer = HookAnswer {
        context: Some("T".to_owned()),
        ..HookAnswer::default()
    };
    assert_eq!(answer.render(&event), r#"{"additionalContext":"T"}"#);
    assert_eq!(of(&payload).unwrap().flavor, Flavor::Claude);
}

#[test]
fn our_own_words_are_not_taken_for_geminis_prompt() {
    let check = |prompt: &str, typed: &str| {
        let payload = serde_json::json!({
            "session_id": "s", "hook_event_name": "BeforeAgent", "prompt": prompt,
        });
        let kind = of(&payload).unwrap().kind;
        let HookKind::Prompt { text, .. } = kind else {
            panic!("{kind:?}");
        };
        assert_eq!(text, typed);
    };
    check("why?", "why?");
    let fenced = memory::fence::enclose_with_id("7f3a", "1. The user prefers: tabs");
    check(
        &format!("<hook_context>{fenced}</hook_context>\n\nwhy?"),
        "why?",
    );
    check(&format!("{fenced}\nwhy?"), "why?");
    check("<hook_context>of another hook</hook_context>\nwhy?", "why?");
}

#[test]
fn a_prompt_in_parts_is_read() {
    let prompts: Vec<_> = lines("kimi").iter().map(event).collect();
    let text = prompts.iter().find_map(|event| match &event.kind {
        HookKind::Prompt { text, .. } => Some(text.as_str()),
        _ => None,
    });
    assert_eq!(text, Some("say hi"));
}

#[test]
fn what_is_too_long_for_an_agent_is_left_out() {
    let payload = serde_json::json!({
        "session_id": "s", "hook_event_name": "SessionStart", "source": "startup",
        "transcript_path": "/c/rollout-1.jsonl",
    });
    let codex = of(&payload).unwrap();
    let context = |chars: usize| HookAnswer {
        context: Some("a b ".repeat(chars / 4)),
        ..HookAnswer::default()
    };
    assert!(!context(4_000).render(&codex).is_empty());
    assert_eq!(context(9_200).render(&codex), "");
    let wide = HookAnswer {
        context: Some("語".repeat(4_000)),
        ..HookAnswer::default()
    };
    assert_eq!(wide.render(&codex), "");
}

#[test]
fn odd_payloads_are_refused_or_read_as_far_as_they_go() {
    for payload in [
        "", "no", "[]", "null", "{\"a\":", "{}", "{\"session_id\":7}",
    ] {
        assert!(
            parse_payload(payload.as_bytes(), &HookHints::default()).is_err(),
            "{payload}"
        );
    }
    assert!(parse_payload(&[0xff, 0xfe, 0], &HookHints::default()).is_err());
    let native = serde_json::json!({"sessionId": "s"});
    assert_eq!(
        of(&native).unwrap_err(),
        HookParseError::MissingEvent(Flavor::Copilot)
    );
    let event = of(&serde_json::json!({
        "hook_event_name": "UserPromptSubmit", "session_id": 7, "prompt": ["a"], "cwd": null,
    }));
    let event = event.unwrap();
    assert_eq!((event.session, event.cwd), (None, None));
    assert_eq!(
        event.kind,
        HookKind::Prompt {
            text: String::new(),
            automatic: false
        }
    );
}
