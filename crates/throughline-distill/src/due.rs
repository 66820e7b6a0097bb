//! When the running summary is to be written again: a function of how far the session has come.

use memory::{SessionKind, Tokens};

/// How much must have happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// What the conversation holds before the first extraction …
    pub start: Tokens,
    /// … what has come since the last one before the next …
    pub more: Tokens,
    /// … and the calls since, unless the conversation is at a pause.
    pub calls: u64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            start: Tokens(5_000),
            more: Tokens(5_000),
            calls: 10,
        }
    }
}

/// How far a session has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub kind: SessionKind,
    pub tokens: Tokens,
    pub tool_calls: u64,
    /// The last assistant turn asks for no tool.
    pub at_pause: bool,
    /// A compaction of it is running.
    pub compacting: bool,
    /// Where it stood when its summary was last written.
    pub written: Option<Written>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub tokens: Tokens,
    pub tool_calls: u64,
}

/// Whether it is time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Due(Why),
    Wait(WhyNot),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// There is no summary yet.
    First,
    /// Enough calls were made.
    Calls,
    /// The conversation rests.
    Pause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyNot {
    Subagent,
    Compacting,
    TooShort,
    TooLittleNew,
    /// It is in the middle of something.
    Working,
}

/// Decides.
pub fn due(progress: &Progress, thresholds: &Thresholds) -> Verdict {
    if progress.kind == SessionKind::Subagent {
        return Verdict::Wait(WhyNot::Subagent);
    }
    if progress.compacting {
        return Verdict::Wait(WhyNot::Compacting);
    }
    let Some(written) = progress.written else {
        return if progress.tokens >= thresholds.start {
            Verdict::Due(Why::First)
        } else {
            Verdict::Wait(WhyNot::TooShort)
        };
    };
    // A log that was rewritten may have become shorter: then nothing is new.
    if progress.tokens.0.saturating_sub(written.tokens.0) < thresholds.more.0 {
        return Verdict::Wait(WhyNot::TooLittleNew);
    }
    if progress.tool_calls.saturating_sub(written.tool_calls) >= thresholds.calls {
        return Verdict::Due(Why::Calls);
    }
    if progress.at_pause {
        return Verdict::Due(Why::Pause);
    }
    Verdict::Wait(WhyNot::Working)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Due, Wait};

    const WRITTEN: Option<Written> = Some(Written {
        tokens: Tokens(6_000),
        tool_calls: 7,
    });

    #[track_caller]
    fn check(tokens: u64, tool_calls: u64, at_pause: bool, written: Option<Written>, v: Verdict) {
        let progress = Progress {
            kind: SessionKind::Main,
            tokens: Tokens(tokens),
            tool_calls,
            at_pause,
            compacting: false,
            written,
        };
        assert_eq!(due(&progress, &Thresholds::default()), v);
        let compacting = Progress {
            compacting: true,
            ..progress
        };
        assert_eq!(
            due(&compacting, &Thresholds::default()),
            Wait(WhyNot::Compacting)
        );
        let subagent = Progress {
            kind: SessionKind::Subagent,
            ..compacting
        };
        assert_eq!(
            due(&subagent, &Thresholds::default()),
            Wait(WhyNot::Subagent)
        );
    }

    #[test]
    fn the_first_comes_with_five_thousand_tokens_pause_or_not() {
        for at_pause in [false, true] {
            for calls in [0, 9, 10, 11] {
                check(0, calls, at_pause, None, Wait(WhyNot::TooShort));
                check(4_999, calls, at_pause, None, Wait(WhyNot::TooShort));
                check(5_000, calls, at_pause, None, Due(Why::First));
                check(5_001, calls, at_pause, None, Due(Why::First));
            }
        }
    }

    #[test]
    fn the_next_needs_tokens_and_then_calls_or_a_pause() {
        for (tokens, calls, at_pause, verdict) in [
            (10_999, 16, true, Wait(WhyNot::TooLittleNew)),
            (10_999, 17, true, Wait(WhyNot::TooLittleNew)),
            (10_999, 99, false, Wait(WhyNot::TooLittleNew)),
            (11_000, 16, false, Wait(WhyNot::Working)),
            (11_000, 16, true, Due(Why::Pause)),
            (11_000, 7, true, Due(Why::Pause)),
            (11_000, 17, false, Due(Why::Calls)),
            (11_000, 17, true, Due(Why::Calls)),
            (11_001, 18, false, Due(Why::Calls)),
            (99_000, 16, false, Wait(WhyNot::Working)),
        ] {
            check(tokens, calls, at_pause, WRITTEN, verdict);
        }
    }

    #[test]
    fn a_session_that_became_shorter_is_not_due() {
        check(1_000, 2, true, WRITTEN, Wait(WhyNot::TooLittleNew));
    }

    #[test]
    fn a_session_that_a_program_runs_is_a_session() {
        let progress = Progress {
            kind: SessionKind::Automated,
            tokens: Tokens(5_000),
            tool_calls: 0,
            at_pause: true,
            compacting: false,
            written: None,
        };
        assert_eq!(due(&progress, &Thresholds::default()), Due(Why::First));
    }
}
