//! Turns opencode's sessions into patches.

use memory::{Flavor, SessionId, SessionKind, SessionPatch, Title, TitleRank};

use super::wire;

/// The beginnings of placeholder titles.
const PLACEHOLDERS: [&str; 2] = ["New session - ", "Child session - "];

pub(crate) fn id(native: &str) -> SessionId {
    SessionId::of(Flavor::Opencode, native)
}

/// Returns the patch of a session; `None` if it has no id.
pub(crate) fn patch(session: wire::Session) -> Option<SessionPatch> {
    let automated = is_automated(&session);
    let times = session.time.0.unwrap_or_default();
    let parent = session.parent.into_text();
    let kind = match (&parent, automated) {
        (Some(_), _) => SessionKind::Subagent,
        (None, true) => SessionKind::Automated,
        (None, false) => SessionKind::Main,
    };
    Some(SessionPatch {
        kind: Some(kind),
        title: session.title.into_text().and_then(title),
        cwd: session.directory.into_text(),
        version: session.version.into_text(),
        model: session.model.0.and_then(|model| model.id.into_text()),
        parent: parent.map(|parent| id(&parent)),
        started: times.created.0,
        ended: times.updated.0,
        ..SessionPatch::new(id(session.id.text()?), Flavor::Opencode)
    })
}

/// Says whether `opencode run` started the session, which then may not ask questions.
fn is_automated(session: &wire::Session) -> bool {
    let rules = session.permission.0.as_deref().unwrap_or_default();
    rules
        .iter()
        .any(|rule| rule.permission.is("question") && rule.action.is("deny"))
}

fn title(text: String) -> Option<Title> {
    let given = !PLACEHOLDERS
        .iter()
        .any(|placeholder| text.starts_with(placeholder));
    given.then_some(Title::new(text, TitleRank::Generated))
}

/// Returns the patch that gives a session its first prompt as a title.
pub(crate) fn first_prompt(session: &SessionId, text: &str) -> SessionPatch {
    SessionPatch::new(session.clone(), Flavor::Opencode).with_title(text, TitleRank::FirstPrompt)
}
