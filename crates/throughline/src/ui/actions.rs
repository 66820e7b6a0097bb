//! What each action does to the state.

use std::ops::Range;

use learn::curate::ReviewDecision;
use memory::RecordKind;
use store::InjectionVerdict;

use super::input::TextInput;
use super::keys::UiAction;
use super::marks;
use super::messages::{UiEffect, UiQuestion};
use super::open_session::{OpenSession, SessionPlace};
use super::palette::Palette;
use super::patterns;
use super::state::{ForgetRequest, ListRow, Overlay, RowTarget, Screen, UiState};
use super::update::{ask_rows, edit};
use super::view;

/// The records that are read at once, and how near to their edge the next ones are read.
pub(super) const WINDOW: usize = 200;
const WINDOW_MARGIN: usize = 40;

pub(super) fn perform(state: &mut UiState, action: UiAction) -> Vec<UiEffect> {
    let page = isize::try_from(view::list_height(state))
        .unwrap_or(10)
        .max(1);
    match action {
        UiAction::Up => move_by(state, -1),
        UiAction::Down => move_by(state, 1),
        UiAction::PageUp => move_page(state, -page),
        UiAction::PageDown => move_page(state, page),
        UiAction::First => move_by(state, isize::MIN),
        UiAction::Last => move_by(state, isize::MAX),
        UiAction::NextPrompt => jump(state, true, RecordKind::Prompt),
        UiAction::PreviousPrompt => jump(state, false, RecordKind::Prompt),
        UiAction::NextError => jump(state, true, RecordKind::Error),
        UiAction::PreviousError => jump(state, false, RecordKind::Error),
        UiAction::NextHit => turn_page(state, true),
        UiAction::PreviousHit => turn_page(state, false),
        UiAction::Open => open(state),
        UiAction::Back => back(state),
        UiAction::Reach => next_reach(state),
        UiAction::Resume if state.screen == Screen::Patterns => {
            patterns::decide(state, ReviewDecision::Reject)
        }
        UiAction::Forget if state.screen == Screen::Patterns => {
            patterns::decide(state, ReviewDecision::Withdraw)
        }
        UiAction::Approve => patterns::decide(state, ReviewDecision::Approve),
        UiAction::Discuss => patterns::decide(state, ReviewDecision::Discuss),
        UiAction::Distribute => patterns::distribute(state),
        UiAction::Types => next_types(state),
        UiAction::Resume => ask_resume(state, false),
        UiAction::CopyCommand => ask_resume(state, true),
        UiAction::CopyId => copy_id(state),
        UiAction::Pin => pin(state),
        UiAction::Forget => plan_forget(state),
        UiAction::Star | UiAction::Name | UiAction::Tag | UiAction::Archive => {
            marks::mark(state, action)
        }
        UiAction::Good => rate(state, InjectionVerdict::Good),
        UiAction::Bad => rate(state, InjectionVerdict::Bad),
        UiAction::NextSession => open_neighbor(state, true),
        UiAction::PreviousSession => open_neighbor(state, false),
        UiAction::Subagent => enter_subagent(state),
        UiAction::Parent => leave_subagent(state),
        UiAction::Follow => follow(state),
        UiAction::Palette => {
            state.overlay = Some(Overlay::Palette(Palette::default()));
            Vec::new()
        }
        UiAction::Fold | UiAction::FoldAll | UiAction::Mode | UiAction::Find => {
            change_session(state, action)
        }
        UiAction::Search => go_to(state, Screen::Search),
        UiAction::Session => go_to(state, Screen::Session),
        UiAction::Memory => go_to(state, Screen::Memory),
        UiAction::Given => go_to(state, Screen::Given),
        UiAction::Usage => go_to(state, Screen::Usage),
        UiAction::Keep => go_to(state, Screen::Keep),
        UiAction::Patterns => go_to(state, Screen::Patterns),
        UiAction::Mouse => {
            state.mouse = !state.mouse;
            vec![UiEffect::Mouse(state.mouse)]
        }
        UiAction::Help => {
            state.overlay = Some(Overlay::Help { first: 0 });
            Vec::new()
        }
        UiAction::Suspend => vec![UiEffect::Suspend],
        UiAction::Quit => vec![UiEffect::Quit],
    }
}

