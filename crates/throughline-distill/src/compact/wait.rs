//! Waits for a running summary update, so that a compaction uses the latest summary.

use jiff::{SignedDuration, Timestamp};

/// The maximum time that a compaction waits.
pub const WAIT_MAX: SignedDuration = SignedDuration::from_secs(15);
/// An update that has been running for this long is considered dead.
pub const STALE_AFTER: SignedDuration = SignedDuration::from_secs(60);
/// The time between two checks.
pub const POLL_INTERVAL: SignedDuration = SignedDuration::from_millis(200);

/// Whether a process is writing the summary of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtractionStatus {
    Idle,
    Running { since: Timestamp },
}

/// Whether to wait for a running update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitDecision {
    /// Compact with the current summary.
    Proceed,
    /// Check again after this time.
    Wait(SignedDuration),
}

/// Decides whether a compaction that was requested at `requested` waits.
pub fn decide_wait(
    extraction: ExtractionStatus,
    requested: Timestamp,
    now: Timestamp,
) -> WaitDecision {
    let ExtractionStatus::Running { since } = extraction else {
        return WaitDecision::Proceed;
    };
    let left = WAIT_MAX - now.duration_since(requested);
    if left <= SignedDuration::ZERO || now.duration_since(since) >= STALE_AFTER {
        return WaitDecision::Proceed;
    }
    WaitDecision::Wait(left.min(POLL_INTERVAL))
}

/// Waits until the update has ended or the maximum time has passed. The caller provides clock and
/// sleep.
pub fn wait_for_extraction(
    mut check: impl FnMut() -> ExtractionStatus,
    mut now: impl FnMut() -> Timestamp,
    mut sleep: impl FnMut(SignedDuration),
) {
    let requested = now();
    while let WaitDecision::Wait(time) = decide_wait(check(), requested, now()) {
        sleep(time);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000 + seconds).unwrap()
    }

    #[track_caller]
    fn check(since: i64, now: i64, expected: WaitDecision) {
        let running = ExtractionStatus::Running { since: at(since) };
        assert_eq!(decide_wait(running, at(0), at(now)), expected);
    }

    #[test]
    fn fifteen_seconds_at_most() {
        assert_eq!(
            decide_wait(ExtractionStatus::Idle, at(0), at(0)),
            WaitDecision::Proceed
        );
        check(0, 0, WaitDecision::Wait(POLL_INTERVAL));
        check(0, 14, WaitDecision::Wait(POLL_INTERVAL));
        check(0, 15, WaitDecision::Proceed);
        check(0, 16, WaitDecision::Proceed);
    }

    #[test]
    fn a_dead_extraction_is_not_waited_for() {
        check(-59, 0, WaitDecision::Wait(POLL_INTERVAL));
        check(-60, 0, WaitDecision::Proceed);
    }

    #[test]
    fn waiting_ends_with_the_extraction_or_with_patience() {
        let waited = |ends: SignedDuration| {
            let clock = Cell::new(at(0));
            let look = || match clock.get().duration_since(at(0)) < ends {
                true => ExtractionStatus::Running { since: at(-1) },
                false => ExtractionStatus::Idle,
            };
            wait_for_extraction(look, || clock.get(), |time| clock.set(clock.get() + time));
            clock.get().duration_since(at(0))
        };
        assert_eq!(waited(SignedDuration::ZERO), SignedDuration::ZERO);
        assert_eq!(
            waited(SignedDuration::from_secs(2)),
            SignedDuration::from_secs(2)
        );
        assert_eq!(waited(SignedDuration::from_secs(90)), WAIT_MAX);
    }
}
