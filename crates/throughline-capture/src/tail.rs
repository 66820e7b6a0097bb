//! Reads a source from where the last read stopped.
//!
//! A log may end mid-line while the agent writes; the cursor then stays before that line. A file
//! that no longer starts with what was read of it (it is shorter, or its first block or the block
//! before the cursor differs) is read again from its start.

use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use store::{Cursor, LogChunk, SourceIdentity, UNREAD_HEAD};

use crate::{
    Adapter, InputLine, LogReader, ParseOutput, SkipReason, SkippedLine, Source, SourceFormat, time,
};

/// Longer lines are skipped; the longest in a real log had 2 MB.
pub const LINE_BYTES_MAX: usize = 16 << 20;
/// A document is read whole, and several copies of it must fit into memory.
pub const DOCUMENT_BYTES_MAX: u64 = 64 << 20;
/// The size of a chunk: small enough to bound memory, large enough for efficient batches.
const CHUNK_BYTES: u64 = 1 << 20;
/// The most entries and skipped lines in a chunk. Short lines make many of them, and each takes far
/// more memory than its line.
const CHUNK_ITEMS_MAX: usize = 4_000;
/// Any compressed log may decompress to this much, however small it is.
const DECOMPRESSED_BYTES_MIN: u64 = 256 << 20;
/// A larger compressed log may decompress to this many times its own size. Real logs compress to a
/// tenth, repetitive ones to a hundredth; a higher ratio is a decompression bomb.
const DECOMPRESSED_RATIO_MAX: u64 = 1_000;
/// The largest zstd window that is accepted, 32 MiB. Each reader needs that much memory.
const ZSTD_WINDOW_LOG_MAX: u32 = 25;
/// The size of one read from a file.
const BUFFER_BYTES: usize = 256 << 10;
/// How much of the start of a file, and of its text before the cursor, is compared.
const FINGERPRINT_BYTES: u64 = 4096;
/// A file that has not changed for this long is complete, with or without a final newline.
const COMPLETE_AFTER: SignedDuration = SignedDuration::from_mins(5);

/// A part of a source, parsed.
#[derive(Debug)]
pub struct SourceChunk {
    pub parsed: ParseOutput,
    /// Where the next read starts.
    pub cursor: Cursor,
    /// The source has no more to read for now.
    pub is_last: bool,
    /// The source was read before, and is being read again from its start.
    pub is_reread: bool,
    pub read_bytes: u64,
    /// When the file was last written.
    pub modified: Option<Timestamp>,
    /// The text that is not in the archive yet.
    pub log: Option<LogChunk>,
}

/// Returns the key of a source in the store.
pub fn source_key(path: &Path) -> [u8; 16] {
    block_hash(path.as_os_str().as_encoded_bytes())
}

/// Says whether a source is as it was when its cursor was written, so that it need not be read.
pub fn is_unchanged(cursor: &Cursor, stamp: &SourceIdentity, now: Timestamp) -> bool {
    !cursor.gone && cursor.identity == *stamp && (cursor.complete || !is_complete(stamp, now))
}

/// Returns the time at which a source counts as complete if it does not change until then.
pub fn complete_at(stamp: &SourceIdentity) -> Option<Timestamp> {
    let changed = Timestamp::from_nanosecond(i128::from(stamp.mtime_ns)).ok()?;
    changed.checked_add(COMPLETE_AFTER).ok()
}

/// Returns how the file system identifies a source. For a database this includes the write-ahead
/// log beside it, which changes first.
pub fn source_stamp(source: &Source) -> io::Result<SourceIdentity> {
    let mut all = stamp_from_metadata(&std::fs::symlink_metadata(&source.path)?);
    if source.format == SourceFormat::Database
        && let Ok(log) = std::fs::metadata(store::foreign::wal_path(&source.path))
    {
        let log = stamp_from_metadata(&log);
        all.size += log.size;
        all.mtime_ns = all.mtime_ns.max(log.mtime_ns);
        all.ctime_ns = all.ctime_ns.max(log.ctime_ns);
    }
    Ok(all)
}

