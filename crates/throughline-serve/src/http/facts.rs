//! Routes for facts and pins.

use std::path::Path;

use axum::Json;
use axum::extract::State;
use memory::{FactKind, Trust};
use serde::{Deserialize, Serialize};
use store::{FactFilter, FactScope};
use utoipa::{IntoParams, ToSchema};

use super::HttpState;
use super::extract::{Body, Params, parse_limit};
use super::problem::Problem;
use super::views::FactView;
use crate::prompt;
use crate::requests::facts::{self, RememberRequest};
use crate::requests::{AccessScope, RequestError, submitted};

/// The most facts that one request may list.
const LIST_MAX: usize = 1_000;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FactsParams {
    /// Only workspaces whose key or folder contains this
    workspace: Option<String>,
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u32>,
}

/// List current facts: pins and preferences first, then the latest
#[utoipa::path(get, path = "/memory/facts", tag = "facts", params(FactsParams),
    responses((status = 200, body = Vec<FactView>)))]
pub async fn list(
    State(front): State<HttpState>,
    Params(params): Params<FactsParams>,
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
    let facts = front.run_blocking(move |desk| Ok(desk.store.facts(&filter)?));
    Ok(Json(facts.await?.into_iter().map(Into::into).collect()))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewFact {
    /// At most 40 words
    #[schema(min_length = 1)]
    text: String,
    /// The folder of the workspace that the fact is about; without it the fact applies everywhere
    folder: Option<String>,
    /// `note` by default
    kind: Option<FactKindName>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    pinned: bool,
}

/// The kind of a fact
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FactKindName {
    Preference,
    Decision,
    Correction,
    Command,
    Outcome,
    Note,
}

impl From<FactKindName> for FactKind {
    fn from(name: FactKindName) -> Self {
        match name {
            FactKindName::Preference => Self::Preference,
            FactKindName::Decision => Self::Decision,
            FactKindName::Correction => Self::Correction,
            FactKindName::Command => Self::Command,
            FactKindName::Outcome => Self::Outcome,
            FactKindName::Note => Self::Note,
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct FactKept {
    id: String,
    /// The fact was known already, and its count was increased
    repeated: bool,
    /// Ids of the facts that it supersedes
    superseded: Vec<String>,
}

/// Store a fact as a statement of the user
#[utoipa::path(post, path = "/memory/remember", tag = "facts", request_body = NewFact,
    responses((status = 200, body = FactKept)))]
pub async fn remember(
    State(front): State<HttpState>,
    Body(body): Body<NewFact>,
) -> Result<Json<FactKept>, Problem> {
    let kept = front.run_blocking(move |desk| {
        let folder = body.folder.as_deref().map(Path::new);
        if folder.is_some_and(|folder| !folder.is_absolute()) {
            return Err(RequestError::invalid(
                "folder must be an absolute path",
                "for example /home/me/project",
            ));
        }
        let workspace =
            folder.map(|folder| prompt::workspace_of(&desk.store, &desk.settings, folder));
        let workspace = workspace.transpose()?;
        submitted::require_captured(&desk.settings, workspace.as_ref())?;
        let statement = RememberRequest {
            text: body.text,
            kind: body.kind.map_or(FactKind::Note, Into::into),
            tags: body.tags,
            workspace,
            trust: Trust::User,
            pinned: body.pinned,
        };
        facts::remember_fact(&desk.store, statement, desk.now())
    });
    let kept = kept.await?;
    Ok(Json(FactKept {
        id: kept.id.to_string(),
        repeated: kept.repeated,
        superseded: kept.superseded.iter().map(ToString::to_string).collect(),
    }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PinBody {
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
pub struct Pinned {
    /// The fact's id
    id: String,
    pinned: bool,
}

/// Pin a fact, or the text of a record as a new fact; or unpin a fact
#[utoipa::path(post, path = "/memory/pin", tag = "facts", request_body = PinBody,
    responses((status = 200, body = Pinned)))]
pub async fn pin(
    State(front): State<HttpState>,
    Body(body): Body<PinBody>,
) -> Result<Json<Pinned>, Problem> {
    let pinned = body.pinned;
    let id = front.run_blocking(move |desk| {
        let (store, reach) = (&desk.store, AccessScope::unrestricted());
        if pinned {
            facts::pin_item(store, &reach, &body.id, desk.now())
        } else {
            facts::unpin_fact(store, &reach, &body.id)
        }
    });
    let id = id.await?;
    Ok(Json(Pinned { id, pinned }))
}
