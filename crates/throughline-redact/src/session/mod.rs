//! The secrets of a session, so that each is replaced wherever it recurs.
//!
//! While a session runs, its secrets are kept in memory. What is written to disk is a keyed
//! [`Fingerprint`] of each: enough to recognise the secret, not enough to recover it.

mod value_index;

use std::collections::{HashMap, HashSet};

use crate::scan::progress::ResumeOffset;
use crate::scan::{Confidence, Detection};
use crate::session::value_index::ValueIndex;

/// A shorter value is replaced only as a whole, a longer one also when its tail is cut off.
pub(crate) const PREFIX_BYTES_MIN: usize = 12;
/// A shorter value may be an ordinary word.
const VALUE_BYTES_MIN: usize = 7;
/// A longer value is a file. The detectors find each copy of it.
const VALUE_BYTES_MAX: usize = 64 << 10;
/// A whole value this long is not a coincidence, even inside a longer word.
const GLUED_BYTES_MIN: usize = 20;
/// A session with more secrets shows a list of them. The detectors still find each one.
const VALUES_MAX: usize = 4096;

/// A secret value. It never leaves memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    pub rule: &'static str,
    pub value: String,
}

/// The part of a secret that may be stored: enough to recognise it, not enough to recover it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    pub hash: [u8; 16],
    pub len: u32,
    pub rule: String,
}

/// The secrets that one session has shown.
#[derive(Debug, Default)]
pub struct SessionSecrets {
    values: Vec<Secret>,
    values_written: usize,
    /// Searches for all values in one pass.
    index: ValueIndex,
    known_hashes: HashSet<[u8; 16]>,
    /// The hashes of `values`.
    value_hashes: HashSet<[u8; 16]>,
    fingerprints: Vec<Fingerprint>,
    fingerprints_written: usize,
    /// The lengths of the fingerprints that came from disk. Their values are unknown, so every word
    /// of such a length must be hashed.
    fingerprint_lens: Vec<usize>,
    /// The same for values that may hold spaces.
    spaced_fingerprint_lens: Vec<usize>,
}

impl SessionSecrets {
    /// Restores a session from its stored fingerprints.
    pub fn from_fingerprints(fingerprints: impl IntoIterator<Item = Fingerprint>) -> Self {
        let fingerprints: Vec<Fingerprint> = fingerprints.into_iter().collect();
        let lens = |spaced: bool| {
            let of_kind = fingerprints
                .iter()
                .filter(|print| may_hold_spaces(&print.rule) == spaced);
            let mut lens: Vec<usize> = of_kind.map(|print| print.len as usize).collect();
            lens.sort_unstable();
            lens.dedup();
            lens
        };
        Self {
            fingerprint_lens: lens(false),
            spaced_fingerprint_lens: lens(true),
            known_hashes: fingerprints.iter().map(|print| print.hash).collect(),
            fingerprints_written: fingerprints.len(),
            fingerprints,
            ..Self::default()
        }
    }

    /// Returns what to store of the session.
    pub fn fingerprints(&self) -> Vec<Fingerprint> {
        self.fingerprints.clone()
    }

    /// Returns the fingerprints added since [`SessionSecrets::mark_written`].
    pub fn new_fingerprints(&self) -> &[Fingerprint] {
        &self.fingerprints[self.fingerprints_written..]
    }

    /// Returns the values added since [`SessionSecrets::mark_written`]: rows written before may
    /// hold them.
    pub fn new_values(&self) -> &[Secret] {
        &self.values[self.values_written..]
    }

    pub fn mark_written(&mut self) {
        self.values_written = self.values.len();
        self.fingerprints_written = self.fingerprints.len();
    }

    pub fn is_empty(&self) -> bool {
        self.fingerprints.is_empty()
    }

    pub(crate) fn add(&mut self, rule: &'static str, value: &str, key: &[u8; 32]) {
        // A quote or a line break would also match the text around a value.
        let plain = !value.contains(['"', '\n']);
        if !plain
            || !(VALUE_BYTES_MIN..=VALUE_BYTES_MAX).contains(&value.len())
            || self.values.len() >= VALUES_MAX
            || !is_searchable(crate::value::judged_prefix(value))
        {
            return;
        }
        let hash = fingerprint(key, value);
        if !self.value_hashes.insert(hash) {
            return;
        }
        if self.known_hashes.insert(hash) {
            self.fingerprints.push(Fingerprint {
                hash,
                len: u32::try_from(value.len()).unwrap_or(u32::MAX),
                rule: rule.to_owned(),
            });
        }
        self.values.push(Secret {
            rule,
            value: value.to_owned(),
        });
        self.index.add(&self.values);
    }

