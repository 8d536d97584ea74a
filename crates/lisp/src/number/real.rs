//! Rounding, exactness, and the functions of analysis.
//!
//! Owns what R7RS defines on reals beyond arithmetic.

use num_integer::Integer;
use num_rational::BigRational;
use num_traits::Signed;

use super::{Num, Number};
use crate::error::{ErrorKind, Fallible, Fault};
use crate::value::Value;
use crate::world::World;

/// How to make a real whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rounding {
    Floor,
    Ceiling,
    Truncate,
    Round,
}

impl World {
    pub(crate) fn round(&mut self, how: Rounding, value: Value) -> Fallible<Value> {
        let result = match self.number("round", value)? {
            Number::Float(x) => Num::Float(match how {
                Rounding::Floor => x.floor(),
                Rounding::Ceiling => x.ceil(),
                Rounding::Truncate => x.trunc(),
                Rounding::Round => x.round_ties_even(),
            }),
            Number::Ratio(ratio) => Num::Ratio(match how {
                Rounding::Floor => ratio.floor(),
                Rounding::Ceiling => ratio.ceil(),
                Rounding::Truncate => ratio.trunc(),
                Rounding::Round => round_to_even(ratio),
            }),
            _ => return Ok(value),
        };
        self.heap.store(result)
    }

    pub(crate) fn exact(&mut self, value: Value) -> Fallible<Value> {
        match self.number("exact", value)? {
            Number::Float(x) => match BigRational::from_float(x) {
                Some(ratio) => self.heap.store(Num::Ratio(ratio)),
                None => Err(self.out_of_range("exact", value)),
            },
            _ => Ok(value),
        }
    }

    pub(crate) fn inexact(&mut self, value: Value) -> Fallible<Value> {
        match self.number("inexact", value)? {
            Number::Float(_) => Ok(value),
            number => {
                let float = number.to_f64();
                self.heap.flonum(float)
            }
        }
    }

    pub(crate) fn absolute(&mut self, value: Value) -> Fallible<Value> {
        let number = self.number("abs", value)?;
        if !number.is_negative() && !matches!(number, Number::Float(_)) {
            return Ok(value);
        }
        let result = match number {
            Number::Small(small) => Num::Small(-small),
            Number::Big(big) => Num::Big(big.abs()),
            Number::Ratio(ratio) => Num::Ratio(ratio.abs()),
            Number::Float(x) => Num::Float(x.abs()),
        };
        self.heap.store(result)
    }

    /// Applies a function of analysis; `fixed` names an exact argument with an exact result.
    pub(crate) fn analysis(
        &mut self,
        name: &str,
        function: fn(f64) -> f64,
        fixed: Option<(i64, i64)>,
        value: Value,
    ) -> Fallible<Value> {
        if let (Some((argument, result)), Some(small)) = (fixed, value.as_fixnum())
            && argument == small
        {
            return Ok(Value::fixnum(result));
        }
        let x = self.number(name, value)?.to_f64();
        let result = function(x);
        if result.is_nan() && !x.is_nan() && name != "sin" && name != "cos" && name != "tan" {
            return Err(Fault::error(
                ErrorKind::Range,
                format!("{name}: there are no complex numbers"),
            ));
        }
        self.heap.flonum(result)
    }

    /// The simplest rational within `tolerance` of `value`.
    pub(crate) fn rationalize(&mut self, value: Value, tolerance: Value) -> Fallible<Value> {
        let (x, y) = (
            self.number("rationalize", value)?,
            self.number("rationalize", tolerance)?,
        );
        let inexact = !(x.is_exact() && y.is_exact());
        let (Some(x), Some(y)) = (x.to_ratio(), y.to_ratio()) else {
            return Err(self.out_of_range("rationalize", value));
        };
        let y = y.abs();
        let result = simplest(&x - &y, &x + &y);
        let stored = self.heap.store(Num::Ratio(result))?;
        if inexact {
            self.inexact(stored)
        } else {
            Ok(stored)
        }
    }
}

fn round_to_even(ratio: &BigRational) -> BigRational {
    let half = BigRational::new(1.into(), 2.into());
    let floor = ratio.floor();
    let rest = ratio - &floor;
    let up = rest > half || (rest == half && floor.to_integer().is_odd());
    if up {
        floor + BigRational::from_integer(1.into())
    } else {
        floor
    }
}

/// The rational of least denominator in a closed interval, by continued fractions.
fn simplest(low: BigRational, high: BigRational) -> BigRational {
    let zero = BigRational::from_integer(0.into());
    if low <= zero && high >= zero {
        return zero;
    }
    if high < zero {
        return -simplest_positive(-high, -low);
    }
    simplest_positive(low, high)
}

fn simplest_positive(mut low: BigRational, mut high: BigRational) -> BigRational {
    let mut terms = Vec::new();
    loop {
        let floor = low.floor();
        if floor == low {
            terms.push(floor);
            break;
        }
        if floor < high.floor() {
            terms.push(floor + BigRational::from_integer(1.into()));
            break;
        }
        let (next_low, next_high) = ((&high - &floor).recip(), (&low - &floor).recip());
        terms.push(floor);
        (low, high) = (next_low, next_high);
    }
    let mut result = terms
        .pop()
        .unwrap_or_else(|| BigRational::from_integer(0.into()));
    while let Some(term) = terms.pop() {
        result = term + result.recip();
    }
    result
}
