//! Searches a text for all the secrets of a session in one pass.
//!
//! A text is searched for the last few bytes of each value's *probe*, its *window*. The pass looks
//! at four bytes (a *gram*) in every few bytes of the text: a window is long enough to cover one of
//! these grams wherever it lies. A bitmap of the grams of all windows rejects nearly all of them,
//! and a table of the windows the rest. The cost of the pass depends neither on the number of
//! values nor on what they have in common, and adding a value costs the same as the first one.

use std::collections::HashMap;

use memchr::memmem;

use crate::session::{PREFIX_BYTES_MIN, Secret};

const GRAM_BYTES: usize = 4;
/// Every gram is looked at for windows of [`GRAM_BYTES`], every fourth one for longer windows.
const LONG_STRIDE: usize = 4;
const LONG_WINDOW_BYTES: usize = GRAM_BYTES + LONG_STRIDE - 1;
/// A shorter probe would match everywhere.
const PROBE_BYTES_MIN: usize = GRAM_BYTES;
/// The bitmap of a session has `1 << FILTER_BITS` bits: a few hundred values set few of them.
const FILTER_BITS: u32 = 17;

#[derive(Debug, Default)]
pub(crate) struct ValueIndex {
    probes: Vec<Probe>,
    short: WindowTable<GRAM_BYTES>,
    long: WindowTable<LONG_WINDOW_BYTES>,
    /// Values without a probe. Every text must be decoded and searched for them.
    unprobed: Vec<usize>,
}

/// The part of a value that is searched for before the rest is compared.
#[derive(Debug)]
struct Probe {
    value: usize,
    /// Its offset in the value.
    offset: usize,
    len: usize,
    /// How much of the value must match.
    head_len: usize,
}

/// The probes by their windows of `N` bytes.
#[derive(Debug)]
struct WindowTable<const N: usize> {
    /// One bit per hash of a gram. Empty until there is a window.
    filter: Vec<u64>,
    /// Indices of the probes that end with this window.
    probes: HashMap<[u8; N], Vec<usize>>,
}

impl<const N: usize> Default for WindowTable<N> {
    fn default() -> Self {
        Self {
            filter: Vec::new(),
            probes: HashMap::new(),
        }
    }
}

impl<const N: usize> WindowTable<N> {
    /// The distance between grams, so that every window holds one that is looked at.
    const STRIDE: usize = N + 1 - GRAM_BYTES;

    fn add(&mut self, window: [u8; N], probe: usize) {
        self.filter.resize((1 << FILTER_BITS) / 64, 0);
        for gram in window.windows(GRAM_BYTES) {
            let bit = gram_bit(gram);
            self.filter[bit / 64] |= 1 << (bit % 64);
        }
        self.probes.entry(window).or_default().push(probe);
    }

    /// Calls `each` with the offset of every window in `bytes`, in ascending order, and with its
    /// probes, until `each` returns true. Returns whether it did.
    fn any_match(&self, bytes: &[u8], mut each: impl FnMut(usize, &[usize]) -> bool) -> bool {
        if self.probes.is_empty() {
            return false;
        }
        let mut at = 0;
        while let Some(gram) = bytes.get(at..at + GRAM_BYTES) {
            let bit = gram_bit(gram);
            if self.filter[bit / 64] >> (bit % 64) & 1 == 1 {
                // The first gram that is looked at in a window is one of its first ones.
                for offset in (0..Self::STRIDE.min(at + 1)).rev() {
                    let start = at - offset;
                    let window = bytes.get(start..start + N).and_then(|w| w.try_into().ok());
                    let probes = window.and_then(|window: [u8; N]| self.probes.get(&window));
                    if probes.is_some_and(|probes| each(start, probes)) {
                        return true;
                    }
                }
            }
            at += Self::STRIDE;
        }
        false
    }
}

/// Returns the bit of a gram in a filter.
fn gram_bit(gram: &[u8]) -> usize {
    let gram = u32::from_le_bytes([gram[0], gram[1], gram[2], gram[3]]);
    (gram.wrapping_mul(0x9e37_79b1) >> (u32::BITS - FILTER_BITS)) as usize
}

impl ValueIndex {
    /// Adds the last of `values`.
    pub(crate) fn add(&mut self, values: &[Secret]) {
        let Some(value) = values.len().checked_sub(1) else {
            return;
        };
        let Some(probe) = probe(value, &values[value].value) else {
            self.unprobed.push(value);
            return;
        };
        let text = probe.text(values);
        let index = self.probes.len();
        if let Some(window) = text.last_chunk() {
            self.long.add(*window, index);
        } else if let Some(window) = text.last_chunk() {
            self.short.add(*window, index);
        }
        self.probes.push(probe);
    }

    /// Says, of text that may still be escaped, whether it may hold a value.
    pub(crate) fn may_find(&self, text: &str, values: &[Secret]) -> bool {
        !self.unprobed.is_empty() || self.any_probe(text.as_bytes(), values, |_, _| true)
    }

    /// Calls `each` with the index of a value and every offset where its head occurs.
    pub(crate) fn for_each_match(
        &self,
        text: &str,
        values: &[Secret],
        mut each: impl FnMut(usize, usize),
    ) {
        let bytes = text.as_bytes();
        for &value in &self.unprobed {
            for at in memmem::find_iter(bytes, &values[value].value) {
                each(value, at);
            }
        }
        self.any_probe(bytes, values, |probe, at| {
            let head = &values[probe.value].value.as_bytes()[..probe.head_len];
            if let Some(start) = at.checked_sub(probe.offset)
                && bytes[start..].starts_with(head)
            {
                each(probe.value, start);
            }
            false
        });
    }

