//! Numbers: small and big exact integers, exact rationals, floats.
//!
//! Owns the conversions between heap values and Rust numbers; the operations live in the modules
//! beneath. There are no complex numbers.

pub(crate) mod arith;
pub(crate) mod integer;
pub(crate) mod parse;
pub(crate) mod print;
pub(crate) mod real;

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Signed, ToPrimitive, Zero};

use crate::error::{Fallible, Fault};
use crate::heap::Heap;
use crate::object::Object;
use crate::value::{Kind, Value};
use crate::world::World;

/// A number borrowed from the heap.
#[derive(Clone, Copy)]
pub(crate) enum Number<'a> {
    Small(i64),
    Big(&'a BigInt),
    Ratio(&'a BigRational),
    Float(f64),
}

/// A number on its way to the heap, not yet in lowest form.
#[derive(Debug)]
pub(crate) enum Num {
    Small(i64),
    Big(BigInt),
    Ratio(BigRational),
    Float(f64),
}

impl Number<'_> {
    pub(crate) fn to_f64(self) -> f64 {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "inexact on purpose")]
            Self::Small(number) => number as f64,
            Self::Big(number) => number.to_f64().unwrap_or(f64::NAN),
            Self::Ratio(number) => number.to_f64().unwrap_or(f64::NAN),
            Self::Float(number) => number,
        }
    }

    /// The integer that this number is, also when it is a whole float.
    pub(crate) fn to_integer(self) -> Option<BigInt> {
        match self {
            Self::Small(number) => Some(number.into()),
            Self::Big(number) => Some(number.clone()),
            Self::Ratio(_) => None,
            Self::Float(number) => whole(number),
        }
    }

    pub(crate) fn to_ratio(self) -> Option<BigRational> {
        match self {
            Self::Small(number) => Some(BigRational::from_integer(number.into())),
            Self::Big(number) => Some(BigRational::from_integer(number.clone())),
            Self::Ratio(number) => Some(number.clone()),
            Self::Float(number) => BigRational::from_float(number),
        }
    }

    pub(crate) fn is_exact(self) -> bool {
        !matches!(self, Self::Float(_))
    }

    pub(crate) fn is_zero(self) -> bool {
        match self {
            Self::Small(number) => number == 0,
            Self::Float(number) => number == 0.0,
            _ => false,
        }
    }

    pub(crate) fn is_negative(self) -> bool {
        match self {
            Self::Small(number) => number < 0,
            Self::Big(number) => number.sign() == num_bigint::Sign::Minus,
            Self::Ratio(number) => number.numer().sign() == num_bigint::Sign::Minus,
            Self::Float(number) => number < 0.0,
        }
    }

    /// Bits of the largest integer inside.
    pub(crate) fn bits(self) -> u64 {
        match self {
            Self::Small(number) => u64::from(64 - number.unsigned_abs().leading_zeros()),
            Self::Big(number) => number.bits(),
            Self::Ratio(number) => number.numer().bits().max(number.denom().bits()),
            Self::Float(_) => 0,
        }
    }
}

/// The integer that a whole float is.
pub(crate) fn whole(number: f64) -> Option<BigInt> {
    if number.is_finite() && number.fract() == 0.0 {
        BigRational::from_float(number).map(|ratio| ratio.to_integer())
    } else {
        None
    }
}

