//! Pairs, lists and symbols.

use super::{MANY, Primitive, plain};
use crate::equal::eqv;
use crate::error::Fallible;
use crate::value::Value;
use crate::world::World;

pub(super) const TABLE: &[Primitive] = &[
    plain("cons", 2, 2, |w, a| w.heap.cons(a[0], a[1])),
    plain("car", 1, 1, |w, a| path(w, "car", a[0], "a")),
    plain("cdr", 1, 1, |w, a| path(w, "cdr", a[0], "d")),
    plain("caar", 1, 1, |w, a| path(w, "caar", a[0], "aa")),
    plain("cadr", 1, 1, |w, a| path(w, "cadr", a[0], "ad")),
    plain("cdar", 1, 1, |w, a| path(w, "cdar", a[0], "da")),
    plain("cddr", 1, 1, |w, a| path(w, "cddr", a[0], "dd")),
    plain("caaar", 1, 1, |w, a| path(w, "caaar", a[0], "aaa")),
    plain("caadr", 1, 1, |w, a| path(w, "caadr", a[0], "aad")),
    plain("cadar", 1, 1, |w, a| path(w, "cadar", a[0], "ada")),
    plain("caddr", 1, 1, |w, a| path(w, "caddr", a[0], "add")),
    plain("cdaar", 1, 1, |w, a| path(w, "cdaar", a[0], "daa")),
    plain("cdadr", 1, 1, |w, a| path(w, "cdadr", a[0], "dad")),
    plain("cddar", 1, 1, |w, a| path(w, "cddar", a[0], "dda")),
    plain("cdddr", 1, 1, |w, a| path(w, "cdddr", a[0], "ddd")),
    plain("cadddr", 1, 1, |w, a| path(w, "cadddr", a[0], "addd")),
    plain("cddddr", 1, 1, |w, a| path(w, "cddddr", a[0], "dddd")),
    plain("caaaar", 1, 1, |w, a| path(w, "caaaar", a[0], "aaaa")),
    plain("caaadr", 1, 1, |w, a| path(w, "caaadr", a[0], "aaad")),
    plain("caadar", 1, 1, |w, a| path(w, "caadar", a[0], "aada")),
    plain("caaddr", 1, 1, |w, a| path(w, "caaddr", a[0], "aadd")),
    plain("cadaar", 1, 1, |w, a| path(w, "cadaar", a[0], "adaa")),
    plain("cadadr", 1, 1, |w, a| path(w, "cadadr", a[0], "adad")),
    plain("caddar", 1, 1, |w, a| path(w, "caddar", a[0], "adda")),
    plain("cdaaar", 1, 1, |w, a| path(w, "cdaaar", a[0], "daaa")),
    plain("cdaadr", 1, 1, |w, a| path(w, "cdaadr", a[0], "daad")),
    plain("cdadar", 1, 1, |w, a| path(w, "cdadar", a[0], "dada")),
    plain("cdaddr", 1, 1, |w, a| path(w, "cdaddr", a[0], "dadd")),
    plain("cddaar", 1, 1, |w, a| path(w, "cddaar", a[0], "ddaa")),
    plain("cddadr", 1, 1, |w, a| path(w, "cddadr", a[0], "ddad")),
    plain("cdddar", 1, 1, |w, a| path(w, "cdddar", a[0], "ddda")),
    plain("set-car!", 2, 2, |w, a| set_part(w, "set-car!", a, 0)),
    plain("set-cdr!", 2, 2, |w, a| set_part(w, "set-cdr!", a, 1)),
    plain("pair?", 1, 1, |_, a| {
        Ok(Value::boolean(a[0].as_pair().is_some()))
    }),
    plain("null?", 1, 1, |_, a| Ok(Value::boolean(a[0] == Value::NIL))),
    plain("list?", 1, 1, is_list),
    plain("list", 0, MANY, |w, a| w.heap.list(a)),
    plain("cons*", 1, MANY, |w, a| {
        w.heap.list_onto(&a[..a.len() - 1], a[a.len() - 1])
    }),
    plain("make-list", 1, 2, make_list),
    plain("length", 1, 1, length),
    plain("append", 0, MANY, append),
    plain("reverse", 1, 1, reverse),
    plain("list-tail", 2, 2, |w, a| tail(w, "list-tail", a[0], a[1])),
    plain("list-ref", 2, 2, list_ref),
    plain("list-set!", 3, 3, list_set),
    plain("list-copy", 1, 1, list_copy),
    plain("last-pair", 1, 1, last_pair),
    plain("last", 1, 1, last),
    plain("iota", 1, 3, iota),
    plain("memq", 2, 2, |w, a| member(w, a, Same::Identical)),
    plain("memv", 2, 2, |w, a| member(w, a, Same::Equivalent)),
    plain("%member", 2, 2, |w, a| member(w, a, Same::Equal)),
    plain("assq", 2, 2, |w, a| assoc(w, a, Same::Identical)),
    plain("assv", 2, 2, |w, a| assoc(w, a, Same::Equivalent)),
    plain("%assoc", 2, 2, |w, a| assoc(w, a, Same::Equal)),
    plain("symbol?", 1, 1, |_, a| {
        Ok(Value::boolean(a[0].as_symbol().is_some()))
    }),
    plain("symbol=?", 2, MANY, symbols_equal),
    plain("symbol->string", 1, 1, symbol_to_string),
    plain("string->symbol", 1, 1, string_to_symbol),
    plain("symbol-append", 0, MANY, symbol_append),
    plain("eq?", 2, 2, |_, a| Ok(Value::boolean(a[0] == a[1]))),
    plain("eqv?", 2, 2, |w, a| {
        Ok(Value::boolean(eqv(&w.heap, a[0], a[1])))
    }),
    plain("equal?", 2, 2, |w, a| {
        w.equal(a[0], a[1]).map(Value::boolean)
    }),
    plain("not", 1, 1, |_, a| Ok(Value::boolean(!a[0].is_true()))),
    plain("boolean?", 1, 1, |_, a| {
        Ok(Value::boolean(is_boolean(a[0])))
    }),
    plain("boolean=?", 2, MANY, booleans_equal),
];

