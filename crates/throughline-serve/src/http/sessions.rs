//! Routes for sessions.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Uri, header};
use distill::snapshot::SnapshotSize;
use memory::tokens::estimate;
use memory::{Flavor, Outcome, SessionKind};
use serde::{Deserialize, Serialize};
use store::{MarkFilter, SessionCursor, SessionFilter};
use utoipa::{IntoParams, ToSchema};

use super::HttpState;
use super::extract::{PathId, QueryParams, parse_limit, parse_time};
use super::problem::Problem;
use super::views::SessionView;
use crate::percent::percent_encode;
use crate::requests::find::find_session;
use crate::requests::sessions::list_sessions;
use crate::requests::snapshot::session_snapshot;
use crate::requests::{AccessScope, RequestError};

const LIST_MAX: usize = 1_000;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SessionsParams {
    /// Only workspaces whose key or folder contains this
    workspace: Option<String>,
    /// Only from this time on: a date, or a time in RFC 3339
    since: Option<String>,
    /// Only before this time
    until: Option<String>,
    /// Only sessions of this agent
    agent: Option<String>,
    /// Only sessions of this kind: main, subagent or headless
    kind: Option<String>,
    /// Only sessions with this outcome
    outcome: Option<String>,
    /// Only sessions on this branch
    branch: Option<String>,
    /// Only sessions whose title contains this
    q: Option<String>,
    /// Only sessions whose logs are gone
    gone: Option<bool>,
    /// Only starred sessions
    starred: Option<bool>,
    /// Only sessions with this tag
    tag: Option<String>,
    /// Only archived sessions, which are not listed otherwise
    archived: Option<bool>,
    /// Include subagents
    all: Option<bool>,
    #[param(minimum = 1, maximum = 1000, default = 50)]
    limit: Option<u32>,
    /// Where the next page begins, from the `Link` header of the previous one
    cursor: Option<String>,
}

impl SessionsParams {
    fn filter(self) -> Result<SessionFilter, RequestError> {
        let some = |text: Option<String>| text.filter(|text| !text.is_empty());
        Ok(SessionFilter {
            workspace: some(self.workspace),
            since: parse_time(self.since.as_deref())?,
            until: parse_time(self.until.as_deref())?,
            flavor: parse_name("agent", some(self.agent), Flavor::from_name)?,
            kind: parse_name("kind", some(self.kind), SessionKind::from_name)?,
            outcome: parse_name("outcome", some(self.outcome), Outcome::from_name)?,
            branch: some(self.branch),
            title: some(self.q),
            gone: self.gone.unwrap_or(false),
            marks: MarkFilter {
                starred: self.starred.unwrap_or(false),
                tag: some(self.tag),
                archived: self.archived.unwrap_or(false),
            },
            all_kinds: self.all.unwrap_or(false),
            after: parse_name("cursor", some(self.cursor), SessionCursor::parse)?,
            limit: parse_limit(self.limit, 50, LIST_MAX)?,
        })
    }
}

/// Parses one of several names.
fn parse_name<T>(
    parameter: &str,
    name: Option<String>,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, RequestError> {
    let Some(name) = name else { return Ok(None) };
    let parsed = parse(&name).ok_or_else(|| {
        RequestError::invalid(
            format!("{name:?} is not a valid {parameter}"),
            "docs/HTTP.md lists the values",
        )
    })?;
    Ok(Some(parsed))
}

/// List sessions, latest first
///
/// The header `x-total-count` says how many sessions match; `link` leads to the next page.
#[utoipa::path(get, path = "/sessions", tag = "sessions", params(SessionsParams),
    responses((status = 200, body = Vec<SessionView>,
        headers(("x-total-count" = u64), ("link" = String)))))]
pub(super) async fn list(
    State(state): State<HttpState>,
    uri: Uri,
    QueryParams(params): QueryParams<SessionsParams>,
) -> Result<(HeaderMap, Json<Vec<SessionView>>), Problem> {
    let listed = state.run_blocking(move |context| {
        let filter = params.filter()?;
        let scope = AccessScope::unrestricted();
        let sessions = list_sessions(&context.store, &scope, &filter)?;
        let next = (sessions.len() == filter.limit)
            .then(|| sessions.last().map(SessionCursor::at))
            .flatten();
        Ok((sessions, next, context.store.count_sessions(&filter)?))
    });
    let (sessions, next, total) = listed.await?;
    let mut headers = HeaderMap::new();
    headers.insert("x-total-count", total.into());
    if let Some(link) = next.and_then(|next| link_to_next(&uri, &next)) {
        headers.insert(header::LINK, link);
    }
    let views = sessions.into_iter().map(Into::into).collect();
    Ok((headers, Json(views)))
}

/// Returns the value of a `Link` header to the next page of a list: the same request with another
/// cursor.
fn link_to_next(uri: &Uri, next: &SessionCursor) -> Option<HeaderValue> {
    let parts = uri.query().unwrap_or_default().split('&');
    let mut query: String = parts
        .filter(|part| !part.is_empty() && !part.starts_with("cursor="))
        .map(|part| format!("{part}&"))
        .collect();
    query += "cursor=";
    query += &percent_encode(&next.to_string());
    HeaderValue::from_str(&format!("<{}?{query}>; rel=\"next\"", uri.path())).ok()
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
pub(super) struct SnapshotParams {
    /// `lightweight` (100 tokens), `standard` (1,000, the default) or `comprehensive` (5,000)
    size: Option<String>,
    /// The number of a checkpoint; the last one if it is left out
    #[param(minimum = 1)]
    at: Option<u32>,
}

/// A session as it stood at a checkpoint
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Snapshot)]
pub(super) struct SnapshotAnswer {
    session_id: String,
    size: &'static str,
    tokens: u64,
    text: String,
}

/// Read a snapshot of a session
#[utoipa::path(get, path = "/sessions/{id}/snapshot", tag = "sessions",
    params(("id" = String, Path, description = "The session's id or a prefix of it"),
        SnapshotParams),
    responses((status = 200, body = SnapshotAnswer)))]
pub(super) async fn snapshot(
    State(state): State<HttpState>,
    PathId(id): PathId,
    QueryParams(params): QueryParams<SnapshotParams>,
) -> Result<Json<SnapshotAnswer>, Problem> {
    let read = state.run_blocking(move |context| {
        let name = params.size.filter(|name| !name.is_empty());
        let name = name.as_deref().unwrap_or(SnapshotSize::Standard.name());
        let size = SnapshotSize::from_name(name).ok_or_else(|| {
            RequestError::invalid(
                format!("unknown size {name:?}"),
                "use lightweight, standard or comprehensive",
            )
        })?;
        let session = find_session(&context.store, &AccessScope::unrestricted(), &id)?;
        let text = session_snapshot(&context.store, &session, params.at, size)?;
        Ok(SnapshotAnswer {
            session_id: session.id.to_string(),
            size: size.name(),
            tokens: estimate(&text).0,
            text,
        })
    });
    Ok(Json(read.await?))
}
