//! What a hook says about a session is current: the last request is the last one in the log,
//! whether or not it has been ingested.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Line, call_with, claude, schema};
use crate::env::TestEnv;

const CWD: &str = "/w/orderflow";
const PATIENT: (&str, &str) = ("THROUGHLINE_HOOK_DEADLINE_MS", "30000");

/// The log of an agent, written turn by turn.
struct Log {
    agent: &'static str,
    id: &'static str,
    path: PathBuf,
    text: String,
    entries: usize,
}

impl Log {
    fn new(env: &TestEnv, agent: &'static str, id: &'static str) -> Self {
        let home = env.home();
        let path = match agent {
            "claude" => home.join(format!(".claude/projects/-w-orderflow/{id}.jsonl")),
            "codex" => home.join(format!(
                ".codex/sessions/2026/11/16/rollout-2026-11-16T08-00-00-{id}.jsonl"
            )),
            "copilot" => home.join(format!(".copilot/session-state/{id}/events.jsonl")),
            _ => home.join(".gemini/tmp/orderflow/chats/session-2026-11-16T08-00-aaaa.jsonl"),
        };
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if agent == "gemini" {
            let root = home.join(".gemini/tmp/orderflow/.project_root");
            fs::write(root, CWD).unwrap();
        }
        let mut log = Self {
            agent,
            id,
            path,
            text: String::new(),
            entries: 0,
        };
        let at = "2026-11-16T08:00:00.000Z";
        match agent {
            "codex" => log.add(&json!({
                "timestamp": at, "type": "session_meta", "payload": {
                    "id": id, "timestamp": at, "cwd": CWD, "originator": "codex_cli_rs",
                    "cli_version": "0.166.0", "source": "cli",
                },
            })),
            "copilot" => log.add(&json!({
                "type": "session.start", "id": "e0", "timestamp": at, "parentId": null, "data": {
                    "sessionId": id, "version": 1, "producer": "copilot-agent", "startTime": at,
                    "copilotVersion": "1.0.102", "context": {"cwd": CWD},
                },
            })),
            "gemini" => log.add(&json!({
                "sessionId": id, "projectHash": "00", "startTime": at, "lastUpdated": at,
                "kind": "main",
            })),
            _ => {}
        }
        log
    }

    fn add(&mut self, entry: &Value) {
        self.text += &format!("{entry}\n");
        fs::write(&self.path, &self.text).unwrap();
    }

    fn user(&mut self, text: &str) {
        self.say("user", text);
    }

    fn agent(&mut self, text: &str) {
        self.say("assistant", text);
    }

    fn say(&mut self, role: &str, text: &str) {
        self.entries += 1;
        let at = format!("2026-11-16T08:{:02}:00.000Z", self.entries);
        let id = format!("e{}", self.entries);
        let is_user = role == "user";
        let entry = match self.agent {
            "claude" => json!({
                "type": role, "uuid": id, "sessionId": self.id, "cwd": CWD, "timestamp": at,
                "version": "2.1.325", "entrypoint": "cli",
                "message": {"role": role, "id": id, "content": [{"type": "text", "text": text}]},
            }),
            "codex" => json!({
                "timestamp": at, "type": "response_item", "payload": {
                    "type": "message", "role": role, "content": [{
                        "type": if is_user { "input_text" } else { "output_text" }, "text": text,
                    }],
                },
            }),
            "copilot" if is_user => json!({
                "type": "user.message", "id": id, "timestamp": at,
                "data": {"content": text, "attachments": []},
            }),
            "copilot" => json!({
                "type": "assistant.message", "id": id, "timestamp": at,
                "data": {"messageId": id, "content": text, "toolRequests": []},
            }),
            _ if is_user => json!({
                "id": id, "timestamp": at, "type": "user", "content": [{"text": text}],
            }),
            _ => json!({
                "id": id, "timestamp": at, "type": "gemini", "content": text, "thoughts": [],
                "model": "gemini-3-pro", "tokens": {"input": 100, "output": 10, "cached": 0,
                    "thoughts": 0, "tool": 0, "total": 110},
            }),
        };
        self.add(&entry);
    }

    /// Logs a tool call of Claude Code without a result.
    fn call(&mut self, command: &str) {
        self.entries += 1;
        let id = format!("e{}", self.entries);
        self.add(&json!({
            "type": "assistant", "uuid": id, "sessionId": self.id, "cwd": CWD,
            "timestamp": "2026-11-16T08:40:00.000Z", "version": "2.1.325", "entrypoint": "cli",
            "message": {"role": "assistant", "id": id, "content": [{
                "type": "tool_use", "id": format!("toolu_{id}"), "name": "Bash",
                "input": {"command": command},
            }]},
        }));
    }

