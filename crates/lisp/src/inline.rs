//! Calls of primitives and tests, as operations.
//!
//! Owns the table from primitives to operations and the fusion of comparisons with jumps; the rest
//! of code generation is in `compile`.

use crate::code::Op;
use crate::compile::{Generator, Place, small};
use crate::error::Position;
use crate::number::arith::Compare;
use crate::prims;
use crate::syntax::Node;
use crate::value::Value;

/// Emits a call of a primitive whose arguments are pushed.
#[expect(clippy::cast_possible_truncation, reason = "there are few primitives")]
pub(crate) fn primitive(generator: &mut Generator<'_>, name: &str, count: usize) {
    let index = prims::index(name) as u16;
    generator.emit(Op::Primitive {
        index,
        count: count as u16,
    });
}

/// Emits a call of a primitive, if it can be called without the general protocol.
#[expect(clippy::cast_possible_truncation, reason = "there are few primitives")]
pub(crate) fn call(
    generator: &mut Generator<'_>,
    index: u32,
    operands: &[Node],
    position: Option<Position>,
) -> bool {
    let name = prims::name(index);
    if unary(generator, name, operands, position) || binary(generator, name, operands, position) {
        return true;
    }
    let plain = prims::accepts_plainly(index, operands.len());
    if !plain || operands.len() > usize::from(u16::MAX) {
        return false;
    }
    for operand in operands {
        generator.push(operand);
    }
    generator.mark(position);
    generator.emit(Op::Primitive {
        index: index as u16,
        count: operands.len() as u16,
    });
    generator.shrink(operands.len() as u32);
    true
}

fn unary(
    generator: &mut Generator<'_>,
    name: &str,
    operands: &[Node],
    position: Option<Position>,
) -> bool {
    let [operand] = operands else { return false };
    let op = match name {
        "car" => Op::Car,
        "cdr" => Op::Cdr,
        "not" => Op::Not,
        "null?" => Op::Null,
        "pair?" => Op::IsPair,
        _ => return false,
    };
    let op = match (op, generator.plain_slot(operand)) {
        (Op::Car, Some(slot)) => Op::CarLocal(slot),
        (Op::Cdr, Some(slot)) => Op::CdrLocal(slot),
        (op, _) => {
            generator.value(operand, Place::Inside);
            op
        }
    };
    generator.mark(position);
    generator.emit(op);
    true
}

fn binary(
    generator: &mut Generator<'_>,
    name: &str,
    operands: &[Node],
    position: Option<Position>,
) -> bool {
    let [first, rest @ ..] = operands else {
        return false;
    };
    let arithmetic = matches!(name, "+" | "-" | "*");
    if rest.is_empty() || (rest.len() > 1 && !arithmetic) {
        return false;
    }
    let op = match name {
        "+" => Op::Add,
        "-" => Op::Sub,
        "*" => Op::Mul,
        "cons" => Op::Cons,
        "eq?" => Op::Eq,
        "vector-ref" => Op::VectorRef,
        _ => return false,
    };
    // A constant goes last where the order does not matter.
    let (first, rest): (&Node, Vec<&Node>) = match (op, first, rest) {
        (Op::Add, Node::Const(value), [other]) if small(*value).is_some() => (other, vec![first]),
        _ => (first, rest.iter().collect()),
    };
    generator.value(first, Place::Inside);
    for operand in rest {
        let slot = generator.plain_slot(operand);
        let immediate = match operand {
            Node::Const(value) => small(*value),
            _ => None,
        };
        let fused = match (op, immediate, slot) {
            (Op::Add, Some(number), _) => Some(Op::AddInt(number)),
            (Op::Sub, Some(number), _) => Some(Op::SubInt(number)),
            (Op::Add, _, Some(slot)) => Some(Op::AddLocal(slot)),
            (Op::Sub, _, Some(slot)) => Some(Op::SubLocal(slot)),
            _ => None,
        };
        if let Some(fused) = fused {
            generator.mark(position);
            generator.emit(fused);
            continue;
        }
        generator.emit(Op::Push);
        generator.grow(1);
        generator.value(operand, Place::Inside);
        generator.mark(position);
        generator.emit(op);
        generator.shrink(1);
    }
    true
}

/// The primitive that a node calls, with its operands.
fn called(node: &Node) -> Option<(&'static str, &[Node], Option<Position>)> {
    let Node::Call(operator, operands, position) = node else {
        return None;
    };
    let Node::Const(value) = **operator else {
        return None;
    };
    value
        .as_primitive()
        .map(|index| (prims::name(index), operands.as_slice(), *position))
}

