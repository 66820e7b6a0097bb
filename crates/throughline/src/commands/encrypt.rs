//! `throughline encrypt`

use std::path::PathBuf;

use store::seal::{Conversion, ConversionReport, KeyLocation};
use store::{Result, SwapStep};

use crate::commands::App;
use crate::keychain::SystemKeychain;
use crate::output::{Exit, error_with_hint, say};

/// Encrypt the store
///
/// Makes a key, copies everything into an encrypted file, compares, and lets it take the place of the
/// store. Whatever interrupts it, the store stays readable; the next command finishes or undoes it.
/// The key goes into the system's keychain unless a file is named.
#[derive(Debug, clap::Args)]
pub(crate) struct EncryptArgs {
    #[command(flatten)]
    key: KeyFileArgs,
}

/// Where a new key is put.
#[derive(Debug, clap::Args)]
pub(crate) struct KeyFileArgs {
    /// Put the key into this file instead of the keychain; a key that is there already is used
    ///
    /// The file must be readable by you alone and lie outside of the store's folder.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl KeyFileArgs {
    pub(crate) fn key_place(&self) -> KeyLocation {
        match &self.key_file {
            Some(path) => KeyLocation::File(path.clone()),
            None => KeyLocation::Keychain,
        }
    }
}

pub(crate) fn run(app: &App<'_>, args: &EncryptArgs) -> anyhow::Result<Exit> {
    let place = args.key.key_place();
    let conversion = store::seal::encrypt(&app.home, &place, &SystemKeychain, &mut |step| {
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

/// The running summaries lie beside the store as plain text.
fn remove_summaries(app: &App<'_>) -> anyhow::Result<()> {
    let removed = app.open()?.remove_summaries()?;
    if removed > 0 {
        let summaries = match removed {
            1 => "1 running summary".to_owned(),
            many => format!("{many} running summaries"),
        };
        say!("Removed {summaries}, which lay beside the store in plain text.");
    }
    Ok(())
}

/// Says what is being done, to somebody who watches.
pub(crate) fn print_step(app: &App<'_>, step: SwapStep) -> Result<()> {
    let next = match step {
        SwapStep::KeyStored => "Copying …",
        SwapStep::Written => "Comparing …",
        SwapStep::Checked => "Exchanging …",
        _ => return Ok(()),
    };
    if app.environment.stderr_is_terminal {
        say(next);
    }
    Ok(())
}

/// Says what a conversion came to.
pub(crate) fn report_conversion(app: &App<'_>, conversion: &Conversion) -> anyhow::Result<Exit> {
    match conversion {
        Conversion::Done(converted) => report_converted(converted),
        Conversion::NoStore => {
            return Err(error_with_hint(
                format!("there is no memory in {} yet", app.home.display()),
                "run `throughline ingest` first",
            ));
        }
        Conversion::AlreadyEncrypted => {
            say!("The store is encrypted already; `throughline rekey` gives it another key.");
        }
        Conversion::NotEncrypted => say!("The store is not encrypted."),
    }
    Ok(Exit::Done)
}

fn report_converted(converted: &ConversionReport) {
    let records = converted.records;
    match &converted.new_key {
        Some((id, place)) => {
            say!(
                "Encrypted {records} records with key {id} in {}.",
                format_key_place(place)
            );
            say!(
                "Keep a copy of the key away from this machine: `throughline key --copy-to FILE` writes one.",
            );
            say!(
                "Without it the store cannot be read; only what the agents' own logs still hold can be ingested again.",
            );
            if let KeyLocation::File(path) = place {
                say!(
                    "warning: whoever can read {} can read the store; a keychain is safer",
                    path.display()
                );
            }
        }
        None => say!("Decrypted {records} records; the store is plain now."),
    }
    if let Some((id, place)) = &converted.old_key {
        say!(
            "Key {id} stays in {}: backups made until now need it.",
            format_key_place(place)
        );
    }
    for copy in &converted.plain_copies {
        say!(
            "warning: {} is not encrypted; remove it when it is not needed",
            copy.display()
        );
    }
}

/// Says where a key lies.
pub(crate) fn format_key_place(place: &KeyLocation) -> String {
    match place {
        KeyLocation::Keychain => "the keychain".to_owned(),
        KeyLocation::File(path) => path.display().to_string(),
    }
}
