//! A session that is open, and which of its records are shown.

use std::collections::BTreeSet;

use jiff::Timestamp;
use memory::{RecordId, RecordKind, Session};
use store::{SessionOutline, StoredRecord};

use super::input::TextInput;

/// Which records of a session are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimelineMode {
    All,
    Talk,
    Prompts,
}

impl TimelineMode {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Talk => "talk",
            Self::Prompts => "prompts",
        }
    }

    pub(super) const fn next(self) -> Self {
        match self {
            Self::All => Self::Talk,
            Self::Talk => Self::Prompts,
            Self::Prompts => Self::All,
        }
    }

    pub(super) const fn shows(self, kind: RecordKind) -> bool {
        match self {
            Self::All => true,
            Self::Talk => matches!(
                kind,
                RecordKind::Prompt | RecordKind::Assistant | RecordKind::Summary
            ),
            Self::Prompts => matches!(kind, RecordKind::Prompt),
        }
    }
}

/// A session, opened. Only a window of its records is held.
#[derive(Debug)]
pub(super) struct OpenSession {
    pub(super) session: Session,
    /// What the header shows besides the title.
    pub(super) summary: String,
    pub(super) outline: SessionOutline,
    pub(super) first: usize,
    pub(super) records: Vec<StoredRecord>,
    /// The position of the selected record in the session.
    pub(super) selected: usize,
    /// Lines of the selected record above the screen.
    pub(super) scroll: usize,
    pub(super) mode: TimelineMode,
    pub(super) unfolded: BTreeSet<usize>,
    pub(super) unfold_all: bool,
    /// The text that is searched for in the session, and the positions that have it.
    pub(super) find: TextInput,
    pub(super) is_finding: bool,
    pub(super) found: Vec<usize>,
    /// New records are shown as they are stored.
    pub(super) is_following: bool,
}

/// Where a session is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionPlace {
    Record(RecordId),
    Time(Timestamp),
    End,
}

/// A session that has grown: its outline, and the records at its end.
#[derive(Debug)]
pub(super) struct SessionGrowth {
    pub(super) outline: SessionOutline,
    pub(super) first: usize,
    pub(super) records: Vec<StoredRecord>,
}

impl OpenSession {
    pub(super) fn record(&self, position: usize) -> Option<&StoredRecord> {
        self.records.get(position.checked_sub(self.first)?)
    }

    pub(super) fn is_unfolded(&self, position: usize) -> bool {
        self.unfold_all != self.unfolded.contains(&position)
    }

    /// Returns the next position in a direction whose kind is wanted.
    pub(super) fn next_position(
        &self,
        from: usize,
        is_forward: bool,
        wanted: impl Fn(RecordKind) -> bool,
    ) -> Option<usize> {
        let kinds = &self.outline.kind;
        let is_wanted = |at: &usize| kinds.get(*at).is_some_and(|kind| wanted(*kind));
        if is_forward {
            (from.saturating_add(1)..kinds.len()).find(is_wanted)
        } else {
            (0..from.min(kinds.len())).rev().find(is_wanted)
        }
    }
}
