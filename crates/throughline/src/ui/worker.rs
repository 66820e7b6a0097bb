//! Answers the questions of the UI from the store, on a thread of its own. Only the latest question
//! about a list counts: what was typed before it is dropped unanswered.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Instant;

use memory::{FactId, SessionId};
use serve::requests::{self, AccessScope};
use store::Store;
use store::forget::Selection;

use super::actions::WINDOW;
use super::input::TextInput;
use super::messages::{UiAnswer, UiEvent, UiQuestion};
use super::open_session::{OpenSession, SessionGrowth, SessionPlace, TimelineMode};
use super::state::{ForgetRequest, Reach, Screen};
use super::{marks, patterns, reports, rows};
use crate::commands::sessions::{format_tokens, session_label};
use crate::commands::{App, forget, resume, show, usage};
use crate::output::table::count;

/// The positions of a text in a session that are kept.
const FOUND_MAX: usize = 1000;

/// The columns at both sides of a box over the screen.
const BOX_EDGE_COLUMNS: usize = 8;

/// The store as the UI asks it.
#[derive(Debug)]
pub(super) struct Worker<'a> {
    pub(super) app: &'a App<'a>,
    pub(super) store: &'a Store,
    here: AccessScope,
    related: AccessScope,
}

impl<'a> Worker<'a> {
    pub(super) fn new(app: &'a App<'a>, store: &'a Store) -> anyhow::Result<Self> {
        let settings = app.serve_settings();
        let folder = &app.environment.cwd;
        let related = AccessScope::for_folder(store, &settings, folder)?;
        let alone = serve::ServeSettings {
            related_workspaces: Default::default(),
            ..settings
        };
        Ok(Self {
            app,
            store,
            here: AccessScope::for_folder(store, &alone, folder)?,
            related,
        })
    }

    /// Returns how far searches can reach from this folder, the first one first. A folder without
    /// sessions has nothing to find.
    pub(super) fn reaches(&self) -> anyhow::Result<Vec<Reach>> {
        let keys = |scope: &AccessScope| scope.workspace_keys().map_or(0, <[String]>::len);
        let has_sessions =
            !requests::sessions::latest_sessions(self.store, &self.here, 1)?.is_empty();
        let mut reaches = Vec::new();
        if has_sessions {
            reaches.push(Reach::Here);
        }
        if keys(&self.related) > keys(&self.here) {
            reaches.push(Reach::Related);
        }
        reaches.push(Reach::Everywhere);
        Ok(reaches)
    }

    pub(super) fn scope(&self, reach: Reach) -> AccessScope {
        match reach {
            Reach::Here => self.here.clone(),
            Reach::Related => self.related.clone(),
            Reach::Everywhere => AccessScope::unrestricted(),
        }
    }

    /// Answers questions until the UI ends.
    pub(super) fn run(&self, questions: &Receiver<UiQuestion>, events: &Sender<UiEvent>) {
        let mut waiting = VecDeque::new();
        while let Ok(first) = questions.recv() {
            waiting.push_back(first);
            while let Some(question) = {
                waiting.extend(questions.try_iter());
                waiting.pop_front()
            } {
                if waiting.iter().any(|newer| replaces(newer, &question)) {
                    continue;
                }
                let start = Instant::now();
                let mut answer = self
                    .answer(question)
                    .unwrap_or_else(|error| UiAnswer::Failed(format!("{error:#}")));
                if let UiAnswer::Rows { took, .. } = &mut answer {
                    *took = Some(start.elapsed());
                }
                if events.send(UiEvent::Answer(answer)).is_err() {
                    return;
                }
            }
        }
    }

