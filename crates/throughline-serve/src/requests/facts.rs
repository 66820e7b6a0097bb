//! Stores, pins and deletes facts.

use jiff::Timestamp;
use memory::{Fact, FactId, FactKind, SessionId, Trust, Workspace};
use store::forget::{ForgetReport, Selection};
use store::{FactFilter, FactOutcome, FactScope, NewFact, Store, StoredRecord};

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
    let text = check_text(&statement.text)?;
    check_tags(&statement.tags)?;
    Ok(store.remember(NewFact {
        text,
        workspace: statement.workspace,
        kind: statement.kind,
        tags: statement.tags,
        trust: statement.trust,
        pinned: statement.pinned,
        at: now,
        sources: Vec::new(),
    })?)
}

/// Returns a statement on one line, or an error if it is empty or too long.
fn check_text(text: &str) -> Result<String, RequestError> {
    let words: Vec<_> = text.split_whitespace().collect();
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
    Ok(words.join(" "))
}

fn check_tags(tags: &[String]) -> Result<(), RequestError> {
    if tags.len() > TAGS_MAX || tags.iter().any(|tag| tag.len() > TAG_BYTES_MAX) {
        return Err(RequestError::invalid(
            format!("a fact may have at most {TAGS_MAX} tags of at most {TAG_BYTES_MAX} bytes"),
            "remove some tags",
        ));
    }
    Ok(())
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
    let plan = store.plan_forget(&select_item(store, scope, id)?)?;
    Ok(store.forget(plan, now)?)
}

/// Selects a record or a fact to be forgotten.
pub fn select_item(
    store: &Store,
    scope: &AccessScope,
    id: &str,
) -> Result<Selection, RequestError> {
    match find_record(store, scope, id) {
        Ok(record) => Ok(Selection {
            records: vec![record.id],
            ..Selection::default()
        }),
        Err(RequestError::Store(error)) => Err(error.into()),
        Err(_) => match find_fact(store, scope, id) {
            Err(RequestError::NotFound { .. }) => Err(RequestError::not_found(
                format!("no record or fact has the id {id}"),
                "search returns the ids",
            )),
            fact => Ok(Selection {
                facts: vec![*fact?.id.as_bytes()],
                ..Selection::default()
            }),
        },
    }
}

/// Which facts to list, and from where on.
#[derive(Clone, Debug, Default)]
pub struct FactListing {
    /// A part of the workspace's key or folder.
    pub workspace: Option<String>,
    pub session: Option<SessionId>,
    pub tag: Option<String>,
    pub kind: Option<FactKind>,
    pub pinned: Option<bool>,
    /// Whether superseded facts are included.
    pub history: bool,
    /// The id of the last fact of the page before.
    pub cursor: Option<String>,
    pub limit: usize,
}

/// Returns a page of facts, and the cursor of the next page if there is one.
pub fn list_facts(
    store: &Store,
    listing: &FactListing,
) -> Result<(Vec<Fact>, Option<FactId>), RequestError> {
    // There are few facts, so all are read: a cursor stays valid when others come and go.
    let all = store.facts(&FactFilter {
        scope: match &listing.workspace {
            Some(part) => FactScope::Part(part.clone()),
            None => FactScope::All,
        },
        kind: listing.kind,
        history: listing.history,
        limit: usize::MAX,
    })?;
    let start = match &listing.cursor {
        None => 0,
        Some(cursor) => {
            let last = all.iter().position(|fact| fact.id.to_string() == *cursor);
            last.map(|last| last + 1).ok_or_else(|| {
                RequestError::invalid(
                    format!("{cursor:?} is not the cursor of a page"),
                    "list the facts again without `cursor`",
                )
            })?
        }
    };
    let mut page = Vec::new();
    for fact in all.into_iter().skip(start) {
        let has_tag = |tag: &String| fact.tags.iter().any(|own| own.eq_ignore_ascii_case(tag));
        let is_selected = listing.tag.as_ref().is_none_or(has_tag)
            && listing.pinned.is_none_or(|pinned| pinned == fact.pinned)
            && match &listing.session {
                Some(session) => store.is_fact_of_session(fact.id, session)?,
                None => true,
            };
        if !is_selected {
            continue;
        }
        if page.len() == listing.limit {
            let last = page.last().map(|last: &Fact| last.id);
            return Ok((page, last));
        }
        page.push(fact);
    }
    Ok((page, None))
}

/// Returns the facts that a fact replaced, directly or through others, the latest first.
pub fn fact_history(store: &Store, id: FactId) -> store::Result<Vec<Fact>> {
    let mut older: Vec<Fact> = store.facts(&FactFilter {
        scope: FactScope::All,
        kind: None,
        history: true,
        limit: usize::MAX,
    })?;
    older.retain(|fact| fact.superseded.is_some());
    let (mut history, mut ids) = (Vec::new(), vec![id]);
    while let Some(id) = ids.pop() {
        let (replaced, rest) = older
            .into_iter()
            .partition(|fact| fact.superseded == Some(id));
        older = rest;
        for fact in replaced {
            ids.push(fact.id);
            history.push(fact);
        }
    }
    history.sort_by_key(|fact: &Fact| std::cmp::Reverse(fact.seen));
    Ok(history)
}

/// What changes about a fact; the rest stays.
#[derive(Clone, Debug, Default)]
pub struct FactChange {
    pub text: Option<String>,
    pub tags: Option<Vec<String>>,
    pub kind: Option<FactKind>,
    pub pinned: Option<bool>,
}

/// Changes a fact and returns it. A new text is a new fact of the user, which replaces the old one.
pub fn change_fact(
    store: &Store,
    scope: &AccessScope,
    id: &str,
    change: FactChange,
    now: Timestamp,
) -> Result<Fact, RequestError> {
    let old = find_fact(store, scope, id)?;
    let text = match &change.text {
        Some(text) => check_text(text)?,
        None => old.text.clone(),
    };
    let tags = change.tags.unwrap_or_else(|| old.tags.clone());
    check_tags(&tags)?;
    let workspace = match &old.workspace {
        Some(key) => {
            let known = store.workspaces_matching(key, 20)?;
            known.into_iter().find(|workspace| workspace.key == *key)
        }
        None => None,
    };
    let changed = store.replace_fact(
        old.id,
        NewFact {
            workspace,
            kind: change.kind.unwrap_or(old.kind),
            trust: if text == old.text {
                old.trust
            } else {
                Trust::User
            },
            text,
            tags,
            pinned: change.pinned.unwrap_or(old.pinned),
            at: now,
            sources: old.sources,
        },
    )?;
    store.fact(changed)?.ok_or_else(|| {
        RequestError::not_found(format!("no fact has the id {id}"), "list the facts")
    })
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
