//! Putting approved patterns into the agents' files.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use learn::distribute::{
    DistributeError, PlacedPattern, PlanNote, RepositoryPlan, plan_repository, unified_diff,
};
use memory::{Flavor, Workspace};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::confirm::check_token;
use super::{ErrorChain, repository_error};
use crate::ServeContext;
use crate::http::HttpState;
use crate::http::extract::{JsonBody, QueryParams};
use crate::http::problem::Problem;
use crate::requests::RequestError;

#[derive(Clone, Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct DistributionParams {
    /// The key of a workspace
    workspace: String,
    /// Only for this agent; by default for all that were used there
    flavor: Option<String>,
}

#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DistributionBody {
    /// The key of a workspace
    workspace: String,
    /// Only for this agent, as in the plan
    flavor: Option<String>,
    /// The token of the plan
    confirm: Option<String>,
}

/// What changes, or has changed, in the agents' files of a repository
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Distribution {
    workspace: String,
    root: String,
    changes: Vec<DistributionChange>,
    #[schema(value_type = Vec<Object>)]
    placements: Vec<PlacedPattern>,
    /// What was left alone, and why
    #[schema(value_type = Vec<Object>)]
    notes: Vec<PlanNote>,
    applied: bool,
    /// What to send in `confirm` to apply the changes
    confirm: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DistributionChange {
    /// Relative to the repository
    path: String,
    /// As `git apply` takes it
    diff: String,
}

impl Distribution {
    fn new(plan: &RepositoryPlan, confirm: Option<String>, applied: bool) -> Self {
        let changes = plan.changes().iter().map(|change| DistributionChange {
            path: change.path.display().to_string(),
            diff: unified_diff(change),
        });
        Self {
            workspace: plan.workspace.clone(),
            root: plan.root.display().to_string(),
            changes: changes.collect(),
            placements: plan.placements().cloned().collect(),
            notes: plan.plan.notes.clone(),
            applied,
            confirm,
        }
    }
}

/// Plan the blocks of a repository's instruction files
#[utoipa::path(get, path = "/patterns/distribution", tag = "patterns",
    params(DistributionParams), responses((status = 200, body = Distribution)))]
pub(crate) async fn distribution(
    State(state): State<HttpState>,
    QueryParams(params): QueryParams<DistributionParams>,
) -> Result<Json<Distribution>, Problem> {
    let shared = state.clone();
    let planned = state.run_blocking(move |context| {
        let plan = plan(
            &shared,
            context,
            &params.workspace,
            params.flavor.as_deref(),
        )?;
        let has_changes = !plan.changes().is_empty();
        let token = has_changes.then(|| plan.fingerprint(&shared.boot_id));
        Ok(Distribution::new(&plan, token, false))
    });
    Ok(Json(planned.await?))
}

/// Change a repository's instruction files as planned
#[utoipa::path(post, path = "/patterns/distribution", tag = "patterns",
    request_body = DistributionBody,
    responses((status = 200, body = Distribution),
        (status = 409, description = "The token of the plan is missing or no longer valid")))]
pub(crate) async fn distribute(
    State(state): State<HttpState>,
    JsonBody(body): JsonBody<DistributionBody>,
) -> Result<Json<Distribution>, Problem> {
    let shared = state.clone();
    let applied = state.run_blocking(move |context| Ok(apply(&shared, context, &body)));
    applied.await?.map(Json)
}

fn apply(
    state: &HttpState,
    context: &ServeContext,
    body: &DistributionBody,
) -> Result<Distribution, Problem> {
    let mut plan = plan(state, context, &body.workspace, body.flavor.as_deref())?;
    if plan.changes().is_empty() {
        return Ok(Distribution::new(&plan, None, false));
    }
    let token = plan.fingerprint(&state.boot_id);
    check_token(&token, body.confirm.as_deref())?;
    match plan.apply(context.now()) {
        Ok(()) => Ok(Distribution::new(&plan, None, true)),
        Err(error @ DistributeError::Changed { .. }) => {
            let (error, hint) = (error.to_string(), "request the plan again");
            Err(Problem::with_hint(StatusCode::CONFLICT, error, hint))
        }
        Err(error) => {
            let error = ErrorChain(&error).to_string();
            Err(RequestError::invalid(error, "check the permissions of the file").into())
        }
    }
}

fn plan(
    state: &HttpState,
    context: &ServeContext,
    workspace: &str,
    flavor: Option<&str>,
) -> Result<RepositoryPlan, RequestError> {
    let flavor = flavor.map(|name| {
        Flavor::from_name(name).ok_or_else(|| {
            RequestError::invalid(format!("there is no agent {name:?}"), "see GET /sessions")
        })
    });
    let workspace = find_workspace(context, workspace)?;
    let plan = plan_repository(
        &context.store,
        &state.stages.learn,
        &workspace,
        flavor.transpose()?,
        context.now(),
    );
    plan.map_err(repository_error)
}

fn find_workspace(context: &ServeContext, key: &str) -> Result<Workspace, RequestError> {
    let mut roots = learn::curate::repository_roots(&context.store)?;
    match roots.remove(key) {
        Some(root) => Ok(Workspace {
            key: key.to_owned(),
            root: root.display().to_string(),
        }),
        None => Err(RequestError::not_found(
            format!("the repository {key} is not on this machine"),
            "`workspace` of GET /patterns is the key of a repository",
        )),
    }
}
