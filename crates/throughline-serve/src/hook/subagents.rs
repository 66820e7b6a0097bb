//! Detects which sessions are subagents of Copilot.
//!
//! Copilot gives a subagent a session id of its own and never says which session started it. But it
//! reports the start of a subagent in the parent session: a session that first appears in the same
//! folder while the parent waits is the subagent.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, OpenOptions};
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use capture::hook::{HookEvent, HookKind};
use jiff::{SignedDuration, Timestamp};
use memory::{Flavor, SessionKind};
use store::Store;

use super::pending::{create_private_folder, owner_only};

/// The folder of the marker files, beside the store: one file for each folder in which a subagent
/// runs.
const MARKERS_FOLDER: &str = "subagents";
const MARKERS_MAX: usize = 200;
const FILE_BYTES_MAX: u64 = 512;
/// A subagent whose end was not reported counts as ended after this time.
const RUN_TIME_MAX: SignedDuration = SignedDuration::from_hours(1);

/// Records that a subagent starts in a folder, and that its parent continues.
pub(super) fn track_subagents(home: &Path, event: &HookEvent, now: Timestamp) -> io::Result<()> {
    let (Flavor::Copilot, Some(session), Some(path)) =
        (event.flavor, &event.session, marker_path(home, event))
    else {
        return Ok(());
    };
    match event.kind {
        HookKind::SubagentStart => {
            let folder = home.join(MARKERS_FOLDER);
            create_private_folder(&folder)?;
            if fs::read_dir(&folder)?.count() >= MARKERS_MAX {
                fs::remove_dir_all(&folder)?;
                create_private_folder(&folder)?;
            }
            let mut options = OpenOptions::new();
            owner_only(options.write(true).create(true).truncate(true))
                .open(path)?
                .write_all(format!("{} {session}", now.as_millisecond()).as_bytes())
        }
        // Several subagents may run at once, so the end of one says nothing about the others; the
        // parent stops only when all have ended.
        HookKind::Stop | HookKind::SessionEnd if waiting_parent(&path, now).is_some() => {
            fs::remove_file(path)
        }
        _ => Ok(()),
    }
}

/// Returns whether a session is a subagent: the store has it as one, or it appeared while another
/// session waited for a subagent in this folder.
pub(super) fn is_subagent(
    store: &Store,
    home: &Path,
    event: &HookEvent,
    now: Timestamp,
) -> store::Result<bool> {
    let Some(session) = &event.session else {
        return Ok(false);
    };
    match store.session_kind_and_title(session)? {
        Some((kind, _)) => Ok(kind == SessionKind::Subagent),
        None if event.flavor != Flavor::Copilot => Ok(false),
        None => {
            let parent = marker_path(home, event).and_then(|path| waiting_parent(&path, now));
            Ok(parent.is_some_and(|parent| parent != session.as_str()))
        }
    }
}

/// Returns the session that waits for a subagent.
fn waiting_parent(path: &Path, now: Timestamp) -> Option<String> {
    let mut text = String::new();
    let file = fs::File::open(path).ok()?;
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
    let (since, session) = text.split_once(' ')?;
    let since = Timestamp::from_millisecond(since.parse().ok()?).ok()?;
    (now.duration_since(since) < RUN_TIME_MAX).then(|| session.to_owned())
}

/// Returns the marker file for an event's folder. Its name is a hash, because a path may be
/// sensitive.
fn marker_path(home: &Path, event: &HookEvent) -> Option<PathBuf> {
    let mut hasher = DefaultHasher::new();
    event.cwd.as_ref()?.hash(&mut hasher);
    let name = format!("{:016x}", hasher.finish());
    Some(home.join(MARKERS_FOLDER).join(name))
}
