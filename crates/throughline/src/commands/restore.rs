//! `throughline restore`

use std::path::PathBuf;

use serde::Serialize;
use store::{CarriedTombstones, RedactionKey, RestoreResult, RestoreSource};

use crate::commands::App;
use crate::commands::backup::{copy_bar, show_progress};
use crate::keychain::SystemKeychain;
use crate::output::table::count;
use crate::output::{self, Exit, error_with_hint};

/// Replace the store with a backup
///
/// The backup is verified first, and the current store is kept in a folder beside it. A backup of
/// an older version is migrated; the backup file itself is not changed.
#[derive(Debug, clap::Args)]
pub(crate) struct RestoreArgs {
    /// The backup, written by `throughline backup`
    file: PathBuf,

    /// The key file of an encrypted backup, if this machine does not have the key
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
        store::encryption::StoreFileKind::of(&store::Store::database_path(&app.home)),
        Ok(store::encryption::StoreFileKind::Encrypted(_))
    );
    let bar = copy_bar(app);
    let restored = store::restore(
        &app.home,
        &from,
        app.environment.now,
        &mut |progress| show_progress(&bar, progress),
        &mut |_| Ok(()),
    )
    .map_err(|error| match error {
        store::Error::NotAStore { path } if path == args.file => error_with_hint(
            format!("{} is not a backup", path.display()),
            "give a file that `throughline backup` wrote",
        ),
        error => error.into(),
    })?;
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
            "The previous store is kept in {}; delete it when you no longer need it.",
            copy.display()
        );
    }
    print_tombstones(&restored.tombstones);
    for copy in &restored.removed_copies {
        say!("Deleted the older {}.", copy.display());
    }
    if restored.redaction_key == RedactionKey::Other {
        say!(
            "warning: the backup has no redaction key, so the same secret now gets a different \
             placeholder",
        );
    }
    if was_encrypted && restored.key.is_none() {
        say!("warning: the store is no longer encrypted; run `throughline encrypt`");
    }
}

/// Prints what stays forgotten.
fn print_tombstones(carried: &CarriedTombstones) {
    if carried.tombstones > 0 {
        say!(
            "Applied {} of the previous store: {} and {} of the backup stay forgotten.",
            count(carried.tombstones, "tombstone"),
            count(carried.sessions, "session"),
            count(carried.records, "record"),
        );
    }
    if carried.left > 0 {
        say!(
            "warning: the backup has another redaction key, so {} could not be applied; forgotten \
             records may be ingested again",
            count(carried.left, "tombstone"),
        );
    }
    if carried.unreadable {
        say!(
            "warning: the previous store could not be read, so records that were forgotten after \
             this backup may be back; forget them again with `throughline forget`",
        );
    }
}
