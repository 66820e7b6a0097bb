//! Validates the answers as strictly as each agent does.

use serde_json::{Map, Value};

use super::Line;

/// Returns the context that an answer carries.
///
/// # Panics
///
/// Panics if the agent would reject the answer.
#[track_caller]
pub fn context(agent: &str, line: &Line, stdout: &str) -> Option<String> {
    let event = line.event();
    let context = match agent {
        // The agent shows this text to the user.
        "claude" if event == "PreCompact" => {
            assert_eq!(stdout, "", "{event}");
            None
        }
        "claude" => specific(stdout, event, CLAUDE),
        "codex" => specific(stdout, event, CODEX),
        "gemini" => {
            assert!(!stdout.is_empty(), "{event}: not JSON");
            specific(stdout, event, GEMINI)
        }
        "grok" => specific(stdout, event, &["PreToolUse", "PostToolUse"]),
        "copilot" => top(stdout, "additionalContext", event, COPILOT),
        "opencode" => shim(stdout, event),
        "cursor" => {
            assert!(!stdout.is_empty(), "{event}: not JSON");
            top(
                stdout,
                "additional_context",
                event,
                &["sessionStart", "postToolUse"],
            )
        }
        _ => panic!("{agent}"),
    };
    if let Some(context) = &context {
        assert!(context.chars().count() < 10_000, "{agent} {event}");
        assert!(agent != "codex" || context.len() / 4 < 2_500, "{event}");
        assert!(context.starts_with("<throughline-memory"), "{context}");
        assert!(context.ends_with("</throughline-memory>"), "{context}");
    }
    context
}

const CLAUDE: &[&str] = &[
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
    "PostToolBatch", "SubagentStart",
];
const CODEX: &[&str] = &[
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse",
];
const GEMINI: &[&str] = &["SessionStart", "BeforeAgent", "AfterTool"];
const COPILOT: &[&str] = &[
    "sessionStart", "userPromptSubmitted", "preToolUse", "postToolUse",
];

/// Plain text for the model that summarizes; JSON would be parsed as something else.
fn object(stdout: &str) -> Map<String, Value> {
    let value: Value =
        serde_json::from_str(stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"));
    let Value::Object(object) = value else {
        panic!("{stdout}");
    };
    object
}

/// The format of Claude Code. Codex CLI rejects an answer with an unknown field.
fn specific(stdout: &str, event: &str, events: &[&str]) -> Option<String> {
    if stdout.is_empty() {
        return None;
    }
    let object = object(stdout);
    if object.is_empty() {
        return None;
    }
    assert!(
        events.contains(&event),
        "{event} takes no context: {stdout}"
    );
    check_notice(object.get("systemMessage"));
    let others = object.keys().filter(|key| *key != "systemMessage");
    assert_eq!(others.collect::<Vec<_>>(), ["hookSpecificOutput"]);
    let inner = object["hookSpecificOutput"].as_object().unwrap();
    assert_eq!(
        inner.keys().collect::<Vec<_>>(),
        ["additionalContext", "hookEventName"]
    );
    assert_eq!(inner["hookEventName"], event);
    Some(inner["additionalContext"].as_str().unwrap().to_owned())
}

/// The user is told how much was injected, in one short line.
fn check_notice(notice: Option<&Value>) {
    let Some(notice) = notice else { return };
    let text = notice.as_str().unwrap();
    assert!(text.starts_with("Throughline: ") && text.ends_with(" tokens)"));
    assert!(text.len() < 80 && !text.contains('\n'), "{text}");
}

fn top(stdout: &str, key: &str, event: &str, events: &[&str]) -> Option<String> {
    if stdout.is_empty() {
        return None;
    }
    let object = object(stdout);
    if object.is_empty() {
        return None;
    }
    assert!(
        events.contains(&event),
        "{event} takes no context: {stdout}"
    );
    assert_eq!(object.keys().collect::<Vec<_>>(), [key]);
    Some(object[key].as_str().unwrap().to_owned())
}

fn shim(stdout: &str, event: &str) -> Option<String> {
    let object = object(stdout);
    check_notice(object.get("notice"));
    let others = object.keys().filter(|key| *key != "notice");
    assert_eq!(others.collect::<Vec<_>>(), ["context"]);
    match &object["context"] {
        Value::Null => None,
        Value::String(text) => {
            let events = ["chat.message", "system.transform", "session.compacting"];
            assert!(events.contains(&event), "{event}");
            Some(text.clone())
        }
        other => panic!("{other}"),
    }
}