pub(super) fn go_to(state: &mut UiState, screen: Screen) -> Vec<UiEffect> {
    if screen == Screen::Session && state.session.is_none() {
        state.notice = Some("No session is open; Enter opens one.".to_owned());
        return Vec::new();
    }
    if screen == Screen::Session && state.screen != Screen::Session {
        state.origin = state.screen;
    }
    state.screen = screen;
    match screen {
        Screen::Session => Vec::new(),
        _ => ask_rows(state, screen),
    }
}

fn back(state: &mut UiState) -> Vec<UiEffect> {
    match (state.screen, &mut state.session) {
        (Screen::Search, _) if state.input.text.is_empty() => vec![UiEffect::Quit],
        (Screen::Search, _) => edit(state, TextInput::clear),
        (Screen::Session, Some(open)) if open.is_finding => {
            open.is_finding = false;
            Vec::new()
        }
        (Screen::Session, _) => {
            state.screen = state.origin;
            Vec::new()
        }
        _ => go_to(state, Screen::Search),
    }
}

fn next_reach(state: &mut UiState) -> Vec<UiEffect> {
    match state.screen {
        Screen::Session | Screen::Given | Screen::Keep | Screen::Patterns => {
            return Vec::new();
        }
        Screen::Usage => state.usage_group += 1,
        _ if state.reaches.len() == 1 => {
            return notice(
                state,
                "There are no sessions of this folder to narrow the list to.",
            );
        }
        _ => {
            let at = state.reaches.iter().position(|reach| *reach == state.reach);
            let next = at.map_or(0, |at| (at + 1) % state.reaches.len());
            state.reach = state.reaches[next];
        }
    }
    ask_rows(state, state.screen)
}

pub(super) fn move_by(state: &mut UiState, rows: isize) -> Vec<UiEffect> {
    if state.screen != Screen::Session {
        let list = state.list_of_mut(state.screen);
        list.select(list.selected.saturating_add_signed(rows));
        return Vec::new();
    }
    let Some(open) = &mut state.session else {
        return Vec::new();
    };
    let mode = open.mode;
    let shown = |kind: RecordKind| mode.shows(kind);
    let mut position = open.selected;
    if rows == isize::MIN || rows == isize::MAX {
        let is_end = rows > 0;
        let edge = if is_end { open.outline.kind.len() } else { 0 };
        let from_edge = open.next_position(edge, !is_end, shown);
        let is_first = !is_end && open.outline.kind.first().is_some_and(|kind| shown(*kind));
        position = if is_first {
            0
        } else {
            from_edge.unwrap_or(position)
        };
    } else {
        for _ in 0..rows.unsigned_abs() {
            match open.next_position(position, rows > 0, shown) {
                Some(next) => position = next,
                None => break,
            }
        }
    }
    select_record(open, position)
}

/// Scrolls a record that is longer than the screen, or moves on.
fn move_page(state: &mut UiState, rows: isize) -> Vec<UiEffect> {
    let (lines, height) = view::selected_record_lines(state);
    let Some(open) = state
        .session
        .as_mut()
        .filter(|_| state.screen == Screen::Session)
    else {
        return move_by(state, rows);
    };
    let scroll = open.scroll.saturating_add_signed(rows);
    if rows > 0 && scroll < lines.saturating_sub(height / 2) {
        open.scroll = scroll;
        return Vec::new();
    }
    if rows < 0 && open.scroll > 0 {
        open.scroll = scroll;
        return Vec::new();
    }
    move_by(state, rows.signum())
}

fn jump(state: &mut UiState, is_forward: bool, wanted: RecordKind) -> Vec<UiEffect> {
    let Some(open) = state
        .session
        .as_mut()
        .filter(|_| state.screen == Screen::Session)
    else {
        return Vec::new();
    };
    match open.next_position(open.selected, is_forward, |kind| kind == wanted) {
        Some(position) => select_record(open, position),
        None => {
            let text = format!("There is no {} {wanted}.", side(is_forward));
            notice(state, &text)
        }
    }
}

const fn side(is_forward: bool) -> &'static str {
    match is_forward {
        true => "later",
        false => "earlier",
    }
}

/// Selects a record, and asks for the records around it if they are not there.
pub(super) fn select_record(open: &mut OpenSession, position: usize) -> Vec<UiEffect> {
    open.selected = position;
    open.scroll = 0;
    let total = open.outline.kind.len();
    let end = open.first + open.records.len();
    let is_near_start = position < open.first + WINDOW_MARGIN && open.first > 0;
    let is_near_end = position + WINDOW_MARGIN >= end && end < total;
    if !is_near_start && !is_near_end {
        return Vec::new();
    }
    vec![UiEffect::Ask(UiQuestion::Records {
        session: open.session.id.clone(),
        first: position.saturating_sub(WINDOW / 2),
    })]
}

