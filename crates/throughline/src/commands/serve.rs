//! `throughline serve`

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use serde_json::{Value, json};
use serve::Desk;
use serve::daemon::{self, DaemonError, Ended, Origin, Plan, Running};
use serve::http::Limits;
use serve::stages::{Logs, Stages};
use store::Store;

use crate::commands::App;
use crate::commands::ingest::{self, LogArgs};
use crate::config::Serve;
use crate::daemon::{ANSWER_MAX, Stays, start};
use crate::environment;
use crate::keychain::SystemKeychain;
use crate::model::{self, Lender};
use crate::output::{self, Outcome, hinted, say};

/// Run the daemon: watch the agents' logs, answer over HTTP, keep memory in order
///
/// One process for one folder. Our own commands reach it by a socket in that folder; other programs on
/// loopback, with the token in `daemon.token` (docs/HTTP.md). Ctrl-C stops it. It may be killed at any time.
#[derive(Debug, clap::Args)]
pub struct ServeArgs {
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

pub fn run(app: &App<'_>, args: &ServeArgs) -> anyhow::Result<Outcome> {
    if args.status {
        status(app, args)
    } else if args.new_token {
        new_token(app, args)
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
    settings.models.clone_from(&stages.models);
    let open = || {
        let store = app.open().map_err(|error| match error.downcast() {
            Ok(error) => DaemonError::Store(error),
            Err(error) => DaemonError::Runtime(std::io::Error::other(format!("{error:#}"))),
        })?;
        let clock = app.environment.clock_handle();
        Ok(Desk::new(Arc::new(store), settings, clock))
    };
    let port = args.port.or(app.config.serve.port);
    let given = environment::given_socket();
    // A daemon that a person did not start in a terminal opens no port that nobody asked for.
    let is_typed = !args.background && given.is_none();
    let port = port.unwrap_or(if is_typed { Serve::FOREGROUND_PORT } else { 0 });
    let open_to_read = || Store::open_to_read_with(&app.home, &SystemKeychain);
    let minutes = app.config.serve.idle_minutes;
    // Whoever starts it again by a hook or by its socket lets it go; a terminal does not.
    let may_go = minutes > 0.0 && (args.background || given.is_some());
    let plan = Plan {
        home: app.home.clone(),
        port: (port > 0).then_some(port),
        idle: may_go.then(|| Duration::from_secs_f64(60.0 * minutes)),
        background: args.background,
        origin: Origin::of(
            [app.config_path.clone()]
                .into_iter()
                .chain(app.environment.program.clone()),
        ),
        logs: logs(app)?,
        stages,
        limits: Limits {
            per_second: app.config.serve.requests_per_second,
            burst: 2.0 * app.config.serve.requests_per_second,
            ..Limits::default()
        },
        given,
    };
    let ended = daemon::run(open, open_to_read, plan, |running| {
        tell_start(running, args.json);
    });
    match ended {
        Ok(Ended::Stopped) => say("Stopped."),
        Ok(Ended::Idle) => say("Nobody needed it any more; stopped."),
        Ok(Ended::Outdated) => say("The program or its configuration is another now; stopped."),
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
        facts_by_model: app.config.facts.by_model,
        models: Lender::of(app),
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
    crate::daemon::stop(&app.home).map_err(|stays| match stays {
        Stays::Silent(error) => silent(&running, &error),
        Stays::Busy => hinted(
            "the daemon has not ended yet",
            format!("it is process {}; it may be killed", running.pid),
        ),
    })?;
    if args.json {
        output::json(&json!({ "stopped": true }))?;
    }
    say("Stopped.");
    if app.config.serve.start {
        say("The next hook starts it again; `start = false` under [serve] keeps it off.");
    }
    Ok(Outcome::Done)
}

fn silent(running: &Running, error: &std::io::Error) -> anyhow::Error {
    hinted(
        format!("the daemon does not answer: {error}"),
        format!("it is process {}; it may be killed", running.pid),
    )
}

/// Starts one in the background, unless one runs.
fn detach(app: &App<'_>, args: &ServeArgs) -> anyhow::Result<Outcome> {
    let running = start(app, args.port)?;
    if args.json {
        output::json(&running)?;
    }
    say(&format!("The daemon runs as process {}.", running.pid));
    Ok(Outcome::Done)
}

/// Makes another token. The daemon that runs takes it at once.
fn new_token(app: &App<'_>, args: &ServeArgs) -> anyhow::Result<Outcome> {
    if let Some(running) = daemon::running(&app.home) {
        let asked = daemon::call::call(&app.home, "POST", "/daemon/token", ANSWER_MAX);
        let answered = asked.map_err(|error| silent(&running, &error))?;
        if answered.status != 204 {
            anyhow::bail!("it answered {}: {}", answered.status, answered.body);
        }
    } else if app.home.is_dir() {
        daemon::home::new_token(&app.home)?;
    } else {
        return Err(hinted(
            format!("there is no memory in {} yet", app.home.display()),
            "run `throughline ingest` first",
        ));
    }
    let path = daemon::home::token_in(&app.home);
    if args.json {
        output::json(&json!({ "token_file": path }))?;
    }
    say(&format!(
        "The token in {} is a new one; the old one opens nothing any more.",
        path.display()
    ));
    Ok(Outcome::Done)
}
