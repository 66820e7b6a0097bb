//! The posting lists of terms, read from the tables of FTS5 itself.
//!
//! FTS5 returns matching rows one by one, and checks the list of the scope for each. The lists are
//! simple: ascending numbers, each stored as the difference to the one before. Reading a whole list
//! takes a few nanoseconds per row, and gives the number of rows.
//!
//! The format is that of FTS5 versions 4 and 5 with `detail = none`: *segments*, listed in the
//! structure record, each a run of *leaves* with sorted terms, and a table with the first leaf of
//! each term. A delete marker in a newer segment hides a row in older ones. For any other format
//! this module returns `None`, and the caller asks FTS5.

use std::collections::HashSet;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension};

use crate::error::Result;
use crate::index::row_set::RowSet;

/// The format versions that this module reads.
const SUPPORTED_VERSIONS: std::ops::RangeInclusive<i64> = 4..=5;
/// The row id of the structure record.
const STRUCTURE_ROW: i64 = 10;
/// The first byte of every term in the main index.
const MAIN_INDEX_PREFIX: u8 = b'0';
/// The bits of a leaf's row id below the number of its segment.
const SEGMENT_SHIFT: u32 = 37;
/// A leaf begins with the offsets of its first row and of its terms.
const LEAF_HEADER_BYTES: usize = 4;
/// Leaves of a segment, of about 4 kB each, that are read for one prefix. A single letter has more
/// of them in a store of millions of records, where the first of its terms already match too much.
const PREFIX_LEAVES_MAX: usize = 2048;

/// The segments of the index, the newest first.
#[derive(Debug)]
pub(crate) struct Postings {
    segments: Vec<Segment>,
}

#[derive(Debug)]
struct Segment {
    id: i64,
    first: i64,
    last: i64,
}

/// The part of a posting list in one segment.
#[derive(Debug, Default)]
struct SegmentRows {
    rows: Vec<u32>,
    /// Rows of older segments that were deleted or replaced.
    hidden: Vec<u32>,
}

/// What a leaf contains of a term.
enum LeafMatch {
    Absent,
    /// The list ends on this leaf.
    Complete,
    /// The list may continue on the next leaf.
    Continues,
}

/// What a segment says about a row in the list of a term.
#[derive(Clone, Copy, PartialEq)]
enum PostedRow {
    Added,
    /// The row is not in the list; it hides the row in older segments.
    Deleted,
    /// The same, and it was added again.
    Replaced,
}

impl SegmentRows {
    fn add(&mut self, row: u32, state: PostedRow, is_wanted: impl Fn(u32) -> bool) {
        if state != PostedRow::Added {
            self.hidden.push(row);
        }
        if state != PostedRow::Deleted && is_wanted(row) {
            self.rows.push(row);
        }
    }
}

/// Where the end of a leaf lies relative to the terms with a prefix.
#[derive(Clone, Copy, PartialEq)]
enum PrefixPosition {
    Before,
    /// The last term of the leaf has the prefix.
    Within,
    After,
}

impl Postings {
    /// Returns `None` when the format of the index is not supported.
    pub(crate) fn open(connection: &Connection) -> Result<Option<Self>> {
        let version: Option<i64> = connection
            .prepare_cached("SELECT v FROM search_config WHERE k = 'version'")?
            .query_row([], |row| row.get(0))
            .optional()?;
        if !version.is_some_and(|version| SUPPORTED_VERSIONS.contains(&version)) {
            return Ok(None);
        }
        let structure: Option<Vec<u8>> = connection
            .prepare_cached("SELECT block FROM search_data WHERE id = ?1")?
            .query_row([STRUCTURE_ROW], |row| row.get(0))
            .optional()?;
        let segments = structure.and_then(|bytes| parse_segments(&bytes));
        Ok(segments.map(|segments| Self { segments }))
    }

