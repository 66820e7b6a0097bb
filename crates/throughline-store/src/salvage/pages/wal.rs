//! Reads the write-ahead log to find which pages its commits replaced.
//!
//! SQLite accepts a log up to its first corrupt frame. Each frame's checksum continues from the one
//! stored in the frame before, so the frames after a corrupt one can still be verified. The
//! transactions in them were acknowledged, so they are worth recovering.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek};

use super::number;

const FRAME_HEADER_BYTES: usize = 24;
const LOG_HEADER_BYTES: usize = 32;
/// The magic number without its last bit, which gives the byte order of the checksums.
const MAGIC: u32 = 0x377f_0682;

/// The result of all commits in a log.
#[derive(Debug, Default)]
pub(super) struct WalIndex {
    /// The offset of the latest version of each page.
    pub page_offsets: HashMap<u32, u64>,
    /// How many pages the database has after the last commit. `None` when the log has no commit.
    pub pages: Option<u32>,
}

pub(super) fn read_wal(file: &File, page_bytes: usize) -> WalIndex {
    let mut log = WalIndex::default();
    let mut input = BufReader::with_capacity(1 << 20, file);
    let mut header = [0; LOG_HEADER_BYTES];
    if input.rewind().is_err() || input.read_exact(&mut header).is_err() {
        return log;
    }
    let field = |index: usize| number(&header, 4 * index).unwrap_or(0);
    if field(0) & !1 != MAGIC || field(2) as usize != page_bytes {
        return log;
    }
    let big_endian = field(0) & 1 == 1;
    let salts = (field(4), field(5));
    let mut before = (field(6), field(7));
    let mut pending = HashMap::new();
    let mut frame = vec![0; FRAME_HEADER_BYTES + page_bytes];
    let mut offset = LOG_HEADER_BYTES as u64;
    while input.read_exact(&mut frame).is_ok() {
        let field = |index: usize| number(&frame, 4 * index).unwrap_or(0);
        let written = (field(4), field(5));
        let sum = checksum(before, &frame[..8], big_endian);
        let sum = checksum(sum, &frame[FRAME_HEADER_BYTES..], big_endian);
        if (field(2), field(3)) == salts && sum == written {
            pending.insert(field(0), offset + FRAME_HEADER_BYTES as u64);
            if field(1) != 0 {
                log.page_offsets.extend(pending.drain());
                log.pages = Some(field(1));
            }
        }
        before = written;
        offset += frame.len() as u64;
    }
    log
}

fn checksum(start: (u32, u32), bytes: &[u8], big_endian: bool) -> (u32, u32) {
    let word = |bytes: &[u8]| {
        let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
        if big_endian {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        }
    };
    let (mut a, mut b) = start;
    for pair in bytes.chunks_exact(8) {
        a = a.wrapping_add(word(&pair[..4])).wrapping_add(b);
        b = b.wrapping_add(word(&pair[4..])).wrapping_add(a);
    }
    (a, b)
}
