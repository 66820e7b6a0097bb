//! Routes for workspaces: which there are, whether memory is given there, how the memory layers do,
//! and what is known in them.

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::HttpState;
use super::extract::QueryParams;
use super::problem::Problem;
use crate::prompt::injection_off;
use crate::requests::capsules::{self, CapsuleEntry};
use crate::requests::layers::{HealthCheck, layer_health};

const WORKSPACES_MAX: usize = 1_000;

/// A workspace
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Workspace)]
pub(super) struct WorkspaceView {
    /// The address of its repository, or its folder
    key: String,
    /// One of its folders
    folder: String,
    sessions: u64,
    records: u64,
    facts: u64,
    /// The time of its latest record
    last: Option<String>,
    /// Why its prompts are given nothing; none if they are given memory
    injection_off: Option<&'static str>,
    /// Whether its prompts are given texts that may contain a secret
    sensitive: bool,
    /// Whether its sessions are captured
    captured: bool,
}

/// List the workspaces in memory
#[utoipa::path(get, path = "/workspaces", tag = "sessions",
    responses((status = 200, body = Vec<WorkspaceView>)))]
pub(super) async fn list(
    State(state): State<HttpState>,
) -> Result<Json<Vec<WorkspaceView>>, Problem> {
    let listed = state.run_blocking(|context| {
        let found = context.store.workspaces_matching("", WORKSPACES_MAX)?;
        let mut views = Vec::with_capacity(found.len());
        for workspace in found {
            let counts = context
                .store
                .counts(Some(std::slice::from_ref(&workspace.key)))?;
            let off = injection_off(&context.settings, &workspace);
            views.push(WorkspaceView {
                captured: context.settings.scope.allows(&workspace),
                sensitive: context
                    .settings
                    .injection
                    .recall_in(Some(&workspace))
                    .include_sensitive,
                injection_off: off.map(crate::prompt::InjectionOff::reason),
                sessions: counts.sessions,
                records: counts.records,
                facts: counts.facts,
                last: counts.last.map(|at| at.to_string()),
                key: workspace.key,
                folder: workspace.root,
            });
        }
        views.sort_by(|a, b| b.last.cmp(&a.last));
        Ok(views)
    });
    Ok(Json(listed.await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct LayersParams {
    /// The key of the workspace
    workspace: String,
}

/// How well the memory layers predict what the sessions of a workspace need
#[utoipa::path(get, path = "/layers", tag = "daemon", params(LayersParams),
    responses((status = 200, body = Vec<HealthCheck>)))]
pub(super) async fn layers(
    State(state): State<HttpState>,
    QueryParams(params): QueryParams<LayersParams>,
) -> Result<Json<Vec<HealthCheck>>, Problem> {
    let checks = state.run_blocking(move |context| {
        let now = context.now();
        Ok(layer_health(&context.store, &params.workspace, now)?)
    });
    Ok(Json(checks.await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct CapsulesParams {
    /// The key of the workspace
    workspace: String,
    /// Only the capsule with this id or beginning of one, with its text
    id: Option<String>,
    /// Only capsules that have to do with this text, the nearest first
    near: Option<String>,
}

/// List the knowledge capsules of a workspace: patterns, skills, configuration, preferences and
/// history in short form
#[utoipa::path(get, path = "/capsules", tag = "sessions", params(CapsulesParams),
    responses((status = 200, body = Vec<CapsuleEntry>)))]
pub(super) async fn capsules(
    State(state): State<HttpState>,
    QueryParams(params): QueryParams<CapsulesParams>,
) -> Result<Json<Vec<CapsuleEntry>>, Problem> {
    let CapsulesParams {
        workspace,
        id,
        near,
    } = params;
    let listed = state.run_blocking(move |context| {
        let (store, now) = (&context.store, context.now());
        let generation = store.card_generation()?;
        let all = capsules::refresh_capsules(store, &workspace)?;
        if let Some(id) = id {
            let capsule = capsules::find_capsule(&all, &id)?;
            let pulled = [(capsule.card_key(), Some(capsule.card()))];
            let layers = &context.layers;
            layers.count_pull(store, &workspace, &pulled, generation, now)?;
            return Ok(vec![CapsuleEntry::new(capsule).with_text(capsule)]);
        }
        Ok(match near {
            Some(text) => capsules::search_capsules(store, &workspace, &all, &text, now)?,
            None => all.iter().map(CapsuleEntry::new).collect(),
        })
    });
    Ok(Json(listed.await?))
}
