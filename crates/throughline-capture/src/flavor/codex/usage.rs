//! Computes token usage as the difference of running totals.
//!
//! Codex repeats the count of the last request (`last_token_usage`) without a new request, so
//! adding those up counts too much; the totals only grow when tokens were used.

use memory::Usage;
use serde::{Deserialize, Serialize};

use super::wire::{TokenInfo, TokenUsage};

/// The last totals of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TokenTotals {
    input: u64,
    cached: u64,
    #[serde(default)]
    written: u64,
    output: u64,
    reasoning: u64,
}

impl TokenTotals {
    /// Updates the totals and returns what was used since the last ones, if anything.
    ///
    /// `inherited` means that the totals may include what another rollout has reported: a fork
    /// continues its parent's count.
    pub(crate) fn advance(
        known: &mut Option<Self>,
        info: &TokenInfo,
        inherited: bool,
    ) -> Option<Usage> {
        let now = Self::from(info.total_token_usage?);
        let before = match known.replace(now) {
            Some(before) if now.follows(before) => before,
            // A total that became smaller was reset.
            Some(_) => Self::NOTHING,
            None if inherited => now.minus(info.last_token_usage.map_or(now, Self::from)),
            None => Self::NOTHING,
        };
        let used = now.minus(before);
        (used.input > 0 || used.output > 0).then(|| used.usage())
    }

    /// Returns the totals as text, for use in a key.
    pub(crate) fn key(self) -> String {
        format!("{}+{}", self.input, self.output)
    }

    const NOTHING: Self = Self {
        input: 0,
        cached: 0,
        written: 0,
        output: 0,
        reasoning: 0,
    };

    fn follows(self, before: Self) -> bool {
        self.input >= before.input && self.output >= before.output
    }

    fn minus(self, before: Self) -> Self {
        Self {
            input: self.input.saturating_sub(before.input),
            cached: self.cached.saturating_sub(before.cached),
            written: self.written.saturating_sub(before.written),
            output: self.output.saturating_sub(before.output),
            reasoning: self.reasoning.saturating_sub(before.reasoning),
        }
    }

    /// Codex's input includes cache reads and writes; ours does not.
    fn usage(self) -> Usage {
        let cache_read = self.cached.min(self.input);
        let cache_write = self.written.min(self.input - cache_read);
        Usage {
            input: self.input - cache_read - cache_write,
            output: self.output,
            cache_read,
            cache_write,
            reasoning: self.reasoning,
        }
    }
}

impl From<TokenUsage> for TokenTotals {
    fn from(wire: TokenUsage) -> Self {
        Self {
            input: wire.input_tokens,
            cached: wire.cached_input_tokens,
            written: wire.cache_write_input_tokens,
            output: wire.output_tokens,
            reasoning: wire.reasoning_output_tokens,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(input: u64, cached: u64, output: u64) -> TokenUsage {
        TokenUsage {
            input_tokens: input,
            cached_input_tokens: cached,
            cache_write_input_tokens: 0,
            output_tokens: output,
            reasoning_output_tokens: 0,
        }
    }

    /// Checks what each of a row of totals adds, as `input/cache_read/output`.
    #[track_caller]
    fn check(inherited: bool, totals: &[(u64, u64, u64)], expected: &str) {
        let mut known = None;
        let used = totals.iter().map(|&(input, cached, output)| {
            let info = TokenInfo {
                total_token_usage: Some(count(input, cached, output)),
                last_token_usage: Some(count(10, 0, 1)),
            };
            TokenTotals::advance(&mut known, &info, inherited).map_or_else(
                || "-".to_owned(),
                |used| format!("{}/{}/{}", used.input, used.cache_read, used.output),
            )
        });
        assert_eq!(used.collect::<Vec<_>>().join(" "), expected);
    }

    #[test]
    fn repeats_add_nothing() {
        check(
            false,
            &[(100, 60, 5), (100, 60, 5), (150, 100, 9)],
            "40/60/5 - 10/40/4",
        );
    }

    #[test]
    fn a_total_that_went_back_started_again() {
        check(
            false,
            &[(100, 60, 5), (30, 0, 2), (40, 0, 3)],
            "40/60/5 30/0/2 10/0/1",
        );
    }

    #[test]
    fn a_fork_does_not_count_its_parent() {
        check(true, &[(100, 60, 5), (150, 60, 6)], "10/0/1 50/0/1");
    }
}
