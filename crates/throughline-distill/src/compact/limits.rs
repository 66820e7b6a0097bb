//! The figures that compaction works with.

use memory::{Tokens, summary};

/// How much is kept, restored and allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionLimits {
    /// What is kept reaches back until it holds at least this many tokens …
    pub min_tokens: Tokens,
    /// … and this many messages with text …
    pub min_messages: usize,
    /// … or this many tokens are reached.
    pub max_tokens: Tokens,
    /// A result that is larger is declined.
    pub threshold: Option<Tokens>,
    pub summary: summary::SummaryLimits,
    pub restore: RestoreLimits,
}

/// How much of what was cut off is put back beside the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreLimits {
    pub tokens: Tokens,
    pub files: usize,
    /// A larger file is restored by its path only.
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
            files: 5,
            file_tokens: Tokens(2_500),
        }
    }
}

/// Figures as somebody wrote them down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConfiguredLimits {
    pub min_tokens: i64,
    pub min_messages: i64,
    pub max_tokens: i64,
    pub threshold: i64,
}

impl CompactionLimits {
    /// Takes what was configured where it is positive, and the defaults otherwise.
    pub fn from_config(figures: ConfiguredLimits) -> Self {
        let positive = |figure: i64| u64::try_from(figure).ok().filter(|figure| *figure > 0);
        let usual = Self::default();
        Self {
            min_tokens: positive(figures.min_tokens).map_or(usual.min_tokens, Tokens),
            min_messages: positive(figures.min_messages)
                .and_then(|count| usize::try_from(count).ok())
                .unwrap_or(usual.min_messages),
            max_tokens: positive(figures.max_tokens).map_or(usual.max_tokens, Tokens),
            threshold: positive(figures.threshold).map(Tokens),
            ..usual
        }
    }

    /// Returns limits that keep only a part of what these keep.
    pub fn divided_by(&self, share: u64) -> Self {
        let share = share.max(1);
        Self {
            min_tokens: Tokens(self.min_tokens.0 / share),
            min_messages: if share == 1 { self.min_messages } else { 1 },
            max_tokens: Tokens((self.max_tokens.0 / share).max(1)),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_positive_figures_count() {
        for figure in [0, -1, i64::MIN] {
            let figures = ConfiguredLimits {
                min_tokens: figure,
                min_messages: figure,
                max_tokens: figure,
                threshold: figure,
            };
            assert_eq!(
                CompactionLimits::from_config(figures),
                CompactionLimits::default()
            );
        }
        let one = CompactionLimits::from_config(ConfiguredLimits {
            min_tokens: 1,
            min_messages: 2,
            max_tokens: 3,
            threshold: 4,
        });
        assert_eq!((one.min_tokens, one.min_messages), (Tokens(1), 2));
        assert_eq!(
            (one.max_tokens, one.threshold),
            (Tokens(3), Some(Tokens(4)))
        );
    }
}
