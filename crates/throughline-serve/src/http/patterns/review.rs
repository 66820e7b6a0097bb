//! Deciding about a pattern.

use axum::Json;
use axum::extract::State;
use learn::curate::{
    CurateError, Curator, DecisionOrigin, EntryStatus, GuidanceText, PlannedDecision,
    ReviewDecision,
};
use learn::detect::PatternCandidate;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::confirm::check_token;
use super::{find_candidate, pattern_not_found};
use crate::ServeContext;
use crate::http::HttpState;
use crate::http::extract::{JsonBody, PathId};
use crate::http::problem::Problem;
use crate::requests::RequestError;
use crate::stages::StageSettings;

#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReviewBody {
    decision: ReviewName,
    /// The reason
    why: Option<String>,
    /// For an approval: the text that agents will read, instead of the proposed one
    text: Option<String>,
    /// Shows what would change, and decides nothing
    #[serde(default)]
    dry_run: bool,
    /// The token of the dry run, for `approve` and `withdraw`
    confirm: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ReviewName {
    Approve,
    Reject,
    Discuss,
    Withdraw,
}

impl From<ReviewName> for ReviewDecision {
    fn from(name: ReviewName) -> Self {
        match name {
            ReviewName::Approve => Self::Approve,
            ReviewName::Reject => Self::Reject,
            ReviewName::Discuss => Self::Discuss,
            ReviewName::Withdraw => Self::Withdraw,
        }
    }
}

/// What a decision did, or would do
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ReviewResult {
    #[schema(value_type = String)]
    decision: ReviewDecision,
    dry_run: bool,
    /// The same decision about the same evidence was not recorded before
    new: bool,
    /// Of the catalog entry
    #[schema(value_type = Option<String>)]
    status: Option<EntryStatus>,
    version: Option<String>,
    /// The file of the catalog that changes
    file: Option<String>,
    diff: Option<String>,
    /// In a dry run: what to send in `confirm` to make the decision
    confirm: Option<String>,
}

/// Approve, reject, discuss or withdraw a pattern
#[utoipa::path(post, path = "/patterns/{id}/review", tag = "patterns", request_body = ReviewBody,
    params(("id" = String, Path, description = "The id of a pattern")),
    responses((status = 200, body = ReviewResult),
        (status = 409, description = "The token of the dry run is missing or no longer valid")))]
pub(crate) async fn review(
    State(state): State<HttpState>,
    PathId(id): PathId,
    JsonBody(body): JsonBody<ReviewBody>,
) -> Result<Json<ReviewResult>, Problem> {
    let stages = state.stages.clone();
    let (shared, asked) = (state.clone(), body.clone());
    let answer = state.run_blocking(move |context| {
        let candidate = find_pattern(context, &stages, &id)?;
        Ok(decide(&shared, context, &stages, &candidate, &asked))
    });
    answer.await?.map(Json)
}

/// Finds a candidate, or a pattern of a catalog whose sessions are gone.
fn find_pattern(
    context: &ServeContext,
    stages: &StageSettings,
    id: &str,
) -> Result<PatternCandidate, RequestError> {
    if let Some(candidate) = find_candidate(context, id)? {
        return Ok(candidate);
    }
    let curator = Curator::new(&context.store, &stages.learn)?;
    let entry = curator.find_entry(id).ok();
    entry
        .filter(|entry| entry.id == id)
        .ok_or_else(|| pattern_not_found(id))
}

fn decide(
    state: &HttpState,
    context: &ServeContext,
    stages: &StageSettings,
    candidate: &PatternCandidate,
    body: &ReviewBody,
) -> Result<ReviewResult, Problem> {
    let curator = Curator::new(&context.store, &stages.learn).map_err(RequestError::from)?;
    let origin = DecisionOrigin::User(body.why.clone());
    let planned = curator
        .plan(
            candidate,
            body.decision.into(),
            body.text.as_deref().map(GuidanceText::from),
            origin,
        )
        .map_err(curate_error)?;
    let token = planned
        .change
        .is_some()
        .then(|| planned.fingerprint(&state.boot_id));
    if body.dry_run {
        return Ok(result(&planned, body, true, token));
    }
    if let Some(token) = &token {
        check_token(token, body.confirm.as_deref())?;
    }
    let outcome = curator.carry_out(&planned, context.now());
    let outcome = outcome.map_err(curate_error)?;
    Ok(result(&planned, body, outcome.new, None))
}

fn result(
    planned: &PlannedDecision<'_>,
    body: &ReviewBody,
    new: bool,
    confirm: Option<String>,
) -> ReviewResult {
    let change = planned.change.as_ref();
    ReviewResult {
        decision: body.decision.into(),
        dry_run: body.dry_run,
        new,
        status: planned.status,
        version: change.map(|change| change.outcome.version().to_string()),
        file: change.map(|change| change.path.display().to_string()),
        diff: planned.diff(),
        confirm,
    }
}

fn curate_error(error: CurateError) -> RequestError {
    match error {
        CurateError::Store(error) => error.into(),
        error => {
            let hint = error.hint().unwrap_or("correct or remove the file");
            RequestError::invalid(super::ErrorChain(&error).to_string(), hint)
        }
    }
}
