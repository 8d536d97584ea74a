//! From core forms to code.
//!
//! Owns slots, captures, jumps and the choice of operations; knows nothing of syntax or of how
//! code runs. Loops whose name is only called in tail position become jumps; variables that are
//! assigned live in cells; closures copy what they capture.

use std::collections::HashMap;

use crate::code::{Capture, Op, Program, Target, Template};
use crate::error::{ErrorKind, Fallible, Fault, Position};
use crate::inline;
use crate::object::Arity;
use crate::syntax::{Lambda, Node, Var, Variable};
use crate::value::Value;

/// Compiles a top-level form; answers where its code starts. Code without a place of its own is
/// where the form is.
pub(crate) fn compile(
    node: &Node,
    variables: &[Variable],
    place: Option<Position>,
    program: &mut Program,
) -> Fallible<u32> {
    let mut generator = Generator {
        variables,
        program,
        place,
        functions: Vec::new(),
        loops: HashMap::new(),
        failed: None,
    };
    generator.begin_function(Function::default());
    generator.value(node, Place::Tail);
    let (entry, _) = generator.finish_function();
    match generator.failed {
        Some(message) => Err(Fault::error(ErrorKind::Syntax, message)),
        None => Ok(entry),
    }
}

/// Whether the value of a node is the value of the procedure around it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Tail,
    Inside,
}

/// A procedure being compiled.
#[derive(Default)]
pub(crate) struct Function {
    ops: Vec<Op>,
    positions: Vec<(u32, Position)>,
    pub(crate) slots: HashMap<Var, u32>,
    captured: Vec<Var>,
    /// Values above the base of the frame.
    pub(crate) height: u32,
    /// The variable that holds this very procedure.
    itself: Option<Var>,
    /// Inlined loops around the present place: where they start, and their first slot.
    pub(crate) rounds: HashMap<Var, (Target, u32)>,
}

/// Where a variable is found.
#[derive(Clone, Copy)]
pub(crate) enum Found {
    Slot(u32),
    Captured(u32),
    Itself,
}

