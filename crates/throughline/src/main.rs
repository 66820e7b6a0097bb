//! Throughline: session memory for coding agents.
//!
//! The only crate that reads the environment and the configuration, prints, and exits. Each command
//! has a file under [`commands`] with its arguments, whose doc comments are the help, and `run`.

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
mod model;
mod samples;
mod stages;
mod stoppable;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::Cli;
use crate::environment::Environment;

fn main() -> ExitCode {
    let arguments = environment::arguments();
    // An agent waits for a hook: it goes before everything that takes time.
    if let Some(called) = commands::hook::parse_command_line(&arguments) {
        return commands::hook::answer_hook(called).into();
    }
    let cli = match Cli::try_parse_from(cli::rewrite_arguments(arguments)) {
        Ok(cli) => cli,
        Err(error) => return output::report_usage_error(&error),
    };
    match run(&cli) {
        Ok(outcome) => outcome.into(),
        Err(error) => output::report_error(&error).into(),
    }
}

fn run(cli: &Cli) -> anyhow::Result<output::Exit> {
    let environment = Environment::read()?;
    environment.start_logging();
    commands::run(cli, &environment)
}
