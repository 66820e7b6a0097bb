//! Sessions whose log cannot be read are captured from the payloads of their hooks.

use super::*;

fn texts(test: &Test, session: &str) -> Vec<String> {
    let session = SessionId::new(session);
    let steps = test.store.last_steps(&session, 1000).unwrap();
    let text = |id| test.store.read_record(id).unwrap().unwrap().content;
    steps.into_iter().map(|step| text(step.id)).collect()
}

fn hear(test: &Test, payload: &Value) {
    test.carry_out(test.answer(&event(payload)).follow_ups);
}

fn cursor(name: &str, more: Value) -> Value {
    let mut payload = json!({
        "conversation_id": "c1", "generation_id": "g1", "hook_event_name": name,
        "workspace_roots": ["/home/dev/proj"],
    });
    let Value::Object(more) = more else {
        panic!("{more}");
    };
    payload.as_object_mut().unwrap().extend(more);
    payload
}

#[test]
fn an_agent_without_logs_is_captured_from_its_hooks() {
    let test = Test::new();
    let prompt = cursor(
        "beforeSubmitPrompt",
        json!({"prompt": "Which port do the metrics use?"}),
    );
    hear(&test, &prompt);
    hear(&test, &prompt);
    hear(
        &test,
        &cursor(
            "postToolUse",
            json!({
                "tool_use_id": "t1", "tool_name": "Shell",
                "tool_input": {"command": "grep -n PORT settings.py"},
                "tool_output": "PORT = 8123\nTOKEN = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a'",
            }),
        ),
    );
    hear(
        &test,
        &cursor(
            "postToolUse",
            json!({
                "tool_use_id": "t2", "tool_name": "Read",
                "tool_input": {"file_path": "/home/dev/proj/.env"},
                "tool_output": "DATABASE_URL=postgres://internal-host/orders",
            }),
        ),
    );
    let texts = texts(&test, "cursor:c1");
    let count = |part: &str| texts.iter().filter(|text| text.contains(part)).count();
    assert_eq!(count("Which port do the metrics use?"), 1, "{texts:?}");
    assert_eq!(count("grep -n PORT settings.py"), 1, "{texts:?}");
    assert_eq!(count("PORT = 8123"), 1, "{texts:?}");
    assert_eq!(count("ghp_16C7e42F"), 0, "redacted: {texts:?}");
    assert_eq!(count("internal-host"), 0, "never captured: {texts:?}");
}

#[test]
fn the_log_replaces_what_the_hooks_said() {
    let test = Test::new();
    let session = format!("claude:{SESSION}");
    let call = json!({
        "session_id": SESSION, "cwd": "/home/dev/proj", "hook_event_name": "PostToolUse",
        "transcript_path": "/nonexistent/log.jsonl", "tool_use_id": "toolu_1",
        "tool_name": "Bash", "tool_input": {"command": "echo only the hook said this"},
        "tool_response": {"stdout": "only the hook said this"},
    });
    hear(&test, &call);
    let is_of_hook = |text: &String| text.contains("only the hook said this");
    assert!(texts(&test, &session).iter().any(is_of_hook));
    let read = FollowUp::Read {
        flavor: Flavor::Claude,
        log: Some(log()),
    };
    test.carry_out(vec![read.clone()]);
    let both = texts(&test, &session);
    assert!(!both.iter().any(is_of_hook), "{both:?}");
    let fresh = Test::new();
    fresh.carry_out(vec![read]);
    assert_eq!(both, texts(&fresh, &session));
    // The log can be read now, so payloads are not stored any more.
    let mut later = call;
    later["transcript_path"] = json!(log());
    hear(&test, &later);
    assert_eq!(texts(&test, &session), both);
}

#[test]
fn a_log_that_is_still_to_come_is_waited_for() {
    let sources = Sources {
        adapters: ADAPTERS.to_vec(),
        roots: vec![Root {
            path: samples().join("claude"),
            flavor: Some(Flavor::Claude),
        }],
        all_roots: false,
        scope: CaptureScope::default(),
        archive: false,
        threads: 1,
    };
    let turn = |name: &str, log: Option<&str>| {
        let payload = json!({
            "session_id": "s", "hook_event_name": name, "prompt": "why?", "tool_name": "Bash",
            "transcript_path": log,
        });
        capture::hook::HookTurn::from_event(&event(&payload)).unwrap()
    };
    let absent = Some("/nonexistent/log.jsonl");
    assert!(turn("UserPromptSubmit", absent).has_readable_log(&sources));
    assert!(!turn("PostToolUse", absent).has_readable_log(&sources));
    assert!(turn("PostToolUse", None).has_readable_log(&sources));
    let nowhere = Sources {
        roots: Vec::new(),
        ..sources
    };
    assert!(!turn("UserPromptSubmit", None).has_readable_log(&nowhere));
}
