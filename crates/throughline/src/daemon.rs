//! Starts and stops the daemon. The daemon is this program, run again with `serve --background`.

#![expect(clippy::disallowed_methods, reason = "the binary may start processes")]

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use capture::adapter::ENV_VARIABLES;
use serde::Serialize;
use serve::client;
use serve::daemon::{self, DaemonInfo};

use crate::commands::App;
use crate::config::ModelEnvironment;

/// How long the daemon may take to answer a request, to start and to stop.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
const START_TIMEOUT: Duration = Duration::from_secs(20);
const STOP_TIMEOUT: Duration = Duration::from_secs(20);
/// How often the state is checked while waiting.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// A larger log is truncated when a daemon starts.
const LOG_BYTES_MAX: u64 = 1 << 20;
/// The variables that a daemon in the background inherits. It outlives the agent that started it
/// and serves all agents, so it must not keep anything else of that agent's environment, such as
/// API keys.
const INHERITED_VARIABLES: &[&str] = &[
    "HOME", "USER", "LOGNAME", "PATH", "SHELL", "TMPDIR", "TZ", "LANG", "NO_COLOR",
    "RUST_BACKTRACE", // The keychain needs these.
    "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY",
];
const INHERITED_PREFIXES: &[&str] = &["LC_", "XDG_", "THROUGHLINE_"];
/// Variables that the connection to a configured model needs.
const MODEL_VARIABLES: &[&str] = &[
    "http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
    "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR",
];
/// Settings of one agent's environment, which must not apply to all agents.
const EXCLUDED_VARIABLES: &[&str] = &[
    "THROUGHLINE_INJECTION", "THROUGHLINE_HOOK_DEADLINE_MS", "THROUGHLINE_INSIDE", "LISTEN_FDS",
    "LISTEN_PID", "LISTEN_FDNAMES",
];

/// The result of starting the daemon.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DaemonStart {
    /// It is running, whether or not it was running before.
    Started,
    /// The user asked for no daemon.
    Absent,
    Failed(String),
}

/// Starts the daemon in the background unless it is running, and waits until it answers.
pub(crate) fn start(app: &App<'_>, port: Option<u16>) -> anyhow::Result<DaemonInfo> {
    let health = || client::send_request(&app.home, "GET", "/health", ANSWER_TIMEOUT);
    if let Some(running) = daemon::running_daemon(&app.home) {
        // A daemon that hangs, or was stopped with SIGSTOP, still holds its lock.
        health().map_err(|error| {
            crate::output::error_with_hint(
                format!(
                    "the daemon (process {}) does not answer: {error}",
                    running.pid
                ),
                format!(
                    "kill it with `kill -KILL {}` and run this command again",
                    running.pid
                ),
            )
        })?;
    } else {
        spawn(&app.home, &app.config_path, port).map_err(|error| {
            crate::output::error_with_hint(
                format!("cannot start the daemon in {}: {error}", app.home.display()),
                "check the owner and the permissions of the folder",
            )
        })?;
        // The socket answers slightly before `daemon.json` is written.
        let answers = || health().is_ok() && daemon::running_daemon(&app.home).is_some();
        if !wait_until(START_TIMEOUT, answers) {
            return Err(crate::output::error_with_hint(
                "the daemon did not start",
                format!("see {}", log_path(&app.home).display()),
            ));
        }
    }
    daemon::running_daemon(&app.home)
        .ok_or_else(|| anyhow::anyhow!("the daemon exited right after it started"))
}