/// Goes to the next hit: of the selected row, or of the text that is found in the session.
fn turn_page(state: &mut UiState, is_forward: bool) -> Vec<UiEffect> {
    if state.screen != Screen::Session {
        let list = state.list_of_mut(state.screen);
        let pages = list.row().map_or(0, |row| row.pages.len());
        list.page = if is_forward {
            (list.page + 1).min(pages.saturating_sub(1))
        } else {
            list.page.saturating_sub(1)
        };
        return Vec::new();
    }
    let Some(open) = &mut state.session else {
        return Vec::new();
    };
    let selected = open.selected;
    let next = if is_forward {
        open.found.iter().find(|at| **at > selected)
    } else {
        open.found.iter().rev().find(|at| **at < selected)
    };
    match next.copied() {
        Some(position) => select_record(open, position),
        None if open.find.text.is_empty() => notice(state, "Press f to find a text first."),
        None => notice(state, &format!("There is no {} match.", side(is_forward))),
    }
}

fn open(state: &mut UiState) -> Vec<UiEffect> {
    if let Some(open) = state
        .session
        .as_mut()
        .filter(|_| state.screen == Screen::Session)
    {
        let was_finding = std::mem::take(&mut open.is_finding);
        let text = open.find.text.trim();
        return if was_finding && open.found.is_empty() && !text.is_empty() {
            let text = format!("Nothing in this session contains “{text}”.");
            notice(state, &text)
        } else if was_finding {
            Vec::new()
        } else {
            change_session(state, UiAction::Fold)
        };
    }
    open_selected(state)
}

/// Opens the session of the selected row, at its hit if it has one.
fn open_selected(state: &UiState) -> Vec<UiEffect> {
    let at = state
        .record_id()
        .map_or(SessionPlace::End, SessionPlace::Record);
    match (state.session_id().cloned(), state.list().row()) {
        (Some(id), _) => vec![UiEffect::Ask(UiQuestion::Session { id, at })],
        (None, Some(row)) => match row.target {
            RowTarget::Fact { id, .. } => vec![UiEffect::Ask(UiQuestion::FactSource(id))],
            _ => Vec::new(),
        },
        (None, None) => Vec::new(),
    }
}

/// Opens the next or previous session of the list from which the session was opened.
fn open_neighbor(state: &mut UiState, is_forward: bool) -> Vec<UiEffect> {
    if state.screen != Screen::Session {
        return Vec::new();
    }
    let list = state.list_of_mut(state.origin);
    let is_session = |row: &ListRow| match &row.target {
        RowTarget::Session(_) => true,
        RowTarget::Injection { session, .. } | RowTarget::Silence(session) => session.is_some(),
        RowTarget::Fact { .. } | RowTarget::Pattern { .. } | RowTarget::Note => false,
    };
    let positions = |range: Range<usize>| range.filter(|at| is_session(&list.rows[*at]));
    let next = if is_forward {
        positions(list.selected.saturating_add(1)..list.rows.len()).next()
    } else {
        positions(0..list.selected.min(list.rows.len())).next_back()
    };
    let Some(next) = next else {
        return notice(state, "There is no further session in the list.");
    };
    list.select(next);
    // The row is selected on the screen of the list.
    let screen = std::mem::replace(&mut state.screen, state.origin);
    let effects = open_selected(state);
    state.screen = screen;
    effects
}

fn enter_subagent(state: &mut UiState) -> Vec<UiEffect> {
    match &state.session {
        Some(open) if state.screen == Screen::Session => {
            let after = open.record(open.selected).and_then(|record| record.at);
            let parent = open.session.id.clone();
            vec![UiEffect::Ask(UiQuestion::Subagent { parent, after })]
        }
        _ => Vec::new(),
    }
}

/// Opens the session that started this one, at the time at which it did.
fn leave_subagent(state: &mut UiState) -> Vec<UiEffect> {
    let Some(open) = state
        .session
        .as_ref()
        .filter(|_| state.screen == Screen::Session)
    else {
        return Vec::new();
    };
    let started = open.session.started;
    match open.session.parent.clone() {
        Some(id) => vec![UiEffect::Ask(UiQuestion::Session {
            id,
            at: started.map_or(SessionPlace::End, SessionPlace::Time),
        })],
        None => notice(state, "No other session started this one."),
    }
}

