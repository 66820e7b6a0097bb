//! `throughline forget`

use std::io::Write;

use memory::{Flavor, RecordId, RecordKind};
use store::forget::{FileRole, ForgetPlan, ForgetReport, Selection, Traces, managed_files};
use store::{LiftOutcome, Store, Tombstone};

use crate::commands::search::parse_record_kind;
use crate::commands::sessions::session_id;
use crate::commands::{App, parse_flavor, pin, show};
use crate::output::table::{TableColumn, count, format_columns, format_table};
use crate::output::text::{one_line, sanitize};
use crate::output::{self, Exit, error_with_hint, say, time};

/// Delete records, sessions or a workspace for good
///
/// Forgotten records are erased from every byte of the store, together with the facts that were
/// extracted from them, and are not ingested again. The agents' own logs are not changed. If
/// several filters are given, all of them must match.
#[derive(Debug, clap::Args)]
pub(crate) struct ForgetArgs {
    /// Records, sessions and facts, by id or id prefix; a session includes its subagents
    #[arg(value_name = "ID")]
    ids: Vec<String>,

    /// Everything in this workspace, given by its address, name or folder
    #[arg(long, value_name = "WORKSPACE")]
    workspace: Option<String>,

    /// Records that contain all of these words
    #[arg(long, value_name = "WORDS")]
    query: Option<String>,

    /// Only sessions of this agent
    #[arg(long, value_name = "NAME", value_parser = parse_flavor)]
    agent: Option<Flavor>,

    /// Only records of this type; can be repeated
    #[arg(long = "type", value_name = "TYPE", value_parser = parse_record_kind)]
    kind: Vec<RecordKind>,

    /// Only before this time, such as 2026-01-05, yesterday, 12h or 2w
    #[arg(long, value_name = "TIME")]
    before: Option<String>,

    /// Show what would be forgotten, without forgetting it
    #[arg(long)]
    dry_run: bool,

    /// Do not ask for confirmation
    #[arg(long, short = 'y')]
    yes: bool,

    /// List what was forgotten and will not be ingested again
    #[arg(long, conflicts_with_all = ["ids", "workspace", "query", "before", "dry_run", "yes"])]
    list: bool,

    /// Allow a forgotten session or record to be ingested again
    #[arg(long, value_name = "ID")]
    #[arg(conflicts_with_all = ["ids", "workspace", "query", "before", "list"])]
    allow: Option<String>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// At most this many records with the same id prefix are checked for being copies of each other.
const ID_MATCHES_MAX: usize = 100;
/// At most this many sessions, records and facts are listed; the rest is counted.
const LISTED_MAX: usize = 20;

pub(crate) fn run(app: &App<'_>, args: &ForgetArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    if args.list {
        return list_tombstones(app, &store, args);
    }
    if let Some(name) = &args.allow {
        return lift_tombstone(&store, args, name);
    }
    let selection = build_selection(app, &store, args)?;
    if selection.is_empty() {
        return Err(error_with_hint(
            "nothing to forget was given",
            "give an ID, --workspace, --query or --before; see `throughline forget --help`",
        ));
    }
    let plan = store.plan_forget(&selection)?;
    if plan.is_empty() {
        say!("Nothing matches.");
        return Ok(Exit::NothingFound);
    }
    if args.dry_run {
        if args.json {
            output::print_json(&plan)?;
        } else {
            let text = format_plan(app, &store, &plan, app.columns())?;
            write!(app.output(), "{text}")?;
            say!("Nothing was forgotten; this was a dry run.");
        }
        return Ok(Exit::Done);
    }
    if !args.yes && !confirm_forget(app, &store, &plan)? {
        say!("Nothing was forgotten.");
        return Ok(Exit::NothingFound);
    }
    let forgotten = store.forget(plan, app.environment.now)?;
    if args.json {
        output::print_json(&forgotten)?;
    }
    report_forgotten(app, &forgotten)
}

