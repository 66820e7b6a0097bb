//! Copies the readable rows of a damaged store into a new one.
//!
//! Rows are found by the trees that the damaged schema names. Where a tree has lost a page, the
//! pages after it are no longer reached from above: those are looked at one by one, and belong to
//! the broken tree whose rows they can be.

use std::collections::{BTreeMap, HashMap, HashSet};

use memory::RecordId;
use rusqlite::{Transaction, params_from_iter};

use super::layout::{LayoutRole, TableLayout, table_layouts};
use crate::error::Result;
use crate::salvage::pages::DatabaseImage;
use crate::salvage::pages::row::CellValue;
use crate::salvage::pages::tree::{self, TreeKind, TreeRow};

/// The first bytes of zstd's output, which tell it from other bytes.
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The result of copying.
#[derive(Debug, Default)]
pub(super) struct SalvagedRows {
    /// Rows that were copied, by table.
    pub kept_rows: BTreeMap<String, u64>,
    /// Tables of which a page or a row could not be read.
    pub damage: BTreeMap<String, TableDamage>,
    /// The record id of each row, from the index of ids.
    pub ids: HashMap<i64, RecordId>,
}

/// The damage to a table.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TableDamage {
    pub pages: usize,
    pub rows: usize,
}

/// Copies every row that can be read.
pub(super) fn salvage(image: &DatabaseImage, tx: &Transaction<'_>) -> Result<SalvagedRows> {
    let shapes = table_layouts(tx)?;
    let mut salvage = Salvager {
        image,
        tx,
        used: image.free_pages(),
        salvaged: SalvagedRows::default(),
    };
    let roots = salvage.roots();
    let mut broken = Vec::new();
    for shape in &shapes {
        if salvage.tree(shape, roots.get(&shape.name).copied())? {
            broken.push(shape);
        }
    }
    if !broken.is_empty() {
        salvage.strays(&broken)?;
    }
    if let Some(root) = roots.get("sqlite_autoindex_records_1") {
        salvage.read_record_ids(*root);
    }
    Ok(salvage.salvaged)
}

struct Salvager<'a> {
    image: &'a DatabaseImage,
    tx: &'a Transaction<'a>,
    /// Pages that belong to a known tree.
    used: HashSet<u32>,
    salvaged: SalvagedRows,
}

