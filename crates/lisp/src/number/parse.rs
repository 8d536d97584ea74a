//! Text as numbers.
//!
//! Owns the grammar of numbers with its prefixes; refuses numbers beyond the integer limit before
//! computing them.

use std::borrow::Cow;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Num as _, Signed, ToPrimitive};

use super::{Num, fraction, is_zero};
use crate::error::Fallible;
use crate::world::World;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Exactness {
    Exact,
    Inexact,
    AsWritten,
}

impl World {
    /// Parses a number; `None` when the text is none.
    pub(crate) fn parse_number(&mut self, text: &str, radix: u32) -> Fallible<Option<Num>> {
        let mut rest = text;
        let mut radix = radix;
        let mut exactness = Exactness::AsWritten;
        while let Some(after) = rest.strip_prefix('#') {
            match after.chars().next().map(|c| c.to_ascii_lowercase()) {
                Some('x') => radix = 16,
                Some('d') => radix = 10,
                Some('o') => radix = 8,
                Some('b') => radix = 2,
                Some('e') => exactness = Exactness::Exact,
                Some('i') => exactness = Exactness::Inexact,
                _ => return Ok(None),
            }
            rest = &after[1..];
        }
        let Some(number) = self.parse_real(rest, radix, exactness)? else {
            return Ok(None);
        };
        Ok(match (exactness, number) {
            (Exactness::Inexact, Num::Small(small)) => {
                #[expect(clippy::cast_precision_loss, reason = "inexact on purpose")]
                let float = small as f64;
                Some(Num::Float(float))
            }
            (Exactness::Inexact, Num::Big(big)) => big.to_f64().map(Num::Float),
            (Exactness::Inexact, Num::Ratio(ratio)) => ratio.to_f64().map(Num::Float),
            (Exactness::Exact, Num::Float(float)) => BigRational::from_float(float).map(Num::Ratio),
            (_, number) => Some(number),
        })
    }

    fn parse_real(
        &mut self,
        text: &str,
        radix: u32,
        exactness: Exactness,
    ) -> Fallible<Option<Num>> {
        let first = text.as_bytes().first().copied().unwrap_or(b' ');
        if !(char::from(first).is_digit(radix) || matches!(first, b'+' | b'-' | b'.')) {
            return Ok(None);
        }
        match text.to_ascii_lowercase().as_str() {
            "+inf.0" => return Ok(Some(Num::Float(f64::INFINITY))),
            "-inf.0" => return Ok(Some(Num::Float(f64::NEG_INFINITY))),
            "+nan.0" | "-nan.0" => return Ok(Some(Num::Float(f64::NAN))),
            _ => {}
        }
        if let Some((numerator, denominator)) = text.split_once('/') {
            if denominator.starts_with(['+', '-']) {
                return Ok(None);
            }
            let Some(numerator) = self.parse_integer(numerator, radix)? else {
                return Ok(None);
            };
            let Some(denominator) = self.parse_integer(denominator, radix)? else {
                return Ok(None);
            };
            if is_zero(&denominator) {
                return Ok(None);
            }
            self.charge_gcd(numerator.bits(), denominator.bits())?;
            return Ok(Some(Num::Ratio(fraction(numerator, denominator))));
        }
        if let Ok(small) = i64::from_str_radix(text, radix) {
            return Ok(Some(Num::Small(small)));
        }
        if let Some(integer) = self.parse_integer(text, radix)? {
            return Ok(Some(Num::Big(integer)));
        }
        if radix != 10 {
            return self.parse_positional(text, radix, exactness);
        }
        let Some(text) = decimal(text) else {
            return Ok(None);
        };
        if exactness == Exactness::Exact {
            return self.parse_exact_decimal(&text);
        }
        Ok(text.parse::<f64>().ok().map(Num::Float))
    }

