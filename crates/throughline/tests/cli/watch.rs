//! `throughline watch` as people run it.

#![expect(clippy::disallowed_methods, reason = "tests start and stop processes")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use testkit::model_server::{Act, ModelServer};

use crate::env::TestEnv;
use crate::stages::live_log;

/// A running `throughline watch`, killed on drop.
struct Watching {
    child: Child,
    reports: BufReader<ChildStdout>,
}

impl Watching {
    /// Starts the watcher and waits for its first sweep.
    fn start(env: &TestEnv) -> Self {
        Self::start_with(env, Stdio::inherit())
    }

    fn start_with(env: &TestEnv, stderr: Stdio) -> Self {
        let mut child = env
            .command(&["watch", "--json"])
            .env("TEST_KEY", "not-a-real-key")
            .stderr(stderr)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let reports = BufReader::new(child.stdout.take().unwrap());
        let mut watching = Self { child, reports };
        watching.report();
        watching
    }

    fn report(&mut self) -> serde_json::Value {
        let mut line = String::new();
        self.reports.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Reads reports until this many records were ingested.
    fn until_records(&mut self, records: u64) {
        let mut come = 0;
        while come < records {
            come += self.report()["records"].as_u64().unwrap();
        }
        assert_eq!(come, records);
    }

    #[cfg(unix)]
    fn end(&mut self, signal: &str) -> Option<i32> {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status().unwrap();
        assert!(sent.success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn log(env: &TestEnv) -> PathBuf {
    let folder = env.home().join(".claude/projects/-work-proj");
    std::fs::create_dir_all(&folder).unwrap();
    folder.join("4c5420d7-85c7-46b9-b34d-eaf1c42847fd.jsonl")
}

fn append(log: &Path, word: &str) {
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(log)
        .unwrap();
    let entry = serde_json::json!({
        "type": "user", "uuid": word, "parentUuid": null,
        "sessionId": "4c5420d7-85c7-46b9-b34d-eaf1c42847fd", "cwd": "/work/proj",
        "timestamp": "2026-01-05T09:00:00Z", "message": {"role": "user", "content": word},
    });
    writeln!(file, "{entry}").unwrap();
}

#[cfg(unix)]
#[test]
fn a_watcher_reports_and_stops_when_asked() {
    for signal in ["-INT", "-TERM"] {
        let env = TestEnv::new();
        let mut watching = Watching::start(&env);
        // The agent is installed while the watcher runs.
        append(&log(&env), "alpha");
        watching.until_records(1);
        append(&log(&env), "beta");
        watching.until_records(1);
        assert_eq!(watching.end(signal), Some(0), "{signal}");
        for word in ["alpha", "beta"] {
            assert_eq!(env.run(&["search", word]).code, Some(0), "{word}");
        }
    }
}

#[test]
fn a_killed_watcher_loses_nothing() {
    let env = TestEnv::new();
    append(&log(&env), "alpha");
    let mut watching = Watching::start(&env);
    append(&log(&env), "beta");
    watching.child.kill().unwrap();
    append(&log(&env), "gamma");
    drop(watching);
    let _watching = Watching::start(&env);
    for word in ["alpha", "beta", "gamma"] {
        assert_eq!(env.run(&["search", word]).code, Some(0), "{word}");
    }
}

#[test]
fn watchers_and_sweeps_at_once_do_not_disturb_each_other() {
    let env = TestEnv::new();
    append(&log(&env), "first");
    let watchers = [Watching::start(&env), Watching::start(&env)];
    for line in 0..40 {
        append(&log(&env), &format!("crowd number{line}"));
        if line % 8 == 0 {
            assert_eq!(env.run(&["ingest"]).code, Some(0));
        }
    }
    drop(watchers);
    assert_eq!(env.run(&["ingest"]).code, Some(0));
    let found = env.run(&["search", "crowd", "-n", "100", "--json"]);
    assert_eq!(
        found.stdout.matches("\"snippet\":\"crowd number").count(),
        40,
        "{}",
        found.stdout
    );
    assert_eq!(env.run(&["doctor", "--deep"]).code, Some(0));
}

/// The limits of a user namespace are its own, so the test needs no rights. Where such a namespace
/// cannot be made, there is nothing to test with.
#[cfg(target_os = "linux")]
#[test]
fn without_watches_it_polls() {
    for limit in ["max_inotify_watches", "max_inotify_instances"] {
        let env = TestEnv::new();
        append(&log(&env), "alpha");
        let watch = env.command(&["watch", "--json"]);
        let script = format!("echo 0 > /proc/sys/user/{limit} && exec \"$0\" watch --json");
        let mut limited = Command::new("unshare");
        limited
            .args(["--user", "--map-root-user", "sh", "-c", &script])
            .arg(watch.get_program())
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .envs(
                watch
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let Ok(mut child) = limited.spawn() else {
            return testkit::skip::skip("unshare", "the program unshare cannot be run");
        };
        let mut reports = BufReader::new(child.stdout.take().unwrap());
        if reports.fill_buf().unwrap().is_empty() {
            child.wait().unwrap();
            return testkit::skip::skip("unshare", "no user namespace can be made");
        }
        let mut watching = Watching { child, reports };
        watching.until_records(1);
        append(&log(&env), "beta");
        watching.until_records(1);
        assert_eq!(watching.end("-TERM"), Some(0), "{limit}");
    }
}

/// Reads messages of the watcher until one contains the text.
fn until_said(said: &mut impl BufRead, words: &str) {
    let mut heard = String::new();
    loop {
        let mut line = String::new();
        let read = said.read_line(&mut line).unwrap();
        assert!(read > 0, "it ended before it said {words:?}: {heard}");
        if line.contains(words) {
            return;
        }
        heard += &line;
    }
}

#[test]
fn a_watcher_writes_summaries_digests_and_finds_facts() {
    let env = TestEnv::new();
    live_log(&env, 8);
    let mut watching = Watching::start_with(&env, Stdio::piped());
    let mut said = BufReader::new(watching.child.stderr.take().unwrap());
    // The last activity of the session was half an hour ago.
    until_said(&mut said, "Digested 1 session.");
    until_said(&mut said, "Wrote 1 summary of live sessions.");
    live_log(&env, 16);
    until_said(&mut said, "wrote 1 summary of live sessions");
    assert_eq!(env.run(&["digest", "7a1c0e55"]).code, Some(0));
    assert_eq!(env.run(&["summary", "7a1c0e55"]).code, Some(0));
}

#[cfg(unix)]
#[test]
fn a_model_that_hangs_keeps_neither_the_reading_nor_the_end() {
    let env = TestEnv::new();
    let server = ModelServer::start(vec![Act::Hang]);
    env.configure_model(&server, "timeout_ms = 50000");
    live_log(&env, 8);
    let mut watching = Watching::start(&env);
    server.wait_for(1);
    append(&log(&env), "alpha");
    watching.until_records(1);
    assert_eq!(watching.end("-INT"), Some(0));
    assert_eq!(env.run(&["search", "alpha"]).code, Some(0));
    assert_eq!(server.got().len(), 1);
}
