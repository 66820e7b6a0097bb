//! Routes for what the user says about a session: a name, a star, tags, and whether it is archived.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use store::MarksPatch;
use utoipa::ToSchema;

use super::HttpState;
use super::extract::{JsonBody, PathId};
use super::problem::Problem;
use super::views::MarksView;
use crate::requests::find::find_session;
use crate::requests::{AccessScope, RequestError};

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MarksBody {
    /// A new name, or an empty one to take it away
    name: Option<String>,
    starred: Option<bool>,
    /// An archived session is left out of lists
    archived: Option<bool>,
    #[serde(default)]
    add_tags: Vec<String>,
    #[serde(default)]
    remove_tags: Vec<String>,
}

/// Name, star, tag or archive a session
#[utoipa::path(patch, path = "/sessions/{id}", tag = "sessions",
    params(("id" = String, Path, description = "The session's id or a unique prefix of it")),
    request_body = MarksBody, responses((status = 200, body = MarksView)))]
pub(super) async fn patch(
    State(state): State<HttpState>,
    PathId(id): PathId,
    JsonBody(body): JsonBody<MarksBody>,
) -> Result<Json<MarksView>, Problem> {
    let marks = state.run_blocking(move |context| {
        let session = find_session(&context.store, &AccessScope::unrestricted(), &id)?;
        let patch = MarksPatch {
            name: body.name,
            starred: body.starred,
            archived: body.archived,
            add_tags: body.add_tags,
            remove_tags: body.remove_tags,
        };
        let marks = context.store.mark_session(&session.id, &patch)?;
        marks.ok_or_else(|| {
            RequestError::not_found(
                format!("session {} is gone", session.id),
                "`GET /sessions` lists the sessions",
            )
        })
    });
    Ok(Json(marks.await?.into()))
}

/// A tag with the number of its sessions
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SessionTag {
    tag: String,
    sessions: u64,
}

/// List the tags of sessions
#[utoipa::path(get, path = "/tags", tag = "sessions",
    responses((status = 200, body = Vec<SessionTag>)))]
pub(super) async fn tags(State(state): State<HttpState>) -> Result<Json<Vec<SessionTag>>, Problem> {
    let tags = state.run_blocking(|context| Ok(context.store.session_tags()?));
    let view = |(tag, sessions)| SessionTag { tag, sessions };
    Ok(Json(tags.await?.into_iter().map(view).collect()))
}