/// Reads what is new in a source and hands it to `emit` in chunks, until `emit` breaks off.
pub fn read_source(
    adapter: &Adapter,
    source: &Source,
    cursor: Option<&Cursor>,
    now: Timestamp,
    emit: &mut dyn FnMut(SourceChunk) -> ControlFlow<()>,
) -> io::Result<()> {
    if source.format == SourceFormat::Database {
        return read_database(adapter, source, cursor, now, emit);
    }
    let mut file = File::open(&source.path)?;
    let metadata = file.metadata()?;
    // Reading a pipe or a device could block forever.
    if !metadata.is_file() {
        return Err(io::Error::other("not a file"));
    }
    let stamp = stamp_from_metadata(&metadata);
    let is_complete = is_complete(&stamp, now);
    // Only appended lines can be continued. Documents are rewritten as a whole, and a compressed
    // log has no offset to seek to.
    let resumed = match cursor {
        Some(cursor) if source.format == SourceFormat::Lines => {
            has_same_prefix(&mut file, &stamp, cursor)?.then_some(cursor)
        }
        _ => None,
    };
    let is_reread = cursor.is_some() && resumed.is_none();
    let state = resumed.and_then(|cursor| cursor.state.as_deref());
    let tail = TailReader {
        reader: adapter.open_reader(source, state),
        key: source_key(&source.path),
        stamp,
        is_complete,
        is_reread,
        line: resumed.map_or(0, |cursor| cursor.line),
        offset: resumed.map_or(0, |cursor| cursor.offset),
        read_from: resumed.map_or(0, |cursor| cursor.offset),
        parsed: ParseOutput::default(),
        archived: resumed.map_or(0, |cursor| cursor.archived),
        log: String::new(),
        offset_max: match source.format {
            SourceFormat::LinesZstd => decompressed_bytes_max(stamp.size),
            SourceFormat::Lines | SourceFormat::Document | SourceFormat::Database => u64::MAX,
        },
    };
    match source.format {
        SourceFormat::Lines => {
            file.seek(SeekFrom::Start(tail.offset))?;
            let input = BufReader::with_capacity(BUFFER_BYTES, &file);
            tail.read_lines(input, Some(&file), emit)
        }
        SourceFormat::LinesZstd => {
            let mut decoder = zstd::stream::read::Decoder::new(&file)?;
            // The header of a hostile file could ask for gigabytes of window.
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            tail.read_lines(BufReader::with_capacity(BUFFER_BYTES, decoder), None, emit)
        }
        SourceFormat::Document | SourceFormat::Database => tail.read_document(&file, emit),
    }
}

fn read_database(
    adapter: &Adapter,
    source: &Source,
    cursor: Option<&Cursor>,
    now: Timestamp,
    emit: &mut dyn FnMut(SourceChunk) -> ControlFlow<()>,
) -> io::Result<()> {
    // The stamp is taken before the rows are read: what is written in between changes it again, and
    // the next sweep reads on.
    let stamp = source_stamp(source)?;
    let mut parsed = ParseOutput::default();
    let state = cursor.and_then(|cursor| cursor.state.as_deref());
    let state = store::foreign::ForeignDatabase::open(&source.path)
        .and_then(|database| adapter.read_rows(source, &database, state, &mut parsed))
        .map_err(io::Error::other)?;
    let cursor = Cursor {
        key: source_key(&source.path),
        identity: stamp,
        offset: stamp.size,
        complete: is_complete(&stamp, now),
        state: Some(state),
        ..Cursor::default()
    };
    let chunk = SourceChunk {
        parsed,
        cursor,
        is_last: true,
        is_reread: false,
        read_bytes: stamp.size,
        modified: time::from_mtime(stamp.mtime_ns),
        log: None,
    };
    let _last = emit(chunk);
    Ok(())
}

/// Returns how many bytes of a compressed log of this size are read.
fn decompressed_bytes_max(size: u64) -> u64 {
    size.saturating_mul(DECOMPRESSED_RATIO_MAX)
        .max(DECOMPRESSED_BYTES_MIN)
}

