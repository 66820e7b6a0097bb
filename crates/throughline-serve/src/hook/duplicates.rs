//! Detects events that are delivered twice: Grok runs Claude Code's hooks besides its own, and a
//! user may have installed ours in two places.
//!
//! Hashes of the latest answered events are kept in a small file beside the store, because the two
//! deliveries run in different processes and only one may answer.

use std::fs::{File, OpenOptions, TryLockError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use capture::hook::{HookEvent, HookKind, StartReason};
use jiff::Timestamp;

use super::pending::owner_only;

/// The file in the data folder.
const SEEN_FILE: &str = "hook.seen";
/// The number of events that are kept.
const EVENTS_MAX: usize = 64;
/// Two deliveries of one event are at most this far apart.
const DUPLICATE_WINDOW_MS: i64 = 5_000;
/// The size of an entry: a hash and a time.
const ENTRY_BYTES: usize = 16;
const LOCK_ATTEMPTS_MAX: u32 = 20;
const LOCK_RETRY_INTERVAL: Duration = Duration::from_micros(250);

/// Returns whether an event was answered a moment ago, and records it. If the file cannot be used,
/// the event counts as new.
pub(super) fn is_duplicate(home: &Path, event: &HookEvent, now: Timestamp) -> bool {
    let Some(name) = event_hash(event) else {
        return false;
    };
    insert_or_find(&home.join(SEEN_FILE), name, now.as_millisecond()).unwrap_or(false)
}

/// Returns a hash that identifies an event, or `None` if the event has no session.
fn event_hash(event: &HookEvent) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    event.session.as_ref()?.as_str().hash(&mut hasher);
    event.kind.name().hash(&mut hasher);
    event.subagent.hash(&mut hasher);
    match &event.kind {
        HookKind::SessionStart { source } => {
            (*source as u8, &event.prompt_id).hash(&mut hasher);
            if *source == StartReason::Compacted {
                log_bytes(event).hash(&mut hasher);
            }
        }
        HookKind::PreCompact => (&event.prompt_id, log_bytes(event)).hash(&mut hasher),
        // Not every agent gives its prompts an id, so the text is part of the hash.
        HookKind::Prompt { text, .. } => (&event.prompt_id, text).hash(&mut hasher),
        _ => (&event.prompt_id, &event.call_id).hash(&mut hasher),
    }
    Some(hasher.finish())
}

/// Returns the size of the session's log. It tells a second compaction from a repeated delivery of
/// the first, because the log has grown in between.
fn log_bytes(event: &HookEvent) -> Option<u64> {
    let log = event.transcript.as_ref()?.metadata().ok()?;
    Some(log.len())
}

fn insert_or_find(path: &Path, name: u64, now: i64) -> io::Result<bool> {
    let options = &mut OpenOptions::new();
    let options = owner_only(options.read(true).write(true).create(true));
    let mut file = lock_with_retries(options.open(path)?, LOCK_ATTEMPTS_MAX, LOCK_RETRY_INTERVAL)?;
    let mut bytes = Vec::new();
    Read::by_ref(&mut file)
        .take((EVENTS_MAX * ENTRY_BYTES) as u64)
        .read_to_end(&mut bytes)?;
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
    let mut entries: Vec<(u64, i64)> = bytes
        .chunks_exact(ENTRY_BYTES)
        .map(|entry| (number(&entry[..8]), number(&entry[8..]).cast_signed()))
        .filter(|(_, at)| (now - at).abs() < DUPLICATE_WINDOW_MS)
        .collect();
    if entries.iter().any(|(known, _)| *known == name) {
        return Ok(true);
    }
    entries.push((name, now));
    let from = entries.len().saturating_sub(EVENTS_MAX);
    let bytes: Vec<u8> = entries[from..]
        .iter()
        .flat_map(|(name, at)| [name.to_le_bytes(), at.to_le_bytes()].concat())
        .collect();
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&bytes)?;
    file.set_len(bytes.len() as u64)?;
    Ok(false)
}

/// Takes a file lock that other processes hold only briefly.
pub(super) fn lock_with_retries(file: File, tries: u32, step: Duration) -> io::Result<File> {
    for _ in 0..tries {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => std::thread::sleep(step),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::ErrorKind::WouldBlock.into())
}