pub(crate) struct Generator<'a> {
    pub(crate) variables: &'a [Variable],
    program: &'a mut Program,
    /// Where the form is.
    place: Option<Position>,
    functions: Vec<Function>,
    /// Loops known to be jumps or not.
    pub(crate) loops: HashMap<Var, bool>,
    pub(crate) failed: Option<&'static str>,
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "source and heap limits bound every count"
)]
impl Generator<'_> {
    pub(crate) fn function(&mut self) -> &mut Function {
        let last = self.functions.len() - 1;
        &mut self.functions[last]
    }

    pub(crate) fn emit(&mut self, op: Op) -> usize {
        let function = self.function();
        function.ops.push(op);
        function.ops.len() - 1
    }

    pub(crate) fn mark(&mut self, position: Option<Position>) {
        if let Some(position) = position {
            let function = self.function();
            let at = function.ops.len() as u32;
            function.positions.push((at, position));
        }
    }

    pub(crate) fn here(&mut self) -> Target {
        self.function().ops.len() as Target
    }

    /// Lets earlier jumps end at the present place.
    pub(crate) fn land(&mut self, jumps: &[usize]) {
        let here = self.here();
        let function = self.function();
        for &jump in jumps {
            if let Some(target) = function.ops[jump].target_mut() {
                *target = here;
            }
        }
    }

    pub(crate) fn grow(&mut self, count: u32) {
        self.function().height += count;
    }

    pub(crate) fn shrink(&mut self, count: u32) {
        self.function().height -= count;
    }

    fn begin_function(&mut self, function: Function) {
        self.functions.push(function);
        self.mark(self.place);
    }

    /// Adds a finished function to the program.
    fn finish_function(&mut self) -> (u32, Vec<Var>) {
        let Some(function) = self.functions.pop() else {
            return (0, Vec::new());
        };
        let entry = self.program.ops.len() as u32;
        self.program
            .ops
            .extend(function.ops.into_iter().map(|mut op| {
                if let Some(target) = op.target_mut() {
                    *target += entry;
                }
                op
            }));
        self.program.positions.extend(
            function
                .positions
                .into_iter()
                .map(|(at, position)| (at + entry, position)),
        );
        (entry, function.captured)
    }

    fn find_in(&mut self, level: usize, variable: Var) -> Found {
        let function = &mut self.functions[level];
        if function.itself == Some(variable) {
            return Found::Itself;
        }
        if let Some(&slot) = function.slots.get(&variable) {
            return Found::Slot(slot);
        }
        let known = function
            .captured
            .iter()
            .position(|&captured| captured == variable);
        Found::Captured(known.unwrap_or_else(|| {
            function.captured.push(variable);
            function.captured.len() - 1
        }) as u32)
    }

    pub(crate) fn find(&mut self, variable: Var) -> Found {
        self.find_in(self.functions.len() - 1, variable)
    }

    pub(crate) fn in_cell(&self, variable: Var) -> bool {
        self.variables[variable as usize].in_cell
    }

    /// The slot of a local variable that is not in a cell.
    pub(crate) fn plain_slot(&mut self, node: &Node) -> Option<u32> {
        let Node::Local(variable) = node else {
            return None;
        };
        if self.in_cell(*variable) {
            return None;
        }
        match self.find(*variable) {
            Found::Slot(slot) => Some(slot),
            _ => None,
        }
    }

    pub(crate) fn constant(&mut self, value: Value) -> u32 {
        self.program.constants.push(value);
        (self.program.constants.len() - 1) as u32
    }

    fn done(&mut self, place: Place) {
        if place == Place::Tail {
            self.emit(Op::Return);
        }
    }

    /// Code that leaves the value of a node in the accumulator, or returns it.
    pub(crate) fn value(&mut self, node: &Node, place: Place) {
        match node {
            Node::Const(value) => {
                let op = match small(*value) {
                    Some(number) => Op::Int(number),
                    None => Op::Const(self.constant(*value)),
                };
                self.emit(op);
                self.done(place);
            }
            Node::Local(variable) => {
                let op = match (self.find(*variable), self.in_cell(*variable)) {
                    (Found::Slot(slot), false) => Op::Local(slot),
                    (Found::Slot(slot), true) => Op::LocalCell(slot),
                    (Found::Captured(index), false) => Op::Captured(index),
                    (Found::Captured(index), true) => Op::CapturedCell(index),
                    (Found::Itself, _) => Op::Itself,
                };
                self.emit(op);
                self.done(place);
            }
            Node::Global(global, position) => {
                self.mark(*position);
                self.emit(Op::Global(*global));
                self.done(place);
            }
            Node::SetLocal(variable, value) => {
                self.value(value, Place::Inside);
                let op = match self.find(*variable) {
                    Found::Slot(slot) => Op::SetLocalCell(slot),
                    Found::Captured(index) => Op::SetCapturedCell(index),
                    Found::Itself => Op::Halt,
                };
                self.emit(op);
                self.done(place);
            }
            Node::SetGlobal(global, value, position) => {
                self.value(value, Place::Inside);
                self.mark(*position);
                self.emit(Op::SetGlobal(*global));
                self.done(place);
            }
            Node::Define(global, value) => {
                self.value(value, Place::Inside);
                self.emit(Op::DefineGlobal(*global));
                self.done(place);
            }
            Node::Cond(arms, otherwise) => self.cond(arms, otherwise, place),
            Node::And(nodes) => self.chain(nodes, Value::TRUE, Op::JumpIfFalse(0), place),
            Node::Or(nodes) => self.chain(nodes, Value::FALSE, Op::JumpIfTrue(0), place),
            Node::Seq(nodes) => {
                if let Some((last, effects)) = nodes.split_last() {
                    for effect in effects {
                        self.value(effect, Place::Inside);
                    }
                    self.value(last, place);
                }
            }
            Node::Lambda(lambda) => {
                self.closure(lambda, None);
                self.done(place);
            }
            Node::CaseLambda(lambdas) => {
                for lambda in lambdas {
                    self.closure(lambda, None);
                    self.emit(Op::Push);
                    self.grow(1);
                }
                inline::primitive(self, "%case-lambda", lambdas.len());
                self.shrink(lambdas.len() as u32);
                self.done(place);
            }
            Node::Call(operator, operands, position) => {
                self.call(operator, operands, *position, place);
            }
            Node::Let(bindings, body) => {
                let before = self.function().height;
                for (variable, value) in bindings {
                    if self.in_cell(*variable) {
                        self.value(value, Place::Inside);
                        self.emit(Op::WrapCell);
                        self.emit(Op::Push);
                        self.grow(1);
                    } else {
                        self.push(value);
                    }
                    let slot = self.function().height - 1;
                    self.function().slots.insert(*variable, slot);
                }
                self.value(body, place);
                self.leave(before, place);
            }
            Node::Letrec(steps, body) => self.letrec(steps, body, place),
            Node::Loop(name, lambda, values) => self.round(*name, lambda, values, place),
        }
    }

    /// Forgets the slots above a height, unless a return does.
    pub(crate) fn leave(&mut self, height: u32, place: Place) {
        let extra = self.function().height - height;
        if place == Place::Inside && extra > 0 {
            self.emit(Op::Drop(extra));
        }
        self.function().height = height;
    }

    /// Code that pushes the value of a node.
    pub(crate) fn push(&mut self, node: &Node) {
        let op = match node {
            Node::Const(value) => match small(*value) {
                Some(number) => Some(Op::PushInt(number)),
                None => Some(Op::PushConst(self.constant(*value))),
            },
            Node::Local(variable) if !self.in_cell(*variable) => match self.find(*variable) {
                Found::Slot(slot) => Some(Op::PushLocal(slot)),
                Found::Captured(index) => Some(Op::PushCaptured(index)),
                Found::Itself => None,
            },
            _ => None,
        };
        match op {
            Some(op) => {
                self.emit(op);
            }
            None => {
                self.value(node, Place::Inside);
                self.emit(Op::Push);
            }
        }
        self.grow(1);
    }

    fn cond(&mut self, arms: &[(Node, Node)], otherwise: &Node, place: Place) {
        let mut ends = Vec::new();
        for (test, then) in arms {
            let failed = inline::test(self, test);
            self.value(then, place);
            if place == Place::Inside {
                ends.push(self.emit(Op::Jump(0)));
            }
            self.land(&failed);
        }
        self.value(otherwise, place);
        self.land(&ends);
    }

    /// `and` and `or`: all but the last value may end the evaluation.
    fn chain(&mut self, nodes: &[Node], empty: Value, jump: Op, place: Place) {
        let Some((last, tests)) = nodes.split_last() else {
            return self.value(&Node::Const(empty), place);
        };
        let mut ends = Vec::new();
        for test in tests {
            self.value(test, Place::Inside);
            ends.push(self.emit(jump));
        }
        self.value(last, place);
        self.land(&ends);
        if place == Place::Tail && !tests.is_empty() {
            self.emit(Op::Return);
        }
    }

    pub(crate) fn call(
        &mut self,
        operator: &Node,
        operands: &[Node],
        position: Option<Position>,
        place: Place,
    ) {
        if let Node::Local(name) = operator
            && let Some(&(target, base)) = self.function().rounds.get(name)
        {
            return self.again(operands, target, base);
        }
        if let Node::Const(value) = operator
            && let Some(index) = value.as_primitive()
            && inline::call(self, index, operands, position)
        {
            return self.done(place);
        }
        if operands.len() > usize::from(u16::MAX) {
            self.failed = Some("too many arguments");
            return;
        }
        for operand in operands {
            self.push(operand);
        }
        let count = operands.len() as u16;
        if let Node::Global(global, _) = operator {
            self.mark(position);
            self.emit(match place {
                Place::Tail => Op::TailCallGlobal(count, *global),
                Place::Inside => Op::CallGlobal(count, *global),
            });
        } else {
            self.value(operator, Place::Inside);
            self.mark(position);
            self.emit(match place {
                Place::Tail => Op::TailCall(count),
                Place::Inside => Op::Call(count),
            });
        }
        self.shrink(u32::from(count));
    }

    fn again(&mut self, operands: &[Node], target: Target, base: u32) {
        for operand in operands {
            self.push(operand);
        }
        let (count, base) = (operands.len() as u8, base as u16);
        self.emit(Op::Again {
            count,
            base,
            target,
        });
        self.shrink(u32::from(count));
    }

    /// Code that makes a closure; answers the variables it captures.
    pub(crate) fn closure(&mut self, lambda: &Lambda, itself: Option<Var>) -> Vec<Var> {
        let mut function = Function {
            itself,
            ..Function::default()
        };
        for &parameter in lambda.required.iter().chain(&lambda.rest) {
            function.slots.insert(parameter, function.height);
            function.height += 1;
        }
        self.begin_function(function);
        for &parameter in lambda.required.iter().chain(&lambda.rest) {
            if self.in_cell(parameter)
                && let Found::Slot(slot) = self.find(parameter)
            {
                self.emit(Op::MakeCell(slot));
            }
        }
        self.value(&lambda.body, Place::Tail);
        let (entry, captured) = self.finish_function();
        let captures = captured
            .iter()
            .map(|&variable| match self.find(variable) {
                Found::Slot(slot) => Capture::Slot(slot),
                Found::Captured(index) => Capture::Captured(index),
                Found::Itself => Capture::Itself,
            })
            .collect();
        let arity = Arity {
            required: lambda.required.len() as u16,
            rest: lambda.rest.is_some(),
        };
        self.program.templates.push(Template {
            entry,
            arity,
            captures,
        });
        let template = (self.program.templates.len() - 1) as u32;
        self.emit(Op::MakeClosure(template));
        captured
    }
}

/// A number that fits into an operation.
pub(crate) fn small(value: Value) -> Option<i32> {
    value
        .as_fixnum()
        .and_then(|number| i32::try_from(number).ok())
}
