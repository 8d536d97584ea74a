//! Numbers as they were written, compared and divided exactly.
//!
//! A number is never made a float: `9007199254740993` and `0.1` stay what they are, and `1e999999`
//! costs no more than its digits.

use std::cmp::Ordering;
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// Exponents beyond this are cut to it, which no comparison of written numbers can notice: it
/// would take a text of as many digits.
const MOST_EXPONENT: i64 = 1 << 40;

/// A JSON number with the text it was written as.
#[derive(Clone, Debug)]
pub struct Number(Box<str>);

/// A number as `±0.DIGITS × 10^magnitude`, without zeros at either end; zero has no digits.
struct Normal {
    negative: bool,
    digits: Vec<u8>,
    magnitude: i64,
}

impl Number {
    /// Reads a number as JSON writes it; `None` if the text is anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let digits_from = |at: usize| {
            bytes[at..]
                .iter()
                .take_while(|b| b.is_ascii_digit())
                .count()
        };
        let mut at = usize::from(bytes.first() == Some(&b'-'));
        let whole = digits_from(at);
        if whole == 0 || (whole > 1 && bytes[at] == b'0') {
            return None;
        }
        at += whole;
        if bytes.get(at) == Some(&b'.') {
            let fraction = digits_from(at + 1);
            if fraction == 0 {
                return None;
            }
            at += 1 + fraction;
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            at += 1;
            at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
            let exponent = digits_from(at);
            if exponent == 0 {
                return None;
            }
            at += exponent;
        }
        (at == bytes.len()).then(|| Self(text.into()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it has no fraction, however it is written: in JSON Schema `3.0` is whole.
    pub fn is_whole(&self) -> bool {
        let normal = self.normal();
        normal.digits.len() as i64 <= normal.magnitude.max(0)
    }

    /// Whether it is less than zero.
    pub fn is_negative(&self) -> bool {
        self.normal().negative
    }

    /// Whether it is greater than zero.
    pub fn is_positive(&self) -> bool {
        let normal = self.normal();
        !normal.negative && !normal.digits.is_empty()
    }

    /// Whether it is a whole multiple of `divisor`. `None` where that would need more than 64 bits
    /// of the divisor's digits, or the divisor is not positive.
    pub fn is_multiple_of(&self, divisor: &Self) -> Option<bool> {
        let (value, divisor) = (self.normal(), divisor.normal());
        if divisor.negative || divisor.digits.is_empty() || divisor.digits.len() > 18 {
            return None;
        }
        if value.digits.is_empty() {
            return Some(true);
        }
        let modulus = divisor.digits.iter().fold(0_u128, |number, digit| {
            number * 10 + u128::from(digit - b'0')
        });
        let shift = value.exponent() - divisor.exponent();
        if shift < 0 {
            // The last digit of the value is not zero, so no multiple of ten divides it.
            return Some(false);
        }
        let rest = value.digits.iter().fold(0_u128, |rest, digit| {
            (rest * 10 + u128::from(digit - b'0')) % modulus
        });
        let product = rest * power_of_ten(shift as u64, modulus);
        Some(product.is_multiple_of(modulus))
    }

    /// The number as a count, if it is one that fits.
    pub fn as_count(&self) -> Option<usize> {
        let normal = self.normal();
        if normal.negative || !self.is_whole() || normal.magnitude > 18 {
            return None;
        }
        let zeros = std::iter::repeat_n(
            &b'0',
            (normal.magnitude as usize).saturating_sub(normal.digits.len()),
        );
        Some(
            normal
                .digits
                .iter()
                .chain(zeros)
                .fold(0, |count, digit| count * 10 + usize::from(digit - b'0')),
        )
    }

    /// A text that equal numbers share.
    pub(crate) fn canonical(&self) -> String {
        let normal = self.normal();
        let sign = if normal.negative { "-" } else { "" };
        let digits = String::from_utf8_lossy(&normal.digits);
        format!("{sign}{digits}e{}", normal.magnitude)
    }

    fn normal(&self) -> Normal {
        let (negative, text) = match self.0.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, &*self.0),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let exponent = match exponent.parse::<i64>() {
            Ok(exponent) => exponent.clamp(-MOST_EXPONENT, MOST_EXPONENT),
            // It is well-formed, so it was only too long.
            Err(_) if exponent.starts_with('-') => -MOST_EXPONENT,
            Err(_) => MOST_EXPONENT,
        };
        let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        let leading = digits.iter().take_while(|digit| **digit == b'0').count();
        digits.drain(..leading);
        let significant = digits
            .iter()
            .rposition(|digit| *digit != b'0')
            .map_or(0, |last| last + 1);
        digits.truncate(significant);
        let magnitude = match digits.is_empty() {
            true => 0,
            false => exponent + whole.len() as i64 - leading as i64,
        };
        Normal {
            negative: negative && !digits.is_empty(),
            digits,
            magnitude,
        }
    }
}

