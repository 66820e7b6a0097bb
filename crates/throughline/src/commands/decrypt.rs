//! `throughline decrypt`

use crate::commands::App;
use crate::commands::encrypt::{print_step, report_conversion};
use crate::keychain::SystemKeychain;
use crate::output::Exit;

/// Remove the encryption of the store
///
/// The key is kept, because older backups need it.
#[derive(Debug, clap::Args)]
pub(crate) struct DecryptArgs {}

pub(crate) fn run(app: &App<'_>, _: &DecryptArgs) -> anyhow::Result<Exit> {
    let conversion = store::encryption::decrypt(&app.home, &SystemKeychain, &mut |step| {
        print_step(app, step)
    })?;
    report_conversion(app, &conversion)
}
