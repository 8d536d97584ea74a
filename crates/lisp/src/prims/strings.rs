//! Strings.

use super::chars::fold;
use super::{MANY, Primitive, plain};
use crate::error::Fallible;
use crate::object::Object;
use crate::value::Value;
use crate::world::World;

pub(super) const TABLE: &[Primitive] = &[
    plain("string?", 1, 1, |w, a| {
        Ok(Value::boolean(w.heap.as_text(a[0]).is_some()))
    }),
    plain("make-string", 1, 2, make_string),
    plain("string", 0, MANY, string),
    plain("string-length", 1, 1, |w, a| {
        let length = w.text("string-length", a[0])?.len();
        Ok(Value::fixnum(i64::try_from(length).unwrap_or(0)))
    }),
    plain("string-ref", 2, 2, string_ref),
    plain("string-set!", 3, 3, string_set),
    plain("string=?", 1, MANY, |w, a| {
        compare(w, "string=?", a, same, |a, b| a == b)
    }),
    plain("string<?", 1, MANY, |w, a| {
        compare(w, "string<?", a, same, |a, b| a < b)
    }),
    plain("string>?", 1, MANY, |w, a| {
        compare(w, "string>?", a, same, |a, b| a > b)
    }),
    plain("string<=?", 1, MANY, |w, a| {
        compare(w, "string<=?", a, same, |a, b| a <= b)
    }),
    plain("string>=?", 1, MANY, |w, a| {
        compare(w, "string>=?", a, same, |a, b| a >= b)
    }),
    plain("string-ci=?", 1, MANY, |w, a| {
        compare(w, "string-ci=?", a, folded, |a, b| a == b)
    }),
    plain("string-ci<?", 1, MANY, |w, a| {
        compare(w, "string-ci<?", a, folded, |a, b| a < b)
    }),
    plain("string-ci>?", 1, MANY, |w, a| {
        compare(w, "string-ci>?", a, folded, |a, b| a > b)
    }),
    plain("string-ci<=?", 1, MANY, |w, a| {
        compare(w, "string-ci<=?", a, folded, |a, b| a <= b)
    }),
    plain("string-ci>=?", 1, MANY, |w, a| {
        compare(w, "string-ci>=?", a, folded, |a, b| a >= b)
    }),
    plain("substring", 2, 3, |w, a| copy(w, "substring", a)),
    plain("string-copy", 1, 3, |w, a| copy(w, "string-copy", a)),
    plain("string-append", 0, MANY, append),
    plain("string->list", 1, 3, to_list),
    plain("list->string", 1, 1, from_list),
    plain("string->vector", 1, 3, to_vector),
    plain("vector->string", 1, 3, from_vector),
    plain("string-fill!", 2, 4, fill),
    plain("string-copy!", 3, 5, copy_into),
    plain("string-upcase", 1, 1, |w, a| {
        convert(w, "string-upcase", a[0], upper)
    }),
    plain("string-downcase", 1, 1, |w, a| {
        convert(w, "string-downcase", a[0], lower)
    }),
    plain("string-foldcase", 1, 1, |w, a| {
        convert(w, "string-foldcase", a[0], folded)
    }),
    plain("string-reverse", 1, 1, |w, a| {
        convert(w, "string-reverse", a[0], |text| {
            text.iter().rev().copied().collect()
        })
    }),
    plain("string-index", 2, 2, |w, a| {
        let wanted = w.char("string-index", a[1])?;
        let text = w.text("string-index", a[0])?;
        let length = text.len();
        let found = text.iter().position(|&c| c == wanted);
        w.charge(length / 32)?;
        Ok(position(found))
    }),
    plain("string-search-forward", 3, 3, search),
    plain("string-null?", 1, 1, |w, a| {
        Ok(Value::boolean(w.text("string-null?", a[0])?.is_empty()))
    }),
    plain("string-join", 1, 2, join),
];