/// Follows a path of cars and cdrs, last letter first.
fn path(w: &mut World, name: &str, value: Value, steps: &str) -> Fallible<Value> {
    let mut part = value;
    for step in steps.bytes().rev() {
        let Some([car, cdr]) = w.heap.pair(part) else {
            return Err(w.wrong_type(name, "a pair", value));
        };
        part = if step == b'a' { car } else { cdr };
    }
    Ok(part)
}

fn set_part(w: &mut World, name: &str, a: &[Value], part: usize) -> Fallible<Value> {
    match a[0].as_pair() {
        Some(index) => {
            w.heap.pairs.get_mut(index)[part] = a[1];
            Ok(Value::UNSPECIFIED)
        }
        None => Err(w.wrong_type(name, "a pair", a[0])),
    }
}

fn is_list(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let (mut slow, mut fast) = (a[0], a[0]);
    let mut count = 0_usize;
    loop {
        for _ in 0..2 {
            match w.heap.pair(fast) {
                Some([_, cdr]) => fast = cdr,
                None => return Ok(Value::boolean(fast == Value::NIL)),
            }
        }
        slow = w.heap.pair(slow).map_or(slow, |[_, cdr]| cdr);
        if slow == fast {
            return Ok(Value::FALSE);
        }
        count += 1;
        if count.is_multiple_of(64) {
            w.charge(16)?;
        }
    }
}

fn make_list(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let count = w.index("make-list", a[0])?;
    let fill = a.get(1).copied().unwrap_or(Value::UNSPECIFIED);
    w.heap.reserve(count.saturating_mul(16))?;
    w.charge(count / 8)?;
    let mut list = Value::NIL;
    for _ in 0..count {
        list = w.heap.cons(fill, list)?;
    }
    Ok(list)
}

