//! `throughline forget`

use std::io::{BufRead, Write, stdin, stdout};

use memory::{Flavor, RecordId, RecordKind};
use store::forget::{FileRole, ForgetPlan, ForgetReport, Selection, Traces, managed_files};
use store::{LiftOutcome, Store, Tombstone};

use crate::commands::search::parse_record_kind;
use crate::commands::{App, parse_flavor, show};
use crate::output::table::{count, format_table};
use crate::output::text::sanitize;
use crate::output::{self, Exit, error_with_hint, say, time};

/// Forget records, sessions, a workspace, or everything before a date
///
/// What is forgotten is gone from every byte of the store, with the facts that were taken from it, and
/// does not come back with the next sweep. The agents' own files are not touched. Filters narrow each
/// other.
#[derive(Debug, clap::Args)]
pub(crate) struct ForgetArgs {
    /// Records and sessions, by their ids or the beginnings of them; a session goes with its subagents
    #[arg(value_name = "ID")]
    ids: Vec<String>,

    /// What happened in this workspace: its address, its name or its folder
    #[arg(long, value_name = "WORKSPACE")]
    workspace: Option<String>,

    /// Records with all of these words
    #[arg(long, value_name = "WORDS")]
    query: Option<String>,

    /// What this agent wrote
    #[arg(long, value_name = "NAME", value_parser = parse_flavor)]
    agent: Option<Flavor>,

    /// Records of this type; may be given several times
    #[arg(long = "type", value_name = "TYPE", value_parser = parse_record_kind)]
    kind: Vec<RecordKind>,

    /// What happened before this time: 2026-01-05, or 90m, 12h, 3d, 2w ago
    #[arg(long, value_name = "TIME")]
    before: Option<String>,

    /// List what would be forgotten, and forget nothing
    #[arg(long)]
    dry_run: bool,

    /// Do not ask
    #[arg(long, short = 'y')]
    yes: bool,

    /// List what was forgotten and is kept from coming back
    #[arg(long, conflicts_with_all = ["ids", "workspace", "query", "before", "dry_run", "yes"])]
    list: bool,

    /// Let a forgotten session or record be read again, if its agent still has it
    #[arg(long, value_name = "ID", conflicts_with_all = ["ids", "workspace", "query", "before", "list"])]
    allow: Option<String>,

    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// As many records with one beginning are looked at to see whether they are copies of each other.
const ID_MATCHES_MAX: usize = 100;
/// Records and sessions listed before the rest are only counted.
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
            "nothing is named",
            "give an ID, --workspace, --query or --before; `throughline forget --help` says more",
        ));
    }
    let doomed = store.plan_forget(&selection)?;
    if doomed.is_empty() {
        say!("Nothing fits.");
        return Ok(Exit::NothingFound);
    }
    if args.dry_run {
        if args.json {
            output::print_json(&doomed)?;
        } else {
            print_plan(app, &doomed)?;
        }
        return Ok(Exit::Done);
    }
    if !args.yes && !confirm_forget(app, &doomed)? {
        say!("Nothing was forgotten.");
        return Ok(Exit::NothingFound);
    }
    let forgotten = store.forget(doomed, app.environment.now)?;
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
            None => selection.sessions.push(show::find_session(store, id)?.id),
        }
    }
    Ok(selection)
}

/// Returns the one record whose id begins so.
fn find_record(store: &Store, prefix: &str) -> anyhow::Result<Option<RecordId>> {
    let named = store.records_by_prefix(prefix, ID_MATCHES_MAX)?;
    match named[..] {
        [] => Ok(None),
        // Copies of one record lie side by side, and go together.
        [id, ..]
            if named
                .iter()
                .all(|other| other.duplicate_range() == id.duplicate_range()) =>
        {
            Ok(Some(id))
        }
        [..] if !store.sessions_by_prefix(prefix, 1)?.is_empty() => Ok(None),
        [..] => Err(error_with_hint(
            format!("several records begin with {prefix:?}"),
            "give more of the id",
        )),
    }
}

fn print_plan(app: &App<'_>, doomed: &ForgetPlan) -> anyhow::Result<()> {
    write!(stdout().lock(), "{}", format_plan(app, doomed))?;
    Ok(())
}

