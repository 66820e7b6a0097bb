//! The knowledge capsules of a workspace: made from the store, listed, and searched.
//!
//! Everything is derived from stored records, facts, patterns and digests, never from files on the
//! disk, so that what was forgotten cannot come back. [`documents`] reads skills and instruction
//! files as sessions read them, [`sources`] everything else.

mod documents;
mod sources;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use learn::detect::{PatternCandidate, stored_candidates};
use memory::Tokens;
use memory::layers::{Capsule, CapsuleKind, CapsuleSource, capsule};
use serde::Serialize;
use store::Store;

use super::RequestError;

/// How many patterns of a workspace get a capsule.
const PATTERNS_MAX: usize = 200;

/// A capsule as it is listed: its index entry without the text.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
pub struct CapsuleEntry {
    /// Unique in the workspace
    pub id: String,
    /// `pattern`, `skill`, `configuration`, `preference` or `history`
    #[schema(value_type = String)]
    pub kind: CapsuleKind,
    /// The time of the latest source
    #[schema(value_type = String)]
    pub at: Timestamp,
    /// Patterns that occurred in the same sessions
    pub patterns: Vec<String>,
    pub summary: String,
    #[schema(value_type = u64)]
    pub tokens: Tokens,
    /// The size of what it was made of
    #[schema(value_type = u64)]
    pub original_tokens: Tokens,
    /// Its size relative to that, in percent
    pub percent: f64,
    /// How confident a search is that it has to do with the text, between 0 and 1
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// The text, if one capsule was asked for
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl CapsuleEntry {
    pub fn new(capsule: &Capsule) -> Self {
        Self {
            id: capsule.id(),
            kind: capsule.kind,
            at: capsule.at,
            patterns: capsule.patterns.clone(),
            summary: capsule.summary.clone(),
            tokens: capsule.tokens,
            original_tokens: capsule.original_tokens,
            percent: capsule.percent(),
            confidence: None,
            text: None,
        }
    }

    /// Returns the entry with the text of its capsule.
    #[must_use]
    pub fn with_text(self, capsule: &Capsule) -> Self {
        Self {
            text: Some(capsule.full_text()),
            ..self
        }
    }
}

/// Makes the capsules of a workspace again and returns them. Writes only what changed.
pub fn refresh_capsules(store: &Store, workspace: &str) -> store::Result<Vec<Capsule>> {
    let generation = store.card_generation()?;
    let mut patterns = stored_candidates(store)?;
    patterns.retain(|pattern| pattern.workspace.as_deref() == Some(workspace));
    patterns.truncate(PATTERNS_MAX);
    let mut made_from: Vec<_> = patterns.iter().map(sources::pattern_source).collect();
    made_from.extend(documents::document_sources(store, workspace)?);
    made_from.extend(sources::agent_sources(store, workspace)?);
    made_from.extend(sources::preference_source(store, workspace)?);
    made_from.extend(sources::history_source(store, workspace)?);
    let condense = |source: &CapsuleSource| {
        let is_near = |pattern: &&PatternCandidate| match source.kind {
            CapsuleKind::Pattern => pattern.id == source.name,
            _ => {
                let mut sessions = pattern.session_ids.iter();
                sessions.any(|session| source.sessions.contains(session))
            }
        };
        let near = patterns.iter().filter(is_near);
        let near: Vec<&str> = near.map(|pattern| pattern.name.as_str()).collect();
        Capsule::condense(source, &near)
    };
    let capsules = capsule::deduplicate(made_from.iter().filter_map(condense).collect());
    store.put_capsules(workspace, generation, capsules)?;
    store.capsules(workspace)
}

/// Makes the capsules of all workspaces again.
pub fn refresh_all_capsules(store: &Store, stopped: &dyn Fn() -> bool) -> store::Result<()> {
    for workspace in store.workspaces_matching("", usize::MAX)? {
        if stopped() {
            break;
        }
        refresh_capsules(store, &workspace.key)?;
    }
    Ok(())
}

/// Returns the capsule with an id, or the only one whose id or name begins with it.
pub fn find_capsule<'a>(capsules: &'a [Capsule], id: &str) -> Result<&'a Capsule, RequestError> {
    let exact = capsules.iter().find(|capsule| capsule.id() == id);
    let begins = |capsule: &&Capsule| capsule.id().starts_with(id) || capsule.name.starts_with(id);
    let mut matching = capsules.iter().filter(begins);
    match (exact, matching.next(), matching.next()) {
        (Some(capsule), ..) | (None, Some(capsule), None) => Ok(capsule),
        (None, Some(first), Some(_)) => Err(RequestError::invalid(
            format!("several capsules begin with {id:?}"),
            format!("give more of the id, such as {}", first.id()),
        )),
        (None, None, _) => Err(RequestError::not_found(
            format!("no capsule begins with {id:?}"),
            "`throughline stats --capsules` lists them",
        )),
    }
}

/// Returns the capsules that have to do with a text, the nearest first, as far as the gate is
/// confident of them.
pub fn search_capsules(
    store: &Store,
    workspace: &str,
    capsules: &[Capsule],
    text: &str,
    now: Timestamp,
) -> store::Result<Vec<CapsuleEntry>> {
    let hits = recall::find_near_capsules(store, workspace, capsules, text, now)?;
    let entry = |hit: &recall::CapsuleHit| {
        let capsule = capsules.get(hit.index)?;
        Some(CapsuleEntry {
            confidence: Some((hit.confidence * 1_000.0).round() / 1_000.0),
            ..CapsuleEntry::new(capsule)
        })
    };
    Ok(hits.iter().filter_map(entry).collect())
}
