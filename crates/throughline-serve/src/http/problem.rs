//! Error responses in the format of RFC 9457.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::requests::RequestError;

/// An error, and what to do about it.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Problem {
    /// The kind of problem
    #[serde(rename = "type")]
    #[schema(example = "about:blank")]
    kind: &'static str,
    title: String,
    status: u16,
    detail: String,
    /// What to do about it
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    hint: Option<String>,
}

impl Problem {
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            kind: "about:blank",
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
            hint: None,
        }
    }

    pub fn with_hint(
        status: StatusCode,
        detail: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            hint: Some(hint.into()),
            ..Self::new(status, detail)
        }
    }

    pub fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    }
}

impl From<RequestError> for Problem {
    fn from(error: RequestError) -> Self {
        let status = match &error {
            RequestError::NotFound { .. } => StatusCode::NOT_FOUND,
            RequestError::Invalid { .. } => StatusCode::BAD_REQUEST,
            RequestError::NotAllowed { .. } => StatusCode::FORBIDDEN,
            RequestError::Store(error) if error.is_disk_full() => StatusCode::INSUFFICIENT_STORAGE,
            RequestError::Store(error) if error.is_read_only() => StatusCode::SERVICE_UNAVAILABLE,
            RequestError::Store(error) => {
                tracing::warn!(%error, "the request failed");
                StatusCode::INTERNAL_SERVER_ERROR
            }
        };
        Self {
            hint: error.hint().map(str::to_owned),
            ..Self::new(status, error.to_string())
        }
    }
}

impl From<store::Error> for Problem {
    fn from(error: store::Error) -> Self {
        RequestError::from(error).into()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_REQUEST);
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (status, body).into_response();
        let form = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, form);
        if matches!(
            status,
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS
        ) {
            let soon = HeaderValue::from_static("1");
            response.headers_mut().insert(header::RETRY_AFTER, soon);
        }
        response
    }
}

pub(super) async fn route_not_found() -> Problem {
    let hint = "GET /openapi.json lists the routes";
    Problem::with_hint(StatusCode::NOT_FOUND, "no such route", hint)
}

pub(super) async fn method_not_allowed() -> Problem {
    Problem::with_hint(
        StatusCode::METHOD_NOT_ALLOWED,
        "method not allowed for this route",
        "the Allow header lists the allowed methods",
    )
}
