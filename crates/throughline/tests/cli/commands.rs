//! The output of each command, with valid and invalid input.

use insta::assert_snapshot;

use crate::env::{TestEnv, samples};

#[test]
fn ingest_says_what_it_did() {
    let env = TestEnv::new();
    let root = samples().display().to_string();
    assert_snapshot!(
        "ingest_dry_run",
        env.run(&["ingest", "--dry-run", "--root", &root]).shown()
    );
    assert!(!env.home().join("memory/throughline.db").exists());
    let shown = |args: &[&str]| without_usage(&env.run(args).shown());
    assert_snapshot!("ingest", shown(&["ingest", "--root", &root]));
    assert_snapshot!(
        "ingest_again",
        shown(&["ingest", "--root", &root, "--json"])
    );
    let other = TestEnv::new().run(&["ingest", "--agent", "codex", "--root", &root]);
    assert_snapshot!("ingest_one_agent", without_usage(&other.shown()));
}

/// Masks the number of bytes in use, which depends on how writes were grouped.
fn without_usage(text: &str) -> String {
    let without = |line: &str| -> String {
        let line = match line.split_once(" in use") {
            Some((before, after)) => match before.rsplit_once(", ") {
                Some((before, _)) => format!("{before}, N in use{after}"),
                None => line.to_owned(),
            },
            None => line.to_owned(),
        };
        ["\"final_usage\":", "\"distilled\":"]
            .iter()
            .fold(line, |line, key| {
                let Some((before, after)) = line.split_once(key) else {
                    return line;
                };
                let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
                format!("{before}{key}N{after}")
            })
    };
    text.lines().map(without).collect::<Vec<_>>().join("\n")
}

#[test]
fn ingest_with_nothing_to_read() {
    let env = TestEnv::new();
    let shown = without_usage(&env.run(&["ingest"]).shown());
    assert_snapshot!("ingest_no_agents", shown);
    assert_snapshot!(
        "ingest_no_root",
        env.run(&["ingest", "--root", "/nowhere"]).shown()
    );
    assert_snapshot!(
        "ingest_no_such_agent",
        env.run(&["ingest", "--agent", "clod"]).shown()
    );
}

