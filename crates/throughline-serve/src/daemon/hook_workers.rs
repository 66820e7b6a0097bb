//! Threads that answer hooks and nothing else.
//!
//! An agent waits for its hook, so a hook must not queue behind other requests, sweeps or stages.
//! Each worker is a thread with its own runtime and its own open database connection. It accepts
//! connections from the hook socket, reads the payload and answers on the same thread: no work is
//! handed to another thread while the agent waits, and no lock or pool is shared with the rest of
//! the process. A client that sends slowly occupies a connection, never a worker.

use std::io;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::thread::JoinHandle;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use store::Store;
use tokio::sync::watch;

use crate::hook::{self, wire};
use crate::http::guard::{self, HttpLimits, Transport};
use crate::http::hook::answer_payload;
use crate::http::listen::{ConnectionState, HttpListener, serve_listener};
use crate::http::{HttpState, Problem};

/// The number of workers: more than one, so that one slow answer does not delay the next.
pub(super) const HOOK_WORKERS: usize = 2;
/// Connections that may wait for one worker. Each event of an agent opens one.
const CONNECTIONS_MAX: usize = 128;

/// The threads that answer hooks.
#[derive(Debug)]
pub(super) struct HookWorkers {
    threads: Vec<JoinHandle<()>>,
}

impl HookWorkers {
    /// Starts a worker for each store. All workers accept connections from the same socket.
    pub(super) fn start(
        socket: &UnixListener,
        stores: Vec<Arc<Store>>,
        front: &HttpState,
        stopping: &watch::Receiver<bool>,
    ) -> io::Result<Self> {
        let mut threads = Vec::new();
        for store in stores {
            let lane = HookWorker {
                store,
                http: front.clone(),
            };
            let (socket, stopping) = (socket.try_clone()?, stopping.clone());
            let thread = std::thread::Builder::new()
                .name("throughline-hook".into())
                .spawn(move || {
                    if let Err(error) = run_hook_worker(lane, socket, stopping) {
                        tracing::error!(%error, "a hook worker failed");
                    }
                })?;
            threads.push(thread);
        }
        Ok(Self { threads })
    }

    /// Waits until the workers have ended; they end when the daemon stops.
    pub(super) fn join(self) {
        for thread in self.threads {
            if thread.join().is_err() {
                tracing::error!("a hook worker panicked");
            }
        }
    }
}

#[derive(Clone)]
struct HookWorker {
    store: Arc<Store>,
    http: HttpState,
}

fn run_hook_worker(
    lane: HookWorker,
    socket: UnixListener,
    stopping: watch::Receiver<bool>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let desk = &lane.http.context;
    hook::warm_up(&lane.store, &desk.settings, desk.now());
    let limits = HttpLimits {
        body_bytes_max: wire::PAYLOAD_BYTES_MAX,
        connections_max: CONNECTIONS_MAX,
        ..lane.http.guard.limits
    };
    let router = Router::new()
        .route(wire::HOOK_PATH, post(handle_hook))
        .layer(DefaultBodyLimit::disable())
        .with_state((Arc::new(lane), limits));
    runtime.block_on(async {
        let listener = HttpListener::Socket(tokio::net::UnixListener::from_std(socket)?);
        serve_listener(listener, router, limits, stopping).await;
        Ok(())
    })
}

async fn handle_hook(
    State((lane, limits)): State<(Arc<HookWorker>, HttpLimits)>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    if let Err(problem) = guard::check_host_and_origin(Transport::Socket, &parts.headers) {
        return problem.into_response();
    }
    let payload = match guard::read_body(body, &limits).await {
        Ok(payload) => payload,
        Err(problem) => return problem.into_response(),
    };
    lane.http.guard.record_activity();
    // Sends the acknowledgement before the thread is busy, so that the hook does not begin to
    // compute an answer itself.
    tokio::task::yield_now().await;
    let state = parts.extensions.get::<ConnectionState>();
    let _answering = state.map(ConnectionState::start_answering);
    // Blocking the worker's thread here is intended; the module documentation says why.
    let reply = answer_payload(&lane.http, &lane.store, &parts.headers, &payload);
    reply.map_or_else(Problem::into_response, |reply| {
        axum::Json(reply).into_response()
    })
}
