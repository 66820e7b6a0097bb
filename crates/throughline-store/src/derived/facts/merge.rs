//! Merges a new fact with the existing ones.

use std::collections::HashSet;

use memory::fact::{FactRelation, ParsedStatement};
use memory::{FactId, FactKind, Trust};
use rusqlite::{OptionalExtension, Transaction, params};
use serde::Serialize;

use super::{CleanFact, session_of};
use crate::derived::cards;
use crate::error::Result;
use crate::ingest::writer::WriterState;
use crate::records::workspaces;
use redact::CleanString;

/// The outcome of storing a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FactOutcome {
    /// The id of the fact, or of the older one with the same statement.
    pub id: FactId,
    /// True when the fact existed before.
    pub repeated: bool,
    /// The facts that it supersedes.
    pub superseded: Vec<FactId>,
}

/// An existing fact with the same scope as the new one.
struct ExistingFact {
    id: FactId,
    text: String,
    kind: FactKind,
    trust: Trust,
    pinned: bool,
}

pub(super) fn merge_fact(
    tx: &Transaction<'_>,
    writer: &mut WriterState,
    new: &CleanFact,
) -> Result<FactOutcome> {
    let workspace = match &new.workspace {
        Some((key, root)) => Some(workspaces::find_or_insert_workspace(tx, writer, key, root)?),
        None => None,
    };
    let existing = related_facts(tx, workspace, new)?;
    let statement = ParsedStatement::parse(new.text.as_str());
    let relations: Vec<_> = existing
        .iter()
        .map(|old| statement.relation(&ParsedStatement::parse(&old.text)))
        .collect();
    let repeated = relations
        .iter()
        .position(|relation| *relation == FactRelation::Repeats);
    let mut own = new.id;
    // A fact with the same words, which may be superseded, can say the opposite.
    let same_words = text_of(tx, own)?.map(|old| statement.relation(&ParsedStatement::parse(&old)));
    if same_words == Some(FactRelation::Contradicts) {
        own = own.in_other_order(new.text.as_str());
    }
    let known = if text_of(tx, own)?.is_some() {
        Some(own)
    } else {
        repeated.map(|at| existing[at].id)
    };
    let id = known.unwrap_or(own);
    match known {
        Some(id) => repeat(tx, id, new)?,
        None => insert(tx, workspace, id, new)?,
    }
    link(tx, id, new)?;
    let mut superseded = Vec::new();
    for (old, relation) in existing.iter().zip(relations) {
        let contrary = relation == FactRelation::Contradicts && old.id != id;
        if contrary && may_replace(new, old) {
            let sql = "UPDATE facts SET superseded = ?2 WHERE id = ?1";
            tx.prepare_cached(sql)?
                .execute([old.id.as_bytes(), id.as_bytes()])?;
            superseded.push(old.id);
        }
    }
    if !superseded.is_empty() {
        cards::forget_facts(tx)?;
    }
    Ok(FactOutcome {
        id,
        repeated: known.is_some(),
        superseded,
    })
}

/// A statement of the user is superseded only by another one of the user, a pinned fact by none.
fn may_replace(new: &CleanFact, old: &ExistingFact) -> bool {
    let is_allowed = old.kind != FactKind::Preference || new.trust == Trust::User;
    !old.pinned && is_allowed && new.trust >= old.trust
}

/// Returns the facts of the same scope that may repeat or contradict the new one.
fn related_facts(
    tx: &Transaction<'_>,
    workspace: Option<i64>,
    new: &CleanFact,
) -> Result<Vec<ExistingFact>> {
    let stems: HashSet<_> = new.words.split_whitespace().filter(|w| *w != "!").collect();
    let mut statement = tx.prepare_cached(
        "SELECT id, text, words, kind, trust, pinned FROM facts
         WHERE workspace IS ?1 AND superseded IS NULL",
    )?;
    let mut rows = statement.query([workspace])?;
    let mut existing = Vec::new();
    while let Some(row) = rows.next()? {
        let words = row.get_ref(2)?.as_str().unwrap_or_default();
        if !may_relate(&stems, words) {
            continue;
        }
        existing.push(ExistingFact {
            id: FactId::from_bytes(row.get(0)?),
            text: row.get(1)?,
            kind: super::lookup::kind(&row.get::<_, String>(3)?),
            trust: super::lookup::trust(row.get(4)?),
            pinned: row.get(5)?,
        });
    }
    Ok(existing)
}

