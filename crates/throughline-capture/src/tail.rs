//! Reading a source from where the last reading stopped.
//!
//! A log may end mid-line while the agent writes: the cursor stays before it. A file that is not
//! what it was (shorter, or with another beginning or another end where we stopped) is read again
//! from its start.

use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use store::{Cursor, Log, Stamp, UNREAD};

use crate::{Adapter, Format, Line, Parsed, Reader, Skipped, Source, Why, time};

/// Longer lines are passed over; the longest seen in the wild had 2 MB.
pub const LINE_BYTES_MAX: usize = 16 << 20;
/// A document is read whole, so it must fit into memory several times.
pub const DOCUMENT_BYTES_MAX: u64 = 64 << 20;
/// How much is read before it is handed on: small enough to bound memory, large enough to batch.
const CHUNK_BYTES: u64 = 1 << 20;
/// How many entries and passed-over lines are handed on together at most. Short lines make many of
/// them, and each takes far more memory than its line.
const CHUNK_ITEMS_MAX: usize = 4_000;
/// A compressed log may unpack to this much, however small it is.
const UNPACKED_BYTES_MIN: u64 = 256 << 20;
/// Beyond that, a compressed log may unpack to this many times its own size. Real logs shrink to a
/// tenth, repetitive ones to a hundredth.
const UNPACKED_RATIO_MAX: u64 = 1_000;
/// The largest zstd window that is unpacked: 32 MiB, and so much memory each reader needs.
const ZSTD_WINDOW_LOG_MAX: u32 = 25;
/// How much of a file's head, and of its text before the cursor, is compared.
const FINGERPRINT_BYTES: u64 = 4096;
/// A file that did not change for this long is finished, final newline or not.
const SETTLED_AFTER: SignedDuration = SignedDuration::from_mins(5);

/// A part of a source, read.
#[derive(Debug)]
pub struct Chunk {
    pub parsed: Parsed,
    /// Where the next reading starts.
    pub cursor: Cursor,
    /// Nothing more is to come for now.
    pub last: bool,
    /// The source was read before and is now read again from its start.
    pub restarted: bool,
    pub read_bytes: u64,
    /// When the file was last written.
    pub modified: Option<Timestamp>,
    /// What of the text is not in the archive yet.
    pub log: Option<Log>,
}

/// Returns the name of a source in the store.
pub fn key(path: &Path) -> [u8; 16] {
    block_hash(path.as_os_str().as_encoded_bytes())
}

/// Says whether nothing can have happened to a source since its cursor was written.
pub fn is_unchanged(cursor: &Cursor, stamp: &Stamp, now: Timestamp) -> bool {
    !cursor.gone && cursor.stamp == *stamp && (cursor.settled || !is_settled(stamp, now))
}

/// Returns when a source that does not change any more counts as finished.
pub fn settles_at(stamp: &Stamp) -> Option<Timestamp> {
    let changed = Timestamp::from_nanosecond(i128::from(stamp.mtime_ns)).ok()?;
    changed.checked_add(SETTLED_AFTER).ok()
}

/// Returns what the file system says of a source. A database changes in the log beside it first.
pub fn stamp_of(source: &Source) -> io::Result<Stamp> {
    let mut all = stamp(&std::fs::symlink_metadata(&source.path)?);
    if source.format == Format::Database
        && let Ok(log) = std::fs::metadata(store::foreign::log_path(&source.path))
    {
        let log = stamp(&log);
        all.size += log.size;
        all.mtime_ns = all.mtime_ns.max(log.mtime_ns);
        all.ctime_ns = all.ctime_ns.max(log.ctime_ns);
    }
    Ok(all)
}

