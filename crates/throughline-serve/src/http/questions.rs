//! Routes for the questions that people ask: who changed a file, how a command was run, how an
//! error was fixed.

use axum::Json;
use axum::extract::State;
use memory::layers::{Card, CardKey};
use recall::questions::blame::{Blame, blame as find_touches};
use recall::questions::fix::{ErrorHistory, fix as find_fixes};
use recall::questions::how::{CommandHistory, how as find_commands};
use serde::Deserialize;
use utoipa::IntoParams;

use super::HttpState;
use super::extract::{QueryParams, parse_limit};
use super::problem::Problem;

/// The number of answers if the request does not say, and the most of one request.
const ANSWERS_DEFAULT: usize = 10;
const ANSWERS_MAX: usize = 100;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct QuestionParams {
    /// The path of a file, words of a command, or an error message
    q: String,
    /// Only workspaces whose key or folder contains this
    workspace: Option<String>,
    #[param(minimum = 1, maximum = 100, default = 10)]
    limit: Option<u32>,
}

impl QuestionParams {
    fn limit(&self) -> Result<usize, Problem> {
        Ok(parse_limit(self.limit, ANSWERS_DEFAULT, ANSWERS_MAX)?)
    }
}

/// The sessions that touched a file, latest first, with what was asked and said
#[utoipa::path(get, path = "/blame", tag = "questions", params(QuestionParams),
    responses((status = 200, body = Vec<Object>)))]
pub(super) async fn blame(
    State(state): State<HttpState>,
    QueryParams(params): QueryParams<QuestionParams>,
) -> Result<Json<Vec<Blame>>, Problem> {
    let limit = params.limit()?;
    let found = state.run_blocking(move |context| {
        let workspace = params.workspace.as_deref();
        let generation = context.store.card_generation()?;
        let found = find_touches(&context.store, &params.q, workspace, limit)?;
        let card = found.first().map(|_| Card::new(&params.q, Vec::new()));
        context.count_pull(workspace, CardKey::File(params.q.clone()), card, generation);
        Ok(found)
    });
    Ok(Json(found.await?))
}

/// How a command was run before: what succeeded first
#[utoipa::path(get, path = "/how", tag = "questions", params(QuestionParams),
    responses((status = 200, body = Vec<Object>)))]
pub(super) async fn how(
    State(state): State<HttpState>,
    QueryParams(params): QueryParams<QuestionParams>,
) -> Result<Json<Vec<CommandHistory>>, Problem> {
    let limit = params.limit()?;
    let found = state.run_blocking(move |context| {
        let workspace = params.workspace.as_deref();
        Ok(find_commands(&context.store, &params.q, workspace, limit)?)
    });
    Ok(Json(found.await?))
}

/// Where an error occurred before, and what made it go away
#[utoipa::path(get, path = "/fix", tag = "questions", params(QuestionParams),
    responses((status = 200, body = Object)))]
pub(super) async fn fix(
    State(state): State<HttpState>,
    QueryParams(params): QueryParams<QuestionParams>,
) -> Result<Json<ErrorHistory>, Problem> {
    let limit = params.limit()?;
    let found = state.run_blocking(move |context| {
        let workspace = params.workspace.as_deref();
        Ok(find_fixes(&context.store, &params.q, workspace, limit)?)
    });
    Ok(Json(found.await?))
}