/// Goes to the end of the session and stays there as it grows, or stops doing so.
fn follow(state: &mut UiState) -> Vec<UiEffect> {
    let Some(open) = state
        .session
        .as_mut()
        .filter(|_| state.screen == Screen::Session)
    else {
        return Vec::new();
    };
    open.is_following = !open.is_following;
    match open.is_following {
        true => move_by(state, isize::MAX),
        false => Vec::new(),
    }
}

fn next_types(state: &mut UiState) -> Vec<UiEffect> {
    if state.screen != Screen::Search {
        return Vec::new();
    }
    match state.input.text.trim().is_empty() {
        true => state.sessions = state.sessions.next(),
        false => state.types = state.types.next(),
    }
    ask_rows(state, Screen::Search)
}

fn change_session(state: &mut UiState, action: UiAction) -> Vec<UiEffect> {
    let Some(open) = state
        .session
        .as_mut()
        .filter(|_| state.screen == Screen::Session)
    else {
        return Vec::new();
    };
    match action {
        UiAction::FoldAll => {
            open.unfold_all = !open.unfold_all;
            open.unfolded.clear();
        }
        UiAction::Mode => open.mode = open.mode.next(),
        UiAction::Find => open.is_finding = true,
        _ => {
            if !open.unfolded.remove(&open.selected) {
                open.unfolded.insert(open.selected);
            }
            open.scroll = 0;
        }
    }
    Vec::new()
}

fn ask_resume(state: &mut UiState, is_copied: bool) -> Vec<UiEffect> {
    match state.session_id().cloned() {
        Some(id) => vec![UiEffect::Ask(UiQuestion::Resume { id, is_copied })],
        None => notice(state, "Select a session to resume it."),
    }
}

fn copy_id(state: &mut UiState) -> Vec<UiEffect> {
    let row = state.list().row().map(|row| &row.target);
    let id = match (state.record_id(), state.session_id(), row) {
        (Some(record), ..) => record.to_string(),
        (None, Some(session), _) => session.to_string(),
        (None, None, Some(RowTarget::Fact { id, .. })) => id.to_string(),
        (None, None, Some(RowTarget::Pattern { id, .. })) => id.clone(),
        _ => return Vec::new(),
    };
    state.notice = Some(format!("Copied {id}."));
    vec![UiEffect::Copy(id)]
}

fn pin(state: &mut UiState) -> Vec<UiEffect> {
    let row = state.list().row().map(|row| &row.target);
    if let Some(RowTarget::Fact { id, pinned }) = row
        && state.screen != Screen::Session
    {
        return vec![UiEffect::Ask(UiQuestion::PinFact {
            id: *id,
            pinned: !pinned,
        })];
    }
    match state.record_id() {
        Some(record) => vec![UiEffect::Ask(UiQuestion::PinRecord(record))],
        None => notice(state, "Select a fact or a record to pin it."),
    }
}

fn plan_forget(state: &mut UiState) -> Vec<UiEffect> {
    let row = state.list().row().map(|row| row.target.clone());
    let request = match (state.screen, row) {
        (Screen::Session, _) => state.record_id().map(ForgetRequest::Record),
        (_, Some(RowTarget::Session(id))) => Some(ForgetRequest::Session(id)),
        (_, Some(RowTarget::Fact { id, .. })) => Some(ForgetRequest::Fact(id)),
        _ => None,
    };
    match request {
        Some(request) => vec![UiEffect::Ask(UiQuestion::PlanForget(request))],
        None => notice(state, "Select a session, a record or a fact to forget it."),
    }
}

fn rate(state: &mut UiState, verdict: InjectionVerdict) -> Vec<UiEffect> {
    match state.list().row().map(|row| &row.target) {
        Some(RowTarget::Injection { name, .. }) => vec![UiEffect::Ask(UiQuestion::Verdict {
            name: name.clone(),
            verdict,
        })],
        _ => notice(state, "Only what an agent was given can be rated; press 4."),
    }
}

fn notice(state: &mut UiState, text: &str) -> Vec<UiEffect> {
    state.notice = Some(text.to_owned());
    Vec::new()
}
