//! Checks every request before it reaches a route: where it comes from, its token, its size and its
//! rate.
//!
//! A web page in the user's browser can reach loopback too. So the `Host` and `Origin` headers are
//! checked on every route, and TCP requests need the token as well. The socket is in the user's
//! own folder, so a process that can open it acts for the user.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;

use super::listen::ConnectionState;
use super::page_access::PageAccess;
use super::{HttpState, Problem};

/// Limits on connections, requests and their sizes.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    pub body_bytes_max: usize,
    /// The same for a conversation to compact, which may contain images.
    pub conversation_bytes_max: usize,
    /// Requests that are answered concurrently; further ones wait.
    pub concurrent_requests_max: usize,
    /// Connections that may be open.
    pub connections_max: usize,
    /// Listeners to the event stream.
    pub listeners_max: usize,
    /// Requests per second, and how many more in a burst after a pause.
    pub requests_per_second: f64,
    pub burst: f64,
    /// How long answering a request may take once its body has arrived.
    pub timeout: Duration,
    /// How long a client may take to send the head of a request, and its body.
    pub head_timeout: Duration,
    pub body_timeout: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            body_bytes_max: 4 << 20,
            conversation_bytes_max: 32 << 20,
            concurrent_requests_max: 16,
            connections_max: 128,
            listeners_max: 16,
            requests_per_second: 500.0,
            burst: 1_000.0,
            timeout: Duration::from_secs(30),
            head_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(10),
        }
    }
}

/// The transport by which a request arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Socket,
    /// The local port.
    Tcp(u16),
}

/// Marks a request of the page, which must confirm every deletion with the token of its dry run.
#[derive(Clone, Copy, Debug)]
pub struct PageRequest;

/// The token, the limits and the counters that requests are checked against.
#[derive(Debug)]
pub struct RequestGuard {
    token: RwLock<String>,
    /// The tickets and tokens of the web page.
    pub page_access: PageAccess,
    pub limits: HttpLimits,
    request_slots: Semaphore,
    bucket: Mutex<RateBucket>,
    started: Instant,
    /// The time of the latest request, in milliseconds after the start.
    last_activity_ms: AtomicU64,
}

impl RequestGuard {
    pub fn new(token: String, limits: HttpLimits) -> Self {
        Self {
            token: RwLock::new(token),
            page_access: PageAccess::default(),
            limits,
            request_slots: Semaphore::new(limits.concurrent_requests_max),
            bucket: Mutex::new(RateBucket {
                tokens: limits.burst,
                refilled_at: Instant::now(),
            }),
            started: Instant::now(),
            last_activity_ms: AtomicU64::new(0),
        }
    }

    /// Records that the daemon is in use.
    pub fn record_activity(&self) {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_activity_ms.store(now, Ordering::Relaxed);
    }

    /// Returns the time since the latest request.
    pub fn idle_time(&self) -> Duration {
        let last = Duration::from_millis(self.last_activity_ms.load(Ordering::Relaxed));
        self.started.elapsed().saturating_sub(last)
    }

    /// Replaces the token; requests with the old one, and open pages, are rejected.
    pub fn set_token(&self, token: String) {
        self.page_access.revoke_all();
        *self.token.write().unwrap_or_else(PoisonError::into_inner) = token;
    }

    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// Occupies every slot, so that no further request is answered.
    #[cfg(test)]
    pub fn hold_all_slots(&self) -> tokio::sync::SemaphorePermit<'_> {
        let all = u32::try_from(self.limits.concurrent_requests_max).unwrap();
        self.request_slots.try_acquire_many(all).unwrap()
    }

    fn take_rate_token(&self) -> bool {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        bucket.take(Instant::now(), &self.limits)
    }

    /// Says whether a request carries the token of a page.
    fn is_from_page(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(header::AUTHORIZATION);
        let given = given.and_then(|value| value.to_str().ok());
        let token = given.and_then(|value| value.split_once(' '));
        token.is_some_and(|(_, token)| self.page_access.is_token(token.trim()))
    }

    fn has_valid_token(&self, path: &str, headers: &HeaderMap) -> bool {
        let given = headers.get(header::AUTHORIZATION);
        let given = given.and_then(|value| value.to_str().ok());
        let Some((scheme, token)) = given.and_then(|value| value.split_once(' ')) else {
            return false;
        };
        let token = token.trim();
        let known = self.token.read().unwrap_or_else(PoisonError::into_inner);
        // The comparison takes the same time for every wrong token, so that its duration reveals
        // nothing about the right one.
        let is_same = bool::from(token.as_bytes().ct_eq(known.as_bytes()));
        let is_page = || is_for_page(path) && self.page_access.is_token(token);
        scheme.eq_ignore_ascii_case("bearer") && (is_same || is_page())
    }
}

