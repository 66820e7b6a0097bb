//! `throughline-eval`: measures how well search finds records and how rarely unrelated prompts get
//! an injection.
//!
//! Corpora and questions are JSON Lines files. [`corpus`] reads them and writes their rows to a
//! real store, redactor and index included. [`report`] asks the questions of each folder and prints
//! tables of the [`measures`]; [`prompts`] sends prompts through the function that hooks call. With
//! `--stdio`, [`stdio`] answers an external harness line by line instead. [`layers`] replays the
//! touches of real sessions through the memory layers. [`answers`] asks questions of a store that
//! `throughline ingest` filled from real logs.

#![warn(unreachable_pub, let_underscore_drop)]
#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::await_holding_lock
)]

mod answers;
mod corpus;
mod layers;
mod measures;
mod prompts;
mod report;
mod stdio;

use std::io::{BufReader, Write, stderr, stdin, stdout};
use std::path::PathBuf;

use anyhow::Context;
use clap::{Parser, Subcommand};
use jiff::Timestamp;
use store::Store;

use crate::answers::AnswerOptions;
use crate::corpus::EvalStore;

/// Measure search and injection on corpora with known answers
///
/// Each folder holds `corpus.jsonl` and `queries.jsonl`, either of them compressed as .gz if you
/// like. The corpora are stored below the home folder, which must not hold a store yet.
#[derive(Debug, Parser)]
#[command(name = "throughline-eval", version)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<EvalCommand>,

    /// Folders with a corpus and its questions
    #[arg(value_name = "DIR", required_unless_present = "stdio")]
    folders: Vec<PathBuf>,

    /// Answer the protocol `retrieval-eval/1` on standard input and output instead
    #[arg(long, conflicts_with = "folders")]
    stdio: bool,

    /// Create the stores in this folder
    #[arg(long, value_name = "DIR", env = "THROUGHLINE_HOME", required = true)]
    home: Option<PathBuf>,

    /// Use this time instead of the current one
    #[arg(long, value_name = "TIME", env = "THROUGHLINE_NOW")]
    now: Option<Timestamp>,
}

#[derive(Debug, Subcommand)]
enum EvalCommand {
    /// Replay the touches of real sessions through the memory layers
    Layers {
        /// Sessions with their events, one a line
        #[arg(value_name = "REFS.jsonl.gz")]
        refs: PathBuf,

        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Ask questions of a store of real logs, and rank the records that answer them
    Answers {
        /// Questions with the ids of the records that answer them, one a line
        #[arg(value_name = "QUESTIONS.jsonl")]
        questions: PathBuf,

        /// The home folder of the store, filled by `throughline ingest`
        #[arg(long, value_name = "DIR", env = "THROUGHLINE_HOME")]
        home: PathBuf,

        /// Search for so many of the longest words of each question instead of the question
        #[arg(long, value_name = "NUMBER")]
        keywords: Option<usize>,

        /// List the questions whose answer is not among the first three hits
        #[arg(long)]
        misses: bool,

        /// Write the features of all hits to this file, for tools/ranking
        #[arg(long, value_name = "FILE")]
        features: Option<PathBuf>,
    },
}

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    #[expect(clippy::disallowed_methods, reason = "a program reads the clock once")]
    let now = cli.now.unwrap_or_else(Timestamp::now);
    match &cli.command {
        Some(EvalCommand::Layers { refs, json }) => {
            let report = layers::run(refs, *json)?;
            return writeln!(stdout().lock(), "{report}").context("cannot print the report");
        }
        Some(EvalCommand::Answers {
            questions,
            home,
            keywords,
            misses,
            features,
        }) => {
            let options = AnswerOptions {
                keywords: *keywords,
                lists_misses: *misses,
                features: features.as_deref(),
            };
            let report = answers::run(&Store::open(home)?, questions, &options, now)?;
            return write!(stdout().lock(), "{report}").context("cannot print the report");
        }
        None => {}
    }
    let home = cli.home.context("--home is missing")?;
    if Store::database_path(&home).exists() {
        anyhow::bail!(
            "{} already holds a store, which would distort the results; use an empty folder",
            home.display()
        );
    }
    if cli.stdio {
        let mut eval_store = EvalStore::open(&home)?;
        let mut input = BufReader::new(stdin().lock());
        return stdio::serve(&mut eval_store, &mut input, &mut stdout().lock(), now);
    }
    let report = report::run(&cli.folders, &home, now)?;
    write!(stdout().lock(), "{report}").context("cannot print the report")
}

/// Prints a line of progress to standard error.
fn print_progress(line: &str) -> anyhow::Result<()> {
    writeln!(stderr(), "{line}").context("cannot print the progress")
}
