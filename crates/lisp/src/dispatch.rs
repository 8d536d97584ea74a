//! The loop over operations.
//!
//! Owns what each operation does to the registers and the stack of the machine, and keeps the
//! registers in variables of its own while it runs.

use crate::code::{Capture, Op};
use crate::error::{ErrorKind, Fallible, Fault};
use crate::heap::Heap;
use crate::limits::Interrupt;
use crate::machine::{Exit, Machine, Place, frame};
use crate::number::arith::{Arith, Compare};
use crate::object::{Arity, Object};
use crate::prims::{self, Run};
use crate::value::Value;

impl Machine {
    #[expect(
        clippy::too_many_lines,
        reason = "one arm per operation, in one place for speed"
    )]
    #[expect(clippy::cast_possible_truncation, reason = "places in code are u32")]
    pub(crate) fn dispatch(&mut self, code: &[Op], interrupt: &dyn Interrupt) -> Fallible<Exit> {
        let mut acc = self.acc;
        let mut pc = self.pc as usize;
        let mut base = self.base;
        let mut closure = self.closure;

        macro_rules! save {
            () => {
                self.acc = acc;
                self.pc = pc as u32;
                self.base = base;
                self.closure = closure;
            };
        }
        macro_rules! load {
            () => {
                acc = self.acc;
                pc = self.pc as usize;
                base = self.base;
                closure = self.closure;
            };
        }
        macro_rules! check {
            ($result:expr) => {
                match $result {
                    Ok(value) => value,
                    Err(fault) => {
                        save!();
                        return Err(fault);
                    }
                }
            };
        }
        // Charges a step before the operation that was just fetched.
        macro_rules! step {
            () => {
                self.world.fuel -= 1;
                if self.world.fuel < 0 {
                    pc -= 1;
                    save!();
                    let looked = self.safe_point(interrupt);
                    pc += 1;
                    check!(looked);
                }
            };
        }
        macro_rules! call {
            ($callee:expr, $count:expr) => {{
                step!();
                let (callee, count): (Value, u16) = ($callee, $count);
                match plain_entry(&self.world.heap, callee, count) {
                    Some(entry) => {
                        if self.frames.len() >= self.room || self.stack.len() >= self.stack_room {
                            check!(Err(self.too_deep()));
                        }
                        self.frames.push(frame(pc as u32, base, closure));
                        base = self.stack.len() - usize::from(count);
                        closure = callee;
                        pc = entry as usize;
                    }
                    None => {
                        save!();
                        let exit = self.apply(callee, usize::from(count), Place::Inside)?;
                        if let Some(exit) = exit {
                            return Ok(exit);
                        }
                        load!();
                    }
                }
            }};
        }
        macro_rules! tail_call {
            ($callee:expr, $count:expr) => {{
                step!();
                let (callee, count): (Value, u16) = ($callee, $count);
                match plain_entry(&self.world.heap, callee, count) {
                    Some(entry) => {
                        let count = usize::from(count);
                        let from = self.stack.len() - count;
                        move_down(&mut self.stack, from, base, count);
                        closure = callee;
                        pc = entry as usize;
                    }
                    None => {
                        save!();
                        let exit = self.apply(callee, usize::from(count), Place::Tail)?;
                        if let Some(exit) = exit {
                            return Ok(exit);
                        }
                        load!();
                    }
                }
            }};
        }
        macro_rules! compare {
            ($compare:expr, $left:expr, $right:expr, $target:expr, $small:expr) => {{
                let (left, right): (Value, Value) = ($left, $right);
                let holds = match left.both_small(right) {
                    Some((a, b)) => $small(&a, &b),
                    None => check!(self.world.compare($compare, left, right)),
                };
                if !holds {
                    pc = $target as usize;
                }
            }};
        }
        macro_rules! top {
            () => {
                self.stack[self.stack.len() - 1]
            };
        }
        macro_rules! compare_stack {
            ($compare:expr, $target:expr, $small:expr) => {{
                let left = top!();
                compare!($compare, left, acc, $target, $small);
                self.stack.pop();
            }};
        }
        macro_rules! global {
            ($index:expr) => {{
                let value = self.world.globals[$index as usize].value;
                if value == Value::UNDEFINED {
                    check!(Err(self.unbound($index)));
                }
                value
            }};
        }

        loop {
            let op = code[pc];
            pc += 1;
            match op {
                Op::Halt => {
                    save!();
                    return Ok(Exit::Done(acc));
                }
                Op::Const(index) => acc = self.program.constants[index as usize],
                Op::Int(number) => acc = Value::fixnum(i64::from(number)),
                Op::Local(slot) => acc = self.stack[base + slot as usize],
                Op::LocalCell(slot) => {
                    let cell = self.stack[base + slot as usize];
                    acc = check!(self.content(cell));
                }
                Op::Captured(index) => acc = captured(&self.world.heap, closure, index),
                Op::CapturedCell(index) => {
                    let cell = captured(&self.world.heap, closure, index);
                    acc = check!(self.content(cell));
                }
                Op::Itself => acc = closure,
                Op::Global(index) => acc = global!(index),
                Op::Push => self.stack.push(acc),
                Op::PushConst(index) => self.stack.push(self.program.constants[index as usize]),
                Op::PushInt(number) => self.stack.push(Value::fixnum(i64::from(number))),
                Op::PushLocal(slot) => {
                    let value = self.stack[base + slot as usize];
                    self.stack.push(value);
                }
                Op::PushCaptured(index) => {
                    self.stack.push(captured(&self.world.heap, closure, index));
                }
                Op::SetLocalCell(slot) => {
                    let cell = self.stack[base + slot as usize];
                    self.set_content(cell, acc);
                    acc = Value::UNSPECIFIED;
                }
                Op::SetCapturedCell(index) => {
                    let cell = captured(&self.world.heap, closure, index);
                    self.set_content(cell, acc);
                    acc = Value::UNSPECIFIED;
                }
                Op::SetGlobal(index) => {
                    global!(index);
                    self.world.globals[index as usize].value = acc;
                    acc = Value::UNSPECIFIED;
                }
                Op::DefineGlobal(index) => {
                    self.world.globals[index as usize].value = acc;
                    acc = Value::UNSPECIFIED;
                }
                Op::Store(slot) => self.stack[base + slot as usize] = acc,
                Op::MakeCell(slot) => {
                    let content = self.stack[base + slot as usize];
                    let cell = check!(self.world.heap.cell(content));
                    self.stack[base + slot as usize] = cell;
                }
                Op::WrapCell => acc = check!(self.world.heap.cell(acc)),
                Op::Drop(count) => {
                    let length = self.stack.len() - count as usize;
                    self.stack.truncate(length);
                }
                Op::Jump(target) => pc = target as usize,
                Op::JumpIfFalse(target) => {
                    if !acc.is_true() {
                        pc = target as usize;
                    }
                }
                Op::JumpIfTrue(target) => {
                    if acc.is_true() {
                        pc = target as usize;
                    }
                }
                Op::Call(count) => call!(acc, count),
                Op::TailCall(count) => tail_call!(acc, count),
                Op::CallGlobal(count, index) => call!(global!(index), count),
                Op::TailCallGlobal(count, index) => tail_call!(global!(index), count),
                Op::Return => {
                    if let Some(frame) = self.frames.pop() {
                        self.stack.truncate(base);
                        pc = frame.pc as usize;
                        base = frame.base as usize;
                        closure = frame.closure;
                    } else {
                        save!();
                        self.underflow()?;
                        load!();
                    }
                }
                Op::Again {
                    count,
                    base: slot,
                    target,
                } => {
                    step!();
                    let count = usize::from(count);
                    let from = self.stack.len() - count;
                    let to = base + usize::from(slot);
                    move_down(&mut self.stack, from, to, count);
                    pc = target as usize;
                }
                Op::MakeClosure(index) => {
                    let template = &self.program.templates[index as usize];
                    let heap = &self.world.heap;
                    let stack = &self.stack;
                    let value = |capture: Capture| match capture {
                        Capture::Slot(slot) => stack[base + slot as usize],
                        Capture::Captured(index) => captured(heap, closure, index),
                        Capture::Itself => closure,
                    };
                    // One and two captures, the common cases, need no loop.
                    let values: Box<[Value]> = match *template.captures {
                        [one] => Box::new([value(one)]),
                        [one, two] => Box::new([value(one), value(two)]),
                        ref more => more.iter().map(|&capture| value(capture)).collect(),
                    };
                    let (entry, arity) = (template.entry, template.arity);
                    acc = check!(self.world.heap.closure(entry, arity, values));
                }
                Op::Patch {
                    closure: patched,
                    index,
                    slot,
                } => {
                    let value = self.stack[base + usize::from(slot)];
                    let mut patched = self.stack[base + usize::from(patched)];
                    if let Some(index) = patched.as_cell() {
                        patched = self.world.heap.cells.get(index);
                    }
                    if let Some(Object::Closure(patched)) = self.world.heap.get_mut(patched) {
                        patched.captured[usize::from(index)] = value;
                    }
                }
                Op::Primitive { index, count } => {
                    let from = self.stack.len() - usize::from(count);
                    if let Run::Plain(run) = self.primitives[usize::from(index)].run {
                        acc = check!(run(&mut self.world, &self.stack[from..]));
                    }
                    self.stack.truncate(from);
                }
                Op::Add => {
                    let left = top!();
                    acc = match left.add_small(acc) {
                        Some(sum) => sum,
                        None => check!(self.world.arith(Arith::Add, left, acc)),
                    };
                    self.stack.pop();
                }
                Op::AddInt(number) => {
                    let right = Value::fixnum(i64::from(number));
                    acc = match acc.add_small(right) {
                        Some(sum) => sum,
                        None => check!(self.world.arith(Arith::Add, acc, right)),
                    };
                }
                Op::AddLocal(slot) => {
                    let right = self.stack[base + slot as usize];
                    acc = match acc.add_small(right) {
                        Some(sum) => sum,
                        None => check!(self.world.arith(Arith::Add, acc, right)),
                    };
                }
                Op::Sub => {
                    let left = top!();
                    acc = match left.sub_small(acc) {
                        Some(difference) => difference,
                        None => check!(self.world.arith(Arith::Sub, left, acc)),
                    };
                    self.stack.pop();
                }
                Op::SubInt(number) => {
                    let right = Value::fixnum(i64::from(number));
                    acc = match acc.sub_small(right) {
                        Some(difference) => difference,
                        None => check!(self.world.arith(Arith::Sub, acc, right)),
                    };
                }
                Op::SubLocal(slot) => {
                    let right = self.stack[base + slot as usize];
                    acc = match acc.sub_small(right) {
                        Some(difference) => difference,
                        None => check!(self.world.arith(Arith::Sub, acc, right)),
                    };
                }
                Op::Mul => {
                    let left = top!();
                    acc = match left.mul_small(acc) {
                        Some(product) => product,
                        None => check!(self.world.arith(Arith::Mul, left, acc)),
                    };
                    self.stack.pop();
                }
                Op::Cons => {
                    let car = top!();
                    acc = check!(self.world.heap.cons(car, acc));
                    self.stack.pop();
                }
                Op::Car => match self.world.heap.pair(acc) {
                    Some([car, _]) => acc = car,
                    None => check!(Err(self.world.wrong_type("car", "a pair", acc))),
                },
                Op::Cdr => match self.world.heap.pair(acc) {
                    Some([_, cdr]) => acc = cdr,
                    None => check!(Err(self.world.wrong_type("cdr", "a pair", acc))),
                },
                Op::CarLocal(slot) => {
                    let pair = self.stack[base + slot as usize];
                    match self.world.heap.pair(pair) {
                        Some([car, _]) => acc = car,
                        None => check!(Err(self.world.wrong_type("car", "a pair", pair))),
                    }
                }
                Op::CdrLocal(slot) => {
                    let pair = self.stack[base + slot as usize];
                    match self.world.heap.pair(pair) {
                        Some([_, cdr]) => acc = cdr,
                        None => check!(Err(self.world.wrong_type("cdr", "a pair", pair))),
                    }
                }
                Op::Not => acc = Value::boolean(!acc.is_true()),
                Op::Null => acc = Value::boolean(acc == Value::NIL),
                Op::IsPair => acc = Value::boolean(acc.as_pair().is_some()),
                Op::Eq => {
                    let left = top!();
                    acc = Value::boolean(left == acc);
                    self.stack.pop();
                }
                Op::VectorRef => {
                    let vector = top!();
                    acc = check!(prims::vectors::item(&self.world, vector, acc));
                    self.stack.pop();
                }
                Op::UnlessNull(target) => {
                    if acc != Value::NIL {
                        pc = target as usize;
                    }
                }
                Op::UnlessPair(target) => {
                    if acc.as_pair().is_none() {
                        pc = target as usize;
                    }
                }
                Op::UnlessEq(target) => {
                    let left = top!();
                    self.stack.pop();
                    if left != acc {
                        pc = target as usize;
                    }
                }
                Op::UnlessEqual(target) => compare_stack!(Compare::Equal, target, i64::eq),
                Op::UnlessEqualInt(number, target) => {
                    let right = Value::fixnum(i64::from(number));
                    compare!(Compare::Equal, acc, right, target, i64::eq);
                }
                Op::UnlessEqualLocal(slot, target) => {
                    let right = self.stack[base + usize::from(slot)];
                    compare!(Compare::Equal, acc, right, target, i64::eq);
                }
                Op::UnlessLess(target) => compare_stack!(Compare::Less, target, i64::lt),
                Op::UnlessLessInt(number, target) => {
                    let right = Value::fixnum(i64::from(number));
                    compare!(Compare::Less, acc, right, target, i64::lt);
                }
                Op::UnlessLessLocal(slot, target) => {
                    let right = self.stack[base + usize::from(slot)];
                    compare!(Compare::Less, acc, right, target, i64::lt);
                }
                Op::UnlessGreater(target) => compare_stack!(Compare::Greater, target, i64::gt),
                Op::UnlessGreaterInt(number, target) => {
                    let right = Value::fixnum(i64::from(number));
                    compare!(Compare::Greater, acc, right, target, i64::gt);
                }
                Op::UnlessGreaterLocal(slot, target) => {
                    let right = self.stack[base + usize::from(slot)];
                    compare!(Compare::Greater, acc, right, target, i64::gt);
                }
                Op::UnlessAtMost(target) => compare_stack!(Compare::AtMost, target, i64::le),
                Op::UnlessAtMostInt(number, target) => {
                    let right = Value::fixnum(i64::from(number));
                    compare!(Compare::AtMost, acc, right, target, i64::le);
                }
                Op::UnlessAtMostLocal(slot, target) => {
                    let right = self.stack[base + usize::from(slot)];
                    compare!(Compare::AtMost, acc, right, target, i64::le);
                }
                Op::UnlessAtLeast(target) => compare_stack!(Compare::AtLeast, target, i64::ge),
                Op::UnlessAtLeastInt(number, target) => {
                    let right = Value::fixnum(i64::from(number));
                    compare!(Compare::AtLeast, acc, right, target, i64::ge);
                }
                Op::UnlessAtLeastLocal(slot, target) => {
                    let right = self.stack[base + usize::from(slot)];
                    compare!(Compare::AtLeast, acc, right, target, i64::ge);
                }
            }
        }
    }

    fn content(&self, cell: Value) -> Fallible<Value> {
        let content = cell
            .as_cell()
            .map_or(Value::UNDEFINED, |at| self.world.heap.cells.get(at));
        if content == Value::UNDEFINED {
            return Err(Fault::error(
                ErrorKind::Unbound,
                "a variable is used before its definition",
            ));
        }
        Ok(content)
    }

    fn set_content(&mut self, cell: Value, content: Value) {
        if let Some(index) = cell.as_cell() {
            *self.world.heap.cells.get_mut(index) = content;
        }
    }

    #[cold]
    fn unbound(&self, global: u32) -> Fault {
        let name = self.world.globals[global as usize].name;
        let name = self.world.heap.symbols.name(name);
        Fault::error(
            ErrorKind::Unbound,
            format!("the variable {name} has no value"),
        )
    }
}

/// Moves the topmost values down to where a frame or loop keeps its variables.
#[inline(always)]
fn move_down(stack: &mut Vec<Value>, from: usize, to: usize, count: usize) {
    if count <= 4 {
        // A few values are moved faster one by one than by a call of the system's routine.
        for index in 0..count {
            stack[to + index] = stack[from + index];
        }
    } else {
        stack.copy_within(from.., to);
    }
    stack.truncate(to + count);
}

/// Where the code of a closure starts that takes exactly so many arguments.
#[inline(always)]
fn plain_entry(heap: &Heap, callee: Value, count: u16) -> Option<u32> {
    match heap.objects.get(callee.as_object()? as usize) {
        Some(Object::Closure(closure))
            if closure.arity
                == (Arity {
                    required: count,
                    rest: false,
                }) =>
        {
            Some(closure.entry)
        }
        _ => None,
    }
}

#[inline(always)]
fn captured(heap: &Heap, closure: Value, index: u32) -> Value {
    match closure.as_object().map(|at| &heap.objects[at as usize]) {
        Some(Object::Closure(closure)) => closure.captured[index as usize],
        _ => Value::UNDEFINED,
    }
}
