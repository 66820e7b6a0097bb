//! `throughline serve`

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use serve::ServeContext;
use serve::daemon::{self, DaemonError, DaemonInfo, DaemonOptions, ExitReason, StartupFiles};
use serve::http::HttpLimits;
use serve::stages::{LogSources, StageSettings};
use store::Store;

use crate::commands::App;
use crate::commands::ingest::{self, LogArgs};
use crate::config::ServeConfig;
use crate::daemon::{ANSWER_TIMEOUT, DaemonStopError, start};
use crate::environment;
use crate::keychain::SystemKeychain;
use crate::model::{self, ConfiguredModel};
use crate::output::{self, Exit, error_with_hint};

/// Run the daemon: watch the agents' logs, answer over HTTP, keep memory in order
///
/// One process for one folder. Our own commands reach it by a socket in that folder; other programs on
/// loopback, with the token in `daemon.token` (docs/HTTP.md). Ctrl-C stops it. It may be killed at any time.
#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// Run here until it is stopped, which is what it does unless told otherwise
    #[arg(long, conflicts_with_all = ["detach", "stop", "status", "new_token"])]
    foreground: bool,

    /// Start it in the background, and return when it answers
    #[arg(long, conflicts_with_all = ["stop", "status", "new_token"])]
    detach: bool,

    /// Stop the one that runs
    #[arg(long, conflicts_with_all = ["status", "new_token"])]
    stop: bool,

    /// Say whether one runs, and how it is doing
    #[arg(long, conflicts_with = "new_token")]
    status: bool,

    /// Make another token for programs on loopback; the old one opens nothing any more
    #[arg(long)]
    new_token: bool,

    /// Be the one in the background that hooks and `--detach` start
    #[arg(long, hide = true, conflicts_with_all = ["foreground", "detach", "stop", "status", "new_token"])]
    background: bool,

    /// The port on loopback instead of the configured one; 0 for none. In the background none is opened
    /// unless one is named here or in the configuration
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,

    /// Print what there is to say as JSON
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
    // A daemon that a person did not start in a terminal opens no port that nobody asked for.
    let is_typed = !args.background && given.is_none();
    let port = port.unwrap_or(if is_typed {
        ServeConfig::FOREGROUND_PORT
    } else {
        0
    });
    let open_to_read = || Store::open_to_read_with(&app.home, &SystemKeychain);
    let minutes = app.config.serve.idle_minutes;
    // Whoever starts it again by a hook or by its socket lets it go; a terminal does not.
    let may_go = minutes > 0.0 && (args.background || given.is_some());
    let plan = DaemonOptions {
        home: app.home.clone(),
        port: (port > 0).then_some(port),
        idle_timeout: may_go.then(|| Duration::from_secs_f64(60.0 * minutes)),
        background: args.background,
        startup_files: StartupFiles::of(
            [app.config_path.clone()]
                .into_iter()
                .chain(app.environment.program.clone()),
        ),
        sources: logs(app)?,
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
        Ok(ExitReason::Idle) => say!("Nobody needed it any more; stopped."),
        Ok(ExitReason::Outdated) => {
            say!("The program or its configuration is another now; stopped.")
        }
        Err(DaemonError::Running { home }) => {
            return Err(error_with_hint(
                format!("a daemon runs already for {}", home.display()),
                "`throughline serve --status` shows it, `--stop` ends it",
            ));
        }
        Err(error @ DaemonError::Listen { .. }) => {
            return Err(error_with_hint(
                error.to_string(),
                "a socket's path must not be longer than 100 bytes: use another folder with --home",
            ));
        }
        Err(DaemonError::Store(error)) => return Err(error.into()),
        Err(error) => return Err(error.into()),
    }
    Ok(Exit::Done)
}

fn print_started(running: &DaemonInfo, json: bool) {
    if json {
        // Whoever started it and does not listen does not want to know.
        let _unheard = output::print_json(running);
    }
    let place = running.address.as_deref().unwrap_or("the socket only");
    say!("Listening on {place}; Ctrl-C stops it.");
}

/// Returns what the stages need.
pub(crate) fn stage_settings(app: &App<'_>) -> anyhow::Result<StageSettings> {
    let retention = &app.config.retention;
    let summary = app.config.summary.enabled;
    Ok(StageSettings {
        idle_after: retention.quiet(),
        prices: app.config.prices(),
        threads: ingest::threads(app),
        extract_facts: app.config.facts.extract,
        extract_facts_with_model: app.config.facts.by_model,
        model_provider: ConfiguredModel::of(app),
        summary: summary.then(|| model::summary_settings(app)).transpose()?,
        policy: retention.policy(),
    })
}

