//! Chance that can be repeated: splitmix64, seeded, with the few distributions a corpus needs.

/// A small generator of pseudo-random numbers. Equal seeds give equal sequences.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a generator of its own for one part of the work, whatever the others draw.
    pub fn fork(seed: u64, part: u64) -> Self {
        let mut mixed = Self(seed ^ part.wrapping_mul(0xA076_1D64_78BD_642F));
        mixed.next();
        mixed
    }

    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number in 0..1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Returns a number in `low..high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        debug_assert!(low < high);
        low + (self.unit() * (high - low) as f64) as usize
    }

    /// Returns one of the things; there must be one.
    pub fn pick<'a, T: ?Sized>(&mut self, things: &[&'a T]) -> &'a T {
        things[self.between(0, things.len())]
    }

    /// Returns a size with this median and, the larger the sigma, a longer tail.
    pub fn size(&mut self, median: f64, sigma: f64, max: usize) -> usize {
        // Twelve uniform numbers are normal enough.
        let normal = (0..12).map(|_| self.unit()).sum::<f64>() - 6.0;
        ((median * (sigma * normal).exp()) as usize).min(max)
    }

    pub fn hex(&mut self, digits: usize) -> String {
        self.letters(b"0123456789abcdef", digits)
    }

    pub fn base62(&mut self, letters: usize) -> String {
        self.letters(
            b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
            letters,
        )
    }

    pub fn base64(&mut self, letters: usize) -> String {
        self.letters(
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
            letters,
        )
    }

    pub fn letters(&mut self, alphabet: &[u8], count: usize) -> String {
        (0..count)
            .map(|_| char::from(alphabet[self.between(0, alphabet.len())]))
            .collect()
    }

    /// Returns a random UUID; `version` is its version digit.
    pub fn uuid(&mut self, version: char) -> String {
        let hex = self.hex(31);
        format!(
            "{}-{}-{version}{}-a{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[12..15],
            &hex[15..18],
            &hex[18..30],
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_sequences() {
        let draw = |seed| {
            let mut rng = Rng::new(seed);
            (rng.next(), rng.uuid('4'), rng.size(100.0, 1.0, 1000))
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }
}
