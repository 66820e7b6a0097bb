//! Routes that write a summary and compact a conversation.

use axum::Json;
use axum::extract::State;
use distill::summary::{self, SummaryAuthor, SummaryError};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::HttpState;
use super::extract::{JsonBody, QueryParams};
use super::problem::Problem;
use crate::requests::compact::{compact_session, outcome_json};
use crate::requests::find::find_session;
use crate::requests::{AccessScope, RequestError};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct SummarizeParams {
    /// The session's id or a unique prefix of it
    session_id: String,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Summarized)]
pub(super) struct SummarizeAnswer {
    session_id: String,
    version: u64,
    /// The summary's file
    path: String,
    text: String,
}

/// Update the summary of a session now, without a model
#[utoipa::path(post, path = "/memory/summarize", tag = "sessions", params(SummarizeParams),
    responses((status = 200, body = SummarizeAnswer)))]
pub(super) async fn summarize(
    State(state): State<HttpState>,
    QueryParams(params): QueryParams<SummarizeParams>,
) -> Result<Json<SummarizeAnswer>, Problem> {
    let done = state.run_blocking(move |context| {
        let store = &context.store;
        let settings = context
            .settings
            .summary
            .as_ref()
            .filter(|_| !store.is_encrypted());
        let Some(settings) = settings else {
            return Err(RequestError::not_allowed(
                "summaries are switched off",
                "set `enabled` under [summary]; an encrypted store writes no summary files",
            ));
        };
        let session = find_session(store, &AccessScope::unrestricted(), &params.session_id)?.id;
        let done = summary::write_summary(
            store,
            &session,
            settings,
            SummaryAuthor::Embedded,
            context.now(),
        );
        let done = done.map_err(|declined| match declined {
            SummaryError::Store(error) => RequestError::Store(error),
            declined => {
                RequestError::invalid(declined.to_string(), "the previous summary is unchanged")
            }
        })?;
        let stored = store.summary(&session)?;
        Ok(SummarizeAnswer {
            session_id: session.to_string(),
            version: done.version,
            path: stored
                .as_ref()
                .map(|stored| stored.path.display().to_string())
                .unwrap_or_default(),
            text: stored.map(|stored| stored.text).unwrap_or_default(),
        })
    });
    Ok(Json(done.await?))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CompactBody {
    /// The session's id or the beginning of it
    session_id: String,
    /// Decline the compaction if the result has more tokens than this
    threshold: Option<u64>,
    /// Do not use a model, even if one is configured
    #[serde(default)]
    embedded: bool,
}

/// Compact a session's conversation: notes in place of its beginning, and the ids of the messages
/// that are kept. The log is only read. A declined compaction says why.
#[utoipa::path(post, path = "/compact", tag = "sessions", request_body = CompactBody,
    responses((status = 200, body = Object)))]
pub(super) async fn compact(
    State(state): State<HttpState>,
    JsonBody(body): JsonBody<CompactBody>,
) -> Result<Json<serde_json::Value>, Problem> {
    let done = state.run_blocking(move |context| {
        let threshold = body.threshold.filter(|tokens| *tokens > 0);
        let everything = AccessScope::unrestricted();
        let may_ask = !body.embedded;
        let outcome = compact_session(context, &everything, &body.session_id, threshold, may_ask)?;
        Ok(outcome_json(&outcome))
    });
    Ok(Json(done.await?))
}
