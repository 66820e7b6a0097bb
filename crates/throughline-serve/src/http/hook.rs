//! Agents' hooks, which our own command brings.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::{Extension, Json};
use store::Store;

use super::Front;
use super::guard::Way;
use super::problem::Problem;
use crate::daemon::Wake;
use crate::hook::wire::{self, Reply};

/// Answer an agent's hook. Only over the socket: `throughline hook` brings the payload as the agent sent it.
#[utoipa::path(post, path = "/hook", tag = "daemon",
    request_body(content = String, content_type = "application/json"),
    responses((status = 200, body = Reply)))]
pub async fn hook(
    State(front): State<Front>,
    Extension(way): Extension<Way>,
    headers: HeaderMap,
    payload: Bytes,
) -> Result<Json<Reply>, Problem> {
    if way != Way::Socket {
        return Err(Problem::hinted(
            StatusCode::FORBIDDEN,
            "hooks are answered over the socket only",
            "agents call `throughline hook`",
        ));
    }
    let context = front.clone();
    let reply =
        front.answer(move |desk| Ok(answer_payload(&context, &desk.store, &headers, &payload)));
    Ok(Json(reply.await??))
}

/// Answers a hook's payload from a store, and has the daemon carry out what follows from it.
pub fn answer_payload(
    front: &Front,
    store: &Store,
    headers: &HeaderMap,
    payload: &[u8],
) -> Result<Reply, Problem> {
    if front.origin.has_changed() {
        // The loop looks at it too, and ends us where somebody starts us again.
        front.waker.wake(Wake::PendingDue);
        return Err(Problem::hinted(
            StatusCode::SERVICE_UNAVAILABLE,
            "the program or its configuration has changed since this daemon started",
            "start it again",
        ));
    }
    let hints = wire::hints(|name| headers.get(name)?.to_str().ok());
    let desk = &front.desk;
    let (reply, after) = wire::respond(store, &desk.settings, payload, &hints, desk.now());
    if !after.is_empty() {
        front.waker.wake(Wake::Hooked(after));
    }
    Ok(reply)
}
