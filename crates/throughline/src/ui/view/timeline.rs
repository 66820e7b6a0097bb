//! An open session: its records in the order of its log, the selected one in view.

use jiff::Timestamp;
use memory::RecordKind;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use store::StoredRecord;

use super::{Theme, areas, draw_input};
use crate::commands::sessions::marked_title;
use crate::output::table::count;
use crate::ui::open_session::OpenSession;
use crate::ui::rows::speaker;
use crate::ui::state::{Screen, UiState};
use crate::ui::text::{fit, mark, marked_words, wrap};

/// The lines of a folded record: of speech, and of anything else.
const FOLDED_SPEECH_LINES: usize = 12;
const FOLDED_LINES: usize = 3;
/// The lines of an unfolded record.
const UNFOLDED_LINES_MAX: usize = 5000;
/// How much of a record is wrapped into lines.
const RECORD_BYTES_MAX: usize = 256 << 10;

pub(super) fn draw(
    state: &UiState,
    open: &OpenSession,
    theme: Theme,
    frame: &mut Frame<'_>,
    head: Rect,
    body: Rect,
) {
    let title = marked_title(open.session.name_or_title(), &open.session.marks);
    let total = open.outline.kind.len();
    let following = if open.is_following {
        " · following"
    } else {
        ""
    };
    let mode = open.mode.name();
    let found = match_position(open);
    let position = format!(
        "{found}{} of {total} · {mode}{following} ",
        open.selected + 1
    );
    let width = usize::from(head.width).saturating_sub(position.chars().count() + 2);
    let line = Line::from(vec![
        Span::styled(format!(" {} ", fit(&title, width)), theme.bold()),
        Span::styled(position, theme.dim()),
    ]);
    frame.render_widget(line, head);
    let (timeline, find) = split(open, body);
    let lines = timeline_lines(state, open, theme, timeline);
    frame.render_widget(Paragraph::new(lines), timeline);
    if let Some(area) = find {
        let label = Line::styled(" find ", theme.bold());
        frame.render_widget(label, area);
        let input = Rect {
            x: area.x + 6.min(area.width),
            width: area.width.saturating_sub(6),
            ..area
        };
        draw_input(&open.find, frame, input, state.overlay.is_none());
    }
}

/// Returns which of the matches of the text that is searched for is selected.
fn match_position(open: &OpenSession) -> String {
    let total = open.found.len();
    let selected = open.found.iter().position(|at| *at == open.selected);
    match selected {
        _ if open.find.text.trim().is_empty() => String::new(),
        _ if total == 0 => "no match · ".to_owned(),
        Some(at) => format!("match {} of {total} · ", at + 1),
        None => format!("{} · ", count(total, "matching record")),
    }
}

/// Splits the body into the timeline and, while text is searched for, the line of that text.
fn split(open: &OpenSession, body: Rect) -> (Rect, Option<Rect>) {
    if !open.is_finding || body.height == 0 {
        return (body, None);
    }
    let height = body.height - 1;
    let find = Rect {
        y: body.y + height,
        height: 1,
        ..body
    };
    (Rect { height, ..body }, Some(find))
}

/// Returns how many lines the selected record has, and how many the screen has for it.
pub(in crate::ui) fn selected_record_lines(state: &UiState) -> (usize, usize) {
    let (width, height) = state.size;
    let body = areas(Rect::new(0, 0, width, height)).body;
    let Some(open) = state
        .session
        .as_ref()
        .filter(|_| state.screen == Screen::Session)
    else {
        return (0, usize::from(body.height));
    };
    let theme = Theme { color: state.color };
    let lines = record_lines(state, open, theme, usize::from(width), open.selected);
    (lines.len(), usize::from(split(open, body).0.height))
}

fn timeline_lines(
    state: &UiState,
    open: &OpenSession,
    theme: Theme,
    area: Rect,
) -> Vec<Line<'static>> {
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let is_shown = |kind: RecordKind| open.mode.shows(kind);
    let mut above: Vec<Vec<Line<'static>>> = Vec::new();
    let mut first = open.selected;
    let mut lines_above = 0;
    // A third of the screen shows what came before, unless the selected record is scrolled.
    while open.scroll == 0
        && lines_above < height / 3
        && let Some(before) = open.next_position(first, false, is_shown)
        && open.record(before).is_some()
    {
        let lines = record_lines(state, open, theme, width, before);
        lines_above += lines.len();
        above.push(lines);
        first = before;
    }
    let mut lines: Vec<Line<'static>> = Vec::new();
    if first == 0 {
        let summary = fit(&open.summary, width.saturating_sub(2));
        lines.push(Line::styled(format!(" {summary}"), theme.dim()));
    }
    lines.extend(above.into_iter().rev().flatten());
    let excess = lines.len().saturating_sub(height / 3);
    lines.drain(..excess);
    lines.extend(
        record_lines(state, open, theme, width, open.selected)
            .into_iter()
            .skip(open.scroll),
    );
    let mut position = open.selected;
    while lines.len() < height
        && let Some(next) = open.next_position(position, true, is_shown)
        && open.record(next).is_some()
    {
        lines.extend(record_lines(state, open, theme, width, next));
        position = next;
    }
    lines.truncate(height);
    lines
}

