//! `throughline pin` and `throughline unpin`

use memory::{Fact, FactKind, RecordId, Workspace};
use store::{NewFact, Store, StoredRecord};

use crate::commands::App;
use crate::commands::remember::{FactScopeArgs, UserFact, remember_fact};
use crate::output::{Exit, error_with_hint};

/// Show a fact, a record or a text to every session
///
/// A pinned fact is shown once in every session of its workspace, whatever its prompts are about,
/// and is never removed by retention.
#[derive(Debug, clap::Args)]
pub(crate) struct PinArgs {
    /// The id of a fact or a record, or a text
    #[arg(required = true, value_name = "ID|TEXT")]
    what: Vec<String>,

    #[command(flatten)]
    scope: FactScopeArgs,
}

/// Unpin a fact
#[derive(Debug, clap::Args)]
pub(crate) struct UnpinArgs {
    /// The id of a fact, or a prefix of it
    #[arg(value_name = "ID")]
    id: String,
}

pub(crate) fn run(app: &App<'_>, args: &PinArgs) -> anyhow::Result<Exit> {
    let store = app.open()?;
    let what = args.what.join(" ");
    if let Some(record) = lookup_record(&store, &what)? {
        let workspace = match &record.workspace {
            Some(key) => Some(app.find_workspace(&store, Some(key))?),
            None => None,
        };
        let merged = store.remember(fact_from_record(&record, workspace, app))?;
        say!("Pinned {}.", merged.id.short());
        return Ok(Exit::Done);
    }
    if looks_like_id(&what)
        && let Some(fact) = lookup_fact(&store, &what)?
    {
        store.set_pinned(fact.id, true)?;
        say!("Pinned {}.", fact.id.short());
        return Ok(Exit::Done);
    }
    // A single word is not a statement; most likely it is a mistyped id.
    if !what.trim().contains(char::is_whitespace) {
        return Err(error_with_hint(
            format!("no fact or record has the id {what:?}"),
            "`throughline facts` and `throughline search` show ids; a text to pin needs at least \
             two words",
        ));
    }
    let statement = UserFact {
        text: &what,
        kind: FactKind::Note,
        tags: &[],
        pinned: true,
        scope: &args.scope,
    };
    remember_fact(app, &store, &statement, false)
}

pub(crate) fn run_unpin(app: &App<'_>, args: &UnpinArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    let fact = find_fact(&store, &args.id)?;
    if !fact.pinned {
        say!("{} is not pinned.", fact.id.short());
        return Ok(Exit::NothingFound);
    }
    store.set_pinned(fact.id, false)?;
    say!("Unpinned {}.", fact.id.short());
    Ok(Exit::Done)
}

/// Makes a fact of the first words of a record, as many as a fact may have, with the trust of the
/// record.
fn fact_from_record(record: &StoredRecord, workspace: Option<Workspace>, app: &App<'_>) -> NewFact {
    let words: Vec<_> = record
        .content
        .split_whitespace()
        .take(memory::fact::WORDS_MAX)
        .collect();
    NewFact {
        workspace,
        kind: FactKind::Note,
        text: words.join(" "),
        tags: record.tags.clone(),
        trust: record.trust,
        pinned: true,
        at: record.at.unwrap_or(app.environment.now),
        sources: vec![record.id],
    }
}

fn looks_like_id(text: &str) -> bool {
    (8..=32).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the fact with this id prefix.
pub(crate) fn find_fact(store: &Store, prefix: &str) -> anyhow::Result<Fact> {
    lookup_fact(store, prefix)?.ok_or_else(|| {
        error_with_hint(
            format!("no fact has an id that starts with {prefix:?}"),
            "`throughline facts` lists the ids",
        )
    })
}

/// Returns the record with this id, or with this prefix of it, as `search` prints it.
fn lookup_record(store: &Store, what: &str) -> anyhow::Result<Option<StoredRecord>> {
    if let Ok(id) = what.parse::<RecordId>() {
        return Ok(store.read_record(id)?);
    }
    if !looks_like_id(what) {
        return Ok(None);
    }
    match store.records_by_prefix(what, 2)?[..] {
        [] => Ok(None),
        [id] => Ok(store.read_record(id)?),
        [..] => Err(error_with_hint(
            format!("several records have an id that starts with {what:?}"),
            "give a longer prefix; `throughline search --json` lists the full ids",
        )),
    }
}

fn lookup_fact(store: &Store, prefix: &str) -> anyhow::Result<Option<Fact>> {
    let mut matches = store.facts_by_prefix(prefix, 2)?;
    if matches.len() > 1 {
        return Err(error_with_hint(
            format!("several facts have an id that starts with {prefix:?}"),
            "give a longer prefix; `throughline facts --json` lists the full ids",
        ));
    }
    Ok(matches.pop())
}
