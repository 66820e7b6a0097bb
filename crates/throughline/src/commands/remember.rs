//! `throughline remember`

use memory::{FactKind, Trust};
use store::{FactOutcome, NewFact, Store};

use crate::commands::App;
use crate::output::{self, Exit, error_with_hint, say};

/// Keep a fact
///
/// It is kept until it is deleted, and shown to an agent when a prompt in this workspace is about it.
/// Said again it is counted, contradicted by a later one it becomes history.
#[derive(Debug, clap::Args)]
pub(crate) struct RememberArgs {
    /// What to remember
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,

    #[command(flatten)]
    scope: FactScopeArgs,

    /// A word to find it by; may be given several times
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,

    /// Print what became of it as JSON
    #[arg(long)]
    json: bool,
}

/// Where a fact holds.
#[derive(Debug, clap::Args)]
pub(crate) struct FactScopeArgs {
    /// It holds in this workspace instead of the one around the current folder
    #[arg(long, value_name = "PART", conflicts_with = "everywhere")]
    workspace: Option<String>,

    /// It holds in every workspace
    #[arg(long)]
    everywhere: bool,
}

/// A fact as a person states it.
#[derive(Debug)]
pub(crate) struct UserFact<'a> {
    pub(crate) text: &'a str,
    pub(crate) kind: FactKind,
    pub(crate) tags: &'a [String],
    pub(crate) pinned: bool,
    pub(crate) scope: &'a FactScopeArgs,
}

pub(crate) fn run(app: &App<'_>, args: &RememberArgs) -> anyhow::Result<Exit> {
    let statement = UserFact {
        text: &args.text.join(" "),
        kind: FactKind::Note,
        tags: &args.tag,
        pinned: false,
        scope: &args.scope,
    };
    remember_fact(app, &app.open()?, &statement, args.json)
}

/// Keeps what the user states, and says what became of it.
pub(crate) fn remember_fact(
    app: &App<'_>,
    store: &Store,
    statement: &UserFact<'_>,
    json: bool,
) -> anyhow::Result<Exit> {
    let text = statement
        .text
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let words = text.split(' ').count();
    if text.is_empty() {
        return Err(error_with_hint(
            "there is nothing to remember",
            "say it in a few words",
        ));
    }
    if words > memory::fact::WORDS_MAX {
        return Err(error_with_hint(
            format!(
                "a fact has at most {} words, this has {words}",
                memory::fact::WORDS_MAX
            ),
            "say it shorter, or in several facts",
        ));
    }
    let workspace = if statement.scope.everywhere {
        None
    } else {
        Some(app.find_workspace(store, statement.scope.workspace.as_deref())?)
    };
    if let Some(workspace) = &workspace
        && !app.config.scope().allows(workspace)
    {
        return Err(error_with_hint(
            format!("the workspace {} is not captured", workspace.root),
            "change `allow` or `deny` under [capture] in the configuration, or use --everywhere",
        ));
    }
    let place = workspace
        .as_ref()
        .map_or_else(|| "everywhere".to_owned(), |w| w.key.clone());
    let merged = store.remember(NewFact {
        workspace,
        kind: statement.kind,
        text,
        tags: statement.tags.to_vec(),
        trust: Trust::User,
        pinned: statement.pinned,
        at: app.environment.now,
        sources: Vec::new(),
    })?;
    if json {
        output::print_json(&merged)?;
    } else {
        say(&format_remembered(&merged, &place));
    }
    Ok(Exit::Done)
}

fn format_remembered(merged: &FactOutcome, place: &str) -> String {
    let id = merged.id.short();
    let mut told = if merged.repeated {
        format!("Known already, counted again: {id} ({place})")
    } else {
        format!("Remembered: {id} ({place})")
    };
    if !merged.superseded.is_empty() {
        let ids: Vec<_> = merged
            .superseded
            .iter()
            .map(memory::FactId::short)
            .collect();
        told += &format!("\nIt takes the place of {}", ids.join(", "));
    }
    told
}
