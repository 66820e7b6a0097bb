//! `throughline remember`

use memory::{FactKind, Trust};
use store::{FactOutcome, NewFact, Store};

use crate::commands::App;
use crate::output::{self, Exit, error_with_hint, say};

/// Save a fact
///
/// Agents see the fact when a prompt in this workspace is about it. A repeated fact is counted; a
/// fact that contradicts an older one replaces it. `throughline facts forget ID` deletes a fact.
#[derive(Debug, clap::Args)]
pub(crate) struct RememberArgs {
    /// The fact, in a sentence
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,

    #[command(flatten)]
    scope: FactScopeArgs,

    /// A tag to find the fact by; can be repeated
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The workspaces in which a fact applies.
#[derive(Debug, clap::Args)]
pub(crate) struct FactScopeArgs {
    /// The workspace in which it applies [default: that of the current folder]
    #[arg(long, value_name = "PART", conflicts_with = "everywhere")]
    workspace: Option<String>,

    /// It applies in every workspace
    #[arg(long)]
    everywhere: bool,
}

/// A fact that the user states on the command line.
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

/// Saves a fact and prints the result.
pub(crate) fn remember_fact(
    app: &App<'_>,
    store: &Store,
    statement: &UserFact<'_>,
    json: bool,
) -> anyhow::Result<Exit> {
    let text = check_fact_text(statement.text)?;
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

/// Returns the text of a fact with its whitespace collapsed, if it is short enough for one.
pub(crate) fn check_fact_text(text: &str) -> anyhow::Result<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = text.split(' ').count();
    if text.is_empty() {
        return Err(error_with_hint(
            "there is nothing to remember", "give the fact as an argument",
        ));
    }
    if words > memory::fact::WORDS_MAX {
        return Err(error_with_hint(
            format!(
                "a fact has at most {} words, but this one has {words}",
                memory::fact::WORDS_MAX
            ),
            "shorten it, or save several facts",
        ));
    }
    Ok(text)
}

fn format_remembered(merged: &FactOutcome, place: &str) -> String {
    let id = merged.id.short();
    let mut message = if merged.repeated {
        format!("Already known, counted again: {id} ({place})")
    } else {
        format!("Remembered: {id} ({place})")
    };
    if !merged.superseded.is_empty() {
        let ids: Vec<_> = merged
            .superseded
            .iter()
            .map(memory::FactId::short)
            .collect();
        message += &format!("\nReplaces {}", ids.join(", "));
    }
    message
}
