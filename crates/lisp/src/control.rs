//! Calls in general, continuations, faults and collections of the running machine.
//!
//! Owns everything that changes the control state in one piece. An operation of the loop may be
//! repeated after a collection; a call may not, since it has moved its arguments: it collects and
//! repeats its allocation itself.

use std::sync::Arc;

use crate::collect::Collection;
use crate::error::{ErrorKind, Failure, Fallible, Fault, FaultCause, Position};
use crate::machine::{Exit, Machine, Place};
use crate::object::{Condition, Continuation, Frame, Object, RecordRole, Segment, Storage};
use crate::prims::{Control, Run};
use crate::value::Value;

/// Frames brought back to the stack at once.
const REINSTATED: usize = 32;

impl Machine {
    /// Calls any procedure with the topmost `count` values.
    pub(crate) fn apply(
        &mut self,
        callee: Value,
        count: usize,
        place: Place,
    ) -> Fallible<Option<Exit>> {
        let (mut callee, mut count) = (callee, count);
        loop {
            if let Some(index) = callee.as_primitive() {
                let primitive = &self.primitives[index as usize];
                if !primitive.accepts(count) {
                    return Err(wrong_count(primitive.name, count));
                }
                match primitive.run {
                    Run::Plain(run) => {
                        let from = self.stack.len() - count;
                        self.acc = self.with_room(callee, |machine| {
                            run(&mut machine.world, &machine.stack[from..])
                        })?;
                        self.stack.truncate(from);
                        self.finish(place)?;
                        return Ok(None);
                    }
                    Run::Control(Control::Apply) => {
                        (callee, count) = self.spread_list(count)?;
                        continue;
                    }
                    Run::Control(Control::ApplyValues) => {
                        (callee, count) = self.spread_values()?;
                        continue;
                    }
                    Run::Control(Control::CallCc) => {
                        callee = self.with_room(callee, |machine| machine.capture(place))?;
                        // The stack is empty now, so what follows is a tail call in any case.
                        self.base = 0;
                        return self.apply(callee, 1, Place::Tail);
                    }
                    Run::Control(Control::Resume) => {
                        self.resume()?;
                        return Ok(None);
                    }
                    Run::Control(Control::Eval) => {
                        let from = self.stack.len() - count;
                        let datum = self.stack[from];
                        self.leave_call(from, place)?;
                        return Ok(Some(Exit::Compile(datum)));
                    }
                }
            }
            match self.world.heap.get(callee) {
                Some(Object::Closure(closure)) => {
                    let (arity, entry) = (closure.arity, closure.entry);
                    if !arity.accepts(count) {
                        return Err(wrong_count("the procedure", count));
                    }
                    self.enter_closure(
                        callee,
                        entry,
                        usize::from(arity.required),
                        arity.rest,
                        count,
                        place,
                    )?;
                    return Ok(None);
                }
                Some(Object::CaseLambda(choices)) => {
                    let fits = |&&choice: &&Value| {
                        matches!(self.world.heap.get(choice),
                            Some(Object::Closure(closure)) if closure.arity.accepts(count))
                    };
                    match choices.iter().find(fits) {
                        Some(&choice) => callee = choice,
                        None => return Err(wrong_count("the procedure", count)),
                    }
                }
                Some(Object::RecordProcedure(_)) => {
                    self.acc =
                        self.with_room(callee, |machine| machine.record_call(callee, count))?;
                    self.stack.truncate(self.stack.len() - count);
                    self.finish(place)?;
                    return Ok(None);
                }
                Some(Object::Parameter { value, .. }) => {
                    if count != 0 {
                        return Err(wrong_count("the parameter", count));
                    }
                    self.acc = *value;
                    self.finish(place)?;
                    return Ok(None);
                }
                Some(Object::Continuation(continuation)) => {
                    if continuation.winds == self.world.winds {
                        self.with_room(callee, |machine| machine.throw(callee, count))?;
                        return Ok(None);
                    }
                    // Thunks have to run on the way: the standard library walks it.
                    let from = self.stack.len() - count;
                    let values = self.with_room(callee, |machine| {
                        machine.world.heap.list(&machine.stack[from..])
                    })?;
                    self.stack.truncate(from);
                    self.stack.push(callee);
                    self.stack.push(values);
                    callee = self.rewind;
                    count = 2;
                }
                _ => {
                    let shown = self.world.describe(callee);
                    return Err(Fault::error(
                        ErrorKind::Type,
                        format!("{shown} is not a procedure"),
                    ));
                }
            }
        }
    }

