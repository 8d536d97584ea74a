//! Quasiquotation.
//!
//! Owns nested templates of lists and vectors; a template without holes stays a constant.

use crate::error::Fallible;
use crate::syntax::Node;
use crate::syntax::expand::{Expander, Head};
use crate::syntax::scopes::{ScopeId, Special};
use crate::value::Value;
use crate::world::World;

/// What a template became.
///
/// A hole is never a constant of the template, whatever its expression: `,4` is not the datum
/// `(unquote 4)`.
enum Template {
    /// There is no hole in it: its value is the datum itself.
    Constant(Value),
    /// An expression computes it.
    Computed(Node),
}

/// A part of a list template.
enum Part {
    Item(Template),
    Splice(Node),
}

impl Expander {
    pub(crate) fn quasiquote(
        &mut self,
        world: &mut World,
        template: Value,
        scope: ScopeId,
    ) -> Fallible<Node> {
        let template = self.template(world, template, 1, scope)?;
        self.template_node(world, template)
    }

    fn template_node(&mut self, world: &mut World, template: Template) -> Fallible<Node> {
        match template {
            Template::Constant(datum) => Ok(Node::Const(self.strip(world, datum)?)),
            Template::Computed(node) => Ok(node),
        }
    }

    fn template(
        &mut self,
        world: &mut World,
        template: Value,
        level: usize,
        scope: ScopeId,
    ) -> Fallible<Template> {
        if world.heap.as_vector(template).is_some() {
            return self.deeper(world, |expander, world| {
                expander.vector_template(world, template, level, scope)
            });
        }
        if template.as_pair().is_some() {
            return self.deeper(world, |expander, world| {
                expander.list_template(world, template, level, scope)
            });
        }
        Ok(Template::Constant(template))
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

    fn vector_template(
        &mut self,
        world: &mut World,
        template: Value,
        level: usize,
        scope: ScopeId,
    ) -> Fallible<Template> {
        let items = world.heap.as_vector(template).cloned().unwrap_or_default();
        let mut parts = Vec::new();
        for item in items {
            parts.push(self.template_part(world, item, level, scope)?);
        }
        if parts.iter().all(Part::is_constant) {
            return Ok(Template::Constant(template));
        }
        let list = self.assemble(world, parts, Template::Constant(Value::NIL))?;
        let vector = self.standard_call(world, "list->vector", vec![list])?;
        Ok(Template::Computed(vector))
    }

    fn list_template(
        &mut self,
        world: &mut World,
        template: Value,
        level: usize,
        scope: ScopeId,
    ) -> Fallible<Template> {
        let mut parts = Vec::new();
        let mut rest = template;
        let tail = loop {
            // Also in the tail: `(a . ,b)` reads as `(a unquote b)`.
            let inner = match self.operand(world, rest, scope) {
                Some((Special::Unquote, operand)) if level == 1 => {
                    break Template::Computed(self.expression(world, operand, scope)?);
                }
                Some((Special::UnquoteSplicing, _)) if level == 1 => {
                    return Err(self.syntax("nothing to splice into"));
                }
                Some((Special::Unquote | Special::UnquoteSplicing, operand)) => {
                    Some((operand, level - 1))
                }
                Some((Special::Quasiquote, operand)) => Some((operand, level + 1)),
                _ => None,
            };
            let Some([car, cdr]) = world.heap.pair(rest) else {
                break self.template(world, rest, level, scope)?;
            };
            if let Some((operand, level)) = inner {
                parts.push(Part::Item(Template::Constant(car)));
                parts.push(self.template_part(world, operand, level, scope)?);
                break Template::Constant(Value::NIL);
            }
            parts.push(self.template_part(world, car, level, scope)?);
            rest = cdr;
        };
        if matches!(tail, Template::Constant(_)) && parts.iter().all(Part::is_constant) {
            return Ok(Template::Constant(template));
        }
        Ok(Template::Computed(self.assemble(world, parts, tail)?))
    }

    /// One element of a list or vector.
    fn template_part(
        &mut self,
        world: &mut World,
        element: Value,
        level: usize,
        scope: ScopeId,
    ) -> Fallible<Part> {
        world.charge(1)?;
        match self.operand(world, element, scope) {
            Some((Special::UnquoteSplicing, operand)) if level == 1 => {
                Ok(Part::Splice(self.expression(world, operand, scope)?))
            }
            _ => Ok(Part::Item(self.template(world, element, level, scope)?)),
        }
    }

    /// Builds the list: runs of items become one call each, so that length is not nesting.
    fn assemble(&mut self, world: &mut World, parts: Vec<Part>, tail: Template) -> Fallible<Node> {
        let mut pieces = Vec::new();
        let mut run = Vec::new();
        for part in parts {
            match part {
                Part::Item(template) => run.push(self.template_node(world, template)?),
                Part::Splice(node) => {
                    if !run.is_empty() {
                        let items = std::mem::take(&mut run);
                        pieces.push(self.standard_call(world, "list", items)?);
                    }
                    pieces.push(node);
                }
            }
        }
        let tail = self.template_node(world, tail)?;
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

impl Part {
    fn is_constant(&self) -> bool {
        matches!(self, Self::Item(Template::Constant(_)))
    }
}
