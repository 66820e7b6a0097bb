//! Under any fault, the agent gets exit status 0 and a valid answer or none.
//!
//! A few calls each here; `THROUGHLINE_SOAK=1` makes 10,000 of them, over all the faults in turn,
//! and tells how long they took.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::json;

use super::live::Live;
use super::{
    AGENTS, Line, at_once, call_with, claude, feed, feed_to, lines, log, machine, schema, timed,
};
use crate::env::{CommandOutput, TestEnv};
use crate::faults::soaking;

/// A short deadline, for faults that last until the deadline.
const DEADLINE: (&str, &str) = ("THROUGHLINE_HOOK_DEADLINE_MS", "400");
/// A deadline that even a busy machine meets.
pub const PATIENT: (&str, &str) = ("THROUGHLINE_HOOK_DEADLINE_MS", "30000");
const CALLS: usize = 10_000;
/// The number of faults that share the calls of a soak test.
const FAULTS: usize = 8;
/// Sessions that go on during a fault.
pub static LIVE: LazyLock<usize> = LazyLock::new(|| if soaking() { 150 } else { 12 });

/// All payloads, in turn; over and over in a soak.
pub fn calls() -> Vec<(&'static str, Line)> {
    let mut all = Vec::new();
    for agent in AGENTS {
        let lines = lines(agent);
        let few = lines.len().min(if soaking() { usize::MAX } else { 4 });
        let step = lines.len() / few;
        all.extend(lines.into_iter().step_by(step).map(|line| (agent, line)));
    }
    let count = if soaking() { CALLS / FAULTS } else { all.len() };
    all.into_iter().cycle().take(count).collect()
}

/// Prints the durations of a soak test.
#[expect(clippy::print_stdout, reason = "who soaks wants to know")]
pub fn told(fault: &str, times: &[Duration]) {
    if times.is_empty() || !soaking() {
        return;
    }
    let mut times = times.to_vec();
    times.sort_unstable();
    let at = |part: usize| times[(times.len() * part / 1000).min(times.len() - 1)].as_millis();
    println!(
        "soak: hooks, {fault} | {} calls | all end with 0; p50 {} ms, p99 {} ms, longest {} ms",
        times.len(),
        at(500),
        at(990),
        at(1000)
    );
}

#[track_caller]
pub fn check(agent: &str, line: &Line, ran: &CommandOutput) {
    assert_eq!(ran.code, Some(0), "{agent} {}", line.name);
    assert_eq!(ran.stderr, "", "{agent} {}", line.name);
    // After the deadline nothing is printed, in any format.
    if !ran.stdout.is_empty() {
        schema::context(agent, line, &ran.stdout);
    }
}

/// Starts a session with a long deadline, and returns the answer.
fn starts(env: &TestEnv) -> String {
    let start = claude(json!({
        "session_id": "s", "cwd": "/w", "hook_event_name": "SessionStart", "source": "startup",
    }));
    let ran = call_with(env, &start, &[PATIENT]);
    assert_eq!(ran.code, Some(0));
    ran.stdout
}

fn replay(env: &TestEnv, fault: &str) {
    replay_within(env, fault, &[DEADLINE]);
}

fn replay_within(env: &TestEnv, fault: &str, variables: &[(&str, &str)]) {
    let times = at_once(&calls(), |(agent, line)| {
        let (ran, took) = timed(|| call_with(env, line, variables));
        check(agent, line, &ran);
        took
    });
    told(fault, &times);
    told("the same, by a hook that does nothing", &idle(env));
}

/// The duration of a hook that does nothing, which is the overhead of the machine.
pub fn idle(env: &TestEnv) -> Vec<Duration> {
    let count = if soaking() { CALLS / FAULTS / 5 } else { 0 };
    let calls: Vec<_> = calls().into_iter().take(count).collect();
    at_once(&calls, |(_, line)| {
        timed(|| call_with(env, line, &[("THROUGHLINE_INSIDE", "1")])).1
    })
}