/// Returns the first block of a file, as text.
pub fn read_first_block(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(FINGERPRINT_BYTES)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A read in progress: the position in the source, and what was parsed since the last chunk.
struct TailReader {
    reader: Box<dyn LogReader>,
    key: [u8; 16],
    stamp: SourceIdentity,
    /// The file has not changed for [`COMPLETE_AFTER`], so its agent no longer writes to it.
    is_complete: bool,
    is_reread: bool,
    line: u64,
    offset: u64,
    read_from: u64,
    parsed: ParseOutput,
    /// The text before this offset is in the archive or in `log`.
    archived: u64,
    log: String,
    /// Reading stops at this offset: the size of a compressed file does not limit its text.
    offset_max: u64,
}

impl TailReader {
    fn read_lines(
        mut self,
        mut input: impl BufRead,
        file: Option<&File>,
        emit: &mut dyn FnMut(SourceChunk) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let mut buffer = Vec::new();
        loop {
            match next_line(&mut input, &mut buffer)? {
                LineRead::End => break,
                LineRead::Unterminated if !self.accepts_unterminated(&buffer) => break,
                LineRead::Line | LineRead::Unterminated => self.read_line(&buffer),
                LineRead::TooLong(length) => self.skip_line(length),
            }
            if self.offset >= self.offset_max {
                self.report_skipped(self.line + 1, SkipReason::TooLong);
                break;
            }
            if self.is_chunk_full() && emit(self.take_chunk(file, false)?).is_break() {
                return Ok(());
            }
        }
        self.finish(file, emit)
    }

    fn is_chunk_full(&self) -> bool {
        self.offset - self.read_from >= CHUNK_BYTES
            || self.parsed.entries.len() + self.parsed.skipped.len() >= CHUNK_ITEMS_MAX
    }

    fn read_document(
        mut self,
        file: &File,
        emit: &mut dyn FnMut(SourceChunk) -> ControlFlow<()>,
    ) -> io::Result<()> {
        if self.stamp.size > DOCUMENT_BYTES_MAX {
            self.report_skipped(1, SkipReason::TooLong);
        } else {
            let mut bytes = Vec::new();
            file.take(DOCUMENT_BYTES_MAX).read_to_end(&mut bytes)?;
            self.read_line(&bytes);
        }
        self.offset = self.stamp.size;
        self.finish(None, emit)
    }

    /// Says whether a last line without a newline is read: it must be valid JSON, and the agent
    /// must have stopped writing.
    fn accepts_unterminated(&self, bytes: &[u8]) -> bool {
        let padding = |byte: &u8| *byte == 0 || byte.is_ascii_whitespace();
        let text = bytes
            .iter()
            .rposition(|byte| !padding(byte))
            .map_or(&[][..], |end| &bytes[..=end]);
        self.is_complete && serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok()
    }

    fn read_line(&mut self, bytes: &[u8]) {
        self.line += 1;
        let text = match simdutf8::basic::from_utf8(bytes) {
            Ok(text) => std::borrow::Cow::Borrowed(text),
            Err(_) => {
                self.report_skipped(self.line, SkipReason::NotUtf8);
                String::from_utf8_lossy(bytes)
            }
        };
        let line = InputLine {
            text: &text,
            number: self.line,
            offset: self.offset,
        };
        self.reader.read_line(line, &mut self.parsed);
        // A line that is read again because its message was still open is in the archive already.
        if self.offset >= self.archived {
            self.log.push_str(&text);
        }
        self.offset += bytes.len() as u64;
    }

    fn skip_line(&mut self, length: u64) {
        self.line += 1;
        if self.offset >= self.archived {
            self.log.push_str(&format!(
                "{{\"type\":\"throughline-too-long\",\"bytes\":{length}}}\n"
            ));
        }
        self.offset += length;
        self.report_skipped(self.line, SkipReason::TooLong);
    }

    fn report_skipped(&mut self, line: u64, reason: SkipReason) {
        self.parsed.skipped.push(SkippedLine { line, reason });
    }

    /// Ends the read and emits the last chunk, after which the answer of `emit` does not matter.
    fn finish(
        mut self,
        file: Option<&File>,
        emit: &mut dyn FnMut(SourceChunk) -> ControlFlow<()>,
    ) -> io::Result<()> {
        self.reader.finish(self.is_complete, &mut self.parsed);
        let _last = emit(self.take_chunk(file, true)?);
        Ok(())
    }

    /// Returns what was parsed since the last chunk. `file` is the open file if it is one of plain
    /// lines, which can be resumed.
    fn take_chunk(&mut self, file: Option<&File>, is_last: bool) -> io::Result<SourceChunk> {
        let resume = self.reader.resume_point();
        let is_open = resume.is_some() || (file.is_some() && self.offset < self.stamp.size);
        let (line, offset, state) = match resume {
            // A cursor holds the number of lines before it.
            Some(resume) => (resume.line.saturating_sub(1), resume.offset, resume.state),
            None => (self.line, self.offset, self.reader.state()),
        };
        let (head, tail) = match file {
            Some(file) => fingerprints(file, offset)?,
            None => Default::default(),
        };
        let read_bytes = self.offset - self.read_from;
        self.read_from = self.offset;
        let log = (self.offset > self.archived).then(|| LogChunk {
            offset: self.archived,
            size: self.offset - self.archived,
            text: std::mem::take(&mut self.log),
        });
        self.archived = self.archived.max(self.offset);
        let mut cursor = Cursor {
            key: self.key,
            // Only the last chunk has the identity: if the sweep is interrupted before it, the next
            // one must not take the source for read.
            identity: if is_last {
                self.stamp
            } else {
                Default::default()
            },
            offset,
            line,
            head,
            tail,
            archived: self.archived,
            complete: is_last && (self.is_complete || !is_open),
            gone: false,
            state: Some(state),
        };
        if !is_last && (self.is_reread || file.is_none()) {
            // If the sweep is interrupted here, the source must be read from its start again: only
            // at its end is it known which records it no longer holds.
            cursor = Cursor {
                key: self.key,
                head: UNREAD_HEAD,
                ..Cursor::default()
            };
        }
        Ok(SourceChunk {
            parsed: std::mem::take(&mut self.parsed),
            cursor,
            is_last,
            is_reread: self.is_reread,
            read_bytes,
            modified: time::from_mtime(self.stamp.mtime_ns),
            log,
        })
    }
}

enum LineRead {
    Line,
    /// Text at the end of the file without a newline.
    Unterminated,
    TooLong(u64),
    End,
}

/// Reads the next line, with its newline, into `buffer`.
fn next_line(input: &mut impl BufRead, buffer: &mut Vec<u8>) -> io::Result<LineRead> {
    buffer.clear();
    let mut length = 0_u64;
    loop {
        let available = match input.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if available.is_empty() {
            return Ok(match length {
                0 => LineRead::End,
                length if length > LINE_BYTES_MAX as u64 => LineRead::TooLong(length),
                _ => LineRead::Unterminated,
            });
        }
        let end = memchr::memchr(b'\n', available);
        let taken = end.map_or(available.len(), |end| end + 1);
        length += taken as u64;
        if length <= LINE_BYTES_MAX as u64 {
            buffer.extend_from_slice(&available[..taken]);
        } else {
            // A new buffer, because clearing this one would keep its capacity of many megabytes.
            *buffer = Vec::new();
        }
        input.consume(taken);
        if end.is_some() {
            let fits = length <= LINE_BYTES_MAX as u64;
            return Ok(if fits {
                LineRead::Line
            } else {
                LineRead::TooLong(length)
            });
        }
    }
}

/// Says whether a file still starts with what was read of it.
fn has_same_prefix(file: &mut File, stamp: &SourceIdentity, cursor: &Cursor) -> io::Result<bool> {
    if stamp.size < cursor.offset || cursor.head == UNREAD_HEAD {
        return Ok(false);
    }
    Ok(fingerprints(file, cursor.offset)? == (cursor.head, cursor.tail))
}

/// Returns the hashes of the first and the last block before `offset`.
fn fingerprints(mut file: &File, offset: u64) -> io::Result<([u8; 16], [u8; 16])> {
    let length = offset.min(FINGERPRINT_BYTES);
    let before = file.stream_position()?;
    let mut block = |start: u64| -> io::Result<[u8; 16]> {
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes)?;
        Ok(block_hash(&bytes))
    };
    let hashes = (block(0)?, block(offset - length)?);
    file.seek(SeekFrom::Start(before))?;
    Ok(hashes)
}