    /// Digits around a point in a radix other than ten, where there is no exponent.
    ///
    /// The report has no such numbers; they are what `number->string` answers for floats.
    fn parse_positional(
        &mut self,
        text: &str,
        radix: u32,
        exactness: Exactness,
    ) -> Fallible<Option<Num>> {
        let Some((whole, digits)) = text.split_once('.') else {
            return Ok(None);
        };
        let Some(numerator) = self.parse_integer(&format!("{whole}{digits}"), radix)? else {
            return Ok(None);
        };
        let bits = (digits.len() as u64).saturating_mul(u64::from(radix.ilog2() + 1));
        self.check_bits(bits)?;
        self.charge_bits(bits, bits)?;
        self.charge_gcd(bits, numerator.bits())?;
        let power = BigInt::from(radix).pow(u32::try_from(digits.len()).unwrap_or(u32::MAX));
        let ratio = fraction(numerator, power);
        if exactness == Exactness::Exact {
            return Ok(Some(Num::Ratio(ratio)));
        }
        // Zero keeps its sign.
        let magnitude = ratio.abs().to_f64();
        let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
        Ok(magnitude.map(|magnitude| Num::Float(magnitude * sign)))
    }

    fn parse_integer(&mut self, text: &str, radix: u32) -> Fallible<Option<BigInt>> {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
            return Ok(None);
        }
        // Fewer bits than the shortest number of so many digits has.
        let bits_per_digit = u64::from(radix.ilog2());
        let significant = digits.trim_start_matches('0').len() as u64;
        let bits = significant.saturating_sub(1).saturating_mul(bits_per_digit);
        self.check_bits(bits)?;
        self.charge_bits(bits, bits)?;
        let Ok(number) = BigInt::from_str_radix(text.strip_prefix('+').unwrap_or(text), radix)
        else {
            return Ok(None);
        };
        self.check_bits(number.bits())?;
        Ok(Some(number))
    }

    fn parse_exact_decimal(&mut self, text: &str) -> Fallible<Option<Num>> {
        let (mantissa, exponent) = match text.split_once('e') {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().unwrap_or(i64::MAX)),
            None => (text, 0),
        };
        let (whole, decimals) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let fraction_digits = i64::try_from(decimals.len()).unwrap_or(i64::MAX);
        let Some(digits) = self.parse_integer(&format!("{whole}{decimals}"), 10)? else {
            return Ok(None);
        };
        let scale = exponent.saturating_sub(fraction_digits);
        let bits = scale.unsigned_abs().saturating_mul(10) / 3;
        self.check_bits(bits.saturating_add(digits.bits()))?;
        self.charge_gcd(bits, digits.bits())?;
        self.charge_bits(bits, bits)?;
        let power = BigInt::from(10).pow(u32::try_from(scale.unsigned_abs()).unwrap_or(u32::MAX));
        Ok(Some(Num::Ratio(if scale >= 0 {
            BigRational::from_integer(digits * power)
        } else {
            fraction(digits, power)
        })))
    }
}

/// The letters that begin an exponent: those of the report and of the reports before it, where
/// they also chose a precision. There is one precision here.
const EXPONENT_MARKERS: [char; 10] = ['e', 's', 'f', 'd', 'l', 'E', 'S', 'F', 'D', 'L'];

/// The text with `e` before its exponent when it is digits with an optional sign, point and
/// exponent, and at least one digit.
pub(crate) fn decimal(text: &str) -> Option<Cow<'_, str>> {
    let (mantissa, exponent) = match text.split_once(EXPONENT_MARKERS) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let unsigned = mantissa.strip_prefix(['+', '-']).unwrap_or(mantissa);
    let mantissa_fits = unsigned.chars().any(|c| c.is_ascii_digit())
        && unsigned.chars().all(|c| c.is_ascii_digit() || c == '.')
        && unsigned.matches('.').count() <= 1;
    let exponent_fits = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
    });
    if !(mantissa_fits && exponent_fits) {
        return None;
    }
    Some(match exponent {
        Some(exponent) => format!("{mantissa}e{exponent}").into(),
        None => text.into(),
    })
}
