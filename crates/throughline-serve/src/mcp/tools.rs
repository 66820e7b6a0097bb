//! The tools: their arguments and answers, when to use each, and what each does.

use std::sync::Arc;

use jiff::Timestamp;
use memory::{FactKind, Kind, Session, Trust};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{Counts, Store};

use super::fenced::{self, Fenced};
use super::schema::schema_of;
use crate::requests::context::{self, Context};
use crate::requests::facts::{self, Statement};
use crate::requests::find::{the_fact, the_record, the_session};
use crate::requests::search::{self, Found, Search};
use crate::requests::{Reach, Refused};
use crate::{Settings, Write};

/// Hits of a search unless asked for more or fewer, and at most.
const TOP_K: i64 = 8;
const TOP_K_MAX: i64 = 30;
/// How long one answer becomes before the rest waits for the next.
const PAGE_BYTES: usize = 12_000;
/// What a timeline shows of one record.
const EXCERPT_CHARS: usize = 1_200;
/// Records that one page of a timeline looks at.
const PAGE_RECORDS: usize = 40;

/// What a tool works with.
#[derive(Debug)]
pub struct Call<'a> {
    pub store: &'a Store,
    pub settings: &'a Settings,
    pub reach: &'a Reach,
    pub now: Timestamp,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchArgs {
    /// What to look for: a question as you would ask a colleague, or words, names, error messages
    query: String,
    /// How many hits, 1 to 30; 8 unless given
    #[schemars(range(min = 1, max = 30))]
    top_k: Option<i64>,
    /// Only this type: prompt (what the user asked), assistant, tool_use, tool_result, error, artifact
    /// (changes of files), summary, thinking, approval, or fact
    #[serde(rename = "type")]
    kind: Option<HitKind>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HitKind {
    Prompt,
    Assistant,
    Thinking,
    ToolUse,
    ToolResult,
    Approval,
    Error,
    Artifact,
    Summary,
    Fact,
}

impl HitKind {
    fn record(self) -> Option<Kind> {
        Some(match self {
            Self::Prompt => Kind::Prompt,
            Self::Assistant => Kind::Assistant,
            Self::Thinking => Kind::Thinking,
            Self::ToolUse => Kind::ToolUse,
            Self::ToolResult => Kind::ToolResult,
            Self::Approval => Kind::Approval,
            Self::Error => Kind::Error,
            Self::Artifact => Kind::Artifact,
            Self::Summary => Kind::Summary,
            Self::Fact => return None,
        })
    }

    fn of(kind: Kind) -> Self {
        match kind {
            Kind::Prompt => Self::Prompt,
            Kind::Assistant => Self::Assistant,
            Kind::Thinking => Self::Thinking,
            Kind::ToolUse => Self::ToolUse,
            Kind::ToolResult => Self::ToolResult,
            Kind::Approval => Self::Approval,
            Kind::Error => Self::Error,
            Kind::Artifact => Self::Artifact,
            Kind::Summary => Self::Summary,
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SearchAnswer {
    /// How sure the search is that the hits have to do with the question, from 0 to 1
    confidence: f64,
    /// Best first; the text of each is under the same number in `text`
    hits: Vec<Hit>,
    /// Why there is nothing, or what to know about the hits
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// What was found, quoted
    text: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Hit {
    number: i64,
    /// For memory_get
    id: String,
    #[serde(rename = "type")]
    kind: HitKind,
    /// When it was said or done
    at: Option<String>,
    session: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetArgs {
    /// The id of a record or a fact from memory_search, or of a session
    id: String,
    /// Where to go on: `next` of the answer before; 0 unless given
    #[schemars(range(min = 0))]
    from: Option<i64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct GetAnswer {
    id: String,
    kind: Thing,
    /// The session it is part of
    session: Option<String>,
    title: Option<String>,
    at: Option<String>,
    /// The text of a record or a fact, or the timeline of a session, quoted
    text: String,
    /// There is more: call again with this as `from`
    next: Option<i64>,
}

impl GetAnswer {
    /// Returns what it shows, with how to see more.
    pub fn into_text(self) -> String {
        match self.next {
            Some(next) => format!(
                "{}\n(memory_get with id {} and from {next} goes on)",
                self.text, self.id
            ),
            None => self.text,
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Thing {
    Record,
    Session,
    Fact,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextArgs {
    /// The prompt or task to find context for
    prompt: String,
    /// The session's id, so that nothing is shown to it twice
    session: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct ContextAnswer {
    /// Ids of the facts and records that are shown
    items: Vec<String>,
    /// Why memory has nothing to say
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// What memory has, quoted; empty when it has nothing
    text: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RememberArgs {
    /// One durable statement of at most 40 words that stands on its own
    text: String,
    /// What it is: a decision, a command that works, an outcome, or a note, which it is unless given
    kind: Option<NoteKind>,
    /// Words to find it by
    #[serde(default)]
    tags: Vec<String>,
}

/// Preferences and corrections are the user's to state.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum NoteKind {
    Decision,
    Command,
    Outcome,
    Note,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct RememberAnswer {
    id: String,
    /// It was known, and is counted once more
    repeated: bool,
    /// Ids of facts it takes the place of
    superseded: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PinArgs {
    /// The id of a fact or a record
    id: String,
    action: Action,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Pin,
    Unpin,
    Forget,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct PinAnswer {
    action: Action,
    id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatsArgs {}

#[derive(Debug, Serialize, JsonSchema)]
pub struct StatsAnswer {
    /// The workspace that is meant
    workspace: Option<String>,
    sessions: i64,
    records: i64,
    facts: i64,
    pins: i64,
    /// When the first and the last session were
    first: Option<String>,
    last: Option<String>,
    /// The latest sessions, newest first
    latest: Vec<Latest>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Latest {
    id: String,
    agent: String,
    title: Option<String>,
    at: Option<String>,
}

/// Returns the tools an agent may use, always in the same order.
pub fn list(settings: &Settings) -> Vec<Tool> {
    let may = |write: Write| settings.mcp.write.contains(&write);
    let reads = || {
        ToolAnnotations::new()
            .read_only(true)
            .destructive(false)
            .idempotent(true)
            .open_world(false)
    };
    let mut tools = vec![
        tool::<SearchArgs, SearchAnswer>(
            "memory_search",
            "Search memory",
            "Search what was said and done in earlier sessions in this workspace: requests, decisions, errors and \
             their fixes, commands, changed files. Use it before you work out something that may have been \
             worked out before, when the user refers to earlier work, and when an error looks familiar. Not for \
             what the current conversation or the files themselves tell.",
            reads(),
        ),
        tool::<GetArgs, GetAnswer>(
            "memory_get",
            "Read a memory",
            "Read a record or a fact whole, or the timeline of a session, by an id that memory_search gave. Use it \
             when a hit's excerpt is not enough. Long answers come in parts: go on with `next`.",
            reads(),
        ),
        tool::<ContextArgs, ContextAnswer>(
            "memory_context",
            "Context for a task",
            "Get the few facts and excerpts of earlier sessions that matter for a task, already chosen; nothing \
             when nothing is sure to matter. Use it once at the start of a task when no memory was shown to you \
             with the prompt.",
            reads().idempotent(false),
        ),
    ];
    if may(Write::Remember) {
        tools.push(tool::<RememberArgs, RememberAnswer>(
            "memory_remember",
            "Remember a fact",
            "Keep one durable statement about this workspace for later sessions: a decision with its reason, a \
             command that works, an outcome. Use it when the user asks to remember something or when something was \
             settled that the files do not tell. Not for secrets, and not for what is only true today.",
            ToolAnnotations::new()
                .read_only(false)
                .destructive(false)
                .idempotent(true)
                .open_world(false),
        ));
    }
    if may(Write::Pin) || may(Write::Forget) {
        tools.push(tool::<PinArgs, PinAnswer>(
            "memory_pin",
            "Pin or forget a memory",
            "Pin a fact or a record so that every session of this workspace sees it, unpin it, or forget it for good. \
             Use it only when the user asks for it.",
            ToolAnnotations::new()
                .read_only(false)
                .destructive(may(Write::Forget))
                .idempotent(true)
                .open_world(false),
        ));
    }
    tools.push(tool::<StatsArgs, StatsAnswer>(
        "memory_stats",
        "What memory holds",
        "How much memory holds of this workspace, and the latest sessions with their ids. Use it to see whether there \
         is anything to search, or to find the session that the user means.",
        reads(),
    ));
    tools
}

fn tool<A: JsonSchema, O: JsonSchema>(
    name: &'static str,
    title: &'static str,
    description: &'static str,
    annotations: ToolAnnotations,
) -> Tool {
    let mut annotations = annotations;
    annotations.title = Some(title.to_owned());
    Tool::new(name, description, schema_of::<A>())
        .with_title(title)
        .with_raw_output_schema(schema_of::<O>())
        .with_annotations(annotations)
}

/// Does what a tool is called for, and returns its answer as JSON. The caller has looked whether the tool is
/// offered.
pub fn call(
    call: &Call<'_>,
    name: &str,
    arguments: JsonObject,
) -> Result<serde_json::Value, Refused> {
    match name {
        "memory_search" => run(arguments, |args| search_for(call, &args)),
        "memory_get" => run(arguments, |args| get(call, &args)),
        "memory_context" => run(arguments, |args| context_for(call, args)),
        "memory_remember" => run(arguments, |args| remember(call, args)),
        "memory_pin" => run(arguments, |args| pin(call, &args)),
        "memory_stats" => run(arguments, |StatsArgs {}| stats(call)),
        _ => Err(Refused::not_found(
            format!("there is no tool {name:?}"),
            "tools/list names them",
        )),
    }
}

fn run<A: for<'de> Deserialize<'de>, O: Serialize>(
    arguments: JsonObject,
    run: impl FnOnce(A) -> Result<O, Refused>,
) -> Result<serde_json::Value, Refused> {
    let arguments = serde_json::Value::Object(arguments);
    let arguments = serde_json::from_value(arguments).map_err(|error| {
        Refused::invalid(
            format!("the arguments are not right: {error}"),
            "see the tool's inputSchema",
        )
    })?;
    let answer = run(arguments)?;
    serde_json::to_value(answer)
        .map_err(|error| Refused::invalid(error.to_string(), "this is a mistake of ours"))
}

fn search_for(call: &Call<'_>, args: &SearchArgs) -> Result<SearchAnswer, Refused> {
    let limit = args.top_k.unwrap_or(TOP_K).clamp(1, TOP_K_MAX);
    let asked = Search {
        query: args.query.clone(),
        limit: usize::try_from(limit).unwrap_or(1),
        kinds: args.kind.and_then(HitKind::record).into_iter().collect(),
        facts: matches!(args.kind, None | Some(HitKind::Fact)),
        sensitive: call.settings.injection.recall.sensitive,
        ..Search::default()
    };
    let mut found = search::search(call.store, call.reach, &asked, call.now)?;
    if args.kind == Some(HitKind::Fact) {
        found.hits.clear();
    }
    found
        .hits
        .truncate(asked.limit.saturating_sub(found.facts.len()).max(1));
    Ok(shown(call, args, &found))
}

fn shown(call: &Call<'_>, args: &SearchArgs, found: &Found) -> SearchAnswer {
    let mut fenced = Fenced::new(call.store.injection_name(&args.query, None, call.now));
    let mut hits = Vec::new();
    for fact in &found.facts {
        let number = hits.len() + 1;
        let head = format!("{number}. {}", fenced::of_fact(fact, call.now));
        fenced.add(&head, &fact.text);
        hits.push(Hit {
            number: count(number),
            id: fact.id.to_string(),
            kind: HitKind::Fact,
            at: Some(fact.seen.to_string()),
            session: None,
        });
    }
    for ranked in &found.hits {
        let (hit, number) = (&ranked.hit, hits.len() + 1);
        let who = fenced::who_did(hit.kind, hit.tool.as_deref(), hit.path.as_deref());
        let title = hit.title.as_deref().map_or_else(String::new, |title| {
            format!(", in the session {:?}", fenced::name(title))
        });
        let head = format!("{number}. {who}, {}{title}", fenced::age(hit.at, call.now));
        fenced.add(&head, &hit.snippet.text);
        hits.push(Hit {
            number: count(number),
            id: hit.id.to_string(),
            kind: HitKind::of(hit.kind),
            at: hit.at.map(|at| at.to_string()),
            session: Some(hit.session.to_string()),
        });
    }
    SearchAnswer {
        confidence: (found.confidence * 100.0).round() / 100.0,
        note: note(call, found, hits.is_empty()),
        text: if hits.is_empty() {
            String::new()
        } else {
            fenced.finish()
        },
        hits,
    }
}

fn note(call: &Call<'_>, found: &Found, is_empty: bool) -> Option<String> {
    use store::Rung;
    let note = match found.rung {
        _ if is_empty && call.reach.here().is_none() => {
            "the folder of the session is not known, so only what holds everywhere was looked at"
        }
        Rung::NoWords if is_empty => "there is no word in that to look for",
        _ if is_empty => "nothing found in this workspace",
        Rung::Related => "no record has all of these words; these have some, or mean the same",
        Rung::Fuzzy => "no record has these words; these have words that are spelt nearly so",
        Rung::Exact | Rung::Forms | Rung::NoWords => return None,
    };
    Some(note.to_owned())
}

fn get(call: &Call<'_>, args: &GetArgs) -> Result<GetAnswer, Refused> {
    let from = usize::try_from(args.from.unwrap_or(0)).unwrap_or(0);
    let is_id = args.id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id && args.id.len() == 32 {
        match record(call, &args.id, from) {
            Err(Refused::NotFound { .. }) => {}
            answered => return answered,
        }
    }
    if is_id && let Ok(answer) = fact(call, &args.id) {
        return Ok(answer);
    }
    let session =
        the_session(call.store, call.reach, &args.id).map_err(|refused| match refused {
            Refused::NotFound { .. } => Refused::not_found(
                format!("memory of this workspace has nothing called {:?}", args.id),
                "memory_search gives ids of records, facts and sessions",
            ),
            refused => refused,
        })?;
    timeline(call, &session, from)
}

fn record(call: &Call<'_>, id: &str, from: usize) -> Result<GetAnswer, Refused> {
    let record = the_record(call.store, call.reach, id)?;
    let start = record.content.floor_char_boundary(from);
    let rest = &record.content[start..];
    let end = rest.floor_char_boundary(PAGE_BYTES);
    let mut fenced = Fenced::new(call.store.injection_name(id, None, call.now));
    let head = format!(
        "{}, {}",
        fenced::who(&record),
        fenced::age(record.at, call.now)
    );
    fenced.add(&head, &rest[..end]);
    Ok(GetAnswer {
        id: record.id.to_string(),
        kind: Thing::Record,
        session: Some(record.session.to_string()),
        title: None,
        at: record.at.map(|at| at.to_string()),
        text: fenced.finish(),
        next: (end < rest.len()).then(|| count(start + end)),
    })
}

fn fact(call: &Call<'_>, id: &str) -> Result<GetAnswer, Refused> {
    let fact = the_fact(call.store, call.reach, id)?;
    let mut fenced = Fenced::new(call.store.injection_name(id, None, call.now));
    fenced.add(&fenced::of_fact(&fact, call.now), &fact.text);
    Ok(GetAnswer {
        id: fact.id.to_string(),
        kind: Thing::Fact,
        session: None,
        title: None,
        at: Some(fact.seen.to_string()),
        text: fenced.finish(),
        next: None,
    })
}

/// Returns a page of a session's records, each shortened.
pub fn timeline(call: &Call<'_>, session: &Session, from: usize) -> Result<GetAnswer, Refused> {
    let records = call.store.timeline(&session.id, from, PAGE_RECORDS)?;
    let word = call
        .store
        .injection_name(session.id.as_str(), Some(&session.id), call.now);
    let mut fenced = Fenced::new(word);
    let sensitive = call.settings.injection.recall.sensitive;
    let mut read = 0;
    for record in &records {
        if fenced.len() > PAGE_BYTES {
            break;
        }
        read += 1;
        let is_sensitive = record.tags.iter().any(|tag| tag == "sensitive");
        let text = match excerpt(&record.content) {
            _ if is_sensitive && !sensitive => "(may hold a secret; not shown)".to_owned(),
            text => text,
        };
        let number = from + read;
        let head = format!("{number}. {} [{}]", fenced::who(record), record.id);
        fenced.add(&head, &text);
    }
    let is_more = read < records.len() || records.len() == PAGE_RECORDS;
    Ok(GetAnswer {
        id: session.id.to_string(),
        kind: Thing::Session,
        session: Some(session.id.to_string()),
        title: session.title.as_deref().map(fenced::name),
        at: session.started.map(|at| at.to_string()),
        text: fenced.finish(),
        next: is_more.then(|| count(from + read)),
    })
}

fn excerpt(text: &str) -> String {
    match text.char_indices().nth(EXCERPT_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn context_for(call: &Call<'_>, args: ContextArgs) -> Result<ContextAnswer, Refused> {
    let here = workspace(call)?;
    let session = args.session.as_deref();
    let found = context::context(
        call.store,
        call.settings,
        here,
        args.prompt,
        session,
        call.now,
    )?;
    Ok(match found {
        Context::Given(pack) => ContextAnswer {
            items: pack
                .items
                .iter()
                .map(|item| item.item.to_string())
                .collect(),
            note: None,
            text: pack.text,
        },
        Context::Nothing(why) => ContextAnswer {
            items: Vec::new(),
            note: Some(why.to_owned()),
            text: String::new(),
        },
    })
}

fn remember(call: &Call<'_>, args: RememberArgs) -> Result<RememberAnswer, Refused> {
    let kind = match args.kind.unwrap_or(NoteKind::Note) {
        NoteKind::Decision => FactKind::Decision,
        NoteKind::Command => FactKind::Command,
        NoteKind::Outcome => FactKind::Outcome,
        NoteKind::Note => FactKind::Note,
    };
    let statement = Statement {
        text: args.text,
        kind,
        tags: args.tags,
        workspace: Some(workspace(call)?.clone()),
        // Whoever asked for it, what arrives here are a model's words.
        trust: Trust::Model,
        pinned: false,
    };
    let kept = facts::remember(call.store, statement, call.now)?;
    Ok(RememberAnswer {
        id: kept.id.to_string(),
        repeated: kept.repeated,
        superseded: kept.superseded.iter().map(ToString::to_string).collect(),
    })
}

fn workspace<'a>(call: &Call<'a>) -> Result<&'a memory::Workspace, Refused> {
    call.reach.here().ok_or_else(|| {
        Refused::invalid(
            "the folder of the session is not known",
            "name it in the header Throughline-Folder, or use `throughline mcp` over standard streams",
        )
    })
}

fn pin(call: &Call<'_>, args: &PinArgs) -> Result<PinAnswer, Refused> {
    let needed = match args.action {
        Action::Pin | Action::Unpin => Write::Pin,
        Action::Forget => Write::Forget,
    };
    if !call.settings.mcp.write.contains(&needed) {
        return Err(Refused::not_allowed(
            "the user does not let agents do this",
            "the user can, with `throughline pin`, `unpin` or `forget`, or allow it by `write` under [mcp]",
        ));
    }
    let (store, reach) = (call.store, call.reach);
    let id = match args.action {
        Action::Pin => facts::pin(store, reach, &args.id, call.now)?,
        Action::Unpin => facts::unpin(store, reach, &args.id)?,
        Action::Forget => {
            facts::forget(store, reach, &args.id, call.now)?;
            args.id.clone()
        }
    };
    Ok(PinAnswer {
        action: args.action,
        id,
    })
}

fn stats(call: &Call<'_>) -> Result<StatsAnswer, Refused> {
    let Counts {
        sessions,
        records,
        facts,
        pins,
        first,
        last,
    } = call.store.counts(call.reach.keys())?;
    let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let latest = latest(call.store, call.reach, 5)?;
    Ok(StatsAnswer {
        workspace: call.reach.here().map(|here| fenced::name(&here.key)),
        sessions: number(sessions),
        records: number(records),
        facts: number(facts),
        pins: number(pins),
        first: first.map(|at| at.to_string()),
        last: last.map(|at| at.to_string()),
        latest: latest
            .into_iter()
            .map(|session| Latest {
                at: session.ended.or(session.started).map(|at| at.to_string()),
                agent: session.flavor.name().to_owned(),
                title: session.title.as_deref().map(fenced::name),
                id: session.id.to_string(),
            })
            .collect(),
    })
}

/// Returns the latest sessions that may be seen, newest first.
pub fn latest(store: &Store, reach: &Reach, limit: usize) -> store::Result<Vec<Session>> {
    let mut sessions = Vec::new();
    for key in reach.keys().unwrap_or_default() {
        let filter = store::SessionFilter {
            workspace: Some(key.clone()),
            limit: 4 * limit,
            ..store::SessionFilter::default()
        };
        let named = store.sessions(&filter)?;
        // The filter takes a part of a workspace's name; here it must be the whole.
        let seen = |s: &Session| s.workspace.as_ref() == Some(key);
        sessions.extend(named.into_iter().filter(seen));
    }
    let at = |session: &Session| session.ended.or(session.started);
    sessions.sort_by(|a, b| at(b).cmp(&at(a)).then_with(|| a.id.cmp(&b.id)));
    sessions.truncate(limit);
    Ok(sessions)
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Keeps the schemas at hand: they never change while we run.
pub type Tools = Arc<Vec<Tool>>;
