//! Faults of the machine: a full disk, a disk that refuses, folders that cannot be written, clocks
//! that jump, files copied while they change, damaged stores. The store stays whole, and a run
//! without the fault ends where an undisturbed one does.
//!
//! The tests are short; `tools/soak` runs them for a long time.

#![expect(
    clippy::disallowed_methods,
    reason = "tests start processes; longer runs are asked for by the environment and tell of it"
)]

mod copied;
mod damaged;
pub mod disk;
mod limits;
pub mod readonly;
mod signals;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testkit::corpus::{self, Options};

use crate::crash::keep_whatever_age;
use crate::env::TestEnv;

/// A home folder with logs to ingest.
pub struct Machine {
    pub env: TestEnv,
    pub logs: PathBuf,
}

impl Machine {
    pub fn new(sessions: usize) -> Self {
        let env = TestEnv::new();
        let logs = env.home().join("logs");
        let options = Options {
            sessions,
            ..Options::default()
        };
        corpus::write(&options, &logs).unwrap();
        keep_whatever_age(&env.home().join("memory"));
        Self { env, logs }
    }

    pub fn store(&self) -> PathBuf {
        self.env.home().join("memory")
    }

    pub fn ingest(&self) -> Command {
        let mut command = self.env.command(&["ingest", "--root"]);
        command.arg(&self.logs);
        command
    }

    pub fn run_ingest(&self) {
        let status = self.ingest().stderr(Stdio::null()).status().unwrap();
        assert!(status.success(), "{status}");
    }

    pub fn dump(&self) -> String {
        self.dump_of(&self.store())
    }

    /// Checks a store and returns its content, without what differs between machines.
    pub fn dump_of(&self, folder: &Path) -> String {
        let store = store::Store::open(folder).unwrap();
        let health = store.health(true).unwrap();
        assert!(health.is_sound(), "{health:?}");
        let home = self.env.home().canonicalize().unwrap();
        let dump = store.dump().unwrap();
        dump.replace(&home.display().to_string(), "$HOME")
    }
}

/// The result of an undisturbed sweep.
pub fn undisturbed(sessions: usize) -> String {
    let machine = Machine::new(sessions);
    machine.run_ingest();
    machine.dump()
}

/// Runs a command and returns its exit code and its messages.
pub fn outcome(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), said)
}

/// Returns whether the long form of a test was requested.
pub fn soaking() -> bool {
    std::env::var("THROUGHLINE_SOAK").is_ok()
}

/// Wraps a command in a shell that runs `before` first.
#[cfg(unix)]
pub fn in_shell(before: &str, command: &Command) -> Command {
    let mut shell = Command::new("bash");
    shell
        .arg("-c")
        .arg(format!("{before}; exec \"$@\""))
        .arg("bash")
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            shell.env(name, value);
        }
    }
    shell.env("PATH", "/usr/bin:/bin");
    shell
}
