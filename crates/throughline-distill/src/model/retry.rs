//! Decides whether and when a failed request is retried.

use std::time::Duration;

use super::ModelError;

/// The maximum number of attempts.
pub(super) const ATTEMPTS_MAX: u32 = 4;
const FIRST_DELAY: Duration = Duration::from_millis(500);
/// The maximum delay, even if the provider asks for more.
pub(super) const DELAY_MAX: Duration = Duration::from_secs(30);

/// Returns the delay before the next attempt, or `None` to give up. `attempt` counts from 1.
/// `jitter` is between 0 and 1 and spreads the retries of clients that failed at the same time.
pub(super) fn retry_delay(
    attempt: u32,
    error: &ModelError,
    jitter: f64,
    left: Duration,
) -> Option<Duration> {
    if attempt >= ATTEMPTS_MAX || !error.failure.is_transient() {
        return None;
    }
    let doubled = FIRST_DELAY
        .saturating_mul(1 << (attempt - 1).min(16))
        .min(DELAY_MAX);
    let wait = match error.retry_after {
        // A retry before the requested time would only add load.
        Some(requested) => requested + FIRST_DELAY.mul_f64(jitter.clamp(0.0, 1.0)),
        None => doubled.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0),
    };
    (wait <= DELAY_MAX + FIRST_DELAY && wait < left).then_some(wait)
}

#[cfg(test)]
mod tests {
    use super::super::ModelFailure;
    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    fn status(status: u16) -> ModelError {
        let message = String::new();
        ModelFailure::Status { status, message }.into()
    }

    #[track_caller]
    fn check(attempt: u32, error: &ModelError, jitter: f64, millis: Option<u64>) {
        assert_eq!(
            retry_delay(attempt, error, jitter, LONG),
            millis.map(Duration::from_millis)
        );
    }

    #[test]
    fn it_doubles_with_jitter_and_ends() {
        check(1, &status(529), 0.0, Some(250));
        check(1, &status(529), 1.0, Some(500));
        check(2, &status(500), 1.0, Some(1_000));
        check(3, &ModelFailure::ConnectionDropped.into(), 1.0, Some(2_000));
        check(4, &status(529), 1.0, None);
    }

    #[test]
    fn what_will_not_pass_is_not_asked_again() {
        for code in [400, 401, 403, 404, 413, 422] {
            check(1, &status(code), 0.0, None);
        }
        check(1, &ModelFailure::TooLarge(1).into(), 0.0, None);
    }

    #[test]
    fn the_provider_says_when() {
        let told = |seconds| ModelError {
            retry_after: Some(Duration::from_secs(seconds)),
            ..status(429)
        };
        check(1, &told(3), 0.0, Some(3_000));
        check(1, &told(3), 1.0, Some(3_500));
        check(1, &told(3_600), 0.0, None);
        assert_eq!(retry_delay(1, &told(3), 0.0, Duration::from_secs(2)), None);
    }
}
