//! The command line as a whole.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::commands::{completions, config, doctor, ingest, redact, search, sessions, show};

/// Session memory for coding agents
///
/// Throughline reads the session logs of Claude Code, Codex CLI, Grok CLI and others, takes the
/// secrets out, keeps them in one SQLite file, and finds them again.
#[derive(Debug, Parser)]
#[command(
    name = "throughline",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
#[command(
    after_help = "Start with `throughline ingest`, then `throughline search WORDS`.\n\
    Exit status: 0 done, 1 nothing found, 2 error, 130 interrupted."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,

    /// Keep everything Throughline writes in this folder
    #[arg(long, global = true, value_name = "DIR", env = "THROUGHLINE_HOME")]
    pub home: Option<PathBuf>,

    /// Read this configuration file instead of the usual one
    #[arg(long, global = true, value_name = "FILE", env = "THROUGHLINE_CONFIG")]
    pub config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Ingest(ingest::IngestArgs),
    Search(search::SearchArgs),
    Sessions(sessions::SessionsArgs),
    Show(show::ShowArgs),
    Doctor(doctor::DoctorArgs),
    Config(config::ConfigArgs),
    Redact(redact::RedactArgs),
    Completions(completions::CompletionsArgs),
}