fn position(found: Option<usize>) -> Value {
    found
        .and_then(|at| i64::try_from(at).ok())
        .map_or(Value::FALSE, Value::fixnum)
}

/// Charges the room and work of a new string of so many characters.
fn prepare(w: &mut World, length: usize) -> Fallible<()> {
    w.heap
        .reserve(length.saturating_mul(4).saturating_add(64))?;
    w.charge(length / 32)
}

fn make_string(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let length = w.index("make-string", a[0])?;
    let c = match a.get(1) {
        Some(&c) => w.char("make-string", c)?,
        None => ' ',
    };
    prepare(w, length)?;
    w.heap.text(vec![c; length])
}

fn string(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let text = a
        .iter()
        .map(|&c| w.char("string", c))
        .collect::<Fallible<Vec<char>>>()?;
    w.heap.text(text)
}

fn string_ref(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let at = w.index("string-ref", a[1])?;
    match w.text("string-ref", a[0])?.get(at) {
        Some(&c) => Ok(Value::char(c)),
        None => Err(w.out_of_range("string-ref", a[1])),
    }
}

fn string_set(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let at = w.index("string-set!", a[1])?;
    let c = w.char("string-set!", a[2])?;
    if at >= w.text("string-set!", a[0])?.len() {
        return Err(w.out_of_range("string-set!", a[1]));
    }
    if let Some(Object::Text(text)) = w.heap.get_mut(a[0]) {
        text[at] = c;
    }
    Ok(Value::UNSPECIFIED)
}

fn upper(text: &[char]) -> Vec<char> {
    text.iter().flat_map(|c| c.to_uppercase()).collect()
}

fn lower(text: &[char]) -> Vec<char> {
    // The final form of sigma depends on its neighbours, which only whole strings know.
    text.iter()
        .collect::<String>()
        .to_lowercase()
        .chars()
        .collect()
}

fn same(text: &[char]) -> Vec<char> {
    text.to_vec()
}

fn folded(text: &[char]) -> Vec<char> {
    text.iter().flat_map(|&c| fold(c)).collect()
}

fn compare(
    w: &mut World,
    name: &str,
    a: &[Value],
    fold: fn(&[char]) -> Vec<char>,
    holds: fn(&[char], &[char]) -> bool,
) -> Fallible<Value> {
    let mut answer = true;
    w.text(name, a[0])?;
    for pair in a.windows(2) {
        let (left, right) = (w.text(name, pair[0])?, w.text(name, pair[1])?);
        let work = left.len().min(right.len()) / 32;
        answer &= if fold as usize == same as fn(&[char]) -> Vec<char> as usize {
            holds(left, right)
        } else {
            w.heap.reserve((left.len() + right.len()) * 12)?;
            holds(&fold(left), &fold(right))
        };
        w.charge(work)?;
    }
    Ok(Value::boolean(answer))
}

fn copy(w: &mut World, name: &str, a: &[Value]) -> Fallible<Value> {
    let length = w.text(name, a[0])?.len();
    let (start, end) = w.range(name, length, &a[1..])?;
    prepare(w, end - start)?;
    let text = w.text(name, a[0])?[start..end].to_vec();
    w.heap.text(text)
}

fn append(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let mut length = 0_usize;
    for &part in a {
        length = length.saturating_add(w.text("string-append", part)?.len());
    }
    prepare(w, length)?;
    let mut text = Vec::with_capacity(length);
    for &part in a {
        text.extend_from_slice(w.text("string-append", part)?);
    }
    w.heap.text(text)
}

fn to_list(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let length = w.text("string->list", a[0])?.len();
    let (start, end) = w.range("string->list", length, &a[1..])?;
    w.charge((end - start) / 8)?;
    w.heap.reserve((end - start) * 24)?;
    let items: Vec<Value> = w.text("string->list", a[0])?[start..end]
        .iter()
        .map(|&c| Value::char(c))
        .collect();
    w.heap.list(&items)
}