/// Returns what would go, as people read it.
fn format_plan(app: &App<'_>, doomed: &ForgetPlan) -> String {
    let zone = &app.environment.zone;
    let mut text = String::new();
    for session in doomed.sessions.iter().take(LISTED_MAX) {
        text += &format!(
            "session  {}  {}  {}  {}\n",
            time::format_time(session.ended.or(session.started), zone),
            sanitize(session.id.as_str()),
            count(
                usize::try_from(session.records).unwrap_or(usize::MAX),
                "record"
            ),
            sanitize(
                session
                    .title
                    .as_deref()
                    .unwrap_or("-")
                    .lines()
                    .next()
                    .unwrap_or("-")
            ),
        );
    }
    text += &more_line(doomed.sessions.len(), "sessions");
    for record in doomed.records.iter().take(LISTED_MAX) {
        text += &format!(
            "record   {}  {}  {}{}  {}\n",
            time::format_time(record.at, zone),
            record.id,
            record.kind,
            if record.copy { " (copy)" } else { "" },
            sanitize(&record.text),
        );
    }
    text += &more_line(doomed.records.len(), "records");
    for fact in doomed.facts.iter().take(LISTED_MAX) {
        text += &format!("fact     {}  {}\n", fact.id, sanitize(&fact.text));
    }
    text + &more_line(doomed.facts.len(), "facts")
}

fn more_line(count: usize, what: &str) -> String {
    match count.saturating_sub(LISTED_MAX) {
        0 => String::new(),
        more => format!("… and {more} more {what}\n"),
    }
}

/// Asks, where there is somebody to ask.
fn confirm_forget(app: &App<'_>, doomed: &ForgetPlan) -> anyhow::Result<bool> {
    if !app.environment.stderr_is_terminal || !app.environment.stdin_is_terminal {
        return Err(error_with_hint(
            "nobody is there to confirm it",
            "add --yes, or see with --dry-run what would be forgotten",
        ));
    }
    say(format_plan(app, doomed).trim_end());
    say!("Forget this for good? [y/N]");
    let mut answer = String::new();
    stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn report_forgotten(app: &App<'_>, forgotten: &ForgetReport) -> anyhow::Result<Exit> {
    say!(
        "Forgot {}, {} and {}; {} of archived logs rewritten or dropped.",
        count(forgotten.sessions, "session"),
        count(forgotten.records, "record"),
        count(forgotten.facts, "fact"),
        count(forgotten.archived_pieces, "piece"),
    );
    if forgotten.unreadable > 0 {
        say!(
            "warning: {} could not be read and was removed unread, so its words could not be \
             searched for in other logs; `throughline doctor --deep` checks the store",
            count(forgotten.unreadable, "stored text"),
        );
    }
    let sources = &forgotten.sources;
    for copy in &forgotten.copies_removed {
        say!("Removed the copy {}.", copy.display());
    }
    if !sources.is_empty() {
        say!("The agents' own files still hold it; they are yours to delete:");
        for source in sources.iter().take(LISTED_MAX) {
            say!("  {}", sanitize(source));
        }
        if sources.len() > LISTED_MAX {
            say(more_line(sources.len(), "files").trim_end());
        }
    }
    let others = managed_files(&app.home)?;
    let others: Vec<_> = others
        .iter()
        .filter(|file| file.role == FileRole::Foreign)
        .collect();
    for file in others.iter().take(LISTED_MAX) {
        say!("{} is not ours and was not looked at.", file.path.display());
    }
    if forgotten.traces == Traces::Waiting {
        return Err(error_with_hint(
            "the rows are deleted, but another process still reads the old state, so its bytes are still in the write-ahead log",
            "end that process (`throughline watch`?); the next command finishes the job",
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
        write!(stdout().lock(), "{}", format_table(&rows))?;
    }
    Ok(if tombstones.is_empty() {
        Exit::NothingFound
    } else {
        Exit::Done
    })
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
                "The {what} may be read again; `throughline ingest` does if its agent still has it."
            );
            Ok(Exit::Done)
        }
        LiftOutcome::Unknown => Err(error_with_hint(
            format!("nothing that was forgotten is called {name:?}"),
            "`throughline forget --list` shows what was; a session or a record is named by its full id",
        )),
        LiftOutcome::Ambiguous(count) => Err(error_with_hint(
            format!("{count} tombstones begin with {name:?}"),
            "give more of the id",
        )),
    }
}
