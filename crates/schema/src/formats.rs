//! The text formats that are checked. Each check is as strict as its definition is plain, and lets
//! pass what only a full parser could refuse.

/// Checks `text` against a format; the error says what is expected. Formats without a check here
/// take any text.
pub(crate) fn check(format: &str, text: &str) -> Result<(), &'static str> {
    let (fits, expected) = match format {
        "email" => (is_email(text), "an e-mail address"),
        "uri" => (is_uri(text), "a URI"),
        "uuid" => (
            is_uuid(text),
            "a UUID like 2eb8aa08-aa98-11ea-b4aa-73b441d16380",
        ),
        "date" => (is_date(text), "a date like 2026-07-28"),
        "time" => (is_time(text), "a time like 09:30:00Z"),
        "date-time" => (
            is_date_time(text),
            "a date and time like 2026-07-28T09:30:00Z",
        ),
        _ => return Ok(()),
    };
    if fits { Ok(()) } else { Err(expected) }
}

/// A mail address: something, one `@`, something, and no blanks.
fn is_email(text: &str) -> bool {
    let blank = |character: char| character.is_whitespace() || character.is_control();
    text.rsplit_once('@').is_some_and(|(local, domain)| {
        !local.is_empty() && !domain.is_empty() && !text.contains(blank)
    })
}

/// A URI: a scheme, a colon, and neither blanks nor control characters (RFC 3986).
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let in_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(in_scheme)
        && !rest.is_empty()
        && !rest.contains(|character: char| character.is_whitespace() || character.is_control())
}

fn is_uuid(text: &str) -> bool {
    let lengths = text.split('-').map(str::len);
    lengths.eq([8, 4, 4, 4, 12])
        && text
            .bytes()
            .all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

/// A full date of RFC 3339, one that the calendar has.
fn is_date(text: &str) -> bool {
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
fn is_date_time(text: &str) -> bool {
    text.split_once(['T', 't', ' '])
        .is_some_and(|(date, time)| is_date(date) && is_time(time))
}

fn is_time(text: &str) -> bool {
    let Some(at) = text.find(['Z', 'z', '+', '-']) else {
        return false;
    };
    let (clock, offset) = text.split_at(at);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let is_clock = match *clock.split(':').collect::<Vec<_>>() {
        // A leap second is the sixtieth.
        [hour, minute, second] => {
            is_hour(hour, minute) && digits(second, 2).is_some_and(|second| second <= 60)
        }
        _ => false,
    };
    let is_offset = match offset.strip_prefix(['+', '-']) {
        Some(offset) => offset
            .split_once(':')
            .is_some_and(|(hour, minute)| is_hour(hour, minute)),
        None => offset.eq_ignore_ascii_case("z"),
    };
    is_clock
        && is_offset
        && !fraction.is_empty()
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_hour(hour: &str, minute: &str) -> bool {
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

    #[test]
    fn formats_take_and_refuse() {
        for (format, good, bad) in [
            (
                "email",
                &["a@b", "first.last+tag@example.org"][..],
                &["", "a", "@b", "a@", "a b@c", "a@b\n"][..],
            ),
            (
                "uri",
                &["https://example.org/a?b#c", "urn:isbn:0451450523"],
                &["", "example.org", "1a:b", "a:", "https://a b"],
            ),
            (
                "uuid",
                &["2EB8AA08-aa98-11ea-b4aa-73b441d16380"],
                &[
                    "",
                    "2eb8aa08aa9811eab4aa73b441d16380",
                    "2eb8aa08-aa98-11ea-b4aa-73b441d1638g",
                ],
            ),
            (
                "date",
                &["2026-07-28", "2024-02-29"],
                &["2026-7-28", "2025-02-29", "1900-02-29", "2026-13-01", ""],
            ),
            (
                "time",
                &["09:30:00Z", "23:59:60.5+05:30"],
                &["09:30Z", "24:00:00Z", "09:30:00", "09:30:00.Z"],
            ),
            (
                "date-time",
                &["2026-07-28T09:30:00Z", "2026-07-28 09:30:00-08:00"],
                &[
                    "2026-07-28",
                    "2026-02-30T09:30:00Z",
                    "2026-07-28T09:30:00+0530",
                ],
            ),
            ("hostname", &["anything goes"], &[]),
        ] {
            for text in good {
                assert!(check(format, text).is_ok(), "{format} {text:?}");
            }
            for text in bad {
                assert!(check(format, text).is_err(), "{format} {text:?}");
            }
        }
    }
}
