//! The heap: allocation, access, and the account of bytes.
//!
//! Owns every Scheme object and charges each before it is made; knows nothing of roots (see
//! `collect`) or of evaluation. Allocation never collects: a full heap is a fault, and the machine
//! collects and tries again at a point where it knows all roots.

use crate::arena::Arena;
use crate::error::{Fallible, Fault};
use crate::object::{
    Arity, Closure, Continuation, DynamicState, InPort, Object, OutPort, PortSink, Segment,
};
use crate::storage::Storage;
use crate::symbols::Symbols;
use crate::value::{Kind, Value};

pub(crate) const PAIR_BYTES: usize = 16;
pub(crate) const CELL_BYTES: usize = 8;
pub(crate) const OBJECT_BYTES: usize = 32;
/// Collections are not worth it below this much new garbage.
const COLLECT_EVERY: usize = 8 << 20;

/// All Scheme objects of a session.
pub(crate) struct Heap {
    pub(crate) pairs: Arena<[Value; 2]>,
    pub(crate) flonums: Arena<f64>,
    pub(crate) cells: Arena<Value>,
    pub(crate) objects: Vec<Object>,
    pub(crate) object_marks: Vec<u64>,
    pub(crate) free_objects: Vec<u32>,
    pub(crate) symbols: Symbols,
    /// Bytes charged, garbage not yet collected included.
    pub(crate) used: usize,
    /// Bytes that collections never give back: compiled code, macros, globals.
    pub(crate) permanent: usize,
    pub(crate) peak: usize,
    pub(crate) limit: usize,
    /// Collect at the next safe point beyond this many bytes.
    pub(crate) collect_at: usize,
}

impl Heap {
    pub(crate) fn new() -> Self {
        Self {
            pairs: Arena::new(),
            flonums: Arena::new(),
            cells: Arena::new(),
            objects: Vec::new(),
            object_marks: Vec::new(),
            free_objects: Vec::new(),
            symbols: Symbols::new(),
            used: 0,
            permanent: 0,
            peak: 0,
            limit: usize::MAX,
            collect_at: COLLECT_EVERY,
        }
    }

    /// Charges bytes before they are allocated.
    #[inline(always)]
    pub(crate) fn charge(&mut self, bytes: usize) -> Fallible<()> {
        let used = self.used.saturating_add(bytes);
        if used > self.limit {
            return Err(Fault::full());
        }
        self.used = used;
        Ok(())
    }

    /// Charges bytes that stay for the life of the session.
    pub(crate) fn charge_permanent(&mut self, bytes: usize) -> Fallible<()> {
        self.charge(bytes)?;
        self.permanent += bytes;
        Ok(())
    }

    /// Gives back bytes that turned out not to stay.
    pub(crate) fn release_permanent(&mut self, bytes: usize) {
        self.permanent = self.permanent.saturating_sub(bytes);
        self.used = self.used.saturating_sub(bytes);
    }

    /// Says whether this many bytes would fit, without charging them.
    pub(crate) fn reserve(&self, bytes: usize) -> Fallible<()> {
        if self.used.saturating_add(bytes) > self.limit {
            Err(Fault::full())
        } else {
            Ok(())
        }
    }

    /// Sets the next collection after `used` was counted anew.
    pub(crate) fn schedule(&mut self) {
        self.collect_at = self.used.saturating_add(self.used.max(COLLECT_EVERY));
    }

    /// Says whether it is time to collect.
    pub(crate) fn is_due(&self) -> bool {
        self.used >= self.collect_at
    }

    #[inline(always)]
    pub(crate) fn cons(&mut self, car: Value, cdr: Value) -> Fallible<Value> {
        self.charge(PAIR_BYTES)?;
        Ok(Value::pair(self.pairs.allocate([car, cdr])))
    }

    pub(crate) fn flonum(&mut self, number: f64) -> Fallible<Value> {
        self.charge(CELL_BYTES)?;
        Ok(Value::flonum(self.flonums.allocate(number)))
    }

    pub(crate) fn cell(&mut self, content: Value) -> Fallible<Value> {
        self.charge(CELL_BYTES)?;
        Ok(Value::cell(self.cells.allocate(content)))
    }

