//! Workspaces: which sessions belong together, and how they are named.

use crate::env::TestEnv;

/// Writes a log of Claude Code in which the user says one thing in a folder.
fn write_log(env: &TestEnv, number: u32, cwd: &str, prompt: &str) {
    let session = format!("00000000-0000-4000-8000-{number:012}");
    let project = env.home().join(format!(".claude/projects/p{number}"));
    std::fs::create_dir_all(&project).unwrap();
    let line = serde_json::json!({
        "parentUuid": null, "isSidechain": false, "userType": "external", "cwd": cwd,
        "sessionId": session, "version": "2.1.0", "type": "user", "uuid": format!("u{number}"),
        "message": {"role": "user", "content": prompt},
        "timestamp": "2026-11-15T10:00:00.000Z",
    });
    std::fs::write(
        project.join(format!("{session}.jsonl")),
        format!("{line}\n"),
    )
    .unwrap();
}

fn workspaces(env: &TestEnv) -> Vec<String> {
    let ran = env.run(&["sessions", "--json"]);
    let sessions = ran.stdout.lines();
    let mut names: Vec<_> = sessions
        .flat_map(|line| {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            let rows = value.as_array().cloned().unwrap_or_else(|| vec![value]);
            rows.into_iter().map(|row| row["workspace"].to_string())
        })
        .collect();
    names.sort();
    names
}

#[test]
fn logs_of_other_machines_do_not_join_the_repository_of_the_sweep() {
    let env = TestEnv::new();
    let repository = env.home().join("widgets");
    std::fs::create_dir_all(repository.join(".git")).unwrap();
    let config = "[remote \"origin\"]\n\turl = https://github.com/acme/widgets.git\n";
    std::fs::write(repository.join(".git/config"), config).unwrap();
    write_log(
        &env,
        1,
        "D:\\oh-my-posh",
        "why did goreleaser refuse the tree",
    );
    write_log(&env, 2, "some/relative", "rename the parser");
    write_log(&env, 3, "", "a log without a folder");
    let ran = env
        .command(&["ingest"])
        .current_dir(&repository)
        .output()
        .unwrap();
    assert!(ran.status.success());
    let named = workspaces(&env).join(" ");
    assert!(!named.contains("widgets"), "{named}");
    assert!(named.contains("D:/oh-my-posh"), "{named}");
    assert!(named.contains("some/relative"), "{named}");
    assert!(!named.contains("\"\""), "{named}");
}

#[test]
fn a_workspace_is_known_by_its_name() {
    let env = TestEnv::new();
    write_log(&env, 1, "/src/proj", "We decided that the port is 8123.");
    write_log(&env, 2, "/src/project-two", "rename the parser");
    write_log(&env, 3, "/src/other/proj-three", "write a haiku");
    env.run(&["ingest"]);
    let ran = env.run(&["context", "which port is it?", "--workspace", "proj"]);
    assert!(!ran.stderr.contains("several workspaces"), "{}", ran.stderr);
    let ran = env.run(&["context", "which port is it?", "--workspace", "pro"]);
    assert!(ran.stderr.contains("several workspaces"), "{}", ran.stderr);
}

#[test]
fn aider_is_found_in_the_workspaces_of_other_agents() {
    let env = TestEnv::new();
    let project = env.home().join("src/orders");
    std::fs::create_dir_all(&project).unwrap();
    let log = env
        .home()
        .join(".claude/projects/-src-orders/5f1c0f3e.jsonl");
    std::fs::create_dir_all(log.parent().unwrap()).unwrap();
    let prompt = serde_json::json!({
        "type": "user", "uuid": "u1", "sessionId": "5f1c0f3e", "cwd": project,
        "timestamp": "2026-11-16T08:00:00.000Z",
        "message": {"role": "user", "content": "List the modules of the orders service."},
    });
    std::fs::write(log, format!("{prompt}\n")).unwrap();
    let history = "\n# aider chat started at 2026-11-16 08:30:00\n\n\
        #### rename the flamingo handler  \n\nRenamed it.\n";
    std::fs::write(project.join(".aider.chat.history.md"), history).unwrap();
    let ran = env.run(&["ingest"]);
    assert!(ran.stderr.contains("Logs: 2 found"), "{}", ran.shown());
    let found = env.run(&["search", "flamingo", "--agent", "aider"]);
    assert_eq!(found.code, Some(0), "{}", found.shown());
}
