//! Routes for search and for the context of a prompt.

use std::path::PathBuf;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::HttpState;
use super::extract::{Body, Params, parse_limit, parse_time};
use super::problem::Problem;
use super::views::{FactView, Hit};
use crate::kinds::HitType;
use crate::prompt;
use crate::requests::context::{self, PromptContext};
use crate::requests::find::find_session;
use crate::requests::search::{self, Audience, SearchRequest};
use crate::requests::{AccessScope, RequestError};

/// The number of hits if the request does not say.
const HITS_DEFAULT: usize = 20;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SearchParams {
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
pub struct SearchAnswer {
    /// How closely the hits match: exact, forms, related, fuzzy or no_words
    rung: &'static str,
    /// The probability, from 0 to 1, that the hits are relevant
    confidence: f64,
    facts: Vec<FactView>,
    hits: Vec<Hit>,
    /// The number of sessions of which only the title and digest can be searched
    digest_only_sessions: u64,
}

/// Search records and facts
#[utoipa::path(get, path = "/memory/search", tag = "memory", params(SearchParams),
    responses((status = 200, body = SearchAnswer)))]
pub async fn search(
    State(front): State<HttpState>,
    Params(params): Params<SearchParams>,
) -> Result<Json<SearchAnswer>, Problem> {
    let found = front.run_blocking(move |desk| {
        let reach = AccessScope::unrestricted();
        let session = params.session_id.as_deref().filter(|id| !id.is_empty());
        let session = session.map(|id| find_session(&desk.store, &reach, id));
        let kind = params.kind;
        let asked = SearchRequest {
            query: params.q,
            limit: parse_limit(params.k, HITS_DEFAULT, search::HITS_MAX)?,
            kinds: kind.and_then(HitType::record_kind).into_iter().collect(),
            include_facts: matches!(kind, None | Some(HitType::Fact)),
            session: session.transpose()?.map(|session| session.id),
            workspace: params.workspace.filter(|part| !part.is_empty()),
            since: parse_time(params.since.as_deref())?,
            include_sensitive: true,
            audience: Audience::Person,
        };
        let mut found = search::search(&desk.store, &reach, &asked, desk.now())?;
        if kind == Some(HitType::Fact) {
            found.hits.clear();
        }
        Ok(found)
    });
    let found = found.await?;
    Ok(Json(SearchAnswer {
        rung: match_level_name(found.rung),
        confidence: found.confidence,
        facts: found.facts.into_iter().map(Into::into).collect(),
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
pub struct ContextBody {
    prompt: String,
    /// The folder that the session works in
    #[schema(example = "/home/me/widgets")]
    folder: String,
    /// Leaves out what this session contains or has been shown
    session_id: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct ContextAnswer {
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
pub async fn context(
    State(front): State<HttpState>,
    Body(body): Body<ContextBody>,
) -> Result<Json<ContextAnswer>, Problem> {
    let given = front.run_blocking(move |desk| {
        let folder = PathBuf::from(&body.folder);
        if !folder.is_absolute() {
            return Err(RequestError::invalid(
                format!("{:?} is no whole path", body.folder),
                "give the folder from the root on",
            ));
        }
        let (store, settings) = (&desk.store, &desk.settings);
        let workspace = prompt::workspace_of(store, settings, &folder)?;
        let session = body.session_id.as_deref();
        let (prompt, now) = (body.prompt, desk.now());
        Ok(context::prompt_context(
            store, settings, &workspace, prompt, session, now,
        )?)
    });
    Ok(Json(match given.await? {
        PromptContext::Given(pack) => ContextAnswer {
            items: pack
                .items
                .iter()
                .map(|item| item.item.to_string())
                .collect(),
            id: Some(pack.id),
            text: pack.text,
            tokens: pack.tokens.0,
            silence: None,
        },
        PromptContext::Silent(why) => ContextAnswer {
            id: None,
            text: String::new(),
            tokens: 0,
            items: Vec::new(),
            silence: Some(why),
        },
    }))
}
