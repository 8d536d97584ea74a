//! Characters.

use super::{MANY, Primitive, plain};
use crate::error::Fallible;
use crate::value::Value;
use crate::world::World;

pub(super) const TABLE: &[Primitive] = &[
    plain("char?", 1, 1, |_, a| {
        Ok(Value::boolean(a[0].as_char().is_some()))
    }),
    plain("char->integer", 1, 1, |w, a| {
        Ok(Value::fixnum(i64::from(u32::from(
            w.char("char->integer", a[0])?,
        ))))
    }),
    plain("integer->char", 1, 1, |w, a| {
        let number = u32::try_from(w.index("integer->char", a[0])?).ok();
        match number.and_then(char::from_u32) {
            Some(c) => Ok(Value::char(c)),
            None => Err(w.out_of_range("integer->char", a[0])),
        }
    }),
    plain("char=?", 1, MANY, |w, a| {
        compare(w, "char=?", a, |c| c, |a, b| a == b)
    }),
    plain("char<?", 1, MANY, |w, a| {
        compare(w, "char<?", a, |c| c, |a, b| a < b)
    }),
    plain("char>?", 1, MANY, |w, a| {
        compare(w, "char>?", a, |c| c, |a, b| a > b)
    }),
    plain("char<=?", 1, MANY, |w, a| {
        compare(w, "char<=?", a, |c| c, |a, b| a <= b)
    }),
    plain("char>=?", 1, MANY, |w, a| {
        compare(w, "char>=?", a, |c| c, |a, b| a >= b)
    }),
    plain("char-ci=?", 1, MANY, |w, a| {
        compare(w, "char-ci=?", a, fold_single, |a, b| a == b)
    }),
    plain("char-ci<?", 1, MANY, |w, a| {
        compare(w, "char-ci<?", a, fold_single, |a, b| a < b)
    }),
    plain("char-ci>?", 1, MANY, |w, a| {
        compare(w, "char-ci>?", a, fold_single, |a, b| a > b)
    }),
    plain("char-ci<=?", 1, MANY, |w, a| {
        compare(w, "char-ci<=?", a, fold_single, |a, b| a <= b)
    }),
    plain("char-ci>=?", 1, MANY, |w, a| {
        compare(w, "char-ci>=?", a, fold_single, |a, b| a >= b)
    }),
    plain("char-alphabetic?", 1, 1, |w, a| {
        test(w, a, char::is_alphabetic)
    }),
    plain("char-numeric?", 1, 1, |w, a| {
        test(w, a, |c| digit(c).is_some())
    }),
    plain("char-whitespace?", 1, 1, |w, a| {
        test(w, a, char::is_whitespace)
    }),
    plain("char-upper-case?", 1, 1, |w, a| {
        test(w, a, char::is_uppercase)
    }),
    plain("char-lower-case?", 1, 1, |w, a| {
        test(w, a, char::is_lowercase)
    }),
    plain("digit-value", 1, 1, |w, a| {
        let c = w.char("digit-value", a[0])?;
        Ok(digit(c).map_or(Value::FALSE, |value| Value::fixnum(i64::from(value))))
    }),
    plain("char-upcase", 1, 1, |w, a| {
        Ok(Value::char(upper(w.char("char-upcase", a[0])?)))
    }),
    plain("char-downcase", 1, 1, |w, a| {
        Ok(Value::char(lower(w.char("char-downcase", a[0])?)))
    }),
    plain("char-foldcase", 1, 1, |w, a| {
        Ok(Value::char(fold_single(w.char("char-foldcase", a[0])?)))
    }),
];

/// The first characters of the decimal digit runs of Unicode outside the supplementary planes.
const ZEROS: [u32; 37] = [
    0x30, 0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66,
    0xDE6, 0xE50, 0xED0, 0xF20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90,
    0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10,
];

/// The value of a decimal digit of any script.
fn digit(c: char) -> Option<u32> {
    let code = u32::from(c);
    let zero = ZEROS.iter().rev().find(|&&zero| zero <= code)?;
    (code - zero < 10).then_some(code - zero)
}

/// The simple case mapping: a character that maps to several stays itself.
fn single(c: char, mut mapped: impl Iterator<Item = char>) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

fn upper(c: char) -> char {
    single(c, c.to_uppercase())
}

fn lower(c: char) -> char {
    single(c, c.to_lowercase())
}

/// The full case folding of Unicode, which may give several characters.
///
/// Lowering, raising and lowering again brings the characters that differ by case alone together:
/// `ß` and `ẞ` become `ss`, `ſ` becomes `s`, `ς` becomes `σ`. Unicode makes two exceptions: the
/// dotless i stays itself, and the Cherokee letters fold to their capitals, which are the older.
pub(crate) fn fold(c: char) -> impl Iterator<Item = char> {
    let folded: Folded = match c {
        'ı' => [Some(c), None, None],
        '\u{13A0}'..='\u{13FD}' | '\u{AB70}'..='\u{ABBF}' => [Some(upper(c)), None, None],
        _ => {
            let mut lowered = c
                .to_lowercase()
                .flat_map(char::to_uppercase)
                .flat_map(char::to_lowercase);
            [lowered.next(), lowered.next(), lowered.next()]
        }
    };
    folded.into_iter().flatten()
}

/// No character folds to more than three.
type Folded = [Option<char>; 3];

/// The simple case folding: one character for one.
fn fold_single(c: char) -> char {
    single(lower(c), fold(c))
}

fn test(w: &mut World, a: &[Value], holds: fn(char) -> bool) -> Fallible<Value> {
    Ok(Value::boolean(holds(w.char("char", a[0])?)))
}

fn compare(
    w: &mut World,
    name: &str,
    a: &[Value],
    fold: fn(char) -> char,
    holds: fn(char, char) -> bool,
) -> Fallible<Value> {
    let mut answer = true;
    w.char(name, a[0])?;
    for pair in a.windows(2) {
        let (left, right) = (w.char(name, pair[0])?, w.char(name, pair[1])?);
        answer &= holds(fold(left), fold(right));
    }
    Ok(Value::boolean(answer))
}
