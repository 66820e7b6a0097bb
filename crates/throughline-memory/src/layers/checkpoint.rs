//! Checkpoints: where a session stood after some of its interactions.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{CardKey, TouchedFile};
use crate::RecordId;

/// The state of a session, made of its records alone, so that it can be made again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Checkpoint {
    /// Counts from one within the session.
    pub number: u32,
    /// How many interactions it covers: prompts, and responses with the results of their calls.
    pub interactions: u64,
    pub at: Option<Timestamp>,
    pub cause: CheckpointCause,
    /// The user's last requests, the latest last.
    pub asked: Vec<String>,
    /// The last list of a todo or planning tool.
    pub plan: Option<String>,
    /// What the agent said last.
    pub said: Option<String>,
    /// The last files, the latest first.
    pub files: Vec<TouchedFile>,
    /// The last commands, the latest last; a failed one says so.
    pub commands: Vec<String>,
    /// The last errors, the latest last.
    pub errors: Vec<String>,
    /// What working memory held, the last used first: keys with the first line of their cards.
    pub cards: Vec<(CardKey, String)>,
    /// Choices that the user made, the latest last.
    pub decisions: Vec<String>,
    /// The first record of each of the last interactions.
    pub recent: Vec<RecordId>,
    pub prompts: u64,
    pub calls: u64,
    pub failures: u64,
}

named_enum! {
    /// Why a checkpoint was made.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum CheckpointCause {
        /// Enough interactions had passed.
        #[default]
        Interval = "interval",
        /// The conversation was compacted.
        Compaction = "compaction",
        /// The records end here.
        End = "end",
    }
}
