//! Facts: short durable statements.
//!
//! A fact is a preference, a decision, a correction, a command that works, an outcome, or a note.
//! A pinned fact is never evicted. [`relation()`] compares a new statement with an old one: it may
//! repeat it, contradict it, or be unrelated. The comparison prefers precision to recall, because
//! keeping two contradicting facts does less harm than replacing a valid one.

mod alternatives;
mod relation;

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use self::alternatives::are_alternatives;
pub use self::relation::{FactRelation, ParsedStatement, relation};
use crate::words::{StemmedText, split_words};
use crate::{RecordId, Trust};

/// The maximum length of a fact in words.
pub const WORDS_MAX: usize = 40;

/// A fact as stored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fact {
    pub id: FactId,
    /// The key of the workspace that the fact applies to; `None` means all workspaces.
    pub workspace: Option<String>,
    pub kind: FactKind,
    pub text: String,
    pub tags: Vec<String>,
    pub trust: Trust,
    pub pinned: bool,
    pub made: Timestamp,
    /// When the fact was last stated.
    pub seen: Timestamp,
    /// How often the fact was stated.
    pub times: u64,
    /// The fact that replaced this one.
    pub superseded: Option<FactId>,
    /// The records that the fact was extracted from.
    pub sources: Vec<RecordId>,
}

named_enum! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum FactKind {
        /// How the user wants things done. Only the user can state one.
        Preference = "preference",
        Decision = "decision",
        /// What the user corrected.
        Correction = "correction",
        /// A command that works.
        Command = "command",
        Outcome = "outcome",
        Note = "note",
    }
}

/// Identifies a fact. The id is a hash of the workspace and the stemmed words, so stating the same
/// fact again yields the same id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FactId([u8; 16]);

impl FactId {
    /// Returns the id of a statement. It does not depend on the order of the words.
    pub fn from_text(workspace: Option<&str>, text: &str) -> Self {
        let words = StemmedText::parse(text);
        // A text that consists of stop words only is hashed as it is.
        let words_text = if words.stems.is_empty() {
            text.to_owned()
        } else {
            words.to_line()
        };
        Self::from_parts(workspace.unwrap_or_default().as_bytes(), &words_text)
    }

    /// Returns the id of a statement that has the words of the one with this id, in an order that
    /// says the opposite: "tabs over spaces", "spaces over tabs".
    pub fn in_other_order(self, text: &str) -> Self {
        let words: Vec<_> = split_words(text).collect();
        Self::from_parts(&self.0, &words.join(" "))
    }

    fn from_parts(scope: &[u8], words_text: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(scope);
        hasher.update(b"\0");
        hasher.update(words_text.as_bytes());
        let mut id = [0; 16];
        id.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        Self(id)
    }

    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Returns the first eight digits, the short form that is printed.
    pub fn short(&self) -> String {
        self.to_string()[..8].to_owned()
    }
}

impl fmt::Display for FactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        RecordId::from_bytes(self.0).fmt(f)
    }
}

impl fmt::Debug for FactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FactId({self})")
    }
}

impl FromStr for FactId {
    type Err = crate::id::InvalidRecordId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(|id: RecordId| Self(*id.as_bytes()))
    }
}

impl Serialize for FactId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_does_not_depend_on_order_or_case() {
        let id = |text: &str| FactId::from_text(Some("w"), text);
        assert_eq!(id("Use pnpm always"), id("always use PNPM!"));
        assert_ne!(id("use pnpm"), FactId::from_text(None, "use pnpm"));
        assert_ne!(id("use pnpm"), id("don't use pnpm"));
        let one = id("use pnpm");
        assert_eq!(one.to_string().parse(), Ok(one));
    }
}
