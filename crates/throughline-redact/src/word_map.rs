//! Lookup of short words in constant lists, on the hot path of the scan.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The lists that each word is in, as flags.
pub(crate) type WordMap = HashMap<&'static [u8], u8, BuildHasherDefault<WordHasher>>;

/// A fast hash for short words. The words are constants, so no input can make them collide.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct WordHasher(u64);

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0.rotate_left(5) ^ u64::from(*byte)).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }

    fn write_usize(&mut self, length: usize) {
        self.write(&length.to_le_bytes()[..1]);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
