//! Parsing and formatting of times.

use jiff::civil;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Parses a time: `today`, `yesterday`, `2026-01-05`, `2026-01-05T09:00`, `2026-01-05T09:00:00Z`,
/// or an age such as `90m`, `12h`, `3d`, `2w`.
pub(crate) fn parse_time(text: &str, now: Timestamp, zone: &TimeZone) -> Result<Timestamp, String> {
    let text = text.trim();
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at);
    }
    let days_back = match text {
        "today" => Some(0),
        "yesterday" => Some(1),
        _ => None,
    };
    if let Some(days) = days_back {
        let date = now.to_zoned(zone.clone()).date();
        return date
            .checked_sub(jiff::Span::new().days(days))
            .and_then(|date| {
                zone.to_ambiguous_timestamp(date.at(0, 0, 0, 0))
                    .compatible()
            })
            .map_err(|error| error.to_string());
    }
    let civil = text
        .parse::<civil::DateTime>()
        .or_else(|_| text.parse::<civil::Date>().map(|date| date.at(0, 0, 0, 0)));
    if let Ok(civil) = civil {
        return zone
            .to_ambiguous_timestamp(civil)
            .compatible()
            .map_err(|error| error.to_string());
    }
    parse_age(text).map(|age| now - age).ok_or_else(|| {
        format!(
            "invalid time {text:?}; use 2026-01-05, 2026-01-05T09:00, yesterday, or an age such as \
             90m, 12h, 3d, 2w"
        )
    })
}

fn parse_age(text: &str) -> Option<SignedDuration> {
    let text = text.strip_suffix("ago").map_or(text, str::trim_end);
    let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
    let number: i64 = text[..unit_at].parse().ok()?;
    let hours = match text[unit_at..].trim() {
        "m" | "min" | "minute" | "minutes" => {
            return number.checked_mul(60).map(SignedDuration::from_secs);
        }
        "h" | "hour" | "hours" => 1,
        "d" | "day" | "days" => 24,
        "w" | "week" | "weeks" => 24 * 7,
        "mo" | "month" | "months" => 24 * 30,
        "y" | "year" | "years" => 24 * 365,
        _ => return None,
    };
    let hours = number
        .checked_mul(hours)
        .filter(|hours| *hours < 24 * 365 * 1000)?;
    Some(SignedDuration::from_hours(hours))
}

/// Formats a time as `2026-01-05 09:00` in the given zone.
pub(crate) fn format_time(at: Option<Timestamp>, zone: &TimeZone) -> String {
    at.map_or_else(
        || "unknown".to_owned(),
        |at| {
            at.to_zoned(zone.clone())
                .strftime("%Y-%m-%d %H:%M")
                .to_string()
        },
    )
}

/// Formats the time from one moment to another. The date stands once if it is the same.
pub(crate) fn format_range(
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    zone: &TimeZone,
) -> String {
    let (from, to) = (format_time(from, zone), format_time(to, zone));
    match (from.split_once(' '), to.split_once(' ')) {
        _ if from == to => from,
        (Some((day, _)), Some((last_day, clock))) if day == last_day => {
            format!("{from} to {clock}")
        }
        _ => format!("{from} to {to}"),
    }
}

/// Formats a time as people say it: `5 min ago`, `3 h ago`, `yesterday`, `4 d ago`, and the date
/// for more than a week.
pub(crate) fn format_age(at: Option<Timestamp>, now: Timestamp, zone: &TimeZone) -> String {
    let Some(at) = at else {
        return "unknown".to_owned();
    };
    let day = |at: Timestamp| at.to_zoned(zone.clone()).date();
    let days = day(at).until(day(now)).map_or(0, |span| span.get_days());
    let minutes = now.duration_since(at).as_mins();
    match (days, minutes) {
        (..0, _) | (_, ..0) | (8.., _) => day(at).to_string(),
        (_, 0) => "just now".to_owned(),
        (_, 1..60) => format!("{minutes} min ago"),
        (0, _) => format!("{} h ago", minutes / 60),
        (1, _) => "yesterday".to_owned(),
        (2.., _) => format!("{days} d ago"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let now: Timestamp = "2026-01-05T09:00:00Z".parse().unwrap();
        let parsed = parse_time(text, now, &TimeZone::UTC).ok();
        assert_eq!(
            parsed.map(|at| at.to_string()).as_deref(),
            expected,
            "{text}"
        );
    }

    #[test]
    fn ages_are_formatted() {
        let now: Timestamp = "2026-01-09T09:00:00Z".parse().unwrap();
        for (at, expected) in [
            ("2026-01-09T08:59:40Z", "just now"),
            ("2026-01-09T08:01:00Z", "59 min ago"),
            ("2026-01-09T00:10:00Z", "8 h ago"),
            ("2026-01-08T23:50:00Z", "yesterday"),
            ("2026-01-04T23:50:00Z", "5 d ago"),
            ("2025-12-24T23:50:00Z", "2025-12-24"),
            ("2026-01-09T09:10:00Z", "2026-01-09"),
        ] {
            let at = at.parse().ok();
            assert_eq!(format_age(at, now, &TimeZone::UTC), expected);
        }
        assert_eq!(format_age(None, now, &TimeZone::UTC), "unknown");
    }

    #[test]
    fn dates_and_ages_are_parsed() {
        check("2026-01-04", Some("2026-01-04T00:00:00Z"));
        check("2026-01-04T10:30", Some("2026-01-04T10:30:00Z"));
        check("2026-01-04T10:30:00+01:00", Some("2026-01-04T09:30:00Z"));
        check("90m", Some("2026-01-05T07:30:00Z"));
        check("2w ago", Some("2025-12-22T09:00:00Z"));
        check("1 day ago", Some("2026-01-04T09:00:00Z"));
        check("2 months", Some("2025-11-06T09:00:00Z"));
        check("today", Some("2026-01-05T00:00:00Z"));
        check("yesterday", Some("2026-01-04T00:00:00Z"));
        check("yesterday-ish", None);
        check("99999999999999999999d", None);
        check("", None);
    }
}
