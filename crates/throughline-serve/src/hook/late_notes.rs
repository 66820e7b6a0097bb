//! Notes for agents that take no text right after a compaction.
//!
//! Copilot and Gemini hear nothing until the next prompt, Grok and Cursor until the next result of
//! a tool. So the hook that is told of a compaction leaves a small file for the session, the next
//! answer that can carry text carries the notes, and the process that prints them marks the file as
//! done.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use capture::hook::{HookEvent, HookKind, NotesCarrier};
use jiff::Timestamp;
use memory::{Flavor, SessionId};
use store::Store;

use super::pending::{create_private_folder, file_name, owner_only};

/// The name of the folder beside the store.
const FOLDER: &str = "compacted";
/// Sessions that are remembered; the oldest makes room for a new one.
const SESSIONS_MAX: usize = 500;
/// What a file says at most.
const FILE_BYTES_MAX: u64 = 64;
const NOTES_PENDING: &str = "waiting";
/// A request this much smaller than the one before it was made of a compacted conversation.
const SHRINK_RATIO_MAX: f64 = 0.5;
/// Smaller conversations are not compacted by any agent.
const COMPACTED_TOKENS_MIN: u64 = 20_000;

/// Notes an event that a later answer depends on: a compaction after which this agent takes no
/// text.
pub fn record_compaction(home: &Path, event: &HookEvent) -> io::Result<()> {
    let is_compaction = matches!(event.kind, HookKind::PreCompact | HookKind::PostCompact);
    let Some(session) = event.session.as_ref().filter(|_| {
        is_compaction
            && event.subagent.is_none()
            && event.dialect.notes_carrier() != NotesCarrier::SessionStart
    }) else {
        return Ok(());
    };
    let folder = home.join(FOLDER);
    create_private_folder(&folder)?;
    remove_oldest_marker(&folder)?;
    write_marker(&marker_path(home, session), NOTES_PENDING)
}

/// Says whether an event can carry notes in this agent.
pub fn can_carry_notes(event: &HookEvent) -> bool {
    matches!(
        (event.dialect.notes_carrier(), &event.kind),
        (NotesCarrier::Prompt, HookKind::Prompt { .. })
            | (NotesCarrier::ToolResult, HookKind::ToolAfter)
    )
}

/// Says whether a hook has told of a compaction whose notes were not given yet.
pub fn has_pending_notes(home: &Path, session: &SessionId) -> bool {
    read_marker(&marker_path(home, session)).as_deref() == Some(NOTES_PENDING)
}

/// Returns what names the compaction whose notes this event carries, if there is one.
pub fn due_compaction(
    store: &Store,
    home: &Path,
    event: &HookEvent,
) -> store::Result<Option<String>> {
    let Some(session) = event.session.as_ref().filter(|_| can_carry_notes(event)) else {
        return Ok(None);
    };
    let marked = read_marker(&marker_path(home, session));
    if marked.as_deref() == Some(NOTES_PENDING) {
        return Ok(Some(String::new()));
    }
    // Gemini announces a compaction before every request, and does not say when there was one. The
    // sizes of its requests do.
    if event.flavor != Flavor::Gemini {
        return Ok(None);
    }
    let shrunk = shrunk_at(store, session)?.map(|at| at.as_millisecond().to_string());
    Ok(shrunk.filter(|at| marked.as_deref() != Some(at)))
}

/// Marks the notes of a compaction as given.
pub fn mark_notes_given(home: &Path, session: &SessionId, compaction: &str) -> io::Result<()> {
    let folder = home.join(FOLDER);
    create_private_folder(&folder)?;
    remove_oldest_marker(&folder)?;
    write_marker(&marker_path(home, session), compaction)
}

/// Returns when a session's last request was much smaller than the one before.
fn shrunk_at(store: &Store, session: &SessionId) -> store::Result<Option<Timestamp>> {
    let sizes = store.last_requests(session, 2)?;
    let [last, before] = sizes.as_slice() else {
        return Ok(None);
    };
    let limit = before.tokens as f64 * SHRINK_RATIO_MAX;
    let is_smaller = before.tokens >= COMPACTED_TOKENS_MIN && (last.tokens as f64) < limit;
    Ok(is_smaller.then_some(last.at))
}

fn remove_oldest_marker(folder: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        files.push((entry.metadata()?.modified()?, entry.path()));
    }
    if files.len() < SESSIONS_MAX {
        return Ok(());
    }
    match files.into_iter().min() {
        Some((_, oldest)) => fs::remove_file(oldest),
        None => Ok(()),
    }
}

fn marker_path(home: &Path, session: &SessionId) -> PathBuf {
    home.join(FOLDER).join(file_name(session))
}

fn read_marker(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = fs::File::open(path).ok()?;
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
    Some(text)
}

fn write_marker(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    owner_only(options.write(true).create(true).truncate(true))
        .open(path)?
        .write_all(text.as_bytes())
}
