//! Hooks as agents call them: the answer in the format of each agent, and that no fault reaches the
//! agent.

mod answers;
mod faults;
#[cfg(unix)]
mod live;
#[cfg(unix)]
mod on_demand;
#[cfg(unix)]
mod restarts;
mod schema;
mod truth;

use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::env::{CommandOutput, TestEnv};

pub const AGENTS: [&str; 7] = [
    "claude", "codex", "gemini", "grok", "copilot", "opencode", "cursor",
];

/// A payload as an agent sent it.
#[derive(Clone, Deserialize)]
pub struct Line {
    pub name: String,
    pub event: Option<String>,
    pub env: Map<String, Value>,
    pub payload: Value,
}

impl Line {
    /// Returns the event's name as the agent calls it.
    pub fn event(&self) -> &str {
        let named = |key: &str| self.payload.get(key).and_then(Value::as_str);
        named("hook_event_name")
            .or(named("event"))
            .or(self.event.as_deref())
            .unwrap()
    }
}

pub fn lines(agent: &str) -> Vec<Line> {
    let path = testkit::fixture(&format!("hooks/{agent}.jsonl"));
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

/// A home folder with the samples and a pinned fact.
pub fn machine() -> TestEnv {
    let env = TestEnv::with_samples();
    let said = env.run(&["prefer", "run the tests with unittest -q", "--everywhere"]);
    assert_eq!(said.code, Some(0), "{}", said.shown());
    env
}

/// Calls the hook as the agent does, with a long deadline.
pub fn call(env: &TestEnv, line: &Line) -> CommandOutput {
    call_with(env, line, &[("THROUGHLINE_HOOK_DEADLINE_MS", "30000")])
}

pub fn call_with(env: &TestEnv, line: &Line, variables: &[(&str, &str)]) -> CommandOutput {
    let mut args = vec!["hook"];
    // Copilot's settings name the event, for its payloads do not.
    if let Some(event) = line
        .event
        .as_deref()
        .filter(|_| line.payload.get("sessionId").is_some())
    {
        args.extend(["--event", event]);
    }
    feed(
        env,
        &args,
        line.payload.to_string().as_bytes(),
        line,
        variables,
    )
}

pub fn feed(
    env: &TestEnv,
    args: &[&str],
    input: &[u8],
    line: &Line,
    variables: &[(&str, &str)],
) -> CommandOutput {
    let mut command = env.command(args);
    for (name, value) in &line.env {
        command.env(name, value.as_str().unwrap());
    }
    command.envs(variables.iter().copied());
    feed_to(&mut command, input)
}

pub fn feed_to(command: &mut Command, input: &[u8]) -> CommandOutput {
    use std::io::Write;
    let piped = || Stdio::piped();
    let mut child = command
        .stdin(piped())
        .stdout(piped())
        .stderr(piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let feeding = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    let _unread = feeding.join().unwrap();
    CommandOutput {
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        code: output.status.code(),
    }
}

/// Returns a payload of Claude Code.
pub fn claude(payload: Value) -> Line {
    Line {
        name: String::new(),
        event: None,
        env: Map::new(),
        payload,
    }
}

/// Returns the content of `hook.log`.
pub fn log(env: &TestEnv) -> String {
    std::fs::read_to_string(env.home().join("memory/hook.log")).unwrap_or_default()
}

/// The number of hooks that run at the same time.
const AT_ONCE: usize = 8;

/// Maps items on several threads, and returns the results in any order.
pub fn at_once<T: Sync, R: Send>(all: &[T], run: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(one) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let came = run(one);
                    done.lock().unwrap().push(came);
                }
            });
        }
    });
    done.into_inner().unwrap()
}

/// Returns the result of a call and its duration.
pub fn timed<T>(call: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let came = call();
    (came, start.elapsed())
}
