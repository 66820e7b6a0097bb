//! `throughline prefer`

use memory::FactKind;

use crate::commands::App;
use crate::commands::remember::{FactScopeArgs, UserFact, remember_fact};
use crate::output::Exit;

/// Save a preference: how you want things done
///
/// Agents see a preference when a prompt is about it, before other facts and marked as yours; a
/// pinned preference is shown to every session. Agents cannot save or change preferences.
#[derive(Debug, clap::Args)]
pub(crate) struct PreferArgs {
    /// The preference, such as "use pnpm, not npm"
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,

    #[command(flatten)]
    scope: FactScopeArgs,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &PreferArgs) -> anyhow::Result<Exit> {
    let statement = UserFact {
        text: &args.text.join(" "),
        kind: FactKind::Preference,
        tags: &[],
        pinned: false,
        scope: &args.scope,
    };
    remember_fact(app, &app.open()?, &statement, args.json)
}
