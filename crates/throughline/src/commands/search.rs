//! `throughline search`

use std::io::{Write, stdout};

use memory::{Fact, Flavor, RecordKind, SessionId};
use recall::{RankedHit, RankedSession};
use serde::Serialize;
use serve::requests::AccessScope;
use serve::requests::search::{Audience, FactHit, SearchContent, SearchOptions, SearchOutcome};
use store::{MatchLevel, Query};

use crate::commands::{App, parse_flavor, show};
use crate::output::table::count;
use crate::output::text::{TextStyle, sanitize};
use crate::output::{Exit, print_json, say, time};

/// Search the sessions of all agents, and the facts learned from them
///
/// Ask as you would ask a colleague, or type words, names and error codes. Facts come first, then
/// records that contain all of the words; if there are none, records that contain some of them or
/// synonyms, and finally records with similar spellings. "A phrase" must occur literally (quote it
/// for the shell as well: '"a phrase"'), -word must not occur, and word* matches all words that
/// begin so.
#[derive(Debug, clap::Args)]
pub(crate) struct SearchArgs {
    /// What to search for
    #[arg(required = true, value_name = "WORDS")]
    query: Vec<String>,

    /// Exclude records that contain this word; same as -WORD
    #[arg(long, value_name = "WORD")]
    not: Vec<String>,

    #[command(flatten)]
    filter: SearchFilterArgs,

    /// The number of hits to show
    #[arg(short = 'n', long, default_value_t = 20, value_name = "NUMBER")]
    limit: usize,

    /// Show the parts of each score
    #[arg(long)]
    explain: bool,

    /// Print the hits as JSON
    #[arg(long)]
    json: bool,
}

/// Where to search.
#[derive(Debug, clap::Args)]
struct SearchFilterArgs {
    /// Only sessions of this agent
    #[arg(long, value_name = "NAME", value_parser = parse_flavor)]
    agent: Option<Flavor>,

    /// Only workspaces whose address or folder contains this
    #[arg(long, value_name = "PART")]
    workspace: Option<String>,

    /// Only this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Only records of this type; may be repeated
    #[arg(long = "type", value_name = "TYPE", value_parser = parse_record_kind)]
    kind: Vec<RecordKind>,

    /// Only calls and results of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,

    /// Only records about files whose path contains this; * matches anything
    #[arg(long, value_name = "PART")]
    path: Option<String>,