#[test]
fn search_finds() {
    let env = TestEnv::with_samples();
    assert_snapshot!(
        "search",
        env.run(&["search", "reorder", "threshold", "-n", "3"])
            .shown()
    );
    assert_snapshot!(
        "search_filters",
        env.run(&[
            "search", "threshold", "--agent", "claude", "--type", "prompt", "-decide"
        ])
        .shown()
    );
    assert_snapshot!(
        "search_path",
        env.run(&[
            "search", "threshold", "--path", "test_*.py", "--type", "artifact"
        ])
        .shown()
    );
    assert_snapshot!(
        "search_some_words",
        env.run(&[
            "search", "threshold", "zeppelin", "-n", "1", "--agent", "grok"
        ])
        .shown()
    );
    assert_snapshot!("search_nothing", env.run(&["search", "zeppelin"]).shown());
    assert_snapshot!("search_no_words", env.run(&["search", "?!"]).shown());
    let until = env.run(&["search", "threshold", "--until", "2026-11-01"]);
    assert_eq!(until.code, Some(1), "{}", until.shown());
    let since = env.run(&["search", "threshold", "--since", "2d", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&since.stdout).unwrap();
    assert_eq!(json["rung"], "exact");
    assert!(json["hits"].as_array().unwrap().len() > 5);
}

#[test]
fn search_takes_any_text() {
    let env = TestEnv::with_samples();
    let hostile = [
        r#"" OR NEAR( * : ^ -"#, "'); DROP TABLE records; --", "what's wrong?", "src/main.rs:42",
        "C++", "50%", "@nasa", "\"unterminated", "retry OR", "scope:w1", "a\u{202e}b 🧪 \u{0}x",
    ];
    for text in hostile {
        let text = text.replace('\0', " ");
        let ran = env.run(&["search", "--", &text]);
        assert!(matches!(ran.code, Some(0 | 1)), "{text:?}: {}", ran.shown());
    }
    let long = "word ".repeat(20_000);
    assert!(matches!(env.run(&["search", &long]).code, Some(0 | 1)));
}

#[test]
fn sessions_and_show() {
    let env = TestEnv::with_samples();
    assert_snapshot!("sessions", env.run(&["sessions"]).shown());
    assert_snapshot!(
        "sessions_filter",
        env.run(&["sessions", "--agent", "grok", "--since", "7d"])
            .shown()
    );
    assert_snapshot!("show", env.run(&["show", "4c5420d7"]).shown());
    assert_snapshot!("show_unknown", env.run(&["show", "nope"]).shown());
    assert_snapshot!("show_ambiguous", env.run(&["show", "01a1e083"]).shown());
    let json = env.run(&["show", "01a1e07c", "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(shown["session"]["flavor"], "grok");
    let record = shown["records"][0]["id"].as_str().unwrap();
    assert_snapshot!("show_record", env.run(&["show", record]).shown());
}

/// Masks the size of the store and its format, which differ with every migration.
fn without_size(text: &str) -> String {
    let Some((before, after)) = text.split_once(" kB on disk") else {
        return text.to_owned();
    };
    let before = before.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let after = match after.split_once(", SQLite") {
        Some((_, after)) => format!(" (format N, SQLite{after}"),
        None => after.to_owned(),
    };
    format!("{before}N kB on disk{after}")
}

#[test]
fn doctor_and_config() {
    let env = TestEnv::with_samples();
    assert_snapshot!(
        "doctor",
        without_size(&env.run(&["doctor", "--deep"]).shown())
    );
    assert_snapshot!("doctor_no_store", TestEnv::new().run(&["doctor"]).shown());
    assert_snapshot!("config", env.run(&["config"]).shown());
    let path = env.home().join("memory/config.toml");
    std::fs::write(&path, "[capture]\nagnets = []\n").unwrap();
    assert_snapshot!("config_wrong", env.run(&["sessions"]).shown());
}

#[cfg(unix)]
#[test]
fn doctor_sees_open_doors() {
    use std::os::unix::fs::PermissionsExt;
    let env = TestEnv::with_samples();
    let database = env.home().join("memory/throughline.db");
    std::fs::set_permissions(database, std::fs::Permissions::from_mode(0o644)).unwrap();
    let ran = env.run(&["doctor"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stdout.contains("throughline.db has mode 644"),
        "{}",
        ran.shown()
    );
}

#[test]
fn redact_in_a_pipe() {
    let env = TestEnv::new();
    let token = ["gh", "p_"].concat() + "Zq7RkT2mVx9LsWc4YbN8fHd3JgP6uAe1QoXi";
    let text = format!("push with {token}\ncommit 3f786850e387550fdab836ed7e6dc881de23001b\n");
    let ran = env.run_with(&["redact", "--explain"], text.as_bytes());
    assert!(
        !ran.stdout.contains(&token) && ran.stdout.contains("3f786850e3875"),
        "{}",
        ran.shown()
    );
    assert_snapshot!("redact", ran.shown());
    let line = serde_json::json!({"id": 7, "text": text}).to_string();
    assert_snapshot!(
        "redact_jsonl",
        env.run_with(&["redact", "--jsonl"], line.as_bytes())
            .shown()
    );
    assert_snapshot!(
        "redact_wrong",
        env.run_with(&["redact", "--jsonl"], b"{}").shown()
    );
}

#[test]
fn a_deleted_log_comes_back_without_its_secrets() {
    let env = TestEnv::new();
    let logs = env.home().join(".claude/projects/-home-dev-proj");
    std::fs::create_dir_all(&logs).unwrap();
    let sample =
        samples().join("claude/projects/-home-dev-proj/7142b226-68fa-46a0-8fd9-46e66b66a646.jsonl");
    let original = std::fs::read_to_string(&sample).unwrap();
    let log = logs.join(sample.file_name().unwrap());
    std::fs::write(&log, &original).unwrap();
    env.run(&["ingest"]);
    let moved = logs.join("moved.jsonl");
    std::fs::rename(&log, &moved).unwrap();
    env.run(&["ingest"]);
    std::fs::remove_file(&moved).unwrap();
    env.run(&["ingest"]);
    assert_snapshot!("sessions_gone", env.run(&["sessions", "--gone"]).shown());
    let raw = env.run(&["export", "--raw", "7142b226"]).stdout;
    assert!(
        !raw.contains("hunter2") && raw.contains("[redacted:"),
        "{raw}"
    );
    // Apart from the placeholders the log is unchanged, line by line.
    let kinds = |text: &str| -> Vec<(String, String)> {
        let lines = text
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        lines
            .map(|entry| (entry["type"].to_string(), entry["uuid"].to_string()))
            .collect()
    };
    assert_eq!(kinds(&raw), kinds(&original));
    let file = env.home().join("raw.jsonl");
    env.run(&[
        "export",
        "--raw",
        "7142b226",
        "-o",
        &file.display().to_string(),
    ]);
    assert_eq!(std::fs::read_to_string(file).unwrap(), raw);
    let folder = env.home().join("out").display().to_string();
    let saved = env.run(&["export", "--raw", "7142b226", "--output", &folder]);
    assert_eq!(saved.code, Some(0), "{}", saved.shown());
    assert_eq!(
        env.run(&["export", "--raw", "7142b226", "--output", &folder])
            .code,
        Some(2)
    );
}

#[test]
fn nothing_yet() {
    let env = TestEnv::new();
    assert_snapshot!("search_no_store", env.run(&["search", "x"]).shown());
}

#[test]
fn every_command_explains_itself() {
    let env = TestEnv::new();
    assert_snapshot!("help", env.run(&["--help"]).shown());
    for command in [
        "ingest", "watch", "search", "sessions", "show", "resume", "usage", "doctor", "config",
        "redact",
    ] {
        let help = env.run(&[command, "--help"]);
        assert!(
            help.code == Some(0) && help.stdout.contains("Usage: throughline"),
            "{command}"
        );
    }
    for shell in ["bash", "zsh", "fish"] {
        let script = env.run(&["completions", shell]).stdout;
        assert!(
            script.contains("sessions") && script.contains("dry-run"),
            "{shell}"
        );
    }
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let env = TestEnv::with_samples();
    for args in [
        &["show", "4c5420d7", "--full"][..],
        &["show", "4c5420d7", "--json"],
        &["sessions", "--json"],
        &["export"],
    ] {
        assert!(env.run(args).stdout.len() > 1000);
        let mut command = env.command(args);
        command
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            (output.status.code(), said.as_ref()),
            (Some(0), ""),
            "{args:?}"
        );
    }
}
