//! Connections: few enough, not too slow, and ended in good order.
//!
//! A listener that has as many connections as it may have closes one that waits for its client, rather
//! than keep the next client waiting: first those from which no request was ever accepted, then those
//! that were answered; never one that is being answered.

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

/// How long connections may go on when the daemon stops.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);
/// How long to wait after nothing could be accepted: the process has no files left.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Where connections come in.
#[derive(Debug)]
pub enum HttpListener {
    Socket(UnixListener),
    Tcp(TcpListener, u16),
}

/// Serves until `stopping` turns true, then lets what is being answered finish.
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
                Ok(Some((stream, way))) => {
                    let state = ConnectionState::default();
                    let serve = serve_connection(stream, way, router.clone(), limits, stopping.clone(), state.clone());
                    connections.add(state, serve).await;
                    // The request is usually there already: it is answered before the next
                    // connection is taken, which another thread may have time for.
                    tokio::task::yield_now().await;
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
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
        tracing::warn!("connections were cut that did not end");
    }
}

const NO_REQUEST_YET: u8 = 0;
const ANSWERING: u8 = 1;
const IDLE: u8 = 2;

/// What a connection does at the moment, shared by the listener and the guard.
#[derive(Clone, Debug, Default)]
pub struct ConnectionState(Arc<AtomicU8>);

impl ConnectionState {
    /// Notes that a request of this connection is being answered, until the result is dropped.
    pub fn start_answering(&self) -> AnsweringGuard {
        self.0.store(ANSWERING, Ordering::Release);
        AnsweringGuard(self.clone())
    }

    fn is(&self, state: u8) -> bool {
        self.0.load(Ordering::Acquire) == state
    }
}

/// Marks a connection as one that is being answered.
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

    /// Serves a connection. Where there are too many, one is closed that waits for its client; where
    /// all are being answered, the new one waits for the first of them.
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

/// Returns the next connection; none where somebody else than the user knocks.
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
    stream: Box<dyn ConnectionStream>,
    way: Transport,
    router: Router,
    limits: HttpLimits,
    mut stopping: watch::Receiver<bool>,
    state: ConnectionState,
) {
    let service = router.map_request(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(way);
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

    /// Stays open until it is aborted.
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
