//! Which sessions a model is asked about, which part of them it reads, and what becomes of its answer.

use jiff::{SignedDuration, Timestamp};
use memory::{Kind, RecordId, SessionId, Trust};
use serde::Serialize;
use store::{Ask, Asked, NewFact, Remembered, Store, StoredRecord, Work};
use thiserror::Error;

use super::{Drafts, PART_TOKENS_MAX, facts};
use crate::embedded::Step;
use crate::model::{Asker, Refused};
use crate::renew::{LIVE_FOR, TIME_MAX};
use crate::transcript::Transcript;

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
pub struct Report {
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
pub struct Found {
    pub merged: Vec<Remembered>,
    /// Why the others were left out.
    pub unfit: Vec<String>,
}

/// Why nothing was asked or kept.
#[derive(Debug, Error)]
pub enum Declined {
    #[error("the store does not know the session")]
    Unknown,
    #[error("nothing was said in the session that a model could read")]
    Nothing,
    #[error("somebody else has been asking since {since}")]
    Busy { since: Timestamp },
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// Asks about the sessions that have come to their end, or far enough, since a model was last asked.
pub fn facts_pending(
    store: &Store,
    asker: &Asker<'_>,
    now: Timestamp,
    stop: &dyn Fn() -> bool,
) -> store::Result<Report> {
    let mut report = Report::default();
    let sessions = store.sessions_to_ask(&Ask {
        since: now.saturating_sub(LIVE_FOR).unwrap_or(Timestamp::MIN),
        quiet_before: now.saturating_sub(QUIET).unwrap_or(Timestamp::MIN),
        least: RECORDS_MIN,
        enough: RECORDS_ENOUGH,
        limit: SESSIONS_MAX,
    })?;
    for (session, asked) in sessions {
        if stop() {
            report.interrupted = true;
            break;
        }
        match facts_of(store, asker, &session, asked) {
            Ok(found) => report.add(&found),
            // Who has just said no says it to the next session too, after as long a wait.
            Err(Declined::Refused(refused)) => {
                report.refused = Some(refused.to_string());
                break;
            }
            Err(Declined::Store(error)) => return Err(error),
            Err(declined) => tracing::debug!(%session, %declined, "not asked for facts"),
        }
    }
    Ok(report)
}

impl Report {
    fn add(&mut self, found: &Found) {
        self.sessions += 1;
        self.unfit += found.unfit.len();
        for merged in &found.merged {
            self.facts += usize::from(!merged.repeated);
            self.repeated += usize::from(merged.repeated);
            self.superseded += merged.superseded.len();
        }
    }
}

/// Asks about one session, from a time on or all of it, and keeps what the model says.
pub fn facts_of(
    store: &Store,
    asker: &Asker<'_>,
    session: &SessionId,
    since: Option<Timestamp>,
) -> Result<Found, Declined> {
    let asker = Asker {
        purpose: "facts",
        session: Some(session),
        ..*asker
    };
    let lease = match store.lease(session, Work::Facts, (asker.clock.now)())? {
        Asked::Granted(lease) => lease,
        Asked::Busy { since } => return Err(Declined::Busy { since }),
        Asked::Unknown => return Err(Declined::Unknown),
    };
    let deadline = lease.since.saturating_add(TIME_MAX).unwrap_or(lease.since);
    let found = ask(store, &asker, session, since, deadline);
    store.release(&lease)?;
    found
}

fn ask(
    store: &Store,
    asker: &Asker<'_>,
    session: &SessionId,
    since: Option<Timestamp>,
    deadline: Timestamp,
) -> Result<Found, Declined> {
    let part = Part::of(store, session, since)?;
    if part.transcript.is_empty() {
        return Err(Declined::Nothing);
    }
    let Some(workspace) = crate::facts::workspace(store, &part.read)? else {
        return Err(Declined::Nothing);
    };
    let Drafts { facts, unfit } = facts(asker, &part.transcript, deadline)?;
    let mut found = Found {
        unfit: unfit.iter().map(ToString::to_string).collect(),
        ..Found::default()
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
struct Part {
    transcript: Transcript,
    /// The records that were gathered, of which the transcript holds the last.
    read: Vec<StoredRecord>,
}

impl Part {
    fn of(store: &Store, session: &SessionId, since: Option<Timestamp>) -> store::Result<Self> {
        let mut part = Self {
            transcript: Transcript::brief(PART_TOKENS_MAX),
            read: Vec::new(),
        };
        store.each_record(session, |record| {
            let is_old = since.is_some_and(|since| record.at.is_some_and(|at| at <= since));
            if !is_old && !record.copy && tells(&record) {
                part.transcript.add(&Step::from(&record));
                part.read.push(record);
                // What fell out of the transcript is not held either.
                let fell_out = part.read.len() - part.transcript.parts();
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
        Kind::Prompt => !record.content.trim_start().starts_with('/'),
        Kind::Assistant | Kind::ToolUse | Kind::Error => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
