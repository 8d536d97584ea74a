//! Quasiquotation.
//!
//! Owns nested templates of lists and vectors; a template without holes stays a constant.

use crate::error::Fallible;
use crate::syntax::Node;
use crate::syntax::expand::{Expander, Head};
use crate::syntax::scopes::{ScopeId, Special};
use crate::value::Value;
use crate::world::World;

/// A part of a list template.
enum Part {
    Item(Node),
    Splice(Node),
}

impl Expander {
    pub(crate) fn quasiquote(
        &mut self,
        world: &mut World,
        template: Value,
        scope: ScopeId,
    ) -> Fallible<Node> {
        self.template(world, template, 1, scope)
    }

    fn template(
        &mut self,
        world: &mut World,
        template: Value,
        level: usize,
        scope: ScopeId,
    ) -> Fallible<Node> {
        if let Some(items) = world.heap.as_vector(template).cloned() {
            let list = world.heap.list(&items)?;
            return match self.nested_template(world, list, level, scope)? {
                Node::Const(_) => Ok(Node::Const(self.strip(world, template)?)),
                list => self.standard_call(world, "list->vector", vec![list]),
            };
        }
        if template.as_pair().is_some() {
            return self.nested_template(world, template, level, scope);
        }
        Ok(Node::Const(self.strip(world, template)?))
    }

    fn nested_template(
        &mut self,
        world: &mut World,
        template: Value,
        level: usize,
        scope: ScopeId,
    ) -> Fallible<Node> {
        self.deeper(world, |expander, world| {
            expander.list_template(world, template, level, scope)
        })
    }

    /// The operand of `(keyword operand)` when the form is one.
    fn operand(&self, world: &World, form: Value, scope: ScopeId) -> Option<(Special, Value)> {
        let Head::Special(special) = self.head(world, form, scope) else {
            return None;
        };
        let [_, rest] = world.heap.pair(form)?;
        let [operand, end] = world.heap.pair(rest)?;
        (end == Value::NIL).then_some((special, operand))
    }

    fn list_template(
        &mut self,
        world: &mut World,
        template: Value,
        level: usize,
        scope: ScopeId,
    ) -> Fallible<Node> {
        let mut parts = Vec::new();
        let mut rest = template;
        let tail = loop {
            match self.operand(world, rest, scope) {
                // Also in the tail: `(a . ,b)` reads as `(a unquote b)`.
                Some((Special::Unquote, operand)) if level == 1 => {
                    break self.expression(world, operand, scope)?;
                }
                Some((special @ (Special::Unquote | Special::Quasiquote), operand)) => {
                    let level = if special == Special::Unquote {
                        level - 1
                    } else {
                        level + 1
                    };
                    let inner = self.template(world, operand, level, scope)?;
                    let [keyword, _] = world.heap.pair(rest).unwrap_or([Value::NIL; 2]);
                    let keyword = Node::Const(self.strip(world, keyword)?);
                    break if let Node::Const(_) = inner {
                        Node::Const(self.strip(world, rest)?)
                    } else {
                        self.standard_call(world, "list", vec![keyword, inner])?
                    };
                }
                Some((Special::UnquoteSplicing, _)) if level == 1 => {
                    return Err(self.syntax("nothing to splice into"));
                }
                _ => {}
            }
            let Some([car, cdr]) = world.heap.pair(rest) else {
                break Node::Const(self.strip(world, rest)?);
            };
            world.charge(1)?;
            parts.push(match self.operand(world, car, scope) {
                Some((Special::UnquoteSplicing, operand)) if level == 1 => {
                    Part::Splice(self.expression(world, operand, scope)?)
                }
                Some((Special::UnquoteSplicing, operand)) => {
                    let inner = self.template(world, operand, level - 1, scope)?;
                    let keyword = world
                        .heap
                        .pair(car)
                        .map_or(Value::NIL, |[keyword, _]| keyword);
                    let keyword = Node::Const(self.strip(world, keyword)?);
                    Part::Item(self.standard_call(world, "list", vec![keyword, inner])?)
                }
                _ => Part::Item(self.template(world, car, level, scope)?),
            });
            rest = cdr;
        };
        let constant = |part: &Part| matches!(part, Part::Item(Node::Const(_)));
        if matches!(tail, Node::Const(_)) && parts.iter().all(constant) {
            return Ok(Node::Const(self.strip(world, template)?));
        }
        self.assemble(world, parts, tail)
    }

    /// Builds the list: runs of items become one call each, so that length is not nesting.
    fn assemble(&mut self, world: &mut World, parts: Vec<Part>, tail: Node) -> Fallible<Node> {
        let mut pieces = Vec::new();
        let mut run = Vec::new();
        for part in parts {
            match part {
                Part::Item(node) => run.push(node),
                Part::Splice(node) => {
                    if !run.is_empty() {
                        let items = std::mem::take(&mut run);
                        pieces.push(self.standard_call(world, "list", items)?);
                    }
                    pieces.push(node);
                }
            }
        }
        let tail = if run.is_empty() {
            tail
        } else if matches!(tail, Node::Const(Value::NIL)) {
            self.standard_call(world, "list", run)?
        } else {
            run.push(tail);
            self.standard_call(world, "cons*", run)?
        };
        if pieces.is_empty() {
            return Ok(tail);
        }
        pieces.push(tail);
        self.standard_call(world, "append", pieces)
    }
}