fn logs(app: &App<'_>) -> anyhow::Result<LogSources> {
    let adapters = ingest::adapters(app, &LogArgs::default())?;
    Ok(LogSources {
        roots: ingest::default_roots(app, &adapters),
        adapters,
        scope: app.config.scope(),
        threads: ingest::threads(app),
        archive: app.config.capture.archive,
    })
}

fn status(app: &App<'_>, args: &ServeArgs) -> anyhow::Result<Exit> {
    let Some(running) = daemon::running_daemon(&app.home) else {
        if args.json {
            output::print_json(&json!({ "running": false }))?;
        } else {
            say!("No daemon runs for {}.", app.home.display());
        }
        return Ok(Exit::NothingFound);
    };
    let health = health(&app.home)
        .with_context(|| format!("the daemon (process {}) does not answer", running.pid))?;
    if args.json {
        output::print_json(&json!({ "running": true, "daemon": running, "health": health }))?;
        return Ok(Exit::Done);
    }
    let place = running.address.as_deref().unwrap_or("the socket only");
    say!(
        "The daemon {} runs as process {}, for {} s, on {place}.",
        running.version,
        running.pid,
        health["uptime_s"]
    );
    say!(
        "It holds {} sessions, {} records and {} facts.",
        health["sessions"],
        health["records"],
        health["facts"]
    );
    Ok(Exit::Done)
}

fn health(home: &Path) -> anyhow::Result<Value> {
    let answered = daemon::call::send_request(home, "GET", "/health", ANSWER_TIMEOUT)?;
    if answered.status != 200 {
        anyhow::bail!("it answered {}: {}", answered.status, answered.body);
    }
    Ok(serde_json::from_str(&answered.body)?)
}

fn stop(app: &App<'_>, args: &ServeArgs) -> anyhow::Result<Exit> {
    let Some(running) = daemon::running_daemon(&app.home) else {
        if args.json {
            output::print_json(&json!({ "stopped": false }))?;
        }
        say!("No daemon runs for {}.", app.home.display());
        return Ok(Exit::NothingFound);
    };
    crate::daemon::stop(&app.home).map_err(|stays| match stays {
        DaemonStopError::NoAnswer(error) => no_answer_error(&running, &error),
        DaemonStopError::Timeout => error_with_hint(
            "the daemon has not ended yet",
            format!("it is process {}; it may be killed", running.pid),
        ),
    })?;
    if args.json {
        output::print_json(&json!({ "stopped": true }))?;
    }
    say!("Stopped.");
    if app.config.serve.start {
        say!("The next hook starts it again; `start = false` under [serve] keeps it off.");
    }
    Ok(Exit::Done)
}

fn no_answer_error(running: &DaemonInfo, error: &std::io::Error) -> anyhow::Error {
    error_with_hint(
        format!("the daemon does not answer: {error}"),
        format!("it is process {}; it may be killed", running.pid),
    )
}

/// Starts one in the background, unless one runs.
fn start_background(app: &App<'_>, args: &ServeArgs) -> anyhow::Result<Exit> {
    let running = start(app, args.port)?;
    if args.json {
        output::print_json(&running)?;
    }
    say!("The daemon runs as process {}.", running.pid);
    Ok(Exit::Done)
}

/// Makes another token. The daemon that runs takes it at once.
fn new_token(app: &App<'_>, args: &ServeArgs) -> anyhow::Result<Exit> {
    if let Some(running) = daemon::running_daemon(&app.home) {
        let asked = daemon::call::send_request(&app.home, "POST", "/daemon/token", ANSWER_TIMEOUT);
        let answered = asked.map_err(|error| no_answer_error(&running, &error))?;
        if answered.status != 204 {
            anyhow::bail!("it answered {}: {}", answered.status, answered.body);
        }
    } else if app.home.is_dir() {
        daemon::home::rotate_token(&app.home)?;
    } else {
        return Err(error_with_hint(
            format!("there is no memory in {} yet", app.home.display()),
            "run `throughline ingest` first",
        ));
    }
    let path = daemon::home::token_path(&app.home);
    if args.json {
        output::print_json(&json!({ "token_file": path }))?;
    }
    say!(
        "The token in {} is a new one; the old one opens nothing any more.",
        path.display()
    );
    Ok(Exit::Done)
}
