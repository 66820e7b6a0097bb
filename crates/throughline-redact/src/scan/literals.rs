//! Finds all literals of all detectors in a text in one pass.
//!
//! An automaton reads a text byte by byte, and each step waits for the one before. Most bytes of a
//! text start no literal, which a table of the literals' first bytes tells for every offset
//! independently, and several times as fast. The few offsets that remain are compared with the
//! literals that begin like this.

use std::ops::Range;

/// The number of hashes of the first three bytes of a literal.
const HASHES: usize = 1 << 16;
/// The lists of literals are found by the lower bits of the same hash.
const LISTS: usize = 1 << 12;
/// Literals are reported in the order of their ends; so many offsets are searched before those that
/// ended are reported.
const CHUNK_BYTES: usize = 4 << 10;

/// A literal in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LiteralMatch {
    /// The index of the literal in the list that the finder was built from.
    pub(crate) literal: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

#[derive(Debug)]
pub(crate) struct LiteralFinder {
    literals: Vec<Box<[u8]>>,
    /// By the hash of three bytes, one bit for each class of the fourth byte: whether a literal may
    /// begin like this.
    filter: Box<[u8; HASHES]>,
    /// The literals by the hash of their first three bytes.
    lists: Box<[Vec<ListedLiteral>]>,
    /// Literals of one byte, which would set too many bits.
    single_bytes: Vec<(u8, usize)>,
}

#[derive(Debug, Clone, Copy)]
struct ListedLiteral {
    /// Its first eight bytes, and which bits of them count: shorter literals have fewer.
    head: u64,
    mask: u64,
    index: usize,
}

impl LiteralFinder {
    pub(crate) fn new<L: AsRef<[u8]>>(literals: &[L]) -> Self {
        let mut finder = Self {
            literals: literals.iter().map(|l| l.as_ref().into()).collect(),
            filter: Box::new([0; HASHES]),
            lists: vec![Vec::new(); LISTS].into(),
            single_bytes: Vec::new(),
        };
        for (index, literal) in literals.iter().enumerate() {
            let bytes = literal.as_ref();
            let listed = || ListedLiteral {
                head: word_at(bytes, 0),
                mask: u64::MAX >> (8 * (8 - bytes.len().min(8))),
                index,
            };
            match *bytes {
                [] => {}
                [byte] => finder.single_bytes.push((byte, index)),
                // Any byte may follow. Behind the end of the text it is read as 0.
                [a, b] => {
                    for c in 0..=u8::MAX {
                        finder.add(hash_head([a, b, c]), u8::MAX, listed());
                    }
                }
                [a, b, c] => finder.add(hash_head([a, b, c]), u8::MAX, listed()),
                [a, b, c, d, ..] => {
                    finder.add(hash_head([a, b, c]), class_bit(d), listed());
                }
            }
        }
        finder
    }

    fn add(&mut self, hash: u16, classes: u8, literal: ListedLiteral) {
        self.filter[usize::from(hash)] |= classes;
        let list = &mut self.lists[usize::from(hash) % LISTS];
        if list.last().is_none_or(|last| last.index != literal.index) {
            list.push(literal);
        }
    }

    /// Calls `each` with every literal that starts in a range of `text`, in any order, until it
    /// returns true. Returns whether it did.
    pub(crate) fn any(
        &self,
        text: &[u8],
        starts: &Range<usize>,
        mut each: impl FnMut(LiteralMatch) -> bool,
    ) -> bool {
        self.any_single_byte(text, starts.clone(), &mut each)
            || self.any_in(text, starts.clone(), &mut each)
    }

    /// Calls `each` with every literal in `text` in the order of their ends. Of those that end at
    /// the same offset, the longest comes first.
    pub(crate) fn for_each(&self, text: &[u8], mut each: impl FnMut(LiteralMatch)) {
        let mut pending: Vec<LiteralMatch> = Vec::new();
        let mut from = 0;
        while from < text.len() {
            let to = text.len().min(from + CHUNK_BYTES);
            let mut collect = |found| {
                pending.push(found);
                false
            };
            self.any_single_byte(text, from..to, &mut collect);
            self.any_in(text, from..to, &mut collect);
            pending.sort_unstable_by_key(|found| (found.end, found.start, found.literal));
            // Whatever is found later starts at `to` or behind it, and ends behind `to`.
            let ended = pending.partition_point(|found| found.end <= to);
            pending.drain(..ended).for_each(&mut each);
            from = to;
        }
        pending.into_iter().for_each(each);
    }

