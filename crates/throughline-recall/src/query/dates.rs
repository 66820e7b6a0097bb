//! The days that a query names: "7 May 2023", "2026-01-05", "in May", "yesterday", "last week".

use std::ops::RangeInclusive;

use jiff::Timestamp;
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;

/// Days since 1970, counted as in [`store::RowAttributes`].
type DayRange = RangeInclusive<u16>;

const MONTHS: [&str; 12] = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
];

/// Scores of a day against a date of the query. They only say how sure a match is; how much it
/// counts is the fitted weight of the feature. People misremember dates by a few days.
const NAMED_SCORE: f64 = 1.0;
const DAYS_APART_SCORE: f64 = 0.5;
const WEEK_APART_SCORE: f64 = 0.25;
/// The query names a month without a year: it may mean another year.
const SAME_MONTH_SCORE: f64 = 0.5;
/// The month matches and the day does not.
const OTHER_DAY_SCORE: f64 = 0.2;

/// The days and months that a query names.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct QueryDates {
    days: Vec<DayRange>,
    /// Months without a year, 1 to 12, with the day of the month if the query names one.
    months: Vec<(i8, Option<i8>)>,
}

impl QueryDates {
    /// Reads the days that folded words name; relative ones count from `now`.
    pub(crate) fn parse(words: &[String], now: Timestamp) -> Self {
        let mut dates = Self::default();
        let today = now.to_zoned(TimeZone::UTC).date();
        for (at, word) in words.iter().enumerate() {
            let number = |offset: isize| -> Option<i16> {
                let word = words.get(at.checked_add_signed(offset)?)?;
                let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
                digits.parse().ok()
            };
            if let Some(month) = month(word) {
                let day = |n: i16| i8::try_from(n).ok().filter(|n| (1..=31).contains(n));
                let year = |n: i16| (1970..=2100).contains(&n).then_some(n);
                let before = number(-1).and_then(day);
                let after = number(1).and_then(day);
                let named = [1, 2].into_iter().find_map(|at| number(at).and_then(year));
                dates.add(named, month, before.or(after), word == "may");
            } else if let (Some(year), Some(month), Some(day)) = (number(0), number(1), number(2))
                && word.len() == 4
                && let (Ok(month), Ok(day)) = (i8::try_from(month), i8::try_from(day))
                && let Ok(date) = Date::new(year, month, day)
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
            // "may" without a day or a year is more often the verb.
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

    /// Returns how well a day matches: 1 if the query names it, less if it is near to a named one,
    /// 0 otherwise.
    pub(crate) fn match_day(&self, day: u16) -> f64 {
        if day == 0 || (self.days.is_empty() && self.months.is_empty()) {
            return 0.0;
        }
        let by_day = self.days.iter().map(|days| day_score(days, day));
        let civil = date(1970, 1, 1)
            .checked_add(jiff::Span::new().days(i64::from(day)))
            .ok();
        let by_month = civil.into_iter().flat_map(|civil| {
            let months = self.months.iter();
            months.map(move |(month, day)| month_score(*month, *day, civil))
        });
        by_day.chain(by_month).fold(0.0, f64::max)
    }
}

fn day_score(days: &DayRange, day: u16) -> f64 {
    let apart = if days.contains(&day) {
        0
    } else {
        days.start().abs_diff(day).min(days.end().abs_diff(day))
    };
    match apart {
        0 => NAMED_SCORE,
        1..=3 => DAYS_APART_SCORE,
        4..=10 => WEEK_APART_SCORE,
        _ => 0.0,
    }
}

fn month_score(month: i8, day: Option<i8>, civil: Date) -> f64 {
    if month != civil.month() {
        return 0.0;
    }
    match day {
        Some(day) if day == civil.day() => NAMED_SCORE,
        Some(day) if (day - civil.day()).abs() <= 3 => DAYS_APART_SCORE,
        Some(_) => OTHER_DAY_SCORE,
        None => SAME_MONTH_SCORE,
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
