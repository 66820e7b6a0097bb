//! Connections: few enough, not too slow, and ended in good order.

use std::io;
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
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tower::ServiceExt;

use super::guard::{Limits, Way};

/// How long connections may go on when the daemon stops.
const GRACE: Duration = Duration::from_secs(2);
/// How long to wait after nothing could be accepted: the process has no files left.
const BREATH: Duration = Duration::from_millis(100);

/// Where connections come in.
#[derive(Debug)]
pub enum Listener {
    Socket(UnixListener),
    Tcp(TcpListener, u16),
}

/// Serves until `stopping` turns true, then lets what is being answered finish.
pub async fn listen(
    listener: Listener,
    router: Router,
    limits: Limits,
    mut stopping: watch::Receiver<bool>,
) {
    let room = std::sync::Arc::new(Semaphore::new(limits.connections));
    let mut open = JoinSet::new();
    loop {
        let Ok(seat) = std::sync::Arc::clone(&room).acquire_owned().await else {
            break;
        };
        tokio::select! {
            accepted = accept(&listener) => match accepted {
                Ok(Some((stream, way))) => {
                    let one = connection(stream, way, router.clone(), limits, stopping.clone(), seat);
                    open.spawn(one);
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(BREATH).await;
                }
            },
            () = told(&mut stopping) => break,
        }
        while open.try_join_next().is_some() {}
    }
    let ended = async { while open.join_next().await.is_some() {} };
    if tokio::time::timeout(GRACE, ended).await.is_err() {
        tracing::warn!("connections were cut that did not end");
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Returns the next connection; none where somebody else than the user knocks.
async fn accept(listener: &Listener) -> io::Result<Option<(Box<dyn Stream>, Way)>> {
    match listener {
        Listener::Socket(listener) => {
            let (stream, _) = listener.accept().await?;
            let is_ours = stream.peer_cred()?.uid() == rustix::process::geteuid().as_raw();
            Ok(is_ours.then(|| (Box::new(stream) as Box<dyn Stream>, Way::Socket)))
        }
        Listener::Tcp(listener, port) => {
            let (stream, from) = listener.accept().await?;
            let is_near = from.ip().is_loopback();
            Ok(is_near.then(|| (Box::new(stream) as Box<dyn Stream>, Way::Tcp(*port))))
        }
    }
}

async fn connection(
    stream: Box<dyn Stream>,
    way: Way,
    router: Router,
    limits: Limits,
    mut stopping: watch::Receiver<bool>,
    _seat: OwnedSemaphorePermit,
) {
    let service = router.map_request(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(way);
        request
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_timeout)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    let mut served = std::pin::pin!(served);
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = told(&mut stopping) => {
            served.as_mut().graceful_shutdown();
            served.as_mut().await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Waits until the daemon stops.
async fn told(stopping: &mut watch::Receiver<bool>) {
    let _last = stopping.wait_for(|stopping| *stopping).await;
}
