//! The parts of an injection.

use serde::Serialize;

use crate::{FactId, RecordId};

/// A fact or a record: the unit that is injected, rated and deduplicated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryItem {
    Fact(FactId),
    Record(RecordId),
}

impl MemoryItem {
    /// Returns the stored form: the name of the kind and the bytes of the id.
    pub fn parts(&self) -> (&'static str, [u8; 16]) {
        match self {
            Self::Fact(id) => ("fact", *id.as_bytes()),
            Self::Record(id) => ("record", *id.as_bytes()),
        }
    }

    pub fn from_parts(kind: &str, id: [u8; 16]) -> Self {
        if kind == "fact" {
            Self::Fact(FactId::from_bytes(id))
        } else {
            Self::Record(RecordId::from_bytes(id))
        }
    }

    /// Says whether both are the same item, or one is a duplicate of the other in a fork.
    pub fn is_same_or_duplicate(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Record(a), Self::Record(b)) => {
                let shared = ..RecordId::SHARED_BYTES;
                a.as_bytes()[shared] == b.as_bytes()[shared]
            }
            (a, b) => a == b,
        }
    }
}

impl std::fmt::Display for MemoryItem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fact(id) => id.fmt(f),
            Self::Record(id) => id.fmt(f),
        }
    }
}
