//! Vectors.

use super::{MANY, Primitive, plain};
use crate::error::Fallible;
use crate::object::Object;
use crate::value::Value;
use crate::world::World;

pub(super) const TABLE: &[Primitive] = &[
    plain("vector?", 1, 1, |w, a| {
        Ok(Value::boolean(w.heap.as_vector(a[0]).is_some()))
    }),
    plain("make-vector", 1, 2, make_vector),
    plain("vector", 0, MANY, |w, a| w.heap.vector(a.to_vec())),
    plain("vector-length", 1, 1, |w, a| {
        let length = w.vector("vector-length", a[0])?.len();
        Ok(Value::fixnum(i64::try_from(length).unwrap_or(0)))
    }),
    plain("vector-ref", 2, 2, |w, a| item(w, a[0], a[1])),
    plain("vector-set!", 3, 3, vector_set),
    plain("vector->list", 1, 3, to_list),
    plain("list->vector", 1, 1, |w, a| {
        let items = w.proper_list("list->vector", a[0])?;
        w.heap.vector(items)
    }),
    plain("vector-fill!", 2, 4, fill),
    plain("vector-copy", 1, 3, |w, a| copy(w, "vector-copy", a)),
    plain("subvector", 3, 3, |w, a| copy(w, "subvector", a)),
    plain("vector-copy!", 3, 5, copy_into),
    plain("vector-append", 0, MANY, append),
    plain("vector-grow", 2, 2, grow),
];

/// Charges the room and work of a new vector.
fn prepare(w: &mut World, length: usize) -> Fallible<()> {
    w.heap
        .reserve(length.saturating_mul(8).saturating_add(64))?;
    w.charge(length / 16)
}

/// One element, by a checked index.
#[inline(always)]
pub(crate) fn item(w: &World, vector: Value, index: Value) -> Fallible<Value> {
    if let (Some(items), Some(at)) = (w.heap.as_vector(vector), index.as_fixnum())
        && let Ok(at) = usize::try_from(at)
        && at < items.len()
    {
        return Ok(items[at]);
    }
    w.vector("vector-ref", vector)?;
    w.index("vector-ref", index)?;
    Err(w.out_of_range("vector-ref", index))
}

fn make_vector(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let length = w.index("make-vector", a[0])?;
    prepare(w, length)?;
    let fill = a.get(1).copied().unwrap_or(Value::UNSPECIFIED);
    w.heap.vector(vec![fill; length])
}

fn vector_set(w: &mut World, a: &[Value]) -> Fallible<Value> {
    if let Some(Object::Vector(items)) = w.heap.get_mut(a[0])
        && let Some(at) = a[1].as_fixnum().and_then(|at| usize::try_from(at).ok())
        && at < items.len()
    {
        items[at] = a[2];
        return Ok(Value::UNSPECIFIED);
    }
    w.vector("vector-set!", a[0])?;
    w.index("vector-set!", a[1])?;
    Err(w.out_of_range("vector-set!", a[1]))
}

fn to_list(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let length = w.vector("vector->list", a[0])?.len();
    let (start, end) = w.range("vector->list", length, &a[1..])?;
    w.heap.reserve((end - start) * 24)?;
    w.charge((end - start) / 8)?;
    let items = w.vector("vector->list", a[0])?[start..end].to_vec();
    w.heap.list(&items)
}

fn fill(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let length = w.vector("vector-fill!", a[0])?.len();
    let (start, end) = w.range("vector-fill!", length, &a[2..])?;
    w.charge((end - start) / 16)?;
    if let Some(Object::Vector(items)) = w.heap.get_mut(a[0]) {
        items[start..end].fill(a[1]);
    }
    Ok(Value::UNSPECIFIED)
}

fn copy(w: &mut World, name: &str, a: &[Value]) -> Fallible<Value> {
    let length = w.vector(name, a[0])?.len();
    let (start, end) = w.range(name, length, &a[1..])?;
    prepare(w, end - start)?;
    let items = w.vector(name, a[0])?[start..end].to_vec();
    w.heap.vector(items)
}

fn copy_into(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let name = "vector-copy!";
    let at = w.index(name, a[1])?;
    let length = w.vector(name, a[2])?.len();
    let (start, end) = w.range(name, length, &a[3..])?;
    let room = w.vector(name, a[0])?.len();
    if at > room || end - start > room - at {
        return Err(w.out_of_range(name, a[1]));
    }
    prepare(w, end - start)?;
    let part = w.vector(name, a[2])?[start..end].to_vec();
    if let Some(Object::Vector(items)) = w.heap.get_mut(a[0]) {
        items[at..at + part.len()].copy_from_slice(&part);
    }
    Ok(Value::UNSPECIFIED)
}

fn append(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let mut length = 0_usize;
    for &part in a {
        length = length.saturating_add(w.vector("vector-append", part)?.len());
    }
    prepare(w, length)?;
    let mut items = Vec::with_capacity(length);
    for &part in a {
        items.extend_from_slice(w.vector("vector-append", part)?);
    }
    w.heap.vector(items)
}

fn grow(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let length = w.index("vector-grow", a[1])?;
    let mut items = w.vector("vector-grow", a[0])?.clone();
    if length < items.len() {
        return Err(w.out_of_range("vector-grow", a[1]));
    }
    prepare(w, length)?;
    items.resize(length, Value::UNSPECIFIED);
    w.heap.vector(items)
}
