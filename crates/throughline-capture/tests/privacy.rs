//! No byte of the store holds what must not be captured, whichever agent and tool printed it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on should fail"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use capture::flavor::ADAPTERS;
use capture::{CaptureScope, Root, Sources, SweepControl};
use jiff::Timestamp;
use rusqlite::Connection;
use serde_json::{Value, json};
use store::Store;
use throughline_capture as capture;

const PROJECT: &str = "/home/dev/proj";
const DENIED: &str = "/home/dev/hushhush";
const AGENTS: &[&str] = &["claude", "codex", "gemini", "copilot", "grok", "opencode"];

/// One tool call and what it returned.
struct Step {
    tool: &'static str,
    input: Value,
    output: String,
}

fn step(tool: &'static str, input: Value, output: impl Into<String>) -> Step {
    Step {
        tool,
        input,
        output: output.into(),
    }
}

fn shell(command: &str, output: impl Into<String>) -> Step {
    step("shell", json!({ "command": command }), output)
}

/// Returns a word that occurs nowhere else. The index may share its first letters with other words,
/// so the tests search for it without them.
fn marker(agent: &str, name: &str) -> String {
    format!("qz{agent}{name}7wvxk")
}

/// Returns steps that print or write a never-captured file in many ways, each with its own marker.
fn never_steps(agent: &str) -> Vec<Step> {
    let m = |name: &str| format!("FOO={}", marker(agent, name));
    let diff = format!(
        "diff --git a/.env b/.env\n--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-{}\n+{}\n\
         diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n+fn {}() {{}}\n",
        m("diffold"),
        m("diffnew"),
        marker(agent, "keptdiff"),
    );
    let patch = format!(
        "*** Begin Patch\n*** Add File: .env\n+{}\n*** Update File: a.rs\n+// {}\n*** End Patch",
        m("patch"),
        marker(agent, "keptpatch"),
    );
    vec![
        step(
            "read",
            json!({ "file_path": format!("{PROJECT}/.env") }),
            format!("     1→{}\n", m("read")),
        ),
        shell("cat .env", m("cat")),
        shell("sed -n 4p ./.env", m("sed")),
        shell("grep FOO .env", m("grep")),
        shell("head -n 2 certs/server.pem", m("head")),
        shell("cat ~/.ssh/id_rsa", m("ssh")),
        shell("source .env && env | grep FOO", m("source")),
        shell(
            "python3 - <<'EOF'\nprint(open('.env').read())\nEOF",
            m("python"),
        ),
        shell("cp .env /tmp/x && cat /tmp/x", m("copy")),
        shell("git diff", diff),
        shell(&format!("cat > .env <<'EOF'\n{}\nEOF", m("heredoc")), ""),
        shell(&format!("echo {} >> .env", m("echo")), ""),
        shell(&format!("apply_patch <<'EOF'\n{patch}\nEOF"), "done"),
        step(
            "write",
            json!({ "file_path": ".env", "content": m("write") }),
            "written",
        ),
        step(
            "edit",
            json!({ "file_path": ".env", "old_string": m("old"), "new_string": m("new") }),
            format!("edited:\n1\t{}", m("edited")),
        ),
        step(
            "mcp__filesystem__read_multiple_files",
            json!({ "paths": ["a.rs", ".env"] }),
            format!(".env:\n{}", m("mcp")),
        ),
        step(
            "grep",
            json!({ "pattern": "FOO", "path": "." }),
            format!(
                "a.rs:3:{}\n.env:3:{}\n",
                marker(agent, "keptgrep"),
                m("found")
            ),
        ),
        step(
            "read",
            json!({ "file_path": "/home/dev/other/notes.txt" }),
            format!(
                "     1→the first line of these notes\n     2→{} and more of it\n",
                marker(agent, "outside")
            ),
        ),
        shell(
            "cat /home/dev/other/more.txt",
            format!("a line\n{} of the text\n", marker(agent, "outshell")),
        ),
        shell(
            "tail -n 3 ../other/up.txt",
            format!("{} of the text\n", marker(agent, "outup")),
        ),
        step(
            "read",
            json!({ "file_path": format!("{PROJECT}/src/a.rs") }),
            format!("     1→fn {}() {{}}\n", marker(agent, "keptread")),
        ),
        shell(
            "cargo test",
            format!(
                "error in /home/dev/other/x.rs: {}",
                marker(agent, "keptshell")
            ),
        ),
    ]
}

