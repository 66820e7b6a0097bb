//! Attributes of indexed rows: eight bytes per row, stored in pages, so that search can score
//! thousands of candidates without reading their records.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use jiff::Timestamp;
use memory::RecordKind;
use rusqlite::blob::Blob;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::error::Result;
use crate::records;

const PAGE_ROWS: i64 = 1024;
const ATTRIBUTES_BYTES: usize = 8;
const CHECKSUM_BYTES: usize = 4;
const DAY_MS: i64 = 86_400_000;
/// Sizes are stored in steps of a twelfth of an octave, which is six per cent.
const SIZE_STEPS: f64 = 12.0;

/// The size of each step, computed once because a search decodes thousands.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is not negative, rounded, and `as` saturates"
)]
static SIZE_OF_STEP: LazyLock<[u32; 256]> = LazyLock::new(|| {
    std::array::from_fn(|step| ((step as f64 / SIZE_STEPS).exp2() - 1.0).round() as u32)
});

/// What search knows of a row without reading its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowAttributes {
    /// The number of the session, good for comparing only.
    pub session: u32,
    /// Days since 1970; 0 when the time is unknown.
    pub day: u16,
    pub kind: RecordKind,
    /// The approximate length of the text.
    pub size_bytes: u32,
}

impl RowAttributes {
    pub(crate) fn new(
        session: i64,
        at: Option<Timestamp>,
        kind: RecordKind,
        size_bytes: usize,
    ) -> Self {
        let day = at.map_or(0, |at| at.as_millisecond().div_euclid(DAY_MS));
        Self {
            session: u32::try_from(session).unwrap_or(u32::MAX),
            day: u16::try_from(day).unwrap_or(0),
            kind,
            size_bytes: u32::try_from(size_bytes).unwrap_or(u32::MAX),
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the value is not negative, rounded, and `as` saturates"
    )]
    fn to_bytes(self) -> [u8; ATTRIBUTES_BYTES] {
        let steps = (f64::from(self.size_bytes) + 1.0).log2() * SIZE_STEPS;
        let mut bytes = [0; ATTRIBUTES_BYTES];
        bytes[..4].copy_from_slice(&self.session.to_le_bytes());
        bytes[4..6].copy_from_slice(&self.day.to_le_bytes());
        bytes[6] = self.kind as u8 + 1;
        bytes[7] = steps.round() as u8;
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let kind = bytes[6].checked_sub(1)?;
        Some(Self {
            session: u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
            day: u16::from_le_bytes([bytes[4], bytes[5]]),
            kind: records::kind_from_number(i64::from(kind)),
            size_bytes: SIZE_OF_STEP[usize::from(bytes[7])],
        })
    }
}

/// The attributes of an indexed row, and a checksum of the terms that it was indexed with.
pub(crate) type IndexedRow = (RowAttributes, u32);

/// Writes attributes and checksums; `None` removes both.
pub(crate) fn write(
    tx: &Transaction<'_>,
    trails: &BTreeMap<i64, Option<IndexedRow>>,
) -> Result<()> {
    let mut trails = trails.iter().peekable();
    while let Some(&(row, _)) = trails.peek() {
        let page = row / PAGE_ROWS;
        let (mut marks, mut sums) = read_page(tx, page)?;
        while let Some((row, trail)) = trails.next_if(|(row, _)| *row / PAGE_ROWS == page) {
            let place = slot(*row);
            let (mark, sum) = trail.map_or(([0; ATTRIBUTES_BYTES], 0), |(mark, sum)| {
                (mark.to_bytes(), sum)
            });
            write_at(&mut marks, place * ATTRIBUTES_BYTES, &mark);
            write_at(&mut sums, place * CHECKSUM_BYTES, &sum.to_le_bytes());
        }
        tx.prepare_cached("INSERT OR REPLACE INTO marks (page, data, sums) VALUES (?1, ?2, ?3)")?
            .execute(params![page, marks, sums])?;
    }
    Ok(())
}

fn write_at(page: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = at + bytes.len();
    if page.len() < end {
        page.resize(end, 0);
    }
    page[at..end].copy_from_slice(bytes);
}

