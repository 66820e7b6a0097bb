//! The stage that selects sessions, lets a model read a part of each, and stores its facts.

use jiff::{SignedDuration, Timestamp};
use memory::{RecordId, RecordKind, SessionId, Trust};
use serde::Serialize;
use store::{
    FactOutcome, FactSessionFilter, LeaseKind, LeaseOutcome, NewFact, Store, StoredRecord,
};
use thiserror::Error;

use super::{FactDrafts, PART_TOKENS_MAX, ask_for_facts};
use crate::model::{ModelSession, ModelUnavailable};
use crate::record_view::ExtractorRecord;
use crate::summary::{EXTRACTION_TIME_MAX, LIVE_WINDOW};
use crate::transcript::SessionTranscript;

/// A session that has been inactive for this long is finished.
const QUIET_FOR: SignedDuration = SignedDuration::from_mins(15);
/// A shorter session is not worth a request.
const RECORDS_MIN: u64 = 6;
/// A session with this many new records is read before it is finished.
const UNFINISHED_RECORDS_MIN: u64 = 400;
/// The maximum number of sessions per run; the next run continues.
const SESSIONS_MAX: usize = 8;

/// The result of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ModelFactReport {
    pub sessions: usize,
    pub facts: usize,
    pub repeated: usize,
    pub superseded: usize,
    /// The number of rejected drafts.
    pub unfit: usize,
    /// Why the model became unavailable during the run.
    pub refused: Option<String>,
    /// The run was stopped before it was complete.
    pub interrupted: bool,
}

/// The facts that a model stated about one session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelFacts {
    pub merged: Vec<FactOutcome>,
    /// The reasons for rejecting the others.
    pub rejected: Vec<String>,
}

/// Why no facts were extracted.
#[derive(Debug, Error)]
pub enum ModelFactError {
    #[error("unknown session")]
    UnknownSession,
    #[error("the session has nothing that a model could read")]
    NothingToRead,
    #[error("another process has been extracting facts since {since}")]
    Busy { since: Timestamp },
    #[error(transparent)]
    ModelUnavailable(#[from] ModelUnavailable),
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// Extracts facts from the sessions that were finished, or grew long enough, since the last run.
pub fn extract_pending_model_facts(
    store: &Store,
    model: &ModelSession<'_>,
    now: Timestamp,
    stop: &dyn Fn() -> bool,
) -> store::Result<ModelFactReport> {
    let mut report = ModelFactReport::default();
    let sessions = store.sessions_for_model_facts(&FactSessionFilter {
        since: now.saturating_sub(LIVE_WINDOW).unwrap_or(Timestamp::MIN),
        quiet_before: now.saturating_sub(QUIET_FOR).unwrap_or(Timestamp::MIN),
        new_records_min: RECORDS_MIN,
        live_new_records_min: UNFINISHED_RECORDS_MIN,
        limit: SESSIONS_MAX,
    })?;
    for (session, last_read) in sessions {
        if stop() {
            report.interrupted = true;
            break;
        }
        match extract_model_facts(store, model, &session, last_read) {
            Ok(stated) => report.add(&stated),
            // A model that just failed would fail for the next session too, after the same timeout.
            Err(ModelFactError::ModelUnavailable(refused)) => {
                report.refused = Some(refused.to_string());
                break;
            }
            Err(ModelFactError::Store(error)) => return Err(error),
            Err(declined) => tracing::debug!(%session, %declined, "no facts extracted"),
        }
    }
    Ok(report)
}

impl ModelFactReport {
    fn add(&mut self, stated: &ModelFacts) {
        self.sessions += 1;
        self.unfit += stated.rejected.len();
        for merged in &stated.merged {
            self.facts += usize::from(!merged.repeated);
            self.repeated += usize::from(merged.repeated);
            self.superseded += merged.superseded.len();
        }
    }
}

/// Extracts and stores the facts of one session, from a point in time on or of all of it.
pub fn extract_model_facts(
    store: &Store,
    model: &ModelSession<'_>,
    session: &SessionId,
    since: Option<Timestamp>,
) -> Result<ModelFacts, ModelFactError> {
    let model = ModelSession {
        purpose: "facts",
        session: Some(session),
        ..*model
    };
    let lease = match store.acquire_lease(session, LeaseKind::Facts, (model.clock.now)())? {
        LeaseOutcome::Granted(lease) => lease,
        LeaseOutcome::Busy { since } => return Err(ModelFactError::Busy { since }),
        LeaseOutcome::Unknown => return Err(ModelFactError::UnknownSession),
    };
    let deadline = lease
        .since
        .saturating_add(EXTRACTION_TIME_MAX)
        .unwrap_or(lease.since);
    let stated = ask_and_store(store, &model, session, since, deadline);
    store.release_lease(&lease)?;
    stated
}

fn ask_and_store(
    store: &Store,
    model: &ModelSession<'_>,
    session: &SessionId,
    since: Option<Timestamp>,
    deadline: Timestamp,
) -> Result<ModelFacts, ModelFactError> {
    let part = TranscriptPart::load(store, session, since)?;
    if part.transcript.is_empty() {
        return Err(ModelFactError::NothingToRead);
    }
    let Some(workspace) = crate::facts::fact_workspace(store, &part.read)? else {
        return Err(ModelFactError::NothingToRead);
    };
    let FactDrafts { facts, rejected } = ask_for_facts(model, &part.transcript, deadline)?;
    let mut stated = ModelFacts {
        rejected: rejected.iter().map(ToString::to_string).collect(),
        ..ModelFacts::default()
    };
    for draft in facts {
        stated.merged.push(store.remember(NewFact {
            workspace: Some(workspace.clone()),
            kind: draft.kind.into(),
            text: draft.text,
            tags: draft.tags,
            trust: Trust::Model,
            pinned: false,
            at: part.at().unwrap_or((model.clock.now)()),
            sources: part.sources(),
        })?);
    }
    Ok(stated)
}

/// The part of a session that a model reads.
struct TranscriptPart {
    transcript: SessionTranscript,
    /// The records that the transcript contains.
    read: Vec<StoredRecord>,
}

impl TranscriptPart {
    fn load(store: &Store, session: &SessionId, since: Option<Timestamp>) -> store::Result<Self> {
        let mut part = Self {
            transcript: SessionTranscript::with_short_parts(PART_TOKENS_MAX),
            read: Vec::new(),
        };
        store.each_record(session, |record| {
            let is_old = since.is_some_and(|since| record.at.is_some_and(|at| at <= since));
            if !is_old && !record.copy && is_informative(&record) {
                part.transcript.add(&ExtractorRecord::from(&record));
                part.read.push(record);
                // Records that no longer fit into the transcript are not sources of its facts.
                let fell_out = part.read.len() - part.transcript.part_count();
                part.read.drain(..fell_out);
            }
        })?;
        Ok(part)
    }

    fn sources(&self) -> Vec<RecordId> {
        self.read.iter().map(|record| record.id).collect()
    }

    fn at(&self) -> Option<Timestamp> {
        self.read.iter().rev().find_map(|record| record.at)
    }
}

/// Selects the records that the model reads: prompts, answers, calls and errors. Tool results are
/// long and untrusted, and slash commands are addressed to the agent program.
fn is_informative(record: &StoredRecord) -> bool {
    match record.kind {
        RecordKind::Prompt => !record.content.trim_start().starts_with('/'),
        RecordKind::Assistant | RecordKind::ToolUse | RecordKind::Error => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