const KEPT: &[&str] = &["keptdiff", "keptpatch", "keptgrep", "keptread", "keptshell"];
const GONE: &[&str] = &[
    "read", "cat", "sed", "grep", "head", "ssh", "source", "python", "copy", "diffold", "diffnew",
    "heredoc", "echo", "patch", "write", "old", "new", "edited", "mcp", "found", "outside",
    "outshell", "outup",
];

fn lines(all: &[Value]) -> String {
    all.iter().map(|line| format!("{line}\n")).collect()
}

/// Returns the logs of an agent that took these steps, as paths below its root and texts.
fn logs(
    agent: &str,
    session: &str,
    cwd: &str,
    prompt: &str,
    steps: &[Step],
) -> Vec<(String, String)> {
    let at = "2026-01-05T09:00:00.000Z";
    let call = |n: usize| format!("call_{session}_{n}");
    match agent {
        "claude" => {
            let entry = |role: &str, n: String, content: Value, result: Value| {
                json!({"type": role, "uuid": format!("{session}-{n}"), "parentUuid": null,
                    "sessionId": session, "timestamp": at, "cwd": cwd, "version": "2.1.98",
                    "message": {"role": role, "content": content}, "toolUseResult": result})
            };
            let mut log = vec![entry("user", "p".into(), json!(prompt), Value::Null)];
            for (n, step) in steps.iter().enumerate() {
                let name = match step.tool {
                    "shell" => "Bash",
                    "read" => "Read",
                    "write" => "Write",
                    "edit" => "Edit",
                    "grep" => "Grep",
                    other => other,
                };
                let bare = step.output.replace("     1→", "").replace("     2→", "");
                let copy = match step.input.get("file_path") {
                    Some(path) => {
                        json!({"type": "text", "file": {"filePath": path, "content": bare}})
                    }
                    None => json!({"stdout": step.output, "stderr": ""}),
                };
                log.push(entry(
                    "assistant",
                    format!("a{n}"),
                    json!([{"type": "tool_use", "id": call(n), "name": name, "input": step.input}]),
                    Value::Null,
                ));
                log.push(entry(
                    "user",
                    format!("r{n}"),
                    json!([{"type": "tool_result",
                    "tool_use_id": call(n), "content": step.output}]),
                    copy,
                ));
            }
            vec![(format!("projects/-p/{session}.jsonl"), lines(&log))]
        }
        "codex" => {
            let line = |kind: &str, payload: Value| {
                json!({"timestamp": at, "type": kind,
                "payload": payload})
            };
            let mut log = vec![
                line(
                    "session_meta",
                    json!({"id": session, "timestamp": at, "cwd": cwd,
                        "originator": "codex_cli_rs", "cli_version": "0.98.0"}),
                ),
                line(
                    "response_item",
                    json!({"type": "message", "role": "user", "content": [{"type": "input_text",
                        "text": prompt}]}),
                ),
            ];
            for (n, step) in steps.iter().enumerate() {
                let arguments = match step.tool {
                    "shell" => json!({"command": ["bash", "-lc", step.input["command"]]}),
                    _ => step.input.clone(),
                };
                log.push(line(
                    "response_item",
                    json!({"type": "function_call",
                    "name": step.tool, "arguments": arguments.to_string(), "call_id": call(n)}),
                ));
                log.push(line(
                    "event_msg",
                    json!({"type": "exec_command_end",
                    "call_id": call(n), "command": ["bash", "-lc", step.input["command"]],
                    "stdout": step.output, "stderr": "", "aggregated_output": step.output,
                    "exit_code": 0, "duration": {"secs": 0, "nanos": 1},
                    "formatted_output": step.output}),
                ));
                log.push(line(
                    "response_item",
                    json!({"type": "function_call_output",
                    "call_id": call(n), "output": json!({"output": step.output,
                    "metadata": {"exit_code": 0}}).to_string()}),
                ));
            }
            vec![(
                format!("sessions/2026/01/05/rollout-2026-01-05T09-00-00-{session}.jsonl"),
                lines(&log),
            )]
        }
        "gemini" => {
            let project = cwd.rsplit('/').next().unwrap();
            let calls: Vec<Value> = steps
                .iter()
                .enumerate()
                .map(|(n, step)| {
                    let name = match step.tool {
                        "shell" => "run_shell_command",
                        "read" => "read_file",
                        "write" => "write_file",
                        "edit" => "replace",
                        "grep" => "search_file_content",
                        other => other,
                    };
                    json!({"id": call(n), "name": name, "args": step.input, "status": "success",
                    "timestamp": at, "resultDisplay": step.output,
                    "result": [{"functionResponse": {"id": call(n), "name": name,
                    "response": {"output": step.output}}}]})
                })
                .collect();
            let log = [
                json!({"sessionId": session, "projectHash": "00", "startTime": at,
                    "lastUpdated": at, "kind": "main"}),
                json!({"id": "u1", "timestamp": at, "type": "user", "content": [{"text": prompt}]}),
                json!({"id": "g1", "timestamp": at, "type": "gemini", "content": "so",
                    "thoughts": [], "tokens": null, "model": "gemini-3-pro", "toolCalls": calls}),
            ];
            vec![
                (
                    "projects.json".into(),
                    json!({"projects": {cwd: project}}).to_string(),
                ),
                (
                    format!("tmp/{project}/chats/session-2026-01-05T09-00-{session}.jsonl"),
                    lines(&log),
                ),
            ]
        }
        "copilot" => {
            let event = |kind: &str, n: String, data: Value| {
                json!({"type": kind, "data": data,
                "id": format!("{session}-{n}"), "timestamp": at, "parentId": null})
            };
            let mut log = vec![
                event(
                    "session.start",
                    "s".into(),
                    json!({"sessionId": session, "version": 1, "producer": "copilot-agent",
                        "copilotVersion": "1.0.102", "startTime": at, "context": {"cwd": cwd,
                        "gitRoot": cwd}}),
                ),
                event("user.message", "u".into(), json!({"content": prompt})),
            ];
            for (n, step) in steps.iter().enumerate() {
                let name = match step.tool {
                    "shell" => "bash",
                    "read" => "view",
                    "write" => "create",
                    other => other,
                };
                log.push(event(
                    "assistant.message",
                    format!("a{n}"),
                    json!({"messageId": format!("m{n}"), "content": "",
                    "toolRequests": [{"toolCallId": call(n), "name": name,
                    "arguments": step.input, "type": "function"}]}),
                ));
                log.push(event(
                    "tool.execution_start",
                    format!("x{n}"),
                    json!({"toolCallId": call(n), "toolName": name, "arguments": step.input}),
                ));
                log.push(event(
                    "tool.execution_complete",
                    format!("y{n}"),
                    json!({"toolCallId": call(n), "success": true,
                    "result": {"content": step.output, "detailedContent": step.output}}),
                ));
            }
            vec![(format!("session-state/{session}/events.jsonl"), lines(&log))]
        }
        "grok" => {
            let update = |update: Value| json!({"sessionId": session, "update": update});
            let mut log = vec![update(
                json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text",
                    "text": prompt}}),
            )];
            for (n, step) in steps.iter().enumerate() {
                let name = match step.tool {
                    "shell" => "bash",
                    "read" => "read_file",
                    other => other,
                };
                log.push(update(json!({"sessionUpdate": "tool_call",
                    "toolCallId": call(n), "title": name,
                    "kind": "execute", "status": "pending", "rawInput": step.input})));
                log.push(update(json!({"sessionUpdate": "tool_call_update",
                    "toolCallId": call(n), "status": "completed", "rawInput": step.input,
                    "content": [{"type": "content", "content": {"type": "text",
                    "text": step.output}}], "rawOutput": {"output": step.output}})));
            }
            let folder = cwd.replace('/', "%2F");
            vec![(
                format!("sessions/{folder}/{session}/updates.jsonl"),
                lines(&log),
            )]
        }
        "opencode" => {
            let (user, answer) = (format!("m1_{session}"), format!("m2_{session}"));
            let mut files = vec![
                (
                    format!("storage/session/proj/{session}.json"),
                    json!({"id": session,
                    "version": "1.3.17", "projectID": "proj", "directory": cwd, "title": prompt,
                    "time": {"created": 1_767_603_600_000_u64,
                    "updated": 1_767_603_600_000_u64}})
                    .to_string(),
                ),
                (
                    format!("storage/message/{session}/{user}.json"),
                    json!({"id": user,
                    "sessionID": session, "role": "user",
                    "time": {"created": 1_767_603_600_000_u64}})
                    .to_string(),
                ),
                (
                    format!("storage/message/{session}/{answer}.json"),
                    json!({"id": answer,
                    "sessionID": session, "role": "assistant",
                    "time": {"created": 1_767_603_600_000_u64}, "path": {"cwd": cwd,
                    "root": cwd}})
                    .to_string(),
                ),
                (
                    format!("storage/part/{user}/p0_{session}.json"),
                    json!({"id": format!("p0_{session}"), "sessionID": session,
                    "messageID": user, "type": "text", "text": prompt})
                    .to_string(),
                ),
            ];
            for (n, step) in steps.iter().enumerate() {
                let name = if step.tool == "shell" {
                    "bash"
                } else {
                    step.tool
                };
                let part = json!({"id": format!("p{n}x_{session}"), "sessionID": session,
                    "messageID": answer, "type": "tool", "callID": call(n), "tool": name,
                    "state": {"status": "completed", "input": step.input, "output": step.output,
                    "metadata": {"preview": step.output},
                    "time": {"start": 1_767_603_600_000_u64, "end": 1_767_603_600_001_u64}}});
                files.push((
                    format!("storage/part/{answer}/p{n}x_{session}.json"),
                    part.to_string(),
                ));
            }
            files
        }
        other => panic!("no logs of {other}"),
    }
}

