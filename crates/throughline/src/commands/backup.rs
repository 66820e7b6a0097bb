//! `throughline backup`

use std::path::PathBuf;

use indicatif::ProgressBar;
use store::{CopyProgress, Overwrite};

use crate::commands::App;
use crate::output::progress::progress_bar;
use crate::output::table::format_bytes;
use crate::output::{self, Exit, error_with_hint};

/// Copy the store to a file
///
/// The store may be in use meanwhile. The copy is consistent and is verified before the file
/// appears. A copy of an encrypted store is encrypted with the same key, which the copy does not
/// contain.
#[derive(Debug, clap::Args)]
pub(crate) struct BackupArgs {
    /// The file to write
    file: PathBuf,

    /// Overwrite the file if it exists
    #[arg(long)]
    force: bool,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &BackupArgs) -> anyhow::Result<Exit> {
    if args.file.exists() && !args.force {
        return Err(error_with_hint(
            format!("{} already exists", args.file.display()),
            "choose another file, or overwrite it with --force",
        ));
    }
    let folder = args
        .file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(error_with_hint(
            format!("the folder {} does not exist", folder.display()),
            "create it, or choose another file",
        ));
    }
    let overwrite = if args.force {
        Overwrite::Replace
    } else {
        Overwrite::Refuse
    };
    let bar = copy_bar(app);
    let backup = app
        .open_existing()?
        .backup(&args.file, overwrite, &mut |progress| {
            show_progress(&bar, progress);
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
        Some(key) => say!("The backup is encrypted with key {key}, which it does not contain."),
        None => say!(
            "The backup is not encrypted and contains the redaction key; protect it like the \
             store.",
        ),
    }
    Ok(Exit::Done)
}

/// Returns a progress bar for copying a store.
pub(crate) fn copy_bar(app: &App<'_>) -> ProgressBar {
    progress_bar(app.environment, "{bar:30} {percent} %")
}

pub(crate) fn show_progress(bar: &ProgressBar, progress: CopyProgress) {
    bar.set_length(progress.total_pages);
    bar.set_position(progress.done_pages);
}
