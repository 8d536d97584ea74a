//! Integer division, common divisors, powers and roots.
//!
//! Owns the operations that R7RS defines on integers; floats that are whole are accepted and make
//! the result a float.

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive};

use super::{Num, Number, common_divisor, divide_by_zero, is_zero};
use crate::error::{ErrorKind, Fallible, Fault};
use crate::value::Value;
use crate::world::World;

/// Which integer division, and which part of its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Division {
    FloorQuotient,
    FloorRemainder,
    TruncateQuotient,
    TruncateRemainder,
}

impl World {
    pub(crate) fn divide_integers(
        &mut self,
        division: Division,
        procedure: &str,
        left: Value,
        right: Value,
    ) -> Fallible<Value> {
        if let (Some(a), Some(b)) = (left.as_fixnum(), right.as_fixnum()) {
            if b == 0 {
                return Err(divide_by_zero(procedure));
            }
            return self.heap.store(Num::Small(match division {
                Division::FloorQuotient => Integer::div_floor(&a, &b),
                Division::FloorRemainder => Integer::mod_floor(&a, &b),
                Division::TruncateQuotient => a / b,
                Division::TruncateRemainder => a % b,
            }));
        }
        let inexact = self.heap.as_flonum(left).is_some() || self.heap.as_flonum(right).is_some();
        let a = self.integer(procedure, left)?;
        let b = self.integer(procedure, right)?;
        if is_zero(&b) {
            return Err(divide_by_zero(procedure));
        }
        self.charge_bits(a.bits(), b.bits())?;
        let result = match division {
            Division::FloorQuotient => a.div_floor(&b),
            Division::FloorRemainder => a.mod_floor(&b),
            Division::TruncateQuotient => a / b,
            Division::TruncateRemainder => a % b,
        };
        self.store_like(result, inexact)
    }

    fn store_like(&mut self, result: BigInt, inexact: bool) -> Fallible<Value> {
        if inexact {
            self.heap.flonum(result.to_f64().unwrap_or(f64::NAN))
        } else {
            self.heap.store(Num::Big(result))
        }
    }

    pub(crate) fn gcd(&mut self, left: Value, right: Value) -> Fallible<Value> {
        if let (Some(a), Some(b)) = (left.as_fixnum(), right.as_fixnum()) {
            return self.heap.store(Num::Small(a.gcd(&b)));
        }
        let inexact = self.heap.as_flonum(left).is_some() || self.heap.as_flonum(right).is_some();
        let (a, b) = (self.integer("gcd", left)?, self.integer("gcd", right)?);
        self.charge_gcd(a.bits(), b.bits())?;
        self.store_like(common_divisor(&a, &b), inexact)
    }

    pub(crate) fn lcm(&mut self, left: Value, right: Value) -> Fallible<Value> {
        let inexact = self.heap.as_flonum(left).is_some() || self.heap.as_flonum(right).is_some();
        let (a, b) = (self.integer("lcm", left)?, self.integer("lcm", right)?);
        self.check_bits(a.bits() + b.bits())?;
        self.charge_gcd(a.bits(), b.bits())?;
        if is_zero(&a) || is_zero(&b) {
            return self.store_like(BigInt::from(0), inexact);
        }
        let divisor = common_divisor(&a, &b);
        self.store_like((a / divisor * b).abs(), inexact)
    }

    /// The largest integer whose square is at most the argument, and what is left.
    pub(crate) fn integer_sqrt(&mut self, value: Value) -> Fallible<(Value, Value)> {
        let number = match self.number("exact-integer-sqrt", value)? {
            Number::Small(number) if number >= 0 => number.into(),
            Number::Big(number) if !number.is_negative() => number.clone(),
            _ => {
                return Err(self.wrong_type(
                    "exact-integer-sqrt",
                    "a non-negative exact integer",
                    value,
                ));
            }
        };
        self.charge_bits(number.bits(), number.bits().saturating_mul(4))?;
        let root = number.sqrt();
        let rest = number - &root * &root;
        Ok((
            self.heap.store(Num::Big(root))?,
            self.heap.store(Num::Big(rest))?,
        ))
    }

