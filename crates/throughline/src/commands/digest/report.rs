//! The report of `throughline digest --since`: what was done in each workspace.

use std::collections::BTreeMap;
use std::io::Write;

use memory::digest::StepKind;
use memory::{Cost, Digest, Session};
use serde::Serialize;
use serve::requests::AccessScope;
use serve::requests::sessions::list_sessions;
use store::{SessionFilter, Store};

use super::DigestArgs;
use crate::commands::sessions::{format_tokens, session_id};
use crate::commands::{App, usage};
use crate::output::table::count;
use crate::output::text::{one_line, sanitize};
use crate::output::{Exit, print_json};

/// The most changed files that are listed for a session.
const FILES_MAX: usize = 5;

/// A session in the report.
#[derive(Serialize)]
struct SessionReport {
    #[serde(flatten)]
    session: Session,
    digest: Option<Digest>,
}

pub(super) fn run(app: &App<'_>, args: &DigestArgs, store: &Store) -> anyhow::Result<Exit> {
    let scope = match args.here {
        true => AccessScope::of_workspace(app.find_workspace(store, None)?),
        false => AccessScope::unrestricted(),
    };
    let filter = SessionFilter {
        since: app.parse_time_arg(args.since.as_deref())?,
        limit: usize::MAX,
        ..SessionFilter::default()
    };
    let mut sessions = Vec::new();
    for session in list_sessions(store, &scope, &filter)? {
        let digest = store.digest(&session.id)?.map(|stored| stored.digest);
        sessions.push(SessionReport { session, digest });
    }
    let is_empty = sessions.is_empty();
    if args.json {
        print_json(&sessions)?;
    } else if is_empty {
        say!("No sessions.");
    } else {
        print_report(app, store, &sessions)?;
    }
    Ok(Exit::of_query(is_empty))
}

fn print_report(app: &App<'_>, store: &Store, sessions: &[SessionReport]) -> anyhow::Result<()> {
    let style = app.style();
    let mut out = app.output();
    let mut workspaces: BTreeMap<&str, Vec<&SessionReport>> = BTreeMap::new();
    for reported in sessions {
        let workspace = reported.session.workspace.as_deref().unwrap_or("-");
        workspaces.entry(workspace).or_default().push(reported);
    }
    let mut cost = Cost::default();
    for reported in sessions {
        cost += usage::session_cost(app, store, &reported.session)?;
    }
    let tokens: u64 = sessions.iter().map(|s| s.session.usage.total()).sum();
    let prompts: u64 = sessions.iter().map(|s| s.session.prompts).sum();
    writeln!(
        out,
        "{} in {}, {}, {} tokens, {}",
        count(sessions.len(), "session"),
        count(workspaces.len(), "workspace"),
        count(prompts, "prompt"),
        format_tokens(tokens),
        usage::format_cost(&cost),
    )?;
    for (workspace, sessions) in workspaces {
        let name = match workspace {
            "-" => "no workspace".to_owned(),
            workspace => sanitize(memory::workspace::name(workspace)),
        };
        writeln!(out, "\n{}", style.bold(&name))?;
        for reported in sessions {
            write!(out, "{}", format_reported(app, store, reported))?;
        }
    }
    out.finish()?;
    Ok(())
}

fn format_reported(app: &App<'_>, store: &Store, reported: &SessionReport) -> String {
    let style = app.style();
    let session = &reported.session;
    let outcome = session.outcome.map(|outcome| format!("{outcome}, "));
    let mut text = format!(
        "  {}  {}  {}\n      {}, {}{}\n",
        app.format_when(session.ended.or(session.started)),
        one_line(session.name_or_title().unwrap_or("Untitled session")),
        style.dim(&session_id(store, &session.id)),
        session.flavor.title(),
        outcome.unwrap_or_default(),
        count(session.prompts, "prompt"),
    );
    let Some(digest) = &reported.digest else {
        return text;
    };
    let changed = digest.done.items.iter();
    let changed = changed.filter(|step| step.kind == StepKind::Changed);
    let files: Vec<_> = changed.map(|step| one_line(&step.what)).collect();
    if !files.is_empty() {
        let more = match files.len().saturating_sub(FILES_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let shown = files[..files.len().min(FILES_MAX)].join(", ");
        text += &format!("      changed {shown}{more}\n");
    }
    for error in digest.errors.items.iter().filter(|error| !error.overcome) {
        text += &format!("      unresolved: {}\n", one_line(&error.text));
    }
    text
}