fn characters(w: &World, name: &str, items: &[Value]) -> Fallible<Vec<char>> {
    items.iter().map(|&c| w.char(name, c)).collect()
}

fn from_list(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let items = w.proper_list("list->string", a[0])?;
    prepare(w, items.len())?;
    let text = characters(w, "list->string", &items)?;
    w.heap.text(text)
}

fn to_vector(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let length = w.text("string->vector", a[0])?.len();
    let (start, end) = w.range("string->vector", length, &a[1..])?;
    prepare(w, (end - start) * 2)?;
    let items = w.text("string->vector", a[0])?[start..end]
        .iter()
        .map(|&c| Value::char(c))
        .collect();
    w.heap.vector(items)
}

fn from_vector(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let length = w.vector("vector->string", a[0])?.len();
    let (start, end) = w.range("vector->string", length, &a[1..])?;
    prepare(w, end - start)?;
    let text = characters(
        w,
        "vector->string",
        &w.vector("vector->string", a[0])?[start..end],
    )?;
    w.heap.text(text)
}

fn fill(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let c = w.char("string-fill!", a[1])?;
    let length = w.text("string-fill!", a[0])?.len();
    let (start, end) = w.range("string-fill!", length, &a[2..])?;
    w.charge((end - start) / 32)?;
    if let Some(Object::Text(text)) = w.heap.get_mut(a[0]) {
        text[start..end].fill(c);
    }
    Ok(Value::UNSPECIFIED)
}

fn copy_into(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let name = "string-copy!";
    let at = w.index(name, a[1])?;
    let length = w.text(name, a[2])?.len();
    let (start, end) = w.range(name, length, &a[3..])?;
    let room = w.text(name, a[0])?.len();
    if at > room || end - start > room - at {
        return Err(w.out_of_range(name, a[1]));
    }
    prepare(w, end - start)?;
    let part = w.text(name, a[2])?[start..end].to_vec();
    if let Some(Object::Text(text)) = w.heap.get_mut(a[0]) {
        text[at..at + part.len()].copy_from_slice(&part);
    }
    Ok(Value::UNSPECIFIED)
}

fn convert(
    w: &mut World,
    name: &str,
    value: Value,
    change: fn(&[char]) -> Vec<char>,
) -> Fallible<Value> {
    let length = w.text(name, value)?.len();
    // A few characters become up to three.
    prepare(w, length.saturating_mul(3))?;
    let text = change(w.text(name, value)?);
    w.heap.text(text)
}

fn search(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let name = "string-search-forward";
    let start = w.index(name, a[2])?;
    let (pattern, text) = (w.text(name, a[0])?, w.text(name, a[1])?);
    if start > text.len() {
        return Err(w.out_of_range(name, a[2]));
    }
    let work = text.len().saturating_mul(pattern.len().max(1)) / 64;
    w.charge(work)?;
    let (pattern, text) = (w.text(name, a[0])?, w.text(name, a[1])?);
    if pattern.is_empty() {
        return Ok(position(Some(start)));
    }
    let found = text[start..]
        .windows(pattern.len())
        .position(|window| window == pattern);
    Ok(position(found.map(|at| at + start)))
}

fn join(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let name = "string-join";
    let parts = w.proper_list(name, a[0])?;
    let separator = match a.get(1) {
        Some(&separator) => w.text(name, separator)?.clone(),
        None => vec![' '],
    };
    let mut length = separator.len().saturating_mul(parts.len());
    for &part in &parts {
        length = length.saturating_add(w.text(name, part)?.len());
    }
    prepare(w, length)?;
    let mut text = Vec::with_capacity(length);
    for (index, &part) in parts.iter().enumerate() {
        if index > 0 {
            text.extend_from_slice(&separator);
        }
        text.extend_from_slice(w.text(name, part)?);
    }
    w.heap.text(text)
}