fn length(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let mut count = 0_usize;
    let mut rest = a[0];
    while let Some([_, cdr]) = w.heap.pair(rest) {
        count += 1;
        rest = cdr;
        if count.is_multiple_of(64) {
            w.charge(8)?;
            if count > w.heap.longest_list() {
                break;
            }
        }
    }
    if rest != Value::NIL {
        return Err(w.wrong_type("length", "a list", a[0]));
    }
    Ok(Value::fixnum(i64::try_from(count).unwrap_or(0)))
}

fn append(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let Some((&last, lists)) = a.split_last() else {
        return Ok(Value::NIL);
    };
    let mut result = last;
    for &list in lists.iter().rev() {
        let items = w.proper_list("append", list)?;
        w.charge(items.len() / 8)?;
        result = w.heap.list_onto(&items, result)?;
    }
    Ok(result)
}

fn reverse(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let most = w.heap.longest_list();
    let mut result = Value::NIL;
    let mut rest = a[0];
    let mut count = 0_usize;
    while let Some([car, cdr]) = w.heap.pair(rest) {
        result = w.heap.cons(car, result)?;
        rest = cdr;
        count += 1;
        if count.is_multiple_of(64) {
            w.charge(8)?;
            if count > most {
                break;
            }
        }
    }
    if rest != Value::NIL {
        return Err(w.wrong_type("reverse", "a list", a[0]));
    }
    Ok(result)
}

fn tail(w: &mut World, name: &str, list: Value, index: Value) -> Fallible<Value> {
    let count = w.index(name, index)?;
    let mut rest = list;
    for step in 0..count {
        match w.heap.pair(rest) {
            Some([_, cdr]) => rest = cdr,
            None => return Err(w.out_of_range(name, index)),
        }
        if step % 64 == 63 {
            w.charge(8)?;
        }
    }
    Ok(rest)
}

fn list_ref(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let rest = tail(w, "list-ref", a[0], a[1])?;
    match w.heap.pair(rest) {
        Some([car, _]) => Ok(car),
        None => Err(w.out_of_range("list-ref", a[1])),
    }
}

fn list_set(w: &mut World, a: &[Value]) -> Fallible<Value> {
    match tail(w, "list-set!", a[0], a[1])?.as_pair() {
        Some(index) => {
            w.heap.pairs.get_mut(index)[0] = a[2];
            Ok(Value::UNSPECIFIED)
        }
        None => Err(w.out_of_range("list-set!", a[1])),
    }
}

fn list_copy(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let mut items = Vec::new();
    let mut rest = a[0];
    while let Some([car, cdr]) = w.heap.pair(rest) {
        items.push(car);
        rest = cdr;
        if items.len() % 64 == 0 {
            w.charge(8)?;
            w.heap.reserve(items.len() * 8)?;
        }
    }
    w.heap.list_onto(&items, rest)
}

fn last_pair(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let mut pair = a[0];
    let mut count = 0_usize;
    while let Some([_, cdr]) = w.heap.pair(pair) {
        if cdr.as_pair().is_none() {
            return Ok(pair);
        }
        pair = cdr;
        count += 1;
        if count.is_multiple_of(64) {
            w.charge(8)?;
        }
    }
    Err(w.wrong_type("last-pair", "a pair", a[0]))
}

fn last(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let pair = last_pair(w, a)?;
    path(w, "last", pair, "a")
}