fn block_hash(bytes: &[u8]) -> [u8; 16] {
    let mut hash = [0; 16];
    hash.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
    hash
}

fn is_complete(stamp: &SourceIdentity, now: Timestamp) -> bool {
    complete_at(stamp).is_some_and(|at| now > at)
}

#[cfg(unix)]
fn stamp_from_metadata(metadata: &Metadata) -> SourceIdentity {
    use std::os::unix::fs::MetadataExt;
    SourceIdentity {
        device: metadata.dev(),
        inode: metadata.ino(),
        size: metadata.size(),
        mtime_ns: metadata.mtime() * 1_000_000_000 + metadata.mtime_nsec(),
        ctime_ns: metadata.ctime() * 1_000_000_000 + metadata.ctime_nsec(),
    }
}

#[cfg(not(unix))]
fn stamp_from_metadata(metadata: &Metadata) -> SourceIdentity {
    let since_epoch = |time: io::Result<std::time::SystemTime>| {
        let time = time.ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        i64::try_from(time.as_nanos()).ok()
    };
    SourceIdentity {
        device: 0,
        inode: 0,
        size: metadata.len(),
        mtime_ns: since_epoch(metadata.modified()).unwrap_or_default(),
        ctime_ns: since_epoch(metadata.created()).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes an error of every line.
    struct Refusing;

    impl LogReader for Refusing {
        fn read_line(&mut self, line: InputLine<'_>, out: &mut ParseOutput) {
            out.skip_line(line, SkipReason::Malformed);
        }

        fn state(&self) -> String {
            String::new()
        }
    }

    fn tail(offset_max: u64) -> TailReader {
        TailReader {
            reader: Box::new(Refusing),
            key: [0; 16],
            stamp: SourceIdentity::default(),
            is_complete: true,
            is_reread: false,
            line: 0,
            offset: 0,
            read_from: 0,
            parsed: ParseOutput::default(),
            archived: 0,
            log: String::new(),
            offset_max,
        }
    }

    /// Reads lines and returns how many items each chunk has, and where reading ended.
    fn items(text: &str, offset_max: u64) -> (Vec<usize>, u64) {
        let (mut chunks, mut end) = (Vec::new(), 0);
        let read = tail(offset_max).read_lines(text.as_bytes(), None, &mut |chunk| {
            chunks.push(chunk.parsed.entries.len() + chunk.parsed.skipped.len());
            end += chunk.read_bytes;
            ControlFlow::Continue(())
        });
        assert!(read.is_ok());
        (chunks, end)
    }

    #[test]
    fn short_lines_do_not_pile_up_in_a_chunk() {
        let (chunks, _) = items(&"x\n".repeat(3 * CHUNK_ITEMS_MAX + 1), u64::MAX);
        assert_eq!(
            chunks,
            [CHUNK_ITEMS_MAX, CHUNK_ITEMS_MAX, CHUNK_ITEMS_MAX, 1]
        );
    }

    #[test]
    fn an_interrupted_read_does_not_count_as_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        std::fs::write(&path, "x\n".repeat(CHUNK_ITEMS_MAX + 1)).unwrap();
        let file = File::open(&path).unwrap();
        let stamp = stamp_from_metadata(&file.metadata().unwrap());
        let cursor_after = |chunks_max: usize| {
            let mut cursors = Vec::new();
            let reader = TailReader {
                stamp,
                ..tail(u64::MAX)
            };
            let read = reader.read_lines(BufReader::new(&file), Some(&file), &mut |chunk| {
                cursors.push(chunk.cursor);
                match cursors.len() < chunks_max {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            });
            assert!(read.is_ok());
            cursors.pop().unwrap()
        };
        let days_later = Timestamp::MAX;
        assert!(!is_unchanged(&cursor_after(1), &stamp, days_later));
        (&file).rewind().unwrap();
        assert!(is_unchanged(&cursor_after(2), &stamp, days_later));
    }

    #[test]
    fn a_log_that_unpacks_without_end_is_cut() {
        let (chunks, end) = items(&"0123456\n".repeat(1000), 80);
        assert_eq!(
            (chunks, end),
            (vec![11], 80),
            "ten lines and a note of the cut"
        );
        assert_eq!(decompressed_bytes_max(132 << 10), DECOMPRESSED_BYTES_MIN);
        assert_eq!(
            decompressed_bytes_max(1 << 30),
            DECOMPRESSED_RATIO_MAX << 30
        );
        assert_eq!(decompressed_bytes_max(u64::MAX), u64::MAX);
    }
}