    /// Says, of text that may still be escaped, whether it may hold a secret of the session.
    pub(crate) fn may_find(&self, text: &str) -> bool {
        // Fingerprints can only be compared by hashing every word.
        !self.fingerprint_lens.is_empty()
            || !self.spaced_fingerprint_lens.is_empty()
            || self.index.may_find(text, &self.values)
    }

    /// Adds every occurrence of a secret of the session to `found`.
    pub(crate) fn find_recurrences(&self, text: &str, key: &[u8; 32], found: &mut Vec<Detection>) {
        // A value such as `abab…` matches at each of its repetitions; bytes that were compared are
        // skipped.
        let mut resume: HashMap<usize, ResumeOffset> = HashMap::new();
        self.index.for_each_match(text, &self.values, |number, at| {
            let resume = resume.entry(number).or_default();
            if resume.skips(at) {
                return;
            }
            let secret = &self.values[number];
            let value = secret.value.as_bytes();
            let same = text.as_bytes()[at..]
                .iter()
                .zip(value)
                .take_while(|(a, b)| a == b)
                .count();
            let end = text.floor_char_boundary(at + same);
            // A long value is recognised even when other letters are glued to it.
            let whole = same == value.len() && same >= GLUED_BYTES_MIN;
            let part = || {
                same == value.len()
                    || crate::value::is_random(
                        crate::value::judged_prefix(&text[at..end]),
                        PREFIX_BYTES_MIN,
                    )
            };
            resume.record_failure(at, end);
            if whole || is_delimited(text, at, end) && part() {
                resume.skip_to(end);
                found.push(Detection {
                    rule: secret.rule,
                    confidence: Confidence::Probable,
                    start: at,
                    end,
                });
            }
        });
        let bytes = text.as_bytes();
        if let Some(&shortest) = self.fingerprint_lens.first() {
            // These values hold no spaces, so it is enough to look at one word at a time.
            for word in words(bytes) {
                if word.len() >= shortest {
                    self.find_fingerprints(text, word, &self.fingerprint_lens, key, found);
                }
            }
        }
        if !self.spaced_fingerprint_lens.is_empty() {
            self.find_fingerprints(
                text,
                0..bytes.len(),
                &self.spaced_fingerprint_lens,
                key,
                found,
            );
        }
    }

    fn find_fingerprints(
        &self,
        text: &str,
        range: std::ops::Range<usize>,
        lens: &[usize],
        key: &[u8; 32],
        found: &mut Vec<Detection>,
    ) {
        for at in range.clone() {
            if !text.is_char_boundary(at) || !is_delimited_before(text, at) {
                continue;
            }
            for &len in lens.iter().take_while(|&&len| at + len <= range.end) {
                let Some(value) = text.get(at..at + len) else {
                    continue;
                };
                if is_delimited(text, at, at + len)
                    && is_searchable(value)
                    && self.known_hashes.contains(&fingerprint(key, value))
                {
                    found.push(Detection {
                        rule: "seen-before",
                        confidence: Confidence::Probable,
                        start: at,
                        end: at + len,
                    });
                }
            }
        }
    }
}

/// True for rules whose values may hold spaces.
fn may_hold_spaces(rule: &str) -> bool {
    matches!(rule, "fly-token" | "seed-phrase")
}

/// Returns the runs of bytes between spaces and control characters.
fn words(bytes: &[u8]) -> impl Iterator<Item = std::ops::Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let is_blank = |byte: &u8| *byte <= b' ';
        let start = at + bytes[at..].iter().position(|byte| !is_blank(byte))?;
        let len = bytes[start..].iter().position(is_blank);
        at = start + len.unwrap_or(bytes.len() - start);
        Some(start..at)
    })
}

fn fingerprint(key: &[u8; 32], value: &str) -> [u8; 16] {
    let mut short = [0; 16];
    let full = blake3::keyed_hash(key, value.as_bytes());
    short.copy_from_slice(&full.as_bytes()[..16]);
    short
}

/// True when a value is distinctive enough to be searched for in the whole session.
fn is_searchable(value: &str) -> bool {
    if crate::value::is_worded_identifier(value) {
        return false;
    }
    let shape = crate::value::shape(value);
    shape.distinct >= 5
        && (shape.digits > 0 || shape.symbols > 0 || shape.common_pair_share < 0.34)
        && shape.digits < shape.len
}

fn is_delimited_before(text: &str, start: usize) -> bool {
    let bytes = text.as_bytes();
    start == 0
        || !(bytes[start - 1].is_ascii_alphanumeric() && bytes[start].is_ascii_alphanumeric())
}

fn is_delimited(text: &str, start: usize, end: usize) -> bool {
    let bytes = text.as_bytes();
    let after = end == bytes.len()
        || !(bytes[end - 1].is_ascii_alphanumeric() && bytes[end].is_ascii_alphanumeric());
    after && is_delimited_before(text, start)
}