fn record_lines(
    state: &UiState,
    open: &OpenSession,
    theme: Theme,
    width: usize,
    position: usize,
) -> Vec<Line<'static>> {
    let Some(record) = open.record(position) else {
        return vec![Line::styled("  …", theme.dim())];
    };
    let is_selected = position == open.selected;
    let marker = if is_selected { "▸ " } else { "  " };
    let time = record.at.map_or_else(
        || "--:--".to_owned(),
        |at| {
            at.to_zoned(state.zone.clone())
                .strftime("%H:%M")
                .to_string()
        },
    );
    let style = kind_style(record.kind, theme);
    let heading = fit(&heading(record), width.saturating_sub(9));
    let mut lines: Vec<_> = date_line(state, open, theme, position)
        .into_iter()
        .collect();
    lines.push(Line::from(vec![
        Span::styled(marker, theme.bold()),
        Span::styled(format!("{time}  "), theme.dim()),
        Span::styled(heading.trim_end().to_owned(), style.patch(theme.bold())),
    ]));
    let is_speech = matches!(
        record.kind,
        RecordKind::Prompt | RecordKind::Assistant | RecordKind::Summary
    );
    let folded_max = if is_speech {
        FOLDED_SPEECH_LINES
    } else {
        FOLDED_LINES
    };
    let max = if open.is_unfolded(position) {
        UNFOLDED_LINES_MAX
    } else {
        folded_max
    };
    let text = &record.content[..record.content.floor_char_boundary(RECORD_BYTES_MAX)];
    // One line more tells whether there are more.
    let mut text = wrap(text, width.saturating_sub(6), max + 1);
    let is_cut = text.len() > max;
    text.truncate(max);
    let query = if open.find.text.is_empty() {
        &state.input.text
    } else {
        &open.find.text
    };
    let words = marked_words(query);
    for line in &text {
        let style = line_style(record.kind, line, theme);
        let mut marked = mark(line, &words, style, theme.marked());
        marked.spans.insert(0, Span::raw("    "));
        lines.push(marked);
    }
    if is_cut {
        lines.push(Line::styled("    …", theme.dim()));
    }
    lines.push(Line::raw(""));
    lines
}

/// Returns the date of a record, if the record before it is of another day.
fn date_line(
    state: &UiState,
    open: &OpenSession,
    theme: Theme,
    position: usize,
) -> Option<Line<'static>> {
    let date = |position: usize| {
        let millis = (*open.outline.at.get(position)?)?;
        let at = Timestamp::from_millisecond(millis).ok()?;
        Some(at.to_zoned(state.zone.clone()).date())
    };
    let own = date(position)?;
    let before = position.checked_sub(1).and_then(date);
    let text = format!("  {own}");
    (before != Some(own)).then(|| Line::styled(text, theme.dim()))
}

/// Returns who said or did what.
fn heading(record: &StoredRecord) -> String {
    let who = speaker(record.kind, record.tool.as_deref());
    match (record.kind, &record.path) {
        (RecordKind::ToolUse | RecordKind::Artifact, Some(path)) => format!("{who} {path}"),
        _ => who,
    }
}

fn kind_style(kind: RecordKind, theme: Theme) -> Style {
    match kind {
        RecordKind::Prompt | RecordKind::Approval => theme.colored(Color::Green),
        RecordKind::Assistant | RecordKind::Summary => theme.colored(Color::Cyan),
        RecordKind::Error => theme.colored(Color::Red),
        RecordKind::Artifact => theme.colored(Color::Yellow),
        RecordKind::Thinking | RecordKind::ToolUse | RecordKind::ToolResult => theme.dim(),
    }
}

/// Returns the style of a line: changes are coloured, and what people did not say is dim.
fn line_style(kind: RecordKind, line: &str, theme: Theme) -> Style {
    match kind {
        RecordKind::Artifact if line.starts_with('+') => theme.colored(Color::Green),
        RecordKind::Artifact if line.starts_with('-') => theme.colored(Color::Red),
        RecordKind::Thinking | RecordKind::ToolUse | RecordKind::ToolResult => theme.dim(),
        _ => Style::new(),
    }
}
