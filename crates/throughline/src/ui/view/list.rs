//! A list with the preview of its selected row.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::{TALL_ROWS, Theme, WIDE_COLUMNS};
use crate::ui::state::{ListRow, ListedSessions, Reach, RowTarget, Screen, UiState};
use crate::ui::text::{clean, fit, has_match, mark, marked_words, wrap};

/// The most that the columns before the title, and the count behind it, are wide.
const LABEL_COLUMNS_MAX: usize = 11;
const AGE_COLUMNS_MAX: usize = 6;
const PLACE_COLUMNS_MAX: usize = 14;
const COUNT_COLUMNS_MAX: usize = 12;
/// Names of models and workspaces in the list of usage.
const GROUP_COLUMNS_MAX: usize = 28;
/// A narrower list has no column for the workspace, or for the count.
const PLACE_FROM: usize = 50;
const COUNT_FROM: usize = 36;
/// Where titles would be narrower than this, the workspace is shortened to the third width, and
/// then the count is left out. A list without workspaces has less room.
const TITLE_COLUMNS_MIN: usize = 20;
const TITLE_COLUMNS_MIN_NARROW: usize = 16;
const PLACE_COLUMNS_NARROW: usize = 10;
/// The lines that further hits of the session have in a preview.
const FURTHER_LINES: usize = 3;
/// The lines of a preview that are searched for a match.
const PREVIEW_LINES_MAX: usize = 2000;

/// Splits the body into the list and its preview.
pub(super) fn split(body: Rect) -> (Rect, Option<Rect>) {
    if body.width >= WIDE_COLUMNS {
        let width = body.width * 11 / 20;
        let preview = Rect {
            x: body.x + width,
            width: body.width - width,
            ..body
        };
        return (Rect { width, ..body }, Some(preview));
    }
    // The tabs, the head and the foot are not in the body.
    if body.height + 3 < TALL_ROWS {
        return (body, None);
    }
    let height = body.height / 2;
    let preview = Rect {
        y: body.y + height,
        height: body.height - height,
        ..body
    };
    (Rect { height, ..body }, Some(preview))
}

pub(super) fn draw(state: &UiState, theme: Theme, frame: &mut Frame<'_>, body: Rect) {
    let (list, preview) = split(body);
    draw_rows(state, theme, frame, list);
    if let Some(area) = preview {
        draw_preview(state, theme, frame, area);
    }
}

fn draw_rows(state: &UiState, theme: Theme, frame: &mut Frame<'_>, area: Rect) {
    let list = state.list();
    if list.rows.is_empty() {
        let lines = wrap(
            &empty_text(state),
            usize::from(area.width).saturating_sub(2),
            4,
        );
        let lines: Vec<Line<'_>> = lines
            .into_iter()
            .map(|line| Line::styled(format!(" {line}"), theme.dim()))
            .collect();
        frame.render_widget(Paragraph::new(lines), area);
        return;
    }
    let height = usize::from(area.height);
    // The selected row stays in the middle where the list is longer than the screen.
    let last_start = list.rows.len().saturating_sub(height);
    let start = list.selected.saturating_sub(height / 2).min(last_start);
    let rows = list.rows.iter().enumerate().skip(start).take(height);
    let is_usage = state.screen == Screen::Usage;
    let widths = ColumnWidths::new(&list.rows, usize::from(area.width), is_usage);
    let lines: Vec<Line<'_>> = rows
        .map(|(at, row)| row_line(row, at == list.selected, theme, &widths))
        .collect();
    frame.render_widget(Paragraph::new(lines), area);
}

/// Returns why a list is empty, and how to look further. Nothing is said while an answer is due.
fn empty_text(state: &UiState) -> String {
    let list = state.list();
    if list.is_pending() {
        return if state.is_slow { "Searching …" } else { "" }.to_owned();
    }
    let further = match state.reach {
        Reach::Everywhere => "",
        Reach::Here | Reach::Related => " Tab searches further.",
    };
    match state.screen {
        Screen::Search | Screen::Session if state.input.text.is_empty() => {
            let listed = match state.sessions {
                ListedSessions::All => String::new(),
                listed => format!("{} ", listed.name()),
            };
            format!("No {listed}sessions {}.{further}", state.reach.name())
        }
        Screen::Search | Screen::Session => {
            let (text, reach) = (&state.input.text, state.reach.name());
            format!("Nothing found {reach} for “{text}”.{further}")
        }
        Screen::Memory => format!("No facts {}.{further}", state.reach.name()),
        Screen::Given => {
            "No agent was given anything yet. `throughline install` connects them.".to_owned()
        }
        Screen::Usage => "No token usage is recorded.".to_owned(),
        Screen::Keep => String::new(),
        Screen::Patterns => "Nothing recurs in enough sessions yet.".to_owned(),
    }
}

/// The widths of the columns of a list: as wide as its contents.
struct ColumnWidths {
    label: usize,
    age: usize,
    place: usize,
    title: usize,
    count: usize,
    /// The first two columns are figures.
    has_figures: bool,
}

