//! `throughline sessions`

use std::cmp::Reverse;
use std::io::Write;

use clap::ValueEnum;
use memory::{Flavor, Session, SessionId, SessionMarks};
use serve::requests::AccessScope;
use serve::requests::sessions::list_sessions;
use store::{MarkFilter, SessionFilter, Store};

use crate::commands::{App, parse_flavor, parse_limit};
use crate::output::table::{TableColumn, count, format_columns};
use crate::output::text::{one_line, sanitize};
use crate::output::{self, Exit, say};

/// List sessions, latest first
#[derive(Debug, clap::Args)]
pub(crate) struct SessionsArgs {
    /// Only sessions of this agent
    #[arg(long, value_name = "NAME", value_parser = parse_flavor)]
    agent: Option<Flavor>,

    /// Only workspaces whose address or folder contains this
    #[arg(long, value_name = "PART")]
    workspace: Option<String>,

    /// Only the workspace of the current folder
    #[arg(long, conflicts_with = "workspace")]
    here: bool,

    /// Only sessions that were active from this time on: 2026-01-05, yesterday, 12h, 3d, 2w
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Only sessions that started before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,

    /// Include subagents
    #[arg(long)]
    all: bool,

    /// Only sessions whose logs were deleted by their agents
    #[arg(long)]
    gone: bool,

    #[command(flatten)]
    marks: MarkArgs,

    /// The order of the list
    #[arg(long, value_enum, value_name = "ORDER", default_value = "time")]
    sort: SortOrder,

    /// The number of sessions to show
    #[arg(short = 'n', long, default_value = "30", value_name = "NUMBER")]
    #[arg(value_parser = parse_limit)]
    limit: usize,

    /// Print the sessions as JSON
    #[arg(long)]
    json: bool,
}

/// Which marks a session must have.
#[derive(Debug, clap::Args)]
struct MarkArgs {
    /// Only starred sessions
    #[arg(long)]
    starred: bool,

    /// Only sessions with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,

