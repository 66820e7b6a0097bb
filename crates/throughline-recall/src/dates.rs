//! Days that a question names: "7 May 2023", "2026-01-05", "in May", "yesterday", "last week".

use std::ops::RangeInclusive;

use jiff::Timestamp;
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;

/// Days since 1970, as in [`store::Mark`].
pub type DayRange = RangeInclusive<u16>;

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// What a question says about time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryDates {
    pub days: Vec<DayRange>,
    /// Months named without a year, 1 to 12, with the day when there is one.
    pub months: Vec<(i8, Option<i8>)>,
}

impl QueryDates {
    /// Reads the days that folded words name, seen from `now`.
    pub fn parse(words: &[String], now: Timestamp) -> Self {
        let mut dates = Self::default();
        let today = now.to_zoned(TimeZone::UTC).date();
        for (at, word) in words.iter().enumerate() {
            let number = |offset: isize| -> Option<i16> {
                let word = words.get(at.checked_add_signed(offset)?)?;
                let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
                digits.parse().ok()
            };
            if let Some(month) = month(word) {
                let day = |n: i16| (1..=31).contains(&n).then_some(n as i8);
                let year = |n: i16| (1970..=2100).contains(&n).then_some(n);
                let before = number(-1).and_then(day);
                let after = number(1).and_then(day);
                let named = [1, 2].into_iter().find_map(|at| number(at).and_then(year));
                dates.add(named, month, before.or(after), word == "may");
            } else if let (Some(year), Some(month), Some(day)) = (number(0), number(1), number(2))
                && word.len() == 4
                && let Ok(date) = Date::new(year, month as i8, day as i8)
            {
                dates.push(date, date);
            } else {
                dates.add_relative(word, words.get(at + 1).map(String::as_str), today);
            }
        }
        dates
    }

    fn add(&mut self, year: Option<i16>, month: i8, day: Option<i8>, is_may: bool) {
        match (year, day) {
            (Some(year), Some(day)) => {
                if let Ok(date) = Date::new(year, month, day) {
                    self.push(date, date);
                }
            }
            (Some(year), None) => {
                if let Ok(first) = Date::new(year, month, 1) {
                    self.push(first, first.last_of_month());
                }
            }
            // "may" alone is more often a verb.
            (None, None) if is_may => {}
            (None, day) => self.months.push((month, day)),
        }
    }

    fn add_relative(&mut self, word: &str, next: Option<&str>, today: Date) {
        let back = |days: i64| {
            today
                .checked_sub(jiff::Span::new().days(days))
                .unwrap_or(today)
        };
        match (word, next) {
            ("today", _) => self.push(today, today),
            ("yesterday", _) => self.push(back(1), back(1)),
            ("last", Some("week")) => self.push(back(13), back(5)),
            ("this", Some("week")) => self.push(back(6), today),
            ("last", Some("month")) => self.push(back(60), back(20)),
            _ => {}
        }
    }

    fn push(&mut self, from: Date, to: Date) {
        if let (Some(from), Some(to)) = (day_number(from), day_number(to)) {
            self.days.push(from..=to);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.days.is_empty() && self.months.is_empty()
    }

    /// Says how well a day fits: 1 when it is named, less when it is near, 0 when nothing is.
    pub fn match_day(&self, day: u16) -> f64 {
        if day == 0 || self.is_empty() {
            return 0.0;
        }
        let apart = |days: &DayRange| {
            if days.contains(&day) {
                0
            } else {
                days.start().abs_diff(day).min(days.end().abs_diff(day))
            }
        };
        let near: f64 = self
            .days
            .iter()
            .map(apart)
            .min()
            .map_or(0.0, |apart| match apart {
                0 => 1.0,
                1..=3 => 0.5,
                4..=10 => 0.25,
                _ => 0.0,
            });
        let civil = date(1970, 1, 1)
            .checked_add(jiff::Span::new().days(i64::from(day)))
            .ok();
        let month = civil.map_or(0.0, |civil| {
            let fits = |(month, on): &(i8, Option<i8>)| {
                if *month != civil.month() {
                    0.0
                } else {
                    match on {
                        Some(on) if *on == civil.day() => 1.0,
                        Some(on) if (*on - civil.day()).abs() <= 3 => 0.5,
                        Some(_) => 0.2,
                        None => 0.5,
                    }
                }
            };
            self.months.iter().map(fits).fold(0.0_f64, f64::max)
        });
        near.max(month)
    }
}

fn month(word: &str) -> Option<i8> {
    let at = MONTHS
        .iter()
        .position(|month| *month == word || (word.len() == 3 && month.starts_with(word)))?;
    i8::try_from(at + 1).ok()
}

fn day_number(of: Date) -> Option<u16> {
    let days = date(1970, 1, 1).until(of).ok()?.get_days();
    u16::try_from(days).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(question: &str, day: &str, fits: bool) {
        let words: Vec<_> = question.split([' ', '-']).map(str::to_lowercase).collect();
        let now = "2026-01-05T09:00:00Z".parse().unwrap();
        let dates = QueryDates::parse(&words, now);
        let day = day_number(day.parse().unwrap()).unwrap();
        assert_eq!(dates.match_day(day) >= 0.5, fits, "{dates:?}");
    }

    #[test]
    fn days_are_read() {
        check("what happened on 7 May 2023", "2023-05-07", true);
        check("what happened on May 7th 2023", "2023-05-07", true);
        check("what happened on 7 May 2023", "2023-07-07", false);
        check("on 2025-12-24 we decided", "2025-12-24", true);
        check("what did we do yesterday", "2026-01-04", true);
        check("in August", "2024-08-20", true);
        check("may we go", "2024-05-20", false);
        check("last week", "2025-12-28", true);
        check("last week", "2026-01-04", false);
    }

    #[test]
    fn nonsense_names_no_day() {
        check("31 february 2023 9999-99-99", "2023-02-28", false);
    }
}
