//! Secrets out, before anything is written.
//!
//! A text goes through these hands, each seeing what the one before left:
//!
//! - [`view`] undoes escapes and colours, so that JSON in JSON reads like plain text;
//! - [`scan`] runs one automaton over the literals of all rules and calls what a literal belongs to;
//! - [`rules`] holds the formats that are secret by themselves (`ghp_…`), each with its own proof;
//!   [`mod@format`] applies them, over seams too ([`join`]);
//! - [`pem`], [`url`] and [`header`] know key blocks, URLs, authorization headers and cookies;
//! - [`context`] reads `name = value` in its many spellings ([`pair`]: in two fields), [`words`] judges
//!   the name, [`extent`] finds the value's end, [`value`] judges it, [`glance`] turns down early; [`vendor`] knows services whose name alone announces a key;
//! - [`seen`] remembers the values of a session, so that each is replaced wherever it recurs;
//! - [`mark`] writes what stands in a secret's place.
//!
//! To be replaced a text must be certain (a format) or probable (a name and a fitting value); what is
//! only possible leaves the text as it is and tags it `sensitive`.
//!
//! The redactor knows nothing of records, sessions or tables; it is handed text and gives [`Clean`] back.

pub mod adversary;
mod context;
mod extent;
mod format;
mod glance;
mod header;
mod join;
mod known;
mod mark;
mod pair;
mod pem;
mod phrase;
mod pii;
mod placeholder;
mod progress;
mod rules;
mod scan;
mod seen;
mod url;
mod value;
mod value_index;
mod vendor;
mod view;
mod words;

use std::borrow::Cow;
use std::sync::OnceLock;

pub use self::pii::{PersonalData, personal_data};
pub use self::scan::Confidence;
pub use self::seen::{Fingerprint, Secret, SessionSecrets};

/// How often a changed text is looked at; two are enough but for odd input.
const PASSES_MAX: usize = 6;

/// Finds secrets and replaces them by typed marks. Built once, shared by reference.
#[derive(Debug)]
pub struct Redactor {
    key: [u8; 32],
    /// Takes longer to build than a question to answer, and who only asks never needs it.
    scanner: OnceLock<scan::SecretScanner>,
}

/// Text that passed the redactor; nothing else makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanText<'a> {
    text: Cow<'a, str>,
    sensitive: bool,
}

/// A [`Clean`] that owns its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanString {
    text: String,
    sensitive: bool,
}

impl CleanString {
    /// A word of this program's own.
    pub fn from_static(text: &'static str) -> Self {
        Self {
            text: text.to_owned(),
            sensitive: false,
        }
    }
}

/// One place that would be replaced (or, for [`Tier::Possible`], only tagged).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub rule: &'static str,
    pub start: usize,
    pub end: usize,
    pub tier: Confidence,
    pub mark: String,
}

impl Redactor {
    /// `key` is the installation's own; marks and fingerprints of different keys do not compare.
    pub fn new(key: [u8; 32]) -> Self {
        Self {
            key,
            scanner: OnceLock::new(),
        }
    }

    /// Cleans one text on its own.
    pub fn clean<'a>(&self, text: &'a str) -> CleanText<'a> {
        self.clean_in_session(text, &mut SessionSecrets::default())
    }

    /// Cleans a text of a session: what the session has shown before is replaced here too, and what is
    /// found here is added to `seen`.
    pub fn clean_in_session<'a>(&self, text: &'a str, seen: &mut SessionSecrets) -> CleanText<'a> {
        let (mut cleaned, mut sensitive) = self.replace_secrets(text, seen);
        // A mark may part what one grammar read as one value; what is left is looked at again.
        for _ in 1..PASSES_MAX {
            let Some(before) = &cleaned else { break };
            let (after, tagged) = self.replace_secrets(before, seen);
            sensitive |= tagged;
            if after.is_none() {
                break;
            }
            cleaned = after;
        }
        CleanText {
            text: cleaned.map_or(Cow::Borrowed(text), Cow::Owned),
            sensitive,
        }
    }

    /// The text with marks, when it has any to make, and whether it may hold more.
    fn replace_secrets(&self, text: &str, seen: &mut SessionSecrets) -> (Option<String>, bool) {
        let hits = self.detect(text, seen);
        let sensitive = hits.iter().any(|hit| hit.tier == Confidence::Possible);
        let mut hits = hits
            .iter()
            .filter(|hit| hit.tier != Confidence::Possible)
            .peekable();
        if hits.peek().is_none() {
            return (None, sensitive);
        }
        let mut cleaned = String::with_capacity(text.len());
        let mut copied = 0;
        for hit in hits {
            cleaned.push_str(&text[copied..hit.start]);
            cleaned.push_str(&mark::format_mark(&self.key, hit.rule, &hit.value));
            copied = hit.end;
        }
        cleaned.push_str(&text[copied..]);
        (Some(cleaned), sensitive)
    }

    /// Lists what [`Redactor::clean`] would replace or tag.
    pub fn findings(&self, text: &str) -> Vec<Finding> {
        self.detect(text, &mut SessionSecrets::default())
            .into_iter()
            .map(|hit| Finding {
                rule: hit.rule,
                start: hit.start,
                end: hit.end,
                tier: hit.tier,
                mark: mark::format_mark(&self.key, hit.rule, &hit.value),
            })
            .collect()
    }

    /// Returns a hash that only this installation can make.
    pub fn keyed_hash(&self, parts: &[&[u8]]) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let mut hash = [0; 16];
        hash.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        hash
    }

    /// Adds the secrets of `text` to `seen`: the first of two passes over a batch, so that a value
    /// judged in its last record is replaced in its first.
    pub fn collect_secrets(&self, text: &str, seen: &mut SessionSecrets) {
        self.detect(text, seen);
    }

    fn detect(&self, text: &str, seen: &mut SessionSecrets) -> Vec<scan::SourceDetection> {
        self.scanner
            .get_or_init(scan::SecretScanner::new)
            .find_secrets(text, &self.key, seen)
    }
}

impl<'a> CleanText<'a> {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn is_changed(&self) -> bool {
        matches!(self.text, Cow::Owned(_))
    }

    /// True when the text may hold a secret that was too uncertain to remove.
    pub fn sensitive(&self) -> bool {
        self.sensitive
    }

    pub fn into_owned(self) -> CleanString {
        CleanString {
            text: self.text.into_owned(),
            sensitive: self.sensitive,
        }
    }

    pub fn into_cow(self) -> Cow<'a, str> {
        self.text
    }
}

impl CleanString {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn sensitive(&self) -> bool {
        self.sensitive
    }

    pub fn into_string(self) -> String {
        self.text
    }
}

impl From<CleanText<'_>> for CleanString {
    fn from(clean: CleanText<'_>) -> Self {
        clean.into_owned()
    }
}

impl AsRef<str> for CleanText<'_> {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

impl AsRef<str> for CleanString {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod linear;
#[cfg(test)]
mod matrix;
#[cfg(test)]
mod tests;
