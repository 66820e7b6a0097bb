//! `throughline import`

use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::path::PathBuf;

use anyhow::Context;
use indicatif::ProgressBar;
use store::{ImportReport, ImportTrust};

use crate::commands::{App, ingest};
use crate::output::progress::progress_bar;
use crate::output::table::count;
use crate::output::{self, Exit};

/// At most this many skipped lines are printed.
const SHOWN_MAX: usize = 10;

const PROGRESS: &str =
    "{wide_bar} {decimal_bytes}/{decimal_total_bytes} at {decimal_bytes_per_sec}, {eta} left";

/// Import a file that `throughline export` wrote
///
/// Every text is redacted again. Records that are already in the store are not changed, so an
/// import can be repeated or continued after an interruption.
#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// The file to read; - reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Trust what the file says about you: your statements, preferences and pins
    ///
    /// Files that this store exported are always trusted. From other stores, the user's statements
    /// are imported with the lowest trust, preferences and corrections as notes, and nothing is
    /// pinned.
    #[arg(long)]
    trust: bool,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &ImportArgs) -> anyhow::Result<Exit> {
    let (mut input, size): (Box<dyn BufRead>, u64) = if args.file.as_os_str() == "-" {
        (Box::new(stdin().lock()), 0)
    } else {
        let file = File::open(&args.file)
            .with_context(|| format!("cannot read {}", args.file.display()))?;
        let size = file.metadata().map_or(0, |metadata| metadata.len());
        (Box::new(BufReader::new(file)), size)
    };
    let stop = ingest::stop_on_interrupt()?;
    let store = app.open()?;
    let bar = match size {
        // The length of standard input is unknown.
        0 => ProgressBar::hidden(),
        _ => progress_bar(app.environment, PROGRESS),
    };
    bar.set_length(size);
    let claims = if args.trust {
        ImportTrust::All
    } else {
        ImportTrust::Signed
    };
    let scope = app.config.scope();
    let progress = |read| bar.set_position(read);
    let imported = store.import_within(&mut input, Some(&scope), claims, &stop, &progress)?;
    bar.finish_and_clear();
    if args.json {
        output::print_json(&imported)?;
    } else {
        report(&imported);
    }
    Ok(if imported.interrupted {
        Exit::Interrupted
    } else {
        Exit::Done
    })
}

fn report(imported: &ImportReport) {
    say!(
        "Imported {} from {}, and {}; skipped {} that the store already has.",
        count(imported.records, "record"),
        count(imported.sessions, "session"),
        count(imported.facts, "fact"),
        count(imported.known_records, "record"),
    );
    if imported.distrusted > 0 {
        say!(
            "{} not signed by this store: imported with the lowest trust, unpinned, preferences as \
             notes, without running summaries. If the file is yours, use --trust.",
            count(imported.distrusted, "line"),
        );
    }
    if imported.clamped > 0 {
        say!(
            "Clamped numbers that were out of range in {}.",
            count(imported.clamped, "line"),
        );
    }
    if imported.skipped > 0 {
        say!("Skipped {}:", count(imported.skipped, "line"));
        for (line, reason) in imported.skipped_lines.iter().take(SHOWN_MAX) {
            say!("  line {line}: {reason}");
        }
        if imported.skipped > SHOWN_MAX {
            say!("  and more; --json lists all of them");
        }
    }
    if imported.interrupted {
        say!("Interrupted; run the command again to continue.");
    }
}