    /// Allocates, after a collection if need be; the callee stays reachable meanwhile.
    fn with_room<T>(
        &mut self,
        callee: Value,
        allocate: impl Fn(&mut Self) -> Fallible<T>,
    ) -> Fallible<T> {
        match allocate(self) {
            Err(fault) if fault.is_full() => {
                let acc = std::mem::replace(&mut self.acc, callee);
                self.kept.push(acc);
                self.collect();
                self.kept.pop();
                self.acc = acc;
                let heap = &self.world.heap;
                let message = format!("more than {} bytes of heap", heap.limit);
                let full = || Fault::limit(ErrorKind::Memory, message);
                if heap.limit.saturating_sub(heap.used) < heap.limit / 64 {
                    return Err(full());
                }
                allocate(self).map_err(|fault| if fault.is_full() { full() } else { fault })
            }
            result => result,
        }
    }

    /// Returns the accumulator when the call was a tail call.
    fn finish(&mut self, place: Place) -> Fallible<()> {
        if place == Place::Inside {
            return Ok(());
        }
        match self.frames.pop() {
            Some(frame) => {
                self.stack.truncate(self.base);
                self.restore(frame);
                Ok(())
            }
            None => self.with_room(Value::FALSE, Self::underflow),
        }
    }

    fn restore(&mut self, frame: Frame) {
        self.pc = frame.pc;
        self.base = frame.base as usize;
        self.closure = frame.closure;
    }

    /// Drops the arguments of a call and makes the stack look as its callee leaves it.
    fn leave_call(&mut self, from: usize, place: Place) -> Fallible<()> {
        if place == Place::Inside {
            self.push_frame()?;
            self.stack.truncate(from);
        } else {
            self.stack.truncate(self.base);
        }
        Ok(())
    }

    fn enter_closure(
        &mut self,
        callee: Value,
        entry: u32,
        required: usize,
        rest: bool,
        count: usize,
        place: Place,
    ) -> Fallible<()> {
        let from = self.stack.len() - count;
        let extra = if rest {
            self.world.charge((count - required) / 8)?;
            Some(self.with_room(callee, |machine| {
                machine.world.heap.list(&machine.stack[from + required..])
            })?)
        } else {
            None
        };
        if place == Place::Inside {
            self.push_frame()?;
            self.base = from;
        } else {
            self.stack.copy_within(from.., self.base);
            self.stack.truncate(self.base + count);
        }
        if let Some(extra) = extra {
            self.stack.truncate(self.base + required);
            self.stack.push(extra);
        }
        self.closure = callee;
        self.pc = entry;
        Ok(())
    }

    /// Replaces the arguments of `apply` by those it passes on.
    fn spread_list(&mut self, count: usize) -> Fallible<(Value, usize)> {
        let from = self.stack.len() - count;
        let callee = self.stack[from];
        let last = self.stack[self.stack.len() - 1];
        if count == 1 {
            self.stack.pop();
            return Ok((callee, 0));
        }
        let mut length = 0;
        let mut rest = last;
        while let Some([_, cdr]) = self.world.heap.pair(rest) {
            length += 1;
            rest = cdr;
            if self.stack.len() + length > self.stack_room {
                return Err(Fault::limit(ErrorKind::Depth, "apply: too many arguments"));
            }
        }
        if rest != Value::NIL {
            return Err(self.world.wrong_type("apply", "a list", last));
        }
        self.world.charge(length / 8)?;
        self.stack.pop();
        self.stack.remove(from);
        let mut rest = last;
        while let Some([car, cdr]) = self.world.heap.pair(rest) {
            self.stack.push(car);
            rest = cdr;
        }
        Ok((callee, count - 2 + length))
    }

