//! What lies over a screen: the page of keys, and what would be forgotten or changed.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph};

use super::{Theme, draw_input};
use crate::ui::keys::UiAction;
use crate::ui::marks::MarkInput;
use crate::ui::palette::Palette;
use crate::ui::state::UiState;
use crate::ui::text::{fit, wrap};

/// The actions that the palette shows at once, and the width of their names.
const PALETTE_ROWS_MAX: usize = 14;
const PALETTE_COLUMNS: usize = 28;
/// The width of the keys on the page of keys.
const KEYS_COLUMNS: usize = 16;
/// The width of one entry on the page of keys.
const HELP_COLUMNS: usize = 38;
/// The width of the line in which a name or tags are typed.
const MARK_COLUMNS: usize = 60;
/// The lines of a plan of what would be forgotten.
const PLAN_LINES_MAX: usize = 200;

pub(super) fn draw_help(state: &UiState, first: usize, frame: &mut Frame<'_>) {
    let area = frame.area();
    let mut lines = help_lines(state, area.width);
    let (last, room) = help_fit(lines.len(), area.height);
    if last > 0 {
        lines.drain(..first.min(last));
        lines.truncate(room);
        lines.push(match first < last {
            true => "↓ more".to_owned(),
            false => "↑ more".to_owned(),
        });
    }
    draw_overlay(frame, " keys ", lines);
}

/// Returns how far the page of keys can be scrolled, and how many of its lines are visible.
pub(in crate::ui) fn help_scroll(state: &UiState) -> (usize, usize) {
    let (width, height) = state.size;
    help_fit(help_lines(state, width).len(), height)
}

fn help_fit(lines: usize, height: u16) -> (usize, usize) {
    let room = usize::from(height.saturating_sub(2));
    match lines > room {
        true => {
            let visible = room.saturating_sub(1);
            (lines - visible, visible)
        }
        false => (0, room),
    }
}

/// Draws what would be forgotten, with the question whether to do so.
pub(super) fn draw_plan(plan: &str, frame: &mut Frame<'_>) {
    let question = "Delete this for good? y deletes, any other key keeps it.";
    draw_question(" forget ", plan, question, frame);
}

/// Draws the changes of files, with the question whether to make them.
pub(super) fn draw_change(diff: &str, frame: &mut Frame<'_>) {
    let question = "Change this? y changes it, any other key leaves it.";
    draw_question(" change ", diff, question, frame);
}

fn draw_question(title: &str, plan: &str, question: &str, frame: &mut Frame<'_>) {
    let width = usize::from(frame.area().width.saturating_sub(6));
    let mut lines = wrap(plan, width, PLAN_LINES_MAX);
    let room = usize::from(frame.area().height.saturating_sub(5));
    if lines.len() > room {
        lines.truncate(room.saturating_sub(1));
        lines.push("…".to_owned());
    }
    lines.push(String::new());
    lines.extend(wrap(question, width, 2));
    draw_overlay(frame, title, lines);
}

/// Draws the actions that the typed text leaves, the selected one marked.
pub(super) fn draw_palette(
    state: &UiState,
    palette: &Palette,
    theme: Theme,
    frame: &mut Frame<'_>,
) {
    let actions = palette.actions();
    let room = usize::from(frame.area().height.saturating_sub(4)).min(PALETTE_ROWS_MAX);
    let first = palette.selected.saturating_sub(room.saturating_sub(1));
    let shown = actions.iter().enumerate().skip(first).take(room);
    let rows = shown.map(|(at, action)| {
        let keys = state.keys.keys(*action).join(" ");
        let text = format!(
            " {}{} ",
            fit(action.about(), PALETTE_COLUMNS),
            fit(&keys, KEYS_COLUMNS)
        );
        let style = match at == palette.selected {
            true => theme.selected(),
            false => Style::new(),
        };
        Line::styled(text, style)
    });
    let mut lines = vec![Line::raw("")];
    lines.extend(rows);
    if actions.is_empty() {
        let text = fit("No action has this name.", PALETTE_COLUMNS + KEYS_COLUMNS);
        lines.push(Line::raw(format!(" {text} ")));
    }
    let inner = draw_box(frame, " actions ", lines);
    draw_input(&palette.input, frame, first_row(inner), true);
}

/// Draws the line in which a name or tags are typed.
pub(super) fn draw_mark(line: &MarkInput, frame: &mut Frame<'_>) {
    let width = usize::from(frame.area().width.saturating_sub(6)).min(MARK_COLUMNS);
    let mut lines = vec![Line::raw(" ".repeat(width + 2)), Line::raw("")];
    let hint = wrap(line.mark.hint(), width, 3).into_iter();
    lines.extend(hint.map(|line| Line::raw(format!(" {line} "))));
    let inner = draw_box(frame, line.mark.title(), lines);
    draw_input(&line.input, frame, first_row(inner), true);
}

/// Returns the first row of a box, without the cells at its edges.
fn first_row(inner: Rect) -> Rect {
    Rect {
        x: inner.x + 1.min(inner.width),
        width: inner.width.saturating_sub(2),
        height: 1.min(inner.height),
        ..inner
    }
}

/// Returns the keys of all actions, in as many columns as there is room for.
fn help_lines(state: &UiState, width: u16) -> Vec<String> {
    let entries: Vec<String> = UiAction::ALL
        .iter()
        .map(|action| {
            let keys = state.keys.keys(*action).join(" ");
            format!("{}{}", fit(&keys, KEYS_COLUMNS), action.about())
        })
        .collect();
    let columns = (usize::from(width) / HELP_COLUMNS).max(1);
    let rows = entries.len().div_ceil(columns);
    let line = |row: usize| {
        let cells = entries[row..].iter().step_by(rows);
        cells
            .map(|cell| fit(cell, HELP_COLUMNS - 2))
            .collect::<String>()
    };
    (0..rows)
        .map(|row| line(row).trim_end().to_owned())
        .collect()
}

fn draw_overlay(frame: &mut Frame<'_>, title: &str, lines: Vec<String>) {
    let lines = lines
        .into_iter()
        .map(|line| Line::raw(format!(" {line} ")))
        .collect();
    draw_box(frame, title, lines);
}

/// Draws lines in a box in the middle of the screen, and returns the area of the lines.
fn draw_box(frame: &mut Frame<'_>, title: &str, lines: Vec<Line<'_>>) -> Rect {
    let area = frame.area();
    let content = lines.iter().map(Line::width).max().unwrap_or(0);
    let width = u16::try_from(content + 2)
        .unwrap_or(u16::MAX)
        .min(area.width);
    let height = u16::try_from(lines.len() + 2)
        .unwrap_or(u16::MAX)
        .min(area.height);
    let place = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    frame.render_widget(Clear, place);
    let block = Block::bordered().title(title.to_owned());
    let inner = block.inner(place);
    frame.render_widget(Paragraph::new(lines).block(block), place);
    inner
}
