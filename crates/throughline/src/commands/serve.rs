//! `throughline serve`

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};
use serve::Desk;
use serve::daemon::{self, DaemonError, Ended, Plan, Running};
use serve::http::Limits;
use serve::stages::{Logs, Stages};

use crate::commands::App;
use crate::commands::ingest::{self, LogArgs};
use crate::environment;
use crate::model;
use crate::output::{self, Outcome, hinted, say};

/// Run the daemon: watch the agents' logs, answer over HTTP, keep memory in order
///
/// One process for one folder. Our own commands reach it by a socket in that folder; other programs on
/// loopback, with the token in `daemon.token` (docs/HTTP.md). Ctrl-C stops it. It may be killed at any time.
#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    /// Run here until it is stopped, which is what it does unless told otherwise
    #[arg(long, conflicts_with_all = ["detach", "stop", "status"])]
    foreground: bool,

    /// Start it in the background, and return when it answers
    #[arg(long, conflicts_with_all = ["stop", "status"])]
    detach: bool,

    /// Stop the one that runs
    #[arg(long, conflicts_with = "status")]
    stop: bool,

    /// Say whether one runs, and how it is doing
    #[arg(long)]
    status: bool,

    /// The port on loopback instead of the configured one; 0 for none
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,

    /// Print what there is to say as JSON
    #[arg(long)]
    json: bool,
}

/// How long a daemon may take to answer, to start and to end.
const ANSWER_MAX: Duration = Duration::from_secs(5);
const START_MAX: Duration = Duration::from_secs(20);
const STOP_MAX: Duration = Duration::from_secs(20);
/// How often it is looked whether it has.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// A log of the daemon that has grown to this is begun anew.
const LOG_BYTES_MAX: u64 = 1 << 20;

pub fn run(app: &App<'_>, args: &ServeArgs) -> anyhow::Result<Outcome> {
    if args.status {
        status(app, args)
    } else if args.stop {
        stop(app, args)
    } else if args.detach {
        detach(app, args)
    } else {
        foreground(app, args)
    }
}

fn foreground(app: &App<'_>, args: &ServeArgs) -> anyhow::Result<Outcome> {
    let stages = stages(app)?;
    let mut settings = app.settings();
    settings.summary.clone_from(&stages.summary);
    let open = || {
        let store = app.open().map_err(|error| match error.downcast() {
            Ok(error) => DaemonError::Store(error),
            Err(error) => DaemonError::Runtime(std::io::Error::other(format!("{error:#}"))),
        })?;
        let clock = app.environment.clock_handle();
        Ok(Desk::new(Arc::new(store), settings, clock))
    };
    let port = args.port.unwrap_or(app.config.serve.port);
    let minutes = app.config.serve.idle_minutes;
    let plan = Plan {
        home: app.home.clone(),
        port: (port > 0).then_some(port),
        idle: (minutes > 0).then(|| Duration::from_secs(60 * minutes)),
        logs: logs(app)?,
        stages,
        limits: Limits {
            per_second: app.config.serve.requests_per_second,
            burst: 2.0 * app.config.serve.requests_per_second,
            ..Limits::default()
        },
        given: environment::given_socket(),
    };
    let ended = daemon::run(open, plan, |running| tell_start(running, args.json));
    match ended {
        Ok(Ended::Stopped) => say("Stopped."),
        Ok(Ended::Idle) => say("Nobody needed it any more; stopped."),
        Err(DaemonError::Running { home }) => {
            return Err(hinted(
                format!("a daemon runs already for {}", home.display()),
                "`throughline serve --status` shows it, `--stop` ends it",
            ));
        }
        Err(error @ DaemonError::Listen { .. }) => {
            return Err(hinted(
                error.to_string(),
                "a socket's path must not be longer than 100 bytes: use another folder with --home",
            ));
        }
        Err(DaemonError::Store(error)) => return Err(error.into()),
        Err(error) => return Err(error.into()),
    }
    Ok(Outcome::Done)
}

fn tell_start(running: &Running, json: bool) {
    if json {
        // Whoever started it and does not listen does not want to know.
        let _unheard = output::json(running);
    }
    let place = running.address.as_deref().unwrap_or("the socket only");
    say(&format!("Listening on {place}; Ctrl-C stops it."));
}

/// Returns what the stages need.
pub fn stages(app: &App<'_>) -> anyhow::Result<Stages> {
    let retention = &app.config.retention;
    let summary = app.config.summary.enabled;
    Ok(Stages {
        quiet: retention.quiet(),
        prices: app.config.prices(),
        threads: ingest::threads(app),
        facts: app.config.facts.extract,
        summary: summary.then(|| model::settings(app)).transpose()?,
        policy: retention.policy(),
    })
}

