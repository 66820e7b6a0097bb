//! Routes for the daemon's health, shutdown and token.

use std::path::Path;

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Extension, Json};
use serde::Serialize;
use utoipa::ToSchema;

use super::HttpState;
use super::guard::Transport;
use super::problem::Problem;
use crate::daemon::home;

#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
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
}

/// The state of the daemon and the size of its memory
#[utoipa::path(get, path = "/health", tag = "daemon", responses((status = 200, body = Health)))]
pub async fn health(State(front): State<HttpState>) -> Result<Json<Health>, Problem> {
    let counts = front
        .run_blocking(|desk| Ok(desk.store.counts(None)?))
        .await?;
    Ok(Json(Health {
        status: "ok",
        version: env!("CARGO_PKG_VERSION"),
        pid: std::process::id(),
        uptime_s: front.guard.uptime().as_secs(),
        sessions: counts.sessions,
        records: counts.records,
        facts: counts.facts,
        pins: counts.pins,
        last: counts.last.map(|at| at.to_string()),
        encrypted: front.context.store.is_encrypted(),
    }))
}

/// Stop the daemon. Accepted over the socket only.
#[utoipa::path(post, path = "/daemon/stop", tag = "daemon",
    responses((status = 202, description = "It stops")))]
pub async fn stop(
    State(front): State<HttpState>,
    Extension(way): Extension<Transport>,
) -> Result<StatusCode, Problem> {
    require_socket(way, "`throughline serve --stop` stops the daemon")?;
    front.daemon.stop();
    Ok(StatusCode::ACCEPTED)
}

/// Create a new token; the old one becomes invalid. Accepted over the socket only.
#[utoipa::path(post, path = "/daemon/token", tag = "daemon",
    responses((status = 204, description = "The new one is in `daemon.token`")))]
pub async fn new_token(
    State(front): State<HttpState>,
    Extension(way): Extension<Transport>,
) -> Result<StatusCode, Problem> {
    require_socket(way, "`throughline serve --new-token` creates a new token")?;
    let made = front
        .run_blocking(|desk| {
            let folder = desk.store.path().parent();
            Ok(home::rotate_token(folder.unwrap_or(Path::new("."))))
        })
        .await?;
    let token = made.map_err(|error| Problem::internal(error.to_string()))?;
    front.guard.set_token(token);
    Ok(StatusCode::NO_CONTENT)
}

/// Rejects requests that did not come over the user's own socket.
fn require_socket(way: Transport, hint: &'static str) -> Result<(), Problem> {
    if way == Transport::Socket {
        return Ok(());
    }
    Err(Problem::with_hint(
        StatusCode::FORBIDDEN,
        "this route is only available over the Unix socket",
        hint,
    ))
}