#[test]
fn without_a_store_nothing_is_said_and_nothing_is_made() {
    let env = TestEnv::new();
    replay(&env, "no store");
    let names: Vec<_> = fs::read_dir(env.home().join("memory"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["redaction.key"]);
}

#[cfg(unix)]
#[test]
fn a_daemon_that_was_killed_is_not_missed() {
    let env = machine();
    // The socket file still exists, but no process listens.
    drop(std::os::unix::net::UnixListener::bind(env.home().join("memory/daemon.sock")).unwrap());
    replay_within(&env, "daemon killed", &[PATIENT]);
    assert_eq!(log(&env), "");
    let live = Live::new(&env);
    live.sessions(*LIVE);
    assert_eq!(live.shown(), *LIVE);
    live.nothing_is_lost();
}

#[cfg(unix)]
#[test]
fn a_daemon_that_hangs_is_not_waited_for() {
    let env = machine();
    let _listens =
        std::os::unix::net::UnixListener::bind(env.home().join("memory/daemon.sock")).unwrap();
    replay(&env, "daemon hung");
    assert!(
        log(&env).contains("the daemon has not answered"),
        "{}",
        log(&env)
    );
    let live = Live::within(&env, ("THROUGHLINE_HOOK_DEADLINE_MS", "3000"));
    live.sessions(*LIVE);
    assert!(live.shown() > 0);
    live.sessions_are_there();
    // A hook whose deadline passed right after printing could not queue its work, and logs that.
    let late = log(&env).matches("not done within 3000 ms").count();
    let (_, unnoted) = live.lost();
    assert!(unnoted.len() <= late, "{late}: {unnoted:?}");
}

#[cfg(unix)]
#[test]
fn what_a_daemon_says_is_printed_to_the_byte() {
    use std::io::{Read, Write};
    let env = machine();
    let listener =
        std::os::unix::net::UnixListener::bind(env.home().join("memory/daemon.sock")).unwrap();
    let serving = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        while !String::from_utf8_lossy(&request).contains("last byte") {
            let read = stream.read(&mut buffer).unwrap();
            assert!(read > 0);
            request.extend_from_slice(&buffer[..read]);
        }
        let body = json!({"answer": "{\"a\": \"ü\"}\n"}).to_string();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
        stream.write_all((head + &body).as_bytes()).unwrap();
        String::from_utf8(request).unwrap()
    });
    let line = claude(json!({
        "session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": "last byte",
    }));
    let payload = line.payload.to_string();
    let args = ["hook", "--agent", "claude", "--event=E"];
    let ran = feed(&env, &args, payload.as_bytes(), &line, &[PATIENT]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "{\"a\": \"ü\"}\n")
    );
    let request = serving.join().unwrap();
    assert!(request.starts_with("POST /hook HTTP/1.1\r\n"), "{request}");
    assert!(
        request.contains("x-throughline-agent: claude\r\n"),
        "{request}"
    );
    assert!(request.contains("x-throughline-event: E\r\n"), "{request}");
    assert!(request.ends_with(&payload), "{request}");
}

#[test]
fn a_store_that_somebody_exchanges_is_not_waited_for() {
    let env = machine();
    let lock = File::options()
        .write(true)
        .open(env.home().join("memory/throughline.lock"))
        .unwrap();
    lock.lock().unwrap();
    replay(&env, "store locked");
    assert!(
        log(&env).contains("not done within 400 ms"),
        "{}",
        log(&env)
    );
    let live = Live::within(&env, DEADLINE);
    live.sessions(*LIVE);
    assert_eq!(live.shown(), 0);
    lock.unlock().unwrap();
    live.nothing_is_lost();
    assert!(starts(&env).contains("unittest -q"));
}

#[test]
fn a_damaged_store_is_left_alone() {
    let env = machine();
    for part in ["throughline.db-wal", "throughline.db-shm"] {
        let _absent = fs::remove_file(env.home().join("memory").join(part));
    }
    fs::write(env.home().join("memory/throughline.db"), [7; 8_192]).unwrap();
    replay_within(&env, "store damaged", &[PATIENT]);
    assert!(
        log(&env).contains("claude session-start: "),
        "{}",
        log(&env)
    );
}

#[cfg(unix)]
#[test]
fn in_a_home_that_cannot_be_written_hooks_still_answer() {
    use std::os::unix::fs::PermissionsExt;

    use crate::faults::readonly::{bound, give_away};
    let env = machine();
    let memory = env.home().join("memory");
    give_away(env.home());
    let mode = |mode: u32| fs::set_permissions(&memory, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o500);
    if bound(&env.command(&["hook"])).is_none() {
        return testkit::skip::skip("setpriv", "no way to run as a user whom permissions bind");
    }
    let answered = at_once(&calls(), |(agent, line)| {
        let mut command = env.command(&["hook", "--event", line.event()]);
        command.env(PATIENT.0, PATIENT.1);
        let mut command = bound(&command).unwrap();
        let payload = line.payload.to_string();
        let (ran, took) = timed(|| feed_to(&mut command, payload.as_bytes()));
        check(agent, line, &ran);
        (took, ran.stdout.contains("throughline-memory"))
    });
    mode(0o700);
    let (times, said): (Vec<_>, Vec<_>) = answered.into_iter().unzip();
    told("folder that cannot be written", &times);
    assert!(said.contains(&true));
}