/// Starts the daemon in the background, detached from this terminal. Its messages go to
/// `daemon.log`.
pub(crate) fn spawn(home: &Path, config: &Path, port: Option<u16>) -> io::Result<()> {
    std::fs::create_dir_all(home)?;
    let log = open_log(home)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--home").arg(home);
    if config.exists() {
        // The daemon works in the data folder, where a relative path would name another file.
        command.arg("--config").arg(std::path::absolute(config)?);
    }
    command.args(["serve", "--background"]);
    if let Some(port) = port {
        command.arg("--port").arg(port.to_string());
    }
    let model = ModelEnvironment::load(config);
    command.env_clear();
    command.envs(std::env::vars_os().filter(|(name, _)| is_inherited(name, &model)));
    // An agent kills the process group of its hooks; the daemon must survive that.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
        .current_dir(home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()?;
    Ok(())
}

/// Returns whether the daemon inherits a variable of this process.
fn is_inherited(name: &OsStr, model: &ModelEnvironment) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    if EXCLUDED_VARIABLES.contains(&name) {
        return false;
    }
    // The user configured an agent's program as the model, and it needs that agent's environment.
    model.is_program
        || INHERITED_VARIABLES.contains(&name)
        || ENV_VARIABLES.contains(&name)
        || INHERITED_PREFIXES
            .iter()
            .any(|start| name.starts_with(start))
        || model.is_used && (MODEL_VARIABLES.contains(&name) || model.key_variable == name)
}

fn open_log(home: &Path) -> io::Result<File> {
    let path = log_path(home);
    if path.is_symlink() {
        let message = format!("{} is a symbolic link; remove it", path.display());
        return Err(io::Error::other(message));
    }
    let is_long = path.metadata().is_ok_and(|log| log.len() > LOG_BYTES_MAX);
    let mut options = OpenOptions::new();
    options.create(true).append(!is_long);
    options.write(true).truncate(is_long);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn log_path(home: &Path) -> PathBuf {
    home.join("daemon.log")
}

/// Why the daemon could not be stopped.
#[derive(Debug)]
pub(crate) enum DaemonStopError {
    NoAnswer(io::Error),
    Timeout,
}

/// Stops the running daemon and waits until it has exited.
pub(crate) fn stop(home: &Path) -> Result<(), DaemonStopError> {
    client::send_request(home, "POST", "/daemon/stop", ANSWER_TIMEOUT)
        .map_err(DaemonStopError::NoAnswer)?;
    if wait_until(STOP_TIMEOUT, || !daemon::is_locked(home)) {
        Ok(())
    } else {
        Err(DaemonStopError::Timeout)
    }
}

/// Stops a daemon in the background, and returns whether it did. The next hook starts it again.
pub(crate) fn stop_background(home: &Path) -> bool {
    let runs = daemon::running_daemon(home).is_some_and(|running| running.background);
    runs && stop(home)
        .inspect_err(|why| tracing::warn!(?why, "cannot stop the daemon"))
        .is_ok()
}

fn wait_until(timeout: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if condition() {
            return true;
        }
        if start.elapsed() >= timeout {
            return false;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(model: &ModelEnvironment, passed: &[&str], kept: &[&str]) {
        for (names, expected) in [(passed, true), (kept, false)] {
            for name in names {
                assert_eq!(is_inherited(OsStr::new(name), model), expected, "{name}");
            }
        }
    }

    #[test]
    fn a_daemon_gets_no_more_of_an_agents_environment_than_it_needs() {
        let passed = [
            "HOME", "PATH", "TZ", "LC_ALL", "XDG_DATA_HOME", "THROUGHLINE_HOME",
        ];
        let kept = [
            "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "CLAUDECODE",
            "THROUGHLINE_INJECTION", "LISTEN_FDS",
        ];
        check(&ModelEnvironment::default(), &passed, &kept);
        check(
            &ModelEnvironment::default(),
            ENV_VARIABLES,
            &["https_proxy"],
        );
        let keyed = ModelEnvironment {
            is_used: true,
            key_variable: "MY_KEY".to_owned(),
            is_program: false,
        };
        check(&keyed, &["MY_KEY", "https_proxy"], &kept);
        let program = ModelEnvironment {
            is_used: true,
            is_program: true,
            ..ModelEnvironment::default()
        };
        check(&program, &["ANTHROPIC_API_KEY"], &["THROUGHLINE_INJECTION"]);
    }
}
