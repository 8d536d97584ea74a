//! Days and moments as people write them.
//!
//! Owns the little of the calendar that notes need, on days since 1970; knows no time zones but UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const SECONDS_PER_DAY: i64 = 86_400;

/// The day that a text begins with: `2024`, `2024-12` or `2024-12-01`, whatever comes behind it.
pub(crate) fn day(text: &str) -> Option<i64> {
    let date = text.trim().split(['T', ' ']).next()?;
    let mut parts = date.split('-');
    let mut number = |digits: usize| match parts.next() {
        None => Some(1),
        Some(part) if part.len() == digits => part.parse::<i64>().ok(),
        Some(_) => None,
    };
    let (year, month, day) = (number(4)?, number(2)?, number(2)?);
    let is_day = (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day);
    (is_day && parts.next().is_none()).then(|| days_from_civil(year, month, day))
}

/// The day of a moment.
pub(crate) fn day_of(nanoseconds: i64) -> i64 {
    nanoseconds.div_euclid(1_000_000_000 * SECONDS_PER_DAY)
}

/// A moment as ISO 8601 in UTC, to the second.
pub(crate) fn moment(nanoseconds: i64) -> String {
    let seconds = nanoseconds.div_euclid(1_000_000_000);
    let (year, month, day) = civil_from_days(seconds.div_euclid(SECONDS_PER_DAY));
    let rest = seconds.rem_euclid(SECONDS_PER_DAY);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Nanoseconds since 1970, now.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    nanoseconds(since.unwrap_or_default())
}

pub(crate) fn nanoseconds(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970. A year begins in March here, so that the leap day is its last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read() {
        for (text, expected) in [
            ("1970-01-01", Some(0)),
            ("1970", Some(0)),
            ("1970-02", Some(31)),
            ("2024-12-01", Some(20_058)),
            ("2024-12-01T10:00:00Z", Some(20_058)),
            ("2024-02-29", Some(19_782)),
            ("2023-02-29", None),
            ("2024-13-01", None),
            ("2024-1-1", None),
            ("yesterday", None),
            ("2024-12-01-01", None),
            ("", None),
        ] {
            assert_eq!(day(text), expected, "{text}");
        }
    }

    #[test]
    fn moments_are_written_and_every_day_comes_back() {
        assert_eq!(moment(0), "1970-01-01T00:00:00Z");
        assert_eq!(moment(1_733_047_445_000_000_000), "2024-12-01T10:04:05Z");
        assert_eq!(moment(-1), "1969-12-31T23:59:59Z");
        for days in (-200_000..200_000).step_by(17) {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
        }
    }
}
