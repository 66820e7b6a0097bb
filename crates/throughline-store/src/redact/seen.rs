//! The values judged secret in a session.

use std::collections::HashSet;

use memchr::memmem;

use super::scan::{Found, Tier};

/// Shorter values are replaced only as a whole; a longer one also when its tail was cut off.
const PREFIX_BYTES_MIN: usize = 12;
/// Below this a value is a word that may stand for anything.
const VALUE_BYTES_MIN: usize = 7;
/// A whole value this long is no chance inside a longer word.
const GLUED_BYTES_MIN: usize = 20;
/// A session that shows more secrets than this is a list of secrets; the rules still find each.
const VALUES_MAX: usize = 4096;

/// A value judged secret, in memory only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    pub rule: &'static str,
    pub value: String,
}

/// What may be kept of a secret: enough to know it again, not enough to get it back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    pub hash: [u8; 16],
    pub len: u32,
    pub rule: String,
}

/// The secrets of one session, so that each is replaced wherever it recurs.
#[derive(Debug, Default)]
pub struct Seen {
    values: Vec<Secret>,
    written: usize,
    known: HashSet<[u8; 16]>,
    fingerprints: Vec<Fingerprint>,
    /// Fingerprints that came from disk, whose value we have not met again.
    lens: Vec<usize>,
}

impl Seen {
    /// Takes up a session again from what was kept of it.
    pub fn from_fingerprints(fingerprints: impl IntoIterator<Item = Fingerprint>) -> Self {
        let fingerprints: Vec<Fingerprint> = fingerprints.into_iter().collect();
        let mut lens: Vec<usize> = fingerprints
            .iter()
            .map(|print| print.len as usize)
            .collect();
        lens.sort_unstable();
        lens.dedup();
        let known = fingerprints.iter().map(|print| print.hash).collect();
        Self {
            fingerprints,
            lens,
            known,
            ..Self::default()
        }
    }

    /// What to keep of the session.
    pub fn fingerprints(&self) -> Vec<Fingerprint> {
        self.fingerprints.clone()
    }

    /// The values first found since [`Seen::mark_written`]: rows written before may hold them.
    pub fn new_values(&self) -> &[Secret] {
        &self.values[self.written..]
    }

    pub fn mark_written(&mut self) {
        self.written = self.values.len();
    }

    pub fn is_empty(&self) -> bool {
        self.fingerprints.is_empty()
    }

    pub(super) fn add(&mut self, rule: &'static str, value: &str, key: &[u8; 32]) {
        // A quote or a line break would match the frame around a value as well.
        let plain = !value.contains(['"', '\n']);
        if !plain
            || value.len() < VALUE_BYTES_MIN
            || self.values.len() >= VALUES_MAX
            || !recurs(value)
        {
            return;
        }
        if self.values.iter().any(|secret| secret.value == value) {
            return;
        }
        let hash = fingerprint(key, value);
        if self.known.insert(hash) {
            self.fingerprints.push(Fingerprint {
                hash,
                len: value.len() as u32,
                rule: rule.to_owned(),
            });
        }
        self.values.push(Secret {
            rule,
            value: value.to_owned(),
        });
    }

    /// Says, without decoding, whether a text may hold a seen value.
    pub(super) fn may_find(&self, text: &str) -> bool {
        // Fingerprints need every word hashed; a value with a slash or a quote may be escaped in the text.
        !self.lens.is_empty()
            || self.values.iter().any(|secret| {
                let head = secret.head();
                head.contains(['/', '\\', '"'])
                    || memmem::find(text.as_bytes(), head.as_bytes()).is_some()
            })
    }

    /// Adds every recurrence of a seen value to `found`.
    pub(super) fn find(&self, text: &str, key: &[u8; 32], found: &mut Vec<Found>) {
        for secret in &self.values {
            let value = secret.value.as_bytes();
            let head = secret.head().as_bytes();
            for at in memmem::find_iter(text.as_bytes(), head) {
                let same = text.as_bytes()[at..]
                    .iter()
                    .zip(value)
                    .take_while(|(a, b)| a == b)
                    .count();
                let end = super::scan::floor(text, at + same);
                // A long value is itself wherever it stands, even glued to other letters.
                let whole = same == value.len() && same >= GLUED_BYTES_MIN;
                let part = same == value.len()
                    || super::value::is_random(&text[at..end], PREFIX_BYTES_MIN);
                if whole || part && is_apart(text, at, end) {
                    found.push(Found {
                        rule: secret.rule,
                        tier: Tier::Probable,
                        start: at,
                        end,
                    });
                }
            }
        }
        if !self.lens.is_empty() {
            self.find_fingerprints(text, key, found);
        }
    }

    fn find_fingerprints(&self, text: &str, key: &[u8; 32], found: &mut Vec<Found>) {
        for (at, _) in text.char_indices() {
            if !is_apart_before(text, at) {
                continue;
            }
            for &len in &self.lens {
                let Some(value) = text.get(at..at + len) else {
                    continue;
                };
                if is_apart(text, at, at + len)
                    && recurs(value)
                    && self.known.contains(&fingerprint(key, value))
                {
                    found.push(Found {
                        rule: "seen-before",
                        tier: Tier::Probable,
                        start: at,
                        end: at + len,
                    });
                }
            }
        }
    }
}

impl Secret {
    /// The part that must be met before the rest is compared.
    fn head(&self) -> &str {
        let len = PREFIX_BYTES_MIN
            .max(secret_prefix(&self.value))
            .min(self.value.len());
        &self.value[..super::scan::floor(&self.value, len)]
    }
}

fn fingerprint(key: &[u8; 32], value: &str) -> [u8; 16] {
    let mut short = [0; 16];
    let full = blake3::keyed_hash(key, value.as_bytes());
    short.copy_from_slice(&full.as_bytes()[..16]);
    short
}

/// A vendor's prefix is no secret: a prefix match must go some way beyond it.
fn secret_prefix(value: &str) -> usize {
    value
        .rfind(['_', '-', '.'])
        .filter(|&at| at < 20)
        .map_or(0, |at| at + 7)
}

/// True when a value is odd enough to be looked for everywhere.
fn recurs(value: &str) -> bool {
    if super::value::is_words(value) {
        return false;
    }
    let shape = super::value::shape(value);
    shape.distinct >= 5
        && (shape.digits > 0 || shape.symbols > 0 || shape.wordy < 0.34)
        && shape.digits < shape.len
}

fn is_apart_before(text: &str, start: usize) -> bool {
    let bytes = text.as_bytes();
    start == 0
        || !(bytes[start - 1].is_ascii_alphanumeric() && bytes[start].is_ascii_alphanumeric())
}

fn is_apart(text: &str, start: usize, end: usize) -> bool {
    let bytes = text.as_bytes();
    let after = end == bytes.len()
        || !(bytes[end - 1].is_ascii_alphanumeric() && bytes[end].is_ascii_alphanumeric());
    after && is_apart_before(text, start)
}
