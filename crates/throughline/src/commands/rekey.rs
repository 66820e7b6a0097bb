//! `throughline rekey`

use crate::commands::App;
use crate::commands::encrypt::{KeyFileArgs, print_step, report_conversion};
use crate::keychain::SystemKeychain;
use crate::output::Exit;

/// Change the encryption key of the store
///
/// This also moves the key between the keychain and a key file.
#[derive(Debug, clap::Args)]
pub(crate) struct RekeyArgs {
    #[command(flatten)]
    key: KeyFileArgs,
}

pub(crate) fn run(app: &App<'_>, args: &RekeyArgs) -> anyhow::Result<Exit> {
    let location = args.key.key_location();
    let conversion =
        store::encryption::rekey(&app.home, &location, &SystemKeychain, &mut |step| {
            print_step(app, step)
        })?;
    report_conversion(app, &conversion)
}