/// Returns the checksum of the terms that a row was indexed with; `None` when it is not indexed.
pub(crate) fn stored_checksum(connection: &Connection, row: i64) -> Result<Option<u32>> {
    let (marks, sums) = read_page(connection, row / PAGE_ROWS)?;
    let (mark, sum) = (slot(row) * ATTRIBUTES_BYTES, slot(row) * CHECKSUM_BYTES);
    if marks
        .get(mark..mark + ATTRIBUTES_BYTES)
        .and_then(RowAttributes::from_bytes)
        .is_none()
    {
        return Ok(None);
    }
    let bytes = sums.get(sum..sum + CHECKSUM_BYTES);
    let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
    Ok(Some(bytes.map_or(0, u32::from_le_bytes)))
}

/// Returns the index of a row on its page.
fn slot(row: i64) -> usize {
    usize::try_from(row % PAGE_ROWS).unwrap_or(0)
}

fn read_page(connection: &Connection, page: i64) -> Result<(Vec<u8>, Vec<u8>)> {
    Ok(connection
        .prepare_cached("SELECT data, coalesce(sums, x'') FROM marks WHERE page = ?1")?
        .query_row([page], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?
        .unwrap_or_default())
}

/// Reads attributes for one search. Only the needed part of a page is copied.
pub(crate) struct AttributePages<'c> {
    connection: &'c Connection,
    /// The blob of the last page, reopened for the next one.
    open: RefCell<Option<Blob<'c>>>,
}

impl<'c> AttributePages<'c> {
    pub(crate) const fn new(connection: &'c Connection) -> Self {
        Self {
            connection,
            open: RefCell::new(None),
        }
    }

    /// Returns the attributes of rows; `None` for a row that is not indexed. Rows of the same page
    /// should be adjacent.
    pub(crate) fn attributes(&self, rows: &[i64]) -> Result<Vec<Option<RowAttributes>>> {
        let mut marks = Vec::with_capacity(rows.len());
        let mut part = Vec::new();
        for run in rows.chunk_by(|a, b| a / PAGE_ROWS == b / PAGE_ROWS) {
            let places = || run.iter().map(|row| slot(*row));
            let first = places().min().unwrap_or(0);
            let last = places().max().unwrap_or(0);
            self.read(run[0] / PAGE_ROWS, first..last + 1, &mut part)?;
            marks.extend(places().map(|place| attributes_at(&part, place - first)));
        }
        Ok(marks)
    }

    /// Reads a part of a page; less where the page ends before.
    fn read(&self, page: i64, places: Range<usize>, part: &mut Vec<u8>) -> Result<()> {
        let mut open = self.open.borrow_mut();
        part.clear();
        let is_open = match open.as_mut() {
            Some(blob) => blob.reopen(page).is_ok(),
            None => false,
        };
        if !is_open {
            *open = None;
            if !self.has_page(page)? {
                return Ok(());
            }
            *open = Some(
                self.connection
                    .blob_open("main", "marks", "data", page, true)?,
            );
        }
        if let Some(blob) = open.as_ref() {
            let end = (places.end * ATTRIBUTES_BYTES).min(blob.len());
            let start = (places.start * ATTRIBUTES_BYTES).min(end);
            part.resize(end - start, 0);
            blob.read_at_exact(part, start)?;
        }
        Ok(())
    }

    fn has_page(&self, page: i64) -> Result<bool> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT 1 FROM marks WHERE page = ?1")?;
        Ok(statement.exists([page])?)
    }
}

impl std::fmt::Debug for AttributePages<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pages").finish_non_exhaustive()
    }
}

fn attributes_at(page: &[u8], place: usize) -> Option<RowAttributes> {
    let at = place * ATTRIBUTES_BYTES;
    page.get(at..at + ATTRIBUTES_BYTES)
        .and_then(RowAttributes::from_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_survives_nearly() {
        let at = "2026-01-05T09:00:00Z".parse().ok();
        let mark = RowAttributes::new(70_000, at, RecordKind::Thinking, 1000);
        let read = RowAttributes::from_bytes(&mark.to_bytes()).unwrap();
        assert_eq!(
            (read.session, read.day, read.kind),
            (70_000, 20_458, RecordKind::Thinking)
        );
        assert!((940..1060).contains(&read.size_bytes), "{read:?}");
        assert_eq!(RowAttributes::from_bytes(&[0; ATTRIBUTES_BYTES]), None);
    }
}
