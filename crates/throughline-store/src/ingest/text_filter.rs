//! Bloom filters over the stored text of sessions.
//!
//! A value that is recognised as a secret must be removed from rows that were written before.
//! Reading all text of a session for each new secret makes a long session quadratic, and hardly
//! ever finds anything: mostly the first occurrence of a secret is recognised. A [`TextFilter`]
//! answers without reading. It may report a value that the text does not hold, but it never misses
//! one.

use std::collections::HashMap;

/// The length of the byte sequences in the filter. No secret that is searched for is shorter.
const SEQUENCE_BYTES: usize = 7;
/// One of this many sequences is added, chosen by its content.
const SAMPLE_RATE: u64 = 4;
/// One mebibyte per session. It must be a power of two.
const FILTER_BITS: usize = 8 << 20;
/// How many sessions have a filter; the text of further sessions is read instead.
const SESSIONS_MAX: usize = 16;

/// The filters of the sessions in which the writer has seen a secret.
#[derive(Debug, Default)]
pub(crate) struct TextFilters {
    sessions: HashMap<i64, TextFilter>,
}

impl TextFilters {
    pub(crate) fn get(&self, session: i64) -> Option<&TextFilter> {
        self.sessions.get(&session)
    }

    /// Stores a filter that covers all stored text of a session.
    pub(crate) fn insert(&mut self, session: i64, filter: TextFilter) {
        if self.sessions.len() >= SESSIONS_MAX {
            self.sessions.clear();
        }
        self.sessions.insert(session, filter);
    }

    /// Adds a text that was written for a session.
    pub(crate) fn add(&mut self, session: i64, text: &str) {
        if let Some(filter) = self.sessions.get_mut(&session) {
            filter.add(text);
        }
    }

    /// Drops the filter of a session that got text which the filter does not cover.
    pub(crate) fn forget(&mut self, session: i64) {
        self.sessions.remove(&session);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sessions.is_empty()
    }
}

/// A bitmap of hashed byte sequences.
#[derive(Debug)]
pub(crate) struct TextFilter {
    bits: Vec<u64>,
}

impl Default for TextFilter {
    fn default() -> Self {
        Self {
            bits: vec![0; FILTER_BITS / 64],
        }
    }
}

impl TextFilter {
    pub(crate) fn add(&mut self, text: &str) {
        // `for_each` runs the two parts of the chain as plain loops.
        sampled_bits(text.as_bytes()).for_each(|bit| self.bits[bit / 64] |= 1 << (bit % 64));
    }

    /// Says whether the text may hold the value.
    pub(crate) fn may_hold(&self, value: &str) -> bool {
        sampled_bits(value.as_bytes()).all(|bit| self.bits[bit / 64] >> (bit % 64) & 1 == 1)
    }
}

/// Returns the bits of the sampled sequences.
fn sampled_bits(bytes: &[u8]) -> impl Iterator<Item = usize> + '_ {
    const SEQUENCE_MASK: u64 = (1 << (8 * SEQUENCE_BYTES)) - 1;
    // All sequences but the last are read as a word of eight bytes, which is faster.
    let words = bytes.windows(8).map(|word| {
        let word: [u8; 8] = word.try_into().unwrap_or_default();
        u64::from_le_bytes(word) & SEQUENCE_MASK
    });
    let last = bytes.last_chunk::<SEQUENCE_BYTES>().map(|last| {
        let mut word = [0; 8];
        word[..SEQUENCE_BYTES].copy_from_slice(last);
        u64::from_le_bytes(word)
    });
    words.chain(last).filter_map(|sequence| {
        let hash = sequence.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let hash = hash ^ (hash >> 32);
        let bit = (hash / SAMPLE_RATE) as usize % FILTER_BITS;
        hash.is_multiple_of(SAMPLE_RATE).then_some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_was_written_may_be_held() {
        let mut filter = TextFilter::default();
        let texts: Vec<String> = (0..500)
            .map(|n| format!("line {n} of value-{:x}", n * 7919))
            .collect();
        for text in &texts {
            filter.add(text);
        }
        for text in &texts {
            for start in 0..5 {
                assert!(filter.may_hold(&text[start..]), "{text}");
            }
        }
    }

    #[test]
    fn most_other_values_are_not() {
        let mut filter = TextFilter::default();
        filter.add(&"the quick brown fox jumps over the lazy dog ".repeat(100));
        let hash = |n: u32| blake3::hash(&n.to_le_bytes()).to_hex().to_string();
        let held = (0..100)
            .filter(|&n| filter.may_hold(&hash(n)[..30]))
            .count();
        assert!(held < 5, "{held}");
    }
}
