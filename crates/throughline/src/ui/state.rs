//! What the UI shows: the input, the lists, the session that is open. No terminal and no store.

use std::time::Duration;

use jiff::tz::TimeZone;
use memory::{FactId, RecordId, RecordKind, SessionId};
use store::{FeedPosition, MarkFilter};

use super::input::TextInput;
use super::keys::{KeyMap, UiAction};
use super::marks::MarkInput;
use super::open_session::OpenSession;
use super::palette::Palette;
use super::patterns::PatternRequest;

/// A screen of the UI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Screen {
    Search,
    Session,
    Memory,
    Given,
    Usage,
    Keep,
    Patterns,
}

impl Screen {
    pub(super) const ALL: [Self; 7] = [
        Self::Search,
        Self::Session,
        Self::Memory,
        Self::Given,
        Self::Usage,
        Self::Keep,
        Self::Patterns,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Session => "session",
            Self::Memory => "memory",
            Self::Given => "given",
            Self::Usage => "usage",
            Self::Keep => "keep",
            Self::Patterns => "patterns",
        }
    }
}

/// How far a search reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// The workspace of the current folder.
    Here,
    /// This workspace and those that the configuration relates to it.
    Related,
    Everywhere,
}

impl Reach {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Here => "here",
            Self::Related => "related",
            Self::Everywhere => "everywhere",
        }
    }
}

/// Which records a search returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum HitTypes {
    /// Facts and all records.
    #[default]
    All,
    Prompts,
    Answers,
    Tools,
    Changes,
    Errors,
}

impl HitTypes {
    const ALL: [Self; 6] = [
        Self::All,
        Self::Prompts,
        Self::Answers,
        Self::Tools,
        Self::Changes,
        Self::Errors,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Prompts => "prompts",
            Self::Answers => "answers",
            Self::Tools => "tools",
            Self::Changes => "changes",
            Self::Errors => "errors",
        }
    }

    /// Returns the kinds of records, or none if every kind is meant.
    pub(super) const fn kinds(self) -> &'static [RecordKind] {
        match self {
            Self::All => &[],
            Self::Prompts => &[RecordKind::Prompt],
            Self::Answers => &[RecordKind::Assistant, RecordKind::Summary],
            Self::Tools => &[RecordKind::ToolUse, RecordKind::ToolResult],
            Self::Changes => &[RecordKind::Artifact],
            Self::Errors => &[RecordKind::Error],
        }
    }

    pub(super) fn next(self) -> Self {
        let at = Self::ALL.iter().position(|types| *types == self);
        Self::ALL[at.map_or(0, |at| (at + 1) % Self::ALL.len())]
    }
}

/// Which sessions are listed while nothing is searched for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ListedSessions {
    /// All that are not archived.
    #[default]
    All,
    Starred,
    Archived,
}

impl ListedSessions {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Starred => "starred",
            Self::Archived => "archived",
        }
    }

    pub(super) const fn next(self) -> Self {
        match self {
            Self::All => Self::Starred,
            Self::Starred => Self::Archived,
            Self::Archived => Self::All,
        }
    }

    pub(super) fn filter(self) -> MarkFilter {
        MarkFilter {
            starred: self == Self::Starred,
            archived: self == Self::Archived,
            ..MarkFilter::default()
        }
    }
}

/// What a row stands for, which decides what can be done with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RowTarget {
    Session(SessionId),
    Fact {
        id: FactId,
        pinned: bool,
    },
    Injection {
        name: String,
        session: Option<SessionId>,
    },
    Pattern {
        id: String,
        workspace: Option<String>,
        /// The session of each page of the preview.
        sessions: Vec<Option<SessionId>>,
    },
    /// A prompt that was given nothing, and its session.
    Silence(Option<SessionId>),
    /// A line of information.
    Note,
}