    fn spread_values(&mut self) -> Fallible<(Value, usize)> {
        let from = self.stack.len() - 2;
        let (callee, result) = (self.stack[from], self.stack[from + 1]);
        let Some(Object::Values(values)) = self.world.heap.get(result) else {
            self.stack[from] = result;
            self.stack.pop();
            return Ok((callee, 1));
        };
        if self.stack.len() + values.len() > self.stack_room {
            return Err(Fault::limit(ErrorKind::Depth, "too many values"));
        }
        self.stack.truncate(from);
        self.stack.extend_from_slice(values);
        Ok((callee, values.len()))
    }

    fn record_call(&mut self, callee: Value, count: usize) -> Fallible<Value> {
        let from = self.stack.len() - count;
        let Some(Object::RecordProcedure(procedure)) = self.world.heap.get(callee) else {
            return Err(Fault::error(ErrorKind::Internal, "not a record procedure"));
        };
        let expected = match &procedure.role {
            RecordRole::Construct(fields) => fields.len(),
            RecordRole::Test | RecordRole::Get(_) => 1,
            RecordRole::Set(_) => 2,
        };
        if count != expected {
            return Err(wrong_count(&procedure.name, count));
        }
        let kind = procedure.kind;
        let arguments = &self.stack[from..];
        if let RecordRole::Construct(numbers) = &procedure.role {
            let total = match self.world.heap.get(kind) {
                Some(Object::RecordType(kind)) => kind.fields.len(),
                _ => 0,
            };
            let mut fields = vec![Value::FALSE; total];
            for (&number, &argument) in numbers.iter().zip(arguments) {
                fields[number as usize] = argument;
            }
            return self.world.heap.object(Object::Record {
                kind,
                fields: fields.into(),
            });
        }
        let record = arguments[0];
        let found = match self.world.heap.get(record) {
            Some(Object::Record { kind: own, fields }) if *own == kind => Some(fields),
            _ => None,
        };
        match (&procedure.role, found) {
            (RecordRole::Test, found) => Ok(Value::boolean(found.is_some())),
            (RecordRole::Get(number), Some(fields)) => Ok(fields[*number as usize]),
            (RecordRole::Set(number), Some(_)) => {
                let (number, value) = (*number as usize, arguments[1]);
                if let Some(Object::Record { fields, .. }) = self.world.heap.get_mut(record) {
                    fields[number] = value;
                }
                Ok(Value::UNSPECIFIED)
            }
            _ => {
                let name = match self.world.heap.get(kind) {
                    Some(Object::RecordType(kind)) => kind.name.clone(),
                    _ => String::new(),
                };
                Err(self
                    .world
                    .wrong_type(&procedure.name, &format!("a record {name}"), record))
            }
        }
    }

    /// Captures the continuation of a call with one argument, the receiver.
    ///
    /// The stack moves into a segment of the heap; the continuation is left on the empty stack and
    /// the receiver is answered.
    fn capture(&mut self, place: Place) -> Fallible<Value> {
        let from = self.stack.len() - 1;
        let receiver = self.stack[from];
        let kept = if place == Place::Inside {
            from
        } else {
            self.base
        };
        let frames = self.frames.len() + usize::from(place == Place::Inside);
        self.world.charge((kept + frames) / 16)?;
        // Both objects are sure to fit before anything changes.
        self.world.heap.reserve(512 + kept * 8 + frames * 16)?;
        self.leave_call(from, place)?;
        self.captured = true;
        let mut segment = self.beneath;
        if !self.frames.is_empty() {
            let depth = self.depth_beneath + self.frames.len();
            let storage = Storage {
                values: self.stack.clone(),
                frames: self.frames.clone(),
            };
            segment = self.world.heap.object(Object::Segment(Box::new(Segment {
                values: storage.values.len(),
                frames: storage.frames.len(),
                storage: Arc::new(storage),
                parent: self.beneath,
                depth,
            })))?;
            self.set_beneath(segment, depth);
        }
        let continuation =
            self.world
                .heap
                .object(Object::Continuation(Box::new(Continuation {
                    segment,
                    winds: self.world.winds,
                    handlers: self.world.handlers,
                    form: self.form,
                })))?;
        self.stack.clear();
        self.frames.clear();
        self.stack.push(continuation);
        Ok(receiver)
    }

