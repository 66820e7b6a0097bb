//! `throughline search`

pub(crate) mod by_daemon;

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::io::{self, Write as _};

use clap::ValueEnum;
use memory::{Fact, Flavor, RecordId, RecordKind, SessionId};
use recall::{RankedHit, RankedSession};
use serde::Serialize;
use serve::HitType;
use serve::command::CommandReply;
use serve::requests::AccessScope;
use serve::requests::search::{Audience, FactHit, SearchItem, SearchOptions, SearchOutcome};
use store::{MarkFilter, MatchLevel, Query, Store};

use crate::commands::sessions::{marked_title, session_label};
use crate::commands::{App, parse_flavor, parse_limit, show};
use crate::output::paged::{PagedOutput, Terminal};
use crate::output::table::count;
use crate::output::text::{indent, one_line, sanitize};
use crate::output::wrap::{display_width, truncate, truncate_start};
use crate::output::{Exit, print_text, say};

/// Search the sessions of all agents, and the facts learned from them
///
/// Ask as you would ask a colleague, or type words, names and error codes. Facts and records are
/// ranked together. Records contain all of the words; if there are none, some of them or synonyms,
/// and finally words with similar spellings. "A phrase" must occur literally (quote it
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

    /// Show whole answers, and the answer below each question
    #[arg(long)]
    answers: bool,

    /// The order of the hits
    #[arg(long, value_enum, value_name = "ORDER", default_value = "score")]
    sort: HitOrder,

    /// The number of hits to show
    #[arg(short = 'n', long, default_value = "20", value_name = "NUMBER")]
    #[arg(value_parser = parse_limit)]
    limit: usize,

    /// Show the parts of each score
    #[arg(long)]
    explain: bool,

    /// Print the hits as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum HitOrder {
    /// The best first
    Score,
    /// The latest first
    Time,
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

    /// Only the workspace of the current folder
    #[arg(long, conflicts_with = "workspace")]
    here: bool,

    /// Only this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    /// Only starred sessions
    #[arg(long)]
    starred: bool,

    /// Only sessions with this tag
    #[arg(long, value_name = "TAG")]
    session_tag: Option<String>,

    /// Only archived sessions
    #[arg(long)]
    archived: bool,

    /// Only facts, only records, or only records of this type; may be repeated
    #[arg(long = "type", value_name = "TYPE", value_parser = HitType::from_name)]
    kind: Vec<HitType>,

    /// Only facts and records with this tag
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,

    /// Only calls and results of this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,

    /// Only records about files whose path contains this; * matches anything
    #[arg(long, value_name = "PART")]
    path: Option<String>,

    /// Only from this time on: 2026-01-05, yesterday, 12h, 3d, 2w
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
    let reply = answer(app, &store, args)?;
    Ok(print_reply(&reply, app.environment.terminal.as_ref())?)
}

/// Prints the output of a search.
fn print_reply(reply: &CommandReply, terminal: Option<&Terminal>) -> io::Result<Exit> {
    for message in &reply.messages {
        say(message);
    }
    if reply.is_paged {
        let mut out = PagedOutput::new(terminal);
        out.write_all(reply.text.as_bytes())?;
        out.finish()?;
    } else {
        print_text(&reply.text)?;
    }
    Ok(Exit::of_query(!reply.found))
}

/// Searches a store and returns what is printed.
fn answer(app: &App<'_>, store: &Store, args: &SearchArgs) -> anyhow::Result<CommandReply> {
    let filter = &args.filter;
    let session = match &filter.session {
        Some(prefix) => Some(show::find_session(store, prefix)?.id),
        None => None,
    };
    app.check_workspace_part(store, filter.workspace.as_deref())?;
    // Questions that are shown beside their answers do not count towards the limit.
    let hidden = if args.json { 0 } else { HIDDEN_QUESTIONS_MAX };
    let (kinds, content) = HitType::select(&filter.kind);
    let query = Query {
        text: query_text(args),
        kinds,
        flavor: filter.agent,
        workspace: filter.workspace.clone(),
        workspace_key: None,
        session,
        marks: MarkFilter {
            starred: filter.starred,
            tag: filter.session_tag.clone(),
            archived: filter.archived,
        },
        tool: filter.tool.clone(),
        path: filter.path.clone(),
        tag: filter.tag.clone(),
        since: app.parse_time_arg(filter.since.as_deref())?,
        until: app.parse_time_arg(filter.until.as_deref())?,
        limit: args.limit.saturating_add(hidden),
    };
    let options = SearchOptions {
        content,
        include_sensitive: true,
        audience: Audience::Person,
        explain: args.explain,
        rank_sessions: args.json,
        typing: false,
    };
    let scope = match filter.here {
        true => AccessScope::of_workspace(app.find_workspace(store, None)?),
        false => AccessScope::unrestricted(),
    };
    let now = app.environment.now;
    let mut found = serve::requests::search::search(store, &scope, &query, options, now)?;
    if args.sort == HitOrder::Time {
        found.hits.sort_by_key(|hit| Reverse(hit.hit.at));
    }
    if !args.json {
        return format_results(app, store, args, &found);
    }
    Ok(CommandReply {
        messages: Vec::new(),
        found: !found.is_empty(),
        text: serde_json::to_string(&SearchOutput::from(found))? + "\n",
        is_paged: false,
    })
}

