//! Embeddings without a model: a table of word pieces and their vectors.
//!
//! The table is part of the program and is read in place, so nothing is loaded at the start.
//! `tools/embeddings` makes it.

/// Made by `tools/embeddings/make.py`, which distils all-MiniLM-L6-v2 (Apache-2.0).
static TABLE: &[u8] = include_bytes!("../../assets/meanings.bin");

/// The dimensions of a vector.
pub const DIMS: usize = 128;
const HEADER_BYTES: usize = 16;
const EMPTY_SLOT: u16 = u16::MAX;
/// The length of the longest piece in the table.
const PIECE_CHARS_MAX: usize = 32;

/// The vector of a word or a text. A longer vector weighs more in a sum.
pub type Embedding = [f32; DIMS];

/// The pieces of a word, by their numbers in the table.
#[derive(Clone, Copy, Debug, Default)]
pub struct WordPieces {
    numbers: [u16; 7],
    count: u16,
}

impl WordPieces {
    pub fn as_slice(&self) -> &[u16] {
        &self.numbers[..usize::from(self.count)]
    }
}

/// The parts of the table.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddingTable {
    slots: &'static [u8],
    ends: &'static [u8],
    scales: &'static [u8],
    vectors: &'static [u8],
    texts: &'static [u8],
}

impl EmbeddingTable {
    /// Returns the table, or `None` if it does not have the expected format.
    pub fn load() -> Option<Self> {
        let number = |at: usize| -> Option<usize> {
            let bytes = TABLE.get(at..at + 4)?.try_into().ok()?;
            usize::try_from(u32::from_le_bytes(bytes)).ok()
        };
        if !TABLE.starts_with(b"TLEM") || number(4)? != DIMS {
            return None;
        }
        let (pieces, slots) = (number(8)?, number(12)?);
        let mut rest = TABLE.get(HEADER_BYTES..)?;
        let mut take = |size: usize| {
            let (part, after) = rest.split_at_checked(size)?;
            rest = after;
            Some(part)
        };
        Some(Self {
            slots: take(slots * 2)?,
            ends: take((pieces + 1) * 4)?,
            scales: take(pieces * 4)?,
            vectors: take(pieces * DIMS)?,
            texts: rest,
        })
    }

    /// Adds the vectors of a folded word, and returns whether it has any.
    pub fn add_word(&self, word: &str, vector: &mut Embedding) -> bool {
        let pieces = self.split_word(word);
        for piece in pieces.as_slice() {
            self.add_piece(*piece, vector);
        }
        !pieces.as_slice().is_empty()
    }

    /// Splits a folded word into pieces. A word with a part that the table does not hold has none.
    pub fn split_word(&self, word: &str) -> WordPieces {
        let mut pieces = WordPieces::default();
        let mut start = 0;
        while start < word.len() {
            let Some((length, piece)) = self.longest_piece(start > 0, &word[start..]) else {
                return WordPieces::default();
            };
            if let Some(place) = pieces.numbers.get_mut(usize::from(pieces.count)) {
                *place = piece;
                pieces.count += 1;
            }
            start += length;
        }
        pieces
    }

    /// Adds the vector of a piece.
    pub fn add_piece(&self, piece: u16, vector: &mut Embedding) {
        let piece = usize::from(piece);
        let scale = f32_at(self.scales, piece);
        let row = &self.vectors[piece * DIMS..(piece + 1) * DIMS];
        for (sum, value) in vector.iter_mut().zip(row) {
            *sum += scale * f32::from(value.cast_signed());
        }
    }

