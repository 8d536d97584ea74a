//! Numbers.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::ToPrimitive;

use super::{MANY, Primitive, plain};
use crate::error::{ErrorKind, Fallible, Fault};
use crate::number::arith::{Arith, Compare};
use crate::number::integer::Division;
use crate::number::print::to_text;
use crate::number::real::Rounding;
use crate::number::{Num, Number};
use crate::object::Object;
use crate::value::Value;
use crate::world::World;

pub(super) const TABLE: &[Primitive] = &[
    plain("+", 0, MANY, |w, a| fold(w, a, Arith::Add, 0)),
    plain("*", 0, MANY, |w, a| fold(w, a, Arith::Mul, 1)),
    plain("-", 1, MANY, |w, a| reduce(w, a, Arith::Sub, 0)),
    plain("/", 1, MANY, |w, a| reduce(w, a, Arith::Div, 1)),
    plain("=", 1, MANY, |w, a| compare(w, a, Compare::Equal)),
    plain("<", 1, MANY, |w, a| compare(w, a, Compare::Less)),
    plain(">", 1, MANY, |w, a| compare(w, a, Compare::Greater)),
    plain("<=", 1, MANY, |w, a| compare(w, a, Compare::AtMost)),
    plain(">=", 1, MANY, |w, a| compare(w, a, Compare::AtLeast)),
    plain("number?", 1, 1, |w, a| {
        Ok(Value::boolean(w.heap.number(a[0]).is_some()))
    }),
    plain("complex?", 1, 1, |w, a| {
        Ok(Value::boolean(w.heap.number(a[0]).is_some()))
    }),
    plain("real?", 1, 1, |w, a| {
        Ok(Value::boolean(w.heap.number(a[0]).is_some()))
    }),
    plain("rational?", 1, 1, is_rational),
    plain("integer?", 1, 1, is_integer),
    plain("exact?", 1, 1, |w, a| {
        Ok(Value::boolean(w.number("exact?", a[0])?.is_exact()))
    }),
    plain("inexact?", 1, 1, |w, a| {
        Ok(Value::boolean(!w.number("inexact?", a[0])?.is_exact()))
    }),
    plain("exact-integer?", 1, 1, is_exact_integer),
    plain("exact-rational?", 1, 1, |w, a| {
        Ok(Value::boolean(
            w.heap.number(a[0]).is_some_and(Number::is_exact),
        ))
    }),
    plain("finite?", 1, 1, |w, a| {
        Ok(Value::boolean(match w.number("finite?", a[0])? {
            Number::Float(x) => x.is_finite(),
            _ => true,
        }))
    }),
    plain("infinite?", 1, 1, |w, a| {
        Ok(Value::boolean(matches!(w.number("infinite?", a[0])?,
            Number::Float(x) if x.is_infinite())))
    }),
    plain("nan?", 1, 1, |w, a| {
        Ok(Value::boolean(
            matches!(w.number("nan?", a[0])?, Number::Float(x) if x.is_nan()),
        ))
    }),
    plain("zero?", 1, 1, |w, a| {
        Ok(Value::boolean(w.number("zero?", a[0])?.is_zero()))
    }),
    plain("negative?", 1, 1, |w, a| {
        Ok(Value::boolean(w.number("negative?", a[0])?.is_negative()))
    }),
    plain("positive?", 1, 1, |w, a| {
        w.compare(Compare::Greater, a[0], Value::fixnum(0))
            .map(Value::boolean)
    }),
    plain("odd?", 1, 1, |w, a| {
        Ok(Value::boolean(!is_even(w, "odd?", a[0])?))
    }),
    plain("even?", 1, 1, |w, a| {
        Ok(Value::boolean(is_even(w, "even?", a[0])?))
    }),
    plain("max", 1, MANY, |w, a| extreme(w, a, Compare::Greater)),
    plain("min", 1, MANY, |w, a| extreme(w, a, Compare::Less)),
    plain("abs", 1, 1, |w, a| w.absolute(a[0])),
    plain("magnitude", 1, 1, |w, a| w.absolute(a[0])),
    plain("quotient", 2, 2, |w, a| {
        w.divide_integers(Division::TruncateQuotient, "quotient", a[0], a[1])
    }),
    plain("remainder", 2, 2, |w, a| {
        w.divide_integers(Division::TruncateRemainder, "remainder", a[0], a[1])
    }),
    plain("modulo", 2, 2, |w, a| {
        w.divide_integers(Division::FloorRemainder, "modulo", a[0], a[1])
    }),
    plain("floor-quotient", 2, 2, |w, a| {
        w.divide_integers(Division::FloorQuotient, "floor-quotient", a[0], a[1])
    }),
    plain("floor-remainder", 2, 2, |w, a| {
        w.divide_integers(Division::FloorRemainder, "floor-remainder", a[0], a[1])
    }),
    plain("truncate-quotient", 2, 2, |w, a| {
        w.divide_integers(Division::TruncateQuotient, "truncate-quotient", a[0], a[1])
    }),
    plain("truncate-remainder", 2, 2, |w, a| {
        w.divide_integers(
            Division::TruncateRemainder,
            "truncate-remainder",
            a[0],
            a[1],
        )
    }),
    plain("floor/", 2, 2, |w, a| {
        both(
            w,
            a,
            "floor/",
            Division::FloorQuotient,
            Division::FloorRemainder,
        )
    }),
    plain("truncate/", 2, 2, |w, a| {
        both(
            w,
            a,
            "truncate/",
            Division::TruncateQuotient,
            Division::TruncateRemainder,
        )
    }),
    plain("gcd", 0, MANY, |w, a| {
        a.iter()
            .try_fold(Value::fixnum(0), |result, &value| w.gcd(result, value))
    }),
    plain("lcm", 0, MANY, |w, a| {
        a.iter()
            .try_fold(Value::fixnum(1), |result, &value| w.lcm(result, value))
    }),
    plain("numerator", 1, 1, |w, a| fraction_part(w, a[0], true)),
    plain("denominator", 1, 1, |w, a| fraction_part(w, a[0], false)),
    plain("floor", 1, 1, |w, a| w.round(Rounding::Floor, a[0])),
    plain("ceiling", 1, 1, |w, a| w.round(Rounding::Ceiling, a[0])),
    plain("truncate", 1, 1, |w, a| w.round(Rounding::Truncate, a[0])),
    plain("round", 1, 1, |w, a| w.round(Rounding::Round, a[0])),
    plain("rationalize", 2, 2, |w, a| w.rationalize(a[0], a[1])),
    plain("exact", 1, 1, |w, a| w.exact(a[0])),
    plain("inexact", 1, 1, |w, a| w.inexact(a[0])),
    plain("inexact->exact", 1, 1, |w, a| w.exact(a[0])),
    plain("exact->inexact", 1, 1, |w, a| w.inexact(a[0])),
    plain("square", 1, 1, |w, a| w.arith(Arith::Mul, a[0], a[0])),
    plain("1+", 1, 1, |w, a| {
        w.arith(Arith::Add, a[0], Value::fixnum(1))
    }),
    plain("1-", 1, 1, |w, a| {
        w.arith(Arith::Sub, a[0], Value::fixnum(1))
    }),
    plain("expt", 2, 2, |w, a| w.expt(a[0], a[1])),
    plain("sqrt", 1, 1, |w, a| w.sqrt(a[0])),
    plain("exact-integer-sqrt", 1, 1, |w, a| {
        let (root, rest) = w.integer_sqrt(a[0])?;
        w.heap.object(Object::Values([root, rest].into()))
    }),
    plain("exp", 1, 1, |w, a| {
        w.analysis("exp", f64::exp, Some((0, 1)), a[0])
    }),
    plain("log", 1, 2, log),
    plain("sin", 1, 1, |w, a| {
        w.analysis("sin", f64::sin, Some((0, 0)), a[0])
    }),
    plain("cos", 1, 1, |w, a| {
        w.analysis("cos", f64::cos, Some((0, 1)), a[0])
    }),
    plain("tan", 1, 1, |w, a| {
        w.analysis("tan", f64::tan, Some((0, 0)), a[0])
    }),
    plain("asin", 1, 1, |w, a| {
        w.analysis("asin", f64::asin, Some((0, 0)), a[0])
    }),
    plain("acos", 1, 1, |w, a| {
        w.analysis("acos", f64::acos, Some((1, 0)), a[0])
    }),
    plain("atan", 1, 2, atan),
    plain("number->string", 1, 2, number_to_string),
    plain("string->number", 1, 2, string_to_number),
    plain("bitwise-and", 0, MANY, |w, a| bits(w, a, -1, |x, y| x & y)),
    plain("bitwise-or", 0, MANY, |w, a| bits(w, a, 0, |x, y| x | y)),
    plain("bitwise-xor", 0, MANY, |w, a| bits(w, a, 0, |x, y| x ^ y)),
    plain("bitwise-not", 1, 1, |w, a| {
        let number = w.integer("bitwise-not", a[0])?;
        w.heap.store(Num::Big(-number - 1))
    }),
    plain("arithmetic-shift", 2, 2, shift),
];

