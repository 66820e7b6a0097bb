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
use crate::hook::wire::{self, HookReply};

/// Answer an agent's hook. Accepted over the socket only, from `throughline hook`, with the payload
/// as the agent sent it.
#[utoipa::path(post, path = "/hook", tag = "daemon",
    request_body(content = String, content_type = "application/json"),
    responses((status = 200, body = HookReply)))]
pub async fn hook(
    State(state): State<HttpState>,
    Extension(transport): Extension<Transport>,
    headers: HeaderMap,
    payload: Bytes,
) -> Result<Json<HookReply>, Problem> {
    if transport != Transport::Socket {
        return Err(Problem::with_hint(
            StatusCode::FORBIDDEN,
            "hooks are only answered over the Unix socket",
            "agents run `throughline hook`",
        ));
    }
    let shared = state.clone();
    let reply = state.run_blocking(move |context| {
        Ok(answer_payload(&shared, &context.store, &headers, &payload))
    });
    Ok(Json(reply.await??))
}

/// Answers a hook's payload from a store, and queues its follow-up work in the daemon.
pub fn answer_payload(
    state: &HttpState,
    store: &Store,
    headers: &HeaderMap,
    payload: &[u8],
) -> Result<HookReply, Problem> {
    if state.startup_files.has_changed() {
        // The daemon's loop checks the files too, and exits if a hook can start the new version.
        state.daemon.wake(WakeReason::FollowUpsDue);
        return Err(Problem::with_hint(
            StatusCode::SERVICE_UNAVAILABLE,
            "the program or its configuration has changed since this daemon started",
            "restart the daemon",
        ));
    }
    let hints = wire::hints_from_headers(|name| headers.get(name)?.to_str().ok());
    let context = state.current_context();
    let started = std::time::Instant::now();
    let (reply, follow_ups, workspace) = wire::reply_to_payload(
        store,
        &context.settings,
        &context.layers,
        payload,
        &hints,
        context.now(),
    );
    if let Some(workspace) = workspace {
        let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        context
            .layers
            .measure_answer(&workspace, micros, context.now());
    }
    if !follow_ups.is_empty() {
        state.daemon.wake(WakeReason::HookAnswered(follow_ups));
    }
    Ok(reply)
}
