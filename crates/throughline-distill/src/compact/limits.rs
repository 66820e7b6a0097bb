//! The limits of a compaction.

use memory::{Tokens, summary};

/// How much a compaction keeps, restores and may return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionLimits {
    /// The kept messages have at least this many tokens …
    pub min_tokens: Tokens,
    /// … and at least this many messages with text …
    pub min_messages: usize,
    /// … unless they reach this many tokens before.
    pub max_tokens: Tokens,
    /// A result of this size or more is declined.
    pub threshold: Option<Tokens>,
    pub summary: summary::SummaryLimits,
    pub restore: RestoreLimits,
}

/// How much of the replaced conversation is restored next to the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreLimits {
    pub tokens: Tokens,
    pub files: usize,
    /// Of a larger file, only the path is restored.
    pub file_tokens: Tokens,
}

impl Default for CompactionLimits {
    fn default() -> Self {
        Self {
            min_tokens: Tokens(10_000),
            min_messages: 5,
            max_tokens: Tokens(40_000),
            threshold: None,
            summary: summary::SummaryLimits::default(),
            restore: RestoreLimits::default(),
        }
    }
}

impl Default for RestoreLimits {
    fn default() -> Self {
        Self {
            tokens: Tokens(8_000),
            files: 40,
            file_tokens: Tokens(2_500),
        }
    }
}

impl CompactionLimits {
    /// Returns limits that keep a fraction of what these keep.
    pub fn divided_by(&self, divisor: u64) -> Self {
        let divisor = divisor.max(1);
        Self {
            min_tokens: Tokens(self.min_tokens.0 / divisor),
            min_messages: if divisor == 1 { self.min_messages } else { 1 },
            max_tokens: Tokens((self.max_tokens.0 / divisor).max(1)),
            ..*self
        }
    }
}