fn build_selection(app: &App<'_>, store: &Store, args: &ForgetArgs) -> anyhow::Result<Selection> {
    let mut selection = Selection {
        workspace: args.workspace.clone(),
        query: args.query.clone(),
        flavor: args.agent,
        kinds: args.kind.clone(),
        before: app.parse_time_arg(args.before.as_deref())?,
        ..Selection::default()
    };
    for id in &args.ids {
        match find_record(store, id)? {
            Some(record) => selection.records.push(record),
            None => match show::find_session(store, id) {
                Ok(session) => selection.sessions.push(session.id),
                Err(error) => match pin::find_fact(store, id) {
                    Ok(fact) => selection.facts.push(*fact.id.as_bytes()),
                    Err(_) if store.sessions_by_prefix(id, 1)?.is_empty() => {
                        return Err(error_with_hint(
                            format!("no session, record or fact begins with {id:?}"),
                            "`throughline sessions`, `search` and `facts` list the ids",
                        ));
                    }
                    Err(_) => return Err(error),
                },
            },
        }
    }
    Ok(selection)
}

/// Returns the record with this id prefix, or `None` if the prefix names no record.
fn find_record(store: &Store, prefix: &str) -> anyhow::Result<Option<RecordId>> {
    let matches = store.records_by_prefix(prefix, ID_MATCHES_MAX)?;
    match matches[..] {
        [] => Ok(None),
        // Copies of one record have adjacent ids and are forgotten together.
        [id, ..]
            if matches
                .iter()
                .all(|other| other.duplicate_range() == id.duplicate_range()) =>
        {
            Ok(Some(id))
        }
        [..] if !store.sessions_by_prefix(prefix, 1)?.is_empty() => Ok(None),
        [..] => Err(error_with_hint(
            format!("several records have an id that starts with {prefix:?}"),
            "give a longer prefix of the id",
        )),
    }
}

const PLAN_COLUMNS: &[TableColumn] = &[
    TableColumn::left("FORGET"),
    TableColumn::left("ID"),
    TableColumn::left("WHEN"),
    TableColumn::left("WHAT"),
    TableColumn::left("TEXT").shrinks_to(24),
];

/// Formats what would be forgotten, and how much it is.
pub(crate) fn format_plan(
    app: &App<'_>,
    store: &Store,
    plan: &ForgetPlan,
    columns_max: Option<usize>,
) -> anyhow::Result<String> {
    let mut rows = Vec::new();
    for session in plan.sessions.iter().take(LISTED_MAX) {
        rows.push(vec![
            "session".to_owned(),
            session_id(store, &session.id),
            app.format_when(session.ended.or(session.started)),
            count(session.records, "record"),
            one_line(session.title.as_deref().unwrap_or("-")),
        ]);
    }
    for record in plan.records.iter().take(LISTED_MAX) {
        let copy = if record.copy { " (copy)" } else { "" };
        // A record that another program submitted keeps that program's id.
        let id = match record.public_id == record.id.to_string() {
            true => store.short_record_id(record.id)?,
            false => sanitize(&record.public_id),
        };
        rows.push(vec![
            "record".to_owned(),
            id,
            app.format_when(record.at),
            format!("{}{copy}", record.kind),
            one_line(&record.text),
        ]);
    }
    for fact in plan.facts.iter().take(LISTED_MAX) {
        rows.push(vec![
            "fact".to_owned(),
            fact.id[..8.min(fact.id.len())].to_owned(),
            String::new(),
            String::new(),
            one_line(&fact.text),
        ]);
    }
    let counts = [
        (plan.sessions.len(), "session"),
        (plan.records.len(), "record"),
        (plan.facts.len(), "fact"),
    ];
    let more = counts.map(|(items, noun)| more_line(items, noun)).concat();
    let all = counts.iter().filter(|(items, _)| *items > 0);
    let all: Vec<_> = all.map(|(items, noun)| count(*items, noun)).collect();
    // Facts have neither a time nor a type.
    let has_facts_only = plan.sessions.is_empty() && plan.records.is_empty();
    let columns = match has_facts_only {
        true => &[PLAN_COLUMNS[0], PLAN_COLUMNS[1], PLAN_COLUMNS[4]],
        false => PLAN_COLUMNS,
    };
    if has_facts_only {
        for row in &mut rows {
            row.drain(2..4);
        }
    }
    let table = format_columns(columns, &rows, columns_max);
    let total = match rows.len() {
        1 => String::new(),
        _ => format!("{} in all\n", all.join(" and ")),
    };
    Ok(format!("{table}{more}{total}"))
}

