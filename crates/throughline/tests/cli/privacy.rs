//! Data that must not be stored or shown: withheld files, denied workspaces.

use serde_json::{Value, json};

use crate::env::{CommandOutput, TestEnv};

const SESSION: &str = "11111111-1111-4111-8111-111111111111";
const TOKEN: &str = "ghp_a8Jk3LmN0pQr5StU7vWx9Yz1Bc2De4Fg6HiJ";

fn entry(role: &str, uuid: &str, cwd: &str, content: &Value) -> String {
    let entry = json!({
        "type": role, "uuid": uuid, "parentUuid": null, "sessionId": SESSION,
        "timestamp": "2026-11-15T09:00:00.000Z", "cwd": cwd, "version": "2.1.98",
        "message": {"role": role, "content": content},
    });
    format!("{entry}\n")
}

fn call(n: usize, cwd: &str, tool: &str, input: &Value, output: &str) -> String {
    let id = format!("toolu_{n}");
    let call = json!([{"type": "tool_use", "id": id, "name": tool, "input": input}]);
    let result = json!([{"type": "tool_result", "tool_use_id": id, "content": output}]);
    entry("assistant", &format!("a{n}"), cwd, &call)
        + &entry("user", &format!("r{n}"), cwd, &result)
}

/// A log whose first calls show withheld files, long enough to be compacted.
fn log(cwd: &str) -> String {
    let read =
        |n, path: &str, text: &str| call(n, cwd, "Read", &json!({ "file_path": path }), text);
    let mut log = entry("user", "p", cwd, &json!("look into the settings please"));
    log += &read(1, &format!("{cwd}/.env"), "     1→FOO=qzenv7wvxk");
    log += &read(
        2,
        "/elsewhere/notes.txt",
        "     1→qzoutside7wvxk stands here",
    );
    log += &read(
        3,
        &format!("{cwd}/src/a.rs"),
        &format!("     1→qzkept7wvxk {TOKEN}"),
    );
    log += &call(
        4,
        cwd,
        "Bash",
        &json!({ "command": "cat .env" }),
        "BAR=qzcat7wvxk",
    );
    for n in 10..80 {
        let text = format!("step {n}: ") + &"the work goes on and on ".repeat(160);
        log += &entry("assistant", &format!("t{n}"), cwd, &json!(text));
    }
    log
}

fn machine(cwd: &str) -> (TestEnv, String) {
    let env = TestEnv::new();
    let folder = env.home().join("logs/projects/-p");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{SESSION}.jsonl"));
    std::fs::write(&path, log(cwd)).unwrap();
    (env, path.display().to_string())
}

fn ingest(env: &TestEnv) -> CommandOutput {
    let root = env.home().join("logs").display().to_string();
    let ran = env.run(&["ingest", "--root", &root]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    ran
}

#[track_caller]
fn check(ran: &CommandOutput, gone: &[&str], stays: &[&str]) {
    for word in gone {
        assert!(!ran.stdout.contains(word), "{word} in {}", ran.stdout);
    }
    for word in stays {
        assert!(ran.stdout.contains(word), "{word} not in {}", ran.stdout);
    }
}

#[test]
fn exports_show_no_withheld_file() {
    let (env, _) = machine("/nowhere/proj");
    ingest(&env);
    let gone = ["qzenv7wvxk", "qzoutside7wvxk", "qzcat7wvxk", TOKEN];
    for args in [
        &["export"][..],
        &["export", "--raw", SESSION],
        &["show", SESSION, "--json"],
    ] {
        check(&env.run(args), &gone, &["qzkept7wvxk", "[not kept: "]);
    }
    // An export of an older version is filtered in the same way.
    let export = env.run(&["export"]).stdout;
    let leaky = export.replace(
        "[not kept: a file that holds credentials, 23 bytes]",
        "FOO=qzenv7wvxk",
    );
    assert!(leaky.contains("qzenv7wvxk"));
    let other = TestEnv::new();
    let ran = other.run_with(&["import", "-"], leaky.as_bytes());
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    check(&other.run(&["export"]), &["qzenv7wvxk"], &["qzkept7wvxk"]);
}

#[test]
fn compactions_restore_no_withheld_file() {
    let (env, log) = machine("/nowhere/proj");
    let ran = env.run(&["compact", &log, "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.shown());
    let value: Value = serde_json::from_str(&ran.stdout).unwrap();
    let made = format!("{} {}", value["summary"], value["restored"]);
    for word in ["qzenv7wvxk", "qzoutside7wvxk", "qzcat7wvxk", TOKEN] {
        assert!(!made.contains(word), "{word} in {made}");
    }
    assert!(
        made.contains("qzkept7wvxk") && made.contains("[redacted:github"),
        "{made}"
    );
}

#[test]
fn a_denied_workspace_is_neither_read_nor_imported_nor_stated() {
    let (env, _) = machine("/nowhere/hushhush");
    ingest(&env);
    let export = env.run(&["export"]).stdout;
    let config = env.home().join("deny.toml");
    std::fs::write(&config, "[capture]\ndeny = [\"hushhush\"]\n").unwrap();
    let config = config.display().to_string();
    let other = TestEnv::new();
    let folder = other.home().join("logs/projects/-p");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join(format!("{SESSION}.jsonl")),
        log("/nowhere/hushhush"),
    )
    .unwrap();
    let root = other.home().join("logs").display().to_string();
    let run = |args: &[&str], input: &[u8]| {
        let args: Vec<&str> = ["--config", &config].iter().chain(args).copied().collect();
        other.run_with(&args, input)
    };
    assert_eq!(run(&["ingest", "--root", &root], b"").code, Some(0));
    let imported = run(&["import", "-", "--json"], export.as_bytes());
    let imported: Value = serde_json::from_str(&imported.stdout).unwrap();
    assert_eq!(imported["records"], 0, "{imported}");
    let stated = run(
        &[
            "remember", "the tide turns", "--workspace", "/nowhere/hushhush",
        ],
        b"",
    );
    assert_ne!(stated.code, Some(0), "{}", stated.shown());
    check(
        &run(&["export"], b""),
        &["hushhush", SESSION, "qzkept7wvxk"],
        &[],
    );
    // Sessions that were captured before can be found and forgotten.
    let args = [
        "--config", &config, "forget", "--workspace", "hushhush", "--yes",
    ];
    let forgotten = env.run(&args);
    assert_eq!(forgotten.code, Some(0), "{}", forgotten.shown());
    check(&env.run(&["export"]), &["hushhush", "qzkept7wvxk"], &[]);
}
