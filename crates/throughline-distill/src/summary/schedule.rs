//! Decides when the running summary of a session is updated, from the session's progress alone.

use memory::{SessionKind, Tokens};

/// How much must happen in a session before its summary is updated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SummaryThresholds {
    /// Tokens in the conversation before the first summary.
    pub first_tokens: Tokens,
    /// New tokens before the next summary.
    pub new_tokens: Tokens,
    /// New tool calls before a summary, unless the conversation is at a pause.
    pub new_calls: u64,
}

impl Default for SummaryThresholds {
    fn default() -> Self {
        Self {
            first_tokens: Tokens(5_000),
            new_tokens: Tokens(5_000),
            new_calls: 10,
        }
    }
}

/// The progress of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SessionProgress {
    pub kind: SessionKind,
    pub tokens: Tokens,
    pub tool_calls: u64,
    /// The last assistant turn calls no tool.
    pub at_pause: bool,
    /// An assistant turn is complete: the last prompt was answered, and every call has its result.
    pub turn_is_complete: bool,
    /// A compaction of the session is running.
    pub compacting: bool,
    /// The progress at the last summary, if there is one.
    pub last_summary: Option<SummaryCheckpoint>,
}

/// The progress of a session at the time of its last summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SummaryCheckpoint {
    pub tokens: Tokens,
    pub tool_calls: u64,
}

/// Whether to update the summary, with the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpdateDecision {
    Update(UpdateReason),
    Wait(WaitReason),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UpdateReason {
    /// Enough calls were made since the last summary.
    EnoughCalls,
    /// The conversation is at a pause.
    AtPause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitReason {
    Subagent,
    Compacting,
    TooShort,
    TooFewNewTokens,
    /// The agent is in the middle of a turn.
    MidTurn,
}

/// Decides whether to update the summary of a session.
pub(super) fn decide_update(
    progress: &SessionProgress,
    thresholds: &SummaryThresholds,
) -> UpdateDecision {
    if progress.kind == SessionKind::Subagent {
        return UpdateDecision::Wait(WaitReason::Subagent);
    }
    if progress.compacting {
        return UpdateDecision::Wait(WaitReason::Compacting);
    }
    let written = match progress.last_summary {
        None if progress.tokens < thresholds.first_tokens => {
            return UpdateDecision::Wait(WaitReason::TooShort);
        }
        None => SummaryCheckpoint::default(),
        // A rewritten log may be shorter than before; it then counts as having nothing new.
        Some(written)
            if progress.tokens.0.saturating_sub(written.tokens.0) < thresholds.new_tokens.0 =>
        {
            return UpdateDecision::Wait(WaitReason::TooFewNewTokens);
        }
        Some(written) => written,
    };
    if !progress.turn_is_complete {
        return UpdateDecision::Wait(WaitReason::MidTurn);
    }
    if progress.tool_calls.saturating_sub(written.tool_calls) >= thresholds.new_calls {
        return UpdateDecision::Update(UpdateReason::EnoughCalls);
    }
    if progress.at_pause {
        return UpdateDecision::Update(UpdateReason::AtPause);
    }
    UpdateDecision::Wait(WaitReason::MidTurn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use UpdateDecision::{Update, Wait};

    const WRITTEN: Option<SummaryCheckpoint> = Some(SummaryCheckpoint {
        tokens: Tokens(6_000),
        tool_calls: 7,
    });

    fn progress(tokens: u64, tool_calls: u64, at_pause: bool) -> SessionProgress {
        SessionProgress {
            kind: SessionKind::Main,
            tokens: Tokens(tokens),
            tool_calls,
            at_pause,
            turn_is_complete: true,
            compacting: false,
            last_summary: None,
        }
    }

    #[track_caller]
    fn check(
        tokens: u64,
        tool_calls: u64,
        at_pause: bool,
        written: Option<SummaryCheckpoint>,
        expected: UpdateDecision,
    ) {
        let decide =
            |progress: &SessionProgress| decide_update(progress, &SummaryThresholds::default());
        let progress = SessionProgress {
            last_summary: written,
            ..progress(tokens, tool_calls, at_pause)
        };
        assert_eq!(decide(&progress), expected);
        let unanswered = SessionProgress {
            turn_is_complete: false,
            ..progress
        };
        assert!(matches!(decide(&unanswered), Wait(_)));
        let compacting = SessionProgress {
            compacting: true,
            ..progress
        };
        assert_eq!(decide(&compacting), Wait(WaitReason::Compacting));
        let subagent = SessionProgress {
            kind: SessionKind::Subagent,
            ..compacting
        };
        assert_eq!(decide(&subagent), Wait(WaitReason::Subagent));
    }

    #[test]
    fn the_first_needs_five_thousand_tokens_and_then_calls_or_a_pause() {
        for (tokens, calls, at_pause, verdict) in [
            (4_999, 10, true, Wait(WaitReason::TooShort)),
            (5_000, 9, false, Wait(WaitReason::MidTurn)),
            (5_000, 0, true, Update(UpdateReason::AtPause)),
            (5_000, 10, false, Update(UpdateReason::EnoughCalls)),
            (5_001, 11, true, Update(UpdateReason::EnoughCalls)),
        ] {
            check(tokens, calls, at_pause, None, verdict);
        }
    }

    #[test]
    fn the_next_needs_tokens_and_then_calls_or_a_pause() {
        for (tokens, calls, at_pause, verdict) in [
            (10_999, 16, true, Wait(WaitReason::TooFewNewTokens)),
            (10_999, 17, true, Wait(WaitReason::TooFewNewTokens)),
            (10_999, 99, false, Wait(WaitReason::TooFewNewTokens)),
            (11_000, 16, false, Wait(WaitReason::MidTurn)),
            (11_000, 16, true, Update(UpdateReason::AtPause)),
            (11_000, 7, true, Update(UpdateReason::AtPause)),
            (11_000, 17, false, Update(UpdateReason::EnoughCalls)),
            (11_000, 17, true, Update(UpdateReason::EnoughCalls)),
            (11_001, 18, false, Update(UpdateReason::EnoughCalls)),
            (99_000, 16, false, Wait(WaitReason::MidTurn)),
        ] {
            check(tokens, calls, at_pause, WRITTEN, verdict);
        }
    }

    #[test]
    fn a_session_that_became_shorter_is_not_due() {
        check(1_000, 2, true, WRITTEN, Wait(WaitReason::TooFewNewTokens));
    }

    #[test]
    fn a_session_that_a_program_runs_is_a_session() {
        let progress = SessionProgress {
            kind: SessionKind::Automated,
            ..progress(5_000, 0, true)
        };
        assert_eq!(
            decide_update(&progress, &SummaryThresholds::default()),
            Update(UpdateReason::AtPause)
        );
    }
}