impl Normal {
    /// The power of ten of the last digit.
    fn exponent(&self) -> i64 {
        self.magnitude - self.digits.len() as i64
    }
}

/// `10^exponent` modulo `modulus`, which has at most 18 digits.
fn power_of_ten(mut exponent: u64, modulus: u128) -> u128 {
    let (mut result, mut square) = (1 % modulus, 10 % modulus);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * square % modulus;
        }
        square = square * square % modulus;
        exponent >>= 1;
    }
    result
}

impl PartialEq for Number {
    /// Equal as numbers: `1` is `1.0`.
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        let (one, two) = (self.normal(), other.normal());
        let sign = |normal: &Normal| match (normal.digits.is_empty(), normal.negative) {
            (true, _) => 0,
            (_, true) => -1,
            (_, false) => 1,
        };
        sign(&one).cmp(&sign(&two)).then_with(|| {
            let size = one
                .magnitude
                .cmp(&two.magnitude)
                .then_with(|| one.digits.cmp(&two.digits));
            if one.negative { size.reverse() } else { size }
        })
    }
}

impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<usize> for Number {
    fn from(number: usize) -> Self {
        Self(number.to_string().into())
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // A number that was parsed is valid JSON.
        let raw: Result<Box<RawValue>, _> = RawValue::from_string(self.0.to_string());
        raw.map_err(serde::ser::Error::custom)?
            .serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap_or_else(|| panic!("{text} is a number"))
    }

    #[test]
    fn only_what_json_calls_a_number_is_one() {
        for text in [
            "0",
            "-0",
            "12",
            "1.50",
            "1e5",
            "1E+5",
            "-2.5e-3",
            "123456789012345678901234567890",
        ] {
            assert_eq!(number(text).as_str(), text);
        }
        for text in [
            "", "-", "1.", ".5", "01", "+1", "1e", "1e+", "0x1", "1 ", "NaN", "1.e5", "१",
        ] {
            assert!(Number::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn order_is_exact_at_any_size() {
        let ascending = [
            "-1e999999999999999999999",
            "-1e400",
            "-9007199254740993",
            "-9007199254740992",
            "-0.2",
            "-0.1",
            "-1e-400",
            "0",
            "1e-400",
            "0.1",
            "0.10000000000000000001",
            "1",
            "9007199254740992",
            "9007199254740993",
            "1e400",
            "1e401",
        ];
        for (at, one) in ascending.iter().enumerate() {
            for (other_at, other) in ascending.iter().enumerate() {
                assert_eq!(
                    number(one).cmp(&number(other)),
                    at.cmp(&other_at),
                    "{one} {other}"
                );
            }
        }
        for (one, other) in [
            ("1", "1.0"),
            ("100", "1e2"),
            ("0.5", "5E-1"),
            ("0", "-0.0e7"),
            ("120", "0.12e3"),
        ] {
            assert_eq!(number(one), number(other));
        }
    }

    #[test]
    fn whole_numbers_and_multiples_are_exact() {
        for (text, whole) in [
            ("3", true),
            ("3.0", true),
            ("3.5", false),
            ("1e400", true),
            ("1e-1", false),
            ("0.0", true),
            ("25e-1", false),
            ("250e-1", true),
        ] {
            assert_eq!(number(text).is_whole(), whole, "{text}");
        }
        for (value, divisor, verdict) in [
            ("7", "2", Some(false)),
            ("8", "2", Some(true)),
            ("0", "3", Some(true)),
            ("0.3", "0.1", Some(true)),
            ("0.35", "0.1", Some(false)),
            ("1e308", "0.123456789", Some(false)),
            ("1e400", "0.5", Some(true)),
            ("9007199254740993", "9007199254740993", Some(true)),
            ("9007199254740994", "9007199254740993", Some(false)),
            ("30", "20", Some(false)),
            ("-9", "3", Some(true)),
            ("5", "0", None),
            ("5", "1234567890123456789", None),
        ] {
            assert_eq!(
                number(value).is_multiple_of(&number(divisor)),
                verdict,
                "{value} {divisor}"
            );
        }
        for (text, count) in [
            ("0", Some(0)),
            ("2.0", Some(2)),
            ("1e3", Some(1000)),
            ("-1", None),
            ("1.5", None),
            ("1e30", None),
        ] {
            assert_eq!(number(text).as_count(), count, "{text}");
        }
    }
}