    /// Puts the rows that contain a term and are wanted into `rows`, in ascending order. Returns
    /// `false` when the index has another format than expected.
    pub(crate) fn rows(
        &self,
        connection: &Connection,
        term: &str,
        is_wanted: impl Fn(u32) -> bool + Copy,
        rows: &mut Vec<u32>,
    ) -> Result<bool> {
        rows.clear();
        let mut key = vec![MAIN_INDEX_PREFIX];
        key.extend_from_slice(term.as_bytes());
        let mut lists = Vec::with_capacity(self.segments.len());
        for segment in &self.segments {
            match segment.read_rows(connection, &key, is_wanted)? {
                Some(list) => lists.push(list),
                None => return Ok(false),
            }
        }
        remove_hidden_rows(&mut lists);
        lists.retain(|list| !list.rows.is_empty());
        if let [only] = lists.as_mut_slice() {
            std::mem::swap(rows, &mut only.rows);
            return Ok(true);
        }
        // Rows and segments both grow with time, so the oldest segment first is nearly sorted.
        for list in lists.iter().rev() {
            rows.extend_from_slice(&list.rows);
        }
        if !rows.is_sorted_by(|a, b| a < b) {
            rows.sort();
            rows.dedup();
        }
        Ok(true)
    }
}

impl Postings {
    /// Adds the wanted rows that contain a term with a prefix to a set. Returns `false` when the
    /// index has another format than expected.
    pub(crate) fn rows_with_prefix(
        &self,
        connection: &Connection,
        prefix: &str,
        is_wanted: impl Fn(u32) -> bool + Copy,
        rows: &mut RowSet,
    ) -> Result<bool> {
        let mut key = vec![MAIN_INDEX_PREFIX];
        key.extend_from_slice(prefix.as_bytes());
        // A row is deleted with all of its terms, so what hides it under one hides it under all.
        let mut hidden = RowSet::default();
        for segment in &self.segments {
            let mut hidden_here = Vec::new();
            let each = |row: u32, state: PostedRow| {
                if state != PostedRow::Added {
                    hidden_here.push(row);
                }
                if state != PostedRow::Deleted && is_wanted(row) && !hidden.has(row) {
                    rows.insert(row);
                }
            };
            if !segment.read_prefix(connection, &key, each)? {
                return Ok(false);
            }
            hidden.add(&hidden_here);
        }
        Ok(true)
    }
}

impl Segment {
    /// Reads the lists of all terms with a prefix, one after the other. Returns `false` for a leaf
    /// that cannot be parsed.
    fn read_prefix(
        &self,
        connection: &Connection,
        key: &[u8],
        mut each: impl FnMut(u32, PostedRow),
    ) -> Result<bool> {
        let start = self.first_leaf(connection, key)?;
        let mut statement = connection.prepare_cached(
            "SELECT block FROM search_data WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3",
        )?;
        let number = |leaf: i64| (self.id << SEGMENT_SHIFT) + leaf;
        let range = (number(start), number(self.last), PREFIX_LEAVES_MAX);
        let mut leaves = statement.query(range)?;
        let mut position = PrefixPosition::Before;
        while let Some(row) = leaves.next()? {
            let ValueRef::Blob(leaf) = row.get_ref(0)? else {
                return Ok(false);
            };
            match read_prefix_terms(leaf, key, position, &mut each) {
                None => return Ok(false),
                Some(PrefixPosition::After) => break,
                Some(next) => position = next,
            }
        }
        Ok(true)
    }

