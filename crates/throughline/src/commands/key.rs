//! `throughline key`

use std::io::Write;
use std::path::PathBuf;

use serde::Serialize;

use crate::commands::App;
use crate::commands::encrypt::format_key_location;
use crate::keychain::SystemKeychain;
use crate::output::{self, Exit};

/// Show where the encryption key is, or copy it
///
/// The key itself is never printed, because printed text ends up in terminal histories and in the
/// logs of agents.
#[derive(Debug, clap::Args)]
pub(crate) struct KeyArgs {
    /// Write a copy of the key to this new file, to be stored on another machine
    #[arg(long, value_name = "FILE", conflicts_with = "take_from")]
    copy_to: Option<PathBuf>,

    /// Use the key in this file from now on
    #[arg(long, value_name = "FILE")]
    take_from: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct KeyReport {
    encrypted: bool,
    seal: Option<store::encryption::EncryptionInfo>,
}

pub(crate) fn run(app: &App<'_>, args: &KeyArgs) -> anyhow::Result<Exit> {
    if let Some(file) = &args.take_from {
        store::encryption::use_key_file(&app.home, file)?;
    }
    if let Some(file) = &args.copy_to {
        return copy_key(app, file);
    }
    let seal = store::encryption::encryption_info(&app.home, &SystemKeychain)?;
    let is_encrypted = seal.is_some();
    if args.json {
        output::print_json(&KeyReport {
            encrypted: is_encrypted,
            seal,
        })?;
    } else if let Some(seal) = seal {
        writeln!(
            std::io::stdout(),
            "{}  in {}",
            seal.key,
            format_key_location(&seal.place)
        )?;
    } else {
        say!("The store is not encrypted.");
    }
    Ok(Exit::of_query(!is_encrypted))
}

fn copy_key(app: &App<'_>, file: &std::path::Path) -> anyhow::Result<Exit> {
    match store::encryption::copy_key(&app.home, &SystemKeychain, file)? {
        Some(id) => {
            say!(
                "Wrote key {id} to {}. Move the file to another machine.",
                file.display()
            );
            Ok(Exit::Done)
        }
        None => {
            say!("The store is not encrypted.");
            Ok(Exit::NothingFound)
        }
    }
}
