//! Looks up sessions, records and facts by id or by a prefix of it, within a client's scope.

use memory::id::parse_uuid;
use memory::{Fact, RecordId, Session};
use store::{Store, StoredRecord};

use super::{AccessScope, RequestError};

/// The most sessions with the same prefix that are compared.
const MATCHES_MAX: usize = 5;

/// Returns the session with an id or a unique prefix of it. Of `abc` and `abc/agent-1`, the prefix
/// `abc` selects the first. The id of a hit that is a session's digest selects that session.
pub fn find_session(
    store: &Store,
    scope: &AccessScope,
    prefix: &str,
) -> Result<Session, RequestError> {
    if prefix.is_empty() {
        return Err(RequestError::invalid(
            "no session id given",
            "pass a session id or a unique prefix of it",
        ));
    }
    let of_digest = match prefix.parse::<RecordId>() {
        Ok(id) => store.session_of_digest(id)?,
        Err(_) => None,
    };
    let prefix = of_digest
        .as_ref()
        .map_or(prefix, |session| session.as_str());
    let mut matching = store.sessions_by_prefix(prefix, MATCHES_MAX)?;
    matching.retain(|session| scope.allows_workspace(session.workspace.as_deref()));
    let is_exact =
        |session: &Session| session.id.native() == prefix || session.id.as_str() == prefix;
    if let Some(exact) = matching.iter().position(is_exact) {
        return Ok(matching.swap_remove(exact));
    }
    let Some(shortest) = matching.first().map(|session| session.id.clone()) else {
        return Err(RequestError::not_found(
            format!("no session begins with {prefix:?}"),
            "`throughline sessions` lists them",
        ));
    };
    let is_subagent = |session: &Session| session.id.as_str().starts_with(shortest.as_str());
    if matching.iter().all(is_subagent) {
        return Ok(matching.swap_remove(0));
    }
    let ids: Vec<_> = matching.iter().map(|session| session.id.as_str()).collect();
    Err(RequestError::invalid(
        format!("several sessions begin with {prefix:?}"),
        format!("such as {}", ids.join(", ")),
    ))
}

/// Returns the record with an id.
pub fn find_record(
    store: &Store,
    scope: &AccessScope,
    id: &str,
) -> Result<StoredRecord, RequestError> {
    let submitted = match parse_uuid(id) {
        Some(uuid) => store.submitted_record(&uuid)?,
        None => None,
    };
    let digits = id.replace('-', "");
    let record: RecordId = match submitted {
        Some(record) => record,
        None => digits.parse().map_err(|_| {
            RequestError::invalid(
                format!("{id:?} is not a record id"),
                "a record id has 32 hexadecimal digits",
            )
        })?,
    };
    store
        .read_record(record)?
        .filter(|record| scope.allows_workspace(record.workspace.as_deref()))
        .ok_or_else(|| {
            RequestError::not_found(
                format!("no record has the id {id}"),
                "search returns the ids",
            )
        })
}

/// Returns the fact with a unique id prefix of at least eight digits.
pub fn find_fact(store: &Store, scope: &AccessScope, prefix: &str) -> Result<Fact, RequestError> {
    let is_id = prefix.len() >= 8 && prefix.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut matching = if is_id {
        store.facts_by_prefix(prefix, 2)?
    } else {
        Vec::new()
    };
    matching.retain(|fact| scope.allows_fact(fact.workspace.as_deref()));
    if matching.len() > 1 {
        return Err(RequestError::invalid(
            format!("several facts begin with {prefix:?}"),
            "use more digits of the id; `throughline facts --json` has the full ids",
        ));
    }
    matching.pop().ok_or_else(|| {
        RequestError::not_found(
            format!("no fact begins with {prefix:?}"),
            "use at least eight digits of the fact's id; `throughline facts` lists them",
        )
    })
}