fn logs(app: &App<'_>) -> anyhow::Result<Logs> {
    let adapters = ingest::adapters(app, &LogArgs::default())?;
    Ok(Logs {
        roots: ingest::usual_roots(app, &adapters),
        adapters,
        scope: app.config.scope(),
        threads: ingest::threads(app),
        archive: app.config.capture.archive,
    })
}

fn status(app: &App<'_>, args: &ServeArgs) -> anyhow::Result<Outcome> {
    let Some(running) = daemon::running(&app.home) else {
        if args.json {
            output::json(&json!({ "running": false }))?;
        } else {
            say(&format!("No daemon runs for {}.", app.home.display()));
        }
        return Ok(Outcome::NothingFound);
    };
    let health = health(&app.home)
        .with_context(|| format!("the daemon (process {}) does not answer", running.pid))?;
    if args.json {
        output::json(&json!({ "running": true, "daemon": running, "health": health }))?;
        return Ok(Outcome::Done);
    }
    let place = running.address.as_deref().unwrap_or("the socket only");
    say(&format!(
        "The daemon {} runs as process {}, for {} s, on {place}.",
        running.version, running.pid, health["uptime_s"]
    ));
    say(&format!(
        "It holds {} sessions, {} records and {} facts.",
        health["sessions"], health["records"], health["facts"]
    ));
    Ok(Outcome::Done)
}

fn health(home: &Path) -> anyhow::Result<Value> {
    let answered = daemon::call::call(home, "GET", "/health", ANSWER_MAX)?;
    if answered.status != 200 {
        anyhow::bail!("it answered {}: {}", answered.status, answered.body);
    }
    Ok(serde_json::from_str(&answered.body)?)
}

fn stop(app: &App<'_>, args: &ServeArgs) -> anyhow::Result<Outcome> {
    let Some(running) = daemon::running(&app.home) else {
        if args.json {
            output::json(&json!({ "stopped": false }))?;
        }
        say(&format!("No daemon runs for {}.", app.home.display()));
        return Ok(Outcome::NothingFound);
    };
    let asked = daemon::call::call(&app.home, "POST", "/daemon/stop", ANSWER_MAX);
    asked.map_err(|error| {
        hinted(
            format!("the daemon does not answer: {error}"),
            format!("it is process {}; it may be killed", running.pid),
        )
    })?;
    if !wait(STOP_MAX, || daemon::running(&app.home).is_none()) {
        return Err(hinted(
            "the daemon has not ended yet",
            format!("it is process {}; it may be killed", running.pid),
        ));
    }
    if args.json {
        output::json(&json!({ "stopped": true }))?;
    }
    say("Stopped.");
    Ok(Outcome::Done)
}

/// Starts ourselves again, in the background and away from this terminal.
fn detach(app: &App<'_>, args: &ServeArgs) -> anyhow::Result<Outcome> {
    if daemon::running(&app.home).is_none() {
        spawn(app, args)?;
        if !wait(START_MAX, || health(&app.home).is_ok()) {
            return Err(hinted(
                "the daemon did not start",
                format!("{} says why", log_in(&app.home).display()),
            ));
        }
    }
    let Some(running) = daemon::running(&app.home) else {
        anyhow::bail!("the daemon has ended again");
    };
    if args.json {
        output::json(&running)?;
    }
    say(&format!("The daemon runs as process {}.", running.pid));
    Ok(Outcome::Done)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the daemon is this program, started once more"
)]
fn spawn(app: &App<'_>, args: &ServeArgs) -> anyhow::Result<()> {
    let path = log_in(&app.home);
    std::fs::create_dir_all(&app.home)?;
    let is_long = path.metadata().is_ok_and(|log| log.len() > LOG_BYTES_MAX);
    let log = OpenOptions::new()
        .create(true)
        .write(true)
        .append(!is_long)
        .truncate(is_long)
        .mode(0o600)
        .open(&path)
        .with_context(|| format!("cannot write {}", path.display()))?;
    let program = std::env::current_exe().context("cannot find our own program")?;
    let mut command = Command::new(program);
    command.arg("--home").arg(&app.home);
    if app.config_path.exists() {
        command.arg("--config").arg(&app.config_path);
    }
    command.args(["serve", "--foreground"]);
    if let Some(port) = args.port {
        command.arg("--port").arg(port.to_string());
    }
    command
        .current_dir(&app.home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .process_group(0)
        .spawn()
        .context("cannot start the daemon")?;
    Ok(())
}

fn log_in(home: &Path) -> std::path::PathBuf {
    home.join("daemon.log")
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
