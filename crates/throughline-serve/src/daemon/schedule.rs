//! Periodic work and its intervals.

use std::time::{Duration, Instant};

use super::wake::WakeReason;

/// The longest time that the loop sleeps.
const SLEEP_MAX: Duration = Duration::from_secs(60);

/// Each kind of periodic work, its interval, and its delay after the start of the daemon.
const PERIODIC_WORK: [(WakeReason, Duration, Duration); 4] = [
    (
        WakeReason::FollowUpsDue,
        Duration::from_secs(30),
        Duration::ZERO,
    ),
    (
        WakeReason::FactsDue,
        Duration::from_secs(300),
        Duration::from_secs(30),
    ),
    (
        WakeReason::RetentionDue,
        Duration::from_secs(900),
        Duration::from_secs(60),
    ),
    (
        WakeReason::MaintenanceDue,
        Duration::from_secs(6 * 3600),
        Duration::from_secs(120),
    ),
];

/// When each kind of periodic work is next due.
#[derive(Debug)]
pub(super) struct Schedule {
    next_due: [Instant; PERIODIC_WORK.len()],
}

impl Schedule {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self {
            next_due: PERIODIC_WORK.map(|(_, _, first)| now + first),
        }
    }

    /// Returns how long the loop may sleep, at most `at_most`.
    pub(super) fn time_until_next(&self, at_most: Option<Duration>) -> Duration {
        let now = Instant::now();
        let first = self.next_due.iter().min().copied().unwrap_or(now);
        let sleep = first.saturating_duration_since(now).min(SLEEP_MAX);
        at_most.map_or(sleep, |at_most| sleep.min(at_most))
    }

    /// Returns work that is due and schedules its next run. Runs that were missed during a suspend
    /// are made up for by one.
    pub(super) fn take_due(&mut self) -> Option<WakeReason> {
        self.take_due_at(Instant::now())
    }

    fn take_due_at(&mut self, now: Instant) -> Option<WakeReason> {
        let at = self.next_due.iter().position(|next| *next <= now)?;
        let (wake, every, _) = &PERIODIC_WORK[at];
        self.next_due[at] = now + *every;
        Some(wake.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_has_its_turn_and_what_was_slept_through_comes_once() {
        let mut schedule = Schedule::new();
        let start = schedule.next_due[0];
        let mut due = |seconds: u64| {
            let now = start + Duration::from_secs(seconds);
            std::iter::from_fn(|| schedule.take_due_at(now)).collect::<Vec<_>>()
        };
        assert_eq!(due(0), [WakeReason::FollowUpsDue]);
        assert_eq!(due(29), []);
        assert_eq!(due(31), [WakeReason::FollowUpsDue, WakeReason::FactsDue]);
        let all = PERIODIC_WORK.map(|(wake, ..)| wake);
        assert_eq!(due(100_000), all);
        assert_eq!(due(100_001), []);
    }
}
