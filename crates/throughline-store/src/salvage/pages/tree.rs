//! Walks B-trees of pages and reads the rows on a page.

use std::collections::HashSet;

use super::row::{self, CellValue};
use super::{DatabaseImage, HEADER_BYTES, number};

/// No sound tree is nearly this deep. A damaged one may contain a cycle.
const DEPTH_MAX: usize = 40;

/// The kind of a B-tree page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TreeKind {
    /// Rows of a table, by rowid.
    Table,
    /// Rows in the order of their keys: an index, or a table `WITHOUT ROWID`.
    Index,
}

/// An undecoded row.
#[derive(Debug)]
pub(crate) struct TreeRow {
    /// Its rowid, in a table that has rowids.
    pub number: i64,
    pub cells: Vec<CellValue>,
}

/// The damage that was found while reading a tree or a page.
#[derive(Debug, Default)]
pub(crate) struct WalkReport {
    /// Pages that are not of the expected kind.
    pub bad_pages: usize,
    /// Rows on sound pages that could not be decoded.
    pub bad_rows: usize,
}

/// Visits the rows of a tree and marks its pages. A corrupt page costs only the rows below it.
pub(crate) fn walk_tree(
    image: &DatabaseImage,
    root: u32,
    kind: TreeKind,
    used: &mut HashSet<u32>,
    visit: &mut dyn FnMut(TreeRow),
) -> WalkReport {
    let mut found = WalkReport::default();
    let mut todo = vec![(root, 0)];
    while let Some((at, depth)) = todo.pop() {
        // A page that two trees claim belongs to the first one. This check also ends a cycle.
        if depth > DEPTH_MAX || !used.insert(at) {
            continue;
        }
        match parse_page(image, at) {
            Some(page) if page.kind == kind => {
                todo.extend(page.children.iter().rev().map(|child| (*child, depth + 1)));
                found.bad_rows += page.rows(image, used, visit);
            }
            _ => found.bad_pages += 1,
        }
    }
    found
}

/// A page of a tree.
#[derive(Debug)]
pub(crate) struct TreePage {
    pub kind: TreeKind,
    pub children: Vec<u32>,
    bytes: Vec<u8>,
    /// The offsets of the rows on the page.
    starts: Vec<usize>,
    has_rows: bool,
    is_interior: bool,
}

/// Returns a page when it can be part of a tree.
pub(crate) fn parse_page(image: &DatabaseImage, at: u32) -> Option<TreePage> {
    let bytes = image.page(at)?;
    let head = if at == 1 { HEADER_BYTES } else { 0 };
    let (kind, is_interior) = match bytes.get(head)? {
        2 => (TreeKind::Index, true),
        5 => (TreeKind::Table, true),
        10 => (TreeKind::Index, false),
        13 => (TreeKind::Table, false),
        _ => return None,
    };
    let short = |offset: usize| {
        let bytes = bytes.get(offset..offset + 2)?;
        Some(usize::from(u16::from_be_bytes([bytes[0], bytes[1]])))
    };
    let count = short(head + 3)?;
    let first = head + if is_interior { 12 } else { 8 };
    if first + 2 * count > image.usable_bytes() {
        return None;
    }
    let starts: Vec<_> = (0..count)
        .filter_map(|index| short(first + 2 * index))
        .collect();
    let mut children = Vec::new();
    if is_interior {
        children.extend(starts.iter().filter_map(|start| number(&bytes, *start)));
        children.extend(number(&bytes, head + 8));
    }
    Some(TreePage {
        kind,
        children,
        starts,
        has_rows: kind == TreeKind::Index || !is_interior,
        is_interior,
        bytes,
    })
}

impl TreePage {
    pub(crate) fn is_leaf(&self) -> bool {
        !self.is_interior
    }

    /// Visits the page's rows, marks their overflow pages, and counts the rows that could not be
    /// decoded.
    pub(crate) fn rows(
        &self,
        image: &DatabaseImage,
        used: &mut HashSet<u32>,
        visit: &mut dyn FnMut(TreeRow),
    ) -> usize {
        if !self.has_rows {
            return 0;
        }
        let mut bad = 0;
        for start in &self.starts {
            match self.row(image, *start, used) {
                Some(row) => visit(row),
                None => bad += 1,
            }
        }
        bad
    }

    fn row(&self, image: &DatabaseImage, start: usize, used: &mut HashSet<u32>) -> Option<TreeRow> {
        let mut at = if self.is_interior { start + 4 } else { start };
        let (size, next) = row::varint(&self.bytes, at)?;
        at = next;
        let mut number = 0;
        if self.kind == TreeKind::Table {
            let (found, next) = row::varint(&self.bytes, at)?;
            (number, at) = (found.cast_signed(), next);
        }
        let size = usize::try_from(size).ok()?;
        // No row is larger than its file.
        if size / image.usable_bytes() > image.pages() as usize {
            return None;
        }
        let here = self.local_bytes(image, size);
        let mut bytes = self.bytes.get(at..at + here)?.to_vec();
        if here < size {
            let first = super::number(&self.bytes, at + here)?;
            overflow(image, first, size, used, &mut bytes)?;
        }
        let cells = row::decode_row(&bytes)?;
        Some(TreeRow { number, cells })
    }

    /// Returns how many bytes of a row are on its own page.
    fn local_bytes(&self, image: &DatabaseImage, size: usize) -> usize {
        let usable = image.usable_bytes();
        let most = match self.kind {
            TreeKind::Table => usable - 35,
            TreeKind::Index => (usable - 12) * 64 / 255 - 23,
        };
        if size <= most {
            return size;
        }
        let least = (usable - 12) * 32 / 255 - 23;
        let here = least + (size - least) % (usable - 4);
        if here <= most { here } else { least }
    }
}

/// Appends the rest of a long row from its overflow pages.
fn overflow(
    image: &DatabaseImage,
    first: u32,
    size: usize,
    used: &mut HashSet<u32>,
    bytes: &mut Vec<u8>,
) -> Option<()> {
    let mut next = first;
    while bytes.len() < size {
        let page = image.page(next)?;
        used.insert(next);
        let rest = (size - bytes.len()).min(image.usable_bytes() - 4);
        bytes.extend_from_slice(page.get(4..4 + rest)?);
        next = number(&page, 0)?;
    }
    Some(())
}