/// A token bucket that limits the rate of requests.
#[derive(Debug)]
struct RateBucket {
    tokens: f64,
    refilled_at: Instant,
}

impl RateBucket {
    fn take(&mut self, now: Instant, limits: &HttpLimits) -> bool {
        let since = now.duration_since(self.refilled_at).as_secs_f64();
        self.tokens = (self.tokens + since * limits.requests_per_second).min(limits.burst);
        self.refilled_at = now;
        if self.tokens < 1.0 {
            return false;
        }
        self.tokens -= 1.0;
        true
    }
}

/// How much of a rejected request is read and discarded, and for how long: a client that is still
/// sending would otherwise see a broken connection instead of the response.
const DISCARD_BYTES_MAX: usize = 8 << 20;
const DISCARD_TIME_MAX: Duration = Duration::from_secs(1);

/// The route whose requests are whole conversations.
const COMPACT_PATH: &str = "/compact";

/// Passes a request on to its route, or rejects it.
///
/// The whole body is read before the request takes one of the slots, so a client that sends slowly
/// or not at all does not keep others from being answered.
pub async fn guard_request(
    State(state): State<HttpState>,
    request: Request,
    next: Next,
) -> Response {
    let transport = request.extensions().get::<Transport>().copied();
    let limits = state.guard.limits;
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    if let Err(problem) = authorize(&state.guard, transport, &parts.method, path, &parts.headers) {
        discard_body(body).await;
        return problem.into_response();
    }
    // Monitors poll this route; they must not keep an idle daemon alive.
    if path != "/health" {
        state.guard.record_activity();
    }
    let is_urgent = transport == Some(Transport::Socket) && is_urgent(path);
    let limits = match path {
        COMPACT_PATH => HttpLimits {
            body_bytes_max: limits.conversation_bytes_max,
            ..limits
        },
        _ => limits,
    };
    let body = match read_body(body, &limits).await {
        Ok(body) => body,
        Err(problem) => return problem.into_response(),
    };
    let _answering = parts
        .extensions
        .get::<ConnectionState>()
        .map(ConnectionState::start_answering);
    let mut parts = parts;
    if state.guard.is_from_page(&parts.headers) {
        parts.extensions.insert(PageRequest);
    }
    let request = Request::from_parts(parts, Body::from(body));
    let answered = tokio::time::timeout(limits.timeout, async {
        let _slot = match is_urgent {
            true => None,
            false => state.guard.request_slots.acquire().await.ok(),
        };
        next.run(request).await
    });
    match answered.await {
        Ok(response) => response,
        Err(_) => Problem::with_hint(
            StatusCode::SERVICE_UNAVAILABLE,
            "the request timed out",
            "request less, or try again",
        )
        .into_response(),
    }
}

/// Returns whether a request is answered without waiting for a slot: an agent waits for its hook,
/// and the daemon must be stoppable while it is busy.
fn is_urgent(path: &str) -> bool {
    path == crate::hook::wire::HOOK_PATH || path.starts_with("/daemon/")
}

/// Reads the whole body of a request, within the limits of size and time.
pub async fn read_body(body: Body, limits: &HttpLimits) -> Result<Bytes, Problem> {
    let read = Limited::new(body, limits.body_bytes_max).collect();
    match tokio::time::timeout(limits.body_timeout, read).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Problem::with_hint(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!(
                "the request body is larger than {} bytes",
                limits.body_bytes_max
            ),
            "send it in smaller requests",
        )),
        Ok(Err(error)) => Err(Problem::new(
            StatusCode::BAD_REQUEST,
            format!("the request body could not be read: {error}"),
        )),
        Err(_) => Err(Problem::with_hint(
            StatusCode::REQUEST_TIMEOUT,
            format!(
                "the request body was not received within {} s",
                limits.body_timeout.as_secs()
            ),
            "send the request again",
        )),
    }
}

/// Reads the rest of a rejected request and discards it, within the limits.
async fn discard_body(body: Body) {
    let read = async {
        let mut body = Limited::new(body, DISCARD_BYTES_MAX);
        while let Some(Ok(_)) = body.frame().await {}
    };
    if tokio::time::timeout(DISCARD_TIME_MAX, read).await.is_err() {
        tracing::debug!("a rejected request was not read to its end");
    }
}

