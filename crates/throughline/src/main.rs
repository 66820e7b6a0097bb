//! Throughline: session memory for coding agents.
//!
//! The only crate that reads the environment and the configuration, prints, and exits. Each command
//! has a file under [`commands`] with its arguments, whose doc comments are the help, and `run`.

mod agent_cli;
mod cli;
mod commands;
mod config;
mod daemon;
mod environment;
mod evaluation;
mod install;
mod keychain;
mod model;
mod output;
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
    if let Some(called) = commands::hook::called(&arguments) {
        return commands::hook::answer(called).into();
    }
    let cli = match Cli::try_parse_from(cli::rewrite(arguments)) {
        Ok(cli) => cli,
        Err(error) => return output::complain_of_arguments(&error),
    };
    match run(&cli) {
        Ok(outcome) => outcome.into(),
        Err(error) => output::complain(&error).into(),
    }
}

fn run(cli: &Cli) -> anyhow::Result<output::Outcome> {
    let environment = Environment::read()?;
    environment.start_logging();
    commands::run(cli, &environment)
}
