//! `throughline man`

use std::path::PathBuf;

use anyhow::Context;
use clap::CommandFactory;

use crate::cli::Cli;
use crate::commands::App;
use crate::output::Exit;

/// Write the manual pages to a folder
///
/// For example: throughline man ~/.local/share/man/man1
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// The folder; it is created if it does not exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(crate) fn run(_: &App<'_>, args: &ManArgs) -> anyhow::Result<Exit> {
    let folder = &args.folder;
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
        .with_context(|| format!("cannot write manual pages to {}", folder.display()))?;
    say!("Wrote the manual pages to {}.", folder.display());
    Ok(Exit::Done)
}
