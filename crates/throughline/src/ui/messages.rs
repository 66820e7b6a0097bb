//! The input and output of [`update`](super::update()): events, effects, requests and results.

use std::time::Duration;

use crossterm::event::KeyEvent;
use jiff::Timestamp;
use memory::{FactId, RecordId, SessionId, SessionMarks};
use store::{FeedPosition, InjectionVerdict, StoredRecord};

use super::marks::{MarkInput, MarkRequest, TypedMark};
use super::open_session::{OpenSession, SessionGrowth, SessionPlace};
use super::patterns::PatternRequest;
use super::state::{ForgetRequest, HitTypes, ListRow, ListedSessions, PreviewPage, Reach, Screen};
use crate::commands::resume::ResumeCommand;

/// Something that happened.
#[derive(Debug)]
pub(super) enum UiEvent {
    Key(KeyEvent),
    Paste(String),
    /// The mouse wheel, in rows.
    Wheel(isize),
    Resize(u16, u16),
    Answer(UiAnswer),
    /// A question has not been answered for a while.
    Slow,
    /// It is time to look for what other programs have written.
    Tick,
    /// A signal asks the program to end.
    Terminate,
}

/// What the store answered.
#[derive(Debug)]
pub(super) enum UiAnswer {
    Rows {
        screen: Screen,
        number: u64,
        rows: Vec<ListRow>,
        note: String,
        /// How long the store took.
        took: Option<Duration>,
    },
    Session(Box<OpenSession>),
    Records {
        session: SessionId,
        first: usize,
        records: Vec<StoredRecord>,
    },
    /// The end of a session that is followed, if it has grown.
    Followed {
        session: SessionId,
        growth: Option<SessionGrowth>,
    },
    Found {
        session: SessionId,
        text: String,
        positions: Vec<usize>,
    },
    /// How a session of the list ended.
    Preview {
        session: SessionId,
        pages: Vec<PreviewPage>,
    },
    ForgetPlan {
        plan: String,
        request: ForgetRequest,
    },
    /// What a decision or a distribution would change.
    PatternPlan {
        text: String,
        request: PatternRequest,
        /// Identifies the change.
        shown: String,
    },
    ResumeCommand {
        command: ResumeCommand,
        is_copied: bool,
    },
    /// How far the store has been written.
    FeedEnd(FeedPosition),
    /// A mark of a session, to be edited.
    TypeMark(MarkInput),
    Marked {
        session: SessionId,
        marks: SessionMarks,
        notice: String,
    },
    /// Something was changed, so the lists are read again.
    Changed(String),
    Failed(String),
}

/// What the loop does for the UI.
#[derive(Debug)]
pub(super) enum UiEffect {
    Ask(UiQuestion),
    Copy(String),
    Mouse(bool),
    Suspend,
    Quit,
    /// Leaves the screen and resumes a session.
    Resume(ResumeCommand),
}

/// A question for the store.
#[derive(Debug)]
pub(super) enum UiQuestion {
    /// The rows of a screen; `number` tells the answer to the latest question from older ones.
    Rows {
        screen: Screen,
        number: u64,
        query: String,
        reach: Reach,
        types: HitTypes,
        sessions: ListedSessions,
        group: usize,
    },
    Session {
        id: SessionId,
        at: SessionPlace,
    },
    /// The session in which a fact was said, at the record that says it.
    FactSource(FactId),
    /// A session that the given one started, the first after a time.
    Subagent {
        parent: SessionId,
        after: Option<Timestamp>,
    },
    /// New records, if there are more than `known`.
    Follow {
        session: SessionId,
        known: usize,
    },
    Records {
        session: SessionId,
        first: usize,
    },
    Find {
        session: SessionId,
        text: String,
    },
    Resume {
        id: SessionId,
        is_copied: bool,
    },
    Preview(SessionId),
    FeedEnd,
    TypeMark(SessionId, TypedMark),
    Mark(SessionId, MarkRequest),
    PinRecord(RecordId),
    PinFact {
        id: FactId,
        pinned: bool,
    },
    PlanForget(ForgetRequest),
    Forget(ForgetRequest),
    PlanPattern(PatternRequest),
    ChangePattern {
        request: PatternRequest,
        /// The change that the user saw.
        shown: Option<String>,
    },
    Verdict {
        name: String,
        verdict: InjectionVerdict,
    },
}
