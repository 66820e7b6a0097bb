//! Reads the end of a session's log that no sweep has stored yet.
//!
//! A hook must describe the current state of a session and cannot wait for a sweep. This reads the
//! lines after the stored cursor, up to [`TAIL_BYTES_MAX`], and changes nothing. The records are
//! not redacted: a caller that shows them must pass them through the store's redactor.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use jiff::Timestamp;
use memory::{Flavor, LogEntry, Record, SessionId, Workspace};
use store::{Cursor, Store};

use crate::flavor::adapter_for;
use crate::scope::CaptureScope;
use crate::scope::message_filter::MessageFilter;
use crate::tail;
use crate::{Adapter, InputLine, ParseOutput, Root, Source, SourceFormat, discover};

/// How much of a log's end is read; a hook's deadline is some milliseconds.
pub const TAIL_BYTES_MAX: u64 = 128 << 10;
/// The largest database that is opened here, since all of it may have to be read.
pub const DATABASE_BYTES_MAX: u64 = 16 << 20;
/// The longest first line that is read; it may name the session.
const HEAD_BYTES_MAX: u64 = 64 << 10;

/// The records of a log that are not in the store yet.
#[derive(Debug, Default)]
pub struct UnstoredRecords {
    /// The session's records, in the order of the log.
    pub records: Vec<Record>,
    /// Nothing between the store and `records` was left out. If this is false, the store's last
    /// records may be older than unread ones.
    pub complete: bool,
}

impl UnstoredRecords {
    /// Returns the result for a log that is stored to its end.
    fn empty() -> Self {
        Self {
            records: Vec::new(),
            complete: true,
        }
    }
}

/// A session and its log.
#[derive(Clone, Copy, Debug)]
pub struct SessionLog<'a> {
    pub path: &'a Path,
    pub flavor: Flavor,
    pub session: &'a SessionId,
    pub workspace: &'a Workspace,
}

/// Reads the new records of a session's log. A missing log has none.
pub fn read_unstored_records(
    store: &Store,
    log: &SessionLog<'_>,
    scope: &CaptureScope,
    now: Timestamp,
) -> store::Result<UnstoredRecords> {
    let Some(adapter) = adapter_for(log.flavor).filter(|_| scope.allows(log.workspace)) else {
        return Ok(UnstoredRecords::default());
    };
    let (path, session) = (log.path, log.session);
    let root = Root {
        path: path.to_owned(),
        flavor: Some(log.flavor),
    };
    let Some(source) = discover(&[adapter], &[root]).sources.into_iter().next() else {
        return Ok(UnstoredRecords {
            complete: !path.exists(),
            ..UnstoredRecords::default()
        });
    };
    let key = tail::source_key(&source.path);
    let cursor = store.cursors_of(&[key])?.remove(&key);
    match read_behind_cursor(adapter, &source, cursor.as_ref(), now) {
        Ok(Some(entries)) => Ok(UnstoredRecords {
            records: project_records(entries.parsed, log, scope),
            complete: entries.complete,
        }),
        Ok(None) => Ok(UnstoredRecords::empty()),
        Err(error) => {
            tracing::debug!(%session, %error, "the end of its log cannot be read");
            Ok(UnstoredRecords::default())
        }
    }
}

/// The entries after a cursor.
struct TailEntries {
    parsed: ParseOutput,
    complete: bool,
}

/// Returns the entries after the cursor, or `None` if the source has not changed.
fn read_behind_cursor(
    adapter: &Adapter,
    source: &Source,
    cursor: Option<&Cursor>,
    now: Timestamp,
) -> io::Result<Option<TailEntries>> {
    let stamp = tail::source_stamp(source)?;
    if cursor.is_some_and(|cursor| tail::is_unchanged(cursor, &stamp, now)) {
        return Ok(None);
    }
    match source.format {
        SourceFormat::Lines => read_lines(adapter, source, cursor).map(Some),
        SourceFormat::Database if stamp.size <= DATABASE_BYTES_MAX => {
            let state = cursor.and_then(|cursor| cursor.state.as_deref());
            let mut parsed = ParseOutput::default();
            store::foreign::ForeignDatabase::open(&source.path)
                .and_then(|database| adapter.read_rows(source, &database, state, &mut parsed))
                .map_err(io::Error::other)?;
            Ok(Some(TailEntries {
                parsed,
                complete: true,
            }))
        }
        SourceFormat::Document if stamp.size <= TAIL_BYTES_MAX => {
            let text = std::fs::read_to_string(&source.path)?;
            Ok(Some(TailEntries {
                parsed: crate::adapter::parse_text(adapter, source, &text),
                complete: true,
            }))
        }
        SourceFormat::Document | SourceFormat::Database | SourceFormat::LinesZstd => {
            Ok(Some(TailEntries {
                parsed: ParseOutput::default(),
                complete: false,
            }))
        }
    }
}

fn read_lines(
    adapter: &Adapter,
    source: &Source,
    cursor: Option<&Cursor>,
) -> io::Result<TailEntries> {
    let mut file = File::open(&source.path)?;
    let size = file.metadata()?.len();
    // A file that is shorter than the cursor was rewritten, so the cursor does not apply.
    let cursor = cursor.filter(|cursor| cursor.offset <= size);
    let from = cursor.map_or(0, |cursor| cursor.offset);
    let start = from.max(size.saturating_sub(TAIL_BYTES_MAX));
    let complete = start == from;
    let mut reader = adapter.open_reader(source, cursor.and_then(|cursor| cursor.state.as_deref()));
    let mut parsed = ParseOutput::default();
    let mut number = cursor.map_or(0, |cursor| cursor.line);
    if !complete && cursor.is_none() {
        let mut head = Vec::new();
        BufReader::new((&file).take(HEAD_BYTES_MAX)).read_until(b'\n', &mut head)?;
        number += 1;
        let text = String::from_utf8_lossy(&head);
        let line = InputLine {
            text: &text,
            number,
            offset: 0,
        };
        reader.read_line(line, &mut parsed);
    }
    file.seek(SeekFrom::Start(start))?;
    let mut input = BufReader::new(file.take(TAIL_BYTES_MAX));
    let mut offset = start;
    let mut bytes = Vec::new();
    if !complete {
        // The first line was cut off. Line numbers need not be exact, only ascending.
        offset += input.read_until(b'\n', &mut bytes)? as u64;
        number += start;
    }
    loop {
        bytes.clear();
        let length = input.read_until(b'\n', &mut bytes)?;
        // A line without a newline is still being written.
        if bytes.last() != Some(&b'\n') {
            break;
        }
        number += 1;
        let text = String::from_utf8_lossy(&bytes);
        let line = InputLine {
            text: &text,
            number,
            offset,
        };
        reader.read_line(line, &mut parsed);
        offset += length as u64;
    }
    // Incomplete messages are emitted too, because nothing of this is stored.
    reader.finish(true, &mut parsed);
    Ok(TailEntries { parsed, complete })
}

/// Projects the messages of one session to records, without texts that must not be kept.
fn project_records(parsed: ParseOutput, log: &SessionLog<'_>, scope: &CaptureScope) -> Vec<Record> {
    let mut records = Vec::new();
    let mut judge = MessageFilter::default();
    for entry in parsed.entries {
        let LogEntry::Message(mut message) = entry else {
            continue;
        };
        if message.session == *log.session {
            judge.apply(scope, &mut message, Some(&log.workspace.root));
            records.extend(memory::record::project_records(message));
        }
    }
    records
}

#[cfg(test)]
mod tests;
