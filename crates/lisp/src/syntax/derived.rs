//! The derived forms that deserve better code than a macro gives.
//!
//! Owns conditionals, binding forms and loops; long chains become flat nodes, so that their length
//! is not nesting.

use crate::error::Fallible;
use crate::syntax::expand::Expander;
use crate::syntax::scopes::{ScopeId, Special, base_symbol, is_identifier};
use crate::syntax::{Lambda, Node};
use crate::value::{Kind, Value};
use crate::world::World;

impl Expander {
    pub(crate) fn one_armed(
        &mut self,
        world: &mut World,
        special: Special,
        form: Value,
        items: &[Value],
        scope: ScopeId,
    ) -> Fallible<Node> {
        let [_, test, ..] = items[..] else {
            return Err(self.malformed(world, form));
        };
        let test = self.expression(world, test, scope)?;
        let body = self.sequence(world, &items[2..], scope)?;
        Ok(if special == Special::When {
            Node::branch(test, body, Node::unspecified())
        } else {
            Node::branch(test, Node::unspecified(), body)
        })
    }

    pub(crate) fn cond(
        &mut self,
        world: &mut World,
        clauses: &[Value],
        scope: ScopeId,
    ) -> Fallible<Node> {
        let mut arms = Vec::new();
        for (index, &clause) in clauses.iter().enumerate() {
            let before = self.enter(clause);
            let parts = self.list(world, clause)?;
            let Some(&first) = parts.first() else {
                return Err(self.malformed(world, clause));
            };
            if self.is_special(world, first, scope, Special::Else) {
                if index + 1 != clauses.len() || parts.len() < 2 {
                    return Err(self.malformed(world, clause));
                }
                let otherwise = self.sequence(world, &parts[1..], scope)?;
                self.here = before;
                return Ok(Node::Cond(arms, Box::new(otherwise)));
            }
            let test = self.expression(world, first, scope)?;
            if parts.len() == 1 {
                self.here = before;
                let rest = &clauses[index + 1..];
                let rest =
                    self.deeper(world, |expander, world| expander.cond(world, rest, scope))?;
                return Ok(Node::Cond(arms, Box::new(Node::Or(vec![test, rest]))));
            }
            if self.is_special(world, parts[1], scope, Special::Arrow) {
                let [_, _, receiver] = parts[..] else {
                    return Err(self.malformed(world, clause));
                };
                let receiver = self.expression(world, receiver, scope)?;
                let variable = self.new_variable();
                let argument = self.reference(variable);
                let found = Node::Call(Box::new(receiver), vec![argument], self.here);
                self.here = before;
                let rest = &clauses[index + 1..];
                let rest =
                    self.deeper(world, |expander, world| expander.cond(world, rest, scope))?;
                let chosen = Node::branch(self.reference(variable), found, rest);
                let bound = Node::Let(vec![(variable, test)], Box::new(chosen));
                return Ok(Node::Cond(arms, Box::new(bound)));
            }
            let then = self.sequence(world, &parts[1..], scope)?;
            arms.push((test, then));
            self.here = before;
        }
        Ok(Node::Cond(arms, Box::new(Node::unspecified())))
    }

    pub(crate) fn case(
        &mut self,
        world: &mut World,
        form: Value,
        items: &[Value],
        scope: ScopeId,
    ) -> Fallible<Node> {
        let [_, key, ..] = items[..] else {
            return Err(self.malformed(world, form));
        };
        let key = self.expression(world, key, scope)?;
        let variable = self.new_variable();
        let mut arms = Vec::new();
        let mut otherwise = Node::unspecified();
        for &clause in &items[2..] {
            let parts = self.list(world, clause)?;
            let [data, _, ..] = parts[..] else {
                return Err(self.malformed(world, clause));
            };
            let then = if self.is_special(world, parts[1], scope, Special::Arrow) {
                let [_, _, receiver] = parts[..] else {
                    return Err(self.malformed(world, clause));
                };
                let receiver = self.expression(world, receiver, scope)?;
                let argument = self.reference(variable);
                Node::Call(Box::new(receiver), vec![argument], self.here)
            } else {
                self.sequence(world, &parts[1..], scope)?
            };
            if self.is_special(world, data, scope, Special::Else) {
                otherwise = then;
                break;
            }
            let mut tests = Vec::new();
            for datum in self.list(world, data)? {
                let datum = self.strip(world, datum)?;
                let boxed = matches!(datum.kind(), Kind::Object(_) | Kind::Flonum(_));
                let same = if boxed { "eqv?" } else { "eq?" };
                let subject = self.reference(variable);
                tests.push(self.standard_call(world, same, vec![subject, Node::Const(datum)])?);
            }
            arms.push((Node::Or(tests), then));
        }
        let chosen = Node::Cond(arms, Box::new(otherwise));
        Ok(Node::Let(vec![(variable, key)], Box::new(chosen)))
    }

