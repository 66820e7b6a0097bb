//! `throughline show`

mod record;

use std::io::Write;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use memory::{Cost, Fact, RecordId, RecordKind, Session};
use serve::requests::layers::session_start;
use serve::requests::{self, AccessScope, RequestError};
use store::{Store, StoredRecord};

use self::record::{RecordLayout, format_record};
use crate::commands::mark::describe_marks;
use crate::commands::sessions::{format_tokens, session_id};
use crate::commands::{App, digest, usage};
use crate::output::table::format_table;
use crate::output::text::{one_line, sanitize};
use crate::output::wrap::truncate;
use crate::output::{Exit, error_with_hint, print_json, print_text, time};

/// Show a session, a record or a fact
///
/// Sessions, records and facts are found by their ids or the beginnings of them, as `sessions`,
/// `search` and `facts` list them.
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// The id of a session, a record or a fact, or the beginning of it
    #[arg(value_name = "ID")]
    id: String,

    /// With a session: show what it started with, such as the files that were predicted
    #[arg(long, conflicts_with_all = ["around", "grep", "prompts", "from", "full"])]
    start: bool,

    /// With a record: show this many records before and after it
    #[arg(long, value_name = "NUMBER")]
    around: Option<usize>,

    /// Only records that contain this text, in any case
    #[arg(long, value_name = "TEXT")]
    grep: Option<String>,

    /// Only your prompts
    #[arg(long)]
    prompts: bool,

    /// Only from this time on: 14:30 on the first day, 2026-01-05T14:30, 2h
    #[arg(long, value_name = "TIME")]
    from: Option<String>,

    /// Show long results and thinking in full
    #[arg(long)]
    full: bool,

    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// What an id names.
enum IdTarget {
    Session(Box<Session>),
    Record(Box<StoredRecord>),
    Fact(Box<Fact>),
}

/// Which records of a session are shown.
struct ShownRecords {
    /// In lower case.
    grep: Option<String>,
    prompts_only: bool,
    from: Option<Timestamp>,
}

pub(crate) fn run(app: &App<'_>, args: &ShowArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    match find_target(&store, &args.id)? {
        IdTarget::Session(_) if args.around.is_some() => Err(error_with_hint(
            format!("{} is a session, and --around needs a record", args.id),
            "`throughline search` prints the ids of records",
        )),
        IdTarget::Session(session) if args.start => show_start(args, &store, &session),
        IdTarget::Session(session) => show_session(app, args, &store, &session),
        IdTarget::Record(record) => show_record(app, args, &store, &record),
        IdTarget::Fact(fact) => show_fact(app, args, &store, &fact),
    }
}

