//! `throughline prefer`

use memory::FactKind;

use crate::commands::App;
use crate::commands::remember::{FactScopeArgs, UserFact, remember_fact};
use crate::output::Exit;

/// Keep a preference: how you want things done
///
/// A preference is shown to an agent when a prompt is about it, before other facts and as yours; pinned,
/// it is shown to every session. No agent can set or change one.
#[derive(Debug, clap::Args)]
pub(crate) struct PreferArgs {
    /// What you prefer, such as "use pnpm, not npm"
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,

    #[command(flatten)]
    scope: FactScopeArgs,

    /// Print what became of it as JSON
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
