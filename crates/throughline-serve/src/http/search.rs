//! Routes for search and for the context of a prompt.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Instant;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use memory::{Outcome, Session};
use serde::{Deserialize, Serialize};
use store::{Query, Store};
use utoipa::{IntoParams, ToSchema};

use super::HttpState;
use super::extract::{JsonBody, QueryParams, parse_limit, parse_time};
use super::problem::Problem;
use super::views::{HitView, SessionView};
use crate::requests::context::{prompt_context, show_prompt_context};
use crate::requests::find::find_session;
use crate::requests::search::{Audience, HITS_MAX, SearchOptions, SearchOutcome};
use crate::requests::{self, AccessScope, RequestError, require_absolute};
use crate::{HitType, ServeContext, prompt};

/// The number of hits if the request does not say.
const HITS_DEFAULT: usize = 20;
/// The media type of a stream of hits.
const NDJSON: &str = "application/x-ndjson";

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SearchParams {
    /// What to search for: a question, words, names, error codes
    q: String,
    /// The maximum number of hits
    #[param(minimum = 1, maximum = 100, default = 20)]
    k: Option<u32>,
    /// `facts` or `records`, or records of one type; both by default
    #[serde(rename = "type")]
    #[param(inline)]
    kind: Option<HitType>,
    /// Only this session
    session_id: Option<String>,
    /// Only workspaces whose key or folder contains this
    workspace: Option<String>,
    /// Only from this time on: milliseconds since 1970, a date, or a time in RFC 3339
    since: Option<String>,
    /// Only before this time
    until: Option<String>,
    /// Only sessions of this agent
    #[param(value_type = Option<String>)]
    agent: Option<memory::Flavor>,
    /// Only calls and results of this tool
    tool: Option<String>,
    /// Only records about this path
    path: Option<String>,
    /// Only with this tag
    tag: Option<String>,
    /// The last word is still being typed: it also matches words that begin with it
    typing: Option<bool>,
    /// Only sessions with this outcome
    outcome: Option<String>,
    /// Adds the sessions of the hits, and how closely and how surely they match
    group: Option<bool>,
    /// Adds the reasons for the ranking, and more about each hit
    explain: Option<bool>,
    /// Sends the hits as lines of JSON, like `Accept: application/x-ndjson`
    stream: Option<bool>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SearchAnswer {
    /// Facts and records in one ranking, best first
    hits: Vec<HitView>,
    /// If asked for: the sessions of the hits, in the order of their best hit
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<Vec<SessionView>>,
    #[serde(flatten)]
    #[schema(inline)]
    end: SearchEnd,
}

/// What follows the hits, and the last line of a stream.
#[derive(Debug, Serialize, ToSchema)]
struct SearchEnd {
    /// How long the search took, in milliseconds
    took_ms: u64,
    /// How closely the hits match: exact, forms, related, fuzzy or no_words; if explained or
    /// grouped
    #[serde(skip_serializing_if = "Option::is_none")]
    rung: Option<&'static str>,
    /// The probability, from 0 to 1, that the hits are relevant; if explained or grouped
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f64>,
    /// The number of sessions of which only the title and digest can be searched; if explained
    #[serde(skip_serializing_if = "Option::is_none")]
    digest_only_sessions: Option<u64>,
}

/// Search records and facts. With `Accept: application/x-ndjson`, each hit is a line, and the last
/// line has `took_ms`.
#[utoipa::path(get, path = "/memory/search", tag = "memory", params(SearchParams),
    responses((status = 200, content(
        (SearchAnswer = "application/json"), (String = "application/x-ndjson")))))]
pub(super) async fn search(
    State(state): State<HttpState>,
    headers: HeaderMap,
    QueryParams(params): QueryParams<SearchParams>,
) -> Result<Response, Problem> {
    let accept = headers.get(header::ACCEPT);
    let accepts_lines = accept
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains(NDJSON));
    let is_streamed = params.stream.unwrap_or(accepts_lines);
    let started = Instant::now();
    let explain = params.explain.unwrap_or_default();
    let group = params.group.unwrap_or_default();
    let found = state.run_blocking(move |context| {
        let outcome = parse_outcome(params.outcome.as_deref())?;
        let needs_sessions = group || outcome.is_some();
        let mut found = run_search(context, params)?;
        let sessions = match needs_sessions {
            true => sessions_of(&context.store, &mut found, outcome)?,
            false => Vec::new(),
        };
        Ok((found, sessions))
    });
    let (found, sessions) = found.await?;
    let hits = found.ranking().into_iter();
    let hits: Vec<_> = hits.map(|item| HitView::new(item, explain)).collect();
    let took = started.elapsed().as_micros().div_ceil(1000);
    let end = SearchEnd {
        took_ms: u64::try_from(took).unwrap_or(u64::MAX),
        rung: (explain || group).then(|| match_level_name(found.rung)),
        confidence: (explain || group).then_some(found.confidence),
        digest_only_sessions: explain.then_some(found.digest_only_sessions),
    };
    if !is_streamed {
        let sessions = group.then(|| sessions.into_iter().map(Into::into).collect());
        let answer = SearchAnswer {
            hits,
            sessions,
            end,
        };
        return Ok(Json(answer).into_response());
    }
    let lines = hits.iter().map(json_line).chain([json_line(&end)]);
    let lines: Vec<Result<String, Infallible>> = lines.map(Ok).collect();
    let body = Body::from_stream(tokio_stream::iter(lines));
    Ok(([(header::CONTENT_TYPE, NDJSON)], body).into_response())
}

