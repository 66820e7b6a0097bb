//! The layers of a session's memory, as pure policies.
//!
//! - [`card`]: what is kept of one file, command or fact, and its key.
//! - [`capsule`]: what a workspace knows beyond single records, in short form.
//! - [`working`]: the working memory of one live session, least recently used out first.
//! - [`cache`]: the context cache that the sessions of a workspace share.
//! - [`session`]: the memory of one session, built from its records.
//! - [`checkpoint`]: where a session stood, so that it can be taken up again.
//! - [`touches`]: which files a session touched, from which seeds are predicted.
//!
//! A lookup asks the working memory, then the cache, then the store, and is counted before
//! anything is inserted. `now` is always an argument and every collection is ordered, so that two
//! replays of the same events give the same bytes. What leaves a layer is returned as
//! [`LayerEffects`]; the caller decides where it goes.

pub mod cache;
pub mod capsule;
pub mod card;
pub mod checkpoint;
pub mod session;
#[cfg(test)]
mod tests;
pub mod touches;
pub mod working;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

pub use self::cache::{CacheEntry, ContextCache};
pub use self::capsule::{Capsule, CapsuleKind, CapsuleLine, CapsuleSource};
pub use self::card::{CARD_TOKENS_MAX, Card, CardKey};
pub use self::checkpoint::{Checkpoint, CheckpointCause};
pub use self::session::{LayerRecord, SessionChange, SessionMemory};
pub use self::touches::{SessionTouches, TouchedFile};
pub use self::working::WorkingMemory;

named_enum! {
    /// Where a lookup found its card.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Layer {
        /// Working memory, L1.
        Working = "working",
        /// The context cache, L1.5.
        Cache = "cache",
        /// The store, L2.
        Store = "store",
        Miss = "miss",
    }
}

named_enum! {
    /// Why a card was looked up.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum LookupSource {
        /// A tool call used a file or a command.
        Touch = "touch",
        /// An item was considered for a prompt.
        Prompt = "prompt",
        /// A client asked for it.
        Pull = "pull",
        /// A session started, was resumed or was compacted.
        Restore = "restore",
    }
}

/// What a change of a layer caused elsewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LayerEffects {
    /// Cards that working memory had no room for; they belong in the cache.
    pub to_cache: Vec<(CardKey, Card)>,
    /// Cards that left for long-term memory: expired in the cache, or idle in a full working
    /// memory.
    pub archived: Vec<(CardKey, Card)>,
    /// Cards that were read often enough in the cache to enter working memory.
    pub promoted: Vec<(CardKey, Card)>,
}

impl LayerEffects {
    pub fn extend(&mut self, other: Self) {
        self.to_cache.extend(other.to_cache);
        self.archived.extend(other.archived);
        self.promoted.extend(other.promoted);
    }
}

/// Returns the time since `past`. A clock that went back counts as no time.
fn elapsed(past: Timestamp, now: Timestamp) -> SignedDuration {
    now.duration_since(past).max(SignedDuration::ZERO)
}