impl Salvager<'_> {
    /// Returns the root pages of the damaged store's trees.
    fn roots(&mut self) -> HashMap<String, u32> {
        let mut roots = HashMap::new();
        tree::walk_tree(self.image, 1, TreeKind::Table, &mut self.used, &mut |row| {
            if let [_, CellValue::Text(name), _, CellValue::Integer(root), ..] =
                row.cells.as_slice()
                && let (Ok(name), Ok(root)) = (std::str::from_utf8(name), u32::try_from(*root))
                && root > 1
            {
                roots.insert(name.to_owned(), root);
            }
        });
        roots
    }

    /// Copies the rows that a tree still reaches, and returns whether it is broken.
    fn tree(&mut self, shape: &TableLayout, root: Option<u32>) -> Result<bool> {
        let Some(root) = root else {
            self.count_damage(shape, 1, 0);
            return Ok(true);
        };
        let mut outcome = Ok(());
        let (mut written, mut misfits) = (0, 0);
        let tx = self.tx;
        let found = tree::walk_tree(
            self.image,
            root,
            shape.kind,
            &mut self.used,
            &mut |mut row| {
                if shape.role == LayoutRole::Derived || outcome.is_err() {
                    return;
                }
                if !shape.fits(&row.cells) {
                    misfits += 1;
                    shape.coerce(&mut row.cells);
                }
                match put(tx, shape, row) {
                    Ok(rows) => written += rows,
                    Err(error) => outcome = Err(error),
                }
            },
        );
        outcome?;
        self.keep(shape, written);
        self.count_damage(shape, found.bad_pages, found.bad_rows + misfits);
        Ok(found.bad_pages > 0)
    }

    /// Copies the rows of the pages that no tree reached.
    fn strays(&mut self, broken: &[&TableLayout]) -> Result<()> {
        for at in 2..=self.image.pages() {
            if self.used.contains(&at) {
                continue;
            }
            let Some(page) = tree::parse_page(self.image, at) else {
                continue;
            };
            // The inner pages of a table hold no rows; those of an index do.
            if page.kind == TreeKind::Table && !page.is_leaf() {
                continue;
            }
            let mut rows = Vec::new();
            let mut touched = HashSet::new();
            let bad = page.rows(self.image, &mut touched, &mut |row| rows.push(row));
            let Some(shape) = owner(broken, page.kind, &rows) else {
                continue;
            };
            self.used.insert(at);
            self.used.extend(touched);
            if shape.role == LayoutRole::Derived {
                continue;
            }
            self.count_damage(shape, 0, bad);
            for row in rows {
                let written = put(self.tx, shape, row)?;
                self.keep(shape, written);
            }
        }
        Ok(())
    }

    /// Reads the index of ids.
    fn read_record_ids(&mut self, root: u32) {
        let ids = &mut self.salvaged.ids;
        // The tree was walked before, to mark its pages.
        let mut used = HashSet::new();
        tree::walk_tree(self.image, root, TreeKind::Index, &mut used, &mut |row| {
            if let [CellValue::Blob(id), CellValue::Integer(number)] = row.cells.as_slice()
                && let Ok(id) = id.as_slice().try_into()
            {
                ids.insert(*number, RecordId::from_bytes(id));
            }
        });
    }

    fn keep(&mut self, shape: &TableLayout, rows: u64) {
        if rows > 0 {
            *self
                .salvaged
                .kept_rows
                .entry(shape.name.clone())
                .or_default() += rows;
        }
    }

    fn count_damage(&mut self, shape: &TableLayout, pages: usize, rows: usize) {
        if shape.role == LayoutRole::Table && pages + rows > 0 {
            let hurt = self.salvaged.damage.entry(shape.name.clone()).or_default();
            hurt.pages += pages;
            hurt.rows += rows;
        }
    }
}

/// Returns the broken tree that these rows must belong to; `None` when several are possible.
fn owner<'a>(
    broken: &[&'a TableLayout],
    kind: TreeKind,
    rows: &[TreeRow],
) -> Option<&'a TableLayout> {
    let length = rows.first()?.cells.len();
    let mut fitting: Vec<_> = broken
        .iter()
        .copied()
        .filter(|shape| shape.kind == kind && rows.iter().all(|row| shape.fits(&row.cells)))
        .collect();
    let least = fitting
        .iter()
        .map(|shape| shape.missing_columns(length))
        .min()?;
    fitting.retain(|shape| shape.missing_columns(length) == least);
    // The search index keeps numbered bytes as the blocks do, but not compressed ones.
    if fitting.iter().any(|shape| shape.name == "blocks") {
        let compressed = rows.iter().all(|row| match row.cells.get(1) {
            Some(CellValue::Blob(bytes)) => bytes.starts_with(&ZSTD_MAGIC),
            _ => false,
        });
        fitting.retain(|shape| (shape.name == "blocks") == compressed);
    }
    match fitting.as_slice() {
        [only] => Some(only),
        _ => None,
    }
}

/// Writes a row unless the same row exists already, and counts it.
fn put(tx: &Transaction<'_>, shape: &TableLayout, row: TreeRow) -> Result<u64> {
    let mut cells = row.cells;
    shape.set_row_number(row.number, &mut cells);
    let mut statement = tx.prepare_cached(&shape.insert_sql(cells.len()))?;
    let mut written = statement.execute(params_from_iter(&cells))?;
    // A changed bit may have given two records one number. Only the search index refers to that,
    // and it is rebuilt, so the second record gets another.
    if written == 0 && shape.name == "records" {
        shape.clear_row_number(&mut cells);
        written = statement.execute(params_from_iter(&cells))?;
    }
    Ok(written as u64)
}
