//! Who may come in, and how much of it.
//!
//! A web page in the user's browser can reach loopback too, so being here is no leave to read: the name
//! that was asked for and the page that asks are looked at on every route, and over TCP only who has
//! the token is let in. The socket lies in the user's own folder; who can open it is the user.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::Limited;
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;

use super::{Front, Problem};

/// How much may be asked.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub body_bytes: usize,
    /// Requests that are answered at once; others wait.
    pub at_once: usize,
    /// Connections that may be open.
    pub connections: usize,
    /// Listeners to events.
    pub listeners: usize,
    /// Requests in a second, and how many more at once after a rest.
    pub per_second: f64,
    pub burst: f64,
    /// How long a request may take, and how long its head.
    pub timeout: Duration,
    pub head_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 4 << 20,
            at_once: 16,
            connections: 128,
            listeners: 16,
            per_second: 500.0,
            burst: 1_000.0,
            timeout: Duration::from_secs(30),
            head_timeout: Duration::from_secs(10),
        }
    }
}

/// By which way a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Socket,
    /// The port it came in by.
    Tcp(u16),
}

/// What the guard knows.
#[derive(Debug)]
pub struct Gate {
    token: RwLock<String>,
    pub limits: Limits,
    at_once: Semaphore,
    bucket: Mutex<Bucket>,
    started: Instant,
    /// When something was last asked, in milliseconds after the start.
    last_asked_ms: AtomicU64,
}

impl Gate {
    pub fn new(token: String, limits: Limits) -> Self {
        Self {
            token: RwLock::new(token),
            limits,
            at_once: Semaphore::new(limits.at_once),
            bucket: Mutex::new(Bucket {
                left: limits.burst,
                filled: Instant::now(),
            }),
            started: Instant::now(),
            last_asked_ms: AtomicU64::new(0),
        }
    }

    /// Notes that somebody needs us.
    pub fn asked(&self) {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_asked_ms.store(now, Ordering::Relaxed);
    }

    /// Returns for how long nobody has asked for anything.
    pub fn idle(&self) -> Duration {
        let last = Duration::from_millis(self.last_asked_ms.load(Ordering::Relaxed));
        self.started.elapsed().saturating_sub(last)
    }

    /// Lets in who has this token, and nobody else.
    pub fn change_token(&self, token: String) {
        *self.token.write().unwrap_or_else(PoisonError::into_inner) = token;
    }

    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    fn has_room(&self) -> bool {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        bucket.take(Instant::now(), &self.limits)
    }

    fn knows(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(header::AUTHORIZATION);
        let given = given.and_then(|value| value.to_str().ok());
        let Some((scheme, token)) = given.and_then(|value| value.split_once(' ')) else {
            return false;
        };
        let known = self.token.read().unwrap_or_else(PoisonError::into_inner);
        let is_same = token.trim().as_bytes().ct_eq(known.as_bytes());
        scheme.eq_ignore_ascii_case("bearer") && bool::from(is_same)
    }
}

/// Holds what may still be asked.
#[derive(Debug)]
struct Bucket {
    left: f64,
    filled: Instant,
}

impl Bucket {
    fn take(&mut self, now: Instant, limits: &Limits) -> bool {
        let since = now.duration_since(self.filled).as_secs_f64();
        self.left = (self.left + since * limits.per_second).min(limits.burst);
        self.filled = now;
        if self.left < 1.0 {
            return false;
        }
        self.left -= 1.0;
        true
    }
}

/// Lets a request in, or says why not. Nothing of its body is read before.
pub async fn guard(State(front): State<Front>, request: Request, next: Next) -> Response {
    let way = request.extensions().get::<Way>().copied();
    if let Err(problem) = may_enter(&front.gate, way, request.headers()) {
        return problem.into_response();
    }
    if request.uri().path() != "/health" {
        front.gate.asked();
    }
    let limits = front.gate.limits;
    let answered = tokio::time::timeout(limits.timeout, async {
        let _one = front.gate.at_once.acquire().await;
        next.run(request.map(|body| Body::new(Limited::new(body, limits.body_bytes))))
            .await
    });
    match answered.await {
        Ok(response) => response,
        Err(_) => Problem::hinted(
            StatusCode::SERVICE_UNAVAILABLE,
            "the answer took too long",
            "ask for less, or try again",
        )
        .into_response(),
    }
}

/// Adds what keeps browsers from guessing and keeping.
pub async fn harden(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let fixed = HeaderValue::from_static;
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, fixed("nosniff"));
    headers.insert(header::CACHE_CONTROL, fixed("no-store"));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        fixed("default-src 'none'; frame-ancestors 'none'"),
    );
    response
}