/// Prints the steps of a session's start, and the files that were predicted for it.
fn show_start(args: &ShowArgs, store: &Store, session: &Session) -> anyhow::Result<Exit> {
    let trace = session_start(store, session)?;
    if args.json {
        print_json(&trace)?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for (index, step) in trace.steps.iter().enumerate() {
        text += &format!("{}. {}\n", index + 1, sanitize(step));
    }
    for seed in &trace.seeds {
        let used = if seed.was_used { "used" } else { "-" };
        text += &format!(
            "   {used:<4}  {}  ({})\n",
            sanitize(&seed.path),
            seed.reason
        );
    }
    for interaction in &trace.interactions {
        text += &format!("   {}\n", sanitize(interaction));
    }
    print_text(&text)?;
    Ok(Exit::Done)
}

/// Returns what an id or the beginning of one names.
fn find_target(store: &Store, id: &str) -> anyhow::Result<IdTarget> {
    let scope = AccessScope::unrestricted();
    let record = |id: RecordId| -> anyhow::Result<Option<IdTarget>> {
        let record = store.read_record(id)?;
        Ok(record.map(|record| IdTarget::Record(Box::new(record))))
    };
    if let Ok(id) = id.parse::<RecordId>()
        && let Some(found) = record(id)?
    {
        return Ok(found);
    }
    let no_session = match requests::find::find_session(store, &scope, id) {
        Ok(session) => return Ok(IdTarget::Session(Box::new(session))),
        Err(error @ RequestError::NotFound { .. }) => error,
        Err(error) => return Err(session_error(store, id, error)),
    };
    match store.records_by_prefix(id, 2)?[..] {
        [] => {}
        [only] => {
            if let Some(found) = record(only)? {
                return Ok(found);
            }
        }
        [first, ..] => {
            return Err(error_with_hint(
                format!("several records begin with {id:?}"),
                format!("give more digits, such as {first}"),
            ));
        }
    }
    match requests::find::find_fact(store, &scope, id) {
        Ok(fact) => Ok(IdTarget::Fact(Box::new(fact))),
        Err(RequestError::NotFound { .. }) => Err(match no_session {
            RequestError::NotFound { .. } => error_with_hint(
                format!("no session, record or fact begins with {id:?}"),
                "`throughline sessions`, `search` and `facts` list the ids",
            ),
            error => request_error(error),
        }),
        Err(error) => Err(request_error(error)),
    }
}

/// Returns the session with an id or a unique prefix of it.
pub(crate) fn find_session(store: &Store, prefix: &str) -> anyhow::Result<Session> {
    let scope = AccessScope::unrestricted();
    requests::find::find_session(store, &scope, prefix)
        .map_err(|error| session_error(store, prefix, error))
}

/// The sessions that are listed when an id could mean several of them.
const CANDIDATES_MAX: usize = 5;
/// The titles beside their ids are truncated to this width.
const CANDIDATE_TITLE_COLUMNS: usize = 50;

/// Turns the error of a search for a session into one whose hint lists the sessions that could be
/// meant, each with an id to copy.
fn session_error(store: &Store, prefix: &str, error: RequestError) -> anyhow::Error {
    let candidates = match &error {
        RequestError::Invalid { .. } if !prefix.is_empty() => {
            store.sessions_by_prefix(prefix, CANDIDATES_MAX)
        }
        _ => return request_error(error),
    };
    let rows = candidates.unwrap_or_default().into_iter().map(|session| {
        let title = one_line(session.name_or_title().unwrap_or("Untitled session"));
        vec![
            format!("  {}", session_id(store, &session.id)),
            session.flavor.to_string(),
            truncate(&title, CANDIDATE_TITLE_COLUMNS),
        ]
    });
    let rows: Vec<_> = rows.collect();
    match rows.len() {
        0 | 1 => request_error(error),
        _ => error_with_hint(
            error.to_string(),
            format!(
                "give more of the id, such as\n{}",
                format_table(&rows).trim_end()
            ),
        ),
    }
}

/// Turns an error of a request into one that `main` reports with its hint.
pub(crate) fn request_error(error: RequestError) -> anyhow::Error {
    match error {
        RequestError::Store(error) => error.into(),
        error => error_with_hint(error.to_string(), error.hint().unwrap_or_default()),
    }
}

impl ShownRecords {
    fn new(app: &App<'_>, args: &ShowArgs, session: &Session) -> anyhow::Result<Self> {
        let zone = TimeZone::clone(&app.environment.zone);
        let first_day = session.started.map(|at| at.to_zoned(zone).date());
        // A time without a date is one of the session's first day.
        let from = args.from.as_ref().map(|from| match first_day {
            Some(day) if from.parse::<jiff::civil::Time>().is_ok() => format!("{day}T{from}"),
            _ => from.clone(),
        });
        Ok(Self {
            grep: args.grep.as_ref().map(|text| text.to_lowercase()),
            prompts_only: args.prompts,
            from: app.parse_time_arg(from.as_deref())?,
        })
    }

    fn is_filtered(&self) -> bool {
        self.grep.is_some() || self.prompts_only || self.from.is_some()
    }

    fn includes(&self, record: &StoredRecord) -> bool {
        let is_late = self
            .from
            .is_none_or(|from| record.at.is_some_and(|at| at >= from));
        let is_kind = !self.prompts_only || record.kind == RecordKind::Prompt;
        let contains = |text: &String| record.content.to_lowercase().contains(text);
        is_late && is_kind && self.grep.as_ref().is_none_or(contains)
    }
}

fn show_session(
    app: &App<'_>,
    args: &ShowArgs,
    store: &Store,
    session: &Session,
) -> anyhow::Result<Exit> {
    let shown = ShownRecords::new(app, args, session)?;
    let is_empty = match args.json {
        true => print_session_json(store, session, &shown)?,
        false => print_session(app, args, store, session, &shown)?,
    };
    if is_empty && shown.is_filtered() && !args.json {
        say!("No record of the session matches.");
    }
    Ok(Exit::of_query(is_empty && shown.is_filtered()))
}

/// Writes one record at a time, so that the whole session is never in memory. Returns whether
/// there was none.
fn print_session_json(
    store: &Store,
    session: &Session,
    shown: &ShownRecords,
) -> anyhow::Result<bool> {
    let mut out = std::io::stdout().lock();
    write!(
        out,
        "{{\"session\":{},\"digest\":{},\"records\":[",
        serde_json::to_string(session)?,
        serde_json::to_string(&store.digest(&session.id)?)?
    )?;
    let mut result = Ok(());
    let mut separator = "";
    store.each_record(&session.id, |record| {
        if result.is_ok() && shown.includes(&record) {
            result = write!(out, "{separator}")
                .and_then(|()| serde_json::to_writer(&mut out, &record).map_err(Into::into));
            separator = ",";
        }
    })?;
    result?;
    writeln!(out, "]}}")?;
    Ok(separator.is_empty())
}

/// Prints a session, and returns whether no record was shown.
fn print_session(
    app: &App<'_>,
    args: &ShowArgs,
    store: &Store,
    session: &Session,
    shown: &ShownRecords,
) -> anyhow::Result<bool> {
    let mut out = app.output();
    match shown.is_filtered() {
        true => write!(out, "{}", short_heading(app, session))?,
        false => write!(out, "{}", session_heading(app, store, session)?)?,
    }
    if session.evicted > 0 {
        let (gone, all) = (session.evicted, session.records);
        let why = removal_note(app, store, session)?;
        writeln!(
            out,
            "\nThe text of {gone} of {all} records was removed{why}."
        )?;
        match store.digest(&session.id)? {
            Some(stored) => {
                writeln!(out, "Only the digest of them is left:")?;
                write!(out, "{}", digest::format_digest(app, &stored.digest))?;
            }
            None => writeln!(out, "No digest of them is left.")?,
        }
    }
    let mut layout = RecordLayout::new(app, store, session, args.full);
    layout.highlighted = shown.grep.clone();
    let mut result = Ok(());
    let mut is_empty = true;
    store.each_record(&session.id, |record| {
        if result.is_ok() && shown.includes(&record) {
            is_empty = false;
            result = write!(out, "\n{}", format_record(&mut layout, &record));
        }
    })?;
    result?;
    out.finish()?;
    Ok(is_empty)
}

/// Shows a record, with its neighbors if asked for.
fn show_record(
    app: &App<'_>,
    args: &ShowArgs,
    store: &Store,
    record: &StoredRecord,
) -> anyhow::Result<Exit> {
    let Some(around) = args.around else {
        if args.json {
            print_json(record)?;
            return Ok(Exit::Done);
        }
        let session = find_session(store, record.session.as_str())?;
        let mut layout = RecordLayout::new(app, store, &session, true);
        let text = format_record(&mut layout, record);
        writeln!(
            app.output(),
            "{}\n{text}",
            sanitize(record.session.as_str())
        )?;
        return Ok(Exit::Done);
    };
    let position = store.timeline_position(record.id)?.unwrap_or_default();
    let first = position.saturating_sub(around);
    let records = store.timeline(&record.session, first, position - first + around + 1)?;
    if args.json {
        print_json(&records)?;
        return Ok(Exit::Done);
    }
    let session = find_session(store, record.session.as_str())?;
    let mut layout = RecordLayout::new(app, store, &session, args.full);
    layout.marked = Some(record.id);
    let mut out = app.output();
    write!(out, "{}", short_heading(app, &session))?;
    for record in &records {
        write!(out, "\n{}", format_record(&mut layout, record))?;
    }
    out.finish()?;
    Ok(Exit::Done)
}

fn show_fact(app: &App<'_>, args: &ShowArgs, store: &Store, fact: &Fact) -> anyhow::Result<Exit> {
    if args.json {
        print_json(fact)?;
        return Ok(Exit::Done);
    }
    let mut lines = vec![
        ("fact", fact.id.to_string()),
        ("kind", fact.kind.to_string()),
        ("said by", fact.trust.name().to_owned()),
        (
            "workspace",
            fact.workspace.clone().unwrap_or("everywhere".to_owned()),
        ),
        ("first said", app.format_when(Some(fact.made))),
        ("last said", app.format_when(Some(fact.seen))),
        ("times", fact.times.to_string()),
    ];
    if fact.pinned {
        lines.push(("pinned", "yes".to_owned()));
    }
    lines.extend(fact.superseded.map(|newer| ("replaced by", newer.short())));
    for source in &fact.sources {
        lines.push(("evidence", store.short_record_id(*source)?));
    }
    let mut out = app.output();
    writeln!(out, "{}", app.style().bold(&sanitize(&fact.text)))?;
    for (name, value) in lines {
        writeln!(out, "{name:<11} {}", sanitize(&value))?;
    }
    out.finish()?;
    Ok(Exit::Done)
}

/// Returns when and why the text of a session was removed, as the end of a sentence.
pub(crate) fn removal_note(
    app: &App<'_>,
    store: &Store,
    session: &Session,
) -> anyhow::Result<String> {
    Ok(match store.eviction_info(&session.id)? {
        Some(removal) => {
            let when = time::format_time(Some(removal.at), &app.environment.zone);
            format!(" on {when} {}", removal.reason())
        }
        None => String::new(),
    })
}

/// Returns the title and the id of a session, above a part of its records.
fn short_heading(app: &App<'_>, session: &Session) -> String {
    let title = one_line(session.name_or_title().unwrap_or("Untitled session"));
    let id = sanitize(session.id.as_str());
    format!("{}\n{id}\n", app.style().bold(&title))
}

pub(crate) fn session_heading(
    app: &App<'_>,
    store: &Store,
    session: &Session,
) -> anyhow::Result<String> {
    let zone = &app.environment.zone;
    let title = one_line(session.name_or_title().unwrap_or("Untitled session"));
    let mut text = format!("{}\n", app.style().bold(&title));
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            text += &format!("{name:<10} {}\n", sanitize(&value));
        }
    };
    line("session", Some(session.id.to_string()));
    line(
        "agent",
        Some(match &session.version {
            Some(version) => format!("{} {version}", session.flavor.title()),
            None => session.flavor.title().to_owned(),
        }),
    );
    let marks = describe_marks(session);
    line("marks", Some(marks).filter(|marks| !marks.is_empty()));
    line("workspace", session.workspace.clone());
    line("folder", session.cwd.clone());
    line("branch", session.branch.clone());
    line("model", session.model.clone());
    line("parent", session.parent.as_ref().map(ToString::to_string));
    line(
        "time",
        Some(time::format_range(session.started, session.ended, zone)),
    );
    let used = session.usage;
    line(
        "tokens",
        (used.total() > 0).then(|| {
            let parts = [
                (used.input, "in"),
                (used.output, "out"),
                (used.cache_read, "read from cache"),
                (used.cache_write, "written to it"),
            ];
            let parts = parts.iter().filter(|(tokens, _)| *tokens > 0);
            let parts = parts.map(|(tokens, what)| format!("{} {what}", format_tokens(*tokens)));
            parts.collect::<Vec<_>>().join(", ")
        }),
    );
    let cost = usage::session_cost(app, store, session)?;
    line(
        "cost",
        (cost != Cost::default()).then(|| usage::format_cost(&cost)),
    );
    line(
        "outcome",
        session.outcome.map(|outcome| outcome.to_string()),
    );
    line(
        "log",
        session.source.as_ref().map(|source| {
            let source = app.display_path(source);
            if session.source_gone {
                format!("{source} (gone)")
            } else {
                source
            }
        }),
    );
    line(
        "lost",
        (session.detached > 0).then(|| match session.detached {
            1 => "1 record is no longer in its log; kept".to_owned(),
            lost => format!("{lost} records are no longer in their logs; kept"),
        }),
    );
    let subagents = store.subagents(&session.id)?;
    for subagent in subagents.iter().filter(|subagent| subagent.records > 0) {
        line("subagent", Some(subagent.id.to_string()));
    }
    Ok(text)
}
