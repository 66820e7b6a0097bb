//! Backups, restoring, and encrypted stores.

#![allow(clippy::disallowed_methods, reason = "a test asks how often to kill")]

use insta::assert_snapshot;

use crate::env::{CommandOutput, TestEnv};

/// Replaces sizes, which differ between builds of SQLite.
fn shown(ran: &CommandOutput) -> String {
    let text = ran.shown();
    let Some((before, rest)) = text.split_once(" (") else {
        return text;
    };
    let (_, after) = rest.split_once(')').unwrap();
    format!("{before} (SIZE){after}")
}

#[test]
fn a_backup_is_restored_here_and_elsewhere() {
    let env = TestEnv::with_samples();
    let file = env.home().join("memory.backup").display().to_string();
    assert_snapshot!("backup", shown(&env.run(&["backup", &file])));
    assert_snapshot!("backup_exists", shown(&env.run(&["backup", &file])));
    assert_eq!(
        env.run(&["backup", &file, "--force", "--json"]).code,
        Some(0)
    );
    assert_snapshot!("restore", env.run(&["restore", &file]).shown());
    let export = |env: &TestEnv| env.run(&["sessions", "--json"]).stdout;
    let elsewhere = TestEnv::new();
    let restored = elsewhere.run(&["restore", &file, "--json"]);
    assert_eq!(restored.code, Some(0), "{}", restored.shown());
    assert_eq!(export(&elsewhere), export(&env));
    let again = elsewhere.run(&["restore", "/nowhere/memory.backup"]);
    assert_eq!(again.code, Some(2), "{}", again.shown());
    assert_eq!(TestEnv::new().run(&["backup", &file]).code, Some(2));
}

#[cfg(not(feature = "encryption"))]
#[test]
fn a_build_without_encryption_says_so() {
    let env = TestEnv::with_samples();
    assert_snapshot!("encrypt_not_built", env.run(&["encrypt"]).shown());
    for command in ["decrypt", "rekey"] {
        let ran = env.run(&[command]);
        assert_eq!(ran.code, Some(0), "{}", ran.shown());
        assert!(
            ran.stderr.contains("The store is not encrypted."),
            "{}",
            ran.shown()
        );
    }
    assert_eq!(env.run(&["search", "threshold"]).code, Some(0));
    let database = env.home().join("memory/throughline.db");
    let sealed = [b"thrlseal12345678".as_slice(), &[7; 8176]].concat();
    std::fs::write(&database, &sealed).unwrap();
    assert_snapshot!("open_not_built", env.run(&["search", "x"]).shown());
    assert!(std::fs::read(&database).unwrap() == sealed);
}

#[cfg(all(unix, feature = "encryption"))]
mod encrypted {
    use super::*;
    use std::path::PathBuf;

    /// Writes a fixed key, so that its id is always the same.
    fn key(env: &TestEnv, name: &str, byte: &str) -> String {
        use std::os::unix::fs::PermissionsExt;
        let path = env.home().join(name);
        std::fs::write(&path, byte.repeat(32)).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        path.display().to_string()
    }

    fn database(env: &TestEnv) -> PathBuf {
        env.home().join("memory/throughline.db")
    }