fn fold(w: &mut World, a: &[Value], op: Arith, unit: i64) -> Fallible<Value> {
    let Some((&first, rest)) = a.split_first() else {
        return Ok(Value::fixnum(unit));
    };
    w.number(op.name(), first)?;
    rest.iter()
        .try_fold(first, |result, &value| w.arith(op, result, value))
}

fn reduce(w: &mut World, a: &[Value], op: Arith, unit: i64) -> Fallible<Value> {
    match a {
        // Zero minus zero has no sign, but the opposite of zero has.
        [only]
            if op == Arith::Sub
                && let Some(Number::Float(x)) = w.heap.number(*only) =>
        {
            w.heap.flonum(-x)
        }
        [only] => w.arith(op, Value::fixnum(unit), *only),
        _ => fold(w, a, op, unit),
    }
}

fn compare(w: &mut World, a: &[Value], op: Compare) -> Fallible<Value> {
    let mut holds = true;
    if let [only] = a {
        w.number(op.name(), *only)?;
    }
    for pair in a.windows(2) {
        // Every argument is checked, also after the answer is known.
        holds &= w.compare(op, pair[0], pair[1])?;
    }
    Ok(Value::boolean(holds))
}

fn is_rational(w: &mut World, a: &[Value]) -> Fallible<Value> {
    Ok(Value::boolean(match w.heap.number(a[0]) {
        Some(Number::Float(x)) => x.is_finite(),
        number => number.is_some(),
    }))
}

