//! Draws the state. It is pure: the same state and size give the same screen.
//!
//! [`list`] draws the screens that are lists with a preview, [`timeline`] an open session, and
//! [`overlay`] what lies over them.

mod list;
mod overlay;
mod timeline;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

pub(super) use self::overlay::help_scroll;
pub(super) use self::timeline::selected_record_lines;
use super::input::TextInput;
use super::keys::UiAction;
use super::state::{HitTypes, ListedSessions, Overlay, Screen, UiState};
use super::text::{clean, fit};

/// From this width on, the preview stands beside the list.
const WIDE_COLUMNS: u16 = 90;
/// From this height on, there are tabs above, and room for a preview below the list.
const TALL_ROWS: u16 = 20;

/// The styles, from the terminal's own sixteen colours, or without any.
#[derive(Clone, Copy, Debug)]
struct Theme {
    color: bool,
}

impl Theme {
    fn colored(self, color: Color) -> Style {
        if self.color {
            Style::new().fg(color)
        } else {
            Style::new()
        }
    }

    const fn dim(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    const fn bold(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    const fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn marked(self) -> Style {
        let style = self.colored(Color::Red).add_modifier(Modifier::BOLD);
        if self.color {
            style
        } else {
            style.add_modifier(Modifier::UNDERLINED)
        }
    }
}

/// The parts of the screen.
struct Areas {
    tabs: Option<Rect>,
    head: Rect,
    body: Rect,
    foot: Rect,
}

pub(super) fn view(state: &UiState, frame: &mut Frame<'_>) {
    let theme = Theme { color: state.color };
    let areas = areas(frame.area());
    if let Some(tabs) = areas.tabs {
        frame.render_widget(tabs_line(state, theme), tabs);
    }
    match (&state.session, state.screen) {
        (Some(open), Screen::Session) => {
            timeline::draw(state, open, theme, frame, areas.head, areas.body);
        }
        _ => {
            draw_head(state, theme, frame, areas.head);
            list::draw(state, theme, frame, areas.body);
        }
    }
    frame.render_widget(foot_line(state, theme, areas.foot), areas.foot);
    match &state.overlay {
        None => {}
        Some(Overlay::Help { first }) => overlay::draw_help(state, *first, frame),
        Some(Overlay::Palette(palette)) => overlay::draw_palette(state, palette, theme, frame),
        Some(Overlay::Mark(line)) => overlay::draw_mark(line, frame),
        Some(Overlay::Forget { plan, .. }) => overlay::draw_plan(plan, frame),
        Some(Overlay::Pattern { text, .. }) => overlay::draw_change(text, frame),
    }
}

fn areas(area: Rect) -> Areas {
    let tabs = u16::from(area.height >= TALL_ROWS);
    let parts = Layout::vertical([
        Constraint::Length(tabs),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ]);
    let [top, head, body, foot] = parts.areas(area);
    Areas {
        tabs: (tabs > 0).then_some(top),
        head,
        body,
        foot,
    }
}

/// Returns how many rows of a list are visible.
pub(super) fn list_height(state: &UiState) -> usize {
    let (width, height) = state.size;
    let body = areas(Rect::new(0, 0, width, height)).body;
    usize::from(list::split(body).0.height)
}

fn tabs_line(state: &UiState, theme: Theme) -> Line<'static> {
    let mut spans = vec![Span::raw(" ")];
    for (number, screen) in (1..).zip(Screen::ALL) {
        let style = if screen == state.screen {
            theme.selected()
        } else {
            theme.dim()
        };
        spans.push(Span::styled(format!(" {number} {} ", screen.name()), style));
    }
    Line::from(spans)
}

fn draw_head(state: &UiState, theme: Theme, frame: &mut Frame<'_>, area: Rect) {
    let list = state.list();
    let mut spans = vec![Span::raw(" ")];
    if state.screen == Screen::Search || state.screen == Screen::Memory {
        let is_wide = area.width >= WIDE_COLUMNS;
        let shown = state
            .reaches
            .iter()
            .filter(|reach| is_wide || **reach == state.reach);
        for (at, reach) in shown.enumerate() {
            if at > 0 {
                spans.push(Span::styled(" ▸ ", theme.dim()));
            }
            let style = if *reach == state.reach {
                theme.bold()
            } else {
                theme.dim()
            };
            spans.push(Span::styled(reach.name(), style));
        }
        if let Some(name) = narrowed_to(state) {
            spans.push(Span::styled(" · ", theme.dim()));
            spans.push(Span::styled(name, theme.bold()));
        }
        spans.push(Span::raw("  "));
    } else {
        spans.push(Span::styled(state.screen.name(), theme.bold()));
    }
    let left = Line::from(spans);
    let start = u16::try_from(left.width()).unwrap_or(0).min(area.width);
    frame.render_widget(left, area);
    let note = if list.is_pending() && state.is_slow {
        "searching …".to_owned()
    } else {
        list_note(state)
    };
    let note_width = u16::try_from(note.width()).unwrap_or(0).saturating_add(1);
    let room = area.width.saturating_sub(start);
    let note_width = if note_width + 12 > room {
        0
    } else {
        note_width
    };
    if state.screen == Screen::Search {
        let width = room.saturating_sub(note_width).saturating_sub(1);
        let input = Rect {
            x: area.x + start,
            width,
            ..area
        };
        draw_input(&state.input, frame, input, state.overlay.is_none());
    }
    if note_width > 0 {
        let x = area.x + area.width - note_width;
        let area = Rect {
            x,
            width: note_width,
            ..area
        };
        frame.render_widget(Line::styled(note, theme.dim()), area);
    }
}

/// Returns what the hits, or the sessions where nothing is typed, are narrowed to.
fn narrowed_to(state: &UiState) -> Option<&'static str> {
    if state.screen != Screen::Search {
        return None;
    }
    match state.input.text.trim().is_empty() {
        true => (state.sessions != ListedSessions::All).then(|| state.sessions.name()),
        false => (state.types != HitTypes::All).then(|| state.types.name()),
    }
}

