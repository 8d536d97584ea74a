//! Numbers as text.
//!
//! Owns the external form of numbers; the limits on its length belong to the callers.

use num_bigint::BigUint;
use num_integer::Integer;
use num_traits::{ToPrimitive, Zero};

use super::Number;

/// Bits of the fraction that a 64-bit float stores.
const MANTISSA_BITS: u32 = 52;
/// Twos in the denominator of the smallest float.
const LEAST_EXPONENT: u32 = 1074;

/// Writes a number in a radix.
pub(crate) fn to_text(number: Number<'_>, radix: u32) -> String {
    match number {
        Number::Small(small) if radix == 10 => small.to_string(),
        Number::Small(small) => num_bigint::BigInt::from(small).to_str_radix(radix),
        Number::Big(big) => big.to_str_radix(radix),
        Number::Ratio(ratio) => {
            format!(
                "{}/{}",
                ratio.numer().to_str_radix(radix),
                ratio.denom().to_str_radix(radix)
            )
        }
        Number::Float(float) => float_text(float, radix),
    }
}

fn float_text(float: f64, radix: u32) -> String {
    if float.is_nan() {
        "+nan.0".to_owned()
    } else if float.is_infinite() {
        if float > 0.0 {
            "+inf.0".to_owned()
        } else {
            "-inf.0".to_owned()
        }
    } else if radix == 10 {
        let text = format!("{float:?}");
        // The report asks for a decimal point, also before an exponent.
        match text.split_once('e') {
            Some((mantissa, exponent)) if !mantissa.contains('.') => {
                format!("{mantissa}.0e{exponent}")
            }
            _ => text,
        }
    } else {
        let sign = if float.is_sign_negative() { "-" } else { "" };
        format!("{sign}{}", positional(float.abs(), radix))
    }
}

/// Writes a finite float that is not negative, without exponent, with the fewest digits after the
/// point that still tell it from its neighbours.
fn positional(float: f64, radix: u32) -> String {
    let bits = float.to_bits();
    let fraction = bits & ((1 << MANTISSA_BITS) - 1);
    let exponent = u32::try_from(bits >> MANTISSA_BITS).unwrap_or(0);
    let (mantissa, shift) = match exponent {
        0 => (fraction, 0),
        _ => (fraction | (1 << MANTISSA_BITS), exponent - 1),
    };
    // The value is `scaled / one`; both are exact.
    let one = BigUint::from(1_u8) << LEAST_EXPONENT;
    let scaled = BigUint::from(mantissa) << shift;
    // Four times the way to the middle between two neighbours, which is whole; the lower neighbour
    // is nearer when the float is a power of two.
    let mut half_above = BigUint::from(2_u8) << shift;
    let mut half_below = if fraction == 0 && exponent > 1 {
        BigUint::from(1_u8) << shift
    } else {
        half_above.clone()
    };
    let (whole, rest) = scaled.div_rem(&one);
    let mut text = whole.to_str_radix(radix);
    text.push('.');
    if rest.is_zero() {
        text.push('0');
        return text;
    }
    let (one, mut rest): (BigUint, BigUint) = (one << 2, rest << 2);
    loop {
        rest *= radix;
        half_above *= radix;
        half_below *= radix;
        let (digit, remainder) = rest.div_rem(&one);
        rest = remainder;
        let low = rest < half_below;
        let high = &rest + &half_above > one;
        let round_up = high && (!low || &rest << 1 > one);
        let digit = digit.to_u32().unwrap_or(0) + u32::from(round_up);
        text.push(char::from_digit(digit, radix).unwrap_or('0'));
        if low || high {
            return text;
        }
    }
}
