//! Starting the daemon, which is this program run again, and letting it step aside.

#![expect(clippy::disallowed_methods, reason = "the binary may start processes")]

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use capture::adapter::ENV_VARIABLES;
use serde::Serialize;
use serve::daemon::{self, DaemonInfo};

use crate::commands::App;
use crate::config::ModelEnvironment;

/// How long a daemon may take to answer, to start and to end.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
const START_TIMEOUT: Duration = Duration::from_secs(20);
const STOP_TIMEOUT: Duration = Duration::from_secs(20);
/// How often it is looked whether it has.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// A log of the daemon that has grown to this is begun anew.
const LOG_BYTES_MAX: u64 = 1 << 20;
/// The variables that a daemon in the background needs. It outlives the agent that started it and serves
/// all of them, so nothing else of that agent's environment, such as its API keys, stays with it.
const INHERITED_VARIABLES: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TMPDIR",
    "TZ",
    "LANG",
    "NO_COLOR",
    "RUST_BACKTRACE",
    // The keychain is reached by these.
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "WAYLAND_DISPLAY",
];
const INHERITED_PREFIXES: &[&str] = &["LC_", "XDG_", "THROUGHLINE_"];
/// What a configured model is reached through.
const MODEL_VARIABLES: &[&str] = &[
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];
/// What is switched off or set for one agent is not for all of them.
const EXCLUDED_VARIABLES: &[&str] = &[
    "THROUGHLINE_INJECTION",
    "THROUGHLINE_HOOK_DEADLINE_MS",
    "THROUGHLINE_INSIDE",
    "LISTEN_FDS",
    "LISTEN_PID",
    "LISTEN_FDNAMES",
];

/// What became of starting it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DaemonStart {
    /// It runs, now or already.
    Started,
    /// None is wanted.
    Absent,
    Failed(String),
}

/// Starts one in the background, unless one runs, and waits until it answers.
pub(crate) fn start(app: &App<'_>, port: Option<u16>) -> anyhow::Result<DaemonInfo> {
    let health = || daemon::call::send_request(&app.home, "GET", "/health", ANSWER_TIMEOUT);
    if let Some(running) = daemon::running_daemon(&app.home) {
        // One that was stopped by a signal or hangs holds its lock, but is of no use.
        health().map_err(|error| {
            crate::output::error_with_hint(
                format!(
                    "the daemon (process {}) does not answer: {error}",
                    running.pid
                ),
                format!(
                    "end it with `kill -KILL {}`, then run this command again",
                    running.pid
                ),
            )
        })?;
    } else {
        spawn(&app.home, &app.config_path, port)?;
        // It answers a moment before it leaves its card.
        let answers = || health().is_ok() && daemon::running_daemon(&app.home).is_some();
        if !wait_until(START_TIMEOUT, answers) {
            return Err(crate::output::error_with_hint(
                "the daemon did not start",
                format!("{} says why", log_path(&app.home).display()),
            ));
        }
    }
    daemon::running_daemon(&app.home).ok_or_else(|| anyhow::anyhow!("the daemon has ended again"))
}

/// Starts ourselves again, in the background and away from this terminal. What it has to say goes to its log.
pub(crate) fn spawn(home: &Path, config: &Path, port: Option<u16>) -> io::Result<()> {
    std::fs::create_dir_all(home)?;
    let log = open_log(home)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--home").arg(home);
    if config.exists() {
        command.arg("--config").arg(config);
    }
    command.args(["serve", "--background"]);
    if let Some(port) = port {
        command.arg("--port").arg(port.to_string());
    }
    let model = ModelEnvironment::load(config);
    command.env_clear();
    command.envs(std::env::vars_os().filter(|(name, _)| is_inherited(name, &model)));
    // An agent ends its hooks with all that they started, by their group.
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

/// Says whether the daemon gets a variable of this process.
fn is_inherited(name: &OsStr, model: &ModelEnvironment) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    if EXCLUDED_VARIABLES.contains(&name) {
        return false;
    }
    // The agent's own program as a model needs what that agent needs: the user configured it so.
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
        let why = format!("{} is a symbolic link; remove it", path.display());
        return Err(io::Error::other(why));
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

/// Why a daemon that runs has not ended.
#[derive(Debug)]
pub(crate) enum DaemonStopError {
    NoAnswer(io::Error),
    Timeout,
}

/// Stops the one that runs, and waits until it has ended.
pub(crate) fn stop(home: &Path) -> Result<(), DaemonStopError> {
    daemon::call::send_request(home, "POST", "/daemon/stop", ANSWER_TIMEOUT)
        .map_err(DaemonStopError::NoAnswer)?;
    if wait_until(STOP_TIMEOUT, || !daemon::is_locked(home)) {
        Ok(())
    } else {
        Err(DaemonStopError::Timeout)
    }
}

/// Stops one that runs in the background, and says whether it did: whoever needs it starts it again.
pub(crate) fn stop_background(home: &Path) -> bool {
    let runs = daemon::running_daemon(home).is_some_and(|running| running.background);
    runs && stop(home)
        .inspect_err(|why| tracing::warn!(?why, "the daemon goes on"))
        .is_ok()
}

fn wait_until(at_most: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if is_so() {
            return true;
        }
        if start.elapsed() >= at_most {
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
            "HOME",
            "PATH",
            "TZ",
            "LC_ALL",
            "XDG_DATA_HOME",
            "THROUGHLINE_HOME",
        ];
        let kept = [
            "ANTHROPIC_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "GITHUB_TOKEN",
            "CLAUDECODE",
            "THROUGHLINE_INJECTION",
            "LISTEN_FDS",
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
