//! Routes for patterns that recur across sessions.
//!
//! They show candidates and take decisions that change nothing but the store. An approval writes
//! into a repository, so only the command line gives one.

use axum::Json;
use axum::extract::State;
use learn::curate::{NewDecision, ReviewDecision, record_decision};
use learn::detect::{PatternCandidate, stored_candidates};
use learn::distribute::{PlacedPattern, load_registry, registry_path};
use serde::{Deserialize, Serialize};
use store::{Review, Store};
use utoipa::ToSchema;

use super::HttpState;
use super::extract::{JsonBody, PathId};
use super::problem::Problem;
use crate::requests::RequestError;

/// The candidates of the last run, the decisions, and where patterns are placed
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PatternList {
    #[schema(value_type = Vec<Object>)]
    candidates: Vec<PatternCandidate>,
    #[schema(value_type = Vec<Object>)]
    reviews: Vec<Review>,
    #[schema(value_type = Vec<Object>)]
    placed: Vec<PlacedPattern>,
}

/// List patterns with their evidence: those of several agents first, then by cost
#[utoipa::path(get, path = "/patterns", tag = "patterns",
    responses((status = 200, body = PatternList)))]
pub(super) async fn list(State(state): State<HttpState>) -> Result<Json<PatternList>, Problem> {
    let listed = state.run_blocking(|context| pattern_list(&context.store, |_| true));
    Ok(Json(listed.await?))
}

/// Show one pattern with its evidence, its decisions and its places
#[utoipa::path(get, path = "/patterns/{id}", tag = "patterns",
    params(("id" = String, Path, description = "The id of a pattern")),
    responses((status = 200, body = PatternList)))]
pub(super) async fn get(
    State(state): State<HttpState>,
    PathId(id): PathId,
) -> Result<Json<PatternList>, Problem> {
    let found = state.run_blocking(move |context| {
        let list = pattern_list(&context.store, |pattern| pattern == id)?;
        if list.candidates.is_empty() && list.reviews.is_empty() && list.placed.is_empty() {
            return Err(not_found(&id));
        }
        Ok(list)
    });
    Ok(Json(found.await?))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReviewBody {
    decision: ReviewName,
    /// The reason
    why: Option<String>,
}

/// A decision that changes no file
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum ReviewName {
    Reject,
    Discuss,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ReviewStored {
    /// The same decision about the same evidence was not recorded before
    new: bool,
}

/// Reject a candidate, or postpone the decision
#[utoipa::path(post, path = "/patterns/{id}/review", tag = "patterns", request_body = ReviewBody,
    params(("id" = String, Path, description = "The id of a candidate")),
    responses((status = 200, body = ReviewStored)))]
pub(super) async fn review(
    State(state): State<HttpState>,
    PathId(id): PathId,
    JsonBody(body): JsonBody<ReviewBody>,
) -> Result<Json<ReviewStored>, Problem> {
    let stored = state.run_blocking(move |context| {
        let candidates = stored_candidates(&context.store)?;
        let candidate = candidates.iter().find(|candidate| candidate.id == id);
        let decision = NewDecision {
            candidate: candidate.ok_or_else(|| not_found(&id))?,
            decision: match body.decision {
                ReviewName::Reject => ReviewDecision::Reject,
                ReviewName::Discuss => ReviewDecision::Discuss,
            },
            why: body.why,
            guidance: None,
        };
        Ok(record_decision(&context.store, &decision, context.now())?)
    });
    Ok(Json(ReviewStored { new: stored.await? }))
}

fn pattern_list(store: &Store, wanted: impl Fn(&str) -> bool) -> Result<PatternList, RequestError> {
    let mut candidates = stored_candidates(store)?;
    candidates.retain(|candidate| wanted(&candidate.id));
    let mut reviews = store.reviews()?;
    reviews.retain(|review| wanted(&review.pattern));
    let registry = load_registry(&registry_path(store)).unwrap_or_default();
    let mut placed = registry.patterns;
    placed.retain(|placed| wanted(&placed.pattern));
    Ok(PatternList {
        candidates,
        reviews,
        placed,
    })
}

fn not_found(id: &str) -> RequestError {
    RequestError::not_found(
        format!("there is no pattern {id}"),
        "GET /patterns lists the patterns",
    )
}