    fn any_single_byte(
        &self,
        text: &[u8],
        starts: Range<usize>,
        each: &mut impl FnMut(LiteralMatch) -> bool,
    ) -> bool {
        self.single_bytes.iter().any(|&(byte, literal)| {
            memchr::memchr_iter(byte, &text[starts.clone()]).any(|at| {
                let start = starts.start + at;
                each(LiteralMatch {
                    literal,
                    start,
                    end: start + 1,
                })
            })
        })
    }

    /// Calls `each` with every literal of several bytes that starts within `starts`.
    fn any_in(
        &self,
        text: &[u8],
        starts: Range<usize>,
        each: &mut impl FnMut(LiteralMatch) -> bool,
    ) -> bool {
        // Where four bytes follow, they are read at once.
        let rest = &text[starts.start..];
        let whole = rest.len().saturating_sub(3).min(starts.len());
        for (offset, window) in rest.windows(4).take(whole).enumerate() {
            let head = [window[0], window[1], window[2], window[3]];
            if self.may_start(head) && self.any_at(text, starts.start + offset, head, each) {
                return true;
            }
        }
        (starts.start + whole..starts.end).any(|at| {
            let head = [0, 1, 2, 3].map(|offset| text.get(at + offset).copied().unwrap_or(0));
            self.may_start(head) && self.any_at(text, at, head, each)
        })
    }

    #[inline]
    fn may_start(&self, [a, b, c, d]: [u8; 4]) -> bool {
        self.filter[usize::from(hash_head([a, b, c]))] & class_bit(d) != 0
    }

    fn any_at(
        &self,
        text: &[u8],
        start: usize,
        head: [u8; 4],
        each: &mut impl FnMut(LiteralMatch) -> bool,
    ) -> bool {
        let [a, b, c, _] = head;
        let word = word_at(text, start);
        let list = &self.lists[usize::from(hash_head([a, b, c])) % LISTS];
        list.iter().any(|listed| {
            if word & listed.mask != listed.head {
                return false;
            }
            let literal = &self.literals[listed.index];
            text[start..].starts_with(literal)
                && each(LiteralMatch {
                    literal: listed.index,
                    start,
                    end: start + literal.len(),
                })
        })
    }
}

/// Returns the eight bytes at an offset. Behind the end of the text they are 0.
#[inline]
fn word_at(text: &[u8], at: usize) -> u64 {
    let rest = &text[at..];
    if let Some(word) = rest.first_chunk() {
        return u64::from_le_bytes(*word);
    }
    let mut word = [0; 8];
    word[..rest.len()].copy_from_slice(rest);
    u64::from_le_bytes(word)
}

#[inline]
fn hash_head([a, b, c]: [u8; 3]) -> u16 {
    (u32::from_le_bytes([a, b, c, 0]).wrapping_mul(0x9e37_79b1) >> 16) as u16
}

/// Returns the bit of a fourth byte: letters that are close in the alphabet have different ones.
#[inline]
fn class_bit(byte: u8) -> u8 {
    1 << (byte % 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aho_corasick::AhoCorasick;
    use proptest::prelude::*;

    fn by_automaton(literals: &[String], text: &str) -> Vec<LiteralMatch> {
        let automaton = AhoCorasick::new(literals).unwrap();
        let found = automaton.find_overlapping_iter(text);
        let found = found.map(|found| LiteralMatch {
            literal: found.pattern().as_usize(),
            start: found.start(),
            end: found.end(),
        });
        found.collect()
    }

    proptest! {
        /// The same literals are found in the same order as by an automaton.
        #[test]
        fn finds_what_an_automaton_finds(
            literals in prop::collection::vec("[abé\0]{1,6}", 1..12),
            text in "[abcé\0]{0,60}",
        ) {
            let finder = LiteralFinder::new(&literals);
            let expected = by_automaton(&literals, &text);
            let mut found = Vec::new();
            finder.for_each(text.as_bytes(), |literal| found.push(literal));
            prop_assert_eq!(&found, &expected);
            let mut unordered = 0;
            finder.any(text.as_bytes(), &(0..text.len()), |_| {
                unordered += 1;
                false
            });
            prop_assert_eq!(unordered, expected.len());
        }
    }

    #[test]
    fn literals_across_chunks_are_found_in_order() {
        let literals = ["abcdef", "cd", "d", "fg", "ef"].map(str::to_owned);
        let finder = LiteralFinder::new(&literals);
        for before in CHUNK_BYTES - 8..CHUNK_BYTES + 2 {
            let text = format!("{}abcdefg{}fg", " ".repeat(before), "x".repeat(CHUNK_BYTES));
            let mut found = Vec::new();
            finder.for_each(text.as_bytes(), |literal| found.push(literal));
            assert_eq!(found, by_automaton(&literals, &text), "{before}");
        }
    }
}
