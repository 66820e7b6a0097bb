//! Literals of formats that a line break splits or that a backslash before them disguises.
//!
//! The scanner does not find a literal with a line break in it. Trying every line break would
//! cost too much, so the three bytes around a break are first looked up in sets of what they would
//! be.

use std::collections::HashSet;
use std::ops::Range;

use super::seams::{MARGIN_BYTES_MAX, skip_leading_margin, skip_trailing_margin};
use crate::scan::progress::is_token_byte;

/// Shorter literals occur too often to be looked for across a line break. No literal is longer than
/// the maximum.
const LITERAL_BYTES_MIN: usize = 4;
const LITERAL_BYTES_MAX: usize = 24;

/// The bytes around the break of every literal that a line break may split.
#[derive(Debug, Default)]
pub(crate) struct SplitLiterals {
    /// The last two bytes before the break and the first behind it.
    late: TripleSet,
    /// The last byte before the break and the first two behind it.
    early: TripleSet,
    /// The first three bytes of a literal that starts with the letter of an escape.
    escaped: TripleSet,
}

/// A set of three bytes each. A table of the first two rejects most others without hashing.
#[derive(Debug)]
struct TripleSet {
    /// By the first byte, one bit per second byte.
    pairs: Box<[[u64; 4]; 256]>,
    triples: HashSet<[u8; 3]>,
}

impl Default for TripleSet {
    fn default() -> Self {
        Self {
            pairs: Box::new([[0; 4]; 256]),
            triples: HashSet::new(),
        }
    }
}

impl TripleSet {
    fn insert(&mut self, triple: [u8; 3]) {
        let [first, second, _] = triple;
        self.pairs[usize::from(first)][usize::from(second / 64)] |= 1 << (second % 64);
        self.triples.insert(triple);
    }

    fn contains(&self, triple: [u8; 3]) -> bool {
        let [first, second, _] = triple;
        let pairs = self.pairs[usize::from(first)][usize::from(second / 64)];
        pairs >> (second % 64) & 1 == 1 && self.triples.contains(&triple)
    }
}

impl SplitLiterals {
    pub(crate) fn new<'l>(literals: impl Iterator<Item = &'l str>) -> Self {
        let mut cuts = Self::default();
        for literal in literals {
            let bytes = literal.as_bytes();
            if bytes.len() >= 3 && b"nrtu".contains(&bytes[0]) {
                cuts.escaped.insert([bytes[0], bytes[1], bytes[2]]);
            }
            if bytes.len() < LITERAL_BYTES_MIN {
                continue;
            }
            cuts.early.insert([bytes[0], bytes[1], bytes[2]]);
            for triple in bytes.windows(3) {
                cuts.late.insert([triple[0], triple[1], triple[2]]);
            }
        }
        cuts
    }

    /// Calls `each` with the start of every literal whose first letter the decoder takes for part
    /// of an escape, as in `C:\\npm_…`, until `each` returns true. Returns whether it did.
    pub(crate) fn any_escaped(
        &self,
        text: &str,
        mut each: impl FnMut(usize, &str) -> bool,
    ) -> bool {
        let bytes = text.as_bytes();
        memchr::memchr_iter(b'\\', bytes).any(|at| {
            let Some(&[a, b, c]) = bytes.get(at + 1..at + 4) else {
                return false;
            };
            if !self.escaped.contains([a, b, c]) {
                return false;
            }
            let rest = bytes[at + 1..].iter().take(LITERAL_BYTES_MAX);
            let len = rest.take_while(|&&b| is_token_byte(b)).count();
            each(at + 1, &text[at + 1..at + 1 + len])
        })
    }

    /// Calls `each` for every word that a line break in a range of the text may split within a
    /// literal: with the start of its last bytes before the break, their number, and these bytes
    /// with the first ones behind the break. Stops when `each` returns true, and returns whether it
    /// did.
    pub(crate) fn any_split(
        &self,
        text: &str,
        range: &Range<usize>,
        mut each: impl FnMut(usize, usize, &str) -> bool,
    ) -> bool {
        let bytes = text.as_bytes();
        memchr::memchr2_iter(b'\n', b'\\', &bytes[range.clone()]).any(|at| {
            let at = range.start + at;
            if bytes[at] == b'\\' && bytes.get(at + 1) != Some(&b'n') {
                return false;
            }
            let end = line_text_end(bytes, at);
            let Some(&last) = end.checked_sub(1).map(|last| &bytes[last]) else {
                return false;
            };
            if !is_token_byte(last) {
                return false;
            }
            let Some(after) = skip_trailing_margin(bytes, end) else {
                return false;
            };
            let next =
                skip_leading_margin(&bytes[..bytes.len().min(after + MARGIN_BYTES_MAX)], after);
            let [first, second] = [next, next + 1].map(|at| bytes.get(at).copied().unwrap_or(0));
            let before = end.checked_sub(2).map_or(0, |before| bytes[before]);
            if !self.late.contains([before, last, first])
                && !self.early.contains([last, first, second])
            {
                return false;
            }
            let head = bytes[..end].iter().rev().take(LITERAL_BYTES_MAX);
            let head = head.take_while(|&&b| is_token_byte(b)).count();
            let rest = bytes[next..].iter().take(LITERAL_BYTES_MAX);
            let rest = rest.take_while(|&&b| is_token_byte(b)).count();
            let window = [&text[end - head..end], &text[next..next + rest]].concat();
            each(end - head, head, &window)
        })
    }
}

/// Returns the end of the line's text before the line break at `at`, without spaces and a border.
fn line_text_end(bytes: &[u8], at: usize) -> usize {
    let from = at.saturating_sub(MARGIN_BYTES_MAX);
    let margin = bytes[from..at].iter().rev();
    let margin = margin.take_while(|&&b| b" \t\r|\\".contains(&b) || b >= 0x80);
    at - margin.count()
}
