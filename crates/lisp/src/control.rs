//! Calls in general and collections of the running machine.
//!
//! Owns calls of everything that is not simply a closure. An operation of the loop may be repeated
//! after a collection; a call may not, since it has moved its arguments: it collects and repeats
//! its allocation itself.

use crate::collect::Collection;
use crate::error::{ErrorKind, Fallible, Fault};
use crate::machine::{Exit, Machine, Place};
use crate::object::{Frame, Object, RecordRole};
use crate::prims::{Control, Run};
use crate::value::Value;

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
                    let state = self.world.heap.dynamic_state(*continuation);
                    if state.is_some_and(|state| state.winds == self.world.winds) {
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
    pub(crate) fn with_room<T>(
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

    pub(crate) fn restore(&mut self, frame: Frame) {
        self.pc = frame.pc;
        self.base = frame.base as usize;
        self.closure = frame.closure;
    }

    /// Drops the arguments of a call and makes the stack look as its callee leaves it.
    pub(crate) fn leave_call(&mut self, from: usize, place: Place) -> Fallible<()> {
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
        let mut length = 0;
        let mut rest = last;
        while let Some([_, cdr]) = self.world.heap.pair(rest) {
            length += 1;
            rest = cdr;
            if length > self.world.heap.longest_list() {
                break;
            }
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

    /// Frees what nothing can reach.
    pub(crate) fn collect(&mut self) {
        self.state = Value::FALSE;
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
            self.world.input_parameter,
            self.world.handlers,
            self.world.winds,
        ]);
        collection.finish();
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
