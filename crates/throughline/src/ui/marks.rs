//! Stars, names, tags and archiving of a session: the actions, the line that is typed into, and
//! the changes in the store.

use crossterm::event::{KeyCode, KeyEvent};
use memory::{SessionId, SessionMarks};
use store::MarksPatch;

use super::input::TextInput;
use super::keys::UiAction;
use super::messages::{UiAnswer, UiEffect, UiQuestion};
use super::state::{Overlay, UiState};
use super::update::{ask_refresh, edit_line, is_cancel};
use super::worker::Worker;
use crate::commands::mark::parse_tag;
use crate::commands::sessions::session_label;
use crate::commands::show;

/// A mark that is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TypedMark {
    Name,
    Tags,
}

impl TypedMark {
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Name => " name ",
            Self::Tags => " tags ",
        }
    }

    pub(super) const fn hint(self) -> &'static str {
        match self {
            Self::Name => "Enter stores the name, or takes it away if empty. Esc keeps it.",
            Self::Tags => "Words, separated by spaces. Enter stores them, Esc keeps the old ones.",
        }
    }
}

/// The line in which a mark of a session is typed.
#[derive(Debug)]
pub(super) struct MarkInput {
    pub(super) session: SessionId,
    pub(super) mark: TypedMark,
    pub(super) input: TextInput,
}

/// A change of a session's marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MarkRequest {
    /// Adds the star, or takes it away.
    Star,
    /// Archives the session, or lists it again.
    Archive,
    Name(String),
    /// Replaces the tags by the words of a line.
    Tags(String),
}

/// Starts what a key does to the marks of the selected session.
pub(super) fn mark(state: &mut UiState, action: UiAction) -> Vec<UiEffect> {
    let Some(session) = state.session_id().cloned() else {
        state.notice = Some("Select a session to mark it.".to_owned());
        return Vec::new();
    };
    let question = match action {
        UiAction::Name => UiQuestion::TypeMark(session, TypedMark::Name),
        UiAction::Tag => UiQuestion::TypeMark(session, TypedMark::Tags),
        UiAction::Archive => UiQuestion::Mark(session, MarkRequest::Archive),
        _ => UiQuestion::Mark(session, MarkRequest::Star),
    };
    vec![UiEffect::Ask(question)]
}

/// Takes a key while a mark is typed.
pub(super) fn update_input(
    state: &mut UiState,
    mut line: MarkInput,
    key: &KeyEvent,
) -> Vec<UiEffect> {
    match key.code {
        _ if is_cancel(key) => {
            state.notice = Some("Nothing was changed.".to_owned());
            Vec::new()
        }
        KeyCode::Enter => {
            let text = line.input.text;
            let request = match line.mark {
                TypedMark::Name => MarkRequest::Name(text),
                TypedMark::Tags => MarkRequest::Tags(text),
            };
            vec![UiEffect::Ask(UiQuestion::Mark(line.session, request))]
        }
        _ => {
            edit_line(&mut line.input, key);
            state.overlay = Some(Overlay::Mark(line));
            Vec::new()
        }
    }
}

/// Shows the new marks of a session where it is open, and reads the list again.
pub(super) fn take_marks(
    state: &mut UiState,
    session: &SessionId,
    marks: SessionMarks,
    notice: String,
) -> Vec<UiEffect> {
    state.notice = Some(notice);
    if let Some(open) = &mut state.session
        && open.session.id == *session
    {
        open.session.marks = marks;
    }
    ask_refresh(state, state.list_screen())
}

/// Reads a mark into a line to be edited.
pub(super) fn read(
    worker: &Worker<'_>,
    session: SessionId,
    mark: TypedMark,
) -> anyhow::Result<UiAnswer> {
    let marks = show::find_session(worker.store, session.as_str())?.marks;
    let mut input = TextInput::default();
    match mark {
        TypedMark::Name => input.insert(&marks.name.unwrap_or_default()),
        TypedMark::Tags => input.insert(&marks.tags.join(" ")),
    }
    Ok(UiAnswer::TypeMark(MarkInput {
        session,
        mark,
        input,
    }))
}

/// Changes the marks of a session.
pub(super) fn change(
    worker: &Worker<'_>,
    session: SessionId,
    request: &MarkRequest,
) -> anyhow::Result<UiAnswer> {
    let before = show::find_session(worker.store, session.as_str())?.marks;
    let mut patch = MarksPatch::default();
    match request {
        MarkRequest::Star => patch.starred = Some(!before.starred),
        MarkRequest::Archive => patch.archived = Some(!before.archived),
        MarkRequest::Name(name) => patch.name = Some(name.clone()),
        MarkRequest::Tags(line) => {
            let tags = line
                .split_whitespace()
                .map(|tag| parse_tag(tag.trim_start_matches('#')));
            let tags: Result<Vec<_>, _> = tags.collect();
            patch.add_tags = tags.map_err(anyhow::Error::msg)?;
            let is_removed = |tag: &&String| !patch.add_tags.contains(tag);
            patch.remove_tags = before.tags.iter().filter(is_removed).cloned().collect();
        }
    }
    let label = session_label(worker.store, &session);
    let Some(marks) = worker.store.mark_session(&session, &patch)? else {
        return Ok(UiAnswer::Failed(format!(
            "{label} was deleted in the meantime."
        )));
    };
    let notice = match request {
        MarkRequest::Star if marks.starred => format!("Starred {label}."),
        MarkRequest::Star => format!("Took the star of {label} away."),
        MarkRequest::Archive if marks.archived => {
            format!("Archived {label}; searches still find it.")
        }
        MarkRequest::Archive => format!("{label} is listed again."),
        MarkRequest::Name(_) => match &marks.name {
            Some(name) => format!("Named {label} “{name}”."),
            None => format!("{label} has its title again."),
        },
        MarkRequest::Tags(_) if marks.tags.is_empty() => format!("{label} has no tags."),
        MarkRequest::Tags(_) => format!("Tagged {label} #{}.", marks.tags.join(" #")),
    };
    Ok(UiAnswer::Marked {
        session,
        marks,
        notice,
    })
}