    /// The identifiers and expressions of a list of bindings.
    fn bindings(&mut self, world: &mut World, list: Value) -> Fallible<Vec<(Value, Value)>> {
        let mut pairs = Vec::new();
        for binding in self.list(world, list)? {
            match self.list(world, binding)?[..] {
                [identifier, value] if is_identifier(&world.heap, identifier) => {
                    pairs.push((identifier, value));
                }
                _ => return Err(self.malformed(world, binding)),
            }
        }
        Ok(pairs)
    }

    pub(crate) fn let_form(
        &mut self,
        world: &mut World,
        form: Value,
        items: &[Value],
        scope: ScopeId,
    ) -> Fallible<Node> {
        let [_, first, _, ..] = items[..] else {
            return Err(self.malformed(world, form));
        };
        if is_identifier(&world.heap, first) {
            return self.named_let(world, form, items, scope);
        }
        let bindings = self.bindings(world, first)?;
        let mut values = Vec::with_capacity(bindings.len());
        for &(_, value) in &bindings {
            values.push(self.expression(world, value, scope)?);
        }
        let inner = self.scopes.inner(scope);
        let mut bound = Vec::with_capacity(bindings.len());
        for (&(identifier, _), value) in bindings.iter().zip(values) {
            self.check_parameter(world, inner, identifier)?;
            bound.push((self.bind_variable(inner, identifier), value));
        }
        let body = self.body(world, &items[2..], inner)?;
        Ok(if bound.is_empty() {
            body
        } else {
            Node::Let(bound, Box::new(body))
        })
    }

    fn named_let(
        &mut self,
        world: &mut World,
        form: Value,
        items: &[Value],
        scope: ScopeId,
    ) -> Fallible<Node> {
        let [_, name, bindings, _, ..] = items[..] else {
            return Err(self.malformed(world, form));
        };
        let bindings = self.bindings(world, bindings)?;
        let mut values = Vec::with_capacity(bindings.len());
        for &(_, value) in &bindings {
            values.push(self.expression(world, value, scope)?);
        }
        let outer = self.scopes.inner(scope);
        let name = self.bind_variable(outer, name);
        let inner = self.scopes.inner(outer);
        let mut required = Vec::with_capacity(bindings.len());
        for &(identifier, _) in &bindings {
            self.check_parameter(world, inner, identifier)?;
            required.push(self.bind_variable(inner, identifier));
        }
        let body = self.body(world, &items[3..], inner)?;
        Ok(Node::Loop(
            name,
            Box::new(Lambda {
                required,
                rest: None,
                body,
            }),
            values,
        ))
    }

    pub(crate) fn let_star(
        &mut self,
        world: &mut World,
        form: Value,
        items: &[Value],
        scope: ScopeId,
    ) -> Fallible<Node> {
        let [_, bindings, _, ..] = items[..] else {
            return Err(self.malformed(world, form));
        };
        let mut scope = scope;
        let mut bound = Vec::new();
        for (identifier, value) in self.bindings(world, bindings)? {
            let value = self.expression(world, value, scope)?;
            scope = self.scopes.inner(scope);
            bound.push((self.bind_variable(scope, identifier), value));
        }
        let body = self.body(world, &items[2..], scope)?;
        Ok(Node::Let(bound, Box::new(body)))
    }