impl ColumnWidths {
    fn new(rows: &[ListRow], width: usize, is_usage: bool) -> Self {
        let widest = |cell: fn(&ListRow) -> &String, max: usize| {
            let cells = rows.iter().map(|row| cell(row).width());
            // A space parts the columns.
            cells
                .max()
                .map_or(0, |cell| if cell == 0 { 0 } else { cell.min(max) + 1 })
        };
        let label = widest(|row| &row.label, LABEL_COLUMNS_MAX);
        let age = widest(|row| &row.age, AGE_COLUMNS_MAX);
        let mut place = if width < PLACE_FROM {
            0
        } else {
            let max = if is_usage {
                GROUP_COLUMNS_MAX
            } else {
                PLACE_COLUMNS_MAX
            };
            widest(|row| &row.place, max)
        };
        let mut count = if width < COUNT_FROM {
            0
        } else {
            widest(|row| &row.count, COUNT_COLUMNS_MAX)
        };
        // A space stands at both ends of a row.
        let room = width.saturating_sub(1 + label + age + 1);
        let title_min = match width < PLACE_FROM {
            true => TITLE_COLUMNS_MIN_NARROW,
            false => TITLE_COLUMNS_MIN,
        };
        let is_narrow = |place: usize, count: usize| {
            !is_usage && room.saturating_sub(place + count) < title_min
        };
        if is_narrow(place, count) {
            place = place.min(PLACE_COLUMNS_NARROW + 1);
        }
        if is_narrow(place, count) {
            count = 0;
        }
        Self {
            label,
            age,
            place,
            title: room.saturating_sub(place + count),
            count,
            has_figures: is_usage,
        }
    }
}

fn row_line(
    row: &ListRow,
    is_selected: bool,
    theme: Theme,
    widths: &ColumnWidths,
) -> Line<'static> {
    let marker = if is_selected { "▸" } else { " " };
    // The selected row is one block in any theme.
    let (label_style, dim) = match row.target {
        _ if is_selected => (Style::new(), Style::new()),
        RowTarget::Fact { .. } => (theme.colored(Color::Green), theme.dim()),
        _ => (theme.colored(Color::Cyan), theme.dim()),
    };
    let cell = |text: &str, columns: usize| match columns {
        0 => String::new(),
        _ => format!("{} ", fit(text, columns - 1)),
    };
    let figure = |text: &str, columns: usize| match widths.has_figures && columns > 0 {
        true => format!("{:>width$} ", clean(text), width = columns - 1),
        false => cell(text, columns),
    };
    let count = fit(&row.count, widths.count.saturating_sub(1));
    let count = format!("{:>width$}", count.trim_end(), width = widths.count);
    let line = Line::from(vec![
        Span::raw(marker),
        Span::styled(figure(&row.label, widths.label), label_style),
        Span::styled(figure(&row.age, widths.age), dim),
        Span::styled(cell(&row.place, widths.place), dim),
        Span::raw(fit(&row.title, widths.title)),
        Span::styled(count, dim),
    ]);
    if is_selected {
        line.style(theme.selected())
    } else {
        line
    }
}

fn draw_preview(state: &UiState, theme: Theme, frame: &mut Frame<'_>, area: Rect) {
    let list = state.list();
    let is_beside = area.x > 0;
    let border = if is_beside { "│ " } else { "  " };
    let width = usize::from(area.width).saturating_sub(3);
    let height = usize::from(area.height);
    let mut lines = Vec::new();
    if !is_beside {
        lines.push(Line::styled(
            "─".repeat(usize::from(area.width)),
            theme.dim(),
        ));
    }
    if let (Some(row), Some(page)) = (list.row(), list.preview()) {
        let number = if row.pages.len() > 1 {
            format!("{}/{}  ", list.page + 1, row.pages.len())
        } else {
            String::new()
        };
        let heading = fit(&format!("{number}{}", page.heading), width);
        lines.push(Line::from(vec![
            Span::styled(border, theme.dim()),
            Span::styled(heading, theme.bold()),
        ]));
        let words = match state.screen {
            Screen::Search => marked_words(&state.input.text),
            _ => Vec::new(),
        };
        let text = wrap(&page.text, width, PREVIEW_LINES_MAX);
        let room = height.saturating_sub(lines.len());
        // The first match stands in the middle.
        let first = text
            .iter()
            .position(|line| has_match(line, &words))
            .unwrap_or(0);
        let start = first
            .saturating_sub(room / 2)
            .min(text.len().saturating_sub(room));
        for line in text.iter().skip(start).take(room) {
            let mut marked = mark(line, &words, theme.colored(Color::Reset), theme.marked());
            marked.spans.insert(0, Span::styled(border, theme.dim()));
            lines.push(marked);
        }
    }
    for page in list
        .row()
        .into_iter()
        .flat_map(|row| row.pages.iter().skip(list.page + 1))
    {
        if lines.len() + 2 >= height {
            break;
        }
        lines.push(Line::styled(border, theme.dim()));
        let heading = fit(&page.heading, width);
        lines.push(Line::styled(format!("{border}{heading}"), theme.dim()));
        let words = marked_words(&state.input.text);
        let text = wrap(&page.text, width, PREVIEW_LINES_MAX);
        let first = text
            .iter()
            .position(|line| has_match(line, &words))
            .unwrap_or(0);
        let room = height.saturating_sub(lines.len()).min(FURTHER_LINES);
        let shown = text.iter().skip(first).filter(|line| !line.is_empty());
        for line in shown.take(room) {
            let mut marked = mark(line, &words, theme.colored(Color::Reset), theme.marked());
            marked.spans.insert(0, Span::styled(border, theme.dim()));
            lines.push(marked);
        }
    }
    while is_beside && lines.len() < height {
        lines.push(Line::styled(border, theme.dim()));
    }
    frame.render_widget(Paragraph::new(lines), area);
}
