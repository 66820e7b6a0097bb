//! Routes for what is inside a session: its timeline, its outline, and finding a text in it.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use memory::layers::{Card, CardKey};
use memory::{RecordKind, Session};
use serde::{Deserialize, Serialize};
use store::{Store, StoredRecord};
use utoipa::{IntoParams, ToSchema};

use super::HttpState;
use super::extract::{PathId, QueryParams, parse_limit};
use super::problem::Problem;
use super::views::RecordView;
use crate::requests::find::{find_record, find_session};
use crate::requests::markdown::{TextBlock, parse_blocks};
use crate::requests::{AccessScope, RequestError};

const PAGE_MAX: usize = 500;
const CUT_MAX: usize = 10_000_000;
const FIND_DEFAULT: usize = 1_000;
const FIND_MAX: usize = 10_000;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct TimelineParams {
    /// The number of records to skip; a negative number counts from the end
    #[param(default = 0)]
    from: Option<i64>,
    /// The id of a record to place in the middle of the page, instead of `from`
    around: Option<String>,
    #[param(minimum = 1, maximum = 500, default = 100)]
    limit: Option<u32>,
    /// Shorten each text to this number of bytes
    #[param(minimum = 1, maximum = 10000000)]
    cut: Option<u32>,
    /// Add the blocks of formatted texts
    blocks: Option<bool>,
}

/// A record with its place in its session.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct TimelineEntry {
    /// How many records come before it in the session
    n: usize,
    /// Joins a call with its result and the files it changed
    call: Option<String>,
    /// The size of the whole text
    bytes: usize,
    /// The estimated number of tokens of the whole text
    tokens: u64,
    /// If asked for: the blocks of a formatted text, as far as it was sent
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>)]
    blocks: Option<Vec<TextBlock>>,
    #[serde(flatten)]
    record: RecordView,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Timeline {
    records: Vec<TimelineEntry>,
    /// How many records were skipped
    from: usize,
    /// How many records the session has
    total: usize,
    /// If there are more records: the `from` of the next page
    next: Option<usize>,
}

/// The records of a session in the order of its log, page by page
#[utoipa::path(get, path = "/sessions/{id}/timeline", tag = "sessions",
    params(("id" = String, Path, description = "The session's id or a prefix of it"),
        TimelineParams),
    responses((status = 200, body = Timeline)))]
pub(super) async fn timeline(
    State(state): State<HttpState>,
    PathId(id): PathId,
    QueryParams(params): QueryParams<TimelineParams>,
) -> Result<Json<Timeline>, Problem> {
    let limit = parse_limit(params.limit, 100, PAGE_MAX)?;
    let cut = params
        .cut
        .map(|_| parse_limit(params.cut, CUT_MAX, CUT_MAX));
    let cut = cut.transpose()?;
    let page = state.run_blocking(move |context| {
        let store = &context.store;
        let generation = store.card_generation()?;
        let session = find_session(store, &AccessScope::unrestricted(), &id)?;
        let digest = CardKey::Digest(session.id.to_string());
        let title = session.name_or_title().unwrap_or("untitled session");
        let card = Card::new(title, Vec::new());
        let workspace = session.workspace.as_deref();
        context.count_pull(workspace, digest, Some(card), generation);
        let total = store.timeline_length(&session.id)?;
        let from = match params.around.filter(|id| !id.is_empty()) {
            Some(record) => {
                position_in_session(store, &session, &record)?.saturating_sub(limit / 2)
            }
            None => first_of_page(params.from.unwrap_or(0), total),
        };
        let records = store.timeline(&session.id, from, limit)?;
        let next = from + records.len();
        let with_blocks = params.blocks.unwrap_or_default();
        let entry = |(at, record)| timeline_entry(from + at, record, cut, with_blocks);
        Ok(Timeline {
            records: records.into_iter().enumerate().map(entry).collect(),
            from,
            total,
            next: (next < total).then_some(next),
        })
    });
    Ok(Json(page.await?))
}

/// Returns how many records a page skips. A negative number counts from the end.
fn first_of_page(from: i64, total: usize) -> usize {
    let skipped = usize::try_from(from.unsigned_abs()).unwrap_or(usize::MAX);
    if from < 0 {
        total.saturating_sub(skipped)
    } else {
        skipped
    }
}