/// Adds headers that keep browsers from sniffing, caching and framing responses.
pub async fn add_security_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let fixed = HeaderValue::from_static;
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, fixed("nosniff"));
    headers.insert(header::CACHE_CONTROL, fixed("no-store"));
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(fixed("default-src 'none'; frame-ancestors 'none'"));
    response
}

/// Checks the `Host` and `Origin` headers of a request.
pub fn check_host_and_origin(transport: Transport, headers: &HeaderMap) -> Result<(), Problem> {
    check_host(transport, headers)?;
    if !is_allowed_origin(transport, headers) {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "cross-origin requests are not allowed",
        ));
    }
    Ok(())
}

fn check_host(transport: Transport, headers: &HeaderMap) -> Result<(), Problem> {
    if is_allowed_host(transport, headers) {
        return Ok(());
    }
    Err(Problem::new(
        StatusCode::FORBIDDEN,
        "Host header not allowed",
    ))
}

/// Exchanges a ticket for the page's token, so it needs none itself.
const PAGE_SESSION_PATH: &str = "/ui/session";

/// Says whether a path is one of the page's own files or screens.
fn is_page_path(path: &str) -> bool {
    path == "/ui" || path.starts_with("/ui/")
}

/// Says whether the page's token is valid for a path: it may read and curate memory, but neither
/// control the daemon nor act as an agent.
fn is_for_page(path: &str) -> bool {
    let is_below = |prefix: &str| path == prefix || path.starts_with(&format!("{prefix}/"));
    !["/daemon", "/hook", "/mcp"].into_iter().any(is_below)
}

/// Says whether a browser opens a page, as opposed to a script that fetches something or a page
/// that embeds it.
fn is_navigation(headers: &HeaderMap) -> bool {
    let header = |name: &str| headers.get(name).map(HeaderValue::as_bytes);
    header("sec-fetch-mode") == Some(b"navigate") && header("sec-fetch-dest") == Some(b"document")
}

fn authorize(
    guard: &RequestGuard,
    transport: Option<Transport>,
    method: &Method,
    path: &str,
    headers: &HeaderMap,
) -> Result<(), Problem> {
    let Some(transport) = transport else {
        return Err(Problem::internal("the request has no known transport"));
    };
    let is_page = method == Method::GET && is_page_path(path);
    if is_page && is_navigation(headers) {
        // A link in a file or in another page leads here; the page holds no data.
        check_host(transport, headers)?;
    } else {
        check_host_and_origin(transport, headers)?;
    }
    let needs_token = !is_page && path != PAGE_SESSION_PATH;
    if matches!(transport, Transport::Tcp(_))
        && needs_token
        && !guard.has_valid_token(path, headers)
    {
        return Err(Problem::with_hint(
            StatusCode::UNAUTHORIZED,
            "missing or invalid token",
            "send `Authorization: Bearer TOKEN` with the token from the file daemon.token in \
             Throughline's folder",
        ));
    }
    if !guard.take_rate_token() {
        return Err(Problem::with_hint(
            StatusCode::TOO_MANY_REQUESTS,
            "too many requests",
            "try again in a second",
        ));
    }
    Ok(())
}

const LOOPBACK_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

fn is_allowed_host(transport: Transport, headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(header::HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return false;
    };
    let Ok(host) = host.to_str() else {
        return false;
    };
    LOOPBACK_HOSTS.iter().any(|name| match transport {
        Transport::Socket => host == *name || host.starts_with(&format!("{name}:")),
        Transport::Tcp(port) => host == format!("{name}:{port}"),
    })
}

