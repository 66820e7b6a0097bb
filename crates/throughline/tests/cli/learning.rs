//! The learning loop: the transcript in `docs/LEARNING.md`, forgetting, and split ingestion.

mod drafts;
mod http;
mod page;
mod terminal;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::env::{CommandOutput, TestEnv, repository};

/// The first part of the transcript is at this time, the second a week later.
const NOW: &str = "2026-11-16T09:00:00Z";
const LATER: &str = "2026-11-23T09:00:00Z";

const LINT: &str = "Exit code 1\n[lint] $ golangci-lint run ./...\n\
    cart.go:12:9: Error return value of `f.Close` is not checked (errcheck)\n\
    1 issues:\n* errcheck: 1\n[lint] ERROR task failed";

/// A home with a repository `shop`, and a folder of logs.
struct LearningEnv {
    env: TestEnv,
}

impl LearningEnv {
    fn new() -> Self {
        let env = TestEnv::new();
        fs::create_dir_all(env.home().join("shop/.git")).unwrap();
        fs::write(env.home().join("shop/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let remote = "[remote \"origin\"]\n\turl = https://example.com/acme/shop.git\n";
        fs::write(env.home().join("shop/.git/config"), remote).unwrap();
        fs::write(
            env.home().join("shop/CLAUDE.md"),
            "# Shop\n\nPrices are in cents.\n",
        )
        .unwrap();
        Self { env }
    }

    fn shop(&self) -> PathBuf {
        self.env.home().join("shop")
    }

    fn run(&self, args: &[&str], now: &str, input: &[u8]) -> CommandOutput {
        use std::io::Write;
        use std::process::Stdio;
        let mut command = self.env.command(args);
        command
            .current_dir(self.shop())
            .env("THROUGHLINE_NOW", now)
            .env("TEST_KEY", "not-a-real-key-77");
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).ok();
        let output = child.wait_with_output().unwrap();
        CommandOutput {
            stdout: self.env.mask_paths(&output.stdout),
            stderr: self.env.mask_paths(&output.stderr),
            code: output.status.code(),
        }
    }

    fn json(&self, args: &[&str], now: &str) -> Value {
        let output = self.run(args, now, b"");
        serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{}", output.shown()))
    }

    /// Writes the log of a Claude Code session on a day of November. `lint` is what the linter
    /// prints first; the second run succeeds.
    fn claude(&self, folder: &str, day: u32, lint: Option<&str>) -> PathBuf {
        let id = format!("00000000-0000-4000-8000-0000000000{day:02}");
        let cwd = self.shop();
        let mut lines = String::new();
        let mut minute = 0;
        let mut add = |role: &str, content: Value| {
            minute += 2;
            let entry = json!({
                "type": role, "uuid": format!("{id}-{minute}"), "sessionId": id, "cwd": cwd,
                "timestamp": format!("2026-11-{day:02}T10:{minute:02}:00Z"), "version": "2.1.0",
                "message": { "role": role, "content": content },
            });
            writeln!(lines, "{entry}").unwrap();
        };
        let call = |id: &str, tool: &str, input: Value| {
            let name = tool;
            json!([{ "type": "tool_use", "id": id, "name": name, "input": input }])
        };
        let result = |id: &str, text: &str, failed: bool| {
            json!([{
                "type": "tool_result", "tool_use_id": id, "content": text, "is_error": failed,
            }])
        };
        add("user", json!("Close the files of the cart"));
        add(
            "assistant",
            call(
                "t1",
                "Write",
                json!({ "file_path": cwd.join("cart.go"), "content": "x" }),
            ),
        );
        add("user", result("t1", "File created", false));
        add(
            "assistant",
            call("t2", "Bash", json!({ "command": "mise run lint" })),
        );
        add("user", result("t2", lint.unwrap_or("ok"), lint.is_some()));
        add(
            "assistant",
            call("t3", "Bash", json!({ "command": "mise run lint" })),
        );
        add("user", result("t3", "ok", false));
        add("assistant", json!([{ "type": "text", "text": "Done." }]));
        self.write_log(folder, &format!("{id}.jsonl"), &lines)
    }

    /// Writes the log of a Codex session.
    fn codex(&self, folder: &str, day: u32, lint: Option<&str>) -> PathBuf {
        let id = format!("01a1e083-73e1-7ac1-b621-5f00d0d1f6{day:02}");
        let cwd = self.shop();
        let mut lines = String::new();
        let mut minute = 0;
        let mut add = |kind: &str, payload: Value| {
            minute += 2;
            let at = format!("2026-11-{day:02}T12:{minute:02}:00Z");
            let entry = json!({ "timestamp": at, "type": kind, "payload": payload });
            writeln!(lines, "{entry}").unwrap();
        };
        // A call with the id of another session's call would count as a copy of it.
        let call_id = |name: &str| format!("{name}-{day}");
        let call = |id: &str| {
            json!({ "type": "function_call", "name": "exec_command", "call_id": call_id(id),
                "arguments": "{\"cmd\":\"mise run lint\"}" })
        };
        let result = |id: &str, code: u8, text: &str| {
            let head = "Chunk ID: 1\nWall time: 1 seconds";
            let output = format!("{head}\nProcess exited with code {code}\nOutput:\n{text}");
            json!({ "type": "function_call_output", "call_id": call_id(id), "output": output })
        };
        add(
            "session_meta",
            json!({ "id": id, "cwd": cwd, "originator": "codex_cli_rs",
            "cli_version": "0.166.0", "source": "cli" }),
        );
        add(
            "response_item",
            json!({ "type": "message", "role": "user",
            "content": [{ "type": "input_text", "text": "Check the cart" }] }),
        );
        add(
            "event_msg",
            json!({ "type": "user_message", "message": "Check the cart" }),
        );
        add("response_item", call("c1"));
        add(
            "response_item",
            result("c1", u8::from(lint.is_some()), lint.unwrap_or("ok")),
        );
        add("response_item", call("c2"));
        add("response_item", result("c2", 0, "ok"));
        add(
            "response_item",
            json!({ "type": "message", "role": "assistant",
            "content": [{ "type": "output_text", "text": "Done." }] }),
        );
        self.write_log(
            folder,
            &format!("rollout-2026-11-{day:02}T12-00-00-{id}.jsonl"),
            &lines,
        )
    }

    fn write_log(&self, folder: &str, name: &str, text: &str) -> PathBuf {
        let path = self.env.home().join(folder).join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Six sessions of two agents in which the linter complains, and later ones in which it does
    /// not.
    fn write_logs(&self) {
        for day in [2, 3, 4] {
            self.claude("logs", day, Some(LINT));
            self.codex("logs", day + 3, Some(LINT));
        }
        for day in [17, 18, 19] {
            self.claude("later", day, None);
            self.codex("later", day, None);
        }
    }
}

/// Returns the commands of the `console` blocks with their expected output.
fn transcript(markdown: &str) -> Vec<(String, String)> {
    let mut steps: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in markdown.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            line if inside => match line.strip_prefix("$ ") {
                Some(command) => steps.push((command.to_owned(), String::new())),
                None => {
                    let (_, output) = steps.last_mut().unwrap();
                    output.push_str(line);
                    output.push('\n');
                }
            },
            _ => {}
        }
    }
    steps
}

#[test]
fn the_transcript_of_the_documentation_is_true() {
    let env = LearningEnv::new();
    env.write_logs();
    let page = fs::read_to_string(repository().join("docs/LEARNING.md")).unwrap();
    let steps = transcript(&page);
    assert!(steps.len() >= 7, "the transcript is too short");
    let mut now = NOW;
    let mut actual = String::new();
    let mut expected = String::new();
    for (command, output) in &steps {
        if command.contains("../later") {
            now = LATER;
        }
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        let (words, input) = match words.split_last() {
            Some((answer, [rest @ .., "<<<"])) => (rest.to_vec(), format!("{answer}\n")),
            _ => (words, String::new()),
        };
        let shown = if command.starts_with("cat ") {
            fs::read_to_string(env.shop().join(words[0])).unwrap()
        } else {
            let output = env.run(&words, now, input.as_bytes());
            assert_eq!(output.code, Some(0), "{command}\n{}", output.shown());
            output.stdout + &output.stderr
        };
        // The doc leaves out what depends on the length of paths: sizes of logs and of the store.
        let shown = if output.is_empty() {
            ""
        } else {
            shown.trim_end()
        };
        write!(actual, "$ {command}\n{shown}\n").unwrap();
        write!(expected, "$ {command}\n{}\n", output.trim_end()).unwrap();
    }
    assert_eq!(
        actual, expected,
        "docs/LEARNING.md shows something else:\n{actual}"
    );
}

#[test]
fn ingesting_in_parts_finds_the_same() {
    let whole = LearningEnv::new();
    whole.write_logs();
    whole.run(&["ingest", "--root", "../logs"], NOW, b"");
    let all = whole.json(&["detect", "--json", "--min-frequency", "1"], NOW);

    let parts = LearningEnv::new();
    let mut logs: Vec<PathBuf> = [4, 3, 2]
        .into_iter()
        .flat_map(|day| {
            [
                parts.codex("logs", day + 3, Some(LINT)),
                parts.claude("logs", day, Some(LINT)),
            ]
        })
        .collect();
    let last = logs.pop().unwrap();
    let text = fs::read_to_string(&last).unwrap();
    fs::write(
        &last,
        text.split_inclusive('\n').take(4).collect::<String>(),
    )
    .unwrap();
    for log in logs.iter().chain([&last]) {
        let path = log.display().to_string();
        parts.run(&["ingest", "--root", &path], NOW, b"");
    }
    parts.run(&["detect"], NOW, b"");
    fs::write(&last, text).unwrap();
    parts.run(&["ingest", "--root", "../logs"], NOW, b"");
    let found = parts.json(&["detect", "--json", "--min-frequency", "1"], NOW);
    let summary = |value: &Value| {
        let list = value["candidates"].as_array().unwrap().iter();
        let facts = list.map(|one| {
            [
                "kind", "name", "sessions", "times", "minutes", "tokens", "flavors", "cross_flavor",
            ]
            .map(|key| one[key].clone())
        });
        facts.collect::<Vec<_>>()
    };
    assert_eq!(summary(&found), summary(&all));
    assert_eq!(all["candidates"][0]["cross_flavor"], true);
}

#[test]
fn forgetting_the_sources_removes_candidate_and_block() {
    let env = LearningEnv::new();
    env.write_logs();
    env.run(&["ingest", "--root", "../logs"], NOW, b"");
    let id = env.json(&["detect", "--json"], NOW)["candidates"][0]["id"].clone();
    let id = id.as_str().unwrap();
    env.run(&["curate", "--approve", id], NOW, b"");
    let applied = env.json(&["distribute", "--apply", "--yes", "--json"], NOW);
    assert_eq!(applied["applied"], true, "{applied}");
    let file = env.shop().join("CLAUDE.md");
    assert!(fs::read_to_string(&file).unwrap().contains(id));
    let again = env.json(&["distribute", "--json"], NOW);
    assert_eq!(again["changes"], json!([]));

    let forgot = env.run(&["forget", "--workspace", "shop", "--yes"], NOW, b"");
    assert_eq!(forgot.code, Some(0), "{}", forgot.shown());
    let left = env.json(&["detect", "--json", "--min-frequency", "1"], NOW);
    assert_eq!(left["candidates"], json!([]));
    let removal = env.json(&["distribute", "--apply", "--yes", "--json"], NOW);
    assert_eq!(removal["applied"], true, "{removal}");
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        "# Shop\n\nPrices are in cents.\n"
    );
    assert_no_text(&env.env.home().join("memory"), "is not checked");
}