fn is_integer(w: &mut World, a: &[Value]) -> Fallible<Value> {
    Ok(Value::boolean(match w.heap.number(a[0]) {
        Some(Number::Float(x)) => x.is_finite() && x.fract() == 0.0,
        Some(Number::Ratio(_)) => false,
        number => number.is_some(),
    }))
}

fn is_exact_integer(w: &mut World, a: &[Value]) -> Fallible<Value> {
    Ok(Value::boolean(matches!(
        w.heap.number(a[0]),
        Some(Number::Small(_) | Number::Big(_))
    )))
}

fn is_even(w: &mut World, name: &str, value: Value) -> Fallible<bool> {
    match value.as_fixnum() {
        Some(small) => Ok(small % 2 == 0),
        None => Ok(w.integer(name, value)?.is_even()),
    }
}

fn extreme(w: &mut World, a: &[Value], op: Compare) -> Fallible<Value> {
    let mut best = a[0];
    let mut inexact = !w.number("max", best)?.is_exact();
    for &value in &a[1..] {
        let number = w.number("max", value)?;
        inexact |= !number.is_exact();
        let is_nan = matches!(number, Number::Float(x) if x.is_nan());
        if is_nan || w.compare(op, value, best)? {
            best = value;
        }
    }
    if inexact { w.inexact(best) } else { Ok(best) }
}

fn both(
    w: &mut World,
    a: &[Value],
    name: &str,
    quotient: Division,
    remainder: Division,
) -> Fallible<Value> {
    let quotient = w.divide_integers(quotient, name, a[0], a[1])?;
    let remainder = w.divide_integers(remainder, name, a[0], a[1])?;
    w.heap.object(Object::Values([quotient, remainder].into()))
}

