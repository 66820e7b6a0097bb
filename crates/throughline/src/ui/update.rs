//! The one function that changes what is shown: an event comes in, effects go out. It is pure, so
//! that any sequence of keys can be tested without a terminal and without a store.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use store::FeedPosition;

use super::actions::{go_to, move_by, perform, select_record};
use super::input::TextInput;
use super::keys::UiAction;
use super::marks;
use super::messages::{UiAnswer, UiEffect, UiEvent, UiQuestion};
use super::palette::update_palette;
use super::state::{Overlay, RowTarget, Screen, UiState};
use super::view;

pub(super) fn update(state: &mut UiState, event: UiEvent) -> Vec<UiEffect> {
    let mut effects = take_event(state, event);
    effects.extend(ask_preview(state));
    effects
}

/// Asks how the selected session ended, where no hit says what it is about.
fn ask_preview(state: &mut UiState) -> Option<UiEffect> {
    if state.screen != Screen::Search || state.search.is_pending() {
        return None;
    }
    let row = state.search.row()?;
    let RowTarget::Session(id) = &row.target else {
        return None;
    };
    let is_known = row.pages.iter().any(|page| page.record.is_some());
    if is_known || state.previewed.as_ref() == Some(id) {
        return None;
    }
    state.previewed = Some(id.clone());
    Some(UiEffect::Ask(UiQuestion::Preview(id.clone())))
}

fn take_event(state: &mut UiState, event: UiEvent) -> Vec<UiEffect> {
    match event {
        UiEvent::Key(key) => {
            state.notice = None;
            state.deferred = None;
            update_key(state, &key)
        }
        UiEvent::Paste(text) => paste(state, &text),
        UiEvent::Wheel(rows) => move_by(state, rows),
        UiEvent::Resize(columns, rows) => {
            state.size = (columns, rows);
            Vec::new()
        }
        UiEvent::Answer(answer) => take_answer(state, answer),
        UiEvent::Slow => {
            state.is_slow = true;
            Vec::new()
        }
        UiEvent::Tick => {
            let mut effects = ask_growth(state);
            effects.push(UiEffect::Ask(UiQuestion::FeedEnd));
            effects
        }
        UiEvent::Terminate => vec![UiEffect::Quit],
    }
}

fn paste(state: &mut UiState, text: &str) -> Vec<UiEffect> {
    match &mut state.overlay {
        Some(Overlay::Mark(line)) => line.input.insert(text),
        Some(Overlay::Palette(palette)) => palette.input.insert(text),
        Some(_) => {}
        None => return edit(state, |input| input.insert(text)),
    }
    Vec::new()
}

/// Asks for new records of the session that is followed.
fn ask_growth(state: &UiState) -> Vec<UiEffect> {
    match &state.session {
        Some(open) if state.is_following() => vec![UiEffect::Ask(UiQuestion::Follow {
            session: open.session.id.clone(),
            known: open.outline.kind.len(),
        })],
        _ => Vec::new(),
    }
}

/// Asks for the rows of a screen.
pub(super) fn ask_rows(state: &mut UiState, screen: Screen) -> Vec<UiEffect> {
    let (query, reach, group) = (state.input.text.clone(), state.reach, state.usage_group);
    let (types, sessions) = (state.types, state.sessions);
    state.is_slow = false;
    let list = state.list_of_mut(screen);
    list.asked += 1;
    list.is_refresh = false;
    vec![UiEffect::Ask(UiQuestion::Rows {
        screen,
        number: list.asked,
        query,
        reach,
        types,
        sessions,
        group,
    })]
}

/// Asks for the rows of a screen again. The row that is selected stays selected.
pub(super) fn ask_refresh(state: &mut UiState, screen: Screen) -> Vec<UiEffect> {
    // The latest request decides which row is selected, even before its result is shown.
    let was_refresh = !state.list_of(screen).is_pending() || state.list_of(screen).is_refresh;
    let effects = ask_rows(state, screen);
    state.list_of_mut(screen).is_refresh = was_refresh;
    effects
}

/// Reads the list again if another program has written to the store since. Results of a search
/// stay as they are, because they would move while they are read.
fn take_feed_end(state: &mut UiState, end: FeedPosition) -> Vec<UiEffect> {
    let known = state.feed_end.replace(end);
    let is_list = match state.screen {
        Screen::Search => state.input.text.trim().is_empty() && !state.search.is_pending(),
        Screen::Memory | Screen::Given => !state.is_pending(),
        _ => false,
    };
    match known {
        Some(known) if known != end && is_list => ask_refresh(state, state.screen),
        _ => Vec::new(),
    }
}

