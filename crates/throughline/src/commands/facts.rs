//! `throughline facts`

use std::io::Write;

use distill::model_facts::stage::{self, ModelFactError};
use memory::{Fact, FactKind, Trust};
use store::{FactFilter, FactScope, NewFact, Store};

use crate::commands::show::find_session;
use crate::commands::{App, parse_limit, pin, remember};
use crate::model;
use crate::output::table::{TableColumn, count, format_columns};
use crate::output::text::{one_line, sanitize};
use crate::output::{self, Exit, error_with_hint, say};

/// List facts, preferences and pins
///
/// With WORDS, only the facts that contain all of them are listed. With --extract, the configured
/// model is asked for the facts of a session, as `ingest` and `watch` do when a session has ended.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(crate) struct FactsArgs {
    #[command(subcommand)]
    command: Option<FactsCommand>,

    /// Only facts that contain all of these words
    #[arg(value_name = "WORDS")]
    words: Vec<String>,

    /// Only workspaces whose address or folder contains this
    #[arg(long, value_name = "PART")]
    workspace: Option<String>,

    /// Only the workspace of the current folder, and what applies everywhere
    #[arg(long, conflicts_with = "workspace")]
    here: bool,

    /// Only this kind: preference, decision, correction, command, outcome, note
    #[arg(long, value_name = "KIND", value_parser = parse_fact_kind)]
    kind: Option<FactKind>,

    /// Include superseded facts
    #[arg(long)]
    history: bool,

    /// Extract the facts of this session with the configured model
    #[arg(
        long,
        value_name = "SESSION",
        conflicts_with_all = ["words", "workspace", "here", "kind", "history"]
    )]
    extract: Option<String>,

    /// The number of facts to show
    #[arg(short = 'n', long, default_value = "100", value_name = "NUMBER")]
    #[arg(value_parser = parse_limit)]
    limit: usize,

    /// Print the facts as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum FactsCommand {
    Edit(FactEditArgs),
    /// Delete a fact
    Forget {
        /// The id of the fact, or the beginning of it
        #[arg(value_name = "ID")]
        id: String,
    },
}

/// Replace the text of a fact; the old text stays in its history
#[derive(Debug, clap::Args)]
struct FactEditArgs {
    /// The id of the fact, or the beginning of it
    #[arg(value_name = "ID")]
    id: String,

    /// The new text
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<String>,

    /// Print the fact as JSON
    #[arg(long)]
    json: bool,
}

fn parse_fact_kind(name: &str) -> Result<FactKind, String> {
    FactKind::from_name(name).ok_or_else(|| {
        let known: Vec<_> = FactKind::ALL.iter().map(|kind| kind.name()).collect();
        format!("unknown kind; known kinds are {}", known.join(", "))
    })
}

pub(crate) fn run(app: &App<'_>, args: &FactsArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    match &args.command {
        Some(FactsCommand::Edit(edit)) => return edit_fact(app, &store, edit),
        Some(FactsCommand::Forget { id }) => return forget_fact(&store, id),
        None => {}
    }
    if let Some(session) = &args.extract {
        return extract_facts(app, args, &store, session);
    }
    app.check_workspace_part(&store, args.workspace.as_deref())?;
    let scope = match (&args.workspace, args.here) {
        (Some(part), _) => FactScope::Part(part.clone()),
        (None, true) => FactScope::Workspaces(vec![app.find_workspace(&store, None)?.key]),
        (None, false) => FactScope::All,
    };
    let mut facts = store.facts(&FactFilter {
        scope,
        kind: args.kind,
        history: args.history,
        limit: match args.words.is_empty() {
            true => args.limit.saturating_add(1),
            false => usize::MAX,
        },
    })?;
    let words: Vec<_> = args.words.iter().map(|word| word.to_lowercase()).collect();
    facts.retain(|fact| {
        let text = fact.text.to_lowercase();
        words.iter().all(|word| text.contains(word))
    });
    let has_more = facts.len() > args.limit;
    facts.truncate(args.limit);
    if args.json {
        output::print_json(&facts)?;
    } else if facts.is_empty() {
        say(&no_facts(args));
    } else {
        write!(app.output(), "{}", format_facts(app, &facts))?;
        if has_more {
            let shown = count(facts.len(), "fact");
            say!("Showing {shown}; use -n to show more.");
        }
    }
    Ok(if facts.is_empty() {
        Exit::NothingFound
    } else {
        Exit::Done
    })
}

