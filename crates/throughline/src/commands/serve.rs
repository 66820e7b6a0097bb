//! `throughline serve`

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use serve::ServeContext;
use serve::client;
use serve::daemon::{self, DaemonError, DaemonInfo, DaemonOptions, ExitReason, StartupFiles};
use serve::http::HttpLimits;
use serve::stages::StageSettings;
use store::{OpenMode, Store};

use crate::commands::App;
use crate::commands::digest::format_duration;
use crate::commands::ingest::{self, LogArgs};
use crate::commands::search::by_daemon::SearchRunner;
use crate::config::{ServeConfig, UserConfigFile};
use crate::daemon::{ANSWER_TIMEOUT, DaemonStopError, start};
use crate::environment;
use crate::keychain::SystemKeychain;
use crate::model::{self, ConfiguredModel};
use crate::output::{self, Exit, error_with_hint};

/// Run the daemon, or start, stop and inspect it
///
/// The daemon watches the agents' logs, answers hooks and HTTP requests, and maintains the store.
/// There is one daemon per data folder. Throughline's own commands connect to a socket in that
/// folder; other programs connect to a port on loopback, with the token in `daemon.token`
/// (docs/HTTP.md). Ctrl-C stops it. Killing it loses no data.
#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// Run in the foreground until stopped (the default)
    #[arg(long, conflicts_with_all = ["detach", "stop", "status", "new_token"])]
    foreground: bool,

    /// Start the daemon in the background
    #[arg(long, conflicts_with_all = ["stop", "status", "new_token"])]
    detach: bool,

    /// Stop the running daemon
    #[arg(long, conflicts_with_all = ["status", "new_token"])]
    stop: bool,

    /// Show whether the daemon is running, and its state
    #[arg(long, conflicts_with = "new_token")]
    status: bool,

    /// Replace the token for programs on loopback; the old token becomes invalid
    #[arg(long)]
    new_token: bool,

    /// Run as the background daemon that hooks and --detach start
    #[arg(long, hide = true)]
    #[arg(conflicts_with_all = ["foreground", "detach", "stop", "status", "new_token"])]
    background: bool,

    /// The port on loopback; 0 means none [default: `port` under [serve]]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &ServeArgs) -> anyhow::Result<Exit> {
    if args.status {
        status(app, args)
    } else if args.new_token {
        new_token(app, args)
    } else if args.stop {
        stop(app, args)
    } else if args.detach {
        start_background(app, args)
    } else {
        run_daemon(app, args)
    }
}

fn run_daemon(app: &App<'_>, args: &ServeArgs) -> anyhow::Result<Exit> {
    let stages = stage_settings(app)?;
    let mut settings = app.serve_settings();
    settings.summary.clone_from(&stages.summary);
    settings.model_provider.clone_from(&stages.model_provider);
    let open = || {
        let store = app.open().map_err(|error| match error.downcast() {
            Ok(error) => DaemonError::Store(error),
            Err(error) => DaemonError::Runtime(std::io::Error::other(format!("{error:#}"))),
        })?;
        let clock = app.environment.clock_handle();
        Ok(ServeContext::new(Arc::new(store), settings, clock))
    };
    let port = args.port.or(app.config.serve.port);
    let given = environment::inherited_socket();
    // Only a daemon that a person starts in a terminal opens a port by default.
    let is_interactive = !args.background && given.is_none();
    let port = port.unwrap_or(if is_interactive {
        ServeConfig::FOREGROUND_PORT
    } else {
        0
    });
    let open_to_read = || Store::open_with(&app.home, OpenMode::ReadOnly, &SystemKeychain);
    let minutes = app.config.serve.idle_minutes;
    // A daemon that a hook or a service manager can start again may exit when it is idle.
    let exits_when_idle = minutes > 0.0 && (args.background || given.is_some());
    let plan = DaemonOptions {
        home: app.home.clone(),
        port: (port > 0).then_some(port),
        idle_timeout: exits_when_idle.then(|| Duration::from_secs_f64(60.0 * minutes)),
        background: args.background,
        startup_files: StartupFiles::of(
            [app.config_path.clone()]
                .into_iter()
                .chain(app.environment.program.clone()),
        ),
        config_file: Some(Arc::new(UserConfigFile::new(
            app.config_path.clone(),
            app.environment.injection_off,
        ))),
        command_runner: Some(Arc::new(SearchRunner {
            config: app.config.clone(),
            config_path: app.config_path.clone(),
            home: app.home.clone(),
        })),
        sources: ingest::sources(app, &LogArgs::default())?,
        watch: app.config.capture.watch_options(),
        stages,
        limits: HttpLimits {
            requests_per_second: app.config.serve.requests_per_second,
            burst: 2.0 * app.config.serve.requests_per_second,
            ..HttpLimits::default()
        },
        inherited_socket: given,
    };
    let ended = daemon::run(open, open_to_read, plan, |running| {
        print_started(running, args.json);
    });
    match ended {
        Ok(ExitReason::Stopped) => say!("Stopped."),
        Ok(ExitReason::Idle) => say!("Stopped after being idle."),
        Ok(ExitReason::Outdated) => {
            say!("Stopped: the program or its configuration has changed.");
        }
        Err(DaemonError::Running { home }) => {
            return Err(error_with_hint(
                format!("a daemon is already running for {}", home.display()),
                "use `throughline serve --status` to inspect it, or `--stop` to stop it",
            ));
        }
        Err(error @ DaemonError::Listen { .. }) => {
            return Err(error_with_hint(
                error.to_string(),
                "the path of a socket must not exceed 100 bytes; choose a shorter folder with \
                 --home",
            ));
        }
        Err(DaemonError::Store(error)) => return Err(error.into()),
        Err(error) => return Err(error.into()),
    }
    Ok(Exit::Done)
}

