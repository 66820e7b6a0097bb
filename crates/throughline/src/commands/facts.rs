//! `throughline facts`

use std::io::{Write, stdout};

use distill::model_facts::stage::{self, ModelFactError};
use memory::{Fact, FactKind};
use store::{FactFilter, FactScope, Store};

use crate::commands::show::find_session;
use crate::commands::{App, pin};
use crate::model;
use crate::output::table::{count, format_table};
use crate::output::text::sanitize;
use crate::output::{self, Exit, error_with_hint, say, time};

/// List facts, preferences and pins
///
/// With --extract, asks the configured model for the facts of a session, as `ingest` and `watch` do
/// when a session has ended.
#[derive(Debug, clap::Args)]
pub(crate) struct FactsArgs {
    /// Only workspaces whose address or folder contains this
    #[arg(long, value_name = "PART")]
    workspace: Option<String>,

    /// Only this kind: preference, decision, correction, command, outcome, note
    #[arg(long, value_name = "KIND", value_parser = parse_fact_kind)]
    kind: Option<FactKind>,

    /// Include superseded facts
    #[arg(long)]
    history: bool,

    /// Delete the fact with this id
    #[arg(long, value_name = "ID", conflicts_with_all = ["workspace", "kind", "history"])]
    forget: Option<String>,

    /// Extract the facts of this session with the configured model: its id or a prefix of it
    #[arg(
        long,
        value_name = "SESSION",
        conflicts_with_all = ["workspace", "kind", "history", "forget"]
    )]
    extract: Option<String>,

    /// The number of facts to show
    #[arg(short = 'n', long, default_value_t = 100, value_name = "NUMBER")]
    limit: usize,

    /// Print the facts as JSON
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
    if let Some(prefix) = &args.forget {
        let fact = pin::find_fact(&store, prefix)?;
        store.forget_fact(fact.id)?;
        say(&format!("Forgotten: {}", fact.id.short()));
        return Ok(Exit::Done);
    }
    if let Some(session) = &args.extract {
        return extract_facts(app, args, &store, session);
    }
    let facts = store.facts(&FactFilter {
        scope: args
            .workspace
            .clone()
            .map_or(FactScope::All, FactScope::Part),
        kind: args.kind,
        history: args.history,
        limit: args.limit,
    })?;
    if args.json {
        output::print_json(&facts)?;
    } else if facts.is_empty() {
        say("No facts.");
    } else {
        write!(stdout().lock(), "{}", format_facts(app, &facts))?;
    }
    Ok(if facts.is_empty() {
        Exit::NothingFound
    } else {
        Exit::Done
    })
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

fn format_facts(app: &App<'_>, facts: &[Fact]) -> String {
    let head = [
        "ID", "KIND", "SAID BY", "LAST SAID", "TIMES", "WORKSPACE", "FACT",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(facts.iter().map(|fact| {
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
            time::format_time(Some(fact.seen), &app.environment.zone),
            fact.times.to_string(),
            sanitize(place),
            format!("{}{state}", sanitize(&fact.text).replace('\n', " ")),
        ]
    }));
    format_table(&rows)
}
