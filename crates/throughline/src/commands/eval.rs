//! `throughline eval`

use std::io::{BufReader, Write, stdin, stdout};
use std::path::PathBuf;

use crate::commands::App;
use crate::evaluation::corpus::EvalStore;
use crate::evaluation::{report, stdio};
use crate::output::{Exit, error_with_hint};

/// Measure how well search finds and how well it keeps silent
///
/// Each folder holds `corpus.jsonl` and `queries.jsonl` (or .gz). The corpus goes into a store of its own below
/// the home folder, so give one that holds nothing else.
#[derive(Debug, clap::Args)]
pub struct EvalArgs {
    /// Folders with a corpus and its questions
    #[arg(value_name = "DIR", required_unless_present = "stdio")]
    folders: Vec<PathBuf>,

    /// Answer the protocol `retrieval-eval/1` on standard input and output instead
    #[arg(long, conflicts_with = "folders")]
    stdio: bool,
}

pub fn run(app: &App<'_>, args: &EvalArgs) -> anyhow::Result<Exit> {
    if app.has_store() {
        return Err(error_with_hint(
            format!("{} already holds a memory", app.home.display()),
            "give an empty folder with --home: what is measured would be mixed with it",
        ));
    }
    let now = app.environment.now;
    if args.stdio {
        let mut library = EvalStore::open(&app.home)?;
        let mut input = BufReader::new(stdin().lock());
        stdio::serve(&mut library, &mut input, &mut stdout().lock(), now)?;
    } else {
        let report = report::run(&args.folders, &app.home, now)?;
        write!(stdout().lock(), "{report}")?;
    }
    Ok(Exit::Done)
}
