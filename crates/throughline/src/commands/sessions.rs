//! `throughline sessions`

use std::io::{Write, stdout};

use memory::{Flavor, Session, SessionId};
use serve::requests::AccessScope;
use serve::requests::sessions::list_sessions;
use store::SessionFilter;

use crate::commands::{App, parse_flavor};
use crate::output::table::{format_table, truncate};
use crate::output::{self, Exit, say, text, time};

/// List sessions, latest first
#[derive(Debug, clap::Args)]
pub(crate) struct SessionsArgs {
    /// Only sessions of this agent
    #[arg(long, value_name = "NAME", value_parser = parse_flavor)]
    agent: Option<Flavor>,

    /// Only workspaces whose address or folder contains this
    #[arg(long, value_name = "PART")]
    workspace: Option<String>,

    /// Only sessions that were active from this time on: 2026-01-05, or 90m, 12h, 3d, 2w ago
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

    /// The number of sessions to show
    #[arg(short = 'n', long, default_value_t = 30, value_name = "NUMBER")]
    limit: usize,

    /// Print the sessions as JSON
    #[arg(long)]
    json: bool,
}

/// Prints the latest sessions, for `throughline` without arguments.
pub(crate) fn list_recent(app: &App<'_>) -> anyhow::Result<()> {
    let filter = SessionFilter {
        limit: 10,
        ..SessionFilter::default()
    };
    let store = app.open_existing()?;
    let sessions = list_sessions(&store, &AccessScope::unrestricted(), &filter)?;
    print_sessions(app, &sessions)
}

pub(crate) fn run(app: &App<'_>, args: &SessionsArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    let filter = SessionFilter {
        flavor: args.agent,
        workspace: args.workspace.clone(),
        since: app.parse_time_arg(args.since.as_deref())?,
        until: app.parse_time_arg(args.until.as_deref())?,
        all_kinds: args.all,
        gone: args.gone,
        limit: args.limit,
    };
    let sessions = list_sessions(&store, &AccessScope::unrestricted(), &filter)?;
    if args.json {
        output::print_json(&sessions)?;
    } else {
        print_sessions(app, &sessions)?;
    }
    Ok(if sessions.is_empty() {
        Exit::NothingFound
    } else {
        Exit::Done
    })
}

fn print_sessions(app: &App<'_>, sessions: &[Session]) -> anyhow::Result<()> {
    if sessions.is_empty() {
        say("No sessions.");
        return Ok(());
    }
    let head = [
        "WHEN", "AGENT", "WORKSPACE", "PROMPTS", "CALLS", "TOKENS", "OUTCOME", "SESSION", "TITLE",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(sessions.iter().map(|session| session_row(app, session)));
    write!(stdout().lock(), "{}", format_table(&rows))?;
    Ok(())
}

fn session_row(app: &App<'_>, session: &Session) -> Vec<String> {
    let workspace = session
        .workspace
        .as_deref()
        .map_or("-", memory::workspace::name);
    let title = session.title.as_deref().unwrap_or("-");
    let title = text::sanitize(title.lines().next().unwrap_or("-"));
    vec![
        time::format_time(session.ended.or(session.started), &app.environment.zone),
        session.flavor.to_string(),
        truncate(&text::sanitize(workspace), 24),
        session.prompts.to_string(),
        session.tool_calls.to_string(),
        format_tokens(session.usage.total()),
        outcome_text(session),
        // A prefix of a UUID is unique enough; other ids are shown in full.
        short_session_id(&text::sanitize(session.id.native())),
        truncate(&title, 60),
    ]
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

/// Returns a session's own id, shortened for a list.
pub(crate) fn short_session_id(native: &str) -> String {
    let dashes = native.bytes().filter(|byte| *byte == b'-').count();
    let is_uuid = native.len() == 36 && native.is_ascii() && dashes == 4;
    if is_uuid {
        native[..13].to_owned()
    } else {
        truncate(native, 40)
    }
}

/// Returns the agent and the short id of a session.
pub(crate) fn session_label(session: &SessionId) -> String {
    let agent = session.as_str().split(':').next().unwrap_or_default();
    format!(
        "{agent} {}",
        short_session_id(&text::sanitize(session.native()))
    )
}

/// Formats a number of tokens, such as `12k`.
pub(crate) fn format_tokens(tokens: u64) -> String {
    match tokens {
        0 => "-".to_owned(),
        1..10_000 => tokens.to_string(),
        10_000..10_000_000 => format!("{}k", tokens / 1_000),
        _ => format!("{}M", tokens / 1_000_000),
    }
}
