//! The stems of the last words of a thread. Texts repeat their words, and looking a stem up is ten
//! times as fast as computing it.

use std::cell::RefCell;

use super::{hash_word, is_indexed, stem};

/// The number of slots; each word has one that it shares with others.
const SLOTS: usize = 1 << 12;
/// Longer words are rare and are not cached. A stem is not longer than its word.
const WORD_BYTES_MAX: usize = 23;

thread_local! {
    static CACHE: RefCell<StemCache> = RefCell::new(StemCache::default());
}

/// The cache, and the buffer for words that are not in it.
struct StemCache {
    slots: Box<[CachedStem]>,
    buffer: Vec<u8>,
}

#[derive(Clone, Copy, Default)]
struct CachedStem {
    word: [u8; WORD_BYTES_MAX],
    word_len: u8,
    stem: [u8; WORD_BYTES_MAX],
    /// 0 for a word that is not indexed.
    stem_len: u8,
    stem_hash: u64,
}

impl Default for StemCache {
    fn default() -> Self {
        Self {
            slots: vec![CachedStem::default(); SLOTS].into(),
            buffer: Vec::new(),
        }
    }
}

impl CachedStem {
    fn is_of(&self, word: &str) -> bool {
        self.word.get(..usize::from(self.word_len)) == Some(word.as_bytes())
    }

    fn stem(&self) -> &str {
        let stem = self.stem.get(..usize::from(self.stem_len));
        stem.and_then(|stem| std::str::from_utf8(stem).ok())
            .unwrap_or_default()
    }

    /// Returns an entry, unless the word is too long for one.
    fn new(word: &str, stem: &str, stem_hash: u64) -> Option<Self> {
        let mut entry = Self {
            word_len: u8::try_from(word.len()).ok()?,
            stem_len: u8::try_from(stem.len()).ok()?,
            stem_hash,
            ..Self::default()
        };
        entry
            .word
            .get_mut(..word.len())?
            .copy_from_slice(word.as_bytes());
        entry
            .stem
            .get_mut(..stem.len())?
            .copy_from_slice(stem.as_bytes());
        Some(entry)
    }
}

/// Calls `each` with the stem of a folded word and the hash of the stem, unless the word is not
/// indexed. `hash` is the hash of the word.
pub(super) fn with_stem(word: &str, hash: u64, mut each: impl FnMut(&str, u64)) {
    CACHE.with_borrow_mut(|cache| {
        let slot = usize::try_from(hash % SLOTS as u64).unwrap_or(0);
        if !word.is_empty() && cache.slots[slot].is_of(word) {
            let cached = &cache.slots[slot];
            if cached.stem_len > 0 {
                each(cached.stem(), cached.stem_hash);
            }
            return;
        }
        let stem = if is_indexed(word) {
            stem::stem_into(word, &mut cache.buffer)
        } else {
            ""
        };
        let stem_hash = hash_word(stem);
        if let Some(entry) = CachedStem::new(word, stem, stem_hash) {
            cache.slots[slot] = entry;
        }
        if !stem.is_empty() {
            each(stem, stem_hash);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cached_stem_is_the_computed_one() {
        let long = "incomprehensibilitieswithoutend";
        let words = [
            "migrations", "the", "e0308", "señores", long, "a", "migrations",
        ];
        for word in words.iter().cycle().take(3 * words.len()) {
            let mut found = None;
            with_stem(word, hash_word(word), |stem, hash| {
                assert_eq!(hash, hash_word(stem));
                found = Some(stem.to_owned());
            });
            let expected = is_indexed(word).then(|| stem::stem(word).into_owned());
            assert_eq!(found, expected, "{word}");
        }
    }
}
