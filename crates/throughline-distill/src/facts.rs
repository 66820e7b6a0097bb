//! Extracts facts from sessions by rules, without a model.
//!
//! [`stated`] finds lasting statements of the user: preferences, corrections, decisions.
//! [`proven`] finds what the commands of a session prove: a command that works, a test that passes
//! after a fix. Both prefer missing a fact to inventing one. The stages pass the facts to the
//! store, which merges them with the known ones: [`extract_ended_session`] reads a session as soon
//! as its agent reports the end of a turn or of the session, [`extract_pending_facts`] the sessions
//! that have become quiet without such a report.

pub mod proven;
pub mod stated;

use jiff::{SignedDuration, Timestamp};
use memory::{FactKind, RecordId, RecordKind, Session, SessionId, Trust, Workspace, command};
use serde::Serialize;
use store::{FactOutcome, NewFact, Store, StoredRecord};

/// The maximum number of facts of one session.
pub const FACTS_MAX: usize = 10;
/// A session whose agent reports no end is read once it has been inactive for this long.
const QUIET_FOR: SignedDuration = SignedDuration::from_mins(15);
/// The maximum number of sessions per run; the next run continues.
const SESSIONS_MAX: usize = 10_000;
/// The maximum number of records of one session that are read.
const RECORDS_MAX: usize = 20_000;

/// A fact that was found in a session.
#[derive(Clone, Debug, PartialEq)]
pub struct ExtractedFact {
    pub kind: FactKind,
    pub text: String,
    pub trust: Trust,
    pub at: Option<Timestamp>,
    pub sources: Vec<RecordId>,
}

/// The result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FactReport {
    pub sessions: usize,
    pub facts: usize,
    pub repeated: usize,
    pub superseded: usize,
    /// The run was stopped before it was complete.
    pub interrupted: bool,
}

impl FactReport {
    fn count(&mut self, merged: &[FactOutcome]) {
        for fact in merged {
            self.facts += usize::from(!fact.repeated);
            self.repeated += usize::from(fact.repeated);
            self.superseded += fact.superseded.len();
        }
    }
}

/// Extracts the facts of sessions that have become quiet since they were last read.
pub fn extract_pending_facts(
    store: &Store,
    now: Timestamp,
    stop: &dyn Fn() -> bool,
) -> store::Result<FactReport> {
    let mut report = FactReport::default();
    let mut written = Vec::new();
    for (session, records) in store.sessions_to_scan_for_facts(now - QUIET_FOR, SESSIONS_MAX)? {
        if stop() {
            report.interrupted = true;
            break;
        }
        let facts = session_facts(store, &session, now)?;
        report.sessions += 1;
        written.push(store.remember_session_facts(&session, records, facts));
    }
    store.flush()?;
    for ticket in written {
        report.count(&ticket.wait()?);
    }
    Ok(report)
}

/// Extracts the facts of a session at its end, unless it has not changed since it was last read.
pub fn extract_ended_session(
    store: &Store,
    session: &SessionId,
    now: Timestamp,
) -> store::Result<FactReport> {
    let mut report = FactReport::default();
    if let Some(records) = store.records_to_scan_for_facts(session)? {
        let facts = session_facts(store, session, now)?;
        let written = store.remember_session_facts(session, records, facts);
        store.flush()?;
        report.sessions = 1;
        report.count(&written.wait()?);
    }
    Ok(report)
}

/// Extracts and stores the facts of one session now.
pub fn extract_facts_of_session(
    store: &Store,
    session: &Session,
    now: Timestamp,
) -> store::Result<Vec<FactOutcome>> {
    let facts = session_facts(store, &session.id, now)?;
    let written = store.remember_session_facts(&session.id, session.records, facts);
    store.flush()?;
    written.wait()
}

fn session_facts(
    store: &Store,
    session: &SessionId,
    now: Timestamp,
) -> store::Result<Vec<NewFact>> {
    let mut records = Vec::new();
    store.each_record(session, |record| {
        let is_relevant = matches!(
            record.kind,
            RecordKind::Prompt
                | RecordKind::ToolUse
                | RecordKind::ToolResult
                | RecordKind::Error
                | RecordKind::Artifact
        );
        if is_relevant && !record.copy && records.len() < RECORDS_MAX {
            records.push(without_unread_text(record));
        }
    })?;
    let Some(workspace) = fact_workspace(store, &records)? else {
        return Ok(Vec::new());
    };
    let facts = extract_session_facts(&records)
        .into_iter()
        .map(|fact| NewFact {
            workspace: Some(workspace.clone()),
            kind: fact.kind,
            text: fact.text,
            tags: Vec::new(),
            trust: fact.trust,
            pinned: false,
            at: fact.at.unwrap_or(now),
            sources: fact.sources,
        });
    Ok(facts.collect())
}

/// Returns a record without the text that no fact is read from: the records of a long session are
/// in memory together.
fn without_unread_text(mut record: StoredRecord) -> StoredRecord {
    let text = &record.content;
    let is_shell = || record.tool.as_deref().is_some_and(command::is_shell_tool);
    let read = match record.kind {
        RecordKind::Prompt => &text[..text.floor_char_boundary(stated::PROMPT_BYTES_MAX + 1)],
        RecordKind::ToolUse if is_shell() => text,
        RecordKind::ToolResult | RecordKind::Error => proven::output_end(text),
        _ => "",
    };
    if read.len() < text.len() {
        record.content = read.to_owned();
    }
    record
}

/// Returns the workspace to which the facts of records apply. A fact without a workspace would
/// apply everywhere, which a single session cannot prove.
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

/// Returns the facts of a session's records: statements of the user first, then proven facts.
pub fn extract_session_facts(records: &[StoredRecord]) -> Vec<ExtractedFact> {
    let mut facts = Vec::new();
    for record in records {
        let is_typed = record.kind == RecordKind::Prompt && record.trust == Trust::User;
        if !is_typed {
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
    facts.extend(proven::proven_facts(records));
    let mut kept: Vec<ExtractedFact> = Vec::new();
    for fact in facts {
        if kept.len() < FACTS_MAX && !kept.iter().any(|other| other.text == fact.text) {
            kept.push(fact);
        }
    }
    kept
}
