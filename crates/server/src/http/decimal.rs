//! Numbers as they are written, compared exactly. A float cannot tell integers beyond 2^53 apart.

/// A decimal number with one form for all ways of writing it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    is_negative: bool,
    /// Without zeros at either end; empty for zero.
    digits: String,
    /// Which power of ten the last digit stands for.
    exponent: i64,
}

impl Decimal {
    /// Reads a number as JSON writes it, with a plus sign or leading zeros allowed.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (mantissa, power) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, power)) => (mantissa, power.parse::<i64>().ok()?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        if whole.is_empty() || !all.bytes().all(|it| it.is_ascii_digit()) {
            return None;
        }
        let kept = all.trim_end_matches('0');
        let dropped = i64::try_from(all.len() - kept.len()).ok()?;
        let fraction = i64::try_from(fraction.len()).ok()?;
        let digits = kept.trim_start_matches('0').to_owned();
        let is_zero = digits.is_empty();
        let exponent = power.checked_sub(fraction)?.checked_add(dropped)?;
        Some(Self {
            is_negative: text.starts_with('-') && !is_zero,
            digits,
            exponent: if is_zero { 0 } else { exponent },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s11_numbers_are_compared_exactly() {
        for (one, other, are_equal) in [
            ("42", "042", true),
            ("42", "42.0", true),
            ("42", "4.2e1", true),
            ("42", "+420E-1", true),
            ("0", "-0.00", true),
            ("-1.50", "-1.5", true),
            ("1", "-1", false),
            ("42", "4.2", false),
            ("9007199254740993", "9007199254740992", false),
            ("9007199254740993", "9007199254740993", true),
            ("1e400", "1e401", false),
            ("100", "10", false),
        ] {
            let (first, second) = (Decimal::parse(one), Decimal::parse(other));
            assert!(first.is_some() && second.is_some(), "{one} {other}");
            assert_eq!(first == second, are_equal, "{one} {other}");
        }
        let no_numbers = [
            "",
            "-",
            "x",
            "1x",
            ".5",
            "1e",
            "1e99999999999999999999",
            "inf",
            "1.2.3",
        ];
        for text in no_numbers {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }
}
