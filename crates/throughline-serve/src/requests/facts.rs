//! Facts that are stated, pinned and forgotten.

use jiff::Timestamp;
use memory::{FactKind, Trust, Workspace};
use store::forget::{ForgetReport, Selection};
use store::{FactOutcome, NewFact, Store, StoredRecord};

use super::find::{find_fact, find_record};
use super::{AccessScope, RequestError};

/// A statement to keep.
#[derive(Clone, Debug)]
pub struct RememberRequest {
    pub text: String,
    pub kind: FactKind,
    pub tags: Vec<String>,
    /// Where it holds; everywhere without one.
    pub workspace: Option<Workspace>,
    pub trust: Trust,
    pub pinned: bool,
}

/// Tags that one statement may have, and how long each may be.
const TAGS_MAX: usize = 16;
const TAG_BYTES_MAX: usize = 64;

/// Keeps a statement.
pub fn remember_fact(
    store: &Store,
    statement: RememberRequest,
    now: Timestamp,
) -> Result<FactOutcome, RequestError> {
    let words: Vec<_> = statement.text.split_whitespace().collect();
    if words.is_empty() {
        return Err(RequestError::invalid(
            "there is nothing to remember",
            "say it in a few words",
        ));
    }
    let max = memory::fact::WORDS_MAX;
    if words.len() > max {
        return Err(RequestError::invalid(
            format!("a fact has at most {max} words, this has {}", words.len()),
            "say it shorter, or in several facts",
        ));
    }
    let tags = &statement.tags;
    if tags.len() > TAGS_MAX || tags.iter().any(|tag| tag.len() > TAG_BYTES_MAX) {
        return Err(RequestError::invalid(
            format!("a fact has at most {TAGS_MAX} tags of {TAG_BYTES_MAX} bytes"),
            "leave some out",
        ));
    }
    Ok(store.remember(NewFact {
        text: words.join(" "),
        workspace: statement.workspace,
        kind: statement.kind,
        tags: statement.tags,
        trust: statement.trust,
        pinned: statement.pinned,
        at: now,
        sources: Vec::new(),
    })?)
}

/// Pins a fact, or a record's own words, and returns the fact's whole id.
pub fn pin_item(
    store: &Store,
    reach: &AccessScope,
    id: &str,
    now: Timestamp,
) -> Result<String, RequestError> {
    if id.len() == 32
        && let Ok(record) = find_record(store, reach, id)
    {
        let fact = fact_from_record(store, &record, now)?;
        return Ok(store.remember(fact)?.id.to_string());
    }
    let fact = find_fact(store, reach, id)?;
    store.set_pinned(fact.id, true)?;
    Ok(fact.id.to_string())
}

/// Lets a pinned fact be an ordinary one again.
pub fn unpin_fact(store: &Store, reach: &AccessScope, id: &str) -> Result<String, RequestError> {
    let fact = find_fact(store, reach, id)?;
    store.set_pinned(fact.id, false)?;
    Ok(fact.id.to_string())
}

/// Forgets a record or a fact for good.
pub fn forget_item(
    store: &Store,
    reach: &AccessScope,
    id: &str,
    now: Timestamp,
) -> Result<ForgetReport, RequestError> {
    let selection = match find_record(store, reach, id) {
        Ok(record) => Selection {
            records: vec![record.id],
            ..Selection::default()
        },
        Err(RequestError::Store(error)) => return Err(error.into()),
        Err(_) => Selection {
            facts: vec![*find_fact(store, reach, id)?.id.as_bytes()],
            ..Selection::default()
        },
    };
    let doomed = store.plan_forget(&selection)?;
    Ok(store.forget(doomed, now)?)
}

/// The record's own words, as many as a fact may have, with the trust that the record has.
fn fact_from_record(
    store: &Store,
    record: &StoredRecord,
    now: Timestamp,
) -> store::Result<NewFact> {
    let words = record.content.split_whitespace();
    let words: Vec<_> = words.take(memory::fact::WORDS_MAX).collect();
    let workspace = match &record.workspace {
        Some(key) => store.workspaces_matching(key, 5)?,
        None => Vec::new(),
    };
    Ok(NewFact {
        workspace: workspace
            .into_iter()
            .find(|known| Some(&known.key) == record.workspace.as_ref()),
        kind: FactKind::Note,
        text: words.join(" "),
        tags: record.tags.clone(),
        trust: record.trust,
        pinned: true,
        at: record.at.unwrap_or(now),
        sources: vec![record.id],
    })
}
