//! Logs that lose entries: the records stay, and every command says that the log has lost them.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::Value;

use crate::env::{CommandOutput, TestEnv, samples};

const SESSION: &str = "4c5420d7";
/// 2026-11-15 at 23:00, ten hours before the tests' clock.
const YESTERDAY: u64 = 1_794_783_600;

fn json(ran: &CommandOutput) -> Value {
    serde_json::from_str(&ran.stdout).unwrap()
}

/// Copies a sample to where its agent would write it, and returns its path.
fn with_log(env: &TestEnv) -> PathBuf {
    let sample = testkit::files_below(&samples())
        .into_iter()
        .find(|path| path.display().to_string().contains(SESSION))
        .unwrap();
    let folder = env.home().join(".claude/projects/-work-proj");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(sample.file_name().unwrap());
    fs::copy(sample, &path).unwrap();
    path
}

#[test]
fn a_truncated_log_loses_neither_records_nor_digest() {
    let env = TestEnv::new();
    let path = with_log(&env);
    env.run(&["ingest"]);
    let whole = fs::read_to_string(&path).unwrap();
    let session = |env: &TestEnv| json(&env.run(&["show", SESSION, "--json"]));
    let before = session(&env);
    let records = before["records"].as_array().unwrap();
    assert!(records.iter().all(|record| record["in_source"] == true));
    let archived = env.run(&["export", "--raw", SESSION]).stdout;

    let lines: Vec<_> = whole.split_inclusive('\n').collect();
    fs::write(&path, lines[..lines.len() / 2].concat()).unwrap();
    let report = json(&env.run(&["ingest", "--json"]));
    let lost = report["no_longer_in_source"].as_u64().unwrap();
    assert!(lost > 0, "{report}");
    assert_eq!(report["records"], 0);

    let after = session(&env);
    assert_eq!(after["digest"], before["digest"]);
    assert_eq!(after["session"]["outcome"], before["session"]["outcome"]);
    assert_eq!(after["session"]["detached"], lost);
    let ids = |session: &Value| -> Vec<Value> {
        let records = session["records"].as_array().unwrap();
        records.iter().map(|record| record["id"].clone()).collect()
    };
    assert_eq!(ids(&after), ids(&before));
    let is_lost = |record: &&Value| record["in_source"] == false;
    let found = after["records"].as_array().unwrap().iter().filter(is_lost);
    assert_eq!(found.count() as u64, lost);

    let heading = format!("{lost} records are no longer in their logs; kept");
    let shown = env.run(&["show", SESSION]).stdout;
    assert!(shown.contains(&heading), "{shown}");
    assert!(shown.contains("(no longer in its log)"), "{shown}");
    let listed = env.run(&["sessions"]).stdout;
    assert!(listed.contains(&format!("{lost} not in log")), "{listed}");
    assert_eq!(env.run(&["export", "--raw", SESSION]).stdout, archived);

    // The restored log contains everything again.
    fs::write(&path, whole).unwrap();
    let report = json(&env.run(&["ingest", "--json"]));
    assert_eq!(
        (&report["records"], &report["no_longer_in_source"]),
        (&0.into(), &0.into())
    );
    assert_eq!(session(&env)["records"], before["records"]);
}

