//! `memory_get`: a record or a fact whole, a session page by page.

use memory::Session;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Call, Form, count};
use crate::mcp::fenced::{self, Fenced};
use crate::requests::Refused;
use crate::requests::find::{the_fact, the_record, the_session};

pub const FORM: Form = Form {
    name: "memory_get",
    title: "Read a memory",
    description: "Read a record or a fact whole, or the timeline of a session, by an id that memory_search gave. Use it \
        when a hit's excerpt is not enough. Long answers come in parts: go on with `next`.",
};

/// How long one answer becomes before the rest waits for the next.
const PAGE_BYTES: usize = 12_000;
/// What a timeline shows of one record.
const EXCERPT_CHARS: usize = 1_200;
/// Stands for a text that may hold a secret.
const NOT_SHOWN: &str = "(may hold a secret; not shown)";
/// Records that one page of a timeline looks at.
const PAGE_RECORDS: usize = 40;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Args {
    /// The id of a record or a fact from memory_search, or of a session
    id: String,
    /// Where to go on: `next` of the answer before; 0 unless given
    #[schemars(range(min = 0))]
    from: Option<i64>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
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

impl Answer {
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

pub fn run(call: &Call<'_>, args: &Args) -> Result<Answer, Refused> {
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

fn record(call: &Call<'_>, id: &str, from: usize) -> Result<Answer, Refused> {
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
    Ok(Answer {
        id: record.id.to_string(),
        kind: Thing::Record,
        session: Some(record.session.to_string()),
        title: None,
        at: record.at.map(|at| at.to_string()),
        text: fenced.finish(),
        next: (end < rest.len()).then(|| count(start + end)),
    })
}

fn fact(call: &Call<'_>, id: &str) -> Result<Answer, Refused> {
    let fact = the_fact(call.store, call.reach, id)?;
    let mut fenced = Fenced::new(call.store.injection_name(id, None, call.now));
    fenced.add(&fenced::of_fact(&fact, call.now), &fact.text);
    Ok(Answer {
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
pub fn timeline(call: &Call<'_>, session: &Session, from: usize) -> Result<Answer, Refused> {
    let records = call.store.timeline(&session.id, from, PAGE_RECORDS)?;
    let word = call
        .store
        .injection_name(session.id.as_str(), Some(&session.id), call.now);
    let mut fenced = Fenced::new(word);
    let sensitive = call.settings.injection.recall.sensitive;
    if from == 0
        && let Some(digest) = call.store.digest_text(&session.id)?
    {
        let text = if digest.sensitive && !sensitive {
            NOT_SHOWN.to_owned()
        } else {
            excerpt(&digest.text)
        };
        let gone = session.evicted;
        fenced.add(
            &format!("{gone} earlier records were removed; only their digest is left"),
            &text,
        );
    }
    let mut read = 0;
    for record in &records {
        if fenced.len() > PAGE_BYTES {
            break;
        }
        read += 1;
        let is_sensitive = record.tags.iter().any(|tag| tag == "sensitive");
        let text = match excerpt(&record.content) {
            _ if is_sensitive && !sensitive => NOT_SHOWN.to_owned(),
            text => text,
        };
        let number = from + read;
        let head = format!("{number}. {} [{}]", fenced::who(record), record.id);
        fenced.add(&head, &text);
    }
    let is_more = read < records.len() || records.len() == PAGE_RECORDS;
    Ok(Answer {
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
