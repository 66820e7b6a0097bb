//! Sets of rows.

/// A set of rows as a bitmap.
#[derive(Debug, Default)]
pub(crate) struct RowSet(Vec<u64>);

impl RowSet {
    pub(crate) fn has(&self, row: u32) -> bool {
        let word = self.0.get(row as usize / 64).copied().unwrap_or(0);
        word >> (row % 64) & 1 == 1
    }

    pub(crate) fn insert(&mut self, row: u32) {
        let at = row as usize / 64;
        if at >= self.0.len() {
            self.0.resize(at + 1, 0);
        }
        self.0[at] |= 1 << (row % 64);
    }

    /// Adds rows in any order.
    pub(crate) fn add(&mut self, rows: &[u32]) {
        let Some(last) = rows.iter().max() else {
            return;
        };
        let size = *last as usize / 64 + 1;
        if self.0.len() < size {
            self.0.resize(size, 0);
        }
        for row in rows {
            self.0[*row as usize / 64] |= 1 << (row % 64);
        }
    }

    pub(crate) fn and(mut self, others: &Self) -> Self {
        self.0.truncate(others.0.len());
        for (bits, other) in self.0.iter_mut().zip(&others.0) {
            *bits &= other;
        }
        self
    }

    pub(crate) fn without(mut self, others: &Self) -> Self {
        for (bits, other) in self.0.iter_mut().zip(&others.0) {
            *bits &= !other;
        }
        self
    }

    /// Returns the rows in ascending order.
    pub(crate) fn to_vec(&self) -> Vec<u32> {
        let mut rows = Vec::new();
        for (first, bits) in (0_u32..).step_by(64).zip(&self.0) {
            let mut rest = *bits;
            while rest != 0 {
                rows.push(first + rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
        rows
    }
}