/// A row of a list, with the pages of its preview.
#[derive(Clone, Debug)]
pub(super) struct ListRow {
    pub(super) target: RowTarget,
    /// The columns, from left to right: agent or kind, age, workspace, title, count.
    pub(super) label: String,
    pub(super) age: String,
    pub(super) place: String,
    pub(super) title: String,
    pub(super) count: String,
    pub(super) pages: Vec<PreviewPage>,
}

/// A text to preview, such as a hit.
#[derive(Clone, Debug, Default)]
pub(super) struct PreviewPage {
    pub(super) heading: String,
    pub(super) text: String,
    pub(super) record: Option<RecordId>,
}

/// A list with a selected row.
#[derive(Debug, Default)]
pub(super) struct RowList {
    pub(super) rows: Vec<ListRow>,
    pub(super) selected: usize,
    /// The page of the selected row's preview.
    pub(super) page: usize,
    /// What the rows are, such as the number of hits.
    pub(super) note: String,
    /// How long the store took for them.
    pub(super) took: Option<Duration>,
    /// The question that the rows answer, and the latest that was asked.
    pub(super) answered: u64,
    pub(super) asked: u64,
    /// The latest question is the same as the one before it.
    pub(super) is_refresh: bool,
}

impl RowList {
    pub(super) fn row(&self) -> Option<&ListRow> {
        self.rows.get(self.selected)
    }

    pub(super) fn preview(&self) -> Option<&PreviewPage> {
        self.row()?.pages.get(self.page)
    }

    pub(super) fn is_pending(&self) -> bool {
        self.answered != self.asked
    }

    /// Replaces the rows by newer ones. What is selected stays so, wherever it stands now.
    pub(super) fn replace_rows(&mut self, rows: Vec<ListRow>) {
        let (selected, page) = (self.selected, self.page);
        let target = self.row().map(|row| row.target.clone());
        self.rows = rows;
        let is_selected = |row: &ListRow| Some(&row.target) == target.as_ref();
        let found = match self.rows.get(selected).is_some_and(is_selected) {
            true => Some(selected),
            false => self.rows.iter().position(is_selected),
        };
        self.select(found.unwrap_or(selected));
        let pages = self.row().map_or(0, |row| row.pages.len());
        if found.is_some() && page < pages {
            self.page = page;
        }
    }

    pub(super) fn select(&mut self, row: usize) {
        self.selected = row.min(self.rows.len().saturating_sub(1));
        self.page = 0;
    }
}

/// What lies over the screen.
#[derive(Debug)]
pub(super) enum Overlay {
    /// All keys, from this line on.
    Help {
        first: usize,
    },
    Palette(Palette),
    /// A name or tags of a session, as they are typed.
    Mark(MarkInput),
    /// A plan of what would be forgotten, which waits for `y`.
    Forget {
        plan: String,
        request: ForgetRequest,
    },
    /// A change of files, which waits for `y`.
    Pattern {
        text: String,
        request: PatternRequest,
        shown: String,
    },
}

/// What to forget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ForgetRequest {
    Session(SessionId),
    Record(RecordId),
    Fact(FactId),
}

/// Everything that the UI shows.
#[derive(Debug)]
pub(super) struct UiState {
    pub(super) keys: KeyMap,
    pub(super) screen: Screen,
    /// The screen that `Back` returns to from a session.
    pub(super) origin: Screen,
    pub(super) input: TextInput,
    pub(super) reach: Reach,
    pub(super) reaches: Vec<Reach>,
    pub(super) types: HitTypes,
    pub(super) sessions: ListedSessions,
    pub(super) search: RowList,
    pub(super) memory: RowList,
    pub(super) given: RowList,
    pub(super) usage: RowList,
    pub(super) keep: RowList,
    pub(super) patterns: RowList,
    pub(super) usage_group: usize,
    pub(super) session: Option<Box<OpenSession>>,
    /// The session whose preview was asked for last.
    pub(super) previewed: Option<SessionId>,
    /// An action on the results of a search that are still awaited.
    pub(super) deferred: Option<UiAction>,
    pub(super) overlay: Option<Overlay>,
    pub(super) notice: Option<String>,
    /// How far the store had been written when it was asked last.
    pub(super) feed_end: Option<FeedPosition>,
    /// An answer is slow, so the screen says that it is awaited.
    pub(super) is_slow: bool,
    pub(super) mouse: bool,
    pub(super) color: bool,
    pub(super) zone: TimeZone,
    /// Columns and rows.
    pub(super) size: (u16, u16),
}