fn fraction_part(w: &mut World, value: Value, upper: bool) -> Fallible<Value> {
    let number = w.number("numerator", value)?;
    let inexact = !number.is_exact();
    let Some(ratio) = number.to_ratio() else {
        return Err(w.out_of_range("numerator", value));
    };
    let part = if upper { ratio.numer() } else { ratio.denom() };
    let stored = w.heap.store(Num::Big(part.clone()))?;
    if inexact {
        w.inexact(stored)
    } else {
        Ok(stored)
    }
}

fn log(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let Some(&base) = a.get(1) else {
        return w.analysis("log", f64::ln, Some((1, 0)), a[0]);
    };
    let (x, base) = (
        w.number("log", a[0])?.to_f64(),
        w.number("log", base)?.to_f64(),
    );
    // The special bases round better than a quotient of logarithms.
    let result = if base == 2.0 {
        x.log2()
    } else if base == 10.0 {
        x.log10()
    } else {
        x.ln() / base.ln()
    };
    w.heap.flonum(result)
}

fn atan(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let Some(&x) = a.get(1) else {
        return w.analysis("atan", f64::atan, Some((0, 0)), a[0]);
    };
    if a[0] == Value::fixnum(0) && w.compare(Compare::Greater, x, Value::fixnum(0))? {
        return Ok(Value::fixnum(0));
    }
    let (y, x) = (
        w.number("atan", a[0])?.to_f64(),
        w.number("atan", x)?.to_f64(),
    );
    w.heap.flonum(y.atan2(x))
}

fn radix(w: &World, name: &str, a: &[Value]) -> Fallible<u32> {
    match a.get(1) {
        None => Ok(10),
        Some(&radix) => match radix.as_fixnum() {
            Some(number @ 2..=36) => Ok(u32::try_from(number).unwrap_or(10)),
            _ => Err(w.out_of_range(name, radix)),
        },
    }
}

fn number_to_string(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let radix = radix(w, "number->string", a)?;
    let number = w.number("number->string", a[0])?;
    if let Number::Float(_) = number {
        let text = to_text(number, radix);
        w.charge(text.len() / 4)?;
        return w.heap.string(&text);
    }
    let bits = number.bits();
    w.charge_bits(bits, bits)?;
    w.heap.reserve(
        usize::try_from(bits)
            .unwrap_or(usize::MAX)
            .saturating_mul(4),
    )?;
    let text = to_text(w.number("number->string", a[0])?, radix);
    w.heap.string(&text)
}

fn string_to_number(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let radix = radix(w, "string->number", a)?;
    let text = w.text("string->number", a[0])?;
    w.heap.reserve(text.len() * 2)?;
    let text: String = text.iter().collect();
    match w.parse_number(&text, radix)? {
        Some(number) => w.heap.store(number),
        None => Ok(Value::FALSE),
    }
}

fn bits(
    w: &mut World,
    a: &[Value],
    unit: i64,
    combine: fn(BigInt, BigInt) -> BigInt,
) -> Fallible<Value> {
    let mut result = BigInt::from(unit);
    for &value in a {
        let number = w.integer("bitwise", value)?;
        w.charge_bits(number.bits(), 1)?;
        result = combine(result, number);
    }
    w.heap.store(Num::Big(result))
}

fn shift(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let number = w.integer("arithmetic-shift", a[0])?;
    let Some(count) = w.integer("arithmetic-shift", a[1])?.to_i64() else {
        return Err(Fault::limit(
            ErrorKind::Memory,
            "arithmetic-shift: the shift is too large",
        ));
    };
    let result = if count >= 0 {
        w.check_bits(number.bits().saturating_add(count.unsigned_abs()))?;
        number << count
    } else if count.unsigned_abs() > number.bits() {
        BigInt::from(if number < BigInt::from(0) { -1 } else { 0 })
    } else {
        number >> count.unsigned_abs()
    };
    w.heap.store(Num::Big(result))
}