/// The most questions that are hidden behind their answers.
const HIDDEN_QUESTIONS_MAX: usize = 20;

/// The JSON output.
#[derive(Serialize)]
struct SearchOutput {
    rung: MatchLevel,
    confidence: f64,
    hits: Vec<HitOutput>,
    sessions: Vec<RankedSession>,
    digest_only_sessions: u64,
}

/// A fact or a record, in one ranking.
#[derive(Serialize)]
#[serde(untagged)]
enum HitOutput {
    Fact(Box<FactOutput>),
    Record(Box<RankedHit>),
}

#[derive(Serialize)]
struct FactOutput {
    #[serde(rename = "type")]
    hit_type: HitType,
    score: f64,
    snippet: String,
    /// The session that the fact was extracted from.
    session: Option<SessionId>,
    /// Only the digest of that session is left.
    digest_only: bool,
    #[serde(flatten)]
    fact: Fact,
}

impl From<SearchOutcome> for SearchOutput {
    fn from(found: SearchOutcome) -> Self {
        let hits = found.ranking().into_iter().map(|item| match item {
            SearchItem::Fact(hit) => HitOutput::Fact(Box::new(FactOutput {
                hit_type: HitType::Fact,
                score: hit.score,
                snippet: hit.fact.text.clone(),
                session: hit.session.clone(),
                digest_only: hit.digest_only_session.is_some(),
                fact: hit.fact.clone(),
            })),
            SearchItem::Record(hit) => HitOutput::Record(Box::new(hit.clone())),
        });
        Self {
            rung: found.rung,
            confidence: found.confidence,
            hits: hits.collect(),
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

fn format_results(
    app: &App<'_>,
    store: &Store,
    args: &SearchArgs,
    found: &SearchOutcome,
) -> anyhow::Result<CommandReply> {
    let match_message = match found.rung {
        MatchLevel::NoWords if found.is_empty() => Some(format!(
            "Nothing to search for in {:?}; use a longer or rarer word.",
            query_text(args)
        )),
        _ if found.is_empty() && args.filter.here => Some(format!(
            "Nothing found for {:?} in {}; leave out --here to search everywhere.",
            query_text(args),
            sanitize(&app.environment.cwd.display().to_string()),
        )),
        _ if found.is_empty() => Some(format!("Nothing found for {:?}.", query_text(args))),
        _ if found.hits.is_empty() => None,
        MatchLevel::Related => Some(
            "No record has all of these words; showing partial matches and synonyms.".to_owned(),
        ),
        MatchLevel::Fuzzy => Some("No exact match; showing similar spellings.".to_owned()),
        MatchLevel::Exact | MatchLevel::Forms | MatchLevel::NoWords => None,
    };
    let digest_only = usize::try_from(found.digest_only_sessions).unwrap_or(usize::MAX);
    let digest_message = (digest_only > 0).then(|| {
        format!(
            "Only the digest is left of {}; titles and digests were searched too.",
            count(digest_only, "older session"),
        )
    });
    let mut out = String::new();
    // A question is shown beside its answer, so it is not listed again if the answer is.
    let is_listed = |item: &SearchItem<'_>| match item {
        SearchItem::Fact(_) => true,
        SearchItem::Record(hit) => hit
            .answered_by
            .is_none_or(|answer| found.hits.iter().all(|other| other.hit.id != answer)),
    };
    let mut items: Vec<_> = found.ranking().into_iter().filter(is_listed).collect();
    let more_message = (items.len() > args.limit).then(|| {
        let shown = count(args.limit, "hit");
        format!("Showing {shown}; use -n to show more.")
    });
    items.truncate(args.limit);
    for (index, group) in group_items(items.into_iter(), session_of)
        .iter()
        .enumerate()
    {
        if index > 0 {
            out.push('\n');
        }
        match group[0] {
            SearchItem::Fact(hit) => write!(out, "{}", format_fact(app, hit))?,
            SearchItem::Record(first) => write!(out, "{}", format_session(app, store, first)?)?,
        }
        for item in group {
            let SearchItem::Record(hit) = item else {
                continue;
            };
            write!(out, "{}", format_hit(app, store, args, hit)?)?;
            if args.explain {
                write!(out, "{}", format_score(hit))?;
            }
        }
    }
    Ok(CommandReply {
        messages: [match_message, more_message, digest_message]
            .into_iter()
            .flatten()
            .collect(),
        text: out,
        is_paged: true,
        found: !found.is_empty(),
    })
}

fn format_fact(app: &App<'_>, hit: &FactHit) -> String {
    let style = app.style();
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
        app.format_when(Some(fact.seen)),
        origin.unwrap_or_default(),
        sanitize(&fact.text),
    )
}

/// Returns the session of a record; a fact belongs to none.
fn session_of<'a>(item: &SearchItem<'a>) -> Option<&'a SessionId> {
    match item {
        SearchItem::Fact(_) => None,
        SearchItem::Record(hit) => Some(&hit.hit.session),
    }
}

