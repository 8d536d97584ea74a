//! The heap objects that are neither pairs, floats nor variable cells.
//!
//! Owns their shapes and sizes; knows nothing of how they are allocated or collected.

use num_bigint::BigInt;
use num_rational::BigRational;

use crate::error::{ErrorKind, Position};
use crate::storage::Storage;
use crate::value::Value;

/// One object of the heap.
pub(crate) enum Object {
    /// An unused place.
    Free,
    Text(Vec<char>),
    Vector(Vec<Value>),
    Bytes(Vec<u8>),
    Big(Box<BigInt>),
    Ratio(Box<BigRational>),
    Closure(Closure),
    /// Closures tried in order until one accepts the number of arguments.
    CaseLambda(Box<[Value]>),
    /// Zero, two or more values on their way to a receiver.
    Values(Box<[Value]>),
    /// A pair of a flag (forced) and either the value or the procedure that computes it.
    Promise(Value),
    Record {
        kind: Value,
        fields: Box<[Value]>,
    },
    RecordType(Box<RecordType>),
    RecordProcedure(Box<RecordProcedure>),
    Parameter {
        value: Value,
        converter: Value,
    },
    Condition(Box<Condition>),
    Storage(Storage),
    Segment(Segment),
    Continuation(Continuation),
    DynamicState(Box<DynamicState>),
    /// An identifier that a macro inserted, standing for `name` where the macro was defined.
    Alias {
        name: Value,
        scope: u32,
    },
    InPort(Box<InPort>),
    OutPort(Box<OutPort>),
}

/// A procedure written in Scheme.
pub(crate) struct Closure {
    /// Where its code starts.
    pub(crate) entry: u32,
    pub(crate) arity: Arity,
    pub(crate) captured: Box<[Value]>,
}

/// How many arguments a closure takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Arity {
    pub(crate) required: u16,
    pub(crate) rest: bool,
}

impl Arity {
    pub(crate) fn accepts(self, count: usize) -> bool {
        let required = usize::from(self.required);
        if self.rest {
            count >= required
        } else {
            count == required
        }
    }
}

/// What `define-record-type` creates.
pub(crate) struct RecordType {
    pub(crate) name: String,
    pub(crate) fields: Vec<Value>,
}

/// The procedures of a record type.
pub(crate) struct RecordProcedure {
    pub(crate) name: String,
    pub(crate) kind: Value,
    pub(crate) role: RecordRole,
}

/// What a record procedure does.
pub(crate) enum RecordRole {
    /// Builds a record; each argument goes to the field of that number.
    Construct(Box<[u32]>),
    Test,
    Get(u32),
    Set(u32),
}

/// An error object.
pub(crate) struct Condition {
    pub(crate) kind: ErrorKind,
    pub(crate) message: Value,
    pub(crate) irritants: Value,
    pub(crate) position: Option<Position>,
}

/// A call that waits for another to return.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub(crate) pc: u32,
    pub(crate) base: u32,
    pub(crate) closure: Value,
}

/// The lower part of a storage, and the segment beneath it.
#[derive(Clone, Copy)]
pub(crate) struct Segment {
    pub(crate) storage: Value,
    pub(crate) parent: Value,
    pub(crate) values: u32,
    pub(crate) frames: u32,
}

/// A captured continuation: a chain of segments and the dynamic state that belongs to it.
#[derive(Clone, Copy)]
pub(crate) struct Continuation {
    pub(crate) segment: Value,
    pub(crate) state: Value,
}

/// The dynamic state that continuations have in common while it does not change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct DynamicState {
    pub(crate) winds: Value,
    pub(crate) handlers: Value,
    /// The evaluation and the top-level form.
    pub(crate) form: (u64, usize),
}

/// A port that reads from a string or a bytevector.
pub(crate) struct InPort {
    pub(crate) source: PortSource,
    pub(crate) next: usize,
    pub(crate) open: bool,
}

/// What an input port reads from.
pub(crate) enum PortSource {
    Text(Vec<char>),
    Bytes(Vec<u8>),
}

/// A port that collects what is written.
pub(crate) struct OutPort {
    pub(crate) sink: PortSink,
    pub(crate) open: bool,
}

/// What an output port collects; it stays when the port is closed.
pub(crate) enum PortSink {
    Text(String),
    Bytes(Vec<u8>),
}

impl Object {
    /// Bytes beyond the object's own place, as the heap limit counts them.
    pub(crate) fn extra_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.capacity() * 4,
            Self::Vector(items) => items.capacity() * 8,
            Self::Bytes(bytes) => bytes.capacity(),
            Self::Big(number) => big_bytes(number),
            Self::Ratio(ratio) => big_bytes(ratio.numer()) + big_bytes(ratio.denom()),
            Self::Closure(closure) => closure.captured.len() * 8,
            Self::CaseLambda(items) | Self::Values(items) => items.len() * 8,
            Self::Record { fields, .. } => fields.len() * 8,
            Self::RecordType(kind) => 64 + kind.fields.len() * 8,
            Self::RecordProcedure(_) | Self::DynamicState(_) | Self::Condition(_) => 64,
            Self::Storage(storage) => storage.bytes(),
            Self::InPort(port) => match &port.source {
                PortSource::Text(text) => 48 + text.capacity() * 4,
                PortSource::Bytes(bytes) => 48 + bytes.capacity(),
            },
            Self::OutPort(port) => match &port.sink {
                PortSink::Text(text) => 32 + text.capacity(),
                PortSink::Bytes(bytes) => 32 + bytes.capacity(),
            },
            _ => 0,
        }
    }
}

/// Bytes that a big integer takes.
pub(crate) fn big_bytes(number: &BigInt) -> usize {
    usize::try_from(number.bits() / 8)
        .unwrap_or(usize::MAX / 4)
        .saturating_add(48)
}
