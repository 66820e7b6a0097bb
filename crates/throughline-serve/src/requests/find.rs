//! Things by their names, as far as the asker may see them.

use memory::{Fact, RecordId, Session};
use store::{Store, StoredRecord};

use super::{Reach, Refused};

/// Sessions with one beginning that are looked at to see which is meant.
const NAMED_MAX: usize = 5;

/// Returns the one session whose id begins so. Of `abc` and `abc/agent-1`, the first is meant. The id
/// of a hit that is the digest of a session names that session.
pub fn the_session(store: &Store, reach: &Reach, prefix: &str) -> Result<Session, Refused> {
    if prefix.is_empty() {
        return Err(Refused::invalid("no session is named", "give its id"));
    }
    let of_digest = match prefix.parse::<RecordId>() {
        Ok(id) => store.session_of_digest(id)?,
        Err(_) => None,
    };
    let prefix = of_digest
        .as_ref()
        .map_or(prefix, |session| session.as_str());
    let mut named = store.sessions_named(prefix, NAMED_MAX)?;
    named.retain(|session| reach.sees(session.workspace.as_deref()));
    let is_it = |s: &Session| s.id.native() == prefix || s.id.as_str() == prefix;
    if let Some(exact) = named.iter().position(is_it) {
        return Ok(named.swap_remove(exact));
    }
    let Some(shortest) = named.first().map(|session| session.id.clone()) else {
        return Err(Refused::not_found(
            format!("no session begins with {prefix:?}"),
            "search names the sessions of its hits",
        ));
    };
    let is_part = |s: &Session| s.id.as_str().starts_with(shortest.as_str());
    if named.iter().all(is_part) {
        return Ok(named.swap_remove(0));
    }
    Err(Refused::invalid(
        format!("several sessions begin with {prefix:?}"),
        "give more of the id",
    ))
}

/// Returns the record with an id.
pub fn the_record(store: &Store, reach: &Reach, id: &str) -> Result<StoredRecord, Refused> {
    let id: RecordId = id.parse().map_err(|_| {
        Refused::invalid(
            format!("{id:?} is no record's id"),
            "a record's id has 32 hexadecimal digits",
        )
    })?;
    store
        .record(id)?
        .filter(|record| reach.sees(record.workspace.as_deref()))
        .ok_or_else(|| {
            Refused::not_found(format!("there is no record {id}"), "search gives the ids")
        })
}

/// Returns the one fact whose id begins so.
pub fn the_fact(store: &Store, reach: &Reach, prefix: &str) -> Result<Fact, Refused> {
    let is_id = prefix.len() >= 8 && prefix.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut named = if is_id {
        store.facts_named(prefix, 2)?
    } else {
        Vec::new()
    };
    named.retain(|fact| reach.sees_fact(fact.workspace.as_deref()));
    if named.len() > 1 {
        return Err(Refused::invalid(
            format!("several facts begin with {prefix:?}"),
            "give more of the id",
        ));
    }
    named.pop().ok_or_else(|| {
        Refused::not_found(
            format!("there is no fact {prefix:?}"),
            "a fact is named by at least eight digits of its id",
        )
    })
}