    /// Calls `each` with every probe in `bytes` and its offset until `each` returns true. Returns
    /// whether it did.
    fn any_probe(
        &self,
        bytes: &[u8],
        values: &[Secret],
        mut each: impl FnMut(&Probe, usize) -> bool,
    ) -> bool {
        let mut check = |window_end: usize, probes: &[usize]| {
            probes.iter().any(|&index| {
                let probe = &self.probes[index];
                let is_match = bytes[..window_end].ends_with(probe.text(values));
                is_match && each(probe, window_end - probe.len)
            })
        };
        self.short
            .any_match(bytes, |at, probes| check(at + GRAM_BYTES, probes))
            || self
                .long
                .any_match(bytes, |at, probes| check(at + LONG_WINDOW_BYTES, probes))
    }
}

impl Probe {
    fn text<'v>(&self, values: &'v [Secret]) -> &'v [u8] {
        &values[self.value].value.as_bytes()[self.offset..self.offset + self.len]
    }
}

/// Returns the longest part of a value's head that no encoding changes.
fn probe(value: usize, text: &str) -> Option<Probe> {
    let head_len = head_len(text);
    let is_plain = |b: &u8| b.is_ascii_alphanumeric() || b"_-.".contains(b);
    let mut best = (0, 0);
    let mut start = 0;
    for part in text.as_bytes()[..head_len].chunk_by(|a, b| is_plain(a) == is_plain(b)) {
        if is_plain(&part[0]) && part.len() > best.1 {
            best = (start, part.len());
        }
        start += part.len();
    }
    (best.1 >= PROBE_BYTES_MIN).then_some(Probe {
        value,
        offset: best.0,
        len: best.1,
        head_len,
    })
}

/// Returns how much of a value must match. The prefix of a vendor is public, so the head reaches
/// beyond it.
fn head_len(value: &str) -> usize {
    let prefix = value
        .rfind(['_', '-', '.'])
        .filter(|&at| at < 20)
        .map_or(0, |at| at + 7);
    value.floor_char_boundary(PREFIX_BYTES_MIN.max(prefix).min(value.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(count: usize) -> Vec<Secret> {
        let value = |n: usize| format!("{}-Zq{n:05}/x+{n}", blake3::hash(&n.to_le_bytes()));
        let secret = |n| Secret {
            rule: "token",
            value: value(n)[40..].to_owned(),
        };
        (0..count).map(secret).collect()
    }

    #[test]
    fn every_value_is_found_however_many_there_are() {
        let all = secrets(300);
        let mut index = ValueIndex::default();
        for count in 1..=all.len() {
            index.add(&all[..count]);
        }
        for secret in &all {
            let text = format!("a {} b", secret.value);
            let mut found = Vec::new();
            index.for_each_match(&text, &all, |value, at| found.push((&all[value].value, at)));
            assert_eq!(found, [(&secret.value, 2)]);
            assert!(index.may_find(&text.replace('/', "\\/"), &all));
        }
        assert!(!index.may_find("nothing of the kind", &all));
    }

    /// Reference: every value is searched for on its own.
    fn heads_one_by_one(text: &str, values: &[Secret]) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        for (number, secret) in values.iter().enumerate() {
            let head = &secret.value.as_bytes()[..head_len(&secret.value)];
            let starts = (0..text.len()).filter(|&at| text.as_bytes()[at..].starts_with(head));
            found.extend(starts.map(|at| (number, at)));
        }
        found.sort_unstable();
        found
    }

    proptest::proptest! {
        /// Values of every length and offset are found as often as they occur, each from left to
        /// right, also where they overlap.
        #[test]
        fn finds_what_a_plain_search_finds(
            values in proptest::collection::vec("[ab/]{0,3}[ab1]{4,14}[-_.]?[ab]{0,4}", 1..6),
            text in "[ab1/_.-]{0,80}",
            picks in proptest::collection::vec((0..6_usize, "[ab ]{0,5}"), 0..4),
        ) {
            let mut index = ValueIndex::default();
            let mut all = Vec::new();
            for value in values {
                all.push(Secret { rule: "token", value });
                index.add(&all);
            }
            let text = picks.iter().fold(text, |text, (pick, gap)| {
                text + &all[pick % all.len()].value + gap
            });
            let mut found = Vec::new();
            index.for_each_match(&text, &all, |value, at| found.push((value, at)));
            for number in 0..all.len() {
                let starts = found.iter().filter(|hit| hit.0 == number).map(|hit| hit.1);
                proptest::prop_assert!(starts.is_sorted_by(|a, b| a < b));
            }
            found.sort_unstable();
            // Values without a probe are searched for whole.
            let expected = heads_one_by_one(&text, &all);
            let is_probed = |number: usize| !index.unprobed.contains(&number);
            let probed = |hits: &[(usize, usize)]| -> Vec<_> {
                hits.iter().copied().filter(|hit| is_probed(hit.0)).collect()
            };
            proptest::prop_assert_eq!(probed(&found), probed(&expected));
        }
    }
}
