//! Routes that write a summary and compact a conversation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use store::{StoredSummary, SummaryMethod};
use utoipa::{IntoParams, ToSchema};

use super::HttpState;
use super::extract::{JsonBody, QueryParams};
use super::problem::Problem;
use super::views::FactView;
use crate::requests::AccessScope;
use crate::requests::compact::{CompactBody, compact_requested};
use crate::requests::summarize::summarize_session;

/// A response is due within half a minute, so the model gets less.
const MODEL_TIMEOUT: Duration = Duration::from_secs(20);

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
    summary: SummaryView,
    /// The facts that the session states, old and new
    facts: Vec<FactView>,
    /// Why the configured model was not used
    #[serde(skip_serializing_if = "Option::is_none")]
    model_note: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Summary)]
struct SummaryView {
    /// How often it was written
    version: u64,
    /// Who wrote it: embedded or model
    method: Option<&'static str>,
    /// When it was written, in milliseconds since 1970
    ts: Option<i64>,
    /// The summary's file
    path: String,
    content: String,
}

/// Renew the summary of a session and extract its facts, with the model if one is configured
#[utoipa::path(post, path = "/memory/summarize", tag = "sessions", params(SummarizeParams),
    responses((status = 200, body = SummarizeAnswer)))]
pub(super) async fn summarize(
    State(state): State<HttpState>,
    QueryParams(params): QueryParams<SummarizeParams>,
) -> Result<Json<SummarizeAnswer>, Problem> {
    let stop = Arc::new(AtomicBool::new(false));
    let timer = Arc::clone(&stop);
    let timer = tokio::spawn(async move {
        tokio::time::sleep(MODEL_TIMEOUT).await;
        timer.store(true, Ordering::Relaxed);
    });
    let done = state.run_blocking(move |context| {
        let scope = AccessScope::unrestricted();
        let done = summarize_session(context, &scope, &params.session_id, &stop)?;
        let StoredSummary { info, path, text } = done.summary;
        let facts = done.facts.into_iter();
        Ok(SummarizeAnswer {
            session_id: done.session.to_string(),
            summary: SummaryView {
                version: info.version,
                method: info.method.map(SummaryMethod::name),
                ts: info.made.map(jiff::Timestamp::as_millisecond),
                path: path.display().to_string(),
                content: text,
            },
            facts: facts
                .map(|fact| FactView::load(&context.store, fact))
                .collect::<Result<_, _>>()?,
            model_note: done.model_note,
        })
    });
    let done = done.await;
    timer.abort();
    Ok(Json(done?))
}

/// Compact a conversation: notes in place of its beginning, its end verbatim
///
/// The body names a session, or it is the request that would be sent to the model (or only its list
/// of messages). The answer contains the request to send instead, in the same format. A declined
/// compaction says why.
#[utoipa::path(post, path = "/compact", tag = "sessions", request_body = CompactBody,
    responses((status = 200, body = Object)))]
pub(super) async fn compact(
    State(state): State<HttpState>,
    JsonBody(body): JsonBody<serde_json::Value>,
) -> Result<Json<serde_json::Value>, Problem> {
    let everything = AccessScope::unrestricted();
    let body = CompactBody::from_json(body)?;
    let done = state.run_blocking(move |context| compact_requested(context, &everything, &body));
    Ok(Json(done.await?))
}
