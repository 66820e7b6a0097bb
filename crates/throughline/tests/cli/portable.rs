//! Export and import as people run them.

use insta::assert_snapshot;

use crate::env::TestEnv;

#[test]
fn memory_moves_to_another_machine() {
    let env = TestEnv::with_samples();
    let file = env.home().join("memory.jsonl").display().to_string();
    let wrote = env.run(&["export", "--output", &file]);
    assert_snapshot!("export", wrote.shown());
    let mode = {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(&file).unwrap().permissions().mode()
    };
    assert_eq!(mode & 0o777, 0o600);
    assert_snapshot!("export_exists", env.run(&["export", "-o", &file]).shown());

    let other = TestEnv::new();
    assert_snapshot!("import", other.run(&["import", &file]).shown());
    assert_snapshot!("import_again", other.run(&["import", &file]).shown());
    let text = std::fs::read(&file).unwrap();
    assert!(exported(&other) == text);
    let third = TestEnv::new();
    third.run_with(&["import", "-"], &text);
    assert!(exported(&third) == text);
}

#[test]
fn another_file_is_no_export() {
    let env = TestEnv::new();
    let ran = env.run_with(&["import", "-"], b"{\"type\":\"user\"}\n");
    assert_snapshot!("import_refused", ran.shown());
    assert_snapshot!(
        "import_missing",
        env.run(&["import", "/nowhere.jsonl"]).shown()
    );
}

#[test]
fn one_session_goes_out() {
    let env = TestEnv::with_samples();
    let only = env.run(&["export", "--session", "7142b226", "--without-logs"]);
    assert_eq!(only.code, Some(0), "{}", only.stderr);
    let sessions = only
        .stdout
        .lines()
        .filter(|line| line.contains("\"memory\":\"session\""));
    assert_eq!(sessions.count(), 1, "{}", only.stdout);
    assert!(!only.stdout.contains("\"memory\":\"log\""));
    let none = env.run(&["export", "--workspace", "no such place"]);
    assert_eq!(none.code, Some(1), "{}", none.stderr);
}

/// Returns an export byte for byte.
fn exported(env: &TestEnv) -> Vec<u8> {
    let file = env.home().join("again.jsonl");
    env.run(&["export", "--output", &file.display().to_string()]);
    std::fs::read(file).unwrap()
}
