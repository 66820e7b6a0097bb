//! Parses timestamps as agents write them.

use jiff::Timestamp;
use serde::de::{Deserialize, Deserializer};

use crate::json::Scalar;

/// From 2000 to 2100; a time outside this range is an error and not a date.
const PLAUSIBLE_SECONDS: std::ops::Range<i64> = 946_684_800..4_102_444_800;

/// Parses an ISO 8601 time with a zone; `None` if it is implausible.
pub fn parse_iso(text: &str) -> Option<Timestamp> {
    reject_implausible(text.parse().ok()?)
}

/// Reads seconds or milliseconds since 1970; the magnitude tells which.
pub fn from_number(number: f64) -> Option<Timestamp> {
    let millis = if number.abs() < 1e11 {
        number * 1e3
    } else {
        number
    };
    if !millis.is_finite() || millis.abs() > 1e16 {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the range was checked above"
    )]
    let millis = millis as i64;
    reject_implausible(Timestamp::from_millisecond(millis).ok()?)
}

/// Returns the modification time of a file from nanoseconds since 1970.
pub fn from_mtime(mtime_ns: i64) -> Option<Timestamp> {
    reject_implausible(Timestamp::from_nanosecond(i128::from(mtime_ns)).ok()?)
}

/// A time field in either notation; `None` if it is neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time(pub Option<Timestamp>);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match Scalar::deserialize(deserializer)? {
            Scalar::Text(text) => parse_iso(&text),
            Scalar::Number(number) => from_number(number),
            Scalar::True | Scalar::Other => None,
        }))
    }
}

fn reject_implausible(at: Timestamp) -> Option<Timestamp> {
    PLAUSIBLE_SECONDS.contains(&at.as_second()).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, expected: Option<&str>) {
        let time: Time = serde_json::from_str(json).unwrap();
        assert_eq!(
            time.0.map(|at| at.to_string()).as_deref(),
            expected,
            "{json}"
        );
    }

    #[test]
    fn both_notations() {
        check(
            r#""2026-01-05T09:00:00.000Z""#,
            Some("2026-01-05T09:00:00Z"),
        );
        check("1767225600", Some("2026-01-01T00:00:00Z"));
        check("1767225600123", Some("2026-01-01T00:00:00.123Z"));
    }

    #[test]
    fn what_cannot_be_is_no_time() {
        for json in [
            r#""not-a-date""#, r#""2026-01-01T25:61:61Z""#, r#""9999-12-31T23:59:59Z""#,
            r#""1970-01-01T00:00:00Z""#, "null", "{}", "1e300",
        ] {
            check(json, None);
        }
    }
}
