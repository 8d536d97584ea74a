//! Bytevectors.

use super::{MANY, Primitive, plain};
use crate::error::{ErrorKind, Fallible, Fault};
use crate::object::Object;
use crate::value::Value;
use crate::world::World;

pub(super) const TABLE: &[Primitive] = &[
    plain("bytevector?", 1, 1, |w, a| {
        Ok(Value::boolean(w.heap.as_bytes(a[0]).is_some()))
    }),
    plain("make-bytevector", 1, 2, make),
    plain("bytevector", 0, MANY, |w, a| {
        let bytes = a
            .iter()
            .map(|&b| byte(w, "bytevector", b))
            .collect::<Fallible<Vec<u8>>>()?;
        w.heap.bytes(bytes)
    }),
    plain("bytevector-length", 1, 1, |w, a| {
        let length = w.bytevector("bytevector-length", a[0])?.len();
        Ok(Value::fixnum(i64::try_from(length).unwrap_or(0)))
    }),
    plain("bytevector-u8-ref", 2, 2, |w, a| {
        let at = w.index("bytevector-u8-ref", a[1])?;
        match w.bytevector("bytevector-u8-ref", a[0])?.get(at) {
            Some(&byte) => Ok(Value::fixnum(i64::from(byte))),
            None => Err(w.out_of_range("bytevector-u8-ref", a[1])),
        }
    }),
    plain("bytevector-u8-set!", 3, 3, set),
    plain("bytevector-copy", 1, 3, copy),
    plain("bytevector-copy!", 3, 5, copy_into),
    plain("bytevector-append", 0, MANY, append),
    plain("bytevector-fill!", 2, 4, fill),
    plain("utf8->string", 1, 3, to_string),
    plain("string->utf8", 1, 3, from_string),
];

/// The byte an argument must be.
pub(crate) fn byte(w: &World, name: &str, value: Value) -> Fallible<u8> {
    u8::try_from(w.index(name, value)?).map_err(|_| w.out_of_range(name, value))
}

fn prepare(w: &mut World, length: usize) -> Fallible<()> {
    w.heap.reserve(length.saturating_add(64))?;
    w.charge(length / 64)
}

fn make(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let length = w.index("make-bytevector", a[0])?;
    let fill = match a.get(1) {
        Some(&fill) => byte(w, "make-bytevector", fill)?,
        None => 0,
    };
    prepare(w, length)?;
    w.heap.bytes(vec![fill; length])
}

fn set(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let name = "bytevector-u8-set!";
    let at = w.index(name, a[1])?;
    let byte = byte(w, name, a[2])?;
    if at >= w.bytevector(name, a[0])?.len() {
        return Err(w.out_of_range(name, a[1]));
    }
    if let Some(Object::Bytes(bytes)) = w.heap.get_mut(a[0]) {
        bytes[at] = byte;
    }
    Ok(Value::UNSPECIFIED)
}

fn copy(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let name = "bytevector-copy";
    let length = w.bytevector(name, a[0])?.len();
    let (start, end) = w.range(name, length, &a[1..])?;
    prepare(w, end - start)?;
    let bytes = w.bytevector(name, a[0])?[start..end].to_vec();
    w.heap.bytes(bytes)
}

fn copy_into(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let name = "bytevector-copy!";
    let at = w.index(name, a[1])?;
    let length = w.bytevector(name, a[2])?.len();
    let (start, end) = w.range(name, length, &a[3..])?;
    let room = w.bytevector(name, a[0])?.len();
    if at > room || end - start > room - at {
        return Err(w.out_of_range(name, a[1]));
    }
    prepare(w, end - start)?;
    let part = w.bytevector(name, a[2])?[start..end].to_vec();
    if let Some(Object::Bytes(bytes)) = w.heap.get_mut(a[0]) {
        bytes[at..at + part.len()].copy_from_slice(&part);
    }
    Ok(Value::UNSPECIFIED)
}

fn append(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let mut length = 0_usize;
    for &part in a {
        length = length.saturating_add(w.bytevector("bytevector-append", part)?.len());
    }
    prepare(w, length)?;
    let mut bytes = Vec::with_capacity(length);
    for &part in a {
        bytes.extend_from_slice(w.bytevector("bytevector-append", part)?);
    }
    w.heap.bytes(bytes)
}

fn fill(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let name = "bytevector-fill!";
    let fill = byte(w, name, a[1])?;
    let length = w.bytevector(name, a[0])?.len();
    let (start, end) = w.range(name, length, &a[2..])?;
    w.charge((end - start) / 64)?;
    if let Some(Object::Bytes(bytes)) = w.heap.get_mut(a[0]) {
        bytes[start..end].fill(fill);
    }
    Ok(Value::UNSPECIFIED)
}

fn to_string(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let name = "utf8->string";
    let length = w.bytevector(name, a[0])?.len();
    let (start, end) = w.range(name, length, &a[1..])?;
    prepare(w, (end - start) * 4)?;
    match std::str::from_utf8(&w.bytevector(name, a[0])?[start..end]) {
        Ok(text) => {
            let text = text.chars().collect();
            w.heap.text(text)
        }
        Err(_) => Err(Fault::error(
            ErrorKind::Range,
            "utf8->string: the bytes are not UTF-8",
        )),
    }
}

fn from_string(w: &mut World, a: &[Value]) -> Fallible<Value> {
    let name = "string->utf8";
    let length = w.text(name, a[0])?.len();
    let (start, end) = w.range(name, length, &a[1..])?;
    prepare(w, (end - start) * 4)?;
    let text: String = w.text(name, a[0])?[start..end].iter().collect();
    w.heap.bytes(text.into_bytes())
}
