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
    #[arg(required_unless_present_any = ["allow", "path"], value_name = "TEXT")]
    text: Vec<String>,

    /// Save that agents may always run this command without asking you
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["text", "path"])]
    allow: Option<String>,

    /// Save where a part of the workspace is, such as web=apps/web
    #[arg(long, value_name = "NAME=PATH", value_parser = parse_path, conflicts_with = "text")]
    path: Option<(String, String)>,

    #[command(flatten)]
    scope: FactScopeArgs,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &PreferArgs) -> anyhow::Result<Exit> {
    let (text, tags) = match (&args.allow, &args.path) {
        (Some(command), _) => (
            format!("Always allow `{command}` without asking"),
            vec!["allow".to_owned()],
        ),
        (None, Some((name, path))) => (format!("{name} lives in {path}"), vec!["path".to_owned()]),
        (None, None) => (args.text.join(" "), Vec::new()),
    };
    let statement = UserFact {
        text: &text,
        kind: FactKind::Preference,
        tags: &tags,
        pinned: false,
        scope: &args.scope,
    };
    remember_fact(app, &app.open()?, &statement, args.json)
}

fn parse_path(argument: &str) -> Result<(String, String), String> {
    match argument.split_once('=') {
        Some((name, path)) if !name.is_empty() && !path.is_empty() => {
            Ok((name.to_owned(), path.to_owned()))
        }
        _ => Err("write NAME=PATH, such as web=apps/web".to_owned()),
    }
}
