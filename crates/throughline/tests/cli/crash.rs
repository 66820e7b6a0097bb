//! Interrupted sweeps: killed at any point, stopped by Ctrl-C, and two at the same time.

#![expect(clippy::disallowed_methods, reason = "tests start and kill processes")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use testkit::corpus::{self, Options};

use crate::env::TestEnv;

/// How often a sweep is killed; `THROUGHLINE_KILLS` overrides it.
const KILLS: u32 = 12;

struct Crashing {
    env: TestEnv,
    logs: PathBuf,
}

impl Crashing {
    fn new(sessions: usize) -> Self {
        let env = TestEnv::new();
        let logs = env.home().join("logs");
        corpus::write(
            &Options {
                sessions,
                ..Options::default()
            },
            &logs,
        )
        .unwrap();
        keep_whatever_age(&env.home().join("memory"));
        Self { env, logs }
    }

    fn ingest(&self) -> Command {
        let mut command = self.env.command(&["ingest", "--root"]);
        command
            .arg(&self.logs)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    fn dump(&self) -> String {
        let store = store::Store::open(&self.env.home().join("memory")).unwrap();
        let health = store.health(true).unwrap();
        assert_eq!(
            (health.problems.len(), health.damaged),
            (0, Some(0)),
            "{health:?}"
        );
        store
            .dump()
            .unwrap()
            .replace(&display(self.env.home()), "$HOME")
    }
}

/// Disables removal by age, which depends on the order of sweeps.
pub fn keep_whatever_age(home: &Path) {
    std::fs::create_dir_all(home).unwrap();
    let config = "[retention]\nraw_max_age_days = 0";
    let path = home.join("config.toml");
    std::fs::write(&path, config).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
}

fn display(path: &Path) -> String {
    path.canonicalize().unwrap().display().to_string()
}

#[test]
fn killed_at_any_point_it_ends_the_same() {
    let undisturbed = Crashing::new(40);
    assert!(undisturbed.ingest().status().unwrap().success());
    let expected = undisturbed.dump();

    let crashing = Crashing::new(40);
    let kills = std::env::var("THROUGHLINE_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    for kill in 0..kills {
        let mut child = crashing.ingest().spawn().unwrap();
        std::thread::sleep(Duration::from_millis(3 + u64::from(kill * 37 % 120)));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(crashing.ingest().status().unwrap().success());
    let found = crashing.dump();
    let differing = found.lines().zip(expected.lines()).find(|(a, b)| a != b);
    assert_eq!(differing, None);
    assert_eq!(found.len(), expected.len());
    println!("soak: kill -9 of a sweep | {kills} kills | ends as an undisturbed one does");
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_soon_and_loses_nothing() {
    let crashing = Crashing::new(60);
    let mut child = crashing.ingest().spawn().unwrap();
    std::thread::sleep(Duration::from_millis(30));
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-INT", &pid])
            .status()
            .unwrap()
            .success()
    );
    let code = child.wait().unwrap().code();
    // The sweep may be done already; before the handler is set, a signal kills it.
    assert!(matches!(code, Some(130 | 0) | None), "{code:?}");
    assert!(crashing.ingest().status().unwrap().success());
    let undisturbed = Crashing::new(60);
    assert!(undisturbed.ingest().status().unwrap().success());
    assert_eq!(crashing.dump(), undisturbed.dump());
}

#[test]
fn sweeps_of_many_roots_fill_one_store() {
    let sweeps = if std::env::var("THROUGHLINE_SOAK").is_ok() {
        32
    } else {
        8
    };
    let env = TestEnv::new();
    keep_whatever_age(&env.home().join("memory"));
    let mut children = Vec::new();
    for sweep in 0..sweeps {
        let logs = env.home().join(format!("logs{sweep}"));
        let options = Options {
            sessions: 6,
            seed: sweep,
            ..Options::default()
        };
        corpus::write(&options, &logs).unwrap();
        let mut command = env.command(&["ingest", "--json", "--root"]);
        let command = command.arg(&logs);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        children.push(child.spawn().unwrap());
    }
    let mut records = 0;
    for child in children {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        assert!(!said.contains("locked"), "{said}");
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        records += report["records"].as_u64().unwrap();
    }
    let store = store::Store::open(&env.home().join("memory")).unwrap();
    let health = store.health(true).unwrap();
    assert!(health.is_sound(), "{health:?}");
    assert_eq!(health.records, records);
    println!(
        "soak: sweeps at once | {sweeps} of different logs, {records} records | none dropped, \
         none refused"
    );
}

#[test]
fn sweeps_at_once_do_not_disturb_each_other() {
    let crowded = Crashing::new(20);
    let children: Vec<_> = (0..6)
        .map(|_| crowded.ingest().stderr(Stdio::piped()).spawn().unwrap())
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{:?}: {said}", output.status);
    }
    let alone = Crashing::new(20);
    assert!(alone.ingest().status().unwrap().success());
    assert_eq!(crowded.dump(), alone.dump());
}
