//! `throughline backup`

use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use store::{CopyProgress, Overwrite};

use crate::commands::App;
use crate::output::table::format_bytes;
use crate::output::{self, Exit, error_with_hint};

/// Copy the store to a file, also while it is in use
///
/// The copy is of one moment and checked before it appears. It is encrypted if the store is, with the
/// same key, which is not in it.
#[derive(Debug, clap::Args)]
pub(crate) struct BackupArgs {
    /// The file to write
    file: PathBuf,

    /// Replace the file if it is there
    #[arg(long)]
    force: bool,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &BackupArgs) -> anyhow::Result<Exit> {
    if args.file.exists() && !args.force {
        return Err(error_with_hint(
            format!("{} exists already", args.file.display()),
            "name another file, or replace it with --force",
        ));
    }
    let folder = args
        .file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(error_with_hint(
            format!("there is no folder {}", folder.display()),
            "make it first, or name another file",
        ));
    }
    let overwrite = if args.force {
        Overwrite::Replace
    } else {
        Overwrite::Refuse
    };
    let bar = progress_bar(app);
    let backup = app
        .open_existing()?
        .backup(&args.file, overwrite, &mut |progress| {
            show_progress(&bar, progress)
        })?;
    bar.finish_and_clear();
    if args.json {
        output::print_json(&backup)?;
        return Ok(Exit::Done);
    }
    say!(
        "Backed up {} records to {} ({}).",
        backup.records,
        args.file.display(),
        format_bytes(backup.size_bytes)
    );
    match backup.key {
        Some(key) => say!("It is encrypted with key {key}, which is not in it."),
        None => say!(
            "It is not encrypted, and holds the redaction key as well: keep it as you would keep the store.",
        ),
    }
    Ok(Exit::Done)
}

/// Returns a bar for a copy, hidden when nobody watches.
pub(crate) fn progress_bar(app: &App<'_>) -> ProgressBar {
    if !app.environment.stderr_is_terminal {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    match ProgressStyle::with_template("{bar:30} {percent} %") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

pub(crate) fn show_progress(bar: &ProgressBar, progress: CopyProgress) {
    bar.set_length(progress.total_pages);
    bar.set_position(progress.done_pages);
}
