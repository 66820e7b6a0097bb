//! `throughline detect`

use std::io::Write;

use learn::detect::PatternCandidate;
use serde_json::json;

use crate::commands::App;
use crate::learning::{self, agent_names};
use crate::output::table::{TableColumn, count, format_columns};
use crate::output::text::sanitize;
use crate::output::wrap::truncate;
use crate::output::{self, Exit, error_with_hint, time};

/// Agents and names are not truncated below these widths.
const AGENTS_COLUMNS_MIN: usize = 10;
const NAME_COLUMNS_MIN: usize = 24;
const COLUMNS: &[TableColumn] = &[
    TableColumn::left("ID"),
    TableColumn::left("KIND"),
    TableColumn::right("SESSIONS"),
    TableColumn::left("AGENTS").shrinks_to(AGENTS_COLUMNS_MIN),
    TableColumn::right("COST"),
    TableColumn::right("TOKENS").dropped_at(1),
    TableColumn::left("NAME").shrinks_to(NAME_COLUMNS_MIN),
];
/// The list shows this many candidates, and says how many more there are.
const LISTED_MAX: usize = 40;

/// Find problems that recur across sessions
///
/// Lists what agents ran into again and again: diagnostics, refused calls, corrections, retries,
/// stale instructions. Problems of several agents come first, then the most expensive.
#[derive(Debug, clap::Args)]
pub(crate) struct DetectArgs {
    /// Only what occurred in at least this many sessions; normal work needs twice as many
    #[arg(long, default_value_t = 3, value_name = "NUMBER")]
    min_frequency: u64,

    /// Show the evidence of one candidate: its id or a prefix of it
    #[arg(long, value_name = "ID")]
    explain: Option<String>,

    /// Print the candidates as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(app: &App<'_>, args: &DetectArgs) -> anyhow::Result<Exit> {
    let store = app.open_existing()?;
    let mut candidates = learning::detect(app, &store, args.min_frequency)?;
    if let Some(id) = &args.explain {
        let found = find_candidate(&candidates, id)?.clone();
        candidates = vec![found];
    }
    if args.json {
        output::print_json(&json!({ "candidates": candidates }))?;
        return Ok(Exit::of_query(candidates.is_empty()));
    }
    if let (Some(_), [candidate]) = (&args.explain, candidates.as_slice()) {
        write!(app.output(), "{}", format_evidence(app, candidate))?;
        return Ok(Exit::Done);
    }
    if candidates.is_empty() {
        let sessions = count(args.min_frequency, "session");
        say!("Nothing recurs in {sessions} or more. Read more logs with `throughline ingest`.");
        return Ok(Exit::NothingFound);
    }
    let shown = match app.columns() {
        Some(_) => candidates.len().min(LISTED_MAX),
        None => candidates.len(),
    };
    let rows: Vec<_> = candidates[..shown].iter().map(row).collect();
    let table = format_columns(COLUMNS, &rows, app.columns());
    write!(app.output(), "{table}")?;
    if shown < candidates.len() {
        let more = count(candidates.len() - shown, "more candidate");
        say!("{more}; `throughline detect | less` shows all of them.");
    }
    say!(
        "`throughline detect --explain ID` shows the evidence; \
         with `throughline curate` you decide."
    );
    Ok(Exit::Done)
}

/// Finds a candidate by its id or a prefix of it.
pub(crate) fn find_candidate<'c>(
    candidates: &'c [PatternCandidate],
    id: &str,
) -> anyhow::Result<&'c PatternCandidate> {
    let mut like = candidates
        .iter()
        .filter(|candidate| candidate.id.starts_with(id));
    match (like.next(), like.next()) {
        (Some(only), None) if !id.is_empty() => Ok(only),
        (None, _) => Err(error_with_hint(
            format!("no candidate has the id {id:?}"),
            "`throughline detect` lists the candidates; --min-frequency 1 lists all of them",
        )),
        _ => Err(error_with_hint(
            format!("several candidates have ids that start with {id:?}"),
            "give more characters of the id",
        )),
    }
}

fn row(candidate: &PatternCandidate) -> Vec<String> {
    let mut name = sanitize(&candidate.name);
    if let Some(file) = &candidate.stale_in {
        name += &format!(" (named in {})", sanitize(file));
    }
    vec![
        candidate.id.clone(),
        candidate.kind.to_string(),
        candidate.sessions.to_string(),
        agent_names(&candidate.flavors),
        format!("{} min", candidate.minutes),
        short_number(candidate.tokens),
        name,
    ]
}

fn short_number(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{}k", number / 1_000),
        _ => format!("{}M", number / 1_000_000),
    }
}

/// Formats a candidate with the sessions that it occurred in.
pub(crate) fn format_evidence(app: &App<'_>, candidate: &PatternCandidate) -> String {
    let spread = match candidate.cross_flavor {
        true => "; several agents (cross-flavor)",
        false => "",
    };
    let mut page = format!(
        "{} ({})\n{}\novercome in {} of {}; days: {}{spread}\n\n",
        sanitize(&learning::problem_line(candidate)),
        candidate.id,
        learning::cost_line(candidate),
        candidate.overcome,
        count(candidate.sessions, "session"),
        candidate.days,
    );
    for one in &candidate.evidence {
        let record = one
            .record
            .map_or_else(|| "-".to_owned(), |record| record.to_string());
        page += &format!(
            "{}  {}, {}\n  session {}\n  throughline show {record}\n  {}\n",
            time::format_time(one.at, &app.environment.zone),
            count(one.times, "time"),
            if one.overcome {
                "overcome"
            } else {
                "not overcome"
            },
            one.session,
            truncate(
                &sanitize(&one.text),
                app.columns().unwrap_or(160).max(40) - 2
            ),
        );
    }
    let hidden = candidate
        .sessions
        .saturating_sub(candidate.evidence.len() as u64);
    if hidden > 0 {
        page += &format!("and {}\n", count(hidden, "more session"));
    }
    page
}