/// A web page may send requests only from our own origin. Programs other than browsers send no
/// `Origin` header.
fn is_allowed_origin(transport: Transport, headers: &HeaderMap) -> bool {
    let header = |name: &str| headers.get(name).map(HeaderValue::as_bytes);
    if matches!(header("sec-fetch-site"), Some(b"cross-site" | b"same-site")) {
        return false;
    }
    let Some(origin) = header("origin") else {
        return true;
    };
    match transport {
        // No browser can open a Unix socket, so an origin there is forged.
        Transport::Socket => false,
        Transport::Tcp(port) => LOOPBACK_HOSTS
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
    fn check(transport: Transport, pairs: &[(&'static str, &str)], status: Option<u16>) {
        let gate = RequestGuard::new("secret".to_owned(), HttpLimits::default());
        let (method, path) = (Method::GET, "/sessions");
        let entered = authorize(&gate, Some(transport), &method, path, &headers(pairs));
        let refused = entered.err().map(|problem| {
            let response = problem.into_response();
            response.status().as_u16()
        });
        assert_eq!(refused, status, "{pairs:?}");
    }

    #[test]
    fn over_tcp_the_name_the_page_and_the_token_must_be_right() {
        let (transport, token) = (Transport::Tcp(7), ("authorization", "Bearer secret"));
        check(transport, &[("host", "127.0.0.1:7"), token], None);
        check(transport, &[("host", "localhost:7"), token], None);
        check(transport, &[("host", "[::1]:7"), token], None);
        check(transport, &[token], Some(403));
        for host in [
            "evil.test:7", "127.0.0.1:8", "127.0.0.1", "localhost:7.evil.test",
        ] {
            check(transport, &[("host", host), token], Some(403));
        }
        let two = [("host", "127.0.0.1:7"), ("host", "evil.test"), token];
        check(transport, &two, Some(403));
        let host = ("host", "127.0.0.1:7");
        check(transport, &[host], Some(401));
        for wrong in [
            "Bearer wrong", "Bearer", "Basic secret", "secret", "Bearer secret2",
        ] {
            check(transport, &[host, ("authorization", wrong)], Some(401));
        }
        check(
            transport,
            &[host, token, ("origin", "http://127.0.0.1:7")],
            None,
        );
        for origin in [
            "null", "http://evil.test", "https://127.0.0.1:7", "http://127.0.0.1:8",
        ] {
            check(transport, &[host, token, ("origin", origin)], Some(403));
        }
        check(
            transport,
            &[host, token, ("sec-fetch-site", "cross-site")],
            Some(403),
        );
    }

    #[test]
    fn the_socket_needs_no_token_and_knows_no_page() {
        check(Transport::Socket, &[("host", "localhost")], None);
        check(Transport::Socket, &[], Some(403));
        check(Transport::Socket, &[("host", "evil.test")], Some(403));
        let page = [("host", "localhost"), ("origin", "http://localhost")];
        check(Transport::Socket, &page, Some(403));
    }

    #[test]
    fn the_page_needs_no_token_and_its_token_has_limits() {
        let gate = RequestGuard::new("secret".to_owned(), HttpLimits::default());
        let ticket = gate.page_access.issue_ticket().unwrap();
        let token = gate.page_access.redeem(&ticket).unwrap().unwrap();
        let bearer = format!("Bearer {token}");
        let ask = |method: Method, path: &str, pairs: &[(&'static str, &str)]| {
            let mut all = vec![("host", "127.0.0.1:7")];
            all.extend_from_slice(pairs);
            authorize(
                &gate,
                Some(Transport::Tcp(7)),
                &method,
                path,
                &headers(&all),
            )
            .is_ok()
        };
        let page = ("authorization", bearer.as_str());
        assert!(ask(Method::GET, "/ui/", &[]));
        assert!(ask(Method::GET, "/sessions", &[page]));
        for path in ["/daemon/stop", "/daemon/token", "/hook", "/mcp"] {
            assert!(!ask(Method::POST, path, &[page]), "{path}");
        }
        assert!(!ask(Method::POST, "/ui/", &[]));
        assert!(!ask(Method::GET, "/uix", &[]));
        let foreign = ("sec-fetch-site", "cross-site");
        let opened = [
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ];
        let framed = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")];
        assert!(ask(Method::GET, "/ui/", &[foreign, opened[0], opened[1]]));
        assert!(!ask(Method::GET, "/ui/", &[foreign, framed[0], framed[1]]));
        assert!(!ask(Method::GET, "/ui/app.js", &[foreign]));
        assert!(!ask(
            Method::GET,
            "/sessions",
            &[page, foreign, opened[0], opened[1]]
        ));
    }

    #[test]
    fn after_a_burst_the_rest_waits_until_there_is_room() {
        let limits = HttpLimits {
            requests_per_second: 10.0,
            burst: 3.0,
            ..HttpLimits::default()
        };
        let start = Instant::now();
        let mut bucket = RateBucket {
            tokens: 3.0,
            refilled_at: start,
        };
        let mut taken = |ms: u64| bucket.take(start + Duration::from_millis(ms), &limits);
        assert_eq!(
            [taken(0), taken(0), taken(0), taken(0)],
            [true, true, true, false]
        );
        assert_eq!([taken(50), taken(150), taken(160)], [false, true, false]);
    }
}
