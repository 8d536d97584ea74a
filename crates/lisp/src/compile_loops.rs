//! Code of groups of definitions and of loops.
//!
//! Owns the choice between a jump and a procedure, and the patching of procedures that refer to
//! each other. Loops whose name is only called in tail position become jumps.

use crate::code::Op;
use crate::compile::{Found, Generator, Place};
use crate::syntax::{Lambda, Node, Var};
use crate::value::Value;

#[expect(
    clippy::cast_possible_truncation,
    reason = "source and heap limits bound every count"
)]
impl Generator<'_> {
    pub(crate) fn letrec(&mut self, steps: &[(Option<Var>, Node)], body: &Node, place: Place) {
        let before = self.function().height;
        // All variables get their slots first, since any step may capture any of them.
        for variable in steps.iter().filter_map(|(variable, _)| *variable) {
            let undefined = self.constant(Value::UNDEFINED);
            if self.in_cell(variable) {
                self.emit(Op::Const(undefined));
                self.emit(Op::WrapCell);
                self.emit(Op::Push);
            } else {
                self.emit(Op::PushConst(undefined));
            }
            let slot = self.function().height;
            self.function().slots.insert(variable, slot);
            self.grow(1);
        }
        let mut patches: Vec<(u32, usize, Var)> = Vec::new();
        let mut missing: Vec<Var> = steps.iter().filter_map(|(variable, _)| *variable).collect();
        for (variable, node) in steps {
            let Some(variable) = *variable else {
                self.value(node, Place::Inside);
                continue;
            };
            let Found::Slot(slot) = self.find(variable) else {
                continue;
            };
            let in_cell = self.in_cell(variable);
            if let Node::Lambda(lambda) = node {
                let captured = self.closure(lambda, (!in_cell).then_some(variable));
                for (index, other) in captured.into_iter().enumerate() {
                    if missing.contains(&other) && !self.in_cell(other) {
                        patches.push((slot, index, other));
                    }
                }
            } else {
                self.value(node, Place::Inside);
            }
            self.emit(if in_cell {
                Op::SetLocalCell(slot)
            } else {
                Op::Store(slot)
            });
            missing.retain(|&other| other != variable);
            // A sibling that just came to be is filled into the closures that wait for it.
            let mut waiting = Vec::new();
            patches.retain(|patch| {
                let ready = patch.2 == variable;
                if ready {
                    waiting.push((patch.0, patch.1));
                }
                !ready
            });
            for (closure, index) in waiting {
                if closure > u32::from(u16::MAX) || slot > u32::from(u16::MAX) {
                    self.failed = Some("too many local variables");
                    return;
                }
                let (closure, index, slot) = (closure as u16, index as u16, slot as u16);
                self.emit(Op::Patch {
                    closure,
                    index,
                    slot,
                });
            }
        }
        self.value(body, place);
        self.leave(before, place);
    }

    pub(crate) fn round(&mut self, name: Var, lambda: &Lambda, values: &[Node], place: Place) {
        if self.is_jump(name, lambda, values.len()) && self.function().height < 60_000 {
            return self.inlined_round(name, lambda, values, place);
        }
        let before = self.function().height;
        let undefined = self.constant(Value::UNDEFINED);
        self.emit(Op::PushConst(undefined));
        let slot = before;
        self.function().slots.insert(name, slot);
        self.grow(1);
        if self.in_cell(name) {
            self.emit(Op::MakeCell(slot));
            self.closure(lambda, None);
            self.emit(Op::SetLocalCell(slot));
        } else {
            self.closure(lambda, Some(name));
            self.emit(Op::Store(slot));
        }
        self.call(&Node::Local(name), values, None, place);
        self.leave(before, place);
    }

    fn inlined_round(&mut self, name: Var, lambda: &Lambda, values: &[Node], place: Place) {
        let base = self.function().height;
        for value in values {
            self.push(value);
        }
        let target = self.here();
        let function = self.function();
        for (slot, &variable) in (base..).zip(&lambda.required) {
            function.slots.insert(variable, slot);
        }
        function.rounds.insert(name, (target, base));
        for (slot, &variable) in (base..).zip(&lambda.required) {
            if self.in_cell(variable) {
                self.emit(Op::MakeCell(slot));
            }
        }
        self.value(&lambda.body, place);
        self.function().rounds.remove(&name);
        self.leave(base, place);
    }

    /// Says whether every use of a loop's name is a call in tail position of the loop.
    fn is_jump(&mut self, name: Var, lambda: &Lambda, count: usize) -> bool {
        if let Some(&known) = self.loops.get(&name) {
            return known;
        }
        let variable = self.variables[name as usize];
        let jump = !variable.in_cell
            && count == lambda.required.len()
            && count <= usize::from(u8::MAX)
            && self.tail_calls(&lambda.body, name, count) == variable.references;
        self.loops.insert(name, jump);
        jump
    }

    fn tail_calls(&mut self, node: &Node, name: Var, count: usize) -> u32 {
        match node {
            Node::Call(operator, operands, _) => match **operator {
                Node::Local(called) if called == name && operands.len() == count => 1,
                _ => 0,
            },
            Node::Cond(arms, otherwise) => {
                let mut calls = self.tail_calls(otherwise, name, count);
                for (_, then) in arms {
                    calls += self.tail_calls(then, name, count);
                }
                calls
            }
            Node::And(nodes) | Node::Or(nodes) | Node::Seq(nodes) => nodes
                .last()
                .map_or(0, |last| self.tail_calls(last, name, count)),
            Node::Let(_, body) | Node::Letrec(_, body) => self.tail_calls(body, name, count),
            Node::Loop(inner, lambda, values) if self.is_jump(*inner, lambda, values.len()) => {
                self.tail_calls(&lambda.body, name, count)
            }
            _ => 0,
        }
    }
}
