//! `throughline resume`, with and without --exec.

use insta::assert_snapshot;

use crate::env::TestEnv;

const PARENT: &str = "11111111-2222-4333-8444-555555555555";

#[test]
fn every_agent_is_resumed_its_own_way() {
    let env = TestEnv::with_samples();
    for (name, id) in [
        ("claude", "4c5420d7"),
        ("codex", "01a1e083-8989"),
        ("grok", "01a1e07c"),
    ] {
        assert_snapshot!(format!("resume_{name}"), env.run(&["resume", id]).shown());
    }
    let ran = env.run(&["resume", "codex:01a1e083-8989", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json["agent"], "codex");
    assert_eq!(json["folder"], "/home/dev/proj");
    assert_eq!(json["command"][1], "resume");
    assert_eq!(
        json["shell"].as_str(),
        env.run(&["resume", "01a1e083-8989"])
            .stdout
            .strip_suffix('\n')
    );
}

#[test]
fn resume_with_wrong_input() {
    let env = TestEnv::with_samples();
    assert_snapshot!("resume_unknown", env.run(&["resume", "nope"]).shown());
    assert_snapshot!("resume_ambiguous", env.run(&["resume", "01a1e083"]).shown());
    assert_snapshot!(
        "resume_exec_json",
        env.run(&["resume", "4c5420d7", "--exec", "--json"]).shown()
    );
}

#[test]
fn a_subagent_is_resumed_through_its_parent() {
    let env = with_session("p");
    let ran = env.run(&["resume", &format!("{PARENT}/agent-a1")]);
    assert_snapshot!("resume_subagent", ran.shown());
}

#[cfg(unix)]
#[test]
fn exec_becomes_the_agent_in_its_folder() {
    use std::os::unix::fs::PermissionsExt;
    let env = with_session("it's $HOME");
    let folder = env.home().join("it's $HOME");
    let missing = env.run(&["resume", PARENT, "--exec"]);
    assert_snapshot!("resume_no_folder", missing.shown());

    std::fs::create_dir(&folder).unwrap();
    let bin = env.home().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let run = |args: &[&str]| {
        let output = env.command(args).env("PATH", &bin).output().unwrap();
        let text = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes).replace(&env.home().display().to_string(), "$HOME")
        };
        format!(
            "{}{}[{}]",
            text(&output.stdout),
            text(&output.stderr),
            output.status.code().unwrap_or(-1)
        )
    };
    assert_snapshot!("resume_no_program", run(&["resume", PARENT, "--exec"]));

    let program = bin.join("claude");
    std::fs::write(&program, "#!/bin/sh\npwd\necho \"$#: $*\"\nexit 7\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_snapshot!("resume_exec", run(&["resume", PARENT, "--exec"]));
}

/// A home folder with one session in a folder of that name, and a session of its subagent.
fn with_session(folder: &str) -> TestEnv {
    let env = TestEnv::new();
    let line = |id: &str, sidechain: bool| {
        serde_json::json!({
            "type": "user", "uuid": id, "sessionId": PARENT, "isSidechain": sidechain,
            "cwd": env.home().join(folder), "timestamp": "2026-11-14T10:00:00Z",
            "message": {"role": "user", "content": "Go on."},
        })
        .to_string()
            + "\n"
    };
    let logs = env.home().join("logs/projects/-p");
    let subagents = logs.join(PARENT).join("subagents");
    std::fs::create_dir_all(&subagents).unwrap();
    std::fs::write(logs.join(format!("{PARENT}.jsonl")), line("u1", false)).unwrap();
    std::fs::write(subagents.join("agent-a1.jsonl"), line("u2", true)).unwrap();
    let root = env.home().join("logs").display().to_string();
    env.run(&["ingest", "--root", &root]);
    env
}