    /// The square root: exact when it is rational, a float otherwise.
    pub(crate) fn sqrt(&mut self, value: Value) -> Fallible<Value> {
        let number = self.number("sqrt", value)?;
        if number.is_negative() {
            return Err(Fault::error(
                ErrorKind::Range,
                "sqrt: there are no complex numbers",
            ));
        }
        let float = number.to_f64().sqrt();
        let bits = number.bits();
        let Number::Float(_) = number else {
            self.charge_bits(bits, bits.saturating_mul(4))?;
            let ratio = self
                .number("sqrt", value)?
                .to_ratio()
                .unwrap_or_else(BigRational::one);
            let (numer, denom) = (ratio.numer().sqrt(), ratio.denom().sqrt());
            if &(&numer * &numer) == ratio.numer() && &(&denom * &denom) == ratio.denom() {
                return self.heap.store(Num::Ratio(BigRational::new(numer, denom)));
            }
            return self.heap.flonum(float);
        };
        self.heap.flonum(float)
    }

    pub(crate) fn expt(&mut self, base: Value, exponent: Value) -> Fallible<Value> {
        let power = self.number("expt", exponent)?;
        let root = self.number("expt", base)?;
        let exact_power = match power {
            Number::Small(small) => Some(small),
            Number::Big(big) if big.is_negative() => Some(i64::MIN),
            Number::Big(_) => Some(i64::MAX),
            _ => None,
        };
        let Some(times) = exact_power else {
            let (x, y) = (root.to_f64(), power.to_f64());
            if x < 0.0 && y.fract() != 0.0 {
                return Err(Fault::error(
                    ErrorKind::Range,
                    "expt: there are no complex numbers",
                ));
            }
            return self.heap.flonum(x.powf(y));
        };
        let odd = match power {
            Number::Small(small) => small % 2 != 0,
            Number::Big(big) => big.is_odd(),
            _ => false,
        };
        match root {
            Number::Float(x) => {
                let result = match i32::try_from(times) {
                    Ok(times) => x.powi(times),
                    #[expect(clippy::cast_precision_loss, reason = "the result is a float")]
                    Err(_) => x.powf(times as f64),
                };
                self.heap.flonum(result)
            }
            Number::Small(0) if times < 0 => Err(divide_by_zero("expt")),
            Number::Small(0) => Ok(Value::fixnum(i64::from(times == 0))),
            Number::Small(1) => Ok(base),
            Number::Small(-1) => Ok(Value::fixnum(if odd { -1 } else { 1 })),
            _ => self.exact_power(base, times),
        }
    }

    fn exact_power(&mut self, base: Value, times: i64) -> Fallible<Value> {
        let bits = self.number("expt", base)?.bits();
        let size = bits.saturating_mul(times.unsigned_abs());
        // A power of a number of n bits has more than (n-1)*times bits.
        self.check_bits((bits - 1).max(1).saturating_mul(times.unsigned_abs()))?;
        self.charge_bits(size, size)?;
        let times_unsigned = u32::try_from(times.unsigned_abs())
            .map_err(|_| Fault::limit(ErrorKind::Memory, "expt: the exponent is too large"))?;
        let result = match self.number("expt", base)? {
            Number::Small(small) => {
                BigRational::from_integer(BigInt::from(small).pow(times_unsigned))
            }
            Number::Big(big) => BigRational::from_integer(big.pow(times_unsigned)),
            Number::Ratio(ratio) => BigRational::new_raw(
                ratio.numer().pow(times_unsigned),
                ratio.denom().pow(times_unsigned),
            ),
            Number::Float(_) => return Err(Fault::error(ErrorKind::Internal, "expt")),
        };
        let result = if times < 0 { result.recip() } else { result };
        self.check_bits(result.numer().bits().max(result.denom().bits()))?;
        self.heap.store(Num::Ratio(result))
    }
}
