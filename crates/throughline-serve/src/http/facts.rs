//! Routes for facts and pins.

use axum::Json;
use axum::extract::State;
use memory::{FactKind, Trust};
use serde::{Deserialize, Serialize};
use store::{FactFilter, FactScope};
use utoipa::{IntoParams, ToSchema};

use super::HttpState;
use super::extract::{JsonBody, QueryParams, parse_limit};
use super::problem::Problem;
use super::views::FactView;
use crate::kinds::FactKindName;
use crate::prompt;
use crate::requests::facts::{self, RememberRequest};
use crate::requests::{AccessScope, require_absolute, submitted};

/// The most facts that one request may list.
const LIST_MAX: usize = 1_000;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct FactsParams {
    /// Only workspaces whose key or folder contains this
    workspace: Option<String>,
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
}

/// List current facts: pins and preferences first, then the latest
#[utoipa::path(get, path = "/memory/facts", tag = "facts", params(FactsParams),
    responses((status = 200, body = Vec<FactView>)))]
pub(super) async fn list(
    State(state): State<HttpState>,
    QueryParams(params): QueryParams<FactsParams>,
) -> Result<Json<Vec<FactView>>, Problem> {
    let filter = FactFilter {
        scope: match params.workspace.filter(|part| !part.is_empty()) {
            Some(part) => FactScope::Part(part),
            None => FactScope::All,
        },
        kind: None,
        history: false,
        limit: parse_limit(params.limit, 100, LIST_MAX)?,
    };
    let facts = state.run_blocking(move |context| Ok(context.store.facts(&filter)?));
    Ok(Json(facts.await?.into_iter().map(Into::into).collect()))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewFact)]
pub(super) struct RememberBody {
    /// At most 40 words
    #[schema(min_length = 1)]
    text: String,
    /// The folder of the workspace that the fact is about; without it the fact applies everywhere
    folder: Option<String>,
    /// `note` by default
    #[schema(value_type = Option<FactKindName>)]
    kind: Option<FactKind>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    pinned: bool,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FactKept)]
pub(super) struct FactStored {
    id: String,
    /// The fact was known already, and its count was increased
    repeated: bool,
    /// Ids of the facts that it supersedes
    superseded: Vec<String>,
}

/// Store a fact as a statement of the user
#[utoipa::path(post, path = "/memory/remember", tag = "facts", request_body = RememberBody,
    responses((status = 200, body = FactStored)))]
pub(super) async fn remember(
    State(state): State<HttpState>,
    JsonBody(body): JsonBody<RememberBody>,
) -> Result<Json<FactStored>, Problem> {
    let stored = state.run_blocking(move |context| {
        let folder = body.folder.as_deref().map(require_absolute).transpose()?;
        let workspace =
            folder.map(|folder| prompt::workspace_of(&context.store, &context.settings, folder));
        let workspace = workspace.transpose()?;
        submitted::require_captured(&context.settings, workspace.as_ref())?;
        let statement = RememberRequest {
            text: body.text,
            kind: body.kind.unwrap_or(FactKind::Note),
            tags: body.tags,
            workspace,
            trust: Trust::User,
            pinned: body.pinned,
        };
        facts::remember_fact(&context.store, statement, context.now())
    });
    let stored = stored.await?;
    Ok(Json(FactStored {
        id: stored.id.to_string(),
        repeated: stored.repeated,
        superseded: stored.superseded.iter().map(ToString::to_string).collect(),
    }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PinBody {
    /// The id of a fact or of a record
    id: String,
    /// `false` unpins the fact
    #[serde(default = "default_true")]
    #[schema(default = true)]
    pinned: bool,
}

const fn default_true() -> bool {
    true
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Pinned)]
pub(super) struct PinAnswer {
    /// The fact's id
    id: String,
    pinned: bool,
}

/// Pin a fact, or the text of a record as a new fact; or unpin a fact
#[utoipa::path(post, path = "/memory/pin", tag = "facts", request_body = PinBody,
    responses((status = 200, body = PinAnswer)))]
pub(super) async fn pin(
    State(state): State<HttpState>,
    JsonBody(body): JsonBody<PinBody>,
) -> Result<Json<PinAnswer>, Problem> {
    let pinned = body.pinned;
    let id = state.run_blocking(move |context| {
        let (store, scope) = (&context.store, AccessScope::unrestricted());
        if pinned {
            facts::pin_item(store, &scope, &body.id, context.now())
        } else {
            facts::unpin_fact(store, &scope, &body.id)
        }
    });
    let id = id.await?;
    Ok(Json(PinAnswer { id, pinned }))
}
