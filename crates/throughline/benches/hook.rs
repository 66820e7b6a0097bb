//! Benchmarks hooks, compared with the start of an empty program.
//!
//!     cargo bench -p throughline --bench hook -- [--records 100000] [--facts 2000]
//!         [--rounds 200] [--home DIR] [--load N] [--program FILE]
//!
//! Fills a store with records of the sizes that agents' logs have, in eight workspaces, and with
//! facts, three of them pinned in each. Then it calls the binary as agents do: after a tool call,
//! when a session starts, and with a prompt of eight words; first without a daemon, then with one.
//! Figures are milliseconds from start to end of the process; `x` is how many starts of an empty
//! program that is, measured in the same rounds. `answered` is how many calls printed something
//! within the hook's own deadline, which is the usual one; `late` how many took longer than that as
//! a whole. `--load` keeps so many processes busy meanwhile. `--program` measures another binary,
//! such as an earlier one. `--home` keeps the store and uses it again. `throughline mcp` is
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

mod generated;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use store::Store;

use crate::generated::{NOW_SECOND, Random, fill_like_logs, word};

/// A measurement: its name, the arguments, and the payload of a round.
type Case = (
    &'static str,
    &'static [&'static str],
    fn(usize, &mut Random) -> Value,
);

/// The deadline that hooks have unless the configuration names another.
const DEADLINE: Duration = Duration::from_millis(50);
/// How long a daemon may take to start, on a busy machine.
const START_MAX: Duration = Duration::from_secs(60);

fn main() {
    if std::env::args().any(|argument| argument == "--busy") {
        be_busy();
    }
    let number = |name: &str, usual: u64| option(name).map_or(usual, |text| text.parse().unwrap());
    let records = number("--records", 100_000);
    let rounds = usize::try_from(number("--rounds", 200)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let home = option("--home").map_or_else(|| dir.path().join("home"), PathBuf::from);
    let facts = number("--facts", 2_000);
    if !Store::database_path(&home).exists() {
        let store = Store::open(&home).unwrap();
        fill_like_logs(&store, &mut Random(7), records, facts);
    }
    let program = option("--program").unwrap_or(env!("CARGO_BIN_EXE_throughline").to_owned());
    let bench = Bench {
        empty: empty_program(dir.path()),
        program: PathBuf::from(program),
        user: dir.path().join("user"),
        home,
        rounds,
    };
    std::fs::create_dir_all(&bench.user).unwrap();
    let load = number("--load", 0);
    let _busy: Vec<_> = (0..load).map(|_| Running::busy()).collect();
    println!("{records} records, {facts} facts, {rounds} rounds, {load} busy processes besides");
    bench.measure("no daemon");
    let daemon = bench.daemon();
    bench.measure("daemon");
    drop(daemon);
    bench.measure_mcp();
}

/// What is measured, and where.
struct Bench {
    empty: PathBuf,
    program: PathBuf,
    /// The user's own folder.
    user: PathBuf,
    home: PathBuf,
    rounds: usize,
}

impl Bench {
    fn measure(&self, with: &str) {
        let nothing = |_: usize, _: &mut Random| Value::Null;
        let cases: [Case; 6] = [
            ("empty program", &[], nothing),
            ("throughline --version", &["--version"], nothing),
            ("hook, inside", &["hook"], nothing),
            ("hook, after a tool", &["hook"], tool),
            ("hook, session start", &["hook"], start),
            ("hook, prompt", &["hook"], prompt),
        ];
        let mut random = Random(11);
        let mut times = vec![Vec::new(); cases.len()];
        let mut answered = vec![0; cases.len()];
        let started = std::process::id();
        for round in 0..self.rounds {
            for (case, (name, args, payload)) in cases.iter().enumerate() {
                let mut command = self.command(if case == 0 {
                    &self.empty
                } else {
                    &self.program
                });
                command.args(*args);
                if name.ends_with("inside") {
                    command.env("THROUGHLINE_INSIDE", "1");
                }
                let mut payload = payload(round, &mut random);
                // A session of an earlier run has been shown things already.
                if let Some(session) = payload.get_mut("session_id") {
                    *session = json!(format!("{with}-{started}-{round}").replace(' ', "-"));
                }
                let (took, output) = timed(&mut command, payload.to_string().as_bytes());
                times[case].push(took);
                answered[case] += usize::from(output.contains("additionalContext"));
            }
        }
        let unit = percentiles(&mut times[0]).0;
        println!("{with}:");
        for (case, (name, ..)) in cases.iter().enumerate() {
            let late = times[case].iter().filter(|took| **took > DEADLINE).count();
            let (p50, p95) = percentiles(&mut times[case]);
            println!(
                "  {name:<22} p50 {p50:6.2} ms ({:4.1} x)  p95 {p95:6.2} ms ({:4.1} x)  \
                 answered {:>4}  late {late:>4}",
                p50 / unit,
                p95 / unit,
                answered[case]
            );
        }
    }

    fn measure_mcp(&self) {
        for (name, requests) in [
            ("mcp, to initialize", &[initialize()][..]),
            ("mcp, to its tools", &[initialize(), tools()]),
        ] {
            let mut times: Vec<_> = (0..self.rounds)
                .map(|_| answered(&self.program, &self.home, requests))
                .collect();
            let (p50, p95) = percentiles(&mut times);
            println!("{name:<24} p50 {p50:6.2} ms  p95 {p95:6.2} ms");
        }
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", &self.user)
            .env("THROUGHLINE_HOME", &self.home)
            .env("THROUGHLINE_DAEMON", "off")
            .env("THROUGHLINE_NOW", now());
        command
    }

    /// Starts a daemon, and waits until it can be reached.
    fn daemon(&self) -> Running {
        let card = self.home.join("daemon.json");
        // A daemon that was killed does not delete the file.
        let _none = std::fs::remove_file(&card);
        let mut command = self.command(&self.program);
        command.args(["serve", "--port", "0"]);
        let daemon = Running::start(&mut command);
        let start = Instant::now();
        while !card.exists() {
            assert!(start.elapsed() < START_MAX, "the daemon does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        daemon
    }
}

/// Returns when the benches take place, as the program takes it.
fn now() -> String {
    let now = jiff::Timestamp::from_second(NOW_SECOND).unwrap();
    now.to_string()
}

/// A process that is killed on drop.
struct Running(std::process::Child);

impl Running {
    fn start(command: &mut Command) -> Self {
        let null = Stdio::null;
        let started = command.stdin(null()).stdout(null()).stderr(null()).spawn();
        Self(started.unwrap())
    }

    fn busy() -> Self {
        Self::start(Command::new(std::env::current_exe().unwrap()).arg("--busy"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// Computes until it is killed.
fn be_busy() -> ! {
    let mut random = Random(3);
    loop {
        std::hint::black_box(random.below(1 << 20));
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
    // The write fails if the program does not read its input.
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
