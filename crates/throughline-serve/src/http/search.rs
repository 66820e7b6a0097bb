//! Routes for search and for the context of a prompt.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use store::Query;
use utoipa::{IntoParams, ToSchema};

use super::HttpState;
use super::extract::{JsonBody, QueryParams, parse_limit, parse_time};
use super::problem::Problem;
use super::views::{FactView, HitView};
use crate::kinds::HitType;
use crate::prompt;
use crate::requests::context::show_prompt_context;
use crate::requests::find::find_session;
use crate::requests::search::{Audience, HITS_MAX, SearchOptions};
use crate::requests::{self, AccessScope, require_absolute};

/// The number of hits if the request does not say.
const HITS_DEFAULT: usize = 20;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SearchParams {
    /// What to search for: a question, words, names, error codes
    q: String,
    /// The maximum number of hits
    #[param(minimum = 1, maximum = 100, default = 20)]
    k: Option<u32>,
    /// Only records of this type, or only facts
    #[serde(rename = "type")]
    #[param(inline)]
    kind: Option<HitType>,
    /// Only this session
    session_id: Option<String>,
    /// Only workspaces whose key or folder contains this
    workspace: Option<String>,
    /// Only from this time on: a date, or a time in RFC 3339
    since: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SearchAnswer {
    /// How closely the hits match: exact, forms, related, fuzzy or no_words
    rung: &'static str,
    /// The probability, from 0 to 1, that the hits are relevant
    confidence: f64,
    facts: Vec<FactView>,
    hits: Vec<HitView>,
    /// The number of sessions of which only the title and digest can be searched
    digest_only_sessions: u64,
}

/// Search records and facts
#[utoipa::path(get, path = "/memory/search", tag = "memory", params(SearchParams),
    responses((status = 200, body = SearchAnswer)))]
pub(super) async fn search(
    State(state): State<HttpState>,
    QueryParams(params): QueryParams<SearchParams>,
) -> Result<Json<SearchAnswer>, Problem> {
    let found = state.run_blocking(move |context| {
        let scope = AccessScope::unrestricted();
        let session = params.session_id.as_deref().filter(|id| !id.is_empty());
        let session = session.map(|id| find_session(&context.store, &scope, id));
        let query = Query {
            text: params.q,
            kinds: HitType::record_kinds(params.kind),
            session: session.transpose()?.map(|session| session.id),
            workspace: params.workspace.filter(|part| !part.is_empty()),
            since: parse_time(params.since.as_deref())?,
            limit: parse_limit(params.k, HITS_DEFAULT, HITS_MAX)?,
            ..Query::default()
        };
        let options = SearchOptions {
            content: HitType::content(params.kind),
            include_sensitive: true,
            audience: Audience::Person,
            explain: true,
            rank_sessions: false,
        };
        let now = context.now();
        Ok(requests::search::search(
            &context.store, &scope, &query, options, now,
        )?)
    });
    let found = found.await?;
    Ok(Json(SearchAnswer {
        rung: match_level_name(found.rung),
        confidence: found.confidence,
        facts: found.facts.into_iter().map(|hit| hit.fact.into()).collect(),
        hits: found.hits.into_iter().map(Into::into).collect(),
        digest_only_sessions: found.digest_only_sessions,
    }))
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

/// Return the memory that is relevant to a prompt. It is recorded as shown to the session.
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
        let shown = show_prompt_context(store, settings, &workspace, body.prompt, session, now)?;
        Ok(shown)
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
