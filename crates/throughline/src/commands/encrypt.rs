//! `throughline encrypt`

use std::path::PathBuf;

use store::seal::{Conversion, Converted, KeyPlace};
use store::{Result, SwapStep};

use crate::commands::App;
use crate::keychain::SystemKeychain;
use crate::output::{Outcome, hinted, say};

/// Encrypt the store
///
/// Makes a key, copies everything into an encrypted file, compares, and lets it take the place of the
/// store. Whatever interrupts it, the store stays readable; the next command finishes or undoes it.
/// The key goes into the system's keychain unless a file is named.
#[derive(Debug, clap::Args)]
pub struct EncryptArgs {
    #[command(flatten)]
    key: KeyArgs,
}

/// Where a new key is put.
#[derive(Debug, clap::Args)]
pub struct KeyArgs {
    /// Put the key into this file instead of the keychain; a key that is there already is used
    ///
    /// The file must be readable by you alone and lie outside of the store's folder.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
}

impl KeyArgs {
    pub fn place(&self) -> KeyPlace {
        match &self.key_file {
            Some(path) => KeyPlace::File(path.clone()),
            None => KeyPlace::Keychain,
        }
    }
}

pub fn run(app: &App<'_>, args: &EncryptArgs) -> anyhow::Result<Outcome> {
    let place = args.key.place();
    let conversion = store::seal::encrypt(&app.home, &place, &SystemKeychain, &mut |step| {
        tell(app, step)
    })?;
    let outcome = report(app, &conversion)?;
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
        say(&format!(
            "Removed {summaries}, which lay beside the store in plain text."
        ));
    }
    Ok(())
}

/// Says what is being done, to somebody who watches.
pub fn tell(app: &App<'_>, step: SwapStep) -> Result<()> {
    let next = match step {
        SwapStep::KeyKept => "Copying …",
        SwapStep::Written => "Comparing …",
        SwapStep::Checked => "Exchanging …",
        _ => return Ok(()),
    };
    if app.environment.watched {
        say(next);
    }
    Ok(())
}

/// Says what a conversion came to.
pub fn report(app: &App<'_>, conversion: &Conversion) -> anyhow::Result<Outcome> {
    match conversion {
        Conversion::Done(converted) => done(converted),
        Conversion::NoStore => {
            return Err(hinted(
                format!("there is no memory in {} yet", app.home.display()),
                "run `throughline ingest` first",
            ));
        }
        Conversion::AlreadyEncrypted => {
            say("The store is encrypted already; `throughline rekey` gives it another key.");
        }
        Conversion::NotEncrypted => say("The store is not encrypted."),
    }
    Ok(Outcome::Done)
}

fn done(converted: &Converted) {
    let records = converted.records;
    match &converted.new_key {
        Some((id, place)) => {
            say(&format!(
                "Encrypted {records} records with key {id} in {}.",
                show(place)
            ));
            say(
                "Keep a copy of the key away from this machine: `throughline key --copy-to FILE` writes one.",
            );
            say(
                "Without it the store cannot be read; only what the agents' own logs still hold can be ingested again.",
            );
            if let KeyPlace::File(path) = place {
                say(&format!(
                    "warning: whoever can read {} can read the store; a keychain is safer",
                    path.display()
                ));
            }
        }
        None => say(&format!(
            "Decrypted {records} records; the store is plain now."
        )),
    }
    if let Some((id, place)) = &converted.old_key {
        say(&format!(
            "Key {id} stays in {}: backups made until now need it.",
            show(place)
        ));
    }
    for copy in &converted.plain_copies {
        say(&format!(
            "warning: {} is not encrypted; remove it when it is not needed",
            copy.display()
        ));
    }
}

/// Says where a key lies.
pub fn show(place: &KeyPlace) -> String {
    match place {
        KeyPlace::Keychain => "the keychain".to_owned(),
        KeyPlace::File(path) => path.display().to_string(),
    }
}
