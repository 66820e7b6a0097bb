//! Extractors for requests, whose rejections are [`Problem`]s.

use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use jiff::Timestamp;
use serde::de::DeserializeOwned;

use super::problem::Problem;
use crate::requests::RequestError;

/// The query string of a URL.
#[derive(Debug)]
pub(super) struct QueryParams<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryParams<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = Query::<T>::from_request_parts(parts, state).await;
        let Query(params) =
            read.map_err(|why| Problem::new(StatusCode::BAD_REQUEST, why.body_text()))?;
        Ok(Self(params))
    }
}

/// The id in the path of a URL.
#[derive(Debug)]
pub(super) struct PathId(pub String);

impl<S: Send + Sync> FromRequestParts<S> for PathId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = Path::<String>::from_request_parts(parts, state).await;
        let Path(id) =
            read.map_err(|why| Problem::new(StatusCode::BAD_REQUEST, why.body_text()))?;
        Ok(Self(id))
    }
}

/// A JSON body.
#[derive(Debug)]
pub(super) struct JsonBody<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let read = axum::Json::<T>::from_request(request, state).await;
        let axum::Json(body) = read.map_err(|why| {
            let status = match &why {
                JsonRejection::MissingJsonContentType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
                JsonRejection::BytesRejection(why) => why.status(),
                _ => StatusCode::BAD_REQUEST,
            };
            Problem::new(status, why.body_text())
        })?;
        Ok(Self(body))
    }
}

/// Validates a limit: from 1 to `max`, `usual` if none is given.
pub(super) fn parse_limit(
    requested: Option<u32>,
    default: usize,
    max: usize,
) -> Result<usize, RequestError> {
    let requested = requested.map_or(default, |requested| {
        usize::try_from(requested).unwrap_or(usize::MAX)
    });
    if (1..=max).contains(&requested) {
        return Ok(requested);
    }
    Err(RequestError::invalid(
        format!("{requested} is not between 1 and {max}"),
        "request the rest separately",
    ))
}

/// Parses a time in RFC 3339, or a date.
pub(super) fn parse_time(text: Option<&str>) -> Result<Option<Timestamp>, RequestError> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let day = || format!("{text}T00:00:00Z").parse();
    let read = text.parse().or_else(|_| day());
    read.map(Some).map_err(|_| {
        RequestError::invalid(
            format!("{text:?} is not a valid time"),
            "use a form like 2026-01-05 or 2026-01-05T09:00:00Z",
        )
    })
}
