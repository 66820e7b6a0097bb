//! Throughline: session memory for coding agents.
//!
//! This is the only crate that reads the environment and the configuration, prints, and exits. Each
//! command has a file under [`commands`] with its arguments, whose doc comments are the help, and
//! its `run` function. [`install`] edits the agents' configuration files, [`model`] builds the
//! configured model, [`output`] formats messages, tables and errors, and [`ui`] is the interactive
//! UI.

#![warn(unreachable_pub, let_underscore_drop)]
#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::await_holding_lock
)]

// First, so that its macro `say!` is known in the modules below.
#[macro_use]
mod output;

mod agent_cli;
mod cli;
mod commands;
mod config;
mod daemon;
mod environment;
mod install;
mod keychain;
mod learning;
mod model;
mod samples;
mod stages;
mod stoppable;
mod ui;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::Cli;
use crate::environment::Environment;

fn main() -> ExitCode {
    abort_on_panic();
    let mut arguments = environment::arguments();
    // An agent waits for its hook, so a hook skips the argument parser and everything else that
    // takes time.
    if let Some(command_line) = commands::hook::parse_command_line(&arguments) {
        return commands::hook::answer_hook(command_line).into();
    }
    #[cfg(unix)]
    if let Some(restore) = ui::guard::parse_command_line(&arguments) {
        return ui::guard::wait_and_restore(&restore);
    }
    if let Some(exit) = commands::search::by_daemon::run(&arguments) {
        return exit.into();
    }
    // Alone in a terminal it is the UI; in a script or a pipe it says what there is.
    if arguments.len() == 1 {
        let is_interactive = environment::is_interactive();
        arguments.push(if is_interactive { "ui" } else { "--help" }.into());
    }
    let cli = match Cli::try_parse_from(cli::rewrite_arguments(arguments)) {
        Ok(cli) => cli,
        Err(error) => return output::report_usage_error(error),
    };
    match run(&cli) {
        Ok(outcome) => outcome.into(),
        Err(error) => output::report_error(&error).into(),
    }
}

/// Ends the process on a panic, because other threads could wait for the one that panicked. A panic
/// of a detector of secrets is caught, and the text that it failed on is left out.
fn abort_on_panic() {
    std::panic::set_hook(Box::new(|panic| {
        let position = output::panic_position(panic);
        if redact::is_detecting() {
            say!("warning: a text was left out because redaction failed at {position}");
        } else {
            say!("error: internal error at {position}; please report it");
            std::process::abort();
        }
    }));
}

fn run(cli: &Cli) -> anyhow::Result<output::Exit> {
    let mut environment = Environment::read()?;
    environment.apply_output_options(cli.color, cli.no_pager);
    environment.start_logging();
    commands::run(cli, &environment)
}
