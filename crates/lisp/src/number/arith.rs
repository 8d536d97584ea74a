//! Addition, subtraction, multiplication, division and comparison over all numbers.
//!
//! Owns the general cases; the machine handles small integers before it comes here.

use std::cmp::Ordering;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;

use super::{Num, Number, divide_by_zero, fraction};
use crate::error::{Fallible, Fault};
use crate::value::Value;
use crate::world::World;

/// An operation on two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arith {
    Add,
    Sub,
    Mul,
    Div,
}

impl Arith {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Sub => "-",
            Self::Mul => "*",
            Self::Div => "/",
        }
    }
}

/// A comparison of two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compare {
    Equal,
    Less,
    Greater,
    AtMost,
    AtLeast,
}

impl Compare {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::Less => "<",
            Self::Greater => ">",
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
        }
    }

    pub(crate) fn holds(self, ordering: Ordering) -> bool {
        match self {
            Self::Equal => ordering.is_eq(),
            Self::Less => ordering.is_lt(),
            Self::Greater => ordering.is_gt(),
            Self::AtMost => ordering.is_le(),
            Self::AtLeast => ordering.is_ge(),
        }
    }
}

impl World {
    /// Applies an operation to any two numbers.
    pub(crate) fn arith(&mut self, op: Arith, left: Value, right: Value) -> Fallible<Value> {
        if let (Some(a), Some(b)) = (left.as_fixnum(), right.as_fixnum()) {
            return self.arith_small(op, a, b);
        }
        let a = self.number(op.name(), left)?;
        let b = self.number(op.name(), right)?;
        if let (Number::Float(_), _) | (_, Number::Float(_)) = (a, b) {
            let (x, y) = (a.to_f64(), b.to_f64());
            if op == Arith::Div && b.is_exact() && b.is_zero() {
                return Err(divide_by_zero("/"));
            }
            return self.heap.flonum(match op {
                Arith::Add => x + y,
                Arith::Sub => x - y,
                Arith::Mul => x * y,
                Arith::Div => x / y,
            });
        }
        let (left_bits, right_bits) = (a.bits(), b.bits());
        let ratios = matches!(a, Number::Ratio(_)) || matches!(b, Number::Ratio(_));
        if op == Arith::Mul || ratios {
            self.check_bits((left_bits + right_bits).saturating_sub(1))?;
            self.charge_bits(left_bits, right_bits)?;
        } else {
            self.check_bits(left_bits.max(right_bits))?;
            self.charge_bits(left_bits.max(right_bits), 1)?;
        }
        if ratios {
            self.charge_gcd(left_bits + right_bits, left_bits + right_bits)?;
        } else if op == Arith::Div {
            self.charge_gcd(left_bits, right_bits)?;
        }
        // Borrowed anew: charging needed the world.
        let (a, b) = (self.number("", left)?, self.number("", right)?);
        let result = exact(op, a, b)?;
        self.heap.store(result)
    }

    fn arith_small(&mut self, op: Arith, a: i64, b: i64) -> Fallible<Value> {
        let wide = match op {
            Arith::Add => i128::from(a) + i128::from(b),
            Arith::Sub => i128::from(a) - i128::from(b),
            Arith::Mul => i128::from(a) * i128::from(b),
            Arith::Div => {
                if b == 0 {
                    return Err(divide_by_zero("/"));
                }
                if a % b != 0 {
                    return self
                        .heap
                        .store(Num::Ratio(BigRational::new(a.into(), b.into())));
                }
                i128::from(a / b)
            }
        };
        match i64::try_from(wide) {
            Ok(small) => self.heap.store(Num::Small(small)),
            Err(_) => self.heap.store(Num::Big(wide.into())),
        }
    }

    /// Compares any two numbers; a NaN compares false with everything.
    pub(crate) fn compare(&mut self, op: Compare, left: Value, right: Value) -> Fallible<bool> {
        if let Some((a, b)) = left.both_small(right) {
            return Ok(op.holds(a.cmp(&b)));
        }
        let a = self.number(op.name(), left)?;
        let b = self.number(op.name(), right)?;
        Ok(order(a, b).is_some_and(|ordering| op.holds(ordering)))
    }
}

fn exact(op: Arith, a: Number<'_>, b: Number<'_>) -> Fallible<Num> {
    use Number::{Big, Small};
    Ok(Num::Big(match (op, a, b) {
        (Arith::Add, Big(a), Big(b)) => a + b,
        (Arith::Add, Big(a), Small(b)) | (Arith::Add, Small(b), Big(a)) => a + b,
        (Arith::Sub, Big(a), Big(b)) => a - b,
        (Arith::Sub, Big(a), Small(b)) => a - b,
        (Arith::Sub, Small(a), Big(b)) => a - b,
        (Arith::Mul, Big(a), Big(b)) => a * b,
        (Arith::Mul, Big(a), Small(b)) | (Arith::Mul, Small(b), Big(a)) => a * b,
        _ => return exact_ratio(op, a, b),
    }))
}

fn exact_ratio(op: Arith, a: Number<'_>, b: Number<'_>) -> Fallible<Num> {
    let (Some(a), Some(b)) = (a.to_ratio(), b.to_ratio()) else {
        return Err(Fault::error(
            crate::error::ErrorKind::Internal,
            "not an exact number",
        ));
    };
    let (a_over, a_under, b_over, b_under) = (a.numer(), a.denom(), b.numer(), b.denom());
    Ok(Num::Ratio(match op {
        Arith::Add => fraction(a_over * b_under + b_over * a_under, a_under * b_under),
        Arith::Sub => fraction(a_over * b_under - b_over * a_under, a_under * b_under),
        Arith::Mul => fraction(a_over * b_over, a_under * b_under),
        Arith::Div if b.is_zero() => return Err(divide_by_zero("/")),
        Arith::Div => fraction(a_over * b_under, a_under * b_over),
    }))
}

/// Orders two numbers exactly; `None` when one is NaN.
pub(crate) fn order(a: Number<'_>, b: Number<'_>) -> Option<Ordering> {
    use Number::{Big, Float, Small};
    match (a, b) {
        (Small(a), Small(b)) => Some(a.cmp(&b)),
        (Float(a), Float(b)) => a.partial_cmp(&b),
        (Big(a), Big(b)) => Some(a.cmp(b)),
        (Float(x), _) if !x.is_finite() => x.partial_cmp(&0.0),
        (_, Float(y)) if !y.is_finite() => 0.0.partial_cmp(&y),
        (Small(a), Big(b)) => Some(BigInt::from(a).cmp(b)),
        (Big(a), Small(b)) => Some(a.cmp(&BigInt::from(b))),
        _ => Some(a.to_ratio()?.cmp(&b.to_ratio()?)),
    }
}
