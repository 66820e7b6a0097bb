//! How long an agent waits for a hook, beside the start of an empty program.
//!
//!     cargo bench -p throughline --bench hook -- [--records 100000] [--rounds 200] [--home DIR]
//!
//! Fills a store with agent-like records in eight workspaces and calls the binary as agents do, without a daemon: after a tool
//! call, when a session starts, and with a prompt of eight words. Figures are milliseconds from start to end of the process;
//! `x` is how many starts of an empty program that is. `--home` keeps the store and uses it again. `throughline mcp` is
//! measured from its start to its answer to `initialize`, and to the list of its tools.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "the figures are the output, and processes are what is measured"
)]
#![allow(
    clippy::unwrap_used,
    reason = "a benchmark that cannot run should say where"
)]

mod made;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use store::Store;

use crate::made::{Random, fill, word};

/// What is measured: its name, the arguments, and the payload of a round.
type Case = (
    &'static str,
    &'static [&'static str],
    fn(usize, &mut Random) -> Value,
);

fn main() {
    let records = option("--records").map_or(100_000, |text| text.parse().unwrap());
    let rounds: usize = option("--rounds").map_or(200, |text| text.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let home = option("--home").map_or_else(|| dir.path().join("home"), PathBuf::from);
    let mut random = Random(7);
    if !Store::path_in(&home).exists() {
        fill(&Store::open(&home).unwrap(), &mut random, records);
    }
    let empty = empty_program(dir.path());
    let program = PathBuf::from(env!("CARGO_BIN_EXE_throughline"));
    let version = |_: usize, _: &mut Random| Value::Null;
    let cases: [Case; 6] = [
        ("empty program", &[], version),
        ("throughline --version", &["--version"], version),
        ("hook, inside", &["hook"], version),
        ("hook, after a tool", &["hook"], tool),
        ("hook, session start", &["hook"], start),
        ("hook, prompt", &["hook"], prompt),
    ];
    let mut times = vec![Vec::new(); cases.len()];
    let mut said = vec![0; cases.len()];
    for round in 0..rounds {
        for (case, (name, args, payload)) in cases.iter().enumerate() {
            let mut command = Command::new(if case == 0 { &empty } else { &program });
            command
                .args(*args)
                .env_clear()
                .env("THROUGHLINE_HOME", &home);
            command.env("HOME", dir.path());
            command.env("THROUGHLINE_DAEMON", "off");
            command.env("THROUGHLINE_HOOK_DEADLINE_MS", "30000");
            if name.ends_with("inside") {
                command.env("THROUGHLINE_INSIDE", "1");
            }
            let payload = payload(round, &mut random).to_string();
            let (took, output) = timed(&mut command, payload.as_bytes());
            times[case].push(took);
            said[case] += usize::from(output.contains("additionalContext"));
        }
    }
    let unit = percentiles(&mut times[0]).0;
    println!("{records} records, {rounds} rounds");
    for (name, requests) in [
        ("mcp, to initialize", &[initialize()][..]),
        ("mcp, to its tools", &[initialize(), tools()]),
    ] {
        let mut times: Vec<_> = (0..rounds)
            .map(|_| answered(&program, &home, requests))
            .collect();
        let (p50, p95) = percentiles(&mut times);
        println!(
            "{name:<22} p50 {p50:6.2} ms ({:4.1} x)  p95 {p95:6.2} ms ({:4.1} x)",
            p50 / unit,
            p95 / unit
        );
    }
    for (case, (name, ..)) in cases.iter().enumerate() {
        let (p50, p95) = percentiles(&mut times[case]);
        println!(
            "{name:<22} p50 {p50:6.2} ms ({:4.1} x)  p95 {p95:6.2} ms ({:4.1} x)  said something {}",
            p50 / unit,
            p95 / unit,
            said[case]
        );
    }
}

fn option(name: &str) -> Option<String> {
    let arguments: Vec<_> = std::env::args().collect();
    let at = arguments.iter().position(|argument| argument == name)?;
    arguments.get(at + 1).cloned()
}

fn tool(round: usize, _: &mut Random) -> Value {
    json!({
        "session_id": format!("live-{round}"), "cwd": "/w3", "hook_event_name": "PostToolUse",
        "transcript_path": "/w3/live.jsonl", "tool_name": "Bash", "tool_use_id": "t",
        "tool_response": {"stdout": "line\n".repeat(500)},
    })
}

fn start(round: usize, _: &mut Random) -> Value {
    json!({
        "session_id": format!("start-{round}"), "cwd": "/w3", "hook_event_name": "SessionStart",
        "source": "startup",
    })
}

fn prompt(round: usize, random: &mut Random) -> Value {
    let words: Vec<_> = (0..8).map(|_| word(random.zipf())).collect();
    json!({
        "session_id": format!("live-{round}"), "cwd": "/w3", "hook_event_name": "UserPromptSubmit",
        "prompt": words.join(" "),
    })
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    }})
}

fn tools() -> Value {
    json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
}

/// Returns how long it takes from the start of the server until it has answered each request.
fn answered(program: &Path, home: &Path, requests: &[Value]) -> Duration {
    let mut command = Command::new(program);
    command
        .args(["mcp", "--folder", "/w3"])
        .env_clear()
        .env("THROUGHLINE_HOME", home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    for request in requests {
        stdin.write_all(format!("{request}\n").as_bytes()).unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        assert!(line.contains("\"result\""), "{line}");
    }
    let took = start.elapsed();
    drop(stdin);
    child.wait().unwrap();
    took
}

/// Builds a program that does nothing, as other programs here are built.
fn empty_program(dir: &Path) -> PathBuf {
    let (source, program) = (dir.join("empty.rs"), dir.join("empty"));
    std::fs::write(&source, "fn main() {}").unwrap();
    let built = Command::new("rustc")
        .args(["-O", "-C", "panic=abort", "-C", "strip=symbols", "-o"])
        .arg(&program)
        .arg(&source)
        .status();
    assert!(built.unwrap().success());
    program
}

fn timed(command: &mut Command, input: &[u8]) -> (Duration, String) {
    let piped = || Stdio::piped();
    let start = Instant::now();
    let mut child = command
        .stdin(piped())
        .stdout(piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Who does not read its input leaves the pipe broken.
    let _unread = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    let took = start.elapsed();
    (took, String::from_utf8_lossy(&output.stdout).into_owned())
}

fn percentiles(times: &mut [Duration]) -> (f64, f64) {
    times.sort_unstable();
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    (
        ms(times[times.len() / 2]),
        ms(times[times.len() * 95 / 100]),
    )
}
