//! A queue on disk for the follow-up work of hooks that ran without a daemon: one file per session.
//!
//! The next `ingest` or daemon drains it. Most entries only say that something happened in a
//! session, so a session holds each entry once. Injections are kept until they are recorded, and
//! are consulted meanwhile so that nothing is shown twice.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use memory::{MemoryItem, SessionId};

use super::follow_up::FollowUp;

/// The queue's folder, in the data folder.
const FOLDER: &str = "pending";
const LOCK_FILE: &str = "lock";
/// The most sessions in the queue.
pub const SESSIONS_MAX: usize = 1_000;
/// The size limit of one session's file.
pub const SESSION_BYTES_MAX: u64 = 256 << 10;
/// Longer session ids, and ids with unusual characters, are rejected.
const ID_CHARS_MAX: usize = 160;
/// Other processes hold the lock for microseconds, but on a busy machine they may not be scheduled
/// to release it. A hook that waits here is ended by its own deadline.
const LOCK_ATTEMPTS_MAX: u32 = 4_000;
const LOCK_RETRY_INTERVAL: Duration = Duration::from_micros(250);

/// Adds follow-up work for an event of a session.
pub fn enqueue(home: &Path, session: &SessionId, follow_ups: &[FollowUp]) -> io::Result<()> {
    if follow_ups.is_empty() {
        return Ok(());
    }
    if !is_valid_session_id(session.as_str()) {
        return Err(io::Error::other("invalid session id"));
    }
    let folder = home.join(FOLDER);
    create_private_folder(&folder)?;
    let _lock = lock_queue(&folder)?;
    let path = queue_path(&folder, session);
    let before = read_queue_file(&path);
    if before.is_empty() && count_queue_files(&folder)? >= SESSIONS_MAX {
        return Err(io::Error::other("too many sessions are queued already"));
    }
    let mut lines = String::new();
    for follow_up in follow_ups {
        let line = serde_json::to_string(follow_up).map_err(io::Error::other)?;
        if !before.lines().any(|known| known == line) {
            lines.push_str(&line);
            lines.push('\n');
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    // The previous writer may have been killed in the middle of a line.
    if !before.is_empty() && !before.ends_with('\n') {
        lines.insert(0, '\n');
    }
    if (before.len() + lines.len()) as u64 > SESSION_BYTES_MAX {
        return Err(io::Error::other("the queue of this session is full"));
    }
    owner_only(OpenOptions::new().append(true).create(true))
        .open(path)?
        .write_all(lines.as_bytes())
}

/// Returns what was shown to a session and is not recorded yet.
pub fn pending_injected_items(home: &Path, session: &SessionId) -> BTreeSet<MemoryItem> {
    let text = read_queue_file(&queue_path(&home.join(FOLDER), session));
    let injected = parse_follow_ups(&text)
        .into_iter()
        .filter_map(|follow_up| match follow_up {
            FollowUp::Injected(injected) => Some(injected.items()),
            _ => None,
        });
    injected.flatten().map(|(item, _)| item).collect()
}

/// The number of latest queue files that are checked.
const RECENT_QUEUES_MAX: usize = 4;

/// Returns the sessions whose last turn has ended and whose log is not read yet, latest first.
pub fn sessions_with_unread_end(home: &Path) -> io::Result<Vec<SessionId>> {
    let entries = match fs::read_dir(home.join(FOLDER)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        if path.extension().is_some_and(|end| end == "jsonl") {
            files.push((entry.metadata()?.modified()?, path));
        }
    }
    files.sort();
    let latest = files.iter().rev().take(RECENT_QUEUES_MAX);
    let follow_ups = latest.flat_map(|(_, path)| parse_follow_ups(&read_queue_file(path)));
    Ok(follow_ups
        .filter_map(|follow_up| match follow_up {
            FollowUp::Refresh(session) => Some(session),
            _ => None,
        })
        .collect())
}

/// Passes all queued work to `carry_out`. Work that fails stays queued.
pub fn drain<E: From<io::Error>>(
    home: &Path,
    mut carry_out: impl FnMut(Vec<FollowUp>) -> Result<(), E>,
) -> Result<usize, E> {
    let folder = home.join(FOLDER);
    let mut done = 0;
    for taken in claim_queue_files(&folder)? {
        let follow_ups = parse_follow_ups(&read_queue_file(&taken));
        carry_out(follow_ups)?;
        fs::remove_file(&taken)?;
        done += 1;
    }
    Ok(done)
}

/// Renames the queue files, so that no hook appends to work in progress. Also returns files that an
/// earlier, interrupted drain has renamed.
fn claim_queue_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let _lock = lock_queue(folder)?;
    let mut taken = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let aside = path.with_extension("taken");
        match path.extension().and_then(|end| end.to_str()) {
            Some("taken") => taken.push(path),
            // The file of an interrupted drain comes first; this one follows with the next drain.
            Some("jsonl") if aside.exists() => {}
            Some("jsonl") => {
                fs::rename(&path, &aside)?;
                taken.push(aside);
            }
            _ => {}
        }
    }
    taken.sort();
    taken.dedup();
    Ok(taken)
}

/// Parses queued lines. Unknown lines, such as those of a newer version, are skipped.
fn parse_follow_ups(text: &str) -> Vec<FollowUp> {
    let lines = text.lines();
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

fn read_queue_file(path: &Path) -> String {
    let mut text = String::new();
    let read =
        File::open(path).and_then(|file| file.take(SESSION_BYTES_MAX).read_to_string(&mut text));
    match read {
        Ok(_) => text,
        Err(_) => String::new(),
    }
}

fn count_queue_files(folder: &Path) -> io::Result<usize> {
    Ok(fs::read_dir(folder)?.count())
}

fn queue_path(folder: &Path, session: &SessionId) -> PathBuf {
    folder.join(format!("{}.jsonl", file_name(session)))
}

/// Returns a session's id as a file name, with special characters replaced.
pub(super) fn file_name(session: &SessionId) -> String {
    let chars = session.as_str().chars().take(ID_CHARS_MAX);
    chars
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect()
}

fn is_valid_session_id(id: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '-' | '_' | '.');
    !id.is_empty() && id.len() <= ID_CHARS_MAX && id.chars().all(is_plain)
}

pub(super) fn create_private_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

fn lock_queue(folder: &Path) -> io::Result<File> {
    let file =
        owner_only(OpenOptions::new().write(true).create(true)).open(folder.join(LOCK_FILE))?;
    super::duplicates::lock_with_retries(file, LOCK_ATTEMPTS_MAX, LOCK_RETRY_INTERVAL)
}

/// Restricts a new file to its owner.
pub(super) fn owner_only(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}