struct Machine {
    dir: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let machine = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(machine.home()).unwrap();
        fs::write(machine.home().join("redaction.key"), [7; 32]).unwrap();
        machine
    }

    fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    fn write(&self, agent: &str, path: &str, text: &str) {
        let path = self.dir.path().join(agent).join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn sweep(&self, agent: &str, scope: &CaptureScope) -> capture::SweepReport {
        let store = Store::open(&self.home()).unwrap();
        let flavor = memory::Flavor::from_name(agent);
        let root = Root {
            path: self.dir.path().join(agent),
            flavor,
        };
        let sources = Sources {
            adapters: ADAPTERS.to_vec(),
            roots: vec![root],
            all_roots: false,
            scope: scope.clone(),
            archive: true,
            threads: 1,
        };
        let stop = AtomicBool::new(false);
        let control = SweepControl::new(&stop);
        let now = Timestamp::from_second(4_000_000_000).unwrap();
        capture::sweep(&store, &sources, &control, now).unwrap()
    }

    /// Returns every byte of the store: its files, its compressed texts, its export.
    fn bytes(&self) -> Vec<(String, Vec<u8>)> {
        let mut all = Vec::new();
        for path in testkit::files_below(&self.home()) {
            all.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
        let connection = Connection::open(Store::database_path(&self.home())).unwrap();
        for table in ["blocks", "bodies"] {
            let mut statement = connection
                .prepare(&format!("SELECT data FROM {table}"))
                .unwrap();
            let rows = statement
                .query_map([], |row| row.get::<_, Vec<u8>>(0))
                .unwrap();
            for data in rows {
                let text = zstd::decode_all(data.unwrap().as_slice()).unwrap();
                all.push((table.to_owned(), text));
            }
        }
        let dump = Store::open(&self.home()).unwrap().dump().unwrap();
        all.push(("dump".to_owned(), dump.into_bytes()));
        all
    }

    /// Returns the places of the store that contain a word.
    fn places(&self, word: &str) -> Vec<String> {
        let needle = word.trim_start_matches("qz").as_bytes();
        let all = self.bytes();
        let with = all.iter().filter(|(_, bytes)| {
            let bytes = bytes.to_ascii_lowercase();
            memchr::memmem::find(&bytes, needle).is_some()
        });
        with.map(|(place, bytes)| {
            let at = memchr::memmem::find(&bytes.to_ascii_lowercase(), needle).unwrap();
            let around = &bytes[at.saturating_sub(160)..(at + 60).min(bytes.len())];
            format!("{place}: {}", String::from_utf8_lossy(around))
        })
        .collect()
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn withheld_files_are_in_no_byte() {
    let mut leaks = Vec::new();
    for agent in AGENTS {
        let machine = Machine::new();
        let steps = never_steps(agent);
        let session = "11111111-1111-4111-8111-111111111111";
        for (path, text) in logs(agent, session, PROJECT, "please look", &steps) {
            machine.write(agent, &path, &text);
        }
        let sweep = machine.sweep(agent, &CaptureScope::default());
        assert!(
            sweep.records > 40 && sweep.trouble.is_empty(),
            "{agent}: {sweep:?}"
        );
        for name in GONE {
            for place in machine.places(&marker(agent, name)) {
                leaks.push(format!("{agent} {name} in {place}"));
            }
        }
        for name in KEPT {
            let places = machine.places(&marker(agent, name));
            assert!(!places.is_empty(), "{agent} lost {name}");
        }
    }
    assert!(
        leaks.is_empty(),
        "{} leaks:\n{}",
        leaks.len(),
        leaks.join("\n")
    );
}

/// The model and later tools repeat a value of a withheld file, before and after a sweep.
#[test]
fn a_value_is_withheld_wherever_the_session_repeats_it() {
    let machine = Machine::new();
    let word = marker("claude", "again");
    let session = "11111111-1111-4111-8111-111111111111";
    let steps = [
        shell("cat .env", format!("FOO={word}\nPORT=3000")),
        shell("make", format!("using {word} now")),
    ];
    let [(path, text)] = logs("claude", session, PROJECT, "look", &steps)
        .try_into()
        .unwrap();
    // The call is swept before its result is written.
    let (before, after) = text.split_at(text.match_indices('\n').nth(1).unwrap().0 + 1);
    machine.write("claude", &path, before);
    machine.sweep("claude", &CaptureScope::default());
    machine.write("claude", &path, &format!("{before}{after}"));
    machine.sweep("claude", &CaptureScope::default());
    assert_eq!(machine.places(&word), Vec::<String>::new());
    assert!(!machine.places("using").is_empty());
}

#[test]
fn a_denied_workspace_leaves_no_byte() {
    let scope = CaptureScope {
        denied: vec!["hushhush".into()],
        ..CaptureScope::default()
    };
    let allow = CaptureScope {
        allowed: vec!["/home/dev/proj".into()],
        ..CaptureScope::default()
    };
    for agent in AGENTS {
        for scope in [&scope, &allow] {
            let machine = Machine::new();
            let word = marker(agent, "denied");
            let session = "22222222-2222-4222-8222-222222222222";
            let steps = [shell("make", format!("{word} is made"))];
            let files = logs(agent, session, DENIED, &format!("tell of {word}"), &steps);
            for (path, text) in &files {
                machine.write(agent, path, text);
            }
            machine.sweep(agent, scope);
            machine.sweep(agent, scope);
            // The log grows and is read again.
            for (path, text) in files.iter().filter(|(path, _)| path.ends_with("l")) {
                let last = text.lines().last().unwrap();
                machine.write(agent, path, &format!("{text}{last}\n"));
            }
            machine.sweep(agent, scope);
            for word in [word.as_str(), "hushhush", session] {
                assert_eq!(
                    machine.places(word),
                    Vec::<String>::new(),
                    "{agent}: {word}"
                );
            }
        }
    }
}

#[test]
fn histories_keep_no_prompt_of_a_denied_workspace() {
    let scope = CaptureScope {
        denied: vec!["hushhush".into()],
        ..CaptureScope::default()
    };
    let (hidden, shown) = (marker("h", "denied"), marker("h", "shown"));
    let machine = Machine::new();
    let claude: String = [(DENIED, &hidden), (PROJECT, &shown)]
        .iter()
        .map(|(project, word)| {
            format!(
                "{}\n",
                json!({"display": format!("do {word}"),
            "pastedContents": {}, "timestamp": 1_764_000_000_000_u64, "project": project,
            "sessionId": format!("s-{word}")})
            )
        })
        .collect();
    machine.write("claude", "history.jsonl", &claude);
    machine.sweep("claude", &scope);
    let (dark, light) = (
        "33333333-3333-4333-8333-333333333333",
        "44444444-4444-4444-8444-444444444444",
    );
    for (session, cwd) in [(dark, DENIED), (light, PROJECT)] {
        for (path, text) in logs("codex", session, cwd, "look", &[]) {
            machine.write("codex", &path, &text);
        }
    }
    let codex: String = [(dark, &hidden), (light, &shown)]
        .iter()
        .map(|(session, word)| {
            format!(
                "{}\n",
                json!({"session_id": session,
            "ts": 1_764_000_000, "text": format!("do {word} there")})
            )
        })
        .collect();
    machine.write("codex", "history.jsonl", &codex);
    machine.sweep("codex", &scope);
    for word in [hidden.as_str(), "hushhush", dark] {
        assert_eq!(machine.places(word), Vec::<String>::new(), "{word}");
    }
    assert!(!machine.places(&shown).is_empty());
    assert!(!machine.places("there").is_empty());
}

#[test]
fn what_was_captured_before_a_workspace_was_denied_stays_until_it_is_forgotten() {
    let machine = Machine::new();
    let (early, late) = (marker("c", "early"), marker("c", "late"));
    let session = "55555555-5555-4555-8555-555555555555";
    let steps = [shell("make", format!("{early} is made"))];
    let [(path, text)] = logs("claude", session, DENIED, "look", &steps)
        .try_into()
        .unwrap();
    machine.write("claude", &path, &text);
    machine.sweep("claude", &CaptureScope::default());
    assert!(!machine.places(&early).is_empty());
    let scope = CaptureScope {
        denied: vec!["hushhush".into()],
        ..CaptureScope::default()
    };
    let more = [
        shell("make", format!("{early} is made")),
        shell("make", format!("{late} too")),
    ];
    let [(_, text)] = logs("claude", session, DENIED, "look", &more)
        .try_into()
        .unwrap();
    machine.write("claude", &path, &text);
    machine.sweep("claude", &scope);
    assert!(!machine.places(&early).is_empty());
    assert_eq!(machine.places(&late), Vec::<String>::new());
    let store = Store::open(&machine.home()).unwrap();
    let selection = store::forget::Selection {
        workspace: Some("hushhush".into()),
        ..Default::default()
    };
    let doomed = store.plan_forget(&selection).unwrap();
    store
        .forget(doomed, Timestamp::from_second(4_000_000_000).unwrap())
        .unwrap();
    drop(store);
    for word in [early.as_str(), "hushhush"] {
        assert_eq!(
            machine.places(word),
            Vec::<String>::new(),
            "{word}: {}",
            file_name(Path::new(&path))
        );
    }
}

#[test]
fn forgetting_a_workspace_takes_it_out_of_histories() {
    let machine = Machine::new();
    let session = "66666666-6666-4666-8666-666666666666";
    for (path, text) in logs("claude", session, DENIED, "look around", &[]) {
        machine.write("claude", &path, &text);
    }
    let line = |project: &str, session: &str| {
        json!({"display": "look around",
        "pastedContents": {}, "timestamp": 1_764_000_000_000_u64, "project": project,
        "sessionId": session})
    };
    let history = lines(&[
        line(DENIED, session),
        line(PROJECT, "other"),
        line(DENIED, "gone"),
    ]);
    machine.write("claude", "history.jsonl", &history);
    machine.sweep("claude", &CaptureScope::default());
    let store = Store::open(&machine.home()).unwrap();
    let selection = store::forget::Selection {
        workspace: Some("hushhush".into()),
        ..Default::default()
    };
    let doomed = store.plan_forget(&selection).unwrap();
    store
        .forget(doomed, Timestamp::from_second(4_000_000_000).unwrap())
        .unwrap();
    drop(store);
    for word in ["hushhush", session] {
        assert_eq!(machine.places(word), Vec::<String>::new(), "{word}");
    }
    assert!(!machine.places("/home/dev/proj").is_empty());
}

/// The archive of an older version holds texts that were withheld from its records.
#[test]
fn old_archives_are_rewritten_once() {
    let machine = Machine::new();
    let (env, hidden, kept) = (
        marker("old", "env"),
        marker("old", "hidden"),
        marker("old", "kept"),
    );
    let session = "77777777-7777-4777-8777-777777777777";
    let steps = [
        shell("cat .env", "FOO=x"),
        shell("make", format!("{kept} is made")),
    ];
    for (path, text) in logs("claude", session, PROJECT, "look", &steps) {
        machine.write("claude", &path, &text);
    }
    machine.sweep("claude", &CaptureScope::default());
    let leaky = |text: &str| {
        let mark = "[not kept: a file that holds credentials, 5 bytes]";
        assert!(text.contains(mark));
        text.replace(mark, &env)
    };
    let denied = format!("{}\n", json!({"type": "x", "cwd": DENIED, "text": hidden}));
    let connection = Connection::open(Store::database_path(&machine.home())).unwrap();
    let hash: Vec<u8> = connection
        .query_row("SELECT body FROM raw", [], |row| row.get(0))
        .unwrap();
    let data: Vec<u8> = connection
        .query_row("SELECT data FROM bodies WHERE hash = ?1", [&hash], |row| {
            row.get(0)
        })
        .unwrap();
    let text = String::from_utf8(zstd::decode_all(data.as_slice()).unwrap()).unwrap();
    let pack = |text: &str| zstd::encode_all(text.as_bytes(), 3).unwrap();
    let name = |text: &str| blake3::hash(text.as_bytes()).as_bytes()[..16].to_vec();
    let text = leaky(&text);
    connection
        .execute(
            "UPDATE bodies SET hash = ?2, data = ?3 WHERE hash = ?1",
            (&hash, name(&text), pack(&text)),
        )
        .unwrap();
    connection
        .execute("UPDATE raw SET body = ?1", [name(&text)])
        .unwrap();
    connection
        .execute_batch(
            "INSERT INTO sources (key, flavor, path, device, inode, size, mtime, ctime, offset,
                 line, head, tail, settled)
             SELECT zeroblob(16), flavor, '/logs/hushhush.jsonl', 0, 0, 0, 0, 0, 0, 0, x'', x'', 1
             FROM sources LIMIT 1",
        )
        .unwrap();
    connection
        .execute(
            "INSERT INTO bodies (hash, data) VALUES (?1, ?2)",
            (name(&denied), pack(&denied)),
        )
        .unwrap();
    connection
        .execute(
            "INSERT INTO raw (source, generation, offset, size, body)
             SELECT id, generation, 0, 1, ?1 FROM sources WHERE path LIKE '%hushhush%'",
            [name(&denied)],
        )
        .unwrap();
    drop(connection);
    let store = Store::open(&machine.home()).unwrap();
    let scope = CaptureScope {
        denied: vec!["hushhush".into()],
        ..CaptureScope::default()
    };
    let now = Timestamp::from_second(4_000_000_000).unwrap();
    let scrub = store.scrub_archive(&scope, now).unwrap();
    assert_eq!((scrub.rewritten, scrub.erased), (1, 1));
    assert_eq!(
        store.scrub_archive(&scope, now).unwrap(),
        store::ScrubReport::default()
    );
    drop(store);
    for word in [env.as_str(), hidden.as_str(), "hushhush"] {
        assert_eq!(machine.places(word), Vec::<String>::new(), "{word}");
    }
    assert!(!machine.places(&kept).is_empty());
}
