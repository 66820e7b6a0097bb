//! `throughline injections` and `throughline feedback`

use std::io::Write;

use clap::ValueEnum;
use memory::{MemoryItem, SessionId};
use store::{Injection, InjectionVerdict, Store};

use crate::commands::sessions::session_id;
use crate::commands::{App, parse_limit};
use crate::output::table::{TableColumn, format_columns};
use crate::output::text::{indent, sanitize};
use crate::output::{self, Exit, error_with_hint};

/// List what agents were given from memory, and whether it was used
#[derive(Debug, clap::Args)]
pub(crate) struct InjectionsArgs {
    /// Show the text of this injection: its id or a prefix of it
    #[arg(value_name = "ID", conflicts_with = "session")]
    id: Option<String>,

    /// Only the session with this id or id prefix
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Show at most this many
    #[arg(short = 'n', long, default_value = "30", value_name = "NUMBER")]
    #[arg(value_parser = parse_limit)]
    limit: usize,

    /// Print the injections as JSON
    #[arg(long)]
    json: bool,
}

/// Rate an injection as good or bad
///
/// Items of a good injection are shown more readily, items of a bad one are not shown again.
#[derive(Debug, clap::Args)]
pub(crate) struct FeedbackArgs {
    /// The id of an injection, or a prefix of it
    #[arg(value_name = "ID")]
    id: String,

    /// Whether the injection helped
    verdict: FeedbackVerdict,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FeedbackVerdict {
    Good,
    Bad,
}

pub(crate) fn run(app: &App<'_>, args: &InjectionsArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    if let Some(id) = &args.id {
        return show_injection(app, args, &store, id);
    }
    let session = match &args.session {
        None => None,
        Some(id) => {
            let named = store.sessions_by_prefix(id, 1)?;
            Some(
                named
                    .into_iter()
                    .next()
                    .map_or_else(|| SessionId::new(id), |session| session.id),
            )
        }
    };
    let injections = store.injections(session.as_ref(), args.limit)?;
    if args.json {
        output::print_json(&injections)?;
    } else if injections.is_empty() {
        output::say(match session {
            Some(_) => "This session was given nothing from memory.",
            None => "No agent was given anything yet; `throughline install` connects them.",
        });
    } else {
        write!(
            app.output(),
            "{}",
            format_injections(app, &store, &injections)
        )?;
    }
    Ok(Exit::of_query(injections.is_empty()))
}

const COLUMNS: &[TableColumn] = &[
    TableColumn::left("ID"),
    TableColumn::left("WHEN"),
    TableColumn::right("ITEMS"),
    TableColumn::right("USED"),
    TableColumn::right("TOKENS"),
    TableColumn::left("VERDICT"),
    TableColumn::left("SESSION"),
];

fn format_injections(app: &App<'_>, store: &Store, injections: &[Injection]) -> String {
    let rows = injections.iter().map(|injection| {
        let is_scored = injection.items.iter().any(|item| item.used.is_some());
        let used = injection
            .items
            .iter()
            .filter(|item| item.used == Some(true))
            .count();
        let session = injection.session.as_ref();
        vec![
            injection.name.clone(),
            app.format_when(Some(injection.at)),
            injection.items.len().to_string(),
            if is_scored {
                used.to_string()
            } else {
                "-".to_owned()
            },
            injection.tokens.to_string(),
            match injection.verdict {
                None => "-",
                Some(InjectionVerdict::Good) => "good",
                Some(InjectionVerdict::Bad) => "bad",
            }
            .to_owned(),
            session.map_or("-".to_owned(), |id| session_id(store, id)),
        ]
    });
    format_columns(COLUMNS, &rows.collect::<Vec<_>>(), app.columns())
}

/// Returns the injection with this id or id prefix.
fn find_injection(store: &Store, id: &str) -> anyhow::Result<Injection> {
    let mut matches = store.injections_by_prefix(id, 2)?;
    let number = match matches.len() {
        0 => "no",
        1 => return Ok(matches.swap_remove(0)),
        _ => "more than one",
    };
    Err(error_with_hint(
        format!("{number} injection has an id that starts with {id:?}"),
        "`throughline injections` lists the ids",
    ))
}

/// Shows the texts that an injection was made of. The texts are read from the store, because only
/// the ids of the items are recorded.
fn show_injection(
    app: &App<'_>,
    args: &InjectionsArgs,
    store: &Store,
    id: &str,
) -> anyhow::Result<Exit> {
    let injection = find_injection(store, id)?;
    let mut texts = Vec::new();
    for item in &injection.items {
        texts.push(match item.item {
            MemoryItem::Fact(id) => store.fact(id)?.map(|fact| fact.text),
            MemoryItem::Record(id) => store.read_record(id)?.map(|record| record.content),
        });
    }
    if args.json {
        output::print_json(&serde_json::json!({ "injection": injection, "texts": texts }))?;
        return Ok(Exit::Done);
    }
    let style = app.style();
    let mut out = app.output();
    write!(
        out,
        "{}",
        format_injections(app, store, std::slice::from_ref(&injection))
    )?;
    for (item, text) in injection.items.iter().zip(texts) {
        let (kind, _) = item.item.parts();
        let id = item.item.to_string();
        let used = match item.used {
            Some(true) => ", used",
            Some(false) => ", not used",
            None => "",
        };
        let head = format!("{kind} {}", id.get(..8).unwrap_or(&id));
        writeln!(out, "\n{}, {} tokens{used}", style.bold(&head), item.tokens)?;
        let text = text.map_or("(no longer stored)".to_owned(), |text| sanitize(&text));
        write!(out, "{}", indent(&text, "    "))?;
    }
    out.finish()?;
    Ok(Exit::Done)
}

pub(crate) fn run_feedback(app: &App<'_>, args: &FeedbackArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    let injection = find_injection(&store, &args.id)?;
    let verdict = match args.verdict {
        FeedbackVerdict::Good => InjectionVerdict::Good,
        FeedbackVerdict::Bad => InjectionVerdict::Bad,
    };
    store.set_verdict(&injection.name, verdict)?;
    say!("Rated injection {}.", injection.name);
    Ok(Exit::Done)
}
