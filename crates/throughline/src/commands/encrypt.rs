//! `throughline encrypt`

use std::path::PathBuf;

use store::encryption::{Conversion, ConversionReport, KeyLocation};
use store::{Result, SwapStep};

use crate::commands::App;
use crate::keychain::SystemKeychain;
use crate::output::table::count;
use crate::output::{Exit, error_with_hint, say};

/// Encrypt the store
///
/// Generates a key, copies everything into an encrypted file, verifies the copy, and replaces the
/// store with it. If that is interrupted, the store stays readable and the next command finishes or
/// rolls back. The key is put into the system keychain unless --key-file is given.
#[derive(Debug, clap::Args)]
pub(crate) struct EncryptArgs {
    #[command(flatten)]
    key: KeyFileArgs,
}

/// Where a new key is stored.
#[derive(Debug, clap::Args)]
pub(crate) struct KeyFileArgs {
    /// Store the key in this file instead of the keychain; if the file has a key, use that
    ///
    /// The file must be readable by you only, and outside of the store's folder.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl KeyFileArgs {
    pub(crate) fn key_location(&self) -> KeyLocation {
        match &self.key_file {
            Some(path) => KeyLocation::File(path.clone()),
            None => KeyLocation::Keychain,
        }
    }
}

pub(crate) fn run(app: &App<'_>, args: &EncryptArgs) -> anyhow::Result<Exit> {
    if !store::encryption::ENCRYPTION_BUILT {
        return Err(error_with_hint(
            "this build of Throughline cannot encrypt a store",
            "build Throughline with the feature `encryption`; see docs/design/encryption.md",
        ));
    }
    let location = args.key.key_location();
    let conversion =
        store::encryption::encrypt(&app.home, &location, &SystemKeychain, &mut |step| {
            print_step(app, step)
        })?;
    let outcome = report_conversion(app, &conversion)?;
    if matches!(
        conversion,
        Conversion::Done(_) | Conversion::AlreadyEncrypted
    ) {
        remove_summaries(app)?;
    }
    Ok(outcome)
}

/// Removes the running summaries, which are plain text files beside the store.
fn remove_summaries(app: &App<'_>) -> anyhow::Result<()> {
    let removed = app.open()?.remove_summaries()?;
    if removed > 0 {
        say!(
            "Removed {}, which {} not encrypted.",
            count(removed, "running summary"),
            if removed == 1 { "was" } else { "were" }
        );
    }
    Ok(())
}

/// Prints the step that begins, in a terminal.
pub(crate) fn print_step(app: &App<'_>, step: SwapStep) -> Result<()> {
    let next = match step {
        SwapStep::KeyStored => "Copying …",
        SwapStep::Written => "Verifying …",
        SwapStep::Checked => "Replacing the store …",
        _ => return Ok(()),
    };
    if app.environment.stderr_is_terminal {
        say(next);
    }
    Ok(())
}

/// Prints the result of a conversion.
pub(crate) fn report_conversion(app: &App<'_>, conversion: &Conversion) -> anyhow::Result<Exit> {
    match conversion {
        Conversion::Done(converted) => report_converted(converted),
        Conversion::NoStore => {
            return Err(app.no_store_error());
        }
        Conversion::AlreadyEncrypted => {
            say!("The store is already encrypted; use `throughline rekey` to change the key.");
        }
        Conversion::NotEncrypted => say!("The store is not encrypted."),
    }
    Ok(Exit::Done)
}

fn report_converted(converted: &ConversionReport) {
    let records = converted.records;
    match &converted.new_key {
        Some((id, location)) => {
            say!(
                "Encrypted {records} records with key {id} in {}.",
                format_key_location(location)
            );
            say!(
                "Keep a copy of the key on another machine; `throughline key --copy-to FILE` \
                 writes one.",
            );
            say!(
                "Without the key the store cannot be read, and only the logs that the agents \
                 still have can be ingested again.",
            );
            if let KeyLocation::File(path) = location {
                say!(
                    "warning: anyone who can read {} can read the store; a keychain is safer",
                    path.display()
                );
            }
        }
        None => say!("Decrypted {records} records; the store is no longer encrypted."),
    }
    if let Some((id, location)) = &converted.old_key {
        say!(
            "Key {id} is kept in {}; existing backups need it.",
            format_key_location(location)
        );
    }
    for copy in &converted.plain_copies {
        say!(
            "warning: {} is not encrypted; delete it when you no longer need it",
            copy.display()
        );
    }
}

/// Formats the place of a key.
pub(crate) fn format_key_location(location: &KeyLocation) -> String {
    match location {
        KeyLocation::Keychain => "the keychain".to_owned(),
        KeyLocation::File(path) => path.display().to_string(),
    }
}
