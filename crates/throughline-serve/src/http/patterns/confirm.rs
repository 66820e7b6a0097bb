//! Tokens that connect a change of a file with the dry run that showed it.
//!
//! A token is the fingerprint of the change, salted with the id of the daemon's run. It is valid
//! while this daemon runs and the change stays the same.

use axum::http::StatusCode;

use crate::http::problem::Problem;

/// Rejects a change whose token is missing, or belongs to another change.
pub(super) fn check_token(expected: &str, given: Option<&str>) -> Result<(), Problem> {
    let why = match given {
        Some(given) if given == expected => return Ok(()),
        Some(_) => "the files or the evidence have changed since the dry run",
        None => "this changes a file and needs the token of its dry run",
    };
    let hint = "request the dry run, show it, and send its `confirm`";
    Err(Problem::with_hint(StatusCode::CONFLICT, why, hint))
}