    pub(super) fn answer(&self, question: UiQuestion) -> anyhow::Result<UiAnswer> {
        let now = self.app.environment.clock();
        Ok(match question {
            UiQuestion::Rows {
                screen,
                number,
                query,
                reach,
                types,
                sessions,
                group,
            } => {
                let (rows, note) = match screen {
                    Screen::Search | Screen::Session if query.trim().is_empty() => {
                        rows::session_rows(self, reach, sessions)?
                    }
                    Screen::Search | Screen::Session => rows::hit_rows(self, &query, reach, types)?,
                    Screen::Memory => rows::fact_rows(self, reach)?,
                    Screen::Given => reports::injection_rows(self)?,
                    Screen::Usage => reports::usage_rows(self, group)?,
                    Screen::Keep => reports::keep_rows(self)?,
                    Screen::Patterns => patterns::pattern_rows(self)?,
                };
                UiAnswer::Rows {
                    screen,
                    number,
                    rows,
                    note,
                    took: None,
                }
            }
            UiQuestion::Session { id, at } => {
                UiAnswer::Session(Box::new(self.open_session(&id, at)?))
            }
            UiQuestion::FactSource(id) => self.open_fact_source(id)?,
            UiQuestion::Subagent { parent, after } => {
                let mut started = self.store.subagents(&parent)?;
                started.retain(|session| session.records > 0);
                let next = started.iter().find(|session| session.started >= after);
                match next.or(started.last()) {
                    Some(session) => {
                        let start = session
                            .started
                            .map_or(SessionPlace::End, SessionPlace::Time);
                        UiAnswer::Session(Box::new(self.open_session(&session.id, start)?))
                    }
                    None => UiAnswer::Failed("This session started no subagent.".to_owned()),
                }
            }
            UiQuestion::Follow { session, known } => UiAnswer::Followed {
                growth: self.growth(&session, known)?,
                session,
            },
            UiQuestion::Records { session, first } => UiAnswer::Records {
                records: self.store.timeline(&session, first, WINDOW)?,
                session,
                first,
            },
            UiQuestion::Find { session, text } => UiAnswer::Found {
                positions: self.find(&session, &text)?,
                session,
                text,
            },
            UiQuestion::Preview(session) => UiAnswer::Preview {
                pages: rows::ending_pages(self, &session)?,
                session,
            },
            UiQuestion::Resume { id, is_copied } => UiAnswer::ResumeCommand {
                command: resume::plan_resume(self.store, id.as_str())?,
                is_copied,
            },
            UiQuestion::FeedEnd => UiAnswer::FeedEnd(self.store.feed_end()?),
            UiQuestion::TypeMark(session, mark) => marks::read(self, session, mark)?,
            UiQuestion::Mark(session, request) => marks::change(self, session, &request)?,
            UiQuestion::PinRecord(id) => {
                let everything = AccessScope::unrestricted();
                let pinned =
                    requests::facts::pin_item(self.store, &everything, &id.to_string(), now);
                let fact = pinned.map_err(show::request_error)?;
                UiAnswer::Changed(format!("Pinned as fact {}.", &fact[..8.min(fact.len())]))
            }
            UiQuestion::PinFact { id, pinned } => {
                self.store.set_pinned(id, pinned)?;
                let verb = if pinned { "Pinned" } else { "Unpinned" };
                UiAnswer::Changed(format!("{verb} {}.", id.short()))
            }
            UiQuestion::PlanForget(request) => {
                let plan = self.store.plan_forget(&selection(&request))?;
                UiAnswer::ForgetPlan {
                    plan: forget::format_plan(self.app, self.store, &plan, self.box_columns())?,
                    request,
                }
            }
            UiQuestion::Forget(request) => {
                let plan = self.store.plan_forget(&selection(&request))?;
                let report = self.store.forget(plan, now)?;
                UiAnswer::Changed(format!(
                    "Forgot {}, {} and {}.",
                    count(report.sessions, "session"),
                    count(report.records, "record"),
                    count(report.facts, "fact"),
                ))
            }
            UiQuestion::PlanPattern(request) => patterns::plan(self, request)?,
            UiQuestion::ChangePattern { request, shown } => {
                patterns::change(self, &request, shown.as_deref())?
            }
            UiQuestion::Verdict { name, verdict } => {
                self.store.set_verdict(&name, verdict)?;
                UiAnswer::Changed(format!("Rated injection {name}."))
            }
        })
    }

    /// Returns how wide a text over the screen may be.
    fn box_columns(&self) -> Option<usize> {
        let columns = self.app.columns()?;
        Some(columns.saturating_sub(BOX_EDGE_COLUMNS))
    }