#[test]
fn on_a_full_disk_hooks_still_answer() {
    let env = machine();
    let memory = env.home().join("memory");
    let small = env.home().join("small");
    let Some(_small) = crate::faults::disk::Small::mount(&small, 16) else {
        return;
    };
    for entry in fs::read_dir(&memory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, small.join(path.file_name().unwrap())).unwrap();
        }
    }
    let block = vec![0; 64 << 10];
    let mut ballast = File::create(small.join("ballast")).unwrap();
    while std::io::Write::write_all(&mut ballast, &block).is_ok() {}
    let home = small.display().to_string();
    replay_within(&env, "disk full", &[DEADLINE, ("THROUGHLINE_HOME", &home)]);
    // Nothing can be written to the data folder, but the logs are elsewhere.
    let live = Live::in_folder(&env, &small);
    live.sessions(*LIVE);
    drop(ballast);
    fs::remove_file(small.join("ballast")).unwrap();
    live.sessions_are_there();
}

#[test]
fn garbage_gets_nothing_and_is_told_of() {
    let env = machine();
    let line = claude(json!({}));
    let deep = "[".repeat(200_000);
    for input in ["", "nonsense", "{", "[]", "{}", "\u{0}\u{1}", &deep] {
        let ran = feed(&env, &["hook"], input.as_bytes(), &line, &[DEADLINE]);
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (Some(0), "", "")
        );
    }
    assert!(log(&env).contains("not a JSON object"), "{}", log(&env));
    assert!(log(&env).contains("no supported agent"), "{}", log(&env));
    for args in [
        &["hook", "--bogus", "-x"][..],
        &["hook", "--agent", "nobody"],
    ] {
        let ran = feed(&env, args, b"{}", &line, &[DEADLINE]);
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (Some(0), "", "")
        );
    }
    assert!(
        log(&env).contains("--agent does not name a known agent") && !log(&env).contains("nobody"),
        "{}",
        log(&env)
    );
}

#[test]
fn a_payload_beyond_the_limit_is_not_read() {
    let env = machine();
    let line = claude(json!({}));
    let mut payload = b"{\"hook_event_name\":\"Stop\",\"session_id\":\"s\",\"x\":\"".to_vec();
    payload.resize(17 << 20, b'x');
    let ran = feed(&env, &["hook"], &payload, &line, &[PATIENT]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    assert!(log(&env).contains("too long"), "{}", log(&env));
}

#[test]
fn who_never_ends_the_payload_is_not_waited_for() {
    let env = machine();
    let mut child = env
        .command(&["hook"])
        .env(DEADLINE.0, "50")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let open = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(0), &b""[..])
    );
    drop(open);
    assert!(log(&env).contains("not done within 50 ms"), "{}", log(&env));
}

#[test]
fn a_configuration_that_cannot_be_read_switches_off() {
    let env = machine();
    fs::write(env.home().join("memory/config.toml"), "[injection\nenabled").unwrap();
    replay(&env, "configuration broken");
    assert_eq!(starts(&env), "");
    assert!(
        log(&env).contains("invalid configuration in "),
        "{}",
        log(&env)
    );
}

#[test]
fn even_a_panic_ends_well() {
    let env = machine();
    let line = &lines("codex")[0];
    let ran = call_with(&env, line, &[("THROUGHLINE_HOOK_PANIC", "1"), DEADLINE]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(0), "", "")
    );
    // The message of a panic may quote captured text, so only its position is logged.
    let logged = log(&env);
    assert!(logged.contains("internal error at crates/"), "{logged}");
    assert!(!logged.contains("a test asked"), "{logged}");
}

#[test]
fn hook_log_and_queue_are_their_owners_alone() {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let env = machine();
        feed(&env, &["hook"], b"?", &claude(json!({})), &[DEADLINE]);
        let stop = &lines("claude")
            .into_iter()
            .find(|line| line.event() == "Stop");
        call_with(&env, stop.as_ref().unwrap(), &[PATIENT]);
        let memory = env.home().join("memory");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&memory.join("hook.log")), 0o600);
        assert_eq!(mode(&memory.join("pending")), 0o700);
        for entry in fs::read_dir(memory.join("pending")).unwrap() {
            assert_eq!(mode(&entry.unwrap().path()), 0o600);
        }
    }
}