fn more_line(items: usize, noun: &str) -> String {
    match items.saturating_sub(LISTED_MAX) {
        0 => String::new(),
        more => format!("… and {}\n", count(more, &format!("more {noun}"))),
    }
}

fn confirm_forget(app: &App<'_>, store: &Store, plan: &ForgetPlan) -> anyhow::Result<bool> {
    let text = format_plan(app, store, plan, app.columns())?;
    app.confirm(
        "Delete this for good?",
        "add --yes, or use --dry-run to see what would be forgotten",
        || say(text.trim_end()),
    )
}

fn report_forgotten(app: &App<'_>, forgotten: &ForgetReport) -> anyhow::Result<Exit> {
    say!(
        "Forgot {}, {} and {}; rewrote or removed {} of archived logs.",
        count(forgotten.sessions, "session"),
        count(forgotten.records, "record"),
        count(forgotten.facts, "fact"),
        count(forgotten.archived_pieces, "piece"),
    );
    if forgotten.unreadable > 0 {
        say!(
            "warning: {} could not be read and was removed anyway, so other logs could not be \
             searched for it; run `throughline doctor --deep` to check the store",
            count(forgotten.unreadable, "stored text"),
        );
    }
    let sources = &forgotten.sources;
    for copy in &forgotten.copies_removed {
        say!("Deleted the copy {}.", copy.display());
    }
    if !sources.is_empty() {
        say!("The agents' own logs still contain it; delete them yourself if you want:");
        for source in sources.iter().take(LISTED_MAX) {
            say!("  {}", sanitize(source));
        }
        if sources.len() > LISTED_MAX {
            say(more_line(sources.len(), "file").trim_end());
        }
    }
    let others = managed_files(&app.home)?;
    let others: Vec<_> = others
        .iter()
        .filter(|file| file.role == FileRole::Foreign)
        .collect();
    for file in others.iter().take(LISTED_MAX) {
        say!(
            "{} does not belong to Throughline and was not checked.",
            file.path.display()
        );
    }
    if forgotten.traces == Traces::Waiting {
        return Err(error_with_hint(
            "the records are deleted, but another process is still reading, so their bytes remain \
             in the write-ahead log",
            "stop that process (`throughline watch`?); the next command then erases them",
        ));
    }
    Ok(Exit::Done)
}

fn list_tombstones(app: &App<'_>, store: &Store, args: &ForgetArgs) -> anyhow::Result<Exit> {
    let tombstones = store.tombstones()?;
    if args.json {
        output::print_json(&tombstones)?;
    } else if tombstones.is_empty() {
        say!("Nothing was forgotten.");
    } else {
        let head = ["FORGOTTEN", "WHAT", "AGENT", "RECORDS", "ID"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        rows.extend(
            tombstones
                .iter()
                .map(|tombstone| tombstone_row(app, tombstone)),
        );
        write!(app.output(), "{}", format_table(&rows))?;
    }
    Ok(Exit::of_query(tombstones.is_empty()))
}

fn tombstone_row(app: &App<'_>, tombstone: &Tombstone) -> Vec<String> {
    vec![
        time::format_time(tombstone.forgotten, &app.environment.zone),
        tombstone.kind.name().to_owned(),
        tombstone.agent.clone(),
        tombstone.records.to_string(),
        tombstone.id.clone(),
    ]
}

fn lift_tombstone(store: &Store, args: &ForgetArgs, name: &str) -> anyhow::Result<Exit> {
    let lifted = store.lift_tombstone(name)?;
    if args.json {
        output::print_json(&lifted)?;
    }
    match lifted {
        LiftOutcome::Lifted(tombstone) => {
            let what = tombstone.kind.name();
            say!(
                "The {what} can be ingested again; run `throughline ingest` if its agent still \
                 has it."
            );
            Ok(Exit::Done)
        }
        LiftOutcome::Unknown => Err(error_with_hint(
            format!("nothing forgotten has the id {name:?}"),
            "`throughline forget --list` lists the ids; give a full id, not a prefix",
        )),
        LiftOutcome::Ambiguous(count) => Err(error_with_hint(
            format!("{count} forgotten items have an id that starts with {name:?}"),
            "give a longer prefix of the id",
        )),
    }
}