    /// Returns a payload of the agent about this session.
    fn event(&self, event: &str, more: &Value) -> Line {
        let mut payload = match self.agent {
            "copilot" => json!({"sessionId": self.id, "cwd": CWD, "timestamp": 1}),
            "opencode" => json!({
                "agent": "opencode", "event": event, "session_id": self.id, "cwd": CWD,
            }),
            "grok" => json!({
                "session_id": self.id, "sessionId": self.id, "cwd": CWD,
                "hook_event_name": event, "hookEventName": event.to_lowercase(),
            }),
            _ => json!({
                "session_id": self.id, "cwd": CWD, "hook_event_name": event,
                "transcript_path": self.path,
            }),
        };
        if self.agent == "gemini" {
            payload["timestamp"] = json!("2026-11-16T08:59:00Z");
        }
        let fields = more.as_object().unwrap().clone();
        payload.as_object_mut().unwrap().extend(fields);
        let mut line = claude(payload);
        line.event = (self.agent == "copilot").then(|| event.to_owned());
        line
    }
}

#[track_caller]
fn said(env: &TestEnv, agent: &str, line: &Line) -> Option<String> {
    let ran = call_with(env, line, &[PATIENT]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{agent}");
    schema::context(agent, line, &ran.stdout)
}

fn start_of_next(agent: &str) -> Line {
    match agent {
        "copilot" => {
            let payload = json!({"sessionId": "next", "cwd": CWD, "timestamp": 1, "source": "new"});
            let mut line = claude(payload);
            line.event = Some("sessionStart".to_owned());
            line
        }
        "gemini" => claude(json!({
            "session_id": "next", "cwd": CWD, "hook_event_name": "SessionStart",
            "source": "startup", "timestamp": "2026-11-16T08:59:00Z",
            "transcript_path": "/nowhere/.gemini/next.jsonl",
        })),
        "codex" => claude(json!({
            "session_id": "next", "cwd": CWD, "hook_event_name": "SessionStart",
            "source": "startup", "transcript_path": "/nowhere/rollout-next.jsonl",
        })),
        _ => claude(json!({
            "session_id": "next", "cwd": CWD, "hook_event_name": "SessionStart",
            "source": "startup", "transcript_path": "/nowhere/next.jsonl",
        })),
    }
}

fn ingest(env: &TestEnv) {
    let ran = env.run(&["ingest"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
}

#[test]
fn the_next_session_is_told_the_true_end_of_the_last_one() {
    for agent in ["claude", "codex", "copilot", "gemini"] {
        let env = TestEnv::new();
        let mut log = Log::new(&env, agent, "5f1c0f3e-0000-4000-8000-00000000000a");
        log.user("Have a look at orders.py and the worker log.");
        log.agent("The worker log shows a timeout.");
        ingest(&env);
        // The log is not ingested: there is no daemon, and the work of the hooks is queued.
        log.user("Now move handler_7 into pkg/seven.py.");
        log.agent("Moved; the tests of the orderflow pass.");
        let text = said(&env, agent, &start_of_next(agent)).unwrap_or_default();
        let is_last = text.contains("The last session here")
            && text.contains("Now move handler_7 into pkg/seven.py.")
            && text.contains("Moved; the tests of the orderflow pass.")
            && !text.contains("> Have a look at orders.py")
            && !text.contains("abandoned");
        assert!(is_last, "{agent}: {text}");
        // The answer is the same after ingestion.
        ingest(&env);
        let again = said(&env, agent, &start_of_next(agent));
        assert_eq!(again, None, "{agent}: the same event within five seconds");
    }
}

#[test]
fn a_secret_in_the_unread_end_of_a_log_is_redacted() {
    let env = TestEnv::new();
    let mut log = Log::new(&env, "claude", "5f1c0f3e-0000-4000-8000-00000000000b");
    log.user("Have a look at orders.py and the worker log.");
    ingest(&env);
    let token = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    log.user(&format!("Push the orderflow branch with the token {token}"));
    let text = said(&env, "claude", &start_of_next("claude")).unwrap();
    assert!(text.contains("[redacted:"), "{text}");
    assert!(!text.contains(&token), "{text}");
}

#[test]
fn what_cannot_be_read_in_time_is_left_out() {
    let env = TestEnv::new();
    let mut log = Log::new(&env, "claude", "5f1c0f3e-0000-4000-8000-00000000000c");
    log.user("Have a look at orders.py and the worker log.");
    ingest(&env);
    log.user("Now move handler_7 into pkg/seven.py.");
    // More than a hook reads, without a prompt.
    for _ in 0..60 {
        log.agent(&"moving the orderflow handlers ".repeat(200));
    }
    let text = said(&env, "claude", &start_of_next("claude")).unwrap();
    assert!(!text.contains("word for word"), "{text}");
    assert!(
        !text.contains("> Have a look") && !text.contains("abandoned"),
        "{text}"
    );
    assert!(text.contains("The agent said last"), "{text}");
}

#[test]
fn what_nobody_has_read_is_not_passed_over_in_silence() {
    let env = TestEnv::new();
    let mut log = Log::new(&env, "claude", "5f1c0f3e-0000-4000-8000-000000000020");
    log.user("Have a look at orders.py and the worker log.");
    ingest(&env);
    // A later session ends without a daemon, so the store does not know it yet.
    let mut later = Log::new(&env, "claude", "5f1c0f3e-0000-4000-8000-000000000021");
    later.user("Move handler_7 into pkg/seven.py.");
    assert_eq!(said(&env, "claude", &later.event("Stop", &json!({}))), None);
    let text = said(&env, "claude", &start_of_next("claude")).unwrap();
    assert!(text.contains("An earlier session here"), "{text}");
    assert!(!text.contains("The last session here"), "{text}");
}

#[test]
fn a_cleared_session_starts_clean() {
    let env = TestEnv::new();
    let mut log = Log::new(&env, "claude", "5f1c0f3e-0000-4000-8000-00000000000d");
    log.user("Have a look at orders.py and the worker log.");
    log.agent("The worker log shows a timeout.");
    ingest(&env);
    let mut line = start_of_next("claude");
    line.payload["source"] = json!("clear");
    assert_eq!(said(&env, "claude", &line), None);
    let kept = env.run(&["prefer", "answer in French", "--everywhere"]);
    assert_eq!(kept.code, Some(0), "{}", kept.shown());
    line.payload["session_id"] = json!("cleared");
    let text = said(&env, "claude", &line).unwrap();
    assert!(text.contains("answer in French"), "{text}");
    assert!(!text.contains("session here"), "{text}");
}

#[test]
fn a_trivial_session_does_not_take_the_place_of_the_one_that_matters() {
    let env = TestEnv::new();
    let mut log = Log::new(&env, "claude", "5f1c0f3e-0000-4000-8000-00000000000e");
    log.user("Move handler_7 into pkg/seven.py.");
    log.agent("Moved; the tests of the orderflow pass.");
    for (index, prompt) in ["where were we?", "go on", "hello", "wo waren wir?"]
        .into_iter()
        .enumerate()
    {
        let ids = [
            "5f1c0f3e-0000-4000-8000-0000000000f0",
            "5f1c0f3e-0000-4000-8000-0000000000f1",
            "5f1c0f3e-0000-4000-8000-0000000000f2",
            "5f1c0f3e-0000-4000-8000-0000000000f3",
        ];
        let mut later = Log::new(&env, "claude", ids[index]);
        later.entries = 20 + 2 * index;
        later.user(prompt);
        later.agent("You were moving handlers.");
    }
    let mut asking = Log::new(&env, "claude", "5f1c0f3e-0000-4000-8000-0000000000f4");
    asking.entries = 40;
    asking.user("What port does the metrics endpoint listen on?");
    asking.agent("On 8123.");
    asking.user("tell me the port that metrics are served on");
    asking.agent("They are served on 8123.");
    ingest(&env);
    let text = said(&env, "claude", &start_of_next("claude")).unwrap();
    assert!(text.contains("Move handler_7 into pkg/seven.py."), "{text}");
    assert!(text.contains("The last working session here"), "{text}");
    assert!(
        !text.contains("where were we") && !text.contains("8123"),
        "{text}"
    );
}

#[test]
fn claude_code_hears_nothing_before_a_compaction_and_its_true_notes_after_it() {
    let env = TestEnv::new();
    let mut log = Log::new(&env, "claude", "5f1c0f3e-0000-4000-8000-000000000010");
    log.user("Run a quick import test.");
    log.call("python3 -c 'import orderflow'");
    ingest(&env);
    log.user("no, amounts must be Decimal, never float.");
    log.agent("Understood.");
    log.user("Next: move handlers 10 to 19.");
    log.call("git mv handlers.py pkg/");
    let before = log.event("PreCompact", &json!({"trigger": "manual"}));
    let ran = call_with(&env, &before, &[PATIENT]);
    // Claude Code would show it to the user and keep it in the conversation.
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    let after = log.event("SessionStart", &json!({"source": "compact"}));
    let text = said(&env, "claude", &after).unwrap();
    let is_current = text.contains("Next: move handlers 10 to 19.")
        && text.contains("amounts must be Decimal, never float")
        && text.contains("No result yet: Bash `git mv handlers.py pkg/`");
    assert!(is_current, "{text}");
    assert!(!text.contains("No result yet: Bash `python3"), "{text}");
    // A second compaction soon after is another one; a second delivery of the same is not.
    assert_eq!(said(&env, "claude", &after), None);
    log.user("And now the docs of the orderflow.");
    let text = said(&env, "claude", &after).unwrap();
    assert!(
        text.contains("And now the docs of the orderflow."),
        "{text}"
    );
}

#[test]
fn opencode_is_told_the_last_request_before_a_compaction_and_gets_its_notes_after() {
    let env = TestEnv::new();
    let mut other = Log::new(&env, "claude", "5f1c0f3e-0000-4000-8000-000000000011");
    other.user("Move handler_7 into pkg/seven.py.");
    ingest(&env);
    let log = Log {
        agent: "opencode",
        id: "ses_1",
        ..Log::new(&env, "claude", "5f1c0f3e-0000-4000-8000-000000000012")
    };
    let fields = json!({"prompt": "Next: move handlers 10 to 19.", "prompt_id": "compaction-1"});
    let before = log.event("session.compacting", &fields);
    let text = said(&env, "opencode", &before).unwrap();
    assert!(text.contains("Next: move handlers 10 to 19."), "{text}");
    let again = log.event("session.compacting", &fields);
    assert_eq!(said(&env, "opencode", &again), None, "the same compaction");
    let fields = json!({"prompt": "And the docs.", "prompt_id": "compaction-2"});
    let second = log.event("session.compacting", &fields);
    let text = said(&env, "opencode", &second).unwrap();
    assert!(text.contains("And the docs."), "{text}");
    // A subagent has a session of its own, which its plugin names.
    let mut start = log.event("system.transform", &json!({"source": "startup"}));
    assert!(said(&env, "opencode", &start).is_some());
    start.payload["session_id"] = json!("ses_child");
    start.payload["agent_id"] = json!("ses_child");
    assert_eq!(said(&env, "opencode", &start), None);
}

#[test]
fn copilot_gets_its_notes_with_the_next_prompt_once() {
    let env = TestEnv::new();
    let mut log = Log::new(&env, "copilot", "5f1c0f3e-0000-4000-8000-000000000013");
    log.user("Start the storage refactor of the orderflow.");
    log.agent("Listed the modules.");
    ingest(&env);
    log.user("Next: move handlers 10 to 19.");
    let path = json!({"transcriptPath": log.path, "trigger": "auto"});
    assert_eq!(said(&env, "copilot", &log.event("preCompact", &path)), None);
    let prompt = |text: &str| log.event("userPromptSubmitted", &json!({"prompt": text}));
    let text = said(&env, "copilot", &prompt("go on")).unwrap();
    let is_notes = text.contains("just compacted") && text.contains("Next: move handlers");
    assert!(is_notes, "{text}");
    assert_eq!(said(&env, "copilot", &prompt("and the docs")), None);
}

#[test]
fn gemini_gets_its_notes_with_the_next_prompt_once() {
    let env = TestEnv::new();
    let mut log = Log::new(&env, "gemini", "aaaa0001-0000-4000-8000-000000000001");
    log.user("Start the storage refactor of the orderflow.");
    log.agent("Listed the modules.");
    ingest(&env);
    let prompt = |log: &Log, text: &str| log.event("BeforeAgent", &json!({"prompt": text}));
    let auto = log.event("PreCompress", &json!({"trigger": "auto"}));
    // This event fires before every request, with or without compression.
    assert_eq!(said(&env, "gemini", &auto), None);
    assert_eq!(said(&env, "gemini", &prompt(&log, "go on")), None);
    let manual = log.event("PreCompress", &json!({"trigger": "manual"}));
    assert_eq!(said(&env, "gemini", &manual), None);
    let text = said(&env, "gemini", &prompt(&log, "continue")).unwrap();
    assert!(text.contains("just compacted"), "{text}");
    assert_eq!(said(&env, "gemini", &prompt(&log, "and now?")), None);
    // Without the event a compression is detected by the size of the requests.
    for (id, tokens) in [("t1", 90_000), ("t2", 12_000)] {
        log.entries += 1;
        let at = format!("2026-11-16T08:{:02}:30.000Z", 30 + log.entries);
        log.add(&json!({
            "id": id, "timestamp": at, "type": "gemini", "content": "Working.", "thoughts": [],
            "model": "gemini-3-pro", "tokens": {"input": tokens, "output": 10, "cached": 0,
                "thoughts": 0, "tool": 0, "total": tokens + 10},
        }));
    }
    ingest(&env);
    let text = said(&env, "gemini", &prompt(&log, "next")).unwrap();
    assert!(text.contains("just compacted"), "{text}");
    assert_eq!(said(&env, "gemini", &prompt(&log, "and then?")), None);
}

#[test]
fn grok_gets_its_notes_with_the_next_result_of_a_tool_once() {
    let env = TestEnv::new();
    let kept = env.run(&["prefer", "answer in French", "--everywhere"]);
    assert_eq!(kept.code, Some(0), "{}", kept.shown());
    let log = Log {
        agent: "grok",
        ..Log::new(&env, "claude", "5f1c0f3e-0000-4000-8000-000000000014")
    };
    let tool = |call: &str| log.event("PostToolUse", &json!({"tool_use_id": call}));
    assert_eq!(said(&env, "grok", &tool("c1")), None);
    assert_eq!(
        said(&env, "grok", &log.event("PreCompact", &json!({}))),
        None
    );
    let text = said(&env, "grok", &tool("c2")).unwrap();
    assert!(text.contains("answer in French"), "{text}");
    assert_eq!(said(&env, "grok", &tool("c3")), None);
}

#[test]
fn grok_gets_memory_with_the_first_result_of_a_tool_after_a_prompt() {
    let env = TestEnv::new();
    let kept = env.run(&["prefer", "answer in French", "--everywhere"]);
    assert_eq!(kept.code, Some(0), "{}", kept.shown());
    let log = Log {
        agent: "grok",
        ..Log::new(&env, "claude", "5f1c0f3e-0000-4000-8000-000000000024")
    };
    let prompt = log.event("UserPromptSubmit", &json!({"prompt": "what now?"}));
    assert_eq!(
        said(&env, "grok", &prompt),
        None,
        "Grok ignores this answer"
    );
    let tool = |call: &str| log.event("PostToolUse", &json!({"tool_use_id": call}));
    let text = said(&env, "grok", &tool("c1")).unwrap();
    assert!(text.contains("answer in French"), "{text}");
    assert_eq!(said(&env, "grok", &tool("c2")), None);
}

#[test]
fn a_subagent_of_copilot_gets_nothing() {
    let env = TestEnv::new();
    let kept = env.run(&["prefer", "answer in French", "--everywhere"]);
    assert_eq!(kept.code, Some(0), "{}", kept.shown());
    let parent = Log::new(&env, "copilot", "5f1c0f3e-0000-4000-8000-000000000015");
    let child = Log::new(&env, "copilot", "5f1c0f3e-0000-4000-8000-000000000016");
    let begins = parent.event("subagentStart", &json!({"agentName": "explore"}));
    assert_eq!(said(&env, "copilot", &begins), None);
    let start = child.event("sessionStart", &json!({"source": "new"}));
    assert_eq!(said(&env, "copilot", &start), None);
    let stops = parent.event("agentStop", &json!({}));
    assert_eq!(said(&env, "copilot", &stops), None);
    let mut later = start;
    later.payload["sessionId"] = json!("5f1c0f3e-0000-4000-8000-000000000017");
    assert!(said(&env, "copilot", &later).is_some());
}

#[test]
fn a_session_is_titled_by_what_it_is_about() {
    let env = TestEnv::new();
    for agent in ["claude", "codex", "copilot", "gemini"] {
        let mut log = Log::new(&env, agent, "5f1c0f3e-0000-4000-8000-000000000018");
        log.user("hello");
        log.agent("Hello.");
        log.user("Move   the handlers\tof the orderflow into pkg.\n\nThen test.");
        log.agent("Moved.");
        log.user("go on");
        if agent == "claude" {
            let last = json!({"type": "last-prompt", "lastPrompt": "go on", "sessionId": log.id});
            log.add(&last);
        }
    }
    ingest(&env);
    let listed = env.run(&["sessions", "--json"]).stdout;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let titles: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["title"])
        .collect();
    assert_eq!(titles.len(), 4);
    for title in titles {
        assert_eq!(title, "Move the handlers of the orderflow into pkg.");
    }
}
