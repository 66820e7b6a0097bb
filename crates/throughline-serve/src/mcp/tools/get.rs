//! `memory_get`: returns a whole record or fact, or a page of a session.

use memory::Session;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{McpToolSpec, ToolContext, json_integer};
use crate::mcp::fenced::{self, FenceBuilder};
use crate::requests::RequestError;
use crate::requests::find::{find_fact, find_record, find_session};

pub const SPEC: McpToolSpec = McpToolSpec {
    name: "memory_get",
    title: "Read a memory",
    description: "Read a record or a fact whole, or the timeline of a session, by an id that memory_search gave. Use it \
        when a hit's excerpt is not enough. Long answers come in parts: go on with `next`.",
};

/// An answer that reaches this size ends, and the rest follows on the next page.
const PAGE_BYTES_MAX: usize = 12_000;
/// The length of a record's excerpt in a timeline.
const EXCERPT_CHARS_MAX: usize = 1_200;
/// Replaces a text that may contain a secret.
const SENSITIVE_PLACEHOLDER: &str = "(may contain a secret; not shown)";
/// The most records on one page of a timeline.
const PAGE_RECORDS_MAX: usize = 40;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetToolArgs {
    /// The id of a record or fact from memory_search, or of a session
    id: String,
    /// Where to continue: the `next` of the previous answer; 0 by default
    #[schemars(range(min = 0))]
    from: Option<i64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct GetToolAnswer {
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
    pub fn into_text(self) -> String {
        match self.next {
            Some(next) => format!(
                "{}\n(continued by memory_get with id {} and from {next})",
                self.text, self.id
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

pub fn run(call: &ToolContext<'_>, args: &GetToolArgs) -> Result<GetToolAnswer, RequestError> {
    let from = usize::try_from(args.from.unwrap_or(0)).unwrap_or(0);
    let is_id = args.id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id && args.id.len() == 32 {
        match read_record(call, &args.id, from) {
            Err(RequestError::NotFound { .. }) => {}
            answered => return answered,
        }
    }
    if is_id && let Ok(answer) = read_fact(call, &args.id) {
        return Ok(answer);
    }
    let session =
        find_session(call.store, call.scope, &args.id).map_err(|refused| match refused {
            RequestError::NotFound { .. } => RequestError::not_found(
                format!("no record, fact or session {:?} in this workspace", args.id),
                "memory_search returns the ids of records, facts and sessions",
            ),
            refused => refused,
        })?;
    read_timeline(call, &session, from)
}

fn read_record(
    call: &ToolContext<'_>,
    id: &str,
    from: usize,
) -> Result<GetToolAnswer, RequestError> {
    let record = find_record(call.store, call.scope, id)?;
    let start = record.content.floor_char_boundary(from);
    let rest = &record.content[start..];
    let end = rest.floor_char_boundary(PAGE_BYTES_MAX);
    let mut fenced = FenceBuilder::new(call.store.injection_name(id, None, call.now));
    let head = format!(
        "{}, {}",
        fenced::describe_record(&record),
        fenced::describe_age(record.at, call.now)
    );
    fenced.add_item(&head, &rest[..end]);
    Ok(GetToolAnswer {
        id: record.id.to_string(),
        kind: GetToolItemKind::Record,
        session: Some(record.session.to_string()),
        title: None,
        at: record.at.map(|at| at.to_string()),
        text: fenced.finish(),
        next: (end < rest.len()).then(|| json_integer(start + end)),
    })
}

fn read_fact(call: &ToolContext<'_>, id: &str) -> Result<GetToolAnswer, RequestError> {
    let fact = find_fact(call.store, call.scope, id)?;
    let mut fenced = FenceBuilder::new(call.store.injection_name(id, None, call.now));
    fenced.add_item(&fenced::describe_fact(&fact, call.now), &fact.text);
    Ok(GetToolAnswer {
        id: fact.id.to_string(),
        kind: GetToolItemKind::Fact,
        session: None,
        title: None,
        at: Some(fact.seen.to_string()),
        text: fenced.finish(),
        next: None,
    })
}

/// Returns a page of a session's records as excerpts.
pub fn read_timeline(
    call: &ToolContext<'_>,
    session: &Session,
    from: usize,
) -> Result<GetToolAnswer, RequestError> {
    let records = call.store.timeline(&session.id, from, PAGE_RECORDS_MAX)?;
    let word = call
        .store
        .injection_name(session.id.as_str(), Some(&session.id), call.now);
    let mut fenced = FenceBuilder::new(word);
    let sensitive = call.settings.injection.recall.include_sensitive;
    if from == 0
        && let Some(digest) = call.store.digest_text(&session.id)?
    {
        let text = if digest.sensitive && !sensitive {
            SENSITIVE_PLACEHOLDER.to_owned()
        } else {
            excerpt(&digest.text)
        };
        let gone = session.evicted;
        fenced.add_item(
            &format!("{gone} earlier records were removed; only their digest is left"),
            &text,
        );
    }
    let mut read = 0;
    for record in &records {
        if fenced.len() > PAGE_BYTES_MAX {
            break;
        }
        read += 1;
        let is_sensitive = record.tags.iter().any(|tag| tag == "sensitive");
        let text = match excerpt(&record.content) {
            _ if is_sensitive && !sensitive => SENSITIVE_PLACEHOLDER.to_owned(),
            text => text,
        };
        let number = from + read;
        let head = format!(
            "{number}. {} [{}]",
            fenced::describe_record(record),
            record.id
        );
        fenced.add_item(&head, &text);
    }
    let is_more = read < records.len() || records.len() == PAGE_RECORDS_MAX;
    Ok(GetToolAnswer {
        id: session.id.to_string(),
        kind: GetToolItemKind::Session,
        session: Some(session.id.to_string()),
        title: session.title.as_deref().map(fenced::display_name),
        at: session.started.map(|at| at.to_string()),
        text: fenced.finish(),
        next: is_more.then(|| json_integer(from + read)),
    })
}

fn excerpt(text: &str) -> String {
    match text.char_indices().nth(EXCERPT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