    fn read_rows(
        &self,
        connection: &Connection,
        key: &[u8],
        is_wanted: impl Fn(u32) -> bool + Copy,
    ) -> Result<Option<SegmentRows>> {
        let mut list = SegmentRows::default();
        let start = self.first_leaf(connection, key)?;
        let mut statement = connection.prepare_cached(
            "SELECT block FROM search_data WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
        )?;
        let number = |leaf: i64| (self.id << SEGMENT_SHIFT) + leaf;
        let mut leaves = statement.query([number(start), number(self.last)])?;
        let mut is_first = true;
        while let Some(row) = leaves.next()? {
            let ValueRef::Blob(leaf) = row.get_ref(0)? else {
                return Ok(None);
            };
            let each = |row: u32, state: PostedRow| list.add(row, state, is_wanted);
            let found = if is_first {
                find_term(leaf, key, each)
            } else {
                read_continuation(leaf, each)
            };
            is_first = false;
            match found {
                None => return Ok(None),
                Some(LeafMatch::Absent | LeafMatch::Complete) => break,
                Some(LeafMatch::Continues) => {}
            }
        }
        Ok(Some(list))
    }

    /// Returns the number of the leaf that a term would be on.
    fn first_leaf(&self, connection: &Connection, key: &[u8]) -> Result<i64> {
        let sql = "SELECT pgno FROM search_idx WHERE segid = ?1 AND term <= ?2
            ORDER BY term DESC LIMIT 1";
        let found: Option<i64> = connection
            .prepare_cached(sql)?
            .query_row((self.id, key), |row| row.get(0))
            .optional()?;
        Ok(found.map_or(0, |leaf| leaf >> 1).max(self.first))
    }
}

/// Removes from each list the rows that a newer segment hides.
fn remove_hidden_rows(lists: &mut [SegmentRows]) {
    let mut hidden: HashSet<u32> = HashSet::new();
    for list in lists {
        if !hidden.is_empty() {
            list.rows.retain(|row| !hidden.contains(row));
        }
        hidden.extend(&list.hidden);
    }
}

/// Parses the structure record.
fn parse_segments(bytes: &[u8]) -> Option<Vec<Segment>> {
    // A cookie of four bytes comes first. In a contentless-delete table, which is not supported,
    // the next byte is 0xff.
    let mut at = 4;
    if bytes.get(at) == Some(&0xff) {
        return None;
    }
    let levels = varint(bytes, &mut at)?;
    let count = varint(bytes, &mut at)?;
    varint(bytes, &mut at)?;
    let mut segments = Vec::new();
    for _ in 0..levels {
        varint(bytes, &mut at)?;
        let mut level = Vec::new();
        for _ in 0..varint(bytes, &mut at)? {
            level.push(Segment {
                id: number(bytes, &mut at)?,
                first: number(bytes, &mut at)?,
                last: number(bytes, &mut at)?,
            });
        }
        segments.extend(level.into_iter().rev());
    }
    (segments.len() as u64 == count).then_some(segments)
}

/// Finds a term on a leaf and reads its list. Returns `None` for a leaf that cannot be parsed.
fn find_term(leaf: &[u8], key: &[u8], each: impl FnMut(u32, PostedRow)) -> Option<LeafMatch> {
    let end = terms_offset(leaf)?;
    let mut index = end;
    let mut place = 0;
    let mut term: Vec<u8> = Vec::new();
    while index < leaf.len() {
        let is_first = place == 0;
        place += size(leaf, &mut index)?;
        let mut at = place;
        let kept = if is_first { 0 } else { size(leaf, &mut at)? };
        let added = size(leaf, &mut at)?;
        term.truncate(kept);
        term.extend_from_slice(leaf.get(at..at.checked_add(added)?)?);
        match term.as_slice().cmp(key) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Greater => return Some(LeafMatch::Absent),
            std::cmp::Ordering::Equal => {
                let mut after = index;
                let next = (index < leaf.len()).then(|| size(leaf, &mut after));
                let list_end = match next {
                    Some(step) => place + step?,
                    None => end,
                };
                decode_rows(leaf.get(..list_end)?, at + added, each)?;
                return Some(if next.is_some() {
                    LeafMatch::Complete
                } else {
                    LeafMatch::Continues
                });
            }
        }
    }
    Some(LeafMatch::Absent)
}