/// Says that no fact was listed, and what to do about it.
fn no_facts(args: &FactsArgs) -> String {
    if !args.words.is_empty() {
        let words = args.words.join(" ");
        format!("No fact contains {words:?}; `throughline search` also searches the sessions.")
    } else if args.workspace.is_some() || args.here || args.kind.is_some() {
        "No facts match.".to_owned()
    } else {
        "No facts yet; `throughline remember` saves one.".to_owned()
    }
}

fn forget_fact(store: &Store, prefix: &str) -> anyhow::Result<Exit> {
    let fact = pin::find_fact(store, prefix)?;
    store.forget_fact(fact.id)?;
    say(&format!("Forgotten: {}", fact.id.short()));
    Ok(Exit::Done)
}

/// Replaces the text of a fact. What the user writes is the user's own statement.
fn edit_fact(app: &App<'_>, store: &Store, args: &FactEditArgs) -> anyhow::Result<Exit> {
    let fact = pin::find_fact(store, &args.id)?;
    let text = remember::check_fact_text(&args.text.join(" "))?;
    let workspace = match &fact.workspace {
        Some(key) => Some(app.find_workspace(store, Some(key))?),
        None => None,
    };
    let id = store.replace_fact(
        fact.id,
        NewFact {
            workspace,
            kind: fact.kind,
            text,
            tags: fact.tags,
            trust: Trust::User,
            pinned: fact.pinned,
            at: app.environment.now,
            sources: fact.sources,
        },
    )?;
    if args.json {
        output::print_json(&store.fact(id)?)?;
    } else {
        say(&format!("Changed {} to {}.", fact.id.short(), id.short()));
    }
    Ok(Exit::Done)
}

/// Extracts the facts of a session with the configured model.
fn extract_facts(
    app: &App<'_>,
    args: &FactsArgs,
    store: &Store,
    session: &str,
) -> anyhow::Result<Exit> {
    let session = find_session(store, session)?.id;
    let model = model::configured_model(app)?;
    let found = model::with_asker(app, store, &*model, "facts", Some(&session), |asker| {
        stage::extract_model_facts(store, asker, &session, None)
    })?;
    let found = match found {
        Ok(found) => found,
        Err(ModelFactError::NothingToRead) => {
            say(&format!("{session}: {}.", ModelFactError::NothingToRead));
            return Ok(Exit::NothingFound);
        }
        Err(declined @ ModelFactError::Busy { .. }) => {
            return Err(error_with_hint(
                declined.to_string(),
                "try again in a minute",
            ));
        }
        Err(declined @ ModelFactError::ModelUnavailable(_)) => {
            let hint = "`throughline usage --own` shows what was spent, [model] what may be";
            return Err(error_with_hint(declined.to_string(), hint));
        }
        Err(declined) => return Err(declined.into()),
    };
    if args.json {
        output::print_json(&serde_json::json!({
            "session": session,
            "facts": found.merged,
            "unfit": found.rejected,
        }))?;
        return Ok(Exit::Done);
    }
    let repeated = found.merged.iter().filter(|fact| fact.repeated).count();
    say(&format!(
        "Found {}; {repeated} known before, {} left out.",
        count(found.merged.len(), "fact"),
        found.rejected.len()
    ));
    for why in &found.rejected {
        say(&format!("Left out: {}.", sanitize(why)));
    }
    Ok(Exit::Done)
}

const COLUMNS: &[TableColumn] = &[
    TableColumn::left("ID"),
    TableColumn::left("KIND"),
    TableColumn::left("SAID BY").dropped_at(2),
    TableColumn::left("LAST SAID").dropped_at(1),
    TableColumn::right("TIMES").dropped_at(3),
    TableColumn::left("WORKSPACE").shrinks_to(10),
    TableColumn::left("FACT").shrinks_to(44),
];

fn format_facts(app: &App<'_>, facts: &[Fact]) -> String {
    let rows = facts.iter().map(|fact| {
        let pinned = if fact.pinned { " (pinned)" } else { "" };
        let state = match fact.superseded {
            Some(newer) => format!(" (superseded by {})", newer.short()),
            None => String::new(),
        };
        let place = fact
            .workspace
            .as_deref()
            .map_or("everywhere", memory::workspace::name);
        vec![
            fact.id.short(),
            format!("{}{pinned}", fact.kind),
            fact.trust.name().to_owned(),
            app.format_when(Some(fact.seen)),
            fact.times.to_string(),
            sanitize(place),
            format!("{}{state}", one_line(&fact.text)),
        ]
    });
    format_columns(COLUMNS, &rows.collect::<Vec<_>>(), app.columns())
}