/// Returns what the rows are, and how long a search took.
fn list_note(state: &UiState) -> String {
    let list = state.list();
    let note = clean(&list.note);
    let is_search = state.screen == Screen::Search && !state.input.text.is_empty();
    match list.took {
        Some(took) if is_search && !note.is_empty() => format!("{note} · {} ms", took.as_millis()),
        _ => note,
    }
}

/// Draws a line of input, scrolled so that the cursor is visible.
fn draw_input(input: &TextInput, frame: &mut Frame<'_>, area: Rect, has_cursor: bool) {
    if area.width == 0 {
        return;
    }
    let width = usize::from(area.width).saturating_sub(1);
    let mut start = 0;
    while input.text[start..input.cursor].width() > width {
        start += input.text[start..].chars().next().map_or(1, char::len_utf8);
    }
    frame.render_widget(Line::raw(clean(&input.text[start..])), area);
    let column = clean(&input.text[start..input.cursor]).width().min(width);
    if has_cursor {
        let x = area.x + u16::try_from(column).unwrap_or(0);
        frame.set_cursor_position(Position::new(x, area.y));
    }
}

fn foot_line(state: &UiState, theme: Theme, area: Rect) -> Line<'static> {
    if let Some(notice) = &state.notice {
        let text = fit(notice, usize::from(area.width).saturating_sub(1));
        return Line::styled(format!(" {text}"), theme.bold());
    }
    let actions: &[(UiAction, &str)] = match state.screen {
        Screen::Search => &[
            (UiAction::Open, "open"),
            (UiAction::Resume, "resume"),
            (UiAction::Reach, "scope"),
            (UiAction::Types, "types"),
            (UiAction::NextHit, "next hit"),
            (UiAction::CopyId, "copy"),
            (UiAction::Star, "star"),
            (UiAction::Pin, "pin"),
            (UiAction::Forget, "forget"),
        ],
        Screen::Session => &[
            (UiAction::Resume, "resume"),
            (UiAction::Fold, "fold"),
            (UiAction::NextPrompt, "next prompt"),
            (UiAction::NextError, "next error"),
            (UiAction::Find, "find"),
            (UiAction::Mode, "mode"),
            (UiAction::Pin, "pin"),
            (UiAction::Back, "back"),
        ],
        Screen::Memory => &[
            (UiAction::Pin, "pin"),
            (UiAction::Forget, "forget"),
            (UiAction::Reach, "scope"),
            (UiAction::CopyId, "copy"),
            (UiAction::Back, "back"),
        ],
        Screen::Given => &[
            (UiAction::Good, "good"),
            (UiAction::Bad, "bad"),
            (UiAction::NextHit, "next item"),
            (UiAction::Open, "open session"),
            (UiAction::Back, "back"),
        ],
        Screen::Usage => &[(UiAction::Reach, "group by"), (UiAction::Back, "back")],
        Screen::Keep => &[(UiAction::Back, "back")],
        Screen::Patterns => &[
            (UiAction::Approve, "approve"),
            (UiAction::Resume, "reject"),
            (UiAction::Discuss, "discuss"),
            (UiAction::NextHit, "evidence"),
            (UiAction::Open, "open"),
            (UiAction::Distribute, "write files"),
            (UiAction::Forget, "withdraw"),
        ],
    };
    let hint = |action: UiAction| state.keys.hint(action, state.is_typing());
    let columns = |key: &str, label: &str| key.width() + label.width() + 4;
    // The last hint is how all keys are shown, so there is always room for it.
    let help = (UiAction::Help, "keys");
    let mut room = usize::from(area.width);
    room = room.saturating_sub(hint(help.0).map_or(0, |key| columns(key, help.1)));
    let mut spans = Vec::new();
    for (action, label) in actions {
        let Some(key) = hint(*action) else { continue };
        match room.checked_sub(columns(key, label)) {
            Some(rest) => room = rest,
            None => break,
        }
        push_hint(&mut spans, theme, key, label);
    }
    if let Some(key) = hint(help.0) {
        push_hint(&mut spans, theme, key, help.1);
    }
    Line::from(spans)
}

fn push_hint(spans: &mut Vec<Span<'static>>, theme: Theme, key: &str, label: &str) {
    spans.push(Span::styled(format!(" {key}"), theme.bold()));
    spans.push(Span::styled(format!(" {label}  "), theme.dim()));
}
