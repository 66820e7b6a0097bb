//! The route that answers agents' hooks.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::{Extension, Json};
use store::Store;

use super::HttpState;
use super::guard::Transport;
use super::problem::Problem;
use crate::daemon::WakeReason;
use crate::hook::wire::{self, Reply};

/// Answer an agent's hook. Accepted over the socket only, from `throughline hook`, with the payload
/// as the agent sent it.
#[utoipa::path(post, path = "/hook", tag = "daemon",
    request_body(content = String, content_type = "application/json"),
    responses((status = 200, body = Reply)))]
pub async fn hook(
    State(front): State<HttpState>,
    Extension(way): Extension<Transport>,
    headers: HeaderMap,
    payload: Bytes,
) -> Result<Json<Reply>, Problem> {
    if way != Transport::Socket {
        return Err(Problem::with_hint(
            StatusCode::FORBIDDEN,
            "hooks are only answered over the Unix socket",
            "agents run `throughline hook`",
        ));
    }
    let context = front.clone();
    let reply = front
        .run_blocking(move |desk| Ok(answer_payload(&context, &desk.store, &headers, &payload)));
    Ok(Json(reply.await??))
}

/// Answers a hook's payload from a store, and queues its follow-up work in the daemon.
pub fn answer_payload(
    front: &HttpState,
    store: &Store,
    headers: &HeaderMap,
    payload: &[u8],
) -> Result<Reply, Problem> {
    if front.startup_files.has_changed() {
        // The daemon's loop checks the files too, and exits if a hook can start the new version.
        front.daemon.wake(WakeReason::FollowUpsDue);
        return Err(Problem::with_hint(
            StatusCode::SERVICE_UNAVAILABLE,
            "the program or its configuration has changed since this daemon started",
            "restart the daemon",
        ));
    }
    let hints = wire::hints_from_headers(|name| headers.get(name)?.to_str().ok());
    let desk = &front.context;
    let (reply, after) = wire::reply_to_payload(store, &desk.settings, payload, &hints, desk.now());
    if !after.is_empty() {
        front.daemon.wake(WakeReason::HookAnswered(after));
    }
    Ok(reply)
}