/// Reads what is new in a source and hands it to `emit` in chunks, until that says stop.
pub fn read(
    adapter: &dyn Adapter,
    source: &Source,
    cursor: Option<&Cursor>,
    now: Timestamp,
    emit: &mut dyn FnMut(Chunk) -> ControlFlow<()>,
) -> io::Result<()> {
    if source.format == Format::Database {
        return read_database(adapter, source, cursor, now, emit);
    }
    let mut file = File::open(&source.path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("not a file"));
    }
    let stamp = stamp(&metadata);
    let settled = is_settled(&stamp, now);
    let resumed = match cursor {
        Some(cursor) if source.format == Format::Lines => {
            grew(&mut file, &stamp, cursor)?.then_some(cursor)
        }
        _ => None,
    };
    let restarted = cursor.is_some() && resumed.is_none();
    let state = resumed.and_then(|cursor| cursor.state.as_deref());
    let tail = Tail {
        reader: adapter.reader(source, state),
        key: key(&source.path),
        stamp,
        settled,
        restarted,
        line: resumed.map_or(0, |cursor| cursor.line),
        offset: resumed.map_or(0, |cursor| cursor.offset),
        read_from: resumed.map_or(0, |cursor| cursor.offset),
        parsed: Parsed::default(),
        archived: resumed.map_or(0, |cursor| cursor.archived),
        log: String::new(),
        offset_max: match source.format {
            Format::LinesZstd => unpacked_bytes_max(stamp.size),
            Format::Lines | Format::Document | Format::Database => u64::MAX,
        },
    };
    match source.format {
        Format::Lines => {
            file.seek(SeekFrom::Start(tail.offset))?;
            tail.lines(
                BufReader::with_capacity(256 << 10, &file),
                Some(&file),
                emit,
            )
        }
        Format::LinesZstd => {
            let mut decoder = zstd::stream::read::Decoder::new(&file)?;
            decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            tail.lines(BufReader::with_capacity(256 << 10, decoder), None, emit)
        }
        Format::Document | Format::Database => tail.document(&file, emit),
    }
}

fn read_database(
    adapter: &dyn Adapter,
    source: &Source,
    cursor: Option<&Cursor>,
    now: Timestamp,
    emit: &mut dyn FnMut(Chunk) -> ControlFlow<()>,
) -> io::Result<()> {
    let stamp = stamp_of(source)?;
    let mut parsed = Parsed::default();
    let state = cursor.and_then(|cursor| cursor.state.as_deref());
    let state = store::foreign::Database::open(&source.path)
        .and_then(|database| adapter.rows(source, &database, state, &mut parsed))
        .map_err(io::Error::other)?;
    let cursor = Cursor {
        key: key(&source.path),
        stamp,
        offset: stamp.size,
        settled: is_settled(&stamp, now),
        state: Some(state),
        ..Cursor::default()
    };
    let chunk = Chunk {
        parsed,
        cursor,
        last: true,
        restarted: false,
        read_bytes: stamp.size,
        modified: time::of_file(stamp.mtime_ns),
        log: None,
    };
    let _finished = emit(chunk);
    Ok(())
}

/// Returns to how many bytes a compressed log of this size may unpack.
fn unpacked_bytes_max(size: u64) -> u64 {
    size.saturating_mul(UNPACKED_RATIO_MAX)
        .max(UNPACKED_BYTES_MIN)
}

