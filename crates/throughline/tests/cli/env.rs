//! The environment of one test: its own home, a fixed clock, no colors, no network.

#![expect(clippy::disallowed_methods, reason = "tests start the binary")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testkit::model_server::ModelServer;

pub struct TestEnv {
    dir: tempfile::TempDir,
}

/// The output and the exit code of a command.
pub struct CommandOutput {
    pub stdout: String,
    pub stderr: String,
    pub code: Option<i32>,
}

impl TestEnv {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let memory = dir.path().join("memory");
        std::fs::create_dir_all(&memory).unwrap();
        std::fs::write(memory.join("redaction.key"), [7; 32]).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path, mode: u32| {
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
            };
            mode(&memory, 0o700);
            mode(&memory.join("redaction.key"), 0o600);
        }
        Self { dir }
    }

    /// An environment into which the sample sessions are ingested.
    pub fn with_samples() -> Self {
        let env = Self::new();
        env.run(&["ingest", "--root", &samples().display().to_string()]);
        env
    }

    pub fn home(&self) -> &Path {
        self.dir.path()
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .args(args)
            .env_clear()
            .env("HOME", self.home())
            .env("THROUGHLINE_HOME", self.home().join("memory"))
            .env("THROUGHLINE_NOW", "2026-11-16T09:00:00Z")
            // Tests of the daemon start it themselves.
            .env("THROUGHLINE_DAEMON", "off")
            .env("TZ", "UTC");
        command
    }

    pub fn run(&self, args: &[&str]) -> CommandOutput {
        self.run_with(args, b"")
    }

    pub fn run_with(&self, args: &[&str], input: &[u8]) -> CommandOutput {
        use std::io::Write;
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let feeding = std::thread::spawn(move || stdin.write_all(&input));
        let output = child.wait_with_output().unwrap();
        // The write fails if the command does not read its input.
        let _unread = feeding.join().unwrap();
        CommandOutput {
            stdout: self.mask_paths(&output.stdout),
            stderr: self.mask_paths(&output.stderr),
            code: output.status.code(),
        }
    }

    /// Configures a model on loopback, with more lines for its section.
    pub fn configure_model(&self, server: &ModelServer, more: &str) {
        let config = format!(
            "[model]\nprovider = \"anthropic\"\nbase_url = \"{}\"\nmodel = \"claude-haiku-4-5\"\n\
             key_env = \"TEST_KEY\"\n{more}\n",
            server.url()
        );
        std::fs::write(self.home().join("memory/config.toml"), config).unwrap();
    }

    /// Runs a command with the API key of the configured model.
    pub fn run_with_key(&self, args: &[&str], key: &str) -> CommandOutput {
        let output = self.command(args).env("TEST_KEY", key).output().unwrap();
        CommandOutput {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            code: output.status.code(),
        }
    }

    /// Masks paths that differ between machines.
    pub fn mask_paths(&self, bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes)
            .replace(&self.home().display().to_string(), "$HOME")
            .replace(&repository().display().to_string(), "$REPO")
    }
}

impl CommandOutput {
    /// Returns everything that a user would see.
    pub fn shown(&self) -> String {
        format!(
            "{}{}[{}]",
            self.stdout,
            self.stderr,
            self.code.unwrap_or(-1)
        )
    }
}

/// Returns the program under test: the one that Cargo built, or that of the environment variable.
fn program() -> PathBuf {
    std::env::var_os("THROUGHLINE_TEST_PROGRAM").map_or_else(
        || PathBuf::from(env!("CARGO_BIN_EXE_throughline")),
        PathBuf::from,
    )
}

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

pub fn samples() -> PathBuf {
    repository().join("samples")
}