    /// Runs `watch` until it has run the stages once.
    fn watch_once(env: &TestEnv) {
        use std::io::{BufRead, BufReader};
        let mut child = env
            .command(&["watch"])
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stderr.take().unwrap());
        let mut lines = said.lines().map(Result::unwrap);
        let digested = lines.any(|line| line.starts_with("Digested "));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(digested);
    }

    #[test]
    fn no_summary_lies_in_plain_text_beside_an_encrypted_store() {
        let notes = |env: &TestEnv| {
            let files = testkit::files_below(&env.home().join("memory"));
            files
                .iter()
                .filter(|file| file.ends_with("summary.md"))
                .count()
        };
        let env = TestEnv::new();
        crate::stages::live_log(&env, 8);
        assert_eq!(env.run(&["ingest"]).code, Some(0));
        assert_eq!(notes(&env), 1, "a store in plain text has them");
        let sealed = TestEnv::with_samples();
        let first = key(&sealed, "a.key", "0a");
        assert_eq!(notes(&sealed), 1, "one session of the samples is live");
        assert_eq!(sealed.run(&["encrypt", "--key-file", &first]).code, Some(0));
        assert_eq!(notes(&sealed), 0, "what lay there is removed");
        crate::stages::live_log(&sealed, 8);
        let report = sealed.run(&["ingest", "--json"]);
        assert_eq!(report.code, Some(0), "{}", report.shown());
        assert_eq!(notes(&sealed), 0);
        crate::stages::live_log(&sealed, 16);
        watch_once(&sealed);
        assert_eq!(notes(&sealed), 0);
        let by_hand = sealed.run(&["summarize", "7a1c0e55", "--embedded"]);
        assert_eq!(by_hand.code, Some(2), "{}", by_hand.shown());
        assert!(
            by_hand.stderr.contains("hint: use --dry-run"),
            "{}",
            by_hand.shown()
        );
        assert_eq!(notes(&sealed), 0);
    }

    #[test]
    fn the_life_of_an_encrypted_store() {
        let env = TestEnv::with_samples();
        let (first, second) = (key(&env, "a.key", "0a"), key(&env, "b.key", "0b"));
        let found = env.run(&["search", "threshold", "--json"]).stdout;
        assert_eq!(env.run(&["key"]).code, Some(1));
        assert_snapshot!(
            "encrypt",
            env.run(&["encrypt", "--key-file", &first]).shown()
        );
        assert_snapshot!("encrypt_again", env.run(&["encrypt"]).shown());
        assert_eq!(env.run(&["search", "threshold", "--json"]).stdout, found);
        assert_snapshot!("key", env.run(&["key"]).shown());
        let doctor = env.run(&["doctor"]).stdout;
        assert!(doctor.contains("encrypted with key"), "{doctor}");
        let ingested = env.run(&["ingest"]);
        assert_eq!(ingested.code, Some(0), "{}", ingested.shown());

        let copy = env.home().join("copy.key").display().to_string();
        assert_snapshot!("key_copy", env.run(&["key", "--copy-to", &copy]).shown());
        let file = env.home().join("memory.backup").display().to_string();
        assert_snapshot!("backup_encrypted", shown(&env.run(&["backup", &file])));
        let elsewhere = TestEnv::new();
        let unopened = elsewhere.run(&["restore", &file]);
        assert_eq!(unopened.code, Some(2), "{}", unopened.shown());
        let restored = elsewhere.run(&["restore", &file, "--key-file", &copy]);
        assert_eq!(restored.code, Some(0), "{}", restored.shown());
        assert_eq!(
            elsewhere.run(&["search", "threshold", "--json"]).stdout,
            found
        );

        assert_snapshot!("rekey", env.run(&["rekey", "--key-file", &second]).shown());
        assert_eq!(env.run(&["search", "threshold", "--json"]).stdout, found);
        assert_snapshot!("decrypt", env.run(&["decrypt"]).shown());
        assert_eq!(env.run(&["search", "threshold", "--json"]).stdout, found);
        assert_eq!(env.run(&["key"]).code, Some(1));
    }

    #[test]
    fn a_key_that_is_wrong_or_lost_is_named() {
        let env = TestEnv::with_samples();
        let first = key(&env, "a.key", "0a");
        env.run(&["encrypt", "--key-file", &first]);
        let before = std::fs::read(database(&env)).unwrap();
        key(&env, "a.key", "0c");
        assert_snapshot!("key_wrong", env.run(&["search", "threshold"]).shown());
        std::fs::remove_file(env.home().join("memory/seal.json")).unwrap();
        let other = key(&env, "other.key", "0c");
        assert_eq!(env.run(&["key", "--take-from", &other]).code, Some(2));
        assert!(std::fs::read(database(&env)).unwrap() == before);
        let back = key(&env, "back.key", "0a");
        let taken = env.run(&["key", "--take-from", &back]);
        assert_eq!(taken.code, Some(0), "{}", taken.shown());
        assert_eq!(env.run(&["search", "threshold"]).code, Some(0));
    }

    #[test]
    fn a_machine_without_a_keychain_is_told_what_to_do() {
        let env = TestEnv::with_samples();
        let ran = env.run(&["encrypt"]);
        assert_eq!(ran.code, Some(2), "{}", ran.shown());
        assert!(
            ran.stderr.contains("keychain cannot be used"),
            "{}",
            ran.shown()
        );
        assert!(ran.stderr.contains("hint: ") && ran.stderr.contains("--key-file"));
        let plain = std::fs::read(database(&env)).unwrap();
        assert!(plain.starts_with(b"SQLite format 3"));
    }

    #[test]
    fn a_store_in_use_is_not_exchanged() {
        let env = TestEnv::with_samples();
        let first = key(&env, "a.key", "0a");
        let store = store::Store::open(&env.home().join("memory")).unwrap();
        assert_snapshot!(
            "encrypt_in_use",
            env.run(&["encrypt", "--key-file", &first]).shown()
        );
        drop(store);
        assert_eq!(env.run(&["encrypt", "--key-file", &first]).code, Some(0));
    }

    /// How often a conversion is killed; `THROUGHLINE_KILLS` overrides it.
    const KILLS: u64 = 8;

    #[test]
    fn killed_at_any_moment_the_store_is_readable() {
        use std::process::Stdio;
        let env = TestEnv::with_samples();
        let first = key(&env, "a.key", "0a");
        let found = env.run(&["search", "threshold", "--json"]).stdout;
        let kills =
            std::env::var("THROUGHLINE_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
        for kill in 0..kills {
            let sealed = !std::fs::read(database(&env))
                .unwrap()
                .starts_with(b"SQLite");
            let encrypt = ["encrypt", "--key-file", &first];
            let mut command = env.command(if sealed { &["decrypt"] } else { &encrypt });
            let mut child = command.stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(2 + kill * 37 % 150));
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(env.run(&["search", "threshold", "--json"]).stdout, found);
            assert_eq!(env.run(&["doctor", "--deep"]).code, Some(0));
        }
    }
}