/// Reads the lists of all terms on a leaf that have a prefix, and the end of a list that began on
/// the leaf before. Returns `None` for a leaf that cannot be parsed.
fn read_prefix_terms(
    leaf: &[u8],
    key: &[u8],
    mut position: PrefixPosition,
    mut each: impl FnMut(u32, PostedRow),
) -> Option<PrefixPosition> {
    if position == PrefixPosition::Within {
        read_continuation(leaf, &mut each)?;
    }
    let end = terms_offset(leaf)?;
    let mut index = end;
    let mut place = 0;
    let mut term: Vec<u8> = Vec::new();
    while index < leaf.len() {
        let is_first = place == 0;
        place += size(leaf, &mut index)?;
        let mut at = place;
        let kept = if is_first { 0 } else { size(leaf, &mut at)? };
        let added = size(leaf, &mut at)?;
        term.truncate(kept);
        term.extend_from_slice(leaf.get(at..at.checked_add(added)?)?);
        if !term.starts_with(key) {
            if term.as_slice() > key {
                return Some(PrefixPosition::After);
            }
            continue;
        }
        position = PrefixPosition::Within;
        let mut after = index;
        let list_end = if index < leaf.len() {
            place + size(leaf, &mut after)?
        } else {
            end
        };
        decode_rows(leaf.get(..list_end)?, at + added, &mut each)?;
    }
    Some(position)
}

/// Continues a list that began on an earlier leaf.
fn read_continuation(leaf: &[u8], each: impl FnMut(u32, PostedRow)) -> Option<LeafMatch> {
    let end = terms_offset(leaf)?;
    let mut index = end;
    if index < leaf.len() {
        let first_term = size(leaf, &mut index)?;
        decode_rows(leaf.get(..first_term)?, LEAF_HEADER_BYTES, each)?;
        Some(LeafMatch::Complete)
    } else {
        decode_rows(leaf.get(..end)?, LEAF_HEADER_BYTES, each)?;
        Some(LeafMatch::Continues)
    }
}

/// Calls `each` with the rows from an offset to the end.
fn decode_rows(bytes: &[u8], mut at: usize, mut each: impl FnMut(u32, PostedRow)) -> Option<()> {
    let mut row = 0_u64;
    while at < bytes.len() {
        row = row.checked_add(varint(bytes, &mut at)?)?;
        let number = u32::try_from(row).ok()?;
        // One zero byte: the row was deleted. Two: it was deleted and inserted again.
        let mut state = PostedRow::Added;
        if bytes.get(at) == Some(&0) {
            at += 1;
            state = PostedRow::Deleted;
            if bytes.get(at) == Some(&0) {
                at += 1;
                state = PostedRow::Replaced;
            }
        }
        each(number, state);
    }
    Some(())
}

/// Returns the offset of a leaf's terms.
fn terms_offset(leaf: &[u8]) -> Option<usize> {
    let end = usize::from(u16::from_be_bytes([*leaf.get(2)?, *leaf.get(3)?]));
    (LEAF_HEADER_BYTES..=leaf.len())
        .contains(&end)
        .then_some(end)
}

fn number(bytes: &[u8], at: &mut usize) -> Option<i64> {
    i64::try_from(varint(bytes, at)?).ok()
}

fn size(bytes: &[u8], at: &mut usize) -> Option<usize> {
    usize::try_from(varint(bytes, at)?).ok()
}

/// Reads a varint as SQLite writes it: seven bits per byte, the highest first.
#[inline]
fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    match bytes.get(*at) {
        Some(byte) if *byte < 0x80 => {
            *at += 1;
            Some(u64::from(*byte))
        }
        _ => long_varint(bytes, at),
    }
}

fn long_varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0;
    for _ in 0..8 {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value = value << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            return Some(value);
        }
    }
    let last = *bytes.get(*at)?;
    *at += 1;
    Some(value << 8 | u64::from(last))
}
