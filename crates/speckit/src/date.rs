//! The day of today, in UTC: documents and sessions of questions carry it.

use std::time::{SystemTime, UNIX_EPOCH};

/// Today as `2026-11-18`.
pub fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    civil(since.unwrap_or_default().as_secs() / 86_400)
}

/// The date of a day since 1970. A year begins in March here, so that the leap day is its last.
fn civil(days: u64) -> String {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        for (day, date) in [
            (0, "1970-01-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (19_723, "2024-01-01"),
            (20_775, "2026-11-18"),
        ] {
            assert_eq!(civil(day), date);
        }
    }
}