impl UiState {
    pub(super) fn new(keys: KeyMap, reaches: Vec<Reach>, query: &str) -> Self {
        let mut input = TextInput::default();
        input.insert(query);
        Self {
            keys,
            screen: Screen::Search,
            origin: Screen::Search,
            input,
            reach: reaches.first().copied().unwrap_or(Reach::Everywhere),
            reaches,
            types: HitTypes::All,
            sessions: ListedSessions::All,
            search: RowList::default(),
            memory: RowList::default(),
            given: RowList::default(),
            usage: RowList::default(),
            keep: RowList::default(),
            patterns: RowList::default(),
            usage_group: 0,
            session: None,
            previewed: None,
            deferred: None,
            overlay: None,
            notice: None,
            feed_end: None,
            is_slow: false,
            mouse: false,
            color: true,
            zone: TimeZone::UTC,
            size: (80, 24),
        }
    }

    /// Returns the list of a screen; a session has none of its own.
    pub(super) fn list_of(&self, screen: Screen) -> &RowList {
        match screen {
            Screen::Search | Screen::Session => &self.search,
            Screen::Memory => &self.memory,
            Screen::Given => &self.given,
            Screen::Usage => &self.usage,
            Screen::Keep => &self.keep,
            Screen::Patterns => &self.patterns,
        }
    }

    pub(super) fn list_of_mut(&mut self, screen: Screen) -> &mut RowList {
        match screen {
            Screen::Search | Screen::Session => &mut self.search,
            Screen::Memory => &mut self.memory,
            Screen::Given => &mut self.given,
            Screen::Usage => &mut self.usage,
            Screen::Keep => &mut self.keep,
            Screen::Patterns => &mut self.patterns,
        }
    }

    pub(super) fn list(&self) -> &RowList {
        self.list_of(self.screen)
    }

    /// Returns the screen whose list is shown, or from which the open session was opened.
    pub(super) fn list_screen(&self) -> Screen {
        match self.screen {
            Screen::Session => self.origin,
            screen => screen,
        }
    }

    /// Returns whether letters are text.
    pub(super) fn is_typing(&self) -> bool {
        match self.screen {
            Screen::Search => true,
            Screen::Session => self.session.as_ref().is_some_and(|open| open.is_finding),
            _ => false,
        }
    }

    /// Returns whether the store has a question that it has not answered.
    pub(super) fn is_pending(&self) -> bool {
        self.list().is_pending()
    }

    /// Returns whether new records of the open session are shown.
    pub(super) fn is_following(&self) -> bool {
        let open = self.session.as_ref();
        self.screen == Screen::Session && open.is_some_and(|open| open.is_following)
    }

    /// Returns the session that is open or selected.
    pub(super) fn session_id(&self) -> Option<&SessionId> {
        if self.screen == Screen::Session {
            return self.session.as_ref().map(|open| &open.session.id);
        }
        match &self.list().row()?.target {
            RowTarget::Session(id) => Some(id),
            RowTarget::Injection { session, .. } | RowTarget::Silence(session) => session.as_ref(),
            RowTarget::Pattern { sessions, .. } => sessions.get(self.list().page)?.as_ref(),
            RowTarget::Fact { .. } | RowTarget::Note => None,
        }
    }

    /// Returns the record that is selected or previewed.
    pub(super) fn record_id(&self) -> Option<RecordId> {
        if self.screen == Screen::Session {
            let open = self.session.as_ref()?;
            return open.record(open.selected).map(|record| record.id);
        }
        self.list().preview()?.record
    }
}
