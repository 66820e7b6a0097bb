//! `throughline show`

use std::io::{Write, stdout};

use memory::{Cost, RecordId, RecordKind, Session};
use serve::requests::{self, AccessScope, RequestError};
use store::{Store, StoredRecord};

use crate::commands::sessions::format_tokens;
use crate::commands::{App, digest, usage};
use crate::output::text::{TextStyle, indent, sanitize};
use crate::output::{Exit, error_with_hint, time};

/// Show one session, or one record
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// A session's id or a prefix of it, or the id of a hit
    #[arg(value_name = "ID")]
    id: String,

    /// Show long results and thinking in full
    #[arg(long)]
    full: bool,

    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// The lines of a tool result that are shown without --full.
const LINES_SHOWN: usize = 12;

pub(crate) fn run(app: &App<'_>, args: &ShowArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    if let Ok(id) = args.id.parse::<RecordId>()
        && let Some(record) = store.read_record(id)?
    {
        print_record(app, args, &record)?;
        return Ok(Exit::Done);
    }
    let session = find_session(&store, &args.id)?;
    if args.json {
        print_session_json(&store, &session)?;
    } else {
        print_session(app, args, &store, &session)?;
    }
    Ok(Exit::Done)
}

/// Returns the session with an id or a unique prefix of it.
pub(crate) fn find_session(store: &Store, prefix: &str) -> anyhow::Result<Session> {
    let scope = AccessScope::unrestricted();
    requests::find::find_session(store, &scope, prefix).map_err(request_error)
}

/// Turns an error of a request into one that `main` reports with its hint.
pub(crate) fn request_error(error: RequestError) -> anyhow::Error {
    match error {
        RequestError::Store(error) => error.into(),
        error => error_with_hint(error.to_string(), error.hint().unwrap_or_default()),
    }
}

/// Writes one record at a time, so that the whole session is never in memory.
fn print_session_json(store: &Store, session: &Session) -> anyhow::Result<()> {
    let mut out = stdout().lock();
    write!(
        out,
        "{{\"session\":{},\"digest\":{},\"records\":[",
        serde_json::to_string(session)?,
        serde_json::to_string(&store.digest(&session.id)?)?
    )?;
    let mut result = Ok(());
    let mut separator = "";
    store.each_record(&session.id, |record| {
        if result.is_ok() {
            result = write!(out, "{separator}")
                .and_then(|()| serde_json::to_writer(&mut out, &record).map_err(Into::into));
            separator = ",";
        }
    })?;
    result?;
    writeln!(out, "]}}")?;
    Ok(())
}

fn print_session(
    app: &App<'_>,
    args: &ShowArgs,
    store: &Store,
    session: &Session,
) -> anyhow::Result<()> {
    let mut out = stdout().lock();
    write!(out, "{}", session_heading(app, store, session)?)?;
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
    let mut result = Ok(());
    store.each_record(&session.id, |record| {
        if result.is_ok() {
            let is_lost = !record.in_source && !session.source_gone;
            result = write!(out, "\n{}", format_record(app, args.full, &record, is_lost));
        }
    })?;
    Ok(result?)
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

pub(crate) fn session_heading(
    app: &App<'_>,
    store: &Store,
    session: &Session,
) -> anyhow::Result<String> {
    let zone = &app.environment.zone;
    let paint = TextStyle {
        color: app.environment.color,
    };
    let title = session.title.as_deref().unwrap_or("Untitled session");
    let mut text = format!("{}\n", paint.bold(&sanitize(title)));
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
    line("workspace", session.workspace.clone());
    line("folder", session.cwd.clone());
    line("branch", session.branch.clone());
    line("model", session.model.clone());
    line("parent", session.parent.as_ref().map(ToString::to_string));
    let times = format!(
        "{} to {}",
        time::format_time(session.started, zone),
        time::format_time(session.ended, zone)
    );
    line("time", Some(times));
    let used = session.usage;
    line(
        "tokens",
        (used.total() > 0).then(|| {
            format!(
                "{} in, {} out, {} read from cache, {} written to it",
                format_tokens(used.input),
                format_tokens(used.output),
                format_tokens(used.cache_read),
                format_tokens(used.cache_write)
            )
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
            if session.source_gone {
                format!("{source} (gone)")
            } else {
                source.clone()
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

/// Formats a record. `is_lost` marks a record that is missing from its log; if the whole log is
/// deleted, the heading says so instead.
fn format_record(app: &App<'_>, full: bool, record: &StoredRecord, is_lost: bool) -> String {
    let paint = TextStyle {
        color: app.environment.color,
    };
    let when = record.at.map(|at| {
        at.to_zoned(app.environment.zone.clone())
            .strftime("%H:%M:%S")
            .to_string()
    });
    let tool = record.tool.as_deref().unwrap_or("tool");
    let path = record.path.as_deref().unwrap_or_default();
    let who = match record.kind {
        RecordKind::Prompt => "you".to_owned(),
        RecordKind::Assistant => "agent".to_owned(),
        RecordKind::Thinking => "agent, thinking".to_owned(),
        RecordKind::ToolUse => format!("{tool} called"),
        RecordKind::ToolResult => format!("{tool} returned"),
        RecordKind::Artifact => format!("{tool} changed {path}"),
        RecordKind::Error if record.tool.is_some() => format!("{tool} failed"),
        RecordKind::Error => "error".to_owned(),
        RecordKind::Approval => "you decided".to_owned(),
        RecordKind::Summary => "summary".to_owned(),
    };
    let code = record
        .metadata
        .get("exit_code")
        .and_then(|code| code.as_str());
    let code = code
        .filter(|code| *code != "0")
        .map_or_else(String::new, |c| format!(", exit {c}"));
    let note = if is_lost {
        "  (no longer in its log)"
    } else {
        ""
    };
    let head = format!(
        "{}  {}{code}{note}",
        when.as_deref().unwrap_or("--:--:--"),
        sanitize(&who)
    );
    format!(
        "{}\n{}",
        paint.bold(&head),
        indent(&shorten_content(full, record), "    ")
    )
}

/// Returns a record's text, cut to a few lines unless it is speech or `full` is set.
fn shorten_content(full: bool, record: &StoredRecord) -> String {
    let text = sanitize(&record.content);
    let spoken = matches!(
        record.kind,
        RecordKind::Prompt | RecordKind::Assistant | RecordKind::Summary
    );
    let lines = text.lines().count();
    if full || spoken || lines <= LINES_SHOWN {
        return text;
    }
    let head: Vec<_> = text.lines().take(LINES_SHOWN).collect();
    format!(
        "{}\n… {} more lines (--full shows them)",
        head.join("\n"),
        lines - LINES_SHOWN
    )
}

fn print_record(app: &App<'_>, args: &ShowArgs, record: &StoredRecord) -> anyhow::Result<()> {
    if args.json {
        return crate::output::print_json(record);
    }
    let text = format_record(app, true, record, !record.in_source);
    writeln!(stdout().lock(), "{}\n{text}", record.session)?;
    Ok(())
}