    /// Continues at a continuation with the topmost values.
    fn throw(&mut self, continuation: Value, count: usize) -> Fallible<()> {
        let from = self.stack.len() - count;
        let value = if count == 1 {
            self.stack[from]
        } else {
            self.world
                .heap
                .object(Object::Values(self.stack[from..].into()))?
        };
        // A segment may have to be split on the way back.
        self.world.heap.reserve(1024)?;
        let Some(Object::Continuation(target)) = self.world.heap.get(continuation) else {
            return Err(Fault::error(ErrorKind::Internal, "not a continuation"));
        };
        let (segment, form) = (target.segment, target.form);
        (self.world.winds, self.world.handlers) = (target.winds, target.handlers);
        if form.0 == self.form.0 {
            self.form = form;
        }
        let depth = match self.world.heap.get(segment) {
            Some(Object::Segment(segment)) => segment.depth,
            _ => 0,
        };
        self.stack.clear();
        self.frames.clear();
        self.set_beneath(segment, depth);
        self.acc = value;
        self.underflow()
    }

    /// `(%resume continuation values)`: continues there, all thunks having run.
    fn resume(&mut self) -> Fallible<()> {
        let from = self.stack.len() - 2;
        let (continuation, values) = (self.stack[from], self.stack[from + 1]);
        let values = self.world.heap.list_items(values).unwrap_or_default();
        let count = values.len();
        if self.stack.len() + count > self.stack_room {
            return Err(Fault::limit(ErrorKind::Depth, "too many values"));
        }
        self.stack.extend(values);
        self.with_room(continuation, |machine| machine.throw(continuation, count))
    }

    /// Returns into the segment beneath the stack, or ends when there is none.
    pub(crate) fn underflow(&mut self) -> Fallible<()> {
        let Some(Object::Segment(segment)) = self.world.heap.get(self.beneath) else {
            self.stack.clear();
            self.base = 0;
            self.pc = 0;
            return Ok(());
        };
        let storage = Arc::clone(&segment.storage);
        let (values, frames, parent, depth) = (
            segment.values,
            segment.frames,
            segment.parent,
            segment.depth,
        );
        let split = frames.saturating_sub(REINSTATED);
        let offset = if split > 0 {
            storage.frames[split].base as usize
        } else {
            0
        };
        let (below, depth_below) = if split > 0 {
            let depth = depth - (frames - split);
            let lower = Segment {
                storage: Arc::clone(&storage),
                values: offset,
                frames: split,
                parent,
                depth,
            };
            (
                self.world.heap.object(Object::Segment(Box::new(lower)))?,
                depth,
            )
        } else {
            (parent, depth - frames)
        };
        self.stack.clear();
        self.stack
            .extend_from_slice(&storage.values[offset..values]);
        self.frames
            .extend(storage.frames[split..frames].iter().map(|frame| {
                let base = frame.base - u32::try_from(offset).unwrap_or(0);
                Frame { base, ..*frame }
            }));
        self.set_beneath(below, depth_below);
        if let Some(frame) = self.frames.pop() {
            self.restore(frame);
        }
        Ok(())
    }

    /// Frees what nothing can reach.
    pub(crate) fn collect(&mut self) {
        let mut collection = Collection::start(&mut self.world.heap);
        collection.roots(self.stack.iter().copied());
        collection.roots(self.frames.iter().map(|frame| frame.closure));
        collection.roots(
            self.world
                .globals
                .iter()
                .flat_map(|global| [global.name, global.value]),
        );
        collection.roots(self.program.constants.iter().copied());
        collection.roots(self.kept.iter().copied());
        collection.roots(self.expander.roots());
        let parameters = &self.world.changed_parameters;
        collection.roots(
            parameters
                .iter()
                .flat_map(|(&parameter, &value)| [parameter, value]),
        );
        collection.roots([
            self.acc,
            self.closure,
            self.beneath,
            self.signal,
            self.rewind,
            self.world.output_parameter,
            self.world.handlers,
            self.world.winds,
        ]);
        collection.finish();
    }

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

#[cold]
fn wrong_count(name: &str, count: usize) -> Fault {
    let noun = if count == 1 { "argument" } else { "arguments" };
    Fault::error(
        ErrorKind::Arity,
        format!("{name} does not take {count} {noun}"),
    )
}
