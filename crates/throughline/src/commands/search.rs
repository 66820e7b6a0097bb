//! `throughline search`

use std::io::{Write, stdout};

use memory::words::StemmedText;
use memory::{Fact, Flavor, RecordKind, SessionId};
use recall::{RankedHit, RankedHits, RecallQuery};
use serde::Serialize;
use store::{MatchLevel, Query, Store};

use crate::commands::{App, parse_flavor, show};
use crate::output::table::count;
use crate::output::text::TextStyle;
use crate::output::{self, Exit, say, time};

/// Find something in what the agents and you did
///
/// Ask as you would ask a colleague, or type words, names and error codes. Records that hold all of it come
/// first; when none does, those that hold some, or mean the same, and at last those with words spelt nearly so.
/// "A phrase" must occur as it stands (in quotes that reach the program: '"a phrase"'), -word must not
/// occur, word* stands for all words that begin so.
#[derive(Debug, clap::Args)]
pub(crate) struct SearchArgs {
    /// What to look for
    #[arg(required = true, value_name = "WORDS")]
    query: Vec<String>,

    /// A word that must not occur; -WORD means the same
    #[arg(long, value_name = "WORD")]
    not: Vec<String>,

    #[command(flatten)]
    filter: SearchFilterArgs,

    /// How many to show
    #[arg(short = 'n', long, default_value_t = 20, value_name = "NUMBER")]
    limit: usize,

    /// Say what each score is made of
    #[arg(long)]
    explain: bool,

    /// Print the hits as JSON
    #[arg(long)]
    json: bool,
}

/// Where to look.
#[derive(Debug, clap::Args)]
struct SearchFilterArgs {
    /// Only this agent's sessions
    #[arg(long, value_name = "NAME", value_parser = parse_flavor)]
    agent: Option<Flavor>,

    /// Only workspaces with this in their address or folder
    #[arg(long, value_name = "PART")]
    workspace: Option<String>,

    /// Only this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Only records of this type; may be given several times
    #[arg(long = "type", value_name = "TYPE", value_parser = parse_record_kind)]
    kind: Vec<RecordKind>,

    /// Only calls and results of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,

    /// Only records about files with this in their path; * stands for anything
    #[arg(long, value_name = "PART")]
    path: Option<String>,

    /// Only from this time on: 2026-01-05, or 90m, 12h, 3d, 2w ago
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Only before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

/// Reads a record's type on the command line.
pub(crate) fn parse_record_kind(name: &str) -> Result<RecordKind, String> {
    RecordKind::from_name(name).ok_or_else(|| {
        let known: Vec<_> = RecordKind::ALL.iter().map(|kind| kind.name()).collect();
        format!("no such type; known are {}", known.join(", "))
    })
}

pub(crate) fn run(app: &App<'_>, args: &SearchArgs) -> anyhow::Result<Exit> {
    let store = app.open_for_query()?;
    let session = match &args.filter.session {
        Some(prefix) => Some(show::find_session(&store, prefix)?.id),
        None => None,
    };
    let filter = &args.filter;
    // Questions that are shown beside their answers take no place of their own.
    let hidden = if args.json { 0 } else { HIDDEN_MAX };
    let query = Query {
        text: query_text(args),
        kinds: filter.kind.clone(),
        flavor: filter.agent,
        workspace: filter.workspace.clone(),
        session,
        tool: filter.tool.clone(),
        path: filter.path.clone(),
        workspace_key: None,
        since: app.parse_time_arg(filter.since.as_deref())?,
        until: app.parse_time_arg(filter.until.as_deref())?,
        limit: args.limit.saturating_add(hidden),
    };
    let ask = RecallQuery {
        query,
        ..RecallQuery::default()
    };
    let mut found = recall::search(&store, &ask, app.environment.now)?;
    let facts = evicted_facts(&store, &ask.query, found.digest_only_sessions)?;
    if args.json {
        if !args.explain {
            found.hits.iter_mut().for_each(|hit| hit.parts.clear());
        }
        let (ranked, facts) = (&found, &facts);
        output::print_json(&SearchOutput { ranked, facts })?;
    } else {
        print_results(app, args, &found, &facts)?;
    }
    Ok(if found.hits.is_empty() && facts.is_empty() {
        Exit::NothingFound
    } else {
        Exit::Done
    })
}

/// How many questions may be hidden behind their answers.
const HIDDEN_MAX: usize = 20;

/// What is printed as JSON.
#[derive(Serialize)]
struct SearchOutput<'a> {
    #[serde(flatten)]
    ranked: &'a RankedHits,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    facts: &'a [EvictedFact],
}