/// Groups items with the same key, at the place of the first of them. An item without a key is a
/// group of its own.
pub(crate) fn group_items<T, K: PartialEq>(
    items: impl Iterator<Item = T>,
    key: impl Fn(&T) -> Option<K>,
) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    for item in items {
        let own = key(&item);
        let is_same = |group: &&mut Vec<T>| own.is_some() && key(&group[0]) == own;
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(item),
            None => groups.push(vec![item]),
        }
    }
    groups
}

fn format_session(app: &App<'_>, store: &Store, hit: &RankedHit) -> anyhow::Result<String> {
    let style = app.style();
    let hit = &hit.hit;
    let workspace = hit
        .workspace
        .as_deref()
        .map_or("-", memory::workspace::name);
    let workspace = sanitize(workspace);
    let marks = store.session_marks(&hit.session)?;
    let title = marked_title(hit.title.as_deref(), &marks);
    let label = session_label(store, &hit.session);
    let used = display_width(&workspace) + display_width(&label) + 4;
    let title = match app.columns() {
        Some(columns) => truncate(&title, columns.saturating_sub(used).max(TITLE_COLUMNS_MIN)),
        None => title,
    };
    let head = style.bold(&format!("{workspace}  {title}"));
    Ok(format!("{head}  {}\n", style.dim(&label)))
}

fn format_hit(
    app: &App<'_>,
    store: &Store,
    args: &SearchArgs,
    ranked: &RankedHit,
) -> anyhow::Result<String> {
    let hit = &ranked.hit;
    let style = app.style();
    let when = app.format_when(hit.at);
    // The digest of a session is not a record; it is shown by the id of the session.
    let id = match hit.digest_only {
        true => String::new(),
        false => store.short_record_id(hit.id)?,
    };
    let used = 6 + display_width(&when) + id.len() + hit.kind.name().len();
    let used = used + 2 + hit.tool.as_deref().map_or(0, display_width);
    let path = hit.path.as_ref().map(|path| match app.columns() {
        Some(columns) => truncate_start(path, columns.saturating_sub(used).max(PATH_COLUMNS_MIN)),
        None => path.clone(),
    });
    let what = match (&hit.tool, &path) {
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
    let id = match id.is_empty() {
        true => id,
        false => format!("{}  ", style.dim(&id)),
    };
    let asked = ranked.asked.as_ref().map_or_else(String::new, |asked| {
        let line = truncate(&one_line(&asked.text), ASKED_CHARS_MAX);
        format!("    {}\n", style.dim(&format!("asked: {line}")))
    });
    let is_answer = hit.kind == RecordKind::Assistant;
    let text = match args.answers && is_answer {
        true => indent(&sanitize(&ranked.text), "    "),
        false => format!(
            "    {}\n",
            style
                .highlight(&hit.snippet.text, &hit.snippet.matches)
                .trim()
        ),
    };
    let answer = match args.answers && hit.kind == RecordKind::Prompt {
        true => answer_of_turn(store, &hit.session, hit.id)?,
        false => None,
    };
    let answer = answer.map_or_else(String::new, |answer| {
        format!(
            "    {}\n{}",
            style.speaker(RecordKind::Assistant, "answer:"),
            indent(&sanitize(&answer), "      ")
        )
    });
    Ok(format!(
        "  {when}  {id}{}{note}\n{asked}{text}{answer}",
        style.speaker(hit.kind, &sanitize(&what)),
    ))
}

/// Returns the agent's last words before the next prompt.
fn answer_of_turn(
    store: &Store,
    session: &SessionId,
    prompt: RecordId,
) -> store::Result<Option<String>> {
    let steps = store.steps(session)?;
    let after = steps.iter().skip_while(|step| step.id != prompt).skip(1);
    let turn = after.take_while(|step| step.kind != RecordKind::Prompt);
    let said = turn.filter(|step| step.kind == RecordKind::Assistant);
    match said.last() {
        Some(step) => Ok(store.read_record(step.id)?.map(|record| record.content)),
        None => Ok(None),
    }
}

/// The longest excerpt of a question beside its answer, in columns.
const ASKED_CHARS_MAX: usize = 120;
/// The title of a session is not truncated below this width.
const TITLE_COLUMNS_MIN: usize = 20;
/// The end of a path is not truncated below this width.
const PATH_COLUMNS_MIN: usize = 20;
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
