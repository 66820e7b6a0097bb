//! Routes for the daemon's health, shutdown and token.

use std::path::Path;

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::HttpState;
use super::extract::QueryParams;
use super::guard::Transport;
use super::problem::Problem;
use crate::daemon::home;
use crate::requests::layers::{HealthCheck, layer_health};

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Health)]
pub(super) struct HealthAnswer {
    /// Always `ok`
    status: &'static str,
    version: &'static str,
    pid: u32,
    uptime_s: u64,
    sessions: u64,
    records: u64,
    facts: u64,
    pins: u64,
    /// The time of the latest record
    last: Option<String>,
    encrypted: bool,
    /// How many sessions have their working memory in the daemon
    live_sessions: usize,
    /// The checks of the memory layers, if a workspace is named
    #[serde(skip_serializing_if = "Vec::is_empty")]
    layers: Vec<HealthCheck>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct HealthParams {
    /// The key of a workspace whose memory layers are checked
    workspace: Option<String>,
}

/// The state of the daemon and the size of its memory
#[utoipa::path(get, path = "/health", tag = "daemon",
    params(HealthParams), responses((status = 200, body = HealthAnswer)))]
pub(super) async fn health(
    State(state): State<HttpState>,
    QueryParams(params): QueryParams<HealthParams>,
) -> Result<Json<HealthAnswer>, Problem> {
    let workspace = params.workspace.filter(|workspace| !workspace.is_empty());
    let (counts, layers) = state
        .run_blocking(move |context| {
            let counts = context.store.counts(None)?;
            let checks = workspace.map(|key| layer_health(&context.store, &key, context.now()));
            Ok((counts, checks.transpose()?.unwrap_or_default()))
        })
        .await?;
    Ok(Json(HealthAnswer {
        status: "ok",
        version: env!("CARGO_PKG_VERSION"),
        pid: std::process::id(),
        uptime_s: state.guard.uptime().as_secs(),
        sessions: counts.sessions,
        records: counts.records,
        facts: counts.facts,
        pins: counts.pins,
        last: counts.last.map(|at| at.to_string()),
        encrypted: state.context.store.is_encrypted(),
        live_sessions: state.context.layers.live_sessions(),
        layers,
    }))
}

/// Stop the daemon. Accepted over the socket only.
#[utoipa::path(post, path = "/daemon/stop", tag = "daemon",
    responses((status = 202, description = "It stops")))]
pub(super) async fn stop(
    State(state): State<HttpState>,
    Extension(transport): Extension<Transport>,
) -> Result<StatusCode, Problem> {
    require_socket(transport, "`throughline serve --stop` stops the daemon")?;
    state.daemon.stop();
    Ok(StatusCode::ACCEPTED)
}

/// Create a new token; the old one becomes invalid. Accepted over the socket only.
#[utoipa::path(post, path = "/daemon/token", tag = "daemon",
    responses((status = 204, description = "The new one is in `daemon.token`")))]
pub(super) async fn new_token(
    State(state): State<HttpState>,
    Extension(transport): Extension<Transport>,
) -> Result<StatusCode, Problem> {
    require_socket(
        transport,
        "`throughline serve --new-token` creates a new token",
    )?;
    let made = state
        .run_blocking(|context| {
            let folder = context.store.path().parent();
            Ok(home::rotate_token(folder.unwrap_or(Path::new("."))))
        })
        .await?;
    let token = made.map_err(|error| Problem::internal(error.to_string()))?;
    state.guard.set_token(token);
    Ok(StatusCode::NO_CONTENT)
}

/// Rejects requests that did not come over the user's own socket.
pub(super) fn require_socket(transport: Transport, hint: &'static str) -> Result<(), Problem> {
    if transport == Transport::Socket {
        return Ok(());
    }
    Err(Problem::with_hint(
        StatusCode::FORBIDDEN,
        "this route is only available over the Unix socket",
        hint,
    ))
}
