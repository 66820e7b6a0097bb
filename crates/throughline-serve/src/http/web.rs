//! Routes for the web page: its files, and the way in.
//!
//! `throughline web` asks over the socket for a ticket, which is valid once and for a minute, and
//! opens the page with it. The page exchanges the ticket for a token of its own, which it keeps in
//! the tab's session storage. There is no cookie, because browsers send cookies to every port of a
//! host. The files need no token, because they hold no data.

use axum::extract::{Path, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::HttpState;
use super::extract::JsonBody;
use super::guard::Transport;
use super::health::require_socket;
use super::problem::Problem;

/// The page may load its own files and talk to its own origin, and nothing else. With no policy
/// for trusted types, no text can become markup.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self'; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// The page itself, at the root of its paths. The files are no part of the API, so its description
/// leaves them out.
pub(super) async fn page() -> Response {
    file_response("")
}

/// A file of the page, or the page at the path of one of its screens.
pub(super) async fn file(Path(path): Path<String>) -> Response {
    file_response(&path)
}

/// The path of a screen that belongs to one session.
pub(super) async fn screen(Path(_): Path<(String, String)>) -> Response {
    file_response("")
}

fn file_response(path: &str) -> Response {
    let file = web::page_file(path);
    let fixed = HeaderValue::from_static;
    let headers = [
        (header::CONTENT_TYPE, fixed(file.content_type)),
        (header::CONTENT_SECURITY_POLICY, fixed(PAGE_POLICY)),
        (header::REFERRER_POLICY, fixed("no-referrer")),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            fixed("same-origin"),
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            fixed("same-origin"),
        ),
        (
            HeaderName::from_static("permissions-policy"),
            fixed("camera=(), geolocation=(), microphone=()"),
        ),
    ];
    (headers, file.bytes).into_response()
}

/// A ticket for the page
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PageTicket {
    /// Opens the page once, within a minute
    ticket: String,
    /// The port on loopback that serves the page
    port: u16,
}

/// Make a ticket for the page, and open a port if there is none. Accepted over the socket only.
#[utoipa::path(post, path = "/ui/ticket", tag = "page",
    responses((status = 200, body = PageTicket)))]
pub(super) async fn ticket(
    State(state): State<HttpState>,
    Extension(transport): Extension<Transport>,
) -> Result<Json<PageTicket>, Problem> {
    require_socket(transport, "`throughline web` opens the page")?;
    let port = state.open_port().await?;
    let ticket = state.guard.page_access.issue_ticket();
    Ok(Json(PageTicket {
        ticket: ticket.map_err(|error| Problem::internal(error.to_string()))?,
        port,
    }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TicketBody {
    ticket: String,
}

/// The page's own token
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PageToken {
    token: String,
}

/// Exchange a ticket for the page's own token
#[utoipa::path(post, path = "/ui/session", tag = "page", request_body = TicketBody,
    responses((status = 200, body = PageToken)))]
pub(super) async fn session(
    State(state): State<HttpState>,
    JsonBody(body): JsonBody<TicketBody>,
) -> Result<Json<PageToken>, Problem> {
    match state.guard.page_access.redeem(&body.ticket) {
        Ok(Some(token)) => Ok(Json(PageToken { token })),
        Ok(None) => Err(Problem::with_hint(
            StatusCode::UNAUTHORIZED,
            "the ticket is used or has expired",
            "run `throughline web` again",
        )),
        Err(error) => Err(Problem::internal(error.to_string())),
    }
}