    /// Returns the length and the number of the longest piece that a text begins with. `inside` a
    /// word, pieces begin with `##`.
    fn longest_piece(&self, inside: bool, text: &str) -> Option<(usize, u16)> {
        let prefix: &[u8] = if inside { b"##" } else { b"" };
        let mut hash = prefix.iter().fold(FNV_START, fnv);
        let mut beginnings = [(0, 0); PIECE_CHARS_MAX];
        let mut count = 0;
        for (at, c) in text.char_indices().take(PIECE_CHARS_MAX) {
            let end = at + c.len_utf8();
            hash = text.as_bytes()[at..end].iter().fold(hash, fnv);
            beginnings[count] = (end, hash ^ (hash >> 32));
            count += 1;
        }
        let mut longest_first = beginnings[..count].iter().rev();
        longest_first.find_map(|(end, hash)| {
            let piece = self.find_piece(prefix, &text.as_bytes()[..*end], *hash)?;
            Some((*end, piece))
        })
    }

    /// Looks up the number of a piece in the hash table.
    fn find_piece(&self, prefix: &[u8], text: &[u8], hash: u64) -> Option<u16> {
        let slots = self.slots.len() / 2;
        // The table has a power of two of slots, so the remainder is the low bits.
        let slot_of = |hash: u64| match slots.is_power_of_two() {
            true => hash & (slots as u64 - 1),
            false => hash % slots as u64,
        };
        let mut slot = usize::try_from(slot_of(hash)).ok()?;
        loop {
            let number = u16::from_le_bytes([self.slots[slot * 2], self.slots[slot * 2 + 1]]);
            if number == EMPTY_SLOT {
                return None;
            }
            let place = usize::from(number);
            let found = &self.texts[u32_at(self.ends, place)..u32_at(self.ends, place + 1)];
            // Most other pieces differ in length or in the last letter.
            let is_similar =
                found.len() == prefix.len() + text.len() && found.last() == text.last();
            if is_similar && found.starts_with(prefix) && found.ends_with(text) {
                return Some(number);
            }
            slot = if slot + 1 == slots { 0 } else { slot + 1 };
        }
    }
}

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

fn fnv(hash: u64, byte: &u8) -> u64 {
    (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
}

fn u32_at(bytes: &[u8], index: usize) -> usize {
    let at = index * 4;
    let number = u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn f32_at(bytes: &[u8], index: usize) -> f32 {
    let at = index * 4;
    f32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Returns the cosine of two vectors, 0 if one of them is zero.
pub fn cosine(a: &Embedding, b: &Embedding) -> f32 {
    let norms = (dot(a, a) * dot(b, b)).sqrt();
    if norms > 0.0 { dot(a, b) / norms } else { 0.0 }
}

pub fn dot(a: &Embedding, b: &Embedding) -> f32 {
    // Independent sums let the compiler use vector instructions, several at a time.
    let mut sums = [0.0; 16];
    for (a, b) in a.chunks_exact(16).zip(b.chunks_exact(16)) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    sums.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Embedding {
        let mut vector = [0.0; DIMS];
        for word in text.split(' ') {
            EmbeddingTable::load().unwrap().add_word(word, &mut vector);
        }
        vector
    }

    #[test]
    fn words_of_one_meaning_are_near() {
        let near = cosine(&of("car"), &of("automobile"));
        let far = cosine(&of("car"), &of("poetry"));
        assert!(near > far + 0.2, "{near} {far}");
    }

    #[test]
    fn no_piece_is_longer_than_is_looked_for() {
        let meanings = EmbeddingTable::load().unwrap();
        let pieces = meanings.ends.len() / 4 - 1;
        for piece in 0..pieces {
            let (start, end) = (
                u32_at(meanings.ends, piece),
                u32_at(meanings.ends, piece + 1),
            );
            let text = std::str::from_utf8(&meanings.texts[start..end]).unwrap();
            let text = text.strip_prefix("##").unwrap_or(text);
            assert!(text.chars().count() <= PIECE_CHARS_MAX, "{text}");
        }
    }

    #[test]
    fn words_come_apart_into_pieces() {
        assert!(cosine(&of("unrelatedness"), &of("unrelated")) > 0.3);
        assert!(
            !EmbeddingTable::load()
                .unwrap()
                .add_word("数据", &mut [0.0; DIMS])
                || of("数据") != [0.0; DIMS]
        );
        assert_eq!(of(""), [0.0; DIMS]);
    }
}
