//! Numbers as text.
//!
//! Owns the external form of numbers; the limits on its length belong to the callers.

use super::Number;

/// Writes a number in a radix; floats are written in radix ten only.
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
        Number::Float(float) => float_text(float),
    }
}

fn float_text(float: f64) -> String {
    if float.is_nan() {
        "+nan.0".to_owned()
    } else if float.is_infinite() {
        if float > 0.0 {
            "+inf.0".to_owned()
        } else {
            "-inf.0".to_owned()
        }
    } else {
        format!("{float:?}")
    }
}
