//! Many writers and searchers at once, a daemon that is killed, and how much memory it takes.

#![cfg(target_os = "linux")]

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::client::{Answer, Daemon};
use crate::env::TestEnv;

const WRITERS: usize = 4;
const SEARCHERS: usize = 2;

/// How much to do: a little by default, a lot with `THROUGHLINE_SOAK=1`.
fn soaked(short: usize, long: usize) -> usize {
    #[expect(
        clippy::disallowed_methods,
        reason = "asked for by whoever runs the tests"
    )]
    let is_soak = std::env::var("THROUGHLINE_SOAK").is_ok_and(|value| value == "1");
    if is_soak { long } else { short }
}

fn env() -> TestEnv {
    let env = TestEnv::new();
    let config = env.home().join("memory/config.toml");
    std::fs::write(&config, "[serve]\nrequests_per_second = 100000.0").unwrap();
    env
}

fn record(writer: usize, number: usize) -> Value {
    json!({
        "session_id": format!("claude:writer-{writer}"), "type": "assistant",
        "content": format!("writer {writer} says number {number} about falcons"),
        "folder": "/code/widgets", "key": format!("{writer}-{number}"),
    })
}

/// Sends a request to a daemon that may be killed meanwhile.
fn try_ask(daemon: &Daemon, method: &str, path: &str, body: Option<&Value>) -> Option<Answer> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        daemon.ask(method, path, body)
    }))
    .ok()
}

#[test]
fn what_was_acknowledged_is_there_after_a_kill() {
    let env = env();
    let quiet = std::panic::take_hook();
    // Connections to a daemon that was just killed fail; that is what is tested.
    std::panic::set_hook(Box::new(|_| {}));
    let rounds = soaked(2, 50);
    let acknowledged = Mutex::new(Vec::new());
    let numbers = AtomicUsize::new(0);
    for _ in 0..rounds {
        let mut daemon = Daemon::start(&env);
        let dead = AtomicBool::new(false);
        let enough = acknowledged.lock().unwrap().len() + soaked(60, 400);
        std::thread::scope(|scope| {
            let (daemon, dead, acknowledged) = (&daemon, &dead, &acknowledged);
            for writer in 0..WRITERS {
                let numbers = &numbers;
                scope.spawn(move || {
                    while !dead.load(Ordering::Relaxed) {
                        let number = numbers.fetch_add(1, Ordering::Relaxed);
                        let body = record(writer, number);
                        let answer = try_ask(daemon, "POST", "/memory/record", Some(&body));
                        if let Some(answer) = answer.filter(|answer| answer.status == 201) {
                            let id = answer.json()["id"].as_str().unwrap().to_owned();
                            acknowledged.lock().unwrap().push(id);
                        }
                    }
                });
            }
            for _ in 0..SEARCHERS {
                scope.spawn(move || {
                    while !dead.load(Ordering::Relaxed) {
                        let path = "/memory/search?q=falcons+number";
                        let answer = try_ask(daemon, "GET", path, None);
                        let status = answer.map_or(200, |answer| answer.status);
                        assert_eq!(status, 200);
                    }
                });
            }
            while acknowledged.lock().unwrap().len() < enough {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            daemon.signal("-KILL");
            dead.store(true, Ordering::Relaxed);
        });
        daemon.child.wait().unwrap();
    }
    std::panic::set_hook(quiet);
    let daemon = Daemon::start(&env);
    let acknowledged = acknowledged.into_inner().unwrap();
    for id in &acknowledged {
        let read = daemon.ask("GET", &format!("/memory/record/{id}"), None);
        assert_eq!(read.status, 200, "{id} was acknowledged and is lost");
    }
    let health = daemon.get("/health");
    assert!(health["records"].as_u64().unwrap() >= acknowledged.len() as u64);
    drop(daemon);
    let doctor = env.run(&["doctor", "--json"]);
    let doctor: Value = serde_json::from_str(&doctor.stdout).unwrap();
    assert!(!doctor.to_string().contains("malformed"), "{doctor}");
    println!(
        "{} acknowledged over {rounds} kills, all there",
        acknowledged.len()
    );
}

#[test]
fn memory_and_files_stay_bounded_over_many_requests() {
    let env = env();
    let daemon = Daemon::start(&env);
    let pid = daemon.child.id();
    let requests = soaked(100, 20_000);
    let ask_all = |from: usize| {
        for number in from..from + requests {
            daemon.post("/memory/record", &record(0, number));
            daemon.get("/memory/search?q=falcons+number&k=100");
            if number % 20 == 0 {
                drop(daemon.listen(None));
                assert_eq!(daemon.ask("GET", "/memory/export", None).status, 200);
                assert_eq!(daemon.ask("GET", "/nothing", None).status, 404);
            }
        }
    };
    ask_all(0);
    let (files, threads) = (open_files(pid), threads(pid));
    ask_all(requests);
    let after = resident_mb(pid);
    println!(
        "{after} MB after {} requests, {files} files, {threads} threads",
        4 * requests
    );
    assert!(after < 150, "{after} MB");
    let slack = 24;
    assert!(
        open_files(pid) <= files + slack,
        "{} files",
        open_files(pid)
    );
    assert!(self::threads(pid) <= threads + 24);
}

fn status(pid: u32, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn resident_mb(pid: u32) -> u64 {
    status(pid, "VmRSS:") / 1024
}

fn threads(pid: u32) -> u64 {
    status(pid, "Threads:")
}

fn open_files(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .count()
}
