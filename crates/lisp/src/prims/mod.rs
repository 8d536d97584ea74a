//! The primitives: the procedures that are written in Rust.
//!
//! Owns their table and the reading of their arguments; each group has a module. A primitive sees
//! the world and its arguments, never the machine; those that change the flow of control are only
//! named here, and carried out by the machine.

pub(crate) mod bytes;
pub(crate) mod chars;
pub(crate) mod lists;
pub(crate) mod numbers;
pub(crate) mod objects;
pub(crate) mod ports;
pub(crate) mod strings;
pub(crate) mod vectors;

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::error::{ErrorKind, Fallible, Fault};
use crate::value::Value;
use crate::world::World;

/// What `features` and `cond-expand` know.
pub(crate) const FEATURES: [&str; 5] = [
    "r7rs",
    "exact-closed",
    "ratios",
    "full-unicode",
    "attache-lisp",
];

pub(crate) type PrimitiveFn = fn(&mut World, &[Value]) -> Fallible<Value>;

/// A primitive that the machine carries out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    Apply,
    ApplyValues,
    CallCc,
    Eval,
    Resume,
}

/// How a primitive runs.
#[derive(Clone, Copy)]
pub(crate) enum Run {
    Plain(PrimitiveFn),
    Control(Control),
}

/// One primitive.
#[derive(Clone, Copy)]
pub(crate) struct Primitive {
    pub(crate) name: &'static str,
    least: usize,
    most: usize,
    pub(crate) run: Run,
}

impl Primitive {
    #[inline]
    pub(crate) fn accepts(&self, count: usize) -> bool {
        count >= self.least && count <= self.most
    }
}

/// Any number of arguments.
const MANY: usize = usize::MAX;

const fn plain(name: &'static str, least: usize, most: usize, run: PrimitiveFn) -> Primitive {
    Primitive {
        name,
        least,
        most,
        run: Run::Plain(run),
    }
}

const fn control(name: &'static str, least: usize, most: usize, run: Control) -> Primitive {
    Primitive {
        name,
        least,
        most,
        run: Run::Control(run),
    }
}

const CONTROL: &[Primitive] = &[
    control("apply", 2, MANY, Control::Apply),
    control("%apply-values", 2, 2, Control::ApplyValues),
    control("call-with-current-continuation", 1, 1, Control::CallCc),
    control("call/cc", 1, 1, Control::CallCc),
    control("eval", 1, 2, Control::Eval),
    control("%resume", 2, 2, Control::Resume),
];

/// All primitives; the order never changes while a program runs.
pub(crate) fn table() -> &'static [Primitive] {
    static TABLE: OnceLock<Vec<Primitive>> = OnceLock::new();
    TABLE.get_or_init(|| {
        [
            CONTROL,
            lists::TABLE,
            numbers::TABLE,
            strings::TABLE,
            chars::TABLE,
            vectors::TABLE,
            bytes::TABLE,
            ports::TABLE,
            objects::TABLE,
        ]
        .concat()
    })
}

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    table().iter().map(|primitive| primitive.name)
}

/// The value that stands for a primitive.
#[expect(clippy::cast_possible_truncation, reason = "there are few primitives")]
pub(crate) fn value(index: usize) -> Value {
    Value::primitive(index as u32)
}

pub(crate) fn name(index: u32) -> &'static str {
    table()[index as usize].name
}

/// The number of a primitive; the names asked for are literals of this crate.
pub(crate) fn index(name: &str) -> usize {
    static INDEX: OnceLock<HashMap<&'static str, usize>> = OnceLock::new();
    let index = INDEX.get_or_init(|| names().enumerate().map(|(at, name)| (name, at)).collect());
    index.get(name).copied().unwrap_or(0)
}

/// Says whether a call with so many arguments needs nothing of the machine.
pub(crate) fn accepts_plainly(index: u32, count: usize) -> bool {
    let primitive = &table()[index as usize];
    matches!(primitive.run, Run::Plain(_)) && primitive.accepts(count)
}

impl World {
    /// The character an argument must be.
    pub(crate) fn char(&self, procedure: &str, value: Value) -> Fallible<char> {
        value
            .as_char()
            .ok_or_else(|| self.wrong_type(procedure, "a character", value))
    }

    pub(crate) fn text(&self, procedure: &str, value: Value) -> Fallible<&Vec<char>> {
        self.heap
            .as_text(value)
            .ok_or_else(|| self.wrong_type(procedure, "a string", value))
    }

    pub(crate) fn vector(&self, procedure: &str, value: Value) -> Fallible<&Vec<Value>> {
        self.heap
            .as_vector(value)
            .ok_or_else(|| self.wrong_type(procedure, "a vector", value))
    }

    pub(crate) fn bytevector(&self, procedure: &str, value: Value) -> Fallible<&Vec<u8>> {
        self.heap
            .as_bytes(value)
            .ok_or_else(|| self.wrong_type(procedure, "a bytevector", value))
    }

    /// The elements of a proper list, charged.
    pub(crate) fn proper_list(&mut self, procedure: &str, list: Value) -> Fallible<Vec<Value>> {
        let mut items = Vec::new();
        let mut rest = list;
        while let Some([car, cdr]) = self.heap.pair(rest) {
            items.push(car);
            rest = cdr;
            if items.len() % 1024 == 0 {
                self.charge(128)?;
                self.heap.reserve(items.len() * 8)?;
                if items.len() > self.heap.longest_list() {
                    break;
                }
            }
        }
        if rest != Value::NIL {
            return Err(self.wrong_type(procedure, "a list", list));
        }
        Ok(items)
    }

    /// Optional start and end arguments, checked against a length.
    pub(crate) fn range(
        &self,
        procedure: &str,
        length: usize,
        bounds: &[Value],
    ) -> Fallible<(usize, usize)> {
        let end = match bounds.get(1) {
            Some(&end) => self.index(procedure, end)?,
            None => length,
        };
        let start = match bounds.first() {
            Some(&start) => self.index(procedure, start)?,
            None => 0,
        };
        if end > length || start > end {
            return Err(Fault::error(
                ErrorKind::Range,
                format!("{procedure}: from {start} to {end} is not within a length of {length}"),
            ));
        }
        Ok((start, end))
    }
}
