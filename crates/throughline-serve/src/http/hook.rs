//! Agents' hooks, which our own command brings.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::{Extension, Json};

use super::Front;
use super::guard::Way;
use super::problem::Problem;
use crate::daemon::Wake;
use crate::hook::After;
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
    let hints = wire::hints(|name| headers.get(name)?.to_str().ok());
    let (reply, after) = front
        .answer(move |desk| {
            let (store, settings) = (&desk.store, &desk.settings);
            Ok(wire::respond(store, settings, &payload, &hints, desk.now()))
        })
        .await?;
    follow(&front, after);
    Ok(Json(reply))
}

/// Lets what follows be done. What was shown is recorded at once, so that it is not shown again; the
/// rest has its turn in the loop.
fn follow(front: &Front, after: Vec<After>) {
    let (shown, later): (Vec<_>, Vec<_>) = after
        .into_iter()
        .partition(|after| matches!(after, After::Injected(_)));
    if !shown.is_empty() {
        let desk = front.desk.clone();
        tokio::task::spawn_blocking(move || {
            for one in shown {
                if let After::Injected(injected) = one
                    && let Err(error) = injected.record(&desk.store)
                {
                    tracing::warn!(%error, "an injection is not recorded");
                }
            }
        });
    }
    if !later.is_empty() {
        front.waker.wake(Wake::Hooked(later));
    }
}