fn iota(w: &mut World, a: &[Value]) -> Fallible<Value> {
    use crate::number::arith::Arith;
    let count = w.index("iota", a[0])?;
    let start = a.get(1).copied().unwrap_or(Value::fixnum(0));
    let step = a.get(2).copied().unwrap_or(Value::fixnum(1));
    w.heap.reserve(count.saturating_mul(16))?;
    w.charge(count / 4)?;
    let mut items = Vec::with_capacity(count);
    for index in 0..i64::try_from(count).unwrap_or(0) {
        let offset = w.arith(Arith::Mul, Value::fixnum(index), step)?;
        items.push(w.arith(Arith::Add, start, offset)?);
    }
    w.heap.list(&items)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Same {
    Identical,
    Equivalent,
    Equal,
}

impl Same {
    fn holds(self, w: &mut World, a: Value, b: Value) -> Fallible<bool> {
        Ok(match self {
            _ if a == b => true,
            Self::Identical => false,
            Self::Equivalent => eqv(&w.heap, a, b),
            // What is neither compound nor a boxed number equals only itself.
            Self::Equal if a.as_object().is_none() && a.as_pair().is_none() => eqv(&w.heap, a, b),
            Self::Equal => w.equal(a, b)?,
        })
    }
}

fn member(w: &mut World, a: &[Value], same: Same) -> Fallible<Value> {
    let mut rest = a[1];
    let mut count = 0_usize;
    while let Some([car, cdr]) = w.heap.pair(rest) {
        if same.holds(w, a[0], car)? {
            return Ok(rest);
        }
        rest = cdr;
        count += 1;
        if count.is_multiple_of(64) {
            w.charge(8)?;
        }
    }
    if rest != Value::NIL {
        return Err(w.wrong_type("member", "a list", a[1]));
    }
    Ok(Value::FALSE)
}

fn assoc(w: &mut World, a: &[Value], same: Same) -> Fallible<Value> {
    let mut rest = a[1];
    let mut count = 0_usize;
    while let Some([entry, cdr]) = w.heap.pair(rest) {
        let Some([key, _]) = w.heap.pair(entry) else {
            return Err(w.wrong_type("assoc", "a list of pairs", entry));
        };
        if same.holds(w, a[0], key)? {
            return Ok(entry);
        }
        rest = cdr;
        count += 1;
        if count.is_multiple_of(64) {
            w.charge(8)?;
        }
    }
    if rest != Value::NIL {
        return Err(w.wrong_type("assoc", "a list", a[1]));
    }
    Ok(Value::FALSE)
}

fn symbols_equal(w: &mut World, a: &[Value]) -> Fallible<Value> {
    match a.iter().find(|value| value.as_symbol().is_none()) {
        Some(&other) => Err(w.wrong_type("symbol=?", "a symbol", other)),
        None => Ok(Value::boolean(a.iter().all(|&value| value == a[0]))),
    }
}

fn is_boolean(value: Value) -> bool {
    value == Value::TRUE || value == Value::FALSE
}

fn booleans_equal(w: &mut World, a: &[Value]) -> Fallible<Value> {
    match a.iter().find(|&&value| !is_boolean(value)) {
        Some(&other) => Err(w.wrong_type("boolean=?", "a boolean", other)),
        None => Ok(Value::boolean(a.iter().all(|&value| value == a[0]))),
    }
}

fn symbol_to_string(w: &mut World, a: &[Value]) -> Fallible<Value> {
    if a[0].as_symbol().is_none() {
        return Err(w.wrong_type("symbol->string", "a symbol", a[0]));
    }
    let name = w.heap.symbols.name(a[0]);
    w.heap.string(&name)
}

fn string_to_symbol(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let text = w.text("string->symbol", a[0])?;
    w.heap.reserve(text.len() * 4)?;
    let name: String = text.iter().collect();
    w.heap.intern(&name)
}

fn symbol_append(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let mut joined = String::new();
    for &symbol in a {
        if symbol.as_symbol().is_none() {
            return Err(w.wrong_type("symbol-append", "a symbol", symbol));
        }
        joined.push_str(&w.heap.symbols.name(symbol));
        w.heap.reserve(joined.len())?;
    }
    w.heap.intern(&joined)
}