fn may_enter(gate: &Gate, way: Option<Way>, headers: &HeaderMap) -> Result<(), Problem> {
    let refused = |why: &str| Problem::new(StatusCode::FORBIDDEN, why);
    let Some(way) = way else {
        return Err(refused("it is not known where this came from"));
    };
    if !is_our_host(way, headers) {
        return Err(refused("this is not a name of ours"));
    }
    if !is_our_origin(way, headers) {
        return Err(refused("no other page may ask"));
    }
    if matches!(way, Way::Tcp(_)) && !gate.knows(headers) {
        return Err(Problem::hinted(
            StatusCode::UNAUTHORIZED,
            "the token is missing or wrong",
            "send `Authorization: Bearer TOKEN` with the token in daemon.token in Throughline's folder",
        ));
    }
    if !gate.has_room() {
        return Err(Problem::hinted(
            StatusCode::TOO_MANY_REQUESTS,
            "too many requests",
            "try again in a second",
        ));
    }
    Ok(())
}

const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

fn is_our_host(way: Way, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let Ok(host) = host.to_str() else {
        return false;
    };
    NAMES.iter().any(|name| match way {
        Way::Socket => host == *name || host.starts_with(&format!("{name}:")),
        Way::Tcp(port) => host == format!("{name}:{port}"),
    })
}

/// A page may ask only where it is our own. Programs send no origin.
fn is_our_origin(way: Way, headers: &HeaderMap) -> bool {
    let said = |name: &str| headers.get(name).map(HeaderValue::as_bytes);
    if matches!(said("sec-fetch-site"), Some(b"cross-site" | b"same-site")) {
        return false;
    }
    let Some(origin) = said("origin") else {
        return true;
    };
    match way {
        Way::Socket => false,
        Way::Tcp(port) => NAMES
            .iter()
            .any(|name| origin == format!("http://{name}:{port}").as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[track_caller]
    fn check(way: Way, pairs: &[(&'static str, &str)], status: Option<u16>) {
        let gate = Gate::new("secret".to_owned(), Limits::default());
        let entered = may_enter(&gate, Some(way), &headers(pairs));
        let refused = entered.err().map(|problem| {
            let response = problem.into_response();
            response.status().as_u16()
        });
        assert_eq!(refused, status, "{pairs:?}");
    }

    #[test]
    fn over_tcp_the_name_the_page_and_the_token_must_be_right() {
        let (way, token) = (Way::Tcp(7), ("authorization", "Bearer secret"));
        check(way, &[("host", "127.0.0.1:7"), token], None);
        check(way, &[("host", "localhost:7"), token], None);
        check(way, &[("host", "[::1]:7"), token], None);
        check(way, &[token], Some(403));
        for host in [
            "evil.test:7",
            "127.0.0.1:8",
            "127.0.0.1",
            "localhost:7.evil.test",
        ] {
            check(way, &[("host", host), token], Some(403));
        }
        let two = [("host", "127.0.0.1:7"), ("host", "evil.test"), token];
        check(way, &two, Some(403));
        let host = ("host", "127.0.0.1:7");
        check(way, &[host], Some(401));
        for wrong in [
            "Bearer wrong",
            "Bearer",
            "Basic secret",
            "secret",
            "Bearer secret2",
        ] {
            check(way, &[host, ("authorization", wrong)], Some(401));
        }
        check(way, &[host, token, ("origin", "http://127.0.0.1:7")], None);
        for origin in [
            "null",
            "http://evil.test",
            "https://127.0.0.1:7",
            "http://127.0.0.1:8",
        ] {
            check(way, &[host, token, ("origin", origin)], Some(403));
        }
        check(
            way,
            &[host, token, ("sec-fetch-site", "cross-site")],
            Some(403),
        );
    }

    #[test]
    fn the_socket_needs_no_token_and_knows_no_page() {
        check(Way::Socket, &[("host", "localhost")], None);
        check(Way::Socket, &[], Some(403));
        check(Way::Socket, &[("host", "evil.test")], Some(403));
        let page = [("host", "localhost"), ("origin", "http://localhost")];
        check(Way::Socket, &page, Some(403));
    }

    #[test]
    fn after_a_burst_the_rest_waits_until_there_is_room() {
        let limits = Limits {
            per_second: 10.0,
            burst: 3.0,
            ..Limits::default()
        };
        let start = Instant::now();
        let mut bucket = Bucket {
            left: 3.0,
            filled: start,
        };
        let mut taken = |ms: u64| bucket.take(start + Duration::from_millis(ms), &limits);
        assert_eq!(
            [taken(0), taken(0), taken(0), taken(0)],
            [true, true, true, false]
        );
        assert_eq!([taken(50), taken(150), taken(160)], [false, true, false]);
    }
}