    /// Only from this time on: 2026-01-05, or 90m, 12h, 3d, 2w ago
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Only before this time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

/// Parses a record type on the command line.
pub(crate) fn parse_record_kind(name: &str) -> Result<RecordKind, String> {
    RecordKind::from_name(name).ok_or_else(|| {
        let known: Vec<_> = RecordKind::ALL.iter().map(|kind| kind.name()).collect();
        format!("unknown type; known types are {}", known.join(", "))
    })
}

pub(crate) fn run(app: &App<'_>, args: &SearchArgs) -> anyhow::Result<Exit> {
    let store = app.open_for_query()?;
    let filter = &args.filter;
    let session = match &filter.session {
        Some(prefix) => Some(show::find_session(&store, prefix)?.id),
        None => None,
    };
    // Questions that are shown beside their answers do not count towards the limit.
    let hidden = if args.json { 0 } else { HIDDEN_QUESTIONS_MAX };
    let query = Query {
        text: query_text(args),
        kinds: filter.kind.clone(),
        flavor: filter.agent,
        workspace: filter.workspace.clone(),
        workspace_key: None,
        session,
        tool: filter.tool.clone(),
        path: filter.path.clone(),
        since: app.parse_time_arg(filter.since.as_deref())?,
        until: app.parse_time_arg(filter.until.as_deref())?,
        limit: args.limit.saturating_add(hidden),
    };
    let options = SearchOptions {
        content: SearchContent::All,
        include_sensitive: true,
        audience: Audience::Person,
        explain: args.explain,
        rank_sessions: args.json,
    };
    let scope = AccessScope::unrestricted();
    let now = app.environment.now;
    let found = serve::requests::search::search(&store, &scope, &query, options, now)?;
    let exit = if found.is_empty() {
        Exit::NothingFound
    } else {
        Exit::Done
    };
    if args.json {
        print_json(&SearchOutput::from(found))?;
    } else {
        print_results(app, args, &found)?;
    }
    Ok(exit)
}

/// The most questions that are hidden behind their answers.
const HIDDEN_QUESTIONS_MAX: usize = 20;

/// The JSON output.
#[derive(Serialize)]
struct SearchOutput {
    rung: MatchLevel,
    confidence: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    facts: Vec<FactOutput>,
    hits: Vec<RankedHit>,
    sessions: Vec<RankedSession>,
    digest_only_sessions: u64,
}

#[derive(Serialize)]
struct FactOutput {
    /// The session that the fact was extracted from, if only its digest is left.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<SessionId>,
    digest_only: bool,
    #[serde(flatten)]
    fact: Fact,
}

impl From<SearchOutcome> for SearchOutput {
    fn from(found: SearchOutcome) -> Self {
        let facts = found.facts.into_iter().map(|hit| FactOutput {
            digest_only: hit.digest_only_session.is_some(),
            session: hit.digest_only_session,
            fact: hit.fact,
        });
        Self {
            rung: found.rung,
            confidence: found.confidence,
            facts: facts.collect(),
            hits: found.hits,
            sessions: found.sessions,
            digest_only_sessions: found.digest_only_sessions,
        }
    }
}

/// Joins the arguments to one query.
fn query_text(args: &SearchArgs) -> String {
    let excluded = args.not.iter().map(|word| format!(" -{word}"));
    args.query.join(" ") + &excluded.collect::<String>()
}

/// Rewrites `-docs` to `--not=docs`. No option of ours has a single dash and a word.
pub(crate) fn rewrite_exclusion(argument: String) -> String {
    let is_word = |word: &str| {
        word.len() > 1 && word.starts_with(|c: char| c.is_alphabetic()) && !word.starts_with("n=")
    };
    match argument.strip_prefix('-') {
        Some(word) if is_word(word) => format!("--not={word}"),
        _ => argument,
    }
}

fn print_results(app: &App<'_>, args: &SearchArgs, found: &SearchOutcome) -> anyhow::Result<()> {
    match found.rung {
        MatchLevel::NoWords if found.is_empty() => {
            say(&format!("Nothing to search for in {:?}.", query_text(args)));
        }
        _ if found.is_empty() => say("Nothing found."),
        _ if found.hits.is_empty() => {}
        MatchLevel::Related => {
            say("No record has all of these words; showing partial matches and synonyms.");
        }
        MatchLevel::Fuzzy => say("No exact match; showing similar spellings."),
        MatchLevel::Exact | MatchLevel::Forms | MatchLevel::NoWords => {}
    }
    let digest_only = usize::try_from(found.digest_only_sessions).unwrap_or(usize::MAX);
    if digest_only > 0 {
        say(&format!(
            "Only the digest is left of {}; titles and digests were searched too.",
            count(digest_only, "older session"),
        ));
    }
    let mut out = stdout().lock();
    for hit in &found.facts {
        write!(out, "{}", format_fact(app, hit))?;
    }
    // A question is shown beside its answer, so it is not listed again if the answer is.
    let is_listed = |hit: &&RankedHit| {
        let answer = hit.answered_by;
        answer.is_none_or(|answer| found.hits.iter().all(|other| other.hit.id != answer))
    };
    let hits: Vec<&RankedHit> = found
        .hits
        .iter()
        .filter(is_listed)
        .take(args.limit)
        .collect();
    for group in group_by_session(&hits) {
        write!(out, "{}", format_session(app, group[0]))?;
        for hit in group {
            write!(out, "{}", format_hit(app, hit))?;
            if args.explain {
                write!(out, "{}", format_score(hit))?;
            }
        }
    }
    Ok(())
}

fn format_fact(app: &App<'_>, hit: &FactHit) -> String {
    let style = TextStyle {
        color: app.environment.color,
    };
    let fact = &hit.fact;
    let workspace = fact
        .workspace
        .as_deref()
        .map_or("everywhere", memory::workspace::name);
    let pinned = if fact.pinned { ", pinned" } else { "" };
    let head = format!("{}  fact ({}{pinned})", sanitize(workspace), fact.kind);
    let origin = hit.digest_only_session.as_ref().map(|session| {
        let session = sanitize(session.as_str());
        format!("  (only the digest of {session} is left)")
    });
    format!(
        "{}  {}\n  {}{}\n    {}\n",
        style.bold(&head),
        style.dim(&fact.id.short()),
        time::format_time(Some(fact.seen), &app.environment.zone),
        origin.unwrap_or_default(),
        sanitize(&fact.text),
    )
}

/// Groups the hits by session, with the session of the best hit first.
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
    let style = TextStyle {
        color: app.environment.color,
    };
    let hit = &hit.hit;
    let workspace = hit
        .workspace
        .as_deref()
        .map_or("-", memory::workspace::name);
    let title = hit.title.as_deref().unwrap_or("Untitled session");
    let head = sanitize(&format!("{workspace}  {title}"));
    format!(
        "{}  {}\n",
        style.bold(&head),
        style.dim(&sanitize(hit.session.as_str()))
    )
}

fn format_hit(app: &App<'_>, ranked: &RankedHit) -> String {
    let hit = &ranked.hit;
    let style = TextStyle {
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
        "  (no longer in its log)"
    };
    let asked = ranked.asked.as_ref().map_or_else(String::new, |asked| {
        let line = sanitize(asked.text.lines().next().unwrap_or_default());
        let line: String = line.chars().take(ASKED_CHARS_MAX).collect();
        format!("    {}\n", style.dim(&format!("asked: {line}")))
    });
    format!(
        "  {when}  {}{note}\n{asked}    {}\n",
        sanitize(&what),
        style.highlight(&hit.snippet.text, &hit.snippet.matches),
    )
}

/// The longest excerpt of a question beside its answer, in characters.
const ASKED_CHARS_MAX: usize = 120;
/// The number of score parts that are shown.
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
