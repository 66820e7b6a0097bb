//! Marks: eight bytes for every indexed row, in pages, so that thousands of candidates can be weighed
//! without reading their rows.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use memory::Kind;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::error::Result;
use crate::records;

const PAGE_ROWS: i64 = 1024;
const MARK_BYTES: usize = 8;
const DAY_MS: i64 = 86_400_000;
/// Sizes are kept as steps of a twelfth of an octave, which is six per cent.
const SIZE_STEPS: f64 = 12.0;

/// What is known of a row at a glance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The session's number, good for comparing only.
    pub session: u32,
    /// Days since 1970; 0 when the time is not known.
    pub day: u16,
    pub kind: Kind,
    /// About how long the text is.
    pub size_bytes: u32,
}

impl Mark {
    pub(crate) fn new(session: i64, at: Option<Timestamp>, kind: Kind, size_bytes: usize) -> Self {
        let day = at.map_or(0, |at| at.as_millisecond().div_euclid(DAY_MS));
        Self {
            session: u32::try_from(session).unwrap_or(u32::MAX),
            day: u16::try_from(day).unwrap_or(0),
            kind,
            size_bytes: u32::try_from(size_bytes).unwrap_or(u32::MAX),
        }
    }

    fn to_bytes(self) -> [u8; MARK_BYTES] {
        let steps = (f64::from(self.size_bytes) + 1.0).log2() * SIZE_STEPS;
        let mut bytes = [0; MARK_BYTES];
        bytes[..4].copy_from_slice(&self.session.to_le_bytes());
        bytes[4..6].copy_from_slice(&self.day.to_le_bytes());
        bytes[6] = self.kind as u8 + 1;
        // Rounded and within a byte; `as` saturates.
        bytes[7] = steps.round() as u8;
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let kind = bytes[6].checked_sub(1)?;
        Some(Self {
            session: u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
            day: u16::from_le_bytes([bytes[4], bytes[5]]),
            kind: records::kind(i64::from(kind)),
            size_bytes: ((f64::from(bytes[7]) / SIZE_STEPS).exp2() - 1.0).round() as u32,
        })
    }
}

/// Writes marks; `None` takes one away.
pub(crate) fn write(tx: &Transaction<'_>, marks: &BTreeMap<i64, Option<Mark>>) -> Result<()> {
    let mut marks = marks.iter().peekable();
    while let Some(&(row, _)) = marks.peek() {
        let page = row / PAGE_ROWS;
        let mut data = read(tx, page)?.unwrap_or_default();
        while let Some((row, mark)) = marks.next_if(|(row, _)| *row / PAGE_ROWS == page) {
            let at = place(*row);
            if data.len() < at + MARK_BYTES {
                data.resize(at + MARK_BYTES, 0);
            }
            let bytes = mark.map_or([0; MARK_BYTES], Mark::to_bytes);
            data[at..at + MARK_BYTES].copy_from_slice(&bytes);
        }
        tx.prepare_cached("INSERT OR REPLACE INTO marks (page, data) VALUES (?1, ?2)")?
            .execute(params![page, data])?;
    }
    Ok(())
}

fn place(row: i64) -> usize {
    usize::try_from(row % PAGE_ROWS).unwrap_or(0) * MARK_BYTES
}

fn read(connection: &Connection, page: i64) -> Result<Option<Vec<u8>>> {
    Ok(connection
        .prepare_cached("SELECT data FROM marks WHERE page = ?1")?
        .query_row([page], |row| row.get(0))
        .optional()?)
}

/// Pages that were read, for one question.
#[derive(Debug, Default)]
pub(crate) struct Pages(RefCell<HashMap<i64, Vec<u8>>>);

impl Pages {
    /// Returns the marks of rows; `None` for a row that is not indexed.
    pub fn marks(&self, connection: &Connection, rows: &[i64]) -> Result<Vec<Option<Mark>>> {
        let mut pages = self.0.borrow_mut();
        let mut marks = Vec::with_capacity(rows.len());
        for row in rows {
            let page = row / PAGE_ROWS;
            if let std::collections::hash_map::Entry::Vacant(vacant) = pages.entry(page) {
                vacant.insert(read(connection, page)?.unwrap_or_default());
            }
            let at = place(*row);
            let mark = pages
                .get(&page)
                .and_then(|data| data.get(at..at + MARK_BYTES))
                .and_then(Mark::from_bytes);
            marks.push(mark);
        }
        Ok(marks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_survives_nearly() {
        let at = "2026-01-05T09:00:00Z".parse().ok();
        let mark = Mark::new(70_000, at, Kind::Thinking, 1000);
        let read = Mark::from_bytes(&mark.to_bytes()).unwrap();
        assert_eq!(
            (read.session, read.day, read.kind),
            (70_000, 20_458, Kind::Thinking)
        );
        assert!((940..1060).contains(&read.size_bytes), "{read:?}");
        assert_eq!(Mark::from_bytes(&[0; MARK_BYTES]), None);
    }
}
