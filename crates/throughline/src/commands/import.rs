//! `throughline import`

use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::path::PathBuf;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use store::{ImportReport, ImportTrust};

use crate::commands::{App, ingest};
use crate::output::table::count;
use crate::output::{self, Exit};

/// Lines passed over that are shown.
const SHOWN_MAX: usize = 10;

/// Take in what `throughline export` wrote
///
/// Every text goes through the redactor again. What is in memory already stays as it is, so an
/// import can be repeated, and one that was interrupted can be run again.
#[derive(Debug, clap::Args)]
pub(crate) struct ImportArgs {
    /// The file to read; - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Believe what the file says of the user: what they said, prefer and pinned
    ///
    /// What this store exported itself is believed anyway. In files of other stores what the user
    /// said comes in with the lowest trust, preferences and corrections as notes, and nothing is pinned.
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
    let bar = progress_bar(app, size);
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

fn progress_bar(app: &App<'_>, size: u64) -> ProgressBar {
    if !app.environment.stderr_is_terminal || size == 0 {
        return ProgressBar::hidden();
    }
    let style = "{bar:30} {bytes}/{total_bytes} at {bytes_per_sec}, {eta} left";
    let bar = ProgressBar::with_draw_target(Some(size), ProgressDrawTarget::stderr());
    match ProgressStyle::with_template(style) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn report(imported: &ImportReport) {
    say!(
        "Imported {} of {} and {}; {} were there already.",
        count(imported.records, "record"),
        count(imported.sessions, "session"),
        count(imported.facts, "fact"),
        count(imported.known_records, "record"),
    );
    if imported.distrusted > 0 {
        say!(
            "{} not signed by this store: taken in with the lowest trust, unpinned, preferences as \
             notes, without running summaries. If the file is yours, import it with --trust.",
            count(imported.distrusted, "line"),
        );
    }
    if imported.clamped > 0 {
        say!(
            "Numbers out of range, clamped: {}.",
            count(imported.clamped, "line"),
        );
    }
    if imported.skipped > 0 {
        say!("{} could not be used:", count(imported.skipped, "line"));
        for (line, why) in imported.skipped_lines.iter().take(SHOWN_MAX) {
            say!("  line {line}: {why}");
        }
        if imported.skipped > SHOWN_MAX {
            say!("  and more; --json lists them");
        }
    }
    if imported.interrupted {
        say!("Interrupted; run it again to go on.");
    }
}