/// A fact that outlived the records it was taken from.
#[derive(Serialize)]
struct EvictedFact {
    session: SessionId,
    digest_only: bool,
    #[serde(flatten)]
    fact: Fact,
}

/// Facts that are shown of sessions of which only the digest is left.
const FACTS_MAX: usize = 5;
/// A fact must be so much like the question.
const FACT_FLOOR: f64 = 0.3;
/// Workspaces whose facts are looked at.
const WORKSPACES_MAX: usize = 1_000;

/// Returns the facts that answer a question and were taken from sessions of which only the digest
/// is left: the records that would be found in their place are gone.
fn evicted_facts(
    store: &Store,
    query: &Query,
    digest_only_sessions: u64,
) -> anyhow::Result<Vec<EvictedFact>> {
    let asks_for_records = query.tool.is_some()
        || query.path.is_some()
        || query.session.is_some()
        || query.flavor.is_some()
        || query.until.is_some();
    if digest_only_sessions == 0 || asks_for_records {
        return Ok(Vec::new());
    }
    let part = query.workspace.as_deref().unwrap_or_default();
    let workspaces = store.workspaces_matching(part, WORKSPACES_MAX)?;
    let keys: Vec<_> = workspaces.into_iter().map(|found| found.key).collect();
    let about = store.facts_about(&StemmedText::parse(&query.text), &keys, None, 4 * FACTS_MAX)?;
    let mut facts = Vec::new();
    for (fact, score) in about {
        let is_late = query.since.is_none_or(|since| fact.seen >= since);
        if score < FACT_FLOOR || !is_late || facts.len() == FACTS_MAX {
            continue;
        }
        if let Some(session) = store.digest_only_source(fact.id)? {
            facts.push(EvictedFact {
                session,
                digest_only: true,
                fact,
            });
        }
    }
    Ok(facts)
}

/// Returns the question in one piece.
fn query_text(args: &SearchArgs) -> String {
    let unwanted = args.not.iter().map(|word| format!(" -{word}"));
    args.query.join(" ") + &unwanted.collect::<String>()
}

/// Lets `-docs` stand for `--not=docs`, which no option of ours can be mistaken for.
pub(crate) fn rewrite_exclusion(argument: String) -> String {
    let is_word = |word: &str| {
        word.len() > 1 && word.starts_with(|c: char| c.is_alphabetic()) && !word.starts_with("n=")
    };
    match argument.strip_prefix('-') {
        Some(word) if is_word(word) => format!("--not={word}"),
        _ => argument,
    }
}

