//! Which sessions a model is asked about, which part of them it reads, and what becomes of its answer.

use jiff::{SignedDuration, Timestamp};
use memory::{RecordId, RecordKind, SessionId, Trust};
use serde::Serialize;
use store::{
    FactOutcome, FactSessionFilter, LeaseKind, LeaseOutcome, NewFact, Store, StoredRecord,
};
use thiserror::Error;

use super::{FactDrafts, PART_TOKENS_MAX, ask_for_facts};
use crate::embedded::RecordView;
use crate::model::{ModelSession, ModelUnavailable};
use crate::renew::{EXTRACTION_TIME_MAX, LIVE_WINDOW};
use crate::transcript::SessionTranscript;

/// A session that did nothing for this long is at its end.
const QUIET: SignedDuration = SignedDuration::from_mins(15);
/// Shorter ones hold nothing that is worth a question.
const RECORDS_MIN: u64 = 6;
/// So much has happened that the end need not be waited for.
const RECORDS_ENOUGH: u64 = 400;
/// Sessions that one run asks about; the next goes on.
const SESSIONS_MAX: usize = 8;

/// What the stage did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ModelFactReport {
    pub sessions: usize,
    pub facts: usize,
    pub repeated: usize,
    pub superseded: usize,
    /// What the model said that is no fact.
    pub unfit: usize,
    /// Why no model was asked any more.
    pub refused: Option<String>,
    /// It was asked to stop before it was through.
    pub interrupted: bool,
}

/// What a model said of one session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelFacts {
    pub merged: Vec<FactOutcome>,
    /// Why the others were left out.
    pub rejected: Vec<String>,
}

/// Why nothing was asked or kept.
#[derive(Debug, Error)]
pub enum ModelFactError {
    #[error("the store does not know the session")]
    UnknownSession,
    #[error("nothing was said in the session that a model could read")]
    NothingToRead,
    #[error("somebody else has been asking since {since}")]
    Busy { since: Timestamp },
    #[error(transparent)]
    ModelUnavailable(#[from] ModelUnavailable),
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// Asks about the sessions that have come to their end, or far enough, since a model was last asked.
pub fn extract_pending_model_facts(
    store: &Store,
    asker: &ModelSession<'_>,
    now: Timestamp,
    stop: &dyn Fn() -> bool,
) -> store::Result<ModelFactReport> {
    let mut report = ModelFactReport::default();
    let sessions = store.sessions_for_model_facts(&FactSessionFilter {
        since: now.saturating_sub(LIVE_WINDOW).unwrap_or(Timestamp::MIN),
        quiet_before: now.saturating_sub(QUIET).unwrap_or(Timestamp::MIN),
        new_records_min: RECORDS_MIN,
        live_new_records_min: RECORDS_ENOUGH,
        limit: SESSIONS_MAX,
    })?;
    for (session, asked) in sessions {
        if stop() {
            report.interrupted = true;
            break;
        }
        match extract_model_facts(store, asker, &session, asked) {
            Ok(found) => report.add(&found),
            // Who has just said no says it to the next session too, after as long a wait.
            Err(ModelFactError::ModelUnavailable(refused)) => {
                report.refused = Some(refused.to_string());
                break;
            }
            Err(ModelFactError::Store(error)) => return Err(error),
            Err(declined) => tracing::debug!(%session, %declined, "not asked for facts"),
        }
    }
    Ok(report)
}

impl ModelFactReport {
    fn add(&mut self, found: &ModelFacts) {
        self.sessions += 1;
        self.unfit += found.rejected.len();
        for merged in &found.merged {
            self.facts += usize::from(!merged.repeated);
            self.repeated += usize::from(merged.repeated);
            self.superseded += merged.superseded.len();
        }
    }
}

/// Asks about one session, from a time on or all of it, and keeps what the model says.
pub fn extract_model_facts(
    store: &Store,
    asker: &ModelSession<'_>,
    session: &SessionId,
    since: Option<Timestamp>,
) -> Result<ModelFacts, ModelFactError> {
    let asker = ModelSession {
        purpose: "facts",
        session: Some(session),
        ..*asker
    };
    let lease = match store.acquire_lease(session, LeaseKind::Facts, (asker.clock.now)())? {
        LeaseOutcome::Granted(lease) => lease,
        LeaseOutcome::Busy { since } => return Err(ModelFactError::Busy { since }),
        LeaseOutcome::Unknown => return Err(ModelFactError::UnknownSession),
    };
    let deadline = lease
        .since
        .saturating_add(EXTRACTION_TIME_MAX)
        .unwrap_or(lease.since);
    let found = ask(store, &asker, session, since, deadline);
    store.release_lease(&lease)?;
    found
}

fn ask(
    store: &Store,
    asker: &ModelSession<'_>,
    session: &SessionId,
    since: Option<Timestamp>,
    deadline: Timestamp,
) -> Result<ModelFacts, ModelFactError> {
    let part = TranscriptPart::of(store, session, since)?;
    if part.transcript.is_empty() {
        return Err(ModelFactError::NothingToRead);
    }
    let Some(workspace) = crate::facts::fact_workspace(store, &part.read)? else {
        return Err(ModelFactError::NothingToRead);
    };
    let FactDrafts {
        facts,
        rejected: unfit,
    } = ask_for_facts(asker, &part.transcript, deadline)?;
    let mut found = ModelFacts {
        rejected: unfit.iter().map(ToString::to_string).collect(),
        ..ModelFacts::default()
    };
    for draft in facts {
        found.merged.push(store.remember(NewFact {
            workspace: Some(workspace.clone()),
            kind: draft.kind.into(),
            text: draft.text,
            tags: draft.tags,
            trust: Trust::Model,
            pinned: false,
            at: part.at().unwrap_or((asker.clock.now)()),
            sources: part.sources(),
        })?);
    }
    Ok(found)
}

/// What a model gets to read of a session.
struct TranscriptPart {
    transcript: SessionTranscript,
    /// The records that were gathered, of which the transcript holds the last.
    read: Vec<StoredRecord>,
}

impl TranscriptPart {
    fn of(store: &Store, session: &SessionId, since: Option<Timestamp>) -> store::Result<Self> {
        let mut part = Self {
            transcript: SessionTranscript::with_short_parts(PART_TOKENS_MAX),
            read: Vec::new(),
        };
        store.each_record(session, |record| {
            let is_old = since.is_some_and(|since| record.at.is_some_and(|at| at <= since));
            if !is_old && !record.copy && tells(&record) {
                part.transcript.add(&RecordView::from(&record));
                part.read.push(record);
                // What fell out of the transcript is not held either.
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

/// What tools returned is the least to be trusted and the longest; what was asked, said, run and what failed
/// tells enough. Commands to the agent program tell nothing.
fn tells(record: &StoredRecord) -> bool {
    match record.kind {
        RecordKind::Prompt => !record.content.trim_start().starts_with('/'),
        RecordKind::Assistant | RecordKind::ToolUse | RecordKind::Error => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
