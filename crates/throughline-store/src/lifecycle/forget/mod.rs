//! Forgetting: removes text from every byte of the store and keeps it from coming back.
//!
//! [`select`] decides what is deleted and returns a plan that can be listed and refused. [`erase`]
//! deletes it in one transaction, with everything that was derived from it, and sets the tombstones
//! that keep it from coming back. [`traces`] then removes what a deletion leaves behind: terms in
//! the index, the write-ahead log, copies beside the store. A mark in that transaction makes the
//! next open go on where a crash stopped it. [`needles`] finds a text inside the archived logs,
//! [`files`] classifies the other files in the store's folder.
//!
//! A new table with captured text must be listed in [`erase`]; a test fails when one is missing.

mod erase;
mod files;
mod needles;
mod select;
#[cfg(test)]
mod tests;
pub(crate) mod traces;

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use memory::{Flavor, RecordId, RecordKind, Session, SessionId};
use serde::Serialize;

use crate::Store;
use crate::error::Result;
use crate::ingest::writer::CommitMode;

pub use self::files::{FileRole, ManagedFile, managed_files};
pub(crate) use self::needles::{LineNumbers, Needles, distinctive_words, json_strings, words_in};
pub use self::traces::Traces;

/// What the user asks to forget. Names are alternatives; all filters must match.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    pub records: Vec<RecordId>,
    /// Sessions, together with the subagents they started.
    pub sessions: Vec<SessionId>,
    pub facts: Vec<[u8; 16]>,
    /// A workspace's key, its last part, or one of its folders.
    pub workspace: Option<String>,
    /// Words that must all occur.
    pub query: Option<String>,
    pub flavor: Option<Flavor>,
    pub kinds: Vec<RecordKind>,
    pub before: Option<Timestamp>,
}

impl Selection {
    /// Returns whether the selection is empty. An empty selection must not mean everything.
    pub fn is_empty(&self) -> bool {
        self.names_nothing() && !self.has_filter()
    }

    fn names_nothing(&self) -> bool {
        self.records.is_empty() && self.sessions.is_empty() && self.facts.is_empty()
    }

    fn has_filter(&self) -> bool {
        self.workspace.is_some()
            || self.query.is_some()
            || self.flavor.is_some()
            || !self.kinds.is_empty()
            || self.before.is_some()
    }
}

/// The plan: what will be forgotten.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ForgetPlan {
    /// Sessions that are deleted as a whole.
    pub sessions: Vec<Session>,
    /// Records of sessions that stay, with the copies that forks made of them.
    pub records: Vec<PlannedRecord>,
    pub facts: Vec<PlannedFact>,
    /// The agents' own files that still hold the text. Throughline does not change them.
    pub sources: Vec<String>,
    #[serde(skip)]
    session_ids: Vec<i64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedRecord {
    #[serde(skip)]
    pub id: RecordId,
    /// The id that the program which submitted the record gave it, or else the record's.
    #[serde(rename = "id")]
    pub public_id: String,
    #[serde(rename = "type")]
    pub kind: RecordKind,
    pub at: Option<Timestamp>,
    pub session: SessionId,
    pub size_bytes: u64,
    pub copy: bool,
    /// The first line of the text.
    pub text: String,
    #[serde(skip)]
    row: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedFact {
    pub id: String,
    pub text: String,
    #[serde(skip)]
    key: Vec<u8>,
}

impl ForgetPlan {
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.records.is_empty() && self.facts.is_empty()
    }

    /// Returns the sessions whose summaries may repeat the text.
    fn told_of(&self) -> std::collections::BTreeSet<&SessionId> {
        let whole = self.sessions.iter().map(|session| &session.id);
        let parts = self.records.iter().map(|record| &record.session);
        whole.chain(parts).collect()
    }
}

/// The report of what was forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ForgetReport {
    pub sessions: usize,
    pub records: usize,
    pub facts: usize,
    /// Pieces of archived logs that were dropped or rewritten.
    pub archived_pieces: usize,
    /// Records and pieces of archived logs whose text was missing or unreadable. They are removed
    /// like the rest, but their text could not be searched for elsewhere.
    pub unreadable: usize,
    /// The agents' own files that still hold the text.
    pub sources: Vec<String>,
    pub traces: Traces,
    /// Copies of the store in its folder that held the text and were deleted.
    pub copies_removed: Vec<PathBuf>,
}

impl ForgetReport {
    fn add_blanked(&mut self, blanked: crate::texts::logs::BlankedPieces) {
        self.archived_pieces += blanked.pieces + blanked.unreadable;
        self.unreadable += blanked.unreadable;
    }
}

/// Forgets a selection within the caller's transaction.
pub(crate) fn erase_selected(
    tx: &rusqlite::Transaction<'_>,
    names: &mut crate::ingest::writer::WriterState,
    redactor: &redact::Redactor,
    selection: &Selection,
    now: Timestamp,
) -> Result<ForgetReport> {
    let doomed = select::plan(tx, selection)?;
    erase::erase(tx, names, redactor, &doomed, now)
}

impl Store {
    /// Returns what a selection would forget, without changing anything.
    pub fn plan_forget(&self, selection: &Selection) -> Result<ForgetPlan> {
        self.read(|connection| select::plan(connection, selection))
    }

    /// Forgets a plan. On return the text is in no byte of the store's folder, unless
    /// [`Traces::Waiting`] reports that another process still reads the old state. Then the next
    /// open finishes the work.
    pub fn forget(&self, doomed: ForgetPlan, now: Timestamp) -> Result<ForgetReport> {
        if doomed.is_empty() {
            return Ok(ForgetReport::default());
        }
        let sources = doomed.sources.clone();
        // Files are deleted first, so that a crash leaves no file that no row refers to.
        for session in doomed.told_of() {
            self.remove_summary(session)?;
        }
        let mut forgotten = self.erase(doomed, now)?;
        forgotten.sources = sources;
        let cleared = traces::remove_traces(&self.path, self.key.as_ref(), traces::READER_WAIT)?;
        forgotten.traces = cleared.traces;
        forgotten.copies_removed = cleared.copies_removed;
        Ok(forgotten)
    }

    /// The part of forgetting that is one transaction.
    fn erase(&self, doomed: ForgetPlan, now: Timestamp) -> Result<ForgetReport> {
        let redactor = self.redactor_handle();
        let doomed = Arc::new(doomed);
        let work = move |tx: &rusqlite::Transaction<'_>, names: &mut _| {
            erase::erase(tx, names, &redactor, &doomed, now)
        };
        self.writer()
            .submit(usize::MAX / 2, CommitMode::Immediate, work)
            .wait()
    }
}
