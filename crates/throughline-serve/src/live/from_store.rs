//! Builds the memory of a session from the store.

use std::collections::BTreeSet;

use jiff::Timestamp;
use memory::layers::{LayerRecord, SessionMemory};
use memory::{RecordKind, Session, SessionId, SessionKind};
use store::{Store, relative_path};

use super::restored::RestoredFiles;
use super::session::LiveSession;
use super::start::{EarlierWork, SessionOpening};

/// How many earlier sessions say which files belong together.
pub(super) const EARLIER_SESSIONS_MAX: usize = 200;
/// How many of the last records are read for the cards of files.
const RECENT_STEPS_MAX: usize = 400;
/// How many changes are read for them.
const CHANGES_MAX: usize = 20;
/// The tag of records that may hold a secret.
const SENSITIVE_TAG: &str = "sensitive";

/// Builds the whole memory of a session, except the records in `later`, which the caller adds.
pub(super) fn load_session(
    store: &Store,
    session: &Session,
    later: &BTreeSet<memory::RecordId>,
    now: Timestamp,
) -> store::Result<LiveSession> {
    let cwd = session.cwd.as_deref();
    let started = session.started.unwrap_or(now);
    let workspace = session.workspace.clone().unwrap_or_default();
    let earlier = EarlierWork::read(
        store,
        &session.id,
        &workspace,
        session.branch.clone(),
        started,
    )?;
    let mut memory = SessionMemory::default();
    memory.touches.branch.clone_from(&session.branch);
    if session.kind != SessionKind::Subagent {
        let interactions = earlier.continued_interactions(store)?;
        memory.working.continue_from(interactions, started);
    }
    let mut opening = SessionOpening::default();
    store.each_record(&session.id, |record| {
        if !later.contains(&record.id) {
            let at = record.at.unwrap_or(now);
            let read = record.layer_record(cwd);
            if memory.touches.files.is_empty() {
                opening.add(&record, read.is_sensitive);
            }
            memory.add(&read, at);
        }
    })?;
    for agent in store.subagents(&session.id)? {
        let title = agent.name_or_title().unwrap_or("untitled");
        let line = format!(
            "{title}: {} records, {} failures",
            agent.records, agent.errors
        );
        let at = agent.ended.or(agent.started).unwrap_or(now);
        memory.set_agent(
            agent.id.as_str(),
            &line,
            memory::RecordId::from_bytes([0; 16]),
            at,
        );
    }
    Ok(LiveSession {
        memory,
        workspace,
        cwd: session.cwd.clone(),
        kind: session.kind,
        parent: session.parent.clone(),
        title: session.name_or_title().map(str::to_owned),
        predictor: earlier.predictor(opening.hints()),
        opening,
        earlier,
        used_at: now,
    })
}

/// Returns the files that a compacted session gets back, without a daemon.
pub fn restored_files(
    store: &Store,
    session: &SessionId,
    workspace: &str,
    now: Timestamp,
) -> store::Result<RestoredFiles> {
    let memory = recent_memory(store, session, now)?;
    if memory.touches.files.is_empty() {
        return Ok(RestoredFiles::default());
    }
    let branch = memory.touches.branch.clone();
    let earlier = EarlierWork::read(store, session, workspace, branch, now)?;
    Ok(RestoredFiles::choose(&memory, &earlier.predictor(&[])))
}

/// Builds the file cards of a session from its last records. Only changes are read with their
/// texts, so that a hook stays within its deadline.
pub fn recent_memory(
    store: &Store,
    session: &SessionId,
    now: Timestamp,
) -> store::Result<SessionMemory> {
    let steps = store.last_steps(session, RECENT_STEPS_MAX)?;
    let cwd = store.session_folder(session)?.map(|(cwd, _)| cwd);
    let mut memory = SessionMemory::default();
    let changes = steps
        .iter()
        .rev()
        .filter(|step| step.kind == RecordKind::Artifact);
    let changes: BTreeSet<_> = changes.take(CHANGES_MAX).map(|step| step.id).collect();
    for step in &steps {
        let Some(path) = step.path.as_deref() else {
            continue;
        };
        let change = changes
            .contains(&step.id)
            .then(|| store.read_record(step.id));
        let change = change.transpose()?.flatten();
        let is_sensitive = change
            .as_ref()
            .is_some_and(|change| change.tags.iter().any(|tag| tag == SENSITIVE_TAG));
        let record = LayerRecord {
            id: step.id,
            kind: step.kind,
            at: step.at,
            tool: step.tool.as_deref(),
            path: Some(relative_path(path, cwd.as_deref())),
            call: step.call.as_deref(),
            exit_code: step.exit_code,
            is_sensitive,
            content: change.as_ref().map_or("", |change| change.content.as_str()),
        };
        memory.add(&record, step.at.unwrap_or(now));
    }
    // The counts are those of the whole session.
    memory.touches = store.session_touches(session)?;
    Ok(memory)
}
