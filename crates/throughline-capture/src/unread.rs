//! The end of a session's log that no sweep has read yet.
//!
//! A hook must say how a session stands now, and cannot wait until the log is stored. This reads
//! the lines behind the stored cursor, within [`UNREAD_BYTES_MAX`], and changes nothing. The
//! records are not redacted: a caller that shows them passes them through the store's redactor.

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

/// How much of a log's end is read. A hook has a deadline of some milliseconds.
pub const TAIL_BYTES_MAX: u64 = 128 << 10;
/// A larger database is not opened by a hook: it may have to be read whole.
pub const DATABASE_BYTES_MAX: u64 = 16 << 20;
/// The first line of a log may say which session it is of. A longer one is not read.
const HEAD_BYTES_MAX: u64 = 64 << 10;

/// What a log holds beyond what is stored of it.
#[derive(Debug, Default)]
pub struct UnstoredRecords {
    /// The session's records, in the order of the log.
    pub records: Vec<Record>,
    /// Nothing between what is stored and `records` was left out. Where this is false, the store's
    /// last records may be older than ones that nobody has read.
    pub complete: bool,
}

impl UnstoredRecords {
    /// Returns what a log holds that was read to its end.
    fn empty() -> Self {
        Self {
            records: Vec::new(),
            complete: true,
        }
    }
}

/// A session and the log that tells of it.
#[derive(Clone, Copy, Debug)]
pub struct SessionLog<'a> {
    pub path: &'a Path,
    pub flavor: Flavor,
    pub session: &'a SessionId,
    pub workspace: &'a Workspace,
}

/// Reads what is new in a session's log. A log that is gone holds nothing new.
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

/// The entries behind a cursor.
struct TailEntries {
    parsed: ParseOutput,
    complete: bool,
}

/// Returns the entries behind the cursor, or `None` where the source has not changed.
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
    // A file that is shorter than the cursor was rewritten: the cursor says nothing of it.
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
        // The first line was cut. Line numbers only have to rise.
        offset += input.read_until(b'\n', &mut bytes)? as u64;
        number += start;
    }
    loop {
        bytes.clear();
        let length = input.read_until(b'\n', &mut bytes)?;
        // A line without its end is still being written.
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
    // What is still open is given as far as it goes: nothing of it is stored.
    reader.finish(true, &mut parsed);
    Ok(TailEntries { parsed, complete })
}

/// Projects the messages of one session to records, without what must not be kept.
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