fn print_started(running: &DaemonInfo, json: bool) {
    if json {
        // The parent process may have closed its end of the pipe.
        output::print_json(running).ok();
    }
    let address = running.address.as_deref().unwrap_or("its socket only");
    say!("Listening on {address}; press Ctrl-C to stop.");
}

/// Returns the settings of the stages.
pub(crate) fn stage_settings(app: &App<'_>) -> anyhow::Result<StageSettings> {
    let retention = &app.config.retention;
    let summary = app.writes_summaries();
    Ok(StageSettings {
        auto_tokens: app.compaction_settings().auto_tokens,
        idle_after: retention.quiet(),
        prices: app.config.prices(),
        threads: ingest::threads(app),
        extract_facts: app.config.facts.extract,
        extract_facts_with_model: app.config.facts.by_model,
        model_provider: ConfiguredModel::of(app),
        summary: summary.then(|| model::summary_settings(app)).transpose()?,
        policy: retention.policy(),
        learn: app.config.learn_settings(),
    })
}

fn status(app: &App<'_>, args: &ServeArgs) -> anyhow::Result<Exit> {
    let Some(running) = daemon::running_daemon(&app.home) else {
        if args.json {
            output::print_json(&json!({ "running": false }))?;
        } else {
            say!("No daemon is running for {}.", app.home.display());
        }
        return Ok(Exit::NothingFound);
    };
    let health = health(&app.home)
        .with_context(|| format!("the daemon (process {}) does not answer", running.pid))?;
    if args.json {
        output::print_json(&json!({ "running": true, "daemon": running, "health": health }))?;
        return Ok(Exit::Done);
    }
    let address = running.address.as_deref().unwrap_or("its socket only");
    say!(
        "The daemon {} has been running for {} as process {}, on {address}.",
        running.version,
        format_duration(1_000 * health["uptime_s"].as_u64().unwrap_or_default()),
        running.pid,
    );
    say!(
        "The store has {} sessions, {} records and {} facts.",
        health["sessions"],
        health["records"],
        health["facts"]
    );
    Ok(Exit::Done)
}

fn health(home: &Path) -> anyhow::Result<Value> {
    let answered = client::send_request(home, "GET", "/health", ANSWER_TIMEOUT)?;
    if answered.status != 200 {
        anyhow::bail!(
            "the daemon answered with status {}: {}",
            answered.status,
            answered.body
        );
    }
    Ok(serde_json::from_str(&answered.body)?)
}

fn stop(app: &App<'_>, args: &ServeArgs) -> anyhow::Result<Exit> {
    let Some(running) = daemon::running_daemon(&app.home) else {
        if args.json {
            output::print_json(&json!({ "stopped": false }))?;
        }
        say!("No daemon is running for {}.", app.home.display());
        return Ok(Exit::NothingFound);
    };
    crate::daemon::stop(&app.home).map_err(|stays| match stays {
        DaemonStopError::NoAnswer(error) => no_answer_error(&running, &error),
        DaemonStopError::Timeout => error_with_hint(
            "the daemon has not stopped yet",
            format!("it is process {}; killing it loses no data", running.pid),
        ),
    })?;
    if args.json {
        output::print_json(&json!({ "stopped": true }))?;
    }
    say!("Stopped.");
    if app.config.serve.start {
        say!("The next hook starts it again; set `start = false` under [serve] to prevent that.");
    }
    Ok(Exit::Done)
}

fn no_answer_error(running: &DaemonInfo, error: &std::io::Error) -> anyhow::Error {
    error_with_hint(
        format!("the daemon does not answer: {error}"),
        format!("it is process {}; killing it loses no data", running.pid),
    )
}

/// Starts the daemon in the background, unless it is running.
fn start_background(app: &App<'_>, args: &ServeArgs) -> anyhow::Result<Exit> {
    let running = start(app, args.port)?;
    if args.json {
        output::print_json(&running)?;
    }
    say!("The daemon is running as process {}.", running.pid);
    Ok(Exit::Done)
}

/// Replaces the token. A running daemon uses the new one at once.
fn new_token(app: &App<'_>, args: &ServeArgs) -> anyhow::Result<Exit> {
    if let Some(running) = daemon::running_daemon(&app.home) {
        let asked = client::send_request(&app.home, "POST", "/daemon/token", ANSWER_TIMEOUT);
        let answered = asked.map_err(|error| no_answer_error(&running, &error))?;
        if answered.status != 204 {
            anyhow::bail!(
                "the daemon answered with status {}: {}",
                answered.status,
                answered.body
            );
        }
    } else if app.home.is_dir() {
        daemon::home::rotate_token(&app.home)?;
    } else {
        return Err(app.no_store_error());
    }
    let path = daemon::home::token_path(&app.home);
    if args.json {
        output::print_json(&json!({ "token_file": path }))?;
    }
    say!(
        "Wrote a new token to {}; the old one is invalid.",
        path.display()
    );
    Ok(Exit::Done)
}
