//! Routes for sharing a session: what was redacted in it, and the file itself.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::HttpState;
use super::extract::{PathId, QueryParams};
use super::problem::Problem;
use crate::requests::find::find_session;
use crate::requests::transcript::{TranscriptFormat, TranscriptOptions, write_transcript};
use crate::requests::{AccessScope, RequestError};

/// The most marks that are listed.
const MARKS_MAX: usize = 2_000;
/// The text on each side of a mark.
const CONTEXT_BYTES: usize = 60;
const MARK_OPEN: &str = "[redacted:";

/// A mark in place of a secret
#[derive(Debug, Serialize, ToSchema)]
struct RedactionMark {
    /// The position of its record
    n: usize,
    #[serde(rename = "type")]
    kind: &'static str,
    before: String,
    /// The mark itself; marks of the same secret are the same
    mark: String,
    after: String,
}

/// What a person should look at before sharing a session
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct RedactionReview {
    marks: Vec<RedactionMark>,
    /// There are more marks than are listed
    more: bool,
    /// The positions of records that may contain a secret which no rule knows
    sensitive: Vec<usize>,
    records: usize,
}

/// Every mark in a session with the text around it, to review before sharing
#[utoipa::path(get, path = "/sessions/{id}/redactions", tag = "sessions",
    params(("id" = String, Path, description = "The session's id or a unique prefix of it")),
    responses((status = 200, body = RedactionReview)))]
pub(super) async fn marks(
    State(state): State<HttpState>,
    PathId(id): PathId,
) -> Result<Json<RedactionReview>, Problem> {
    let review = state.run_blocking(move |context| {
        let session = find_session(&context.store, &AccessScope::unrestricted(), &id)?;
        let mut review = RedactionReview {
            marks: Vec::new(),
            more: false,
            sensitive: Vec::new(),
            records: 0,
        };
        context.store.each_record(&session.id, |record| {
            let n = review.records;
            review.records += 1;
            if memory::record::is_sensitive(&record.tags) {
                review.sensitive.push(n);
            }
            for (start, end) in find_marks(&record.content) {
                if review.marks.len() == MARKS_MAX {
                    review.more = true;
                    break;
                }
                review.marks.push(mark_in_context(
                    n,
                    record.kind.name(),
                    &record.content,
                    start,
                    end,
                ));
            }
        })?;
        Ok(review)
    });
    Ok(Json(review.await?))
}

/// Returns the byte ranges of the marks in a text.
fn find_marks(text: &str) -> Vec<(usize, usize)> {
    let end_of = |start: usize| text[start..].find(']').map(|len| (start, start + len + 1));
    let starts = text.match_indices(MARK_OPEN).map(|(start, _)| start);
    starts.filter_map(end_of).collect()
}

fn mark_in_context(
    n: usize,
    kind: &'static str,
    text: &str,
    start: usize,
    end: usize,
) -> RedactionMark {
    let from = text.floor_char_boundary(start.saturating_sub(CONTEXT_BYTES));
    let to = text.ceil_char_boundary((end + CONTEXT_BYTES).min(text.len()));
    RedactionMark {
        n,
        kind,
        before: text[from..start].to_owned(),
        mark: text[start..end].to_owned(),
        after: text[end..to].to_owned(),
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct TranscriptParams {
    /// `html` (the default) or `markdown`
    format: Option<String>,
    /// The positions of records to leave out, separated by commas
    leave_out: Option<String>,
}

/// A session as one readable file without script
#[utoipa::path(get, path = "/sessions/{id}/transcript", tag = "sessions",
    params(("id" = String, Path, description = "The session's id or a unique prefix of it"),
        TranscriptParams),
    responses((status = 200, content((String = "text/html"), (String = "text/markdown")))))]
pub(super) async fn transcript(
    State(state): State<HttpState>,
    PathId(id): PathId,
    QueryParams(params): QueryParams<TranscriptParams>,
) -> Result<Response, Problem> {
    let format = match params.format.as_deref().unwrap_or_default() {
        "" | "html" => TranscriptFormat::Html,
        "markdown" => TranscriptFormat::Markdown,
        other => {
            return Err(Problem::from(RequestError::invalid(
                format!("unknown format {other:?}"),
                "use html or markdown",
            )));
        }
    };
    let left_out = parse_positions(params.leave_out.as_deref())?;
    let written = state.run_blocking(move |context| {
        let session = find_session(&context.store, &AccessScope::unrestricted(), &id)?;
        let options = TranscriptOptions {
            format,
            zone: TimeZone::UTC,
            left_out,
        };
        let mut text = Vec::new();
        write_transcript(&context.store, &session, &options, &mut text).map_err(
            |error| match error {
                crate::requests::transcript::TranscriptError::Store(error) => error.into(),
                error => RequestError::invalid(error.to_string(), "try again"),
            },
        )?;
        Ok(text)
    });
    let media_type = match format {
        TranscriptFormat::Html => "text/html; charset=utf-8",
        TranscriptFormat::Markdown => "text/markdown; charset=utf-8",
    };
    let headers = [
        (header::CONTENT_TYPE, media_type),
        (header::CONTENT_DISPOSITION, "attachment"),
    ];
    Ok((headers, written.await?).into_response())
}

fn parse_positions(list: Option<&str>) -> Result<BTreeSet<usize>, RequestError> {
    let parts = list.unwrap_or_default().split(',');
    let numbers = parts.filter(|part| !part.is_empty()).map(str::parse);
    numbers.collect::<Result<_, _>>().map_err(|_| {
        RequestError::invalid(
            "`leave_out` is not a list of numbers",
            "separate the positions with commas",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_with_the_text_around_them() {
        let text = "key = [redacted:github-token:1f3a9c], ü [redacted:x:abcdef]";
        let found: Vec<_> = find_marks(text)
            .into_iter()
            .map(|(start, end)| mark_in_context(0, "prompt", text, start, end))
            .map(|mark| (mark.before, mark.mark, mark.after))
            .collect();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].0, "key = ");
        assert_eq!(found[1].1, "[redacted:x:abcdef]");
        assert_eq!(find_marks("[redacted:"), []);
    }

    #[test]
    fn positions_are_numbers() {
        assert_eq!(
            parse_positions(Some("3,1")).ok(),
            Some(BTreeSet::from([1, 3]))
        );
        assert!(parse_positions(Some("a")).is_err());
    }
}