    /// Allocates an object whose extra bytes were not yet charged.
    pub(crate) fn object(&mut self, object: Object) -> Fallible<Value> {
        self.charge(OBJECT_BYTES + object.extra_bytes())?;
        Ok(self.place(object))
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the heap limit keeps indices in u32"
    )]
    fn place(&mut self, object: Object) -> Value {
        if let Some(index) = self.free_objects.pop() {
            self.objects[index as usize] = object;
            return Value::object(index);
        }
        let index = self.objects.len();
        self.objects.push(object);
        if index.is_multiple_of(64) {
            self.object_marks.push(0);
        }
        Value::object(index as u32)
    }

    #[inline(always)]
    pub(crate) fn closure(
        &mut self,
        entry: u32,
        arity: Arity,
        captured: Box<[Value]>,
    ) -> Fallible<Value> {
        self.charge(OBJECT_BYTES + captured.len() * 8)?;
        Ok(self.place(Object::Closure(Closure {
            entry,
            arity,
            captured,
        })))
    }

    pub(crate) fn text(&mut self, text: Vec<char>) -> Fallible<Value> {
        self.object(Object::Text(text))
    }

    pub(crate) fn string(&mut self, text: &str) -> Fallible<Value> {
        self.reserve(text.len() * 4)?;
        self.text(text.chars().collect())
    }

    pub(crate) fn vector(&mut self, items: Vec<Value>) -> Fallible<Value> {
        self.object(Object::Vector(items))
    }

    pub(crate) fn bytes(&mut self, bytes: Vec<u8>) -> Fallible<Value> {
        self.object(Object::Bytes(bytes))
    }

    /// Builds a list that ends in `tail`.
    pub(crate) fn list_onto(&mut self, items: &[Value], tail: Value) -> Fallible<Value> {
        self.reserve(items.len().saturating_mul(PAIR_BYTES))?;
        let mut list = tail;
        for &item in items.iter().rev() {
            list = self.cons(item, list)?;
        }
        Ok(list)
    }

    pub(crate) fn list(&mut self, items: &[Value]) -> Fallible<Value> {
        self.list_onto(items, Value::NIL)
    }

    pub(crate) fn intern(&mut self, name: &str) -> Fallible<Value> {
        if let Some(symbol) = self.symbols.find(name) {
            return Ok(symbol);
        }
        self.charge(Symbols::bytes(name))?;
        Ok(self.symbols.add(name))
    }

    #[inline(always)]
    pub(crate) fn pair(&self, value: Value) -> Option<[Value; 2]> {
        value.as_pair().map(|index| self.pairs.get(index))
    }

    pub(crate) fn get(&self, value: Value) -> Option<&Object> {
        value.as_object().map(|index| &self.objects[index as usize])
    }

    pub(crate) fn get_mut(&mut self, value: Value) -> Option<&mut Object> {
        value
            .as_object()
            .map(|index| &mut self.objects[index as usize])
    }

    pub(crate) fn as_flonum(&self, value: Value) -> Option<f64> {
        match value.kind() {
            Kind::Flonum(index) => Some(self.flonums.get(index)),
            _ => None,
        }
    }

    pub(crate) fn as_text(&self, value: Value) -> Option<&Vec<char>> {
        match self.get(value) {
            Some(Object::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_vector(&self, value: Value) -> Option<&Vec<Value>> {
        match self.get(value) {
            Some(Object::Vector(items)) => Some(items),
            _ => None,
        }
    }

    pub(crate) fn as_bytes(&self, value: Value) -> Option<&Vec<u8>> {
        match self.get(value) {
            Some(Object::Bytes(bytes)) => Some(bytes),
            _ => None,
        }
    }

    pub(crate) fn storage(&self, segment: Segment) -> Option<&Storage> {
        match self.get(segment.storage) {
            Some(Object::Storage(storage)) => Some(storage),
            _ => None,
        }
    }

    /// The dynamic state that a continuation belongs to.
    pub(crate) fn dynamic_state(&self, continuation: Continuation) -> Option<DynamicState> {
        match self.get(continuation.state) {
            Some(Object::DynamicState(state)) => Some(**state),
            _ => None,
        }
    }

    pub(crate) fn as_in_port(&mut self, value: Value) -> Option<&mut InPort> {
        match self.get_mut(value) {
            Some(Object::InPort(port)) => Some(port),
            _ => None,
        }
    }

    /// What an output port collects.
    pub(crate) fn sink(&mut self, port: Value) -> Option<&mut PortSink> {
        self.as_out_port(port).map(|port| &mut port.sink)
    }

    pub(crate) fn as_out_port(&mut self, value: Value) -> Option<&mut OutPort> {
        match self.get_mut(value) {
            Some(Object::OutPort(port)) => Some(port),
            _ => None,
        }
    }

    pub(crate) fn is_procedure(&self, value: Value) -> bool {
        value.as_primitive().is_some()
            || matches!(
                self.get(value),
                Some(
                    Object::Closure(_)
                        | Object::CaseLambda(_)
                        | Object::RecordProcedure(_)
                        | Object::Parameter { .. }
                        | Object::Continuation(_)
                )
            )
    }

    /// Every pair costs heap, so a list that goes on for more pairs than this is a cycle.
    pub(crate) fn longest_list(&self) -> usize {
        self.used / PAIR_BYTES + 1
    }

    /// Collects a proper list; `None` when it is improper or cyclic.
    pub(crate) fn list_items(&self, list: Value) -> Option<Vec<Value>> {
        let mut items = Vec::new();
        let mut rest = list;
        let most = self.longest_list();
        while let Some([car, cdr]) = self.pair(rest) {
            if items.len() > most {
                return None;
            }
            items.push(car);
            rest = cdr;
        }
        (rest == Value::NIL).then_some(items)
    }
}
