//! `throughline rekey`

use crate::commands::App;
use crate::commands::encrypt::{KeyArgs, report, tell};
use crate::keychain::SystemKeychain;
use crate::output::Outcome;

/// Encrypt the store with a new key
///
/// Also moves a key from a file to the keychain, or from there to a file.
#[derive(Debug, clap::Args)]
pub struct RekeyArgs {
    #[command(flatten)]
    key: KeyArgs,
}

pub fn run(app: &App<'_>, args: &RekeyArgs) -> anyhow::Result<Outcome> {
    let place = args.key.place();
    let conversion = store::seal::rekey(&app.home, &place, &SystemKeychain, &mut |step| {
        tell(app, step)
    })?;
    report(app, &conversion)
}