    pub(crate) fn let_syntax(
        &mut self,
        world: &mut World,
        special: Special,
        form: Value,
        items: &[Value],
        scope: ScopeId,
    ) -> Fallible<Node> {
        let [_, bindings, _, ..] = items[..] else {
            return Err(self.malformed(world, form));
        };
        let inner = self.scopes.inner(scope);
        let visible = if special == Special::LetrecSyntax {
            inner
        } else {
            scope
        };
        for (keyword, rules) in self.bindings(world, bindings)? {
            let binding = self.transformer(world, rules, visible)?;
            self.scopes.bind(inner, keyword, binding);
        }
        self.body(world, &items[2..], inner)
    }

    pub(crate) fn do_loop(
        &mut self,
        world: &mut World,
        form: Value,
        items: &[Value],
        scope: ScopeId,
    ) -> Fallible<Node> {
        let [_, specs, end, ..] = items[..] else {
            return Err(self.malformed(world, form));
        };
        let inner = self.scopes.inner(scope);
        let mut required = Vec::new();
        let mut first = Vec::new();
        let mut steps = Vec::new();
        for spec in self.list(world, specs)? {
            let parts = self.list(world, spec)?;
            let (identifier, initial, step) = match parts[..] {
                [identifier, initial] => (identifier, initial, identifier),
                [identifier, initial, step] => (identifier, initial, step),
                _ => return Err(self.malformed(world, spec)),
            };
            first.push(self.expression(world, initial, scope)?);
            self.check_parameter(world, inner, identifier)?;
            required.push(self.bind_variable(inner, identifier));
            steps.push(step);
        }
        let end = self.list(world, end)?;
        let [test, results @ ..] = &end[..] else {
            return Err(self.malformed(world, form));
        };
        let name = self.new_variable();
        let test = self.expression(world, *test, inner)?;
        let result = self.sequence(world, results, inner)?;
        let mut round = self.expressions(world, &items[3..], inner)?;
        let steps = self.expressions(world, &steps, inner)?;
        let again = self.reference(name);
        round.push(Node::Call(Box::new(again), steps, self.here));
        let body = Node::branch(test, result, Node::sequence(round));
        Ok(Node::Loop(
            name,
            Box::new(Lambda {
                required,
                rest: None,
                body,
            }),
            first,
        ))
    }

    /// The forms of the first `cond-expand` clause whose requirement holds.
    pub(crate) fn cond_expand(
        &mut self,
        world: &mut World,
        clauses: &[Value],
        scope: ScopeId,
    ) -> Fallible<Vec<Value>> {
        for &clause in clauses {
            let parts = self.list(world, clause)?;
            let Some((&requirement, forms)) = parts.split_first() else {
                return Err(self.malformed(world, clause));
            };
            if self.is_special(world, requirement, scope, Special::Else)
                || self.feature_holds(world, requirement)?
            {
                return Ok(forms.to_vec());
            }
        }
        Ok(Vec::new())
    }

    fn feature_holds(&mut self, world: &mut World, requirement: Value) -> Fallible<bool> {
        if is_identifier(&world.heap, requirement) {
            let symbol = base_symbol(&world.heap, requirement);
            let name = world.heap.symbols.name(symbol);
            return Ok(crate::prims::FEATURES.contains(&&*name));
        }
        let parts = self.list(world, requirement)?;
        let Some((&operator, operands)) = parts.split_first() else {
            return Err(self.malformed(world, requirement));
        };
        let symbol = base_symbol(&world.heap, operator);
        let operator = world.heap.symbols.name(symbol);
        let mut results = Vec::new();
        if &*operator != "library" {
            for &operand in operands {
                results.push(self.deeper(world, |expander, world| {
                    expander.feature_holds(world, operand)
                })?);
            }
        }
        Ok(match (&*operator, operands) {
            ("and", _) => results.iter().all(|&holds| holds),
            ("or", _) => results.iter().any(|&holds| holds),
            ("not", [_]) => !results[0],
            ("library", [name]) => self.library_exists(world, *name)?,
            _ => return Err(self.malformed(world, requirement)),
        })
    }
}