impl Heap {
    pub(crate) fn number(&self, value: Value) -> Option<Number<'_>> {
        match value.kind() {
            Kind::Fixnum(number) => Some(Number::Small(number)),
            Kind::Flonum(index) => Some(Number::Float(self.flonums.get(index))),
            Kind::Object(index) => match &self.objects[index as usize] {
                Object::Big(number) => Some(Number::Big(number)),
                Object::Ratio(number) => Some(Number::Ratio(number)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Brings a number to its lowest form and onto the heap.
    pub(crate) fn store(&mut self, number: Num) -> Fallible<Value> {
        match number {
            Num::Small(small) if Value::fits_fixnum(small) => Ok(Value::fixnum(small)),
            Num::Small(small) => self.object(Object::Big(Box::new(small.into()))),
            Num::Big(big) => match big.to_i64() {
                Some(small) if Value::fits_fixnum(small) => Ok(Value::fixnum(small)),
                _ => self.object(Object::Big(Box::new(big))),
            },
            Num::Ratio(ratio) if ratio.denom().is_one() => {
                self.store(Num::Big(ratio.numer().clone()))
            }
            Num::Ratio(ratio) => self.object(Object::Ratio(Box::new(ratio))),
            Num::Float(float) => self.flonum(float),
        }
    }
}

impl World {
    /// The number a value is, or a type error in the name of `procedure`.
    pub(crate) fn number(&self, procedure: &str, value: Value) -> Fallible<Number<'_>> {
        self.heap
            .number(value)
            .ok_or_else(|| self.wrong_type(procedure, "a number", value))
    }

    pub(crate) fn integer(&self, procedure: &str, value: Value) -> Fallible<BigInt> {
        self.heap
            .number(value)
            .and_then(Number::to_integer)
            .ok_or_else(|| self.wrong_type(procedure, "an integer", value))
    }

    /// A non-negative small integer, such as an index or a length.
    pub(crate) fn index(&self, procedure: &str, value: Value) -> Fallible<usize> {
        match value.as_fixnum() {
            Some(number) => {
                usize::try_from(number).map_err(|_| self.out_of_range(procedure, value))
            }
            None if matches!(self.heap.get(value), Some(Object::Big(_))) => {
                Err(self.out_of_range(procedure, value))
            }
            None => Err(self.wrong_type(procedure, "an exact integer", value)),
        }
    }

    /// Charges the work of a common divisor, which goes bit by bit over the longer number.
    pub(crate) fn charge_gcd(&mut self, left: u64, right: u64) -> Fallible<()> {
        let (longer, shorter) = (left.max(right), left.min(right));
        self.charge_bits(longer, shorter)?;
        self.charge_bits(shorter, shorter.saturating_mul(128))
    }

    /// Charges the work of an operation on integers of so many bits.
    pub(crate) fn charge_bits(&mut self, left: u64, right: u64) -> Fallible<()> {
        let (left, right) = (left / 64 + 1, right / 64 + 1);
        // Passes over one long number cost more per word than products of two.
        let words_per_step = if left.min(right) > 32 { 64 } else { 16 };
        let steps = left.saturating_mul(right) / words_per_step;
        self.charge(usize::try_from(steps).unwrap_or(usize::MAX))
    }
}

#[cold]
pub(crate) fn divide_by_zero(procedure: &str) -> Fault {
    Fault::error(
        crate::error::ErrorKind::DivideByZero,
        format!("{procedure}: division by zero"),
    )
}

/// The greatest common divisor, after one division has made both numbers equally long.
pub(crate) fn common_divisor(a: &BigInt, b: &BigInt) -> BigInt {
    let (longer, shorter) = if a.bits() >= b.bits() { (a, b) } else { (b, a) };
    if shorter.is_zero() {
        return longer.abs();
    }
    shorter.gcd(&(longer % shorter))
}

/// A fraction in lowest terms; the denominator is not zero.
pub(crate) fn fraction(numerator: BigInt, denominator: BigInt) -> BigRational {
    let divisor = common_divisor(&numerator, &denominator);
    let (numerator, denominator) = if divisor.is_one() {
        (numerator, denominator)
    } else {
        (numerator / &divisor, denominator / &divisor)
    };
    if denominator.is_negative() {
        BigRational::new_raw(-numerator, -denominator)
    } else {
        BigRational::new_raw(numerator, denominator)
    }
}

pub(crate) fn is_zero(number: &BigInt) -> bool {
    number.is_zero()
}