/// Forgetting also erases the earlier versions of a log.
#[test]
fn a_lost_record_can_be_forgotten_and_moved() {
    let env = TestEnv::new();
    let folder = env.home().join(".claude/projects/-work-proj");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("t.jsonl");
    let line = |uuid: &str, text: &str| {
        let entry = serde_json::json!({
            "type": "user", "uuid": uuid, "sessionId": "t", "cwd": "/work/proj",
            "timestamp": "2026-11-15T09:00:00.000Z", "version": "2.1.98",
            "message": {"role": "user", "content": text},
        });
        format!("{entry}\n")
    };
    let kept = line("u1", "the zorblaxine is ready");
    let all = line("u0", "harmless words") + &kept + &line("u2", "mistfjord \"quoted\" secret");
    fs::write(&path, all).unwrap();
    env.run(&["ingest"]);
    fs::write(&path, kept).unwrap();
    env.run(&["ingest"]);
    let exported = env.run(&["export"]).stdout;
    let other = TestEnv::new();
    let ran = other.run_with(&["import", "-"], exported.as_bytes());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(other.run(&["export"]).stdout, exported);

    let ran = env.run(&["forget", "--query", "mistfjord", "--yes"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let left = env.run(&["export"]).stdout;
    assert!(left.contains("harmless words") && left.contains("zorblaxine"));
    assert!(!left.contains("mistfjord"), "{left}");
    assert!(!left.contains("quoted"), "{left}");
}

#[test]
fn a_record_that_its_log_lost_ranks_below_the_rest() {
    let env = TestEnv::new();
    let folder = env.home().join(".claude/projects/-work-proj");
    fs::create_dir_all(&folder).unwrap();
    let prompt = |session: &str, day: u32, text: &str| {
        let entry = serde_json::json!({
            "type": "user", "uuid": format!("{session}-{}", text.len()), "sessionId": session,
            "timestamp": format!("2026-11-{day:02}T09:00:00.000Z"), "cwd": "/work/proj",
            "version": "2.1.98", "message": {"role": "user", "content": text},
        });
        format!("{entry}\n")
    };
    let text = "the quuxifier needs a frobnicator before it starts";
    let (first, second) = (folder.join("a.jsonl"), folder.join("b.jsonl"));
    fs::write(&first, prompt("a", 1, text)).unwrap();
    fs::write(&second, prompt("b", 14, text)).unwrap();
    let sessions = || -> Vec<(String, bool)> {
        let found = json(&env.run(&["search", "quuxifier frobnicator", "--json"]));
        let hits = found["hits"].as_array().unwrap().iter();
        let session = |hit: &Value| {
            let name = hit["session"].as_str().unwrap().to_owned();
            (name, hit["in_source"].as_bool().unwrap())
        };
        hits.map(session).take(2).collect()
    };
    env.run(&["ingest"]);
    let both = |first: (&str, bool), second: (&str, bool)| {
        [first, second].map(|(name, in_source)| (name.to_owned(), in_source))
    };
    assert_eq!(sessions(), both(("claude:a", true), ("claude:b", true)));
    fs::write(&first, prompt("a", 1, "never mind")).unwrap();
    let told = env.run(&["ingest"]).stderr;
    let lost = "Kept 1 record that is no longer in its log.";
    assert!(told.contains(lost), "{told}");
    assert_eq!(sessions(), both(("claude:b", true), ("claude:a", false)));
    let shown = env.run(&["search", "quuxifier"]).stdout;
    assert_eq!(
        shown.matches("(no longer in its log)").count(),
        1,
        "{shown}"
    );
}

#[test]
fn a_log_without_times_is_not_the_oldest() {
    let env = TestEnv::new();
    let folder = env.home().join(".cursor/projects/p/agent-transcripts");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("3f0c2f0e-0000-4000-8000-000000000001.jsonl");
    let lines = [("user", "what is a quuxifier"), ("assistant", "a thing")].map(|(role, text)| {
        let message = serde_json::json!({"content": [{"type": "text", "text": text}]});
        serde_json::json!({"role": role, "message": message}).to_string() + "\n"
    });
    fs::write(&path, lines.concat()).unwrap();
    let file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    let modified = UNIX_EPOCH + Duration::from_secs(YESTERDAY);
    file.set_modified(modified).unwrap();
    with_log(&env);
    env.run(&["ingest"]);
    let found = json(&env.run(&["search", "quuxifier", "--json"]));
    assert_eq!(found["hits"][0]["at"], "2026-11-15T23:00:00Z", "{found}");
    let listed = json(&env.run(&["sessions", "--json"]));
    assert_eq!(listed[0]["flavor"], "cursor", "{listed}");
}
