//! Starting the daemon, which is this program run again.

#![expect(clippy::disallowed_methods, reason = "the binary may start processes")]

use std::process::{Command, Stdio};

use clap::CommandFactory;
use serde::Serialize;

use crate::cli::Cli;
use crate::commands::App;

/// What became of starting it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Daemon {
    /// It runs, now or already.
    Started,
    /// This program has none, or none is wanted.
    Absent,
    Failed(String),
}

/// The command that goes to the background by itself, and ends at once where a daemon runs already.
const SERVE: &[&str] = &["serve", "--detach"];

pub fn start(app: &App<'_>) -> Daemon {
    if !is_built_in() {
        return Daemon::Absent;
    }
    let Some(program) = &app.environment.program else {
        return Daemon::Failed("where this program lies is unknown".to_owned());
    };
    let mut command = Command::new(program);
    command
        .args(SERVE)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // A folder that is named brings its own configuration; the usual one is better left unnamed.
    if app.home != app.environment.data_dir {
        command.env("THROUGHLINE_HOME", &app.home);
    }
    if app.config_path.exists() {
        command.env("THROUGHLINE_CONFIG", &app.config_path);
    }
    match command.status() {
        Ok(status) if status.success() => Daemon::Started,
        Ok(status) => Daemon::Failed(format!("it ended with {status}")),
        Err(error) => Daemon::Failed(error.to_string()),
    }
}

fn is_built_in() -> bool {
    let cli = Cli::command();
    let serve = cli.find_subcommand(SERVE[0]);
    serve.is_some_and(|serve| {
        let detach = |argument: &clap::Arg| argument.get_long() == Some("detach");
        serve.get_arguments().any(detach)
    })
}