/// Checks that no file below a folder contains a text.
fn assert_no_text(folder: &Path, text: &str) {
    for path in testkit::files_below(folder) {
        let bytes = fs::read(&path).unwrap();
        let found = bytes
            .windows(text.len())
            .any(|part| part == text.as_bytes());
        assert!(!found, "{} still has it", path.display());
    }
}

#[test]
fn decisions_are_remembered() {
    let env = LearningEnv::new();
    env.write_logs();
    env.run(&["ingest", "--root", "../logs"], NOW, b"");
    let pending = env.json(&["curate", "--json"], NOW);
    assert!(
        !pending["pending"].as_array().unwrap().is_empty(),
        "{pending}"
    );
    let rejected = env.run(&["curate"], NOW, b"e\nr wrong tool\nq\n");
    assert!(
        rejected.stderr.contains("throughline show"),
        "{}",
        rejected.shown()
    );
    let after = env.json(&["curate", "--json"], NOW);
    let count = |value: &Value| value["pending"].as_array().unwrap().len();
    assert_eq!(count(&after) + 1, count(&pending));
    let unknown = env.run(&["curate", "--approve", "nothing"], NOW, b"");
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("hint:"), "{}", unknown.shown());
    assert_eq!(env.run(&["measure"], NOW, b"").code, Some(1));
}

#[test]
fn an_instruction_that_names_a_missing_file_is_stale() {
    let env = LearningEnv::new();
    let rules = "# Shop\n\nThe linter reads `.golangci.yml`.\n";
    fs::write(env.shop().join("CLAUDE.md"), rules).unwrap();
    let missing = "cat: .golangci.yml: No such file or directory";
    for day in [2, 3, 4] {
        env.claude("logs", day, Some(missing));
    }
    env.run(&["ingest", "--root", "../logs"], NOW, b"");
    let found = env.json(&["detect", "--json"], NOW);
    let stale = found["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .find(|candidate| candidate["kind"] == "instruction");
    let stale = stale.unwrap_or_else(|| panic!("{found}"));
    assert_eq!(stale["name"], "path-missing .golangci.yml");
    assert_eq!(stale["stale_in"], "CLAUDE.md");
}
