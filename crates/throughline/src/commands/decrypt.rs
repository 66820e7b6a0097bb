//! `throughline decrypt`

use crate::commands::App;
use crate::commands::encrypt::{report, tell};
use crate::keychain::SystemKeychain;
use crate::output::Outcome;

/// Make an encrypted store a plain one again
///
/// The key stays where it is, for backups that need it.
#[derive(Debug, clap::Args)]
pub struct DecryptArgs {}

pub fn run(app: &App<'_>, _: &DecryptArgs) -> anyhow::Result<Outcome> {
    let conversion = store::seal::decrypt(&app.home, &SystemKeychain, &mut |step| tell(app, step))?;
    report(app, &conversion)
}
