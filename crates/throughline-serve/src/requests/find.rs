//! Looks up sessions, records and facts by id or by a prefix of it, within a client's scope.

use memory::{Fact, RecordId, Session};
use store::{Store, StoredRecord};

use super::{AccessScope, RequestError};

/// The most sessions with the same prefix that are compared.
const MATCHES_MAX: usize = 5;

/// Returns the session with an id or a unique prefix of it. Of `abc` and `abc/agent-1`, the prefix
/// `abc` selects the first. The id of a hit that is a session's digest selects that session.
pub fn find_session(
    store: &Store,
    reach: &AccessScope,
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
    let mut named = store.sessions_by_prefix(prefix, MATCHES_MAX)?;
    named.retain(|session| reach.allows_workspace(session.workspace.as_deref()));
    let is_it = |s: &Session| s.id.native() == prefix || s.id.as_str() == prefix;
    if let Some(exact) = named.iter().position(is_it) {
        return Ok(named.swap_remove(exact));
    }
    let Some(shortest) = named.first().map(|session| session.id.clone()) else {
        return Err(RequestError::not_found(
            format!("no session begins with {prefix:?}"),
            "search names the sessions of its hits",
        ));
    };
    let is_part = |s: &Session| s.id.as_str().starts_with(shortest.as_str());
    if named.iter().all(is_part) {
        return Ok(named.swap_remove(0));
    }
    Err(RequestError::invalid(
        format!("several sessions begin with {prefix:?}"),
        "give more of the id",
    ))
}

/// Returns the record with an id.
pub fn find_record(
    store: &Store,
    reach: &AccessScope,
    id: &str,
) -> Result<StoredRecord, RequestError> {
    let id: RecordId = id.parse().map_err(|_| {
        RequestError::invalid(
            format!("{id:?} is not a record id"),
            "a record id has 32 hexadecimal digits",
        )
    })?;
    store
        .read_record(id)?
        .filter(|record| reach.allows_workspace(record.workspace.as_deref()))
        .ok_or_else(|| {
            RequestError::not_found(
                format!("no record has the id {id}"),
                "search returns the ids",
            )
        })
}

/// Returns the fact with a unique id prefix of at least eight digits.
pub fn find_fact(store: &Store, reach: &AccessScope, prefix: &str) -> Result<Fact, RequestError> {
    let is_id = prefix.len() >= 8 && prefix.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut named = if is_id {
        store.facts_by_prefix(prefix, 2)?
    } else {
        Vec::new()
    };
    named.retain(|fact| reach.allows_fact(fact.workspace.as_deref()));
    if named.len() > 1 {
        return Err(RequestError::invalid(
            format!("several facts begin with {prefix:?}"),
            "give more of the id",
        ));
    }
    named.pop().ok_or_else(|| {
        RequestError::not_found(
            format!("no fact begins with {prefix:?}"),
            "use at least eight digits of the fact's id; `throughline facts` lists them",
        )
    })
}