/// Emits a test that falls through when it holds; answers the jumps taken when it does not.
pub(crate) fn test(generator: &mut Generator<'_>, node: &Node) -> Vec<usize> {
    match node {
        Node::And(nodes) if !nodes.is_empty() => nodes
            .iter()
            .flat_map(|node| test(generator, node))
            .collect(),
        Node::Or(nodes) if !nodes.is_empty() => {
            let mut holds = Vec::new();
            let mut failed = Vec::new();
            for (index, node) in nodes.iter().enumerate() {
                generator.land(&failed);
                failed = test(generator, node);
                if index + 1 < nodes.len() {
                    holds.push(generator.emit(Op::Jump(0)));
                }
            }
            generator.land(&holds);
            failed
        }
        Node::Const(value) if *value == Value::TRUE => Vec::new(),
        _ => {
            if let Some((name, operands, position)) = called(node)
                && let Some(jump) = fused_test(generator, name, operands, position)
            {
                return vec![jump];
            }
            generator.value(node, Place::Inside);
            vec![generator.emit(Op::JumpIfFalse(0))]
        }
    }
}

fn fused_test(
    generator: &mut Generator<'_>,
    name: &str,
    operands: &[Node],
    position: Option<Position>,
) -> Option<usize> {
    match (name, operands) {
        ("not", [operand]) => {
            generator.value(operand, Place::Inside);
            Some(generator.emit(Op::JumpIfTrue(0)))
        }
        ("null?", [operand]) => {
            generator.value(operand, Place::Inside);
            Some(generator.emit(Op::UnlessNull(0)))
        }
        ("pair?", [operand]) => {
            generator.value(operand, Place::Inside);
            Some(generator.emit(Op::UnlessPair(0)))
        }
        ("zero?", [operand]) => {
            generator.value(operand, Place::Inside);
            generator.mark(position);
            Some(generator.emit(Op::UnlessEqualInt(0, 0)))
        }
        ("eq?", [left, right]) => {
            generator.push(left);
            generator.value(right, Place::Inside);
            generator.shrink(1);
            Some(generator.emit(Op::UnlessEq(0)))
        }
        (_, [left, right]) => {
            let compare = match name {
                "=" => Compare::Equal,
                "<" => Compare::Less,
                ">" => Compare::Greater,
                "<=" => Compare::AtMost,
                ">=" => Compare::AtLeast,
                _ => return None,
            };
            let op = compare_test(generator, compare, left, right);
            generator.mark(position);
            Some(generator.emit(op))
        }
        _ => None,
    }
}

fn compare_test(generator: &mut Generator<'_>, compare: Compare, left: &Node, right: &Node) -> Op {
    let immediate = match right {
        Node::Const(value) => small(*value).and_then(|number| i16::try_from(number).ok()),
        _ => None,
    };
    let slot = generator
        .plain_slot(right)
        .and_then(|slot| u16::try_from(slot).ok());
    if let Some(number) = immediate {
        generator.value(left, Place::Inside);
        return match compare {
            Compare::Equal => Op::UnlessEqualInt(number, 0),
            Compare::Less => Op::UnlessLessInt(number, 0),
            Compare::Greater => Op::UnlessGreaterInt(number, 0),
            Compare::AtMost => Op::UnlessAtMostInt(number, 0),
            Compare::AtLeast => Op::UnlessAtLeastInt(number, 0),
        };
    }
    if let Some(slot) = slot {
        generator.value(left, Place::Inside);
        return match compare {
            Compare::Equal => Op::UnlessEqualLocal(slot, 0),
            Compare::Less => Op::UnlessLessLocal(slot, 0),
            Compare::Greater => Op::UnlessGreaterLocal(slot, 0),
            Compare::AtMost => Op::UnlessAtMostLocal(slot, 0),
            Compare::AtLeast => Op::UnlessAtLeastLocal(slot, 0),
        };
    }
    generator.push(left);
    generator.value(right, Place::Inside);
    generator.shrink(1);
    match compare {
        Compare::Equal => Op::UnlessEqual(0),
        Compare::Less => Op::UnlessLess(0),
        Compare::Greater => Op::UnlessGreater(0),
        Compare::AtMost => Op::UnlessAtMost(0),
        Compare::AtLeast => Op::UnlessAtLeast(0),
    }
}
