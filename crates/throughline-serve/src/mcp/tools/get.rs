//! `memory_get`: returns a whole record or fact, or a page of a session.

use memory::Session;
use memory::layers::{Card, CardKey};
use rmcp::model::ToolAnnotations;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{McpTool, ToolContext, json_integer, read_only};
use crate::ServeSettings;
use crate::mcp::fenced::{self, FenceBuilder};
use crate::requests::RequestError;
use crate::requests::find::{find_fact, find_record, find_session};

/// An answer that reaches this size ends, and the rest follows on the next page.
const PAGE_BYTES_MAX: usize = 12_000;
/// The length of a record's excerpt in a timeline.
const EXCERPT_CHARS_MAX: usize = 1_200;
/// Replaces a text that may contain a secret.
const SENSITIVE_PLACEHOLDER: &str = "(may contain a secret; not shown)";
/// The most records on one page of a timeline.
const PAGE_RECORDS_MAX: usize = 40;

pub(super) struct GetTool;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GetToolArgs {
    /// The id of a record, fact or session from memory_search, or its beginning
    id: String,
    /// Where to continue: the `next` of the previous answer; 0 by default
    #[schemars(range(min = 0))]
    from: Option<i64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GetToolAnswer {
    id: String,
    kind: GetToolItemKind,
    /// The session that it belongs to
    session: Option<String>,
    title: Option<String>,
    at: Option<String>,
    /// The text of a record or fact, or the timeline of a session, quoted
    text: String,
    /// If there is more: the `from` of the next call
    next: Option<i64>,
}

impl GetToolAnswer {
    /// Returns the text, with a note on how to read more.
    pub(crate) fn into_text(self) -> String {
        match self.next {
            Some(next) => format!(
                "{}\n(continued by {} with id {} and from {next})",
                self.text,
                GetTool::NAME,
                self.id
            ),
            None => self.text,
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum GetToolItemKind {
    Record,
    Session,
    Fact,
}

impl McpTool for GetTool {
    const NAME: &'static str = "memory_get";
    const TITLE: &'static str = "Read a memory";
    const DESCRIPTION: &'static str = "Read a whole record or fact, or the timeline of a session, \
        by an id from memory_search. Use it when a hit's excerpt is not enough. Long answers come \
        in pages: continue with `next`.";
    type Args = GetToolArgs;
    type Answer = GetToolAnswer;

    fn annotations(_: &ServeSettings) -> Option<ToolAnnotations> {
        Some(read_only())
    }

    fn run(context: &ToolContext<'_>, args: GetToolArgs) -> Result<GetToolAnswer, RequestError> {
        let from = usize::try_from(args.from.unwrap_or(0)).unwrap_or(0);
        let is_id = args.id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let records = context.store.records_by_prefix(&args.id, 2)?;
        if let [record] = records[..] {
            match read_record(context, &record.to_string(), from) {
                Err(RequestError::NotFound { .. }) => {}
                answered => return answered,
            }
        }
        if is_id && let Ok(answer) = read_fact(context, &args.id) {
            return Ok(answer);
        }
        let session =
            find_session(context.store, context.scope, &args.id).map_err(|error| match error {
                RequestError::NotFound { .. } => RequestError::not_found(
                    format!("no record, fact or session {:?} in this workspace", args.id),
                    "memory_search returns the ids of records, facts and sessions",
                ),
                error => error,
            })?;
        read_timeline(context, &session, from)
    }
}

fn read_record(
    context: &ToolContext<'_>,
    id: &str,
    from: usize,
) -> Result<GetToolAnswer, RequestError> {
    let record = find_record(context.store, context.scope, id)?;
    let card = Card::new(&record.content, vec![record.id]);
    let card = Some(card).filter(|_| !record.tags.iter().any(|tag| tag == "sensitive"));
    context.count_pull(&[(CardKey::Record(record.id.to_string()), card)]);
    let start = record.content.floor_char_boundary(from);
    let rest = &record.content[start..];
    let end = rest.floor_char_boundary(PAGE_BYTES_MAX);
    let mut fence = FenceBuilder::new(context.store.injection_name(id, None, context.now));
    let head = format!(
        "{}, {}",
        fenced::describe_record(&record),
        fenced::describe_age(record.at, context.now)
    );
    fence.add_item(&head, &rest[..end]);
    Ok(GetToolAnswer {
        id: record.id.to_string(),
        kind: GetToolItemKind::Record,
        session: Some(record.session.to_string()),
        title: None,
        at: record.at.map(|at| at.to_string()),
        text: fence.finish(),
        next: (end < rest.len()).then(|| json_integer(start + end)),
    })
}

fn read_fact(context: &ToolContext<'_>, id: &str) -> Result<GetToolAnswer, RequestError> {
    let fact = find_fact(context.store, context.scope, id)?;
    let card = Card::new(&fact.text, Vec::new());
    context.count_pull(&[(CardKey::Fact(fact.id.to_string()), Some(card))]);
    let mut fence = FenceBuilder::new(context.store.injection_name(id, None, context.now));
    fence.add_item(&fenced::describe_fact(&fact, context.now), &fact.text);
    Ok(GetToolAnswer {
        id: fact.id.to_string(),
        kind: GetToolItemKind::Fact,
        session: None,
        title: None,
        at: Some(fact.seen.to_string()),
        text: fence.finish(),
        next: None,
    })
}

/// Returns a page of a session's records as excerpts.
pub(crate) fn read_timeline(
    context: &ToolContext<'_>,
    session: &Session,
    from: usize,
) -> Result<GetToolAnswer, RequestError> {
    let store = context.store;
    let records = store.timeline(&session.id, from, PAGE_RECORDS_MAX)?;
    let fence_id = store.injection_name(session.id.as_str(), Some(&session.id), context.now);
    let mut fence = FenceBuilder::new(fence_id);
    let include_sensitive = context.includes_sensitive();
    if from == 0
        && let Some(digest) = store.digest_text(&session.id)?
    {
        let text = if digest.sensitive && !include_sensitive {
            SENSITIVE_PLACEHOLDER.to_owned()
        } else {
            excerpt(&digest.text)
        };
        let removed = session.evicted;
        fence.add_item(
            &format!("{removed} earlier records were removed; only their digest is left"),
            &text,
        );
    }
    let mut shown = 0;
    for record in &records {
        if fence.len() > PAGE_BYTES_MAX {
            break;
        }
        shown += 1;
        let is_sensitive = record.tags.iter().any(|tag| tag == "sensitive");
        let text = if is_sensitive && !include_sensitive {
            SENSITIVE_PLACEHOLDER.to_owned()
        } else {
            excerpt(&record.content)
        };
        let number = from + shown;
        let actor = fenced::describe_record(record);
        fence.add_item(&format!("{number}. {actor} [{}]", record.id), &text);
    }
    let has_more = shown < records.len() || records.len() == PAGE_RECORDS_MAX;
    Ok(GetToolAnswer {
        id: session.id.to_string(),
        kind: GetToolItemKind::Session,
        session: Some(session.id.to_string()),
        title: session.title.as_deref().map(fenced::display_name),
        at: session.started.map(|at| at.to_string()),
        text: fence.finish(),
        next: has_more.then(|| json_integer(from + shown)),
    })
}

fn excerpt(text: &str) -> String {
    match text.char_indices().nth(EXCERPT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