/// Returns the first block of a file, as text.
pub fn head(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(FINGERPRINT_BYTES)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

struct Tail {
    reader: Box<dyn Reader>,
    key: [u8; 16],
    stamp: Stamp,
    settled: bool,
    restarted: bool,
    line: u64,
    offset: u64,
    read_from: u64,
    parsed: Parsed,
    /// Everything before it is in the archive or in `log`.
    archived: u64,
    log: String,
    /// Reading stops here, for what a compressed log unpacks to is not in its size.
    offset_max: u64,
}

impl Tail {
    fn lines(
        mut self,
        mut input: impl BufRead,
        file: Option<&File>,
        emit: &mut dyn FnMut(Chunk) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let mut buffer = Vec::new();
        loop {
            let got = next_line(&mut input, &mut buffer)?;
            match got {
                Got::End => break,
                Got::Tail if !self.accepts_tail(&buffer) => break,
                Got::Line | Got::Tail => self.feed(&buffer),
                Got::TooLong(length) => self.pass_over(length),
            }
            if self.offset >= self.offset_max {
                self.parsed.skipped.push(Skipped {
                    line: self.line + 1,
                    why: Why::TooLong,
                });
                break;
            }
            if self.is_chunk_full() {
                let chunk = self.chunk(file, false)?;
                if emit(chunk).is_break() {
                    return Ok(());
                }
            }
        }
        self.reader.end(self.settled, &mut self.parsed);
        let chunk = self.chunk(file, true)?;
        let _finished = emit(chunk);
        Ok(())
    }

    fn is_chunk_full(&self) -> bool {
        self.offset - self.read_from >= CHUNK_BYTES
            || self.parsed.entries.len() + self.parsed.skipped.len() >= CHUNK_ITEMS_MAX
    }

    fn document(
        mut self,
        file: &File,
        emit: &mut dyn FnMut(Chunk) -> ControlFlow<()>,
    ) -> io::Result<()> {
        if self.stamp.size > DOCUMENT_BYTES_MAX {
            self.parsed.skipped.push(Skipped {
                line: 1,
                why: Why::TooLong,
            });
        } else {
            let mut bytes = Vec::new();
            file.take(DOCUMENT_BYTES_MAX).read_to_end(&mut bytes)?;
            self.feed(&bytes);
        }
        self.offset = self.stamp.size;
        self.reader.end(self.settled, &mut self.parsed);
        let chunk = self.chunk(None, true)?;
        let _finished = emit(chunk);
        Ok(())
    }

    /// A last line without its newline counts when it is whole and nobody is writing any more.
    fn accepts_tail(&self, bytes: &[u8]) -> bool {
        let padding = |byte: &u8| *byte == 0 || byte.is_ascii_whitespace();
        let text = bytes
            .iter()
            .rposition(|byte| !padding(byte))
            .map_or(&[][..], |end| &bytes[..=end]);
        self.settled && serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok()
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.line += 1;
        let text = match simdutf8::basic::from_utf8(bytes) {
            Ok(text) => std::borrow::Cow::Borrowed(text),
            Err(_) => {
                self.parsed.skipped.push(Skipped {
                    line: self.line,
                    why: Why::NotUtf8,
                });
                String::from_utf8_lossy(bytes)
            }
        };
        let line = Line {
            text: &text,
            number: self.line,
            offset: self.offset,
        };
        self.reader.line(line, &mut self.parsed);
        // A line that is read again, because a message was still open, is in the archive already.
        if self.offset >= self.archived {
            self.log.push_str(&text);
        }
        self.offset += bytes.len() as u64;
    }

    fn pass_over(&mut self, length: u64) {
        self.line += 1;
        if self.offset >= self.archived {
            self.log.push_str(&format!(
                "{{\"type\":\"throughline-too-long\",\"bytes\":{length}}}\n"
            ));
        }
        self.offset += length;
        self.parsed.skipped.push(Skipped {
            line: self.line,
            why: Why::TooLong,
        });
    }

    fn chunk(&mut self, file: Option<&File>, last: bool) -> io::Result<Chunk> {
        let resume = self.reader.resume();
        let open = resume.is_some() || (file.is_some() && self.offset < self.stamp.size);
        let (line, offset, state) = match resume {
            // A cursor counts the lines before it.
            Some(resume) => (resume.line.saturating_sub(1), resume.offset, resume.state),
            None => (self.line, self.offset, self.reader.state()),
        };
        let (head, tail) = match file {
            Some(file) => fingerprints(file, offset)?,
            None => Default::default(),
        };
        let read_bytes = self.offset - self.read_from;
        self.read_from = self.offset;
        let log = (self.offset > self.archived).then(|| Log {
            offset: self.archived,
            size: self.offset - self.archived,
            text: std::mem::take(&mut self.log),
        });
        self.archived = self.archived.max(self.offset);
        let mut cursor = Cursor {
            key: self.key,
            stamp: self.stamp,
            offset,
            line,
            head,
            tail,
            archived: self.archived,
            settled: self.settled || !open,
            gone: false,
            state: Some(state),
        };
        if !last && (self.restarted || file.is_none()) {
            // Interrupted here, the source must be read from its start again: what it no longer
            // holds is known only at its end.
            cursor = Cursor {
                key: self.key,
                head: UNREAD,
                ..Cursor::default()
            };
        }
        Ok(Chunk {
            parsed: std::mem::take(&mut self.parsed),
            cursor,
            last,
            restarted: self.restarted,
            read_bytes,
            modified: time::of_file(self.stamp.mtime_ns),
            log,
        })
    }
}

enum Got {
    Line,
    /// Text without a newline behind it.
    Tail,
    TooLong(u64),
    End,
}

/// Reads the next line, with its newline, into `buffer`.
fn next_line(input: &mut impl BufRead, buffer: &mut Vec<u8>) -> io::Result<Got> {
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
                0 => Got::End,
                length if length > LINE_BYTES_MAX as u64 => Got::TooLong(length),
                _ => Got::Tail,
            });
        }
        let end = memchr::memchr(b'\n', available);
        let taken = end.map_or(available.len(), |end| end + 1);
        length += taken as u64;
        if length <= LINE_BYTES_MAX as u64 {
            buffer.extend_from_slice(&available[..taken]);
        } else {
            // Given back at once, so that one absurd line does not hold its memory for ever.
            *buffer = Vec::new();
        }
        input.consume(taken);
        if end.is_some() {
            let fits = length <= LINE_BYTES_MAX as u64;
            return Ok(if fits {
                Got::Line
            } else {
                Got::TooLong(length)
            });
        }
    }
}

