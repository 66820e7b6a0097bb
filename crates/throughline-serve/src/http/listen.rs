//! Accepts and serves connections, within limits, until the daemon stops.
//!
//! A listener that is at its connection limit closes a connection that waits for its client, rather
//! than keep the next client waiting: first one that has not sent a valid request yet, then one
//! whose requests have been answered; never one with a request in progress.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tower::ServiceExt;

use super::guard::{HttpLimits, Transport};

/// How long open connections may take to finish when the daemon stops.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);
/// How long to wait after a failed accept: usually the process is out of file descriptors.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// A listening socket.
#[derive(Debug)]
pub enum HttpListener {
    Socket(UnixListener),
    Tcp(TcpListener, u16),
}

/// Binds a port on loopback: the requested one, or any free one if it is taken.
pub async fn bind_loopback(port: u16) -> io::Result<(TcpListener, u16)> {
    let listener = match TcpListener::bind(("127.0.0.1", port)).await {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            tracing::warn!(port, "the port is in use; listening on another one");
            TcpListener::bind(("127.0.0.1", 0)).await
        }
        bound => bound,
    }?;
    let port = listener.local_addr()?.port();
    Ok((listener, port))
}

/// Serves connections until `stopping` turns true, then lets requests in progress finish.
pub async fn serve_listener(
    listener: HttpListener,
    router: Router,
    limits: HttpLimits,
    mut stopping: watch::Receiver<bool>,
) {
    let mut connections = ConnectionPool::new(limits.connections_max);
    loop {
        tokio::select! {
            accepted = accept_connection(&listener) => match accepted {
                Ok(Some((stream, transport))) => {
                    let state = ConnectionState::default();
                    let (router, stopping) = (router.clone(), stopping.clone());
                    let connection = (stream, transport);
                    let shared = state.clone();
                    let serve = serve_connection(connection, router, limits, stopping, shared);
                    connections.add(state, serve).await;
                    // The request has usually arrived already: it is answered before this thread
                    // accepts the next connection, which another thread may be free to take.
                    tokio::task::yield_now().await;
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            },
            () = wait_for_stop(&mut stopping) => break,
        }
    }
    if tokio::time::timeout(SHUTDOWN_GRACE, connections.join_all())
        .await
        .is_err()
    {
        tracing::warn!("closed connections that did not finish in time");
    }
}

const NO_REQUEST_YET: u8 = 0;
const ANSWERING: u8 = 1;
const IDLE: u8 = 2;

/// The state of a connection, shared by the listener and the guard.
#[derive(Clone, Debug, Default)]
pub struct ConnectionState(Arc<AtomicU8>);

impl ConnectionState {
    /// Marks the connection as answering a request until the result is dropped.
    pub fn start_answering(&self) -> AnsweringGuard {
        self.0.store(ANSWERING, Ordering::Release);
        AnsweringGuard(self.clone())
    }

    fn is(&self, state: u8) -> bool {
        self.0.load(Ordering::Acquire) == state
    }
}

/// Resets the state of a connection when its answer is done.
#[derive(Debug)]
pub struct AnsweringGuard(ConnectionState);

impl Drop for AnsweringGuard {
    fn drop(&mut self) {
        self.0.0.store(IDLE, Ordering::Release);
    }
}

/// The open connections of a listener, oldest first.
struct ConnectionPool {
    max: usize,
    tasks: JoinSet<()>,
    open: Vec<(ConnectionState, AbortHandle)>,
}

impl ConnectionPool {
    fn new(max: usize) -> Self {
        Self {
            max: max.max(1),
            tasks: JoinSet::new(),
            open: Vec::new(),
        }
    }

    /// Serves a connection. At the limit a connection that waits for its client is closed; if all
    /// have requests in progress, the new one waits for the first of them to end.
    async fn add(
        &mut self,
        state: ConnectionState,
        serve: impl Future<Output = ()> + Send + 'static,
    ) {
        loop {
            while self.tasks.try_join_next().is_some() {}
            self.open.retain(|(_, task)| !task.is_finished());
            if self.open.len() < self.max {
                break;
            }
            match self.oldest(NO_REQUEST_YET).or_else(|| self.oldest(IDLE)) {
                Some(at) => self.open.remove(at).1.abort(),
                None => drop(self.tasks.join_next().await),
            }
        }
        let task = self.tasks.spawn(serve);
        self.open.push((state, task));
    }

    fn oldest(&self, state: u8) -> Option<usize> {
        self.open.iter().position(|(known, _)| known.is(state))
    }

    async fn join_all(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

trait ConnectionStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> ConnectionStream for T {}

/// Returns the next connection, or `None` if it belongs to another user or another machine.
async fn accept_connection(
    listener: &HttpListener,
) -> io::Result<Option<(Box<dyn ConnectionStream>, Transport)>> {
    match listener {
        HttpListener::Socket(listener) => {
            let (stream, _) = listener.accept().await?;
            let is_ours = stream.peer_cred()?.uid() == rustix::process::geteuid().as_raw();
            Ok(is_ours.then(|| {
                (
                    Box::new(stream) as Box<dyn ConnectionStream>,
                    Transport::Socket,
                )
            }))
        }
        HttpListener::Tcp(listener, port) => {
            let (stream, from) = listener.accept().await?;
            let is_near = from.ip().is_loopback();
            Ok(is_near.then(|| {
                (
                    Box::new(stream) as Box<dyn ConnectionStream>,
                    Transport::Tcp(*port),
                )
            }))
        }
    }
}

async fn serve_connection(
    (stream, transport): (Box<dyn ConnectionStream>, Transport),
    router: Router,
    limits: HttpLimits,
    mut stopping: watch::Receiver<bool>,
    state: ConnectionState,
) {
    let service = router.map_request(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(transport);
        request.extensions_mut().insert(state.clone());
        request
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_timeout)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    let mut served = std::pin::pin!(served);
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = wait_for_stop(&mut stopping) => {
            served.as_mut().graceful_shutdown();
            served.as_mut().await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Waits until the daemon stops.
async fn wait_for_stop(stopping: &mut watch::Receiver<bool>) {
    let _last = stopping.wait_for(|stopping| *stopping).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_time().build().unwrap()
    }

    /// A connection that stays open until it is aborted.
    async fn stalled() {
        std::future::pending::<()>().await;
    }

    #[test]
    fn a_full_listener_closes_who_never_sent_a_request_then_who_was_answered() {
        runtime().block_on(async {
            let mut connections = ConnectionPool::new(3);
            let [answered, answering, fresh] = [(); 3].map(|()| ConnectionState::default());
            drop(answered.start_answering());
            let _mark = answering.start_answering();
            for state in [&answered, &answering, &fresh] {
                connections.add(state.clone(), stalled()).await;
            }
            let states = |connections: &ConnectionPool| -> Vec<_> {
                let open = connections.open.iter();
                open.map(|(state, _)| state.0.load(Ordering::Acquire))
                    .collect()
            };
            connections.add(ConnectionState::default(), stalled()).await;
            assert_eq!(states(&connections), [IDLE, ANSWERING, NO_REQUEST_YET]);
            let other = ConnectionState::default();
            let _other = other.start_answering();
            connections.add(other, stalled()).await;
            assert_eq!(states(&connections), [IDLE, ANSWERING, ANSWERING]);
            connections.add(ConnectionState::default(), stalled()).await;
            assert_eq!(states(&connections), [ANSWERING, ANSWERING, NO_REQUEST_YET]);
        });
    }

    #[test]
    fn nobody_who_is_being_answered_is_cut_off() {
        runtime().block_on(async {
            let mut connections = ConnectionPool::new(1);
            let busy = ConnectionState::default();
            let mark = busy.start_answering();
            let (finish, finished) = tokio::sync::oneshot::channel::<()>();
            connections
                .add(busy, async move { drop(finished.await) })
                .await;
            let next = connections.add(ConnectionState::default(), stalled());
            let mut next = std::pin::pin!(next);
            tokio::select! {
                biased;
                () = next.as_mut() => panic!("there was no room yet"),
                () = tokio::task::yield_now() => {}
            }
            drop(mark);
            finish.send(()).unwrap();
            next.await;
        });
    }
}