/// Returns the position of a record, which must belong to the session.
fn position_in_session(
    store: &Store,
    session: &Session,
    record: &str,
) -> Result<usize, RequestError> {
    let found = find_record(store, &AccessScope::unrestricted(), record)?;
    if found.session != session.id {
        return Err(RequestError::not_found(
            format!("record {record} is not in session {}", session.id),
            format!("it is in session {}", found.session),
        ));
    }
    Ok(store.timeline_position(found.id)?.unwrap_or(0))
}

fn timeline_entry(
    n: usize,
    mut record: StoredRecord,
    cut: Option<usize>,
    with_blocks: bool,
) -> TimelineEntry {
    let bytes = record.content.len();
    let tokens = memory::tokens::estimate(&record.content).0;
    if let Some(cut) = cut.filter(|cut| *cut < bytes) {
        record
            .content
            .truncate(record.content.floor_char_boundary(cut));
    }
    let is_formatted = matches!(
        record.kind,
        RecordKind::Prompt | RecordKind::Assistant | RecordKind::Summary | RecordKind::Thinking
    );
    let blocks = (with_blocks && is_formatted).then(|| parse_blocks(&record.content));
    TimelineEntry {
        blocks: blocks.flatten(),
        n,
        call: record.call.clone(),
        bytes,
        tokens,
        record: record.into(),
    }
}

/// The outline of a session, a column for each property of its records.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Outline {
    total: usize,
    /// The type of each record
    kind: Vec<&'static str>,
    /// For each record, the position of its tool in `tools`
    tool: Vec<Option<usize>>,
    /// The size of each text
    bytes: Vec<u64>,
    /// When each record was made, in milliseconds since 1970
    at: Vec<Option<i64>>,
    tools: Vec<String>,
    /// Records that do not come directly after their call, because several calls were made at
    /// once: the position of the record, and the position of the record that it follows
    follows: Vec<[usize; 2]>,
    /// The changed files, with the positions of their changes
    changes: BTreeMap<String, Vec<usize>>,
}

/// What the records of a session are, without their texts
#[utoipa::path(get, path = "/sessions/{id}/outline", tag = "sessions",
    params(("id" = String, Path, description = "The session's id or a prefix of it")),
    responses((status = 200, body = Outline)))]
pub(super) async fn outline(
    State(state): State<HttpState>,
    PathId(id): PathId,
) -> Result<Json<Outline>, Problem> {
    let outline = state.run_blocking(move |context| {
        let session = find_session(&context.store, &AccessScope::unrestricted(), &id)?;
        Ok(context.store.outline(&session.id)?)
    });
    let outline = outline.await?;
    Ok(Json(Outline {
        total: outline.kind.len(),
        kind: outline.kind.into_iter().map(RecordKind::name).collect(),
        tool: outline.tool,
        bytes: outline.bytes,
        at: outline.at,
        tools: outline.tools,
        follows: outline.follows.into_iter().map(Into::into).collect(),
        changes: outline.changes,
    }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct FindParams {
    /// The text to find; upper and lower case are the same
    q: String,
    #[param(minimum = 1, maximum = 10000, default = 1000)]
    limit: Option<u32>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FindAnswer {
    /// The positions of the records that contain the text
    matches: Vec<usize>,
    /// There may be more matches than the limit
    more: bool,
}

/// Find a text inside a session
#[utoipa::path(get, path = "/sessions/{id}/find", tag = "sessions",
    params(("id" = String, Path, description = "The session's id or a prefix of it"), FindParams),
    responses((status = 200, body = FindAnswer)))]
pub(super) async fn find(
    State(state): State<HttpState>,
    PathId(id): PathId,
    QueryParams(params): QueryParams<FindParams>,
) -> Result<Json<FindAnswer>, Problem> {
    let limit = parse_limit(params.limit, FIND_DEFAULT, FIND_MAX)?;
    let found = state.run_blocking(move |context| {
        let needle = params.q.to_lowercase();
        if needle.trim().is_empty() {
            return Err(RequestError::invalid("no text to find", "pass it as `q`"));
        }
        let session = find_session(&context.store, &AccessScope::unrestricted(), &id)?;
        let contains = |text: &str| text.to_lowercase().contains(&needle);
        Ok(context
            .store
            .find_in_session(&session.id, limit, contains)?)
    });
    let matches = found.await?;
    let more = matches.len() == limit;
    Ok(Json(FindAnswer { matches, more }))
}