/// Says whether a file still begins with what was read of it.
fn grew(file: &mut File, stamp: &Stamp, cursor: &Cursor) -> io::Result<bool> {
    if stamp.size < cursor.offset || cursor.head == UNREAD {
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

fn is_settled(stamp: &Stamp, now: Timestamp) -> bool {
    settles_at(stamp).is_some_and(|at| now > at)
}

#[cfg(unix)]
fn stamp(metadata: &Metadata) -> Stamp {
    use std::os::unix::fs::MetadataExt;
    Stamp {
        device: metadata.dev(),
        inode: metadata.ino(),
        size: metadata.size(),
        mtime_ns: metadata.mtime() * 1_000_000_000 + metadata.mtime_nsec(),
        ctime_ns: metadata.ctime() * 1_000_000_000 + metadata.ctime_nsec(),
    }
}

#[cfg(not(unix))]
fn stamp(metadata: &Metadata) -> Stamp {
    let since_epoch = |time: io::Result<std::time::SystemTime>| {
        let time = time.ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        i64::try_from(time.as_nanos()).ok()
    };
    Stamp {
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

    impl Reader for Refusing {
        fn line(&mut self, line: Line<'_>, out: &mut Parsed) {
            out.skip(line, Why::Malformed);
        }

        fn state(&self) -> String {
            String::new()
        }
    }

    fn tail(offset_max: u64) -> Tail {
        Tail {
            reader: Box::new(Refusing),
            key: [0; 16],
            stamp: Stamp::default(),
            settled: true,
            restarted: false,
            line: 0,
            offset: 0,
            read_from: 0,
            parsed: Parsed::default(),
            archived: 0,
            log: String::new(),
            offset_max,
        }
    }

    /// Reads lines and returns how many items each chunk has, and where reading ended.
    fn items(text: &str, offset_max: u64) -> (Vec<usize>, u64) {
        let (mut chunks, mut end) = (Vec::new(), 0);
        let read = tail(offset_max).lines(text.as_bytes(), None, &mut |chunk| {
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
    fn a_log_that_unpacks_without_end_is_cut() {
        let (chunks, end) = items(&"0123456\n".repeat(1000), 80);
        assert_eq!(
            (chunks, end),
            (vec![11], 80),
            "ten lines and a note of the cut"
        );
        assert_eq!(unpacked_bytes_max(132 << 10), UNPACKED_BYTES_MIN);
        assert_eq!(unpacked_bytes_max(1 << 30), UNPACKED_RATIO_MAX << 30);
        assert_eq!(unpacked_bytes_max(u64::MAX), u64::MAX);
    }
}