    /// Returns the end of a session that has more records than are known.
    fn growth(&self, session: &SessionId, known: usize) -> anyhow::Result<Option<SessionGrowth>> {
        let length = self.store.timeline_length(session)?;
        if length <= known {
            return Ok(None);
        }
        let first = length.saturating_sub(WINDOW);
        Ok(Some(SessionGrowth {
            outline: self.store.outline(session)?,
            first,
            records: self.store.timeline(session, first, WINDOW)?,
        }))
    }

    /// Opens the session in which a fact was said, at the first record that says it.
    fn open_fact_source(&self, id: FactId) -> anyhow::Result<UiAnswer> {
        let sources = self
            .store
            .fact(id)?
            .map_or_else(Vec::new, |fact| fact.sources);
        for source in sources {
            if let Some(record) = self.store.read_record(source)? {
                let at = SessionPlace::Record(record.id);
                let open = self.open_session(&record.session, at)?;
                return Ok(UiAnswer::Session(Box::new(open)));
            }
        }
        Ok(UiAnswer::Failed("No session has this fact.".to_owned()))
    }

    fn open_session(&self, id: &SessionId, at: SessionPlace) -> anyhow::Result<OpenSession> {
        let session = show::find_session(self.store, id.as_str())?;
        let outline = self.store.outline(&session.id)?;
        let position = match at {
            SessionPlace::Record(record) => self.store.timeline_position(record)?,
            SessionPlace::Time(time) => {
                let wanted = Some(time.as_millisecond());
                outline.at.iter().position(|at| *at >= wanted)
            }
            SessionPlace::End => None,
        };
        let last = outline.kind.len().saturating_sub(1);
        let selected = position.unwrap_or(last).min(last);
        let first = selected.saturating_sub(WINDOW / 2);
        let cost = usage::session_cost(self.app, self.store, &session)?;
        let parts = [
            Some(session_label(self.store, &session.id)),
            session.cwd.clone(),
            session.branch.clone(),
            session.model.clone(),
            Some(count(session.prompts, "prompt")),
            (session.usage.total() > 0)
                .then(|| format!("{} tokens", format_tokens(session.usage.total()))),
            (cost != memory::Cost::default()).then(|| usage::format_cost(&cost)),
            session.outcome.map(|outcome| outcome.name().to_owned()),
            (session.evicted > 0).then(|| format!("{} records evicted", session.evicted)),
            session.source_gone.then(|| "log gone".to_owned()),
            session.parent.as_ref().map(|_| "subagent".to_owned()),
        ];
        Ok(OpenSession {
            summary: parts.into_iter().flatten().collect::<Vec<_>>().join(" · "),
            records: self.store.timeline(&session.id, first, WINDOW)?,
            session,
            outline,
            first,
            selected,
            scroll: 0,
            mode: TimelineMode::All,
            unfolded: std::collections::BTreeSet::new(),
            unfold_all: false,
            find: TextInput::default(),
            is_finding: false,
            found: Vec::new(),
            is_following: false,
        })
    }

    fn find(&self, session: &SessionId, text: &str) -> anyhow::Result<Vec<usize>> {
        let wanted = text.trim().to_lowercase();
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let matches = |text: &str| text.to_lowercase().contains(&wanted);
        Ok(self.store.find_in_session(session, FOUND_MAX, matches)?)
    }
}

/// Returns whether the answer to a newer question is wanted instead of that to an older one.
fn replaces(newer: &UiQuestion, older: &UiQuestion) -> bool {
    match (newer, older) {
        (UiQuestion::Rows { screen: a, .. }, UiQuestion::Rows { screen: b, .. }) => a == b,
        (UiQuestion::Records { .. }, UiQuestion::Records { .. })
        | (UiQuestion::Preview(_), UiQuestion::Preview(_))
        | (UiQuestion::Find { .. }, UiQuestion::Find { .. })
        | (UiQuestion::FeedEnd, UiQuestion::FeedEnd) => true,
        _ => false,
    }
}

fn selection(request: &ForgetRequest) -> Selection {
    let mut selection = Selection::default();
    match request {
        ForgetRequest::Session(id) => selection.sessions.push(id.clone()),
        ForgetRequest::Record(id) => selection.records.push(*id),
        ForgetRequest::Fact(id) => selection.facts.push(*id.as_bytes()),
    }
    selection
}
