//! The text of one record of a session.

use jiff::Timestamp;
use jiff::civil::Date;
use memory::{RecordId, RecordKind, Session};
use serve::requests::transcript::speaker_name;
use store::{Store, StoredRecord};

use crate::commands::App;
use crate::output::text::{find_ignoring_case, indent, sanitize};

/// The lines of a tool result that are shown unless everything is.
const LINES_SHOWN: usize = 12;

/// The lines before and after each match that `--grep` shows of a long record.
const MATCH_NEIGHBORS: usize = 2;

/// How the records of a session are laid out, one after the other.
pub(super) struct RecordLayout<'a> {
    app: &'a App<'a>,
    store: &'a Store,
    /// The whole log is deleted, so records are not marked one by one.
    is_log_gone: bool,
    /// Long results and thinking are shown whole.
    full: bool,
    /// The record that the others surround.
    pub(super) marked: Option<RecordId>,
    /// Text that is highlighted, in lower case.
    pub(super) highlighted: Option<String>,
    /// The date of the last heading, for a session of several days.
    date: Option<Date>,
}

impl<'a> RecordLayout<'a> {
    pub(super) fn new(app: &'a App<'a>, store: &'a Store, session: &Session, full: bool) -> Self {
        let day =
            |at: Option<Timestamp>| at.map(|at| at.to_zoned(app.environment.zone.clone()).date());
        let (first, last) = (day(session.started), day(session.ended));
        Self {
            app,
            store,
            is_log_gone: session.source_gone,
            full,
            marked: None,
            highlighted: None,
            // The heading of a session of one day has its date.
            date: first.filter(|first| Some(*first) == last),
        }
    }
}

/// Formats a record with a heading: when, who, and its id.
pub(super) fn format_record(layout: &mut RecordLayout<'_>, record: &StoredRecord) -> String {
    let style = layout.app.style();
    let zoned = record
        .at
        .map(|at| at.to_zoned(layout.app.environment.zone.clone()));
    let mut date_line = String::new();
    if let Some(date) = zoned.as_ref().map(jiff::Zoned::date)
        && layout.date != Some(date)
    {
        layout.date = Some(date);
        date_line = format!("{}\n\n", style.dim(&date.to_string()));
    }
    let when = zoned.map_or("--:--:--".to_owned(), |at| {
        at.strftime("%H:%M:%S").to_string()
    });
    let mark = match layout.marked == Some(record.id) {
        true => "→ ",
        false => "",
    };
    let code = record
        .metadata
        .get("exit_code")
        .and_then(|code| code.as_str())
        .filter(|code| *code != "0")
        .map_or_else(String::new, |code| format!(", exit {code}"));
    let note = if record.in_source || layout.is_log_gone {
        ""
    } else {
        "  (no longer in its log)"
    };
    let id = match layout.store.short_record_id(record.id) {
        Ok(id) => id,
        Err(error) => {
            tracing::warn!(record = %record.id, %error, "cannot shorten the id of a record");
            record.id.to_string()
        }
    };
    let head = sanitize(&format!(
        "{mark}{when}  {}{code}{note}",
        speaker_name(record)
    ));
    let text = match &layout.highlighted {
        Some(word) => {
            let text = sanitize(&record.content);
            let text = match layout.full {
                true => text,
                false => matching_lines(&text, word),
            };
            style.highlight(&text, &find_ignoring_case(&text, word))
        }
        None => shorten_content(layout.full, record),
    };
    format!(
        "{date_line}{}  {}\n{}",
        style.speaker(record.kind, &head),
        style.dim(&id),
        indent(&text, "    ")
    )
}

/// Returns the lines of a long text that contain a word, each with its neighbors.
fn matching_lines(text: &str, word: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    if lines.len() <= LINES_SHOWN {
        return text.to_owned();
    }
    let is_match: Vec<_> = lines
        .iter()
        .map(|line| line.to_lowercase().contains(word))
        .collect();
    let mut shown = Vec::new();
    let mut is_cut = false;
    for (at, line) in lines.iter().enumerate() {
        let near = at.saturating_sub(MATCH_NEIGHBORS)..(at + MATCH_NEIGHBORS + 1).min(lines.len());
        if is_match[near].contains(&true) {
            shown.extend(is_cut.then_some("…"));
            shown.push(line);
        }
        is_cut = shown.last() != Some(line);
    }
    // A match that spans lines is on none of them.
    if shown.is_empty() {
        return text.to_owned();
    }
    shown.extend(is_cut.then_some("…"));
    shown.join("\n")
}

/// Returns a record's text, cut to a few lines unless it is speech or `full` is set.
fn shorten_content(full: bool, record: &StoredRecord) -> String {
    let text = sanitize(&record.content);
    let spoken = matches!(
        record.kind,
        RecordKind::Prompt | RecordKind::Assistant | RecordKind::Summary
    );
    let lines = text.lines().count();
    if full || spoken || lines <= LINES_SHOWN {
        return text;
    }
    let head: Vec<_> = text.lines().take(LINES_SHOWN).collect();
    format!(
        "{}\n… {} more lines (--full shows them)",
        head.join("\n"),
        lines - LINES_SHOWN
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_reduced_to_their_matches() {
        let mut lines: Vec<String> = (1..=30).map(|number| format!("line {number}")).collect();
        lines[9] = "the Needle".to_owned();
        lines[27] = "needle again".to_owned();
        let shown = matching_lines(&lines.join("\n"), "needle");
        assert_eq!(
            shown,
            "…\nline 8\nline 9\nthe Needle\nline 11\nline 12\n\
             …\nline 26\nline 27\nneedle again\nline 29\nline 30"
        );
        assert_eq!(matching_lines("a\nneedle", "needle"), "a\nneedle");
    }
}
