//! The facts a session is sure to hold, found without a model.
//!
//! [`stated`] finds what the user said for good: preferences, corrections, decisions. [`done`]
//! finds what was proved by doing: commands that work, tests that pass after a fix, commits.
//! Both would rather miss a fact than make one up. [`facts_pending`] is the stage: it looks at
//! sessions that have gone quiet and hands what it finds to the store, which merges.

pub mod done;
pub mod stated;

use jiff::{SignedDuration, Timestamp};
use memory::{FactKind, RecordId, RecordKind, SessionId, Trust, Workspace};
use serde::Serialize;
use store::{NewFact, Store, StoredRecord};

/// Most facts of one session.
pub const FACTS_MAX: usize = 10;
/// A session that did nothing for this long is looked at.
const QUIET: SignedDuration = SignedDuration::from_mins(15);
/// Sessions that one call looks at; the next call goes on.
const SESSIONS_MAX: usize = 10_000;
/// Records of one session that are looked at.
const RECORDS_MAX: usize = 20_000;

/// A fact that a session holds.
#[derive(Clone, Debug, PartialEq)]
pub struct ExtractedFact {
    pub kind: FactKind,
    pub text: String,
    pub trust: Trust,
    pub at: Option<Timestamp>,
    pub sources: Vec<RecordId>,
}

/// What the stage did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FactReport {
    pub sessions: usize,
    pub facts: usize,
    pub repeated: usize,
    pub superseded: usize,
    /// It was asked to stop before it was through.
    pub interrupted: bool,
}

/// Finds the facts of sessions that have gone quiet since they were last looked at.
pub fn extract_pending_facts(
    store: &Store,
    now: Timestamp,
    stop: &dyn Fn() -> bool,
) -> store::Result<FactReport> {
    let mut report = FactReport::default();
    let mut written = Vec::new();
    for (session, records) in store.sessions_to_scan_for_facts(now - QUIET, SESSIONS_MAX)? {
        if stop() {
            report.interrupted = true;
            break;
        }
        let facts = of_session(store, &session, now)?;
        report.sessions += 1;
        written.push(store.remember_session_facts(&session, records, facts));
    }
    store.flush()?;
    for ticket in written {
        for merged in ticket.wait()? {
            report.facts += usize::from(!merged.repeated);
            report.repeated += usize::from(merged.repeated);
            report.superseded += merged.superseded.len();
        }
    }
    Ok(report)
}

fn of_session(store: &Store, session: &SessionId, now: Timestamp) -> store::Result<Vec<NewFact>> {
    let mut records = Vec::new();
    store.each_record(session, |record| {
        let tells = matches!(
            record.kind,
            RecordKind::Prompt
                | RecordKind::ToolUse
                | RecordKind::ToolResult
                | RecordKind::Error
                | RecordKind::Artifact
        );
        if tells && !record.copy && records.len() < RECORDS_MAX {
            records.push(record);
        }
    })?;
    let Some(workspace) = fact_workspace(store, &records)? else {
        return Ok(Vec::new());
    };
    let facts = extract_session_facts(&records)
        .into_iter()
        .map(|sure| NewFact {
            workspace: Some(workspace.clone()),
            kind: sure.kind,
            text: sure.text,
            tags: Vec::new(),
            trust: sure.trust,
            pinned: false,
            at: sure.at.unwrap_or(now),
            sources: sure.sources,
        });
    Ok(facts.collect())
}

/// Returns where the facts of records hold. Facts without a workspace would hold everywhere, which a
/// session cannot know.
pub(crate) fn fact_workspace(
    store: &Store,
    records: &[StoredRecord],
) -> store::Result<Option<Workspace>> {
    let Some(key) = records.iter().find_map(|record| record.workspace.clone()) else {
        return Ok(None);
    };
    let root = store
        .workspaces_matching(&key, 20)?
        .into_iter()
        .find(|workspace| workspace.key == key)
        .map_or_else(|| key.clone(), |workspace| workspace.root);
    Ok(Some(Workspace { key, root }))
}

/// Returns the facts of a session's records: what the user stated first, then what was proved.
pub fn extract_session_facts(records: &[StoredRecord]) -> Vec<ExtractedFact> {
    let mut facts = Vec::new();
    for record in records {
        let typed = record.kind == RecordKind::Prompt && record.trust == Trust::User;
        if !typed {
            continue;
        }
        facts.extend(
            stated::statements(&record.content)
                .into_iter()
                .map(|(kind, text)| ExtractedFact {
                    kind,
                    text,
                    trust: Trust::User,
                    at: record.at,
                    sources: vec![record.id],
                }),
        );
    }
    facts.extend(done::proven_facts(records));
    let mut kept: Vec<ExtractedFact> = Vec::new();
    for fact in facts {
        if kept.len() < FACTS_MAX && !kept.iter().any(|other| other.text == fact.text) {
            kept.push(fact);
        }
    }
    kept
}
