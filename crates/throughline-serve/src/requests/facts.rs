//! Stores, pins and deletes facts.

use jiff::Timestamp;
use memory::{FactKind, Trust, Workspace};
use store::forget::{ForgetReport, Selection};
use store::{FactOutcome, NewFact, Store, StoredRecord};

use super::find::{find_fact, find_record};
use super::{AccessScope, RequestError};

/// A fact to store.
#[derive(Clone, Debug)]
pub struct RememberRequest {
    pub text: String,
    pub kind: FactKind,
    pub tags: Vec<String>,
    /// The workspace that it is about; `None` for a fact that applies everywhere.
    pub workspace: Option<Workspace>,
    pub trust: Trust,
    pub pinned: bool,
}

/// The most tags of one fact, and the longest tag.
const TAGS_MAX: usize = 16;
const TAG_BYTES_MAX: usize = 64;

/// Stores a fact.
pub fn remember_fact(
    store: &Store,
    statement: RememberRequest,
    now: Timestamp,
) -> Result<FactOutcome, RequestError> {
    let words: Vec<_> = statement.text.split_whitespace().collect();
    if words.is_empty() {
        return Err(RequestError::invalid(
            "the text is empty",
            "pass a statement of a few words",
        ));
    }
    let max = memory::fact::WORDS_MAX;
    if words.len() > max {
        return Err(RequestError::invalid(
            format!(
                "a fact may have at most {max} words; this one has {}",
                words.len()
            ),
            "shorten it, or split it into several facts",
        ));
    }
    let tags = &statement.tags;
    if tags.len() > TAGS_MAX || tags.iter().any(|tag| tag.len() > TAG_BYTES_MAX) {
        return Err(RequestError::invalid(
            format!("a fact may have at most {TAGS_MAX} tags of at most {TAG_BYTES_MAX} bytes"),
            "remove some tags",
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

/// Pins a fact, or the text of a record as a new fact, and returns the fact's full id.
pub fn pin_item(
    store: &Store,
    scope: &AccessScope,
    id: &str,
    now: Timestamp,
) -> Result<String, RequestError> {
    if id.len() == 32
        && let Ok(record) = find_record(store, scope, id)
    {
        let fact = fact_from_record(store, &record, now)?;
        return Ok(store.remember(fact)?.id.to_string());
    }
    let fact = find_fact(store, scope, id)?;
    store.set_pinned(fact.id, true)?;
    Ok(fact.id.to_string())
}

/// Unpins a fact and returns its full id.
pub fn unpin_fact(store: &Store, scope: &AccessScope, id: &str) -> Result<String, RequestError> {
    let fact = find_fact(store, scope, id)?;
    store.set_pinned(fact.id, false)?;
    Ok(fact.id.to_string())
}

/// Permanently deletes a record or a fact.
pub fn forget_item(
    store: &Store,
    scope: &AccessScope,
    id: &str,
    now: Timestamp,
) -> Result<ForgetReport, RequestError> {
    let selection = match find_record(store, scope, id) {
        Ok(record) => Selection {
            records: vec![record.id],
            ..Selection::default()
        },
        Err(RequestError::Store(error)) => return Err(error.into()),
        Err(_) => Selection {
            facts: vec![*find_fact(store, scope, id)?.id.as_bytes()],
            ..Selection::default()
        },
    };
    let plan = store.plan_forget(&selection)?;
    Ok(store.forget(plan, now)?)
}

/// Builds a pinned fact from the first words of a record, with the trust of the record.
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