fn print_results(
    app: &App<'_>,
    args: &SearchArgs,
    found: &RankedHits,
    facts: &[EvictedFact],
) -> anyhow::Result<()> {
    match (found.rung, found.hits.is_empty()) {
        (_, true) if !facts.is_empty() => {}
        (MatchLevel::NoWords, _) => say("There is no word in that to look for."),
        (_, true) => say("Nothing found."),
        (MatchLevel::Exact | MatchLevel::Forms, false) => {}
        (MatchLevel::Related, false) => {
            say("No record has all of these words; these have some of them, or mean the same.");
        }
        (MatchLevel::Fuzzy, false) => {
            say("No record has these words; these have words that are spelt nearly so.");
        }
    }
    let mut out = stdout().lock();
    let digest_only = usize::try_from(found.digest_only_sessions).unwrap_or(usize::MAX);
    if digest_only > 0 {
        say(&format!(
            "Only the digest is left of {}; titles and digests were searched too.",
            count(digest_only, "older session"),
        ));
    }
    // A question is shown beside its answer, where that is shown.
    let beside = |hit: &&RankedHit| {
        let answer = hit.answered_by;
        answer.is_none_or(|answer| found.hits.iter().all(|other| other.hit.id != answer))
    };
    let hits = found.hits.iter().filter(beside).take(args.limit);
    let hits: Vec<&RankedHit> = hits.collect();
    for group in group_by_session(&hits) {
        write!(out, "{}", format_session(app, group[0]))?;
        for hit in group {
            write!(out, "{}", format_hit(app, hit))?;
            if args.explain {
                write!(out, "{}", format_score(hit))?;
            }
        }
    }
    for EvictedFact { session, fact, .. } in facts {
        let when = time::format_time(Some(fact.seen), &app.environment.zone);
        writeln!(
            out,
            "{}\n  {when}  fact (only the digest of this session is left)\n    {}",
            output::text::sanitize(session.as_str()),
            output::text::sanitize(&fact.text),
        )?;
    }
    Ok(())
}

/// Returns the hits of each session together, the session of the best hit first.
fn group_by_session<'a>(hits: &[&'a RankedHit]) -> Vec<Vec<&'a RankedHit>> {
    let mut groups: Vec<Vec<&RankedHit>> = Vec::new();
    for hit in hits.iter().copied() {
        match groups
            .iter_mut()
            .find(|group| group[0].hit.session == hit.hit.session)
        {
            Some(group) => group.push(hit),
            None => groups.push(vec![hit]),
        }
    }
    groups
}

fn format_session(app: &App<'_>, hit: &RankedHit) -> String {
    let paint = TextStyle {
        color: app.environment.color,
    };
    let hit = &hit.hit;
    let workspace = hit
        .workspace
        .as_deref()
        .map_or("-", memory::workspace::name);
    let title = hit.title.as_deref().unwrap_or("Untitled session");
    let head = output::text::sanitize(&format!("{workspace}  {title}"));
    format!(
        "{}  {}\n",
        paint.bold(&head),
        paint.dim(&output::text::sanitize(hit.session.as_str()))
    )
}

fn format_hit(app: &App<'_>, ranked: &RankedHit) -> String {
    let hit = &ranked.hit;
    let paint = TextStyle {
        color: app.environment.color,
    };
    let when = time::format_time(hit.at, &app.environment.zone);
    let what = match (&hit.tool, &hit.path) {
        _ if hit.digest_only => "digest (only the digest of this session is left)".to_owned(),
        (Some(tool), Some(path)) => format!("{} {tool} {path}", hit.kind),
        (Some(tool), None) => format!("{} {tool}", hit.kind),
        (None, Some(path)) => format!("{} {path}", hit.kind),
        (None, None) => hit.kind.to_string(),
    };
    let note = if hit.in_source {
        ""
    } else {
        "  (no longer in its source)"
    };
    let asked = ranked.asked.as_ref().map_or_else(String::new, |asked| {
        let line = output::text::sanitize(asked.text.lines().next().unwrap_or_default());
        let line: String = line.chars().take(ASKED_CHARS_MAX).collect();
        format!("    {}\n", paint.dim(&format!("asked: {line}")))
    });
    format!(
        "  {when}  {}{note}\n{asked}    {}\n",
        output::text::sanitize(&what),
        paint.highlight(&hit.snippet.text, &hit.snippet.matches),
    )
}

/// Longest part of a question that is shown beside its answer, in characters.
const ASKED_CHARS_MAX: usize = 120;
/// Parts of a score that are shown.
const PARTS_SHOWN: usize = 8;

fn format_score(hit: &RankedHit) -> String {
    let parts: Vec<_> = hit
        .parts
        .iter()
        .take(PARTS_SHOWN)
        .map(|part| format!("{} {:+.2}", part.name, part.points))
        .collect();
    format!("    score {:.2}: {}\n", hit.hit.score, parts.join(", "))
}
