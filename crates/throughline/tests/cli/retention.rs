//! Digests and retention: what is kept, and what remains of removed sessions.

use insta::assert_snapshot;
use serde_json::Value;

use crate::env::{TestEnv, samples};

const CLAUDE: &str = "4c5420d7";
const CODEX: &str = "01a1e083-3243";
const GROK: &str = "01a1e07c-e626";

/// A home folder whose settings remove every digested session.
fn that_keeps_nothing() -> TestEnv {
    let env = TestEnv::with_samples();
    let config = "[retention]\nraw_soft_cap_bytes = 0";
    std::fs::write(env.home().join("memory/config.toml"), config).unwrap();
    env
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn a_digest_tells_what_a_session_was_about() {
    let env = TestEnv::with_samples();
    assert_snapshot!("digest_claude", env.run(&["digest", CLAUDE]).shown());
    assert_snapshot!("digest_codex", env.run(&["digest", CODEX]).shown());
    assert_snapshot!("digest_grok", env.run(&["digest", GROK]).shown());
    assert_snapshot!(
        "digest_json",
        env.run(&["digest", CLAUDE, "--json"]).shown()
    );
    assert_eq!(env.run(&["digest", "nobody"]).code, Some(2));
}

#[test]
fn ingest_digests_and_reports_what_is_kept() {
    let env = TestEnv::new();
    let root = samples().display().to_string();
    let report = json(&env.run(&["ingest", "--json", "--root", &root]).stdout);
    assert_eq!(report["analyzed"], 8);
    assert_eq!(report["retention"]["freed"], 0);
    assert!(report["retention"]["final_usage"].as_u64().unwrap() > 0);
    let again = json(&env.run(&["ingest", "--json", "--root", &root]).stdout);
    assert_eq!(
        (&again["analyzed"], &again["records"]),
        (&0.into(), &0.into())
    );
    let dry = json(
        &env.run(&["ingest", "--json", "--dry-run", "--root", &root])
            .stdout,
    );
    assert_eq!(dry["retention"], Value::Null);
}

#[test]
fn what_went_leaves_its_digest() {
    let env = that_keeps_nothing();
    let planned = json(&env.run(&["retain", "--dry-run", "--json"]).stdout);
    let sessions = planned["eviction"]["sessions"].as_array().unwrap();
    assert!(sessions.len() == 8 && sessions.iter().all(|one| one["pass"] == "soft_cap"));
    assert!(env.run(&["show", CLAUDE]).stdout.contains("Edit changed"));
    let report = json(&env.run(&["retain", "--json"]).stdout);
    assert_eq!(report["retention"]["evicted"]["soft_cap"], 8);
    assert_eq!(report["retention"]["data_loss"], Value::Array(Vec::new()));
    assert!(report["retention"]["freed"].as_u64().unwrap() > 0);
    assert_snapshot!("show_evicted", env.run(&["show", CLAUDE]).shown());
    let sessions = json(&env.run(&["sessions", "--json"]).stdout);
    assert_eq!(sessions.as_array().unwrap().len(), 8);
    assert_eq!(sessions[0]["evicted"], sessions[0]["records"]);
    assert!(env.run(&["sessions"]).stdout.contains("digest only"));
    let export = env.run(&["export", "--raw", CLAUDE]);
    assert_snapshot!("export_evicted", export.shown());
}

#[test]
fn what_went_is_still_found_by_title_and_digest() {
    let env = that_keeps_nothing();
    env.run(&["retain"]);
    assert_snapshot!("search_evicted", env.run(&["search", "threshold"]).shown());
    let found = json(&env.run(&["search", "threshold", "--json"]).stdout);
    assert_eq!(found["digest_only_sessions"], 8);
    let hits = found["hits"].as_array().unwrap();
    assert!(!hits.is_empty() && hits.iter().all(|hit| hit["digest_only"] == true));
    // The id of a digest's hit names its session.
    let hits: Vec<_> = hits.iter().filter(|hit| hit["type"] != "fact").collect();
    let id = hits[0]["id"].as_str().unwrap();
    let shown = env.run(&["show", id]).stdout;
    assert!(
        shown.contains(hits[0]["session"].as_str().unwrap()),
        "{shown}"
    );
    // With a record type only records are searched, and there are none.
    assert_eq!(
        env.run(&["search", "threshold", "--type", "summary"]).code,
        Some(1)
    );
    let session = hits[0]["session"].as_str().unwrap();
    env.run(&["forget", session, "--yes"]);
    let found = json(&env.run(&["search", "threshold", "--json"]).stdout);
    let hits = found["hits"].as_array().unwrap();
    assert!(hits.iter().all(|hit| hit["session"] != session), "{hits:?}");
}

#[test]
fn a_fact_of_what_went_is_still_found() {
    let env = TestEnv::new();
    let logs = env.home().join(".claude/projects/-home-dev-proj");
    std::fs::create_dir_all(&logs).unwrap();
    let session = "11111111-aaaa-4aaa-8aaa-aaaaaaaaaaaa";
    let said = "We decided to keep the quince index in PostgreSQL.";
    let line = serde_json::json!({
        "type": "user", "uuid": "a1", "sessionId": session, "cwd": "/home/dev/proj",
        "timestamp": "2026-11-10T09:00:00Z",
        "message": { "role": "user", "content": said },
    });
    std::fs::write(logs.join(format!("{session}.jsonl")), format!("{line}\n")).unwrap();
    env.run(&["ingest"]);
    let facts = |env: &TestEnv| {
        let found = json(
            &env.run(&["search", "quince index PostgreSQL", "--json"])
                .stdout,
        );
        let hits = found["hits"].as_array().unwrap().iter();
        let facts = hits.filter(|hit| hit["type"] == "fact").cloned();
        Value::Array(facts.collect())
    };
    assert_eq!(
        facts(&env)[0]["digest_only"],
        false,
        "its records are found"
    );
    let config = "[retention]\nraw_soft_cap_bytes = 0";
    std::fs::write(env.home().join("memory/config.toml"), config).unwrap();
    env.run(&["retain"]);
    let facts = facts(&env);
    assert_eq!(facts[0]["session"], format!("claude:{session}"), "{facts}");
    assert_eq!(facts[0]["digest_only"], true);
    let shown = env.run(&["search", "quince index PostgreSQL"]).stdout;
    assert!(
        shown.contains(&format!("(only the digest of claude:{session} is left)")),
        "{shown}"
    );
}

#[test]
fn old_logs_lose_nothing_by_default() {
    let env = TestEnv::with_samples();
    let records = |env: &TestEnv| {
        let sessions = json(&env.run(&["sessions", "--json"]).stdout);
        let sessions = sessions.as_array().unwrap();
        assert!(sessions.iter().all(|session| session["evicted"] == 0));
        let records = sessions.iter().map(|session| session["records"].as_u64());
        records.sum::<Option<u64>>().unwrap()
    };
    let before = records(&env);
    let root = samples().display().to_string();
    for month in ["2027-03", "2027-06", "2027-09", "2028-01"] {
        for day in ["01", "02", "03"] {
            let now = format!("{month}-{day}T12:00:00Z");
            for args in [vec!["ingest", "--root", &root], vec!["retain"]] {
                let ran = env.command(&args).env("THROUGHLINE_NOW", &now).output();
                assert!(ran.unwrap().status.success());
            }
        }
    }
    assert_eq!(records(&env), before);
    assert_eq!(env.run(&["search", "threshold"]).code, Some(0));
    let raw = env.run(&["export", "--raw", CLAUDE]);
    assert_eq!(raw.code, Some(0), "{}", raw.stderr);
}

#[test]
fn text_is_deleted_by_age_only_where_the_user_says_so() {
    let env = TestEnv::with_samples();
    let config = "[retention]\ndelete_after_days = 30\n\
                  [[retention.workspace]]\nmatch = \"nowhere\"\ndelete_after_days = 0";
    std::fs::write(env.home().join("memory/config.toml"), config).unwrap();
    let retain = |now: &str| {
        let ran = env
            .command(&["retain", "--json"])
            .env("THROUGHLINE_NOW", now)
            .output()
            .unwrap();
        json(&String::from_utf8(ran.stdout).unwrap())["retention"]["evicted"].clone()
    };
    // The sessions are older than that; they were captured on the 16th of November.
    assert_eq!(retain("2026-12-15T09:00:00Z")["delete_after"], 0);
    let evicted = retain("2026-12-17T09:00:00Z");
    assert_eq!(
        (&evicted["delete_after"], &evicted["age"]),
        (&8.into(), &0.into())
    );
    let shown = env.run(&["show", CLAUDE]).stdout;
    assert!(
        shown.contains("because it was older than delete_after_days"),
        "{shown}"
    );
}

#[test]
fn what_went_does_not_come_back() {
    let env = that_keeps_nothing();
    env.run(&["retain"]);
    let root = samples().display().to_string();
    let again = json(&env.run(&["ingest", "--json", "--root", &root]).stdout);
    assert_eq!(
        (&again["ingested"], &again["records"]),
        (&0.into(), &0.into())
    );
    let evicted = again["retention"]["evicted"].as_object().unwrap();
    assert!(evicted.values().all(|sessions| *sessions == 0));
    let found = json(&env.run(&["search", "threshold", "--json"]).stdout);
    let hits = found["hits"].as_array().unwrap();
    assert!(
        hits.iter().all(|hit| hit["digest_only"] == true),
        "{hits:?}"
    );
}

#[test]
fn a_log_that_grows_gives_only_its_new_lines() {
    let env = TestEnv::new();
    let logs = env.home().join(".claude/projects/-home-dev-proj");
    std::fs::create_dir_all(&logs).unwrap();
    let name = "7142b226-68fa-46a0-8fd9-46e66b66a646.jsonl";
    let whole =
        std::fs::read_to_string(samples().join("claude/projects/-home-dev-proj").join(name))
            .unwrap();
    let lines: Vec<_> = whole.split_inclusive('\n').collect();
    let half = lines.len() / 2;
    std::fs::write(logs.join(name), lines[..half].concat()).unwrap();
    let config = "[retention]\nraw_soft_cap_bytes = 0";
    std::fs::write(env.home().join("memory/config.toml"), config).unwrap();
    let ingest = || json(&env.run(&["ingest", "--json"]).stdout);
    // Sessions of the last sweep are kept until the next run, however full the store is.
    let first = ingest();
    assert_eq!(first["retention"]["evicted"]["soft_cap"], 0);
    assert_eq!(ingest()["retention"]["evicted"]["soft_cap"], 1);
    std::fs::write(logs.join(name), &whole).unwrap();
    let second = ingest();
    assert_eq!(ingest()["retention"]["evicted"]["soft_cap"], 1);
    let session = json(&env.run(&["sessions", "--json"]).stdout)[0].clone();
    let records = first["records"].as_u64().unwrap() + second["records"].as_u64().unwrap();
    assert_eq!(session["records"].as_u64(), Some(records));
    assert_eq!(session["evicted"].as_u64(), Some(records));
    let digest = json(&env.run(&["digest", "7142b226", "--json"]).stdout);
    assert_eq!(digest["records"].as_u64(), Some(records));
}

#[test]
fn a_full_store_digests_before_it_drops() {
    let env = TestEnv::with_samples();
    let config =
        "[retention]\nraw_soft_cap_bytes = 0\nraw_hard_cap_bytes = 1\nquiet_minutes = 600000";
    std::fs::write(env.home().join("memory/config.toml"), config).unwrap();
    let report = json(&env.run(&["retain", "--json"]).stdout);
    assert_eq!(report["retention"]["evicted"]["overflow"], 8);
    assert_eq!(report["retention"]["data_loss"], Value::Array(Vec::new()));
}

#[test]
fn retain_says_what_it_did() {
    let env = that_keeps_nothing();
    let dry = env.run(&["retain", "--dry-run"]);
    assert!(
        dry.stdout.contains("Would remove the text of 8 sessions"),
        "{}",
        dry.shown()
    );
    let ran = env.run(&["retain"]);
    assert!(
        ran.stderr.contains(
            "Removed the text of 8 sessions above the soft cap (their digests are kept)."
        ),
        "{}",
        ran.shown()
    );
    assert!(env.run(&["retain"]).stderr.contains("Nothing to remove,"));
}