fn parse_outcome(name: Option<&str>) -> Result<Option<Outcome>, RequestError> {
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return Ok(None);
    };
    let outcome = Outcome::from_name(name).ok_or_else(|| {
        RequestError::invalid(
            format!("{name:?} is not a valid outcome"),
            "`GET /sessions` shows the outcomes of sessions",
        )
    })?;
    Ok(Some(outcome))
}

/// Returns the sessions of the hits, in the order of their best hit. With an outcome, the hits of
/// other sessions are removed.
fn sessions_of(
    store: &Store,
    found: &mut SearchOutcome,
    outcome: Option<Outcome>,
) -> store::Result<Vec<Session>> {
    let mut sessions: Vec<Session> = Vec::new();
    let mut rejected = BTreeSet::new();
    for hit in &found.hits {
        let id = &hit.hit.session;
        if rejected.contains(id) || sessions.iter().any(|session| session.id == *id) {
            continue;
        }
        let named = store.sessions_by_prefix(id.as_str(), 5)?;
        let session = named.into_iter().find(|session| session.id == *id);
        match session.filter(|session| outcome.is_none() || session.outcome == outcome) {
            Some(session) => sessions.push(session),
            None => {
                rejected.insert(id.clone());
            }
        }
    }
    if outcome.is_some() {
        found
            .hits
            .retain(|hit| !rejected.contains(&hit.hit.session));
        found.facts.clear();
    }
    Ok(sessions)
}

fn json_line(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default() + "\n"
}

fn run_search(context: &ServeContext, params: SearchParams) -> Result<SearchOutcome, RequestError> {
    let scope = AccessScope::unrestricted();
    let session = params.session_id.as_deref();
    let session = session.map(|id| find_session(&context.store, &scope, id));
    let filters: Vec<_> = params.kind.into_iter().collect();
    let (kinds, content) = HitType::select(&filters);
    let query = Query {
        text: params.q,
        kinds,
        session: session.transpose()?.map(|session| session.id),
        workspace: params.workspace,
        since: parse_time(params.since.as_deref())?,
        until: parse_time(params.until.as_deref())?,
        flavor: params.agent,
        tool: params.tool,
        path: params.path,
        tag: params.tag,
        limit: parse_limit(params.k, HITS_DEFAULT, HITS_MAX)?,
        ..Query::default()
    };
    let options = SearchOptions {
        content,
        include_sensitive: true,
        audience: Audience::Person,
        explain: params.explain.unwrap_or_default(),
        rank_sessions: false,
        typing: params.typing.unwrap_or_default(),
    };
    let now = context.now();
    Ok(requests::search::search(
        &context.store, &scope, &query, options, now,
    )?)
}

const fn match_level_name(rung: store::MatchLevel) -> &'static str {
    match rung {
        store::MatchLevel::Exact => "exact",
        store::MatchLevel::Forms => "forms",
        store::MatchLevel::Related => "related",
        store::MatchLevel::Fuzzy => "fuzzy",
        store::MatchLevel::NoWords => "no_words",
    }
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ContextBody {
    prompt: String,
    /// The folder that the session works in
    #[schema(example = "/home/me/widgets")]
    folder: String,
    /// Leaves out what this session contains or has been shown
    session_id: Option<String>,
    /// Answer without recording that the text was shown
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ContextAnswer {
    /// The id of the injection, for feedback
    id: Option<String>,
    /// The text to give to the agent, fenced; empty if memory has nothing relevant
    text: String,
    tokens: u64,
    /// Ids of the facts and records in the text
    items: Vec<String>,
    /// Why there is no text
    silence: Option<&'static str>,
}

/// Return the memory that is relevant to a prompt
///
/// It is recorded as shown to the session, unless `dry_run` is true.
#[utoipa::path(post, path = "/memory/context", tag = "memory", request_body = ContextBody,
    responses((status = 200, body = ContextAnswer)))]
pub(super) async fn context(
    State(state): State<HttpState>,
    JsonBody(body): JsonBody<ContextBody>,
) -> Result<Json<ContextAnswer>, Problem> {
    let shown = state.run_blocking(move |context| {
        let folder = require_absolute(&body.folder)?;
        let (store, settings) = (&context.store, &context.settings);
        let workspace = prompt::workspace_of(store, settings, folder)?;
        let session = body.session_id.as_deref();
        let now = context.now();
        let recall = if body.dry_run {
            prompt_context
        } else {
            show_prompt_context
        };
        Ok(recall(
            store, settings, &workspace, body.prompt, session, now,
        )?)
    });
    Ok(Json(match shown.await?.pack() {
        Ok(pack) => ContextAnswer {
            id: Some(pack.id.clone()),
            text: pack.text.clone(),
            tokens: pack.tokens.0,
            items: pack
                .items
                .iter()
                .map(|item| item.item.to_string())
                .collect(),
            silence: None,
        },
        Err(reason) => ContextAnswer {
            id: None,
            text: String::new(),
            tokens: 0,
            items: Vec::new(),
            silence: Some(reason),
        },
    }))
}
