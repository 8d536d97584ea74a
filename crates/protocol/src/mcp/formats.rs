//! The text formats that forms name. Each check is as strict as its definition is plain, and lets
//! pass what only a full parser could refuse.

/// A mail address: something, one `@`, something, and no blanks.
pub(crate) fn is_email(text: &str) -> bool {
    let blank = |character: char| character.is_whitespace() || character.is_control();
    match text.rsplit_once('@') {
        Some((local, domain)) => {
            !local.is_empty()
                && !domain.is_empty()
                && !domain.contains('@')
                && !text.contains(blank)
        }
        None => false,
    }
}

/// A URI: a scheme, a colon, and neither blanks nor control characters (RFC 3986).
pub(crate) fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let in_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(in_scheme)
        && !rest.is_empty()
        && !rest.contains(|character: char| character.is_whitespace() || character.is_control())
}

/// A full date of RFC 3339, one that the calendar has.
pub(crate) fn is_date(text: &str) -> bool {
    let [year, month, day] = *text.split('-').collect::<Vec<_>>() else {
        return false;
    };
    let (Some(year), Some(month), Some(day)) = (digits(year, 4), digits(month, 2), digits(day, 2))
    else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last_day = match month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => 31,
    };
    (1..=12).contains(&month) && (1..=last_day).contains(&day)
}

/// A date and a time of RFC 3339, with its offset.
pub(crate) fn is_date_time(text: &str) -> bool {
    let Some((date, time)) = text.split_once(['T', 't', ' ']) else {
        return false;
    };
    let Some(at) = time.find(['Z', 'z', '+', '-']) else {
        return false;
    };
    let (clock, offset) = time.split_at(at);
    let (clock, fraction) = match clock.split_once('.') {
        Some((clock, fraction)) => (clock, fraction),
        None => (clock, "0"),
    };
    let is_clock = match *clock.split(':').collect::<Vec<_>>() {
        // A leap second is the sixtieth.
        [hour, minute, second] => {
            is_clock(hour, minute) && digits(second, 2).is_some_and(|second| second <= 60)
        }
        _ => false,
    };
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|byte| byte.is_ascii_digit());
    is_date(date) && is_clock && is_fraction && is_offset(offset)
}

fn is_offset(offset: &str) -> bool {
    match offset.strip_prefix(['+', '-']) {
        Some(offset) => offset
            .split_once(':')
            .is_some_and(|(hour, minute)| is_clock(hour, minute)),
        None => offset.eq_ignore_ascii_case("z"),
    }
}

fn is_clock(hour: &str, minute: &str) -> bool {
    digits(hour, 2).is_some_and(|hour| hour < 24)
        && digits(minute, 2).is_some_and(|minute| minute < 60)
}

/// The number that exactly `count` digits write.
fn digits(text: &str, count: usize) -> Option<u32> {
    let all_digits = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(is_format: fn(&str) -> bool, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(is_format(text), "{text:?} was refused");
        }
        for text in bad {
            assert!(!is_format(text), "{text:?} was accepted");
        }
    }

    #[test]
    fn x_elic_07_formats() {
        check(
            is_email,
            &["a@b", "first.last+tag@example.org", "ü@exämple.org"],
            &["", "a", "@b", "a@", "a b@c", "a@b@", "a@b\n"],
        );
        check(
            is_uri,
            &["https://example.org/a?b#c", "urn:isbn:0451450523", "a:b"],
            &[
                "",
                "example.org",
                "1a:b",
                ":b",
                "a:",
                "https://a b",
                "a b:c",
            ],
        );
        check(
            is_date,
            &["2026-07-28", "2024-02-29", "2000-02-29"],
            &[
                "2026-7-28",
                "2025-02-29",
                "1900-02-29",
                "2026-13-01",
                "2026-04-31",
                "2026-00-10",
                "2026-01-00",
                "2026-01-01-01",
                "+026-01-01",
                "",
            ],
        );
        check(
            is_date_time,
            &[
                "2026-07-28T09:30:00Z",
                "2026-07-28t09:30:00.123456789z",
                "2026-07-28T23:59:60+05:30",
                "2026-07-28 09:30:00-08:00",
            ],
            &[
                "2026-07-28",
                "2026-07-28T09:30Z",
                "2026-07-28T24:00:00Z",
                "2026-07-28T09:30:00",
                "2026-07-28T09:30:00.Z",
                "2026-07-28T09:30:00+0530",
                "2026-02-30T09:30:00Z",
            ],
        );
    }
}
