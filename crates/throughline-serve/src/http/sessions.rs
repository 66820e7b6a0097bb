//! Routes for sessions and their timelines.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use store::SessionFilter;
use utoipa::{IntoParams, ToSchema};

use super::HttpState;
use super::extract::{PathId, QueryParams, parse_limit, parse_time};
use super::problem::Problem;
use super::views::{RecordView, SessionView};
use crate::requests::AccessScope;
use crate::requests::find::find_session;
use crate::requests::sessions::list_sessions;

const LIST_MAX: usize = 1_000;
const PAGE_MAX: usize = 500;
const FROM_MAX: usize = 1_000_000_000;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SessionsParams {
    /// Only workspaces whose key or folder contains this
    workspace: Option<String>,
    /// Only from this time on: a date, or a time in RFC 3339
    since: Option<String>,
    /// Include subagents
    all: Option<bool>,
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<u32>,
}

/// List sessions, latest first
#[utoipa::path(get, path = "/sessions", tag = "sessions", params(SessionsParams),
    responses((status = 200, body = Vec<SessionView>)))]
pub(super) async fn list(
    State(state): State<HttpState>,
    QueryParams(params): QueryParams<SessionsParams>,
) -> Result<Json<Vec<SessionView>>, Problem> {
    let listed = state.run_blocking(move |context| {
        let filter = SessionFilter {
            workspace: params.workspace.filter(|part| !part.is_empty()),
            since: parse_time(params.since.as_deref())?,
            all_kinds: params.all.unwrap_or(false),
            limit: parse_limit(params.limit, 50, LIST_MAX)?,
            ..SessionFilter::default()
        };
        Ok(list_sessions(
            &context.store,
            &AccessScope::unrestricted(),
            &filter,
        )?)
    });
    Ok(Json(listed.await?.into_iter().map(Into::into).collect()))
}

/// A session with its digest, summary and subagents
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SessionAnswer {
    session: SessionView,
    /// The digest, if there is one
    #[schema(value_type = Option<Object>)]
    digest: Option<serde_json::Value>,
    /// The running summary, if there is one
    summary: Option<String>,
    subagents: Vec<SessionView>,
}

/// Read a session
#[utoipa::path(get, path = "/sessions/{id}", tag = "sessions",
    params(("id" = String, Path, description = "The session's id or a prefix of it")),
    responses((status = 200, body = SessionAnswer)))]
pub(super) async fn get(
    State(state): State<HttpState>,
    PathId(id): PathId,
) -> Result<Json<SessionAnswer>, Problem> {
    let read = state.run_blocking(move |context| {
        let store = &context.store;
        let session = find_session(store, &AccessScope::unrestricted(), &id)?;
        let digest = store.digest(&session.id)?;
        let subagents = store.subagents(&session.id)?;
        Ok(SessionAnswer {
            digest: digest.and_then(|digest| serde_json::to_value(digest).ok()),
            summary: store.summary(&session.id)?.map(|stored| stored.text),
            subagents: subagents.into_iter().map(Into::into).collect(),
            session: session.into(),
        })
    });
    Ok(Json(read.await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct TimelineParams {
    /// The number of records to skip
    #[param(minimum = 0, maximum = 1000000000, default = 0)]
    from: Option<u32>,
    #[param(minimum = 1, maximum = 500, default = 100)]
    limit: Option<u32>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Timeline {
    records: Vec<RecordView>,
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
    let from = match params.from.unwrap_or(0) {
        0 => 0,
        from => parse_limit(Some(from), 0, FROM_MAX)?,
    };
    let limit = parse_limit(params.limit, 100, PAGE_MAX)?;
    let records = state.run_blocking(move |context| {
        let session = find_session(&context.store, &AccessScope::unrestricted(), &id)?;
        Ok(context.store.timeline(&session.id, from, limit + 1)?)
    });
    let mut records = records.await?;
    let is_more = records.len() > limit;
    records.truncate(limit);
    Ok(Json(Timeline {
        records: records.into_iter().map(Into::into).collect(),
        next: is_more.then_some(from + limit),
    }))
}
