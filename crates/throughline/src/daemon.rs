//! Starting the daemon, which is this program run again, and letting it step aside.

#![expect(clippy::disallowed_methods, reason = "the binary may start processes")]

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde::Serialize;
use serve::daemon::{self, Running};

use crate::commands::App;

/// How long a daemon may take to answer, to start and to end.
pub const ANSWER_MAX: Duration = Duration::from_secs(5);
const START_MAX: Duration = Duration::from_secs(20);
const STOP_MAX: Duration = Duration::from_secs(20);
/// How often it is looked whether it has.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// A log of the daemon that has grown to this is begun anew.
const LOG_BYTES_MAX: u64 = 1 << 20;
/// What is switched off or set for one agent is not for all of them.
const NOT_PASSED_ON: &[&str] = &[
    "THROUGHLINE_INJECTION",
    "THROUGHLINE_HOOK_DEADLINE_MS",
    "LISTEN_FDS",
    "LISTEN_PID",
];

/// What became of starting it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Daemon {
    /// It runs, now or already.
    Started,
    /// None is wanted.
    Absent,
    Failed(String),
}

/// Starts one in the background, unless one runs, and waits until it answers.
pub fn start(app: &App<'_>, port: Option<u16>) -> anyhow::Result<Running> {
    if daemon::running(&app.home).is_none() {
        spawn(&app.home, &app.config_path, port)?;
        // It answers a moment before it leaves its card.
        let answers = || {
            let health = daemon::call::call(&app.home, "GET", "/health", ANSWER_MAX);
            health.is_ok() && daemon::running(&app.home).is_some()
        };
        if !wait(START_MAX, answers) {
            return Err(crate::output::hinted(
                "the daemon did not start",
                format!("{} says why", log_in(&app.home).display()),
            ));
        }
    }
    daemon::running(&app.home).ok_or_else(|| anyhow::anyhow!("the daemon has ended again"))
}

/// Starts ourselves again, in the background and away from this terminal. What it has to say goes to its log.
pub fn spawn(home: &Path, config: &Path, port: Option<u16>) -> io::Result<()> {
    std::fs::create_dir_all(home)?;
    let log = log(home)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("--home").arg(home);
    if config.exists() {
        command.arg("--config").arg(config);
    }
    command.args(["serve", "--background"]);
    if let Some(port) = port {
        command.arg("--port").arg(port.to_string());
    }
    for name in NOT_PASSED_ON {
        command.env_remove(name);
    }
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

fn log(home: &Path) -> io::Result<File> {
    let path = log_in(home);
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

fn log_in(home: &Path) -> PathBuf {
    home.join("daemon.log")
}

/// Why a daemon that runs has not ended.
#[derive(Debug)]
pub enum Stays {
    Silent(io::Error),
    Busy,
}

/// Stops the one that runs, and waits until it has ended.
pub fn stop(home: &Path) -> Result<(), Stays> {
    daemon::call::call(home, "POST", "/daemon/stop", ANSWER_MAX).map_err(Stays::Silent)?;
    if wait(STOP_MAX, || !daemon::is_held(home)) {
        Ok(())
    } else {
        Err(Stays::Busy)
    }
}

/// Stops one that runs in the background, and says whether it did: whoever needs it starts it again.
pub fn step_aside(home: &Path) -> bool {
    let runs = daemon::running(home).is_some_and(|running| running.background);
    runs && stop(home)
        .inspect_err(|why| tracing::warn!(?why, "the daemon goes on"))
        .is_ok()
}

fn wait(at_most: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    loop {
        if is_so() {
            return true;
        }
        if start.elapsed() >= at_most {
            return false;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}