fn update_key(state: &mut UiState, key: &KeyEvent) -> Vec<UiEffect> {
    if let Some(overlay) = state.overlay.take() {
        return close_overlay(state, overlay, key);
    }
    let is_typing = state.is_typing();
    let is_question_mark = key.code == KeyCode::Char('?');
    let is_help = is_question_mark && (!is_typing || typed_line(state).text.is_empty());
    if is_help {
        state.overlay = Some(Overlay::Help { first: 0 });
        return Vec::new();
    }
    match state.keys.action(key, is_typing) {
        Some(action) if is_on_results(action) && is_search_pending(state) => {
            state.deferred = Some(action);
            Vec::new()
        }
        Some(action) => perform(state, action),
        None if is_typing => edit(state, |input| edit_line(input, key)),
        None => Vec::new(),
    }
}

/// Returns whether an action is performed on the selected result. People type faster than a search
/// may take, and mean the results of what they have typed.
const fn is_on_results(action: UiAction) -> bool {
    matches!(
        action,
        UiAction::Open
            | UiAction::Resume
            | UiAction::CopyCommand
            | UiAction::CopyId
            | UiAction::Pin
            | UiAction::Forget
            | UiAction::Star
            | UiAction::Name
            | UiAction::Tag
            | UiAction::Archive
    )
}

fn is_search_pending(state: &UiState) -> bool {
    state.screen == Screen::Search && state.search.is_pending()
}

fn close_overlay(state: &mut UiState, overlay: Overlay, key: &KeyEvent) -> Vec<UiEffect> {
    match overlay {
        Overlay::Forget { request, .. } if key.code == KeyCode::Char('y') => {
            if state.screen == Screen::Session {
                go_to(state, state.origin);
            }
            vec![UiEffect::Ask(UiQuestion::Forget(request))]
        }
        Overlay::Forget { .. } => {
            state.notice = Some("Nothing was forgotten.".to_owned());
            Vec::new()
        }
        Overlay::Pattern { request, shown, .. } if key.code == KeyCode::Char('y') => {
            let shown = Some(shown);
            vec![UiEffect::Ask(UiQuestion::ChangePattern { request, shown })]
        }
        Overlay::Pattern { .. } => {
            state.notice = Some("Nothing was changed.".to_owned());
            Vec::new()
        }
        Overlay::Help { first } => {
            scroll_help(state, first, key);
            Vec::new()
        }
        Overlay::Mark(line) => marks::update_input(state, line, key),
        Overlay::Palette(palette) => update_palette(state, palette, key),
    }
}

/// Scrolls the page of keys where it is longer than the screen. Any other key closes it.
fn scroll_help(state: &mut UiState, first: usize, key: &KeyEvent) {
    let (last, page) = view::help_scroll(state);
    let first = match state.keys.action(key, false) {
        Some(UiAction::Up) => first.saturating_sub(1),
        Some(UiAction::Down) => first + 1,
        Some(UiAction::PageUp) => first.saturating_sub(page),
        Some(UiAction::PageDown) => first + page,
        Some(UiAction::First) => 0,
        Some(UiAction::Last) => last,
        _ => return,
    };
    let first = first.min(last);
    state.overlay = Some(Overlay::Help { first });
}

/// Returns the line that is typed into.
fn typed_line(state: &mut UiState) -> &mut TextInput {
    match &mut state.session {
        Some(open) if state.screen == Screen::Session => &mut open.find,
        _ => &mut state.input,
    }
}

/// Returns whether a key leaves a line that is typed over the screen.
pub(super) fn is_cancel(key: &KeyEvent) -> bool {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    key.code == KeyCode::Esc || (is_control && matches!(key.code, KeyCode::Char('c' | 'q')))
}

/// Edits a line by a key, as shells do.
pub(super) fn edit_line(input: &mut TextInput, key: &KeyEvent) {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('u') if is_control => input.clear(),
        KeyCode::Char('w') if is_control => input.delete_word(),
        KeyCode::Char('a') if is_control => input.cursor = 0,
        KeyCode::Char('e') if is_control => input.cursor = input.text.len(),
        KeyCode::Char(c) if !is_control && !key.modifiers.contains(KeyModifiers::ALT) => {
            input.insert(c.encode_utf8(&mut [0; 4]));
        }
        KeyCode::Backspace => input.backspace(),
        KeyCode::Home => input.cursor = 0,
        KeyCode::End => input.cursor = input.text.len(),
        KeyCode::Left => input.left(),
        KeyCode::Right => input.right(),
        _ => {}
    }
}