    /// Only archived sessions, which are not listed otherwise
    #[arg(long)]
    archived: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SortOrder {
    /// The latest first
    Time,
    /// The most tokens first
    Tokens,
    /// The most prompts first
    Prompts,
    /// The longest first
    Records,
}

/// Prints the latest sessions, for `throughline up --sample`.
pub(crate) fn list_recent(app: &App<'_>) -> anyhow::Result<()> {
    let filter = SessionFilter {
        limit: 10,
        ..SessionFilter::default()
    };
    let store = app.open_existing()?;
    let sessions = list_sessions(&store, &AccessScope::unrestricted(), &filter)?;
    print_sessions(app, &store, &sessions, SortOrder::Time)
}

pub(crate) fn run(app: &App<'_>, args: &SessionsArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    app.check_workspace_part(&store, args.workspace.as_deref())?;
    let scope = match args.here {
        true => AccessScope::of_workspace(app.find_workspace(&store, None)?),
        false => AccessScope::unrestricted(),
    };
    let filter = SessionFilter {
        flavor: args.agent,
        workspace: args.workspace.clone(),
        since: app.parse_time_arg(args.since.as_deref())?,
        until: app.parse_time_arg(args.until.as_deref())?,
        all_kinds: args.all,
        gone: args.gone,
        marks: MarkFilter {
            starred: args.marks.starred,
            tag: args.marks.tag.clone(),
            archived: args.marks.archived,
        },
        // The store sorts by time, so any other order needs all of them.
        limit: match args.sort {
            SortOrder::Time => args.limit.saturating_add(1),
            _ => usize::MAX,
        },
        ..SessionFilter::default()
    };
    let mut sessions = list_sessions(&store, &scope, &filter)?;
    match args.sort {
        SortOrder::Time => {}
        SortOrder::Tokens => sessions.sort_by_key(|session| Reverse(session.usage.total())),
        SortOrder::Prompts => sessions.sort_by_key(|session| Reverse(session.prompts)),
        SortOrder::Records => sessions.sort_by_key(|session| Reverse(session.records)),
    }
    let has_more = sessions.len() > args.limit;
    sessions.truncate(args.limit);
    if args.json {
        output::print_json(&sessions)?;
    } else if sessions.is_empty() {
        say(&no_sessions(app, args));
    } else {
        print_sessions(app, &store, &sessions, args.sort)?;
        if has_more {
            let shown = count(sessions.len(), "session");
            say!("Showing {shown}; use -n to show more.");
        }
    }
    Ok(Exit::of_query(sessions.is_empty()))
}

/// Says that no session was listed, and which option to leave out.
fn no_sessions(app: &App<'_>, args: &SessionsArgs) -> String {
    let folder = app.environment.cwd.display().to_string();
    let SessionsArgs { marks, .. } = args;
    let is_marked = marks.starred || marks.archived || marks.tag.is_some();
    let is_timed = args.since.is_some() || args.until.is_some();
    let is_selected = args.agent.is_some() || args.workspace.is_some() || args.gone;
    if args.here {
        format!("No sessions in {}; leave out --here.", sanitize(&folder))
    } else if is_marked || is_timed || is_selected {
        "No sessions match.".to_owned()
    } else {
        "No sessions yet; `throughline ingest` reads the agents' logs.".to_owned()
    }
}

const COLUMNS: &[TableColumn] = &[
    TableColumn::left("WHEN"),
    TableColumn::left("AGENT"),
    TableColumn::left("WORKSPACE").shrinks_to(10),
    TableColumn::right("PROMPTS").dropped_at(2),
    TableColumn::right("CALLS").dropped_at(3),
    TableColumn::right("TOKENS").dropped_at(1),
    TableColumn::left("OUTCOME").dropped_at(4),
    // The beginning of an id that selects the session, which a truncated one would not.
    TableColumn::left("SESSION").overflows_at(ID_COLUMNS),
    TableColumn::left("TITLE").shrinks_to(TITLE_COLUMNS_MIN),
];

/// Most ids are selected by a beginning that is not longer than this.
const ID_COLUMNS: usize = 12;
/// A narrower terminal has no room for the workspace.
const WORKSPACE_COLUMNS_MIN: usize = 60;
const WORKSPACE_COLUMN: usize = 2;
/// Columns are dropped before titles are truncated below this width.
const TITLE_COLUMNS_MIN: usize = 44;
/// The positions of the columns that sessions can be sorted by.
const PROMPTS_COLUMN: usize = 3;
const TOKENS_COLUMN: usize = 5;

fn print_sessions(
    app: &App<'_>,
    store: &Store,
    sessions: &[Session],
    order: SortOrder,
) -> anyhow::Result<()> {
    let mut columns = COLUMNS.to_vec();
    // The column that the rows are sorted by is always shown.
    match order {
        SortOrder::Tokens => columns[TOKENS_COLUMN] = columns[TOKENS_COLUMN].dropped_at(0),
        SortOrder::Prompts => columns[PROMPTS_COLUMN] = columns[PROMPTS_COLUMN].dropped_at(0),
        SortOrder::Time | SortOrder::Records => {}
    }
    if app
        .columns()
        .is_some_and(|width| width < WORKSPACE_COLUMNS_MIN)
    {
        columns[WORKSPACE_COLUMN] = columns[WORKSPACE_COLUMN].dropped_at(1);
    }
    let rows = sessions
        .iter()
        .map(|session| session_row(app, store, session));
    let rows: Vec<_> = rows.collect();
    write!(
        app.output(),
        "{}",
        format_columns(&columns, &rows, app.columns())
    )?;
    Ok(())
}

fn session_row(app: &App<'_>, store: &Store, session: &Session) -> Vec<String> {
    let workspace = session
        .workspace
        .as_deref()
        .map_or("-", memory::workspace::name);
    vec![
        app.format_when(session.ended.or(session.started)),
        session.flavor.to_string(),
        sanitize(workspace),
        session.prompts.to_string(),
        session.tool_calls.to_string(),
        format_tokens(session.usage.total()),
        outcome_text(session),
        session_id(store, &session.id),
        marked_title(session.name_or_title(), &session.marks),
    ]
}

/// Returns the name or title of a session on one line, with the session's star and its tags.
pub(crate) fn marked_title(title: Option<&str>, marks: &SessionMarks) -> String {
    let star = if marks.starred { "★ " } else { "" };
    let tags = marks.tags.iter().map(|tag| format!(" #{tag}"));
    let title = title.unwrap_or("Untitled session");
    one_line(&format!("{star}{title}{}", tags.collect::<String>()))
}

/// Returns how a session ended, and whether only its digest is left or its log has lost records.
fn outcome_text(session: &Session) -> String {
    let outcome = session.outcome.map_or("-", memory::Outcome::name);
    if session.evicted > 0 && session.evicted == session.records {
        format!("{outcome}, digest only")
    } else if session.detached > 0 {
        format!("{outcome}, {} not in log", session.detached)
    } else {
        outcome.to_owned()
    }
}

/// Returns the beginning of a session's id that selects it.
pub(crate) fn session_id(store: &Store, session: &SessionId) -> String {
    let short = store.short_session_id(session).unwrap_or_else(|error| {
        tracing::warn!(%session, %error, "cannot shorten the id of a session");
        session.native().to_owned()
    });
    sanitize(&short)
}

/// Returns the agent of a session and the beginning of its id.
pub(crate) fn session_label(store: &Store, session: &SessionId) -> String {
    let agent = session.as_str().split(':').next().unwrap_or_default();
    format!("{agent} {}", session_id(store, session))
}

/// Formats a number of tokens, such as `812`, `1.3k`, `12k` or `2.1M`.
pub(crate) fn format_tokens(tokens: u64) -> String {
    match tokens {
        0 => "-".to_owned(),
        1..1_000 => tokens.to_string(),
        1_000..9_950 => format!("{:.1}k", tokens as f64 / 1e3),
        9_950..999_500 => format!("{:.0}k", tokens as f64 / 1e3),
        999_500..9_950_000 => format!("{:.1}M", tokens as f64 / 1e6),
        9_950_000..999_500_000 => format!("{:.0}M", tokens as f64 / 1e6),
        _ => format!("{:.1}G", tokens as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_at_most_four_characters() {
        for (tokens, text) in [
            (0, "-"),
            (999, "999"),
            (1_278, "1.3k"),
            (9_960, "10k"),
            (249_900, "250k"),
            (999_600, "1.0M"),
            (2_127_000, "2.1M"),
            (12_700_000, "13M"),
            (1_250_000_000, "1.2G"),
        ] {
            assert_eq!(format_tokens(tokens), text);
        }
    }
}
