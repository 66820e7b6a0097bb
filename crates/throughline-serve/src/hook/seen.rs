//! Recognises what is delivered twice: Grok runs Claude Code's hooks beside its own, and a user may have
//! installed ours in two places.
//!
//! The last few events that were answered lie in a small file beside the store, as hashes: two processes
//! must not both answer.

use std::fs::{File, OpenOptions, TryLockError};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use capture::hook::{HookEvent, HookKind, Start};
use jiff::Timestamp;

use super::pending::private;

/// The name of the file in our folder.
const FILE: &str = "hook.seen";
/// How many events are remembered.
const EVENTS_MAX: usize = 64;
/// Deliveries of one event come this close together.
const WITHIN_MS: i64 = 5_000;
/// A hash and a time.
const ENTRY_BYTES: usize = 16;
const LOCK_TRIES: u32 = 20;
const LOCK_STEP: Duration = Duration::from_micros(250);

/// Says whether an event was answered a moment ago, and remembers it. Where nothing can be remembered,
/// nothing was seen.
pub fn twice(home: &Path, event: &HookEvent, now: Timestamp) -> bool {
    let Some(name) = name(event) else {
        return false;
    };
    remember(&home.join(FILE), name, now.as_millisecond()).unwrap_or(false)
}

/// Names an event, if it says enough to be told from others.
fn name(event: &HookEvent) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    event.session.as_ref()?.as_str().hash(&mut hasher);
    event.kind.name().hash(&mut hasher);
    event.subagent.hash(&mut hasher);
    match &event.kind {
        HookKind::SessionStart { source } => {
            (*source as u8, &event.turn).hash(&mut hasher);
            if *source == Start::Compacted {
                log_bytes(event).hash(&mut hasher);
            }
        }
        HookKind::PreCompact => (&event.turn, log_bytes(event)).hash(&mut hasher),
        // Not every agent names its prompts.
        HookKind::Prompt { text, .. } => (&event.turn, text).hash(&mut hasher),
        _ => (&event.turn, &event.call).hash(&mut hasher),
    }
    Some(hasher.finish())
}

/// Returns how long the session's log is. A second compaction soon after the first is another
/// event, and by then the log has grown.
fn log_bytes(event: &HookEvent) -> Option<u64> {
    let log = event.transcript.as_ref()?.metadata().ok()?;
    Some(log.len())
}

fn remember(path: &Path, name: u64, now: i64) -> io::Result<bool> {
    let options = &mut OpenOptions::new();
    let options = private(options.read(true).write(true).create(true));
    let mut file = locked(options.open(path)?, LOCK_TRIES, LOCK_STEP)?;
    let mut bytes = Vec::new();
    Read::by_ref(&mut file)
        .take((EVENTS_MAX * ENTRY_BYTES) as u64)
        .read_to_end(&mut bytes)?;
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
    let mut entries: Vec<(u64, i64)> = bytes
        .chunks_exact(ENTRY_BYTES)
        .map(|entry| (number(&entry[..8]), number(&entry[8..]).cast_signed()))
        .filter(|(_, at)| (now - at).abs() < WITHIN_MS)
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

/// Waits a moment for a file that others hold only briefly.
pub(super) fn locked(file: File, tries: u32, step: Duration) -> io::Result<File> {
    for _ in 0..tries {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => std::thread::sleep(step),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::ErrorKind::WouldBlock.into())
}