/// Edits the typed line, and asks if its text has changed.
pub(super) fn edit(state: &mut UiState, change: impl FnOnce(&mut TextInput)) -> Vec<UiEffect> {
    if !state.is_typing() {
        return Vec::new();
    }
    let input = typed_line(state);
    let before = input.text.clone();
    change(input);
    if input.text == before {
        return Vec::new();
    }
    match &state.session {
        Some(open) if state.screen == Screen::Session => {
            vec![UiEffect::Ask(UiQuestion::Find {
                session: open.session.id.clone(),
                text: open.find.text.clone(),
            })]
        }
        _ => ask_rows(state, Screen::Search),
    }
}

fn take_answer(state: &mut UiState, answer: UiAnswer) -> Vec<UiEffect> {
    match answer {
        UiAnswer::Rows {
            screen,
            number,
            rows,
            note,
            took,
        } => {
            let list = state.list_of_mut(screen);
            // A search that was overtaken by another key shows nothing.
            if number == list.asked {
                let is_new_search = screen == Screen::Search && !list.is_refresh;
                (list.note, list.answered, list.took) = (note, number, took);
                match is_new_search {
                    true => {
                        list.rows = rows;
                        list.select(0);
                    }
                    false => list.replace_rows(rows),
                }
                state.is_slow = false;
                state.previewed = None;
                if let Some(action) = state.deferred.take_if(|_| screen == state.screen) {
                    return perform(state, action);
                }
            }
        }
        UiAnswer::Session(open) => {
            if state.screen != Screen::Session {
                state.origin = state.screen;
            }
            state.session = Some(open);
            state.screen = Screen::Session;
        }
        UiAnswer::Records {
            session,
            first,
            records,
        } => {
            if let Some(open) = &mut state.session
                && open.session.id == session
            {
                (open.first, open.records) = (first, records);
            }
        }
        UiAnswer::Followed {
            session,
            growth: Some(growth),
        } => {
            if let Some(open) = &mut state.session
                && open.session.id == session
            {
                (open.first, open.records) = (growth.first, growth.records);
                open.outline = growth.outline;
                return move_by(state, isize::MAX);
            }
        }
        UiAnswer::Followed { growth: None, .. } => {}
        UiAnswer::Found {
            session,
            text,
            positions,
        } => {
            if let Some(open) = &mut state.session
                && open.session.id == session
                && open.find.text == text
            {
                open.found = positions;
                let selected = open.selected;
                let next = open.found.iter().find(|at| **at >= selected);
                let next = next.or(open.found.first()).copied();
                return next.map_or_else(Vec::new, |position| select_record(open, position));
            }
        }
        UiAnswer::Preview { session, pages } => {
            let target = RowTarget::Session(session);
            let rows = &mut state.search.rows;
            if let Some(row) = rows.iter_mut().find(|row| row.target == target) {
                row.pages.truncate(1);
                row.pages.extend(pages);
            }
        }
        UiAnswer::PatternPlan {
            text,
            request,
            shown,
        } => {
            state.overlay = Some(Overlay::Pattern {
                text,
                request,
                shown,
            });
        }
        UiAnswer::ForgetPlan { plan, request } => {
            state.overlay = Some(Overlay::Forget { plan, request });
        }
        UiAnswer::ResumeCommand {
            command,
            is_copied: true,
        } => {
            state.notice = Some(format!("Copied: {}", command.shell));
            return vec![UiEffect::Copy(command.shell)];
        }
        UiAnswer::ResumeCommand { command, .. } => return vec![UiEffect::Resume(command)],
        UiAnswer::FeedEnd(end) => return take_feed_end(state, end),
        UiAnswer::TypeMark(line) => state.overlay = Some(Overlay::Mark(line)),
        UiAnswer::Marked {
            session,
            marks,
            notice,
        } => return marks::take_marks(state, &session, marks, notice),
        UiAnswer::Changed(text) => {
            state.notice = Some(text);
            if state.screen != Screen::Session {
                return ask_refresh(state, state.screen);
            }
        }
        UiAnswer::Failed(text) => state.notice = Some(text),
    }
    Vec::new()
}
