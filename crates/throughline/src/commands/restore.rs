//! `throughline restore`

use std::path::PathBuf;

use serde::Serialize;
use store::{CarriedTombstones, RedactionKey, RestoreResult, RestoreSource};

use crate::commands::App;
use crate::commands::backup::{progress_bar, show_progress};
use crate::keychain::SystemKeychain;
use crate::output::table::count;
use crate::output::{self, Exit};

/// Put a backup into the place of the store
///
/// Checks the file first and keeps the store that is there in a folder beside it. A backup of an older
/// version is brought up to date; the file itself stays as it is.
#[derive(Debug, clap::Args)]
pub(crate) struct RestoreArgs {
    /// A file that `throughline backup` wrote
    file: PathBuf,

    /// The file with the key of an encrypted backup, where this machine does not have it
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct RestoreOutput {
    records: u64,
    key: Option<String>,
    safety_copy: Option<PathBuf>,
    removed_copies: Vec<PathBuf>,
    redaction_key_restored: bool,
    tombstones: CarriedTombstones,
}

pub(crate) fn run(app: &App<'_>, args: &RestoreArgs) -> anyhow::Result<Exit> {
    let from = RestoreSource {
        file: &args.file,
        key_file: args.key_file.as_deref(),
        keychain: &SystemKeychain,
    };
    let was_encrypted = matches!(
        store::seal::StoreFileKind::of(&store::Store::database_path(&app.home)),
        Ok(store::seal::StoreFileKind::Encrypted(_))
    );
    let bar = progress_bar(app);
    let restored = store::restore(
        &app.home,
        &from,
        app.environment.now,
        &mut |progress| show_progress(&bar, progress),
        &mut |_| Ok(()),
    )?;
    bar.finish_and_clear();
    if args.json {
        output::print_json(&restore_report(restored))?;
    } else {
        print_restored(args, &restored, was_encrypted);
    }
    Ok(Exit::Done)
}

fn restore_report(restored: RestoreResult) -> RestoreOutput {
    RestoreOutput {
        records: restored.records,
        key: restored.key.map(|(id, _)| id.to_string()),
        safety_copy: restored.safety_copy,
        removed_copies: restored.removed_copies,
        redaction_key_restored: restored.redaction_key == RedactionKey::Restored,
        tombstones: restored.tombstones,
    }
}

fn print_restored(args: &RestoreArgs, restored: &RestoreResult, was_encrypted: bool) {
    say!(
        "Restored {} records from {}.",
        restored.records,
        args.file.display()
    );
    if let Some(copy) = &restored.safety_copy {
        say!(
            "The store that was here is kept in {}; remove it when all is well.",
            copy.display()
        );
    }
    print_tombstones(&restored.tombstones);
    for copy in &restored.removed_copies {
        say!("Removed the older {}.", copy.display());
    }
    if restored.redaction_key == RedactionKey::Other {
        say!(
            "warning: the file brings no redaction key: from now on secrets get other marks than before",
        );
    }
    if was_encrypted && restored.key.is_none() {
        say!("warning: the store is not encrypted any more; `throughline encrypt` encrypts it");
    }
}

/// Says what stays forgotten.
fn print_tombstones(carried: &CarriedTombstones) {
    if carried.tombstones > 0 {
        say!(
            "Applied {} of the earlier store: {} and {} of the backup stay forgotten.",
            count(
                usize::try_from(carried.tombstones).unwrap_or(usize::MAX),
                "tombstone"
            ),
            count(carried.sessions, "session"),
            count(carried.records, "record"),
        );
    }
    if carried.left > 0 {
        say!(
            "warning: the backup has another redaction key, so {} could not be taken along; what \
             they keep out comes back if its agent still has it",
            count(
                usize::try_from(carried.left).unwrap_or(usize::MAX),
                "tombstone"
            ),
        );
    }
    if carried.unreadable {
        say!(
            "warning: the earlier store could not be read, so what was forgotten in it after this \
             backup may be back; `throughline forget` removes it again",
        );
    }
}