/// Words of statements that prefer one thing to another.
const CHOOSING: &[&str] = &[
    "use", "prefer", "choos", "chos", "with", "switch", "mov", "migrat", "replac", "settl", "pick",
    "adopt",
];
/// Statements that share less of their words neither repeat nor contradict each other, unless both
/// state a preference.
const SHARED_MIN: f64 = 0.3;

/// A cheap filter: with thousands of facts, splitting each into words would take seconds.
fn may_relate(stems: &HashSet<&str>, words: &str) -> bool {
    let (mut shared, mut own, mut chooses) = (0_usize, 0_usize, false);
    for word in words.split_whitespace().filter(|word| *word != "!") {
        own += 1;
        shared += usize::from(stems.contains(word));
        chooses |= CHOOSING.contains(&word);
    }
    let both_choose = chooses && CHOOSING.iter().any(|word| stems.contains(word));
    let either = stems.len() + own - shared;
    both_choose || (shared > 0 && shared as f64 / either as f64 >= SHARED_MIN)
}

fn text_of(tx: &Transaction<'_>, id: FactId) -> Result<Option<String>> {
    Ok(tx
        .prepare_cached("SELECT text FROM facts WHERE id = ?1")?
        .query_row([id.as_bytes()], |row| row.get(0))
        .optional()?)
}

fn insert(tx: &Transaction<'_>, workspace: Option<i64>, id: FactId, new: &CleanFact) -> Result<()> {
    tx.prepare_cached(
        "INSERT INTO facts (id, workspace, kind, text, words, tags, trust, pinned, made, seen)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9)",
    )?
    .execute(params![
        id.as_bytes(),
        workspace,
        new.kind.name(),
        new.text.as_str(),
        new.words,
        new.tags.as_ref().map(CleanString::as_str),
        new.trust as i64,
        new.pinned,
        new.at.as_millisecond(),
    ])?;
    Ok(())
}

/// Counts a fact again, unless it comes from the same record. A superseded fact becomes current.
fn repeat(tx: &Transaction<'_>, id: FactId, new: &CleanFact) -> Result<()> {
    let mut statement =
        tx.prepare_cached("SELECT 1 FROM fact_sources WHERE fact = ?1 AND record = ?2")?;
    for record in &new.sources {
        if statement.exists(params![id.as_bytes(), record.as_bytes()])? {
            return Ok(());
        }
    }
    let preference = new.kind == FactKind::Preference && new.trust == Trust::User;
    tx.prepare_cached(
        "UPDATE facts SET times = times + 1, seen = max(seen, ?2), made = min(made, ?2),
            trust = max(trust, ?3), pinned = max(pinned, ?4), superseded = NULL,
            kind = CASE WHEN ?5 THEN 'preference' ELSE kind END
         WHERE id = ?1",
    )?
    .execute(params![
        id.as_bytes(),
        new.at.as_millisecond(),
        new.trust as i64,
        new.pinned,
        preference
    ])?;
    Ok(())
}

fn link(tx: &Transaction<'_>, id: FactId, new: &CleanFact) -> Result<()> {
    let sql = "INSERT OR IGNORE INTO fact_sources (fact, record, session) VALUES (?1, ?2, ?3)";
    for record in &new.sources {
        if let Some(session) = session_of(tx, *record)? {
            tx.prepare_cached(sql)?
                .execute(params![id.as_bytes(), record.as_bytes(), session])?;
        }
    }
    Ok(())
}
