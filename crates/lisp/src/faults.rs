//! Faults of the running machine.
//!
//! Owns what becomes of a fault: another try after a collection, a call of the program's handler,
//! or the failure that ends the evaluation.

use crate::error::{ErrorKind, Failure, Fallible, Fault, FaultCause, Position};
use crate::machine::{Machine, Place};
use crate::object::{Condition, Object};
use crate::value::Value;

impl Machine {
    /// Deals with a fault: repeats the operation after a collection, calls the program's handler,
    /// or gives up.
    pub(crate) fn recover(&mut self, fault: Fault) -> Result<(), Box<Failure>> {
        let at = self.pc.saturating_sub(1);
        let position = fault.position.or_else(|| self.source_of(at));
        match *fault.cause {
            FaultCause::Full => self.repeat(at, position),
            FaultCause::Limit(kind, message) => Err(self.failure(kind, message, position)),
            FaultCause::Error(kind, message) => {
                if self.world.handlers == Value::NIL {
                    return Err(self.failure(kind, message, position));
                }
                let made = self.condition(kind, &message, position);
                match made {
                    Ok(condition) => self.signal(condition, position),
                    Err(_) => {
                        // Room for one error object is found or the heap is really full.
                        self.collect();
                        match self.condition(kind, &message, position) {
                            Ok(condition) => self.signal(condition, position),
                            Err(_) => Err(self.out_of_memory(position)),
                        }
                    }
                }
            }
            FaultCause::Raise(object) => self.signal(object, position),
        }
    }

    /// The place in the program's text that an operation belongs to; for one of the standard
    /// library that is the innermost pending call of the program.
    fn source_of(&self, at: u32) -> Option<Position> {
        if at >= self.library_end {
            return self.program.position(at);
        }
        let caller = self
            .frames
            .iter()
            .rev()
            .find(|frame| frame.pc > self.library_end)?;
        self.program.position(caller.pc - 1)
    }

    fn condition(
        &mut self,
        kind: ErrorKind,
        message: &str,
        position: Option<Position>,
    ) -> Fallible<Value> {
        let message = self.world.heap.string(message)?;
        let condition = Condition {
            kind,
            message,
            irritants: Value::NIL,
            position,
        };
        self.world
            .heap
            .object(Object::Condition(Box::new(condition)))
    }

    /// Repeats the operation that found the heap full, once.
    fn repeat(&mut self, at: u32, position: Option<Position>) -> Result<(), Box<Failure>> {
        let calls = self.world.steps().saturating_sub(self.world.charged);
        if let Some((place, before)) = self.repeated
            && place == at
            && calls <= before + 1
        {
            return Err(self.out_of_memory(position));
        }
        self.collect();
        let heap = &self.world.heap;
        // A nearly full heap would be collected over and over.
        if heap.limit.saturating_sub(heap.used) < heap.limit / 64 {
            return Err(self.out_of_memory(position));
        }
        self.repeated = Some((at, calls));
        self.pc = at;
        Ok(())
    }

    fn out_of_memory(&self, position: Option<Position>) -> Box<Failure> {
        let message = format!("more than {} bytes of heap", self.world.limits.heap);
        self.failure(ErrorKind::Memory, message, position)
    }

    pub(crate) fn failure(
        &self,
        kind: ErrorKind,
        message: String,
        position: Option<Position>,
    ) -> Box<Failure> {
        Box::new(Failure {
            kind,
            message,
            position,
            output: self.world.output.clone(),
        })
    }

    /// Calls the innermost handler, or fails when there is none.
    fn signal(&mut self, object: Value, position: Option<Position>) -> Result<(), Box<Failure>> {
        if self.world.handlers == Value::NIL {
            return Err(self.uncaught(object, position));
        }
        let too_deep = |machine: &Self, fault: Fault| match *fault.cause {
            FaultCause::Limit(kind, message) => machine.failure(kind, message, position),
            _ => machine.out_of_memory(position),
        };
        if let Err(fault) = self.push_frame() {
            return Err(too_deep(self, fault));
        }
        self.stack.push(object);
        self.base = self.stack.len() - 1;
        if let Err(fault) = self.apply(self.signal, 1, Place::Tail) {
            return Err(too_deep(self, fault));
        }
        Ok(())
    }

    /// The failure of an object that nothing caught.
    fn uncaught(&self, object: Value, position: Option<Position>) -> Box<Failure> {
        let Some(Object::Condition(condition)) = self.world.heap.get(object) else {
            let shown = self.world.describe(object);
            return self.failure(ErrorKind::Raised, format!("raised {shown}"), position);
        };
        let mut message: String = match self.world.heap.as_text(condition.message) {
            Some(text) => text.iter().take(1000).collect(),
            None => self.world.describe(condition.message),
        };
        let irritants = self
            .world
            .heap
            .list_items(condition.irritants)
            .unwrap_or_default();
        for irritant in irritants.iter().take(20) {
            message.push(' ');
            message.push_str(&self.world.describe(*irritant));
        }
        self.failure(condition.kind, message, condition.position.or(position))
    }
}
