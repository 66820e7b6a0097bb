//! Extractors for requests, whose rejections are [`Problem`]s.

use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::uri::InvalidUri;
use axum::http::{StatusCode, Uri};
use jiff::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::ToSchema;

use super::problem::Problem;
use crate::requests::RequestError;

/// The query string of a URL. An empty parameter counts as not given, except `dry_run`: a client
/// that names it must not delete anything because the value is missing.
#[derive(Debug)]
pub(super) struct QueryParams<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for QueryParams<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = parts.uri.query().unwrap_or_default().split('&');
        let given =
            query.filter(|pair| !pair.is_empty() && (!pair.ends_with('=') || *pair == "dry_run="));
        let given: Vec<_> = given.collect();
        let invalid = |why: String| Problem::new(StatusCode::BAD_REQUEST, why);
        let uri: Uri = format!("/?{}", given.join("&"))
            .parse()
            .map_err(|why: InvalidUri| invalid(why.to_string()))?;
        let Query(params) =
            Query::<T>::try_from_uri(&uri).map_err(|why| invalid(why.body_text()))?;
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
        format!("ask for at most {max} at a time"),
    ))
}

/// A time in a JSON body: milliseconds since 1970, or text as in [`parse_time`].
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub(super) enum TimeValue {
    Millis(i64),
    /// Some languages have no integers, and some clocks return fractions.
    Fraction(f64),
    Text(String),
}

impl TimeValue {
    pub(super) fn parse(&self) -> Result<Timestamp, RequestError> {
        match self {
            Self::Millis(millis) => parse_millis(*millis),
            Self::Fraction(millis) => parse_millis(whole_millis(*millis)),
            Self::Text(text) => parse_time(Some(text))?.ok_or_else(|| invalid_time(text)),
        }
    }
}

/// Drops the fraction of a millisecond.
#[allow(
    clippy::cast_possible_truncation,
    reason = "a number beyond the range becomes its end, which is no valid time"
)]
fn whole_millis(millis: f64) -> i64 {
    millis as i64
}

fn parse_millis(millis: i64) -> Result<Timestamp, RequestError> {
    Timestamp::from_millisecond(millis).map_err(|_| invalid_time(&millis.to_string()))
}

fn invalid_time(text: &str) -> RequestError {
    RequestError::invalid(
        format!("{text:?} is not a valid time"),
        "use milliseconds since 1970, or a form like 2026-01-05 or 2026-01-05T09:00:00Z",
    )
}

/// Parses a time in milliseconds since 1970 or in RFC 3339, or a date.
pub(super) fn parse_time(text: Option<&str>) -> Result<Option<Timestamp>, RequestError> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    if let Ok(millis) = text.parse() {
        return parse_millis(millis).map(Some);
    }
    let day = || format!("{text}T00:00:00Z").parse();
    let read = text.parse().or_else(|_| day());
    read.map(Some).map_err(|_| invalid_time(text))
}
