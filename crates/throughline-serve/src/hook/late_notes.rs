//! Answers that have to wait for a later event, because the agent accepts no text with this one.
//!
//! Right after a compaction, Copilot and Gemini accept text only with the next prompt, Grok and
//! Cursor only with the next tool result. Grok does not accept text with a prompt either. So the
//! hook that learns of the compaction or the prompt writes a small marker file for the session. The
//! next answer that can carry text carries what is due, and the process that prints it marks the
//! file as done.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use capture::hook::{HookEvent, HookKind, NotesCarrier};
use jiff::Timestamp;
use memory::{Flavor, SessionId};
use store::Store;

use super::pending::{create_private_folder, file_name, owner_only};

/// The folder of the marker files, beside the store.
const FOLDER: &str = "compacted";
/// The most sessions with a marker; the oldest marker makes room for a new one.
const SESSIONS_MAX: usize = 500;
/// The longest content of a marker.
const FILE_BYTES_MAX: u64 = 64;
const NOTES_PENDING: &str = "waiting";
const MEMORY_PENDING: &str = "prompted";
/// A request that is smaller than this share of the previous one was sent after a compaction.
const SHRINK_RATIO_MAX: f64 = 0.5;
/// No agent compacts smaller conversations.
const COMPACTED_TOKENS_MIN: u64 = 20_000;

/// Records a compaction or a prompt with which this agent accepts no text.
pub(super) fn record_unanswered(home: &Path, event: &HookEvent) -> io::Result<()> {
    let carrier = event.dialect.notes_carrier();
    let Some(session) = event.session.as_ref().filter(|_| event.subagent.is_none()) else {
        return Ok(());
    };
    let pending = match &event.kind {
        HookKind::PreCompact | HookKind::PostCompact if carrier != NotesCarrier::SessionStart => {
            NOTES_PENDING
        }
        HookKind::Prompt { automatic, .. }
            if carrier == NotesCarrier::ToolResult
                && !automatic
                && !has_pending_notes(home, session) =>
        {
            MEMORY_PENDING
        }
        _ => return Ok(()),
    };
    let folder = home.join(FOLDER);
    create_private_folder(&folder)?;
    remove_oldest_marker(&folder)?;
    write_marker(&marker_path(home, session), pending)
}

/// Returns whether an answer to this event can carry notes in this agent.
pub(super) fn can_carry_notes(event: &HookEvent) -> bool {
    matches!(
        (event.dialect.notes_carrier(), &event.kind),
        (NotesCarrier::Prompt, HookKind::Prompt { .. })
            | (NotesCarrier::ToolResult, HookKind::ToolAfter)
    )
}

/// Returns whether a compaction was recorded whose notes have not been given yet.
fn has_pending_notes(home: &Path, session: &SessionId) -> bool {
    read_marker(&marker_path(home, session)).as_deref() == Some(NOTES_PENDING)
}

/// Returns whether a prompt was recorded whose memory has not been given yet.
pub(super) fn has_pending_memory(home: &Path, session: &SessionId) -> bool {
    read_marker(&marker_path(home, session)).as_deref() == Some(MEMORY_PENDING)
}

/// Returns whether notes or memory have not been given yet.
pub(super) fn has_pending_answer(home: &Path, session: &SessionId) -> bool {
    has_pending_notes(home, session) || has_pending_memory(home, session)
}

/// Returns the mark of the compaction whose notes this event has to carry, if there is one.
pub(super) fn due_compaction(
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
    // Gemini announces a compaction before every request and does not report when one happened, but
    // the sizes of its requests show it.
    if event.flavor != Flavor::Gemini {
        return Ok(None);
    }
    let shrunk = shrunk_at(store, session)?.map(|at| at.as_millisecond().to_string());
    Ok(shrunk.filter(|at| marked.as_deref() != Some(at)))
}

/// Marks the notes of a compaction as given.
pub(super) fn mark_notes_given(
    home: &Path,
    session: &SessionId,
    compaction: &str,
) -> io::Result<()> {
    let folder = home.join(FOLDER);
    create_private_folder(&folder)?;
    remove_oldest_marker(&folder)?;
    write_marker(&marker_path(home, session), compaction)
}

/// Returns the time of a session's last request if it was much smaller than the one before.
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
