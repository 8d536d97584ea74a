//! Definitions, at top level and inside bodies.
//!
//! Owns `define` and its relatives. Definitions of a body become one ordered group; which of its
//! variables need a cell is decided here, while the references to them are counted.

use crate::error::Fallible;
use crate::syntax::expand::{Expander, Head};
use crate::syntax::scopes::{Binding, ScopeId, Special, base_symbol, is_identifier};
use crate::syntax::{Lambda, Node, Var};
use crate::value::Value;
use crate::world::World;

/// The value of a definition before it is expanded.
enum Initial {
    Form(Value),
    /// Parameters and body of the short form of `define`.
    Procedure(Value, Vec<Value>),
    Ready(Node),
    /// The values of an expression as a list: how many at least, and whether more may come.
    Values(Value, usize, bool),
    /// An element of such a list, or all elements from there on.
    Part(Var, usize, bool),
}

/// One step of a body.
struct Item {
    variable: Option<Var>,
    initial: Initial,
}

impl Expander {
    /// Expands a form at top level.
    pub(crate) fn definition_or_expression(
        &mut self,
        world: &mut World,
        form: Value,
        scope: ScopeId,
    ) -> Fallible<Node> {
        self.enter(form);
        let mut form = form;
        loop {
            match self.head(world, form, scope) {
                Head::Macro(index) => {
                    form = self.use_macro(world, index, form, scope)?;
                    self.enter(form);
                }
                Head::Special(special) => {
                    return self.deeper(world, |expander, world| {
                        expander.top_special(world, special, form, scope)
                    });
                }
                Head::Other => return self.expression(world, form, scope),
            }
        }
    }

    fn top_special(
        &mut self,
        world: &mut World,
        special: Special,
        form: Value,
        scope: ScopeId,
    ) -> Fallible<Node> {
        match special {
            Special::Begin => {
                let items = self.list(world, form)?;
                self.top_sequence(world, &items[1..], scope)
            }
            Special::CondExpand => {
                let items = self.list(world, form)?;
                let chosen = self.cond_expand(world, &items[1..], scope)?;
                self.top_sequence(world, &chosen, scope)
            }
            Special::Define => {
                let (identifier, initial) = self.define_parts(world, form)?;
                let global = self.define_global(world, identifier, scope)?;
                let value = self.initial(world, initial, scope)?;
                Ok(Node::Define(global, Box::new(value)))
            }
            Special::DefineSyntax => {
                let items = self.list(world, form)?;
                let [_, keyword, rules] = items[..] else {
                    return Err(self.malformed(world, form));
                };
                let binding = self.transformer(world, rules, scope)?;
                let symbol = base_symbol(&world.heap, keyword);
                self.scopes.bind(scope, symbol, binding);
                Ok(Node::unspecified())
            }
            Special::DefineValues => self.top_define_values(world, form, scope),
            Special::DefineRecordType => {
                let mut nodes = Vec::new();
                for (identifier, value) in self.record_type(world, form)? {
                    let global = self.define_global(world, identifier, scope)?;
                    nodes.push(Node::Define(global, Box::new(Node::Const(value))));
                }
                nodes.push(Node::unspecified());
                Ok(Node::Seq(nodes))
            }
            Special::Import => self.import(world, form, scope),
            Special::DefineLibrary => self.define_library(world, form),
            _ => self.expression(world, form, scope),
        }
    }

    pub(crate) fn top_sequence(
        &mut self,
        world: &mut World,
        forms: &[Value],
        scope: ScopeId,
    ) -> Fallible<Node> {
        let mut nodes = Vec::with_capacity(forms.len());
        for &form in forms {
            nodes.push(self.definition_or_expression(world, form, scope)?);
        }
        Ok(Node::sequence(nodes))
    }

    fn define_parts(&mut self, world: &mut World, form: Value) -> Fallible<(Value, Initial)> {
        let items = self.list(world, form)?;
        match items[..] {
            [_, identifier] if is_identifier(&world.heap, identifier) => {
                Ok((identifier, Initial::Ready(Node::unspecified())))
            }
            [_, identifier, value] if is_identifier(&world.heap, identifier) => {
                Ok((identifier, Initial::Form(value)))
            }
            [_, signature, _, ..] => {
                let Some([name, parameters]) = world.heap.pair(signature) else {
                    return Err(self.malformed(world, form));
                };
                if !is_identifier(&world.heap, name) {
                    return Err(self.malformed(world, form));
                }
                Ok((name, Initial::Procedure(parameters, items[2..].to_vec())))
            }
            _ => Err(self.malformed(world, form)),
        }
    }

    fn initial(&mut self, world: &mut World, initial: Initial, scope: ScopeId) -> Fallible<Node> {
        match initial {
            Initial::Form(form) => self.expression(world, form, scope),
            Initial::Procedure(parameters, body) => {
                let lambda = self.lambda(world, parameters, &body, scope)?;
                Ok(Node::Lambda(Box::new(lambda)))
            }
            Initial::Ready(node) => Ok(node),
            Initial::Values(expression, names, rest) => {
                self.values_list(world, expression, names, rest, scope)
            }
            Initial::Part(list, index, rest) => self.part(world, list, index, rest),
        }
    }

    /// The identifiers of a `define-values`, the last of which may take the rest.
    fn formals(
        &mut self,
        world: &mut World,
        form: Value,
    ) -> Fallible<(Vec<Value>, Option<Value>, Value)> {
        let items = self.list(world, form)?;
        let [_, formals, expression] = items[..] else {
            return Err(self.malformed(world, form));
        };
        let mut names = Vec::new();
        let mut rest = formals;
        while let Some([car, cdr]) = world.heap.pair(rest) {
            names.push(car);
            rest = cdr;
        }
        let rest = (rest != Value::NIL).then_some(rest);
        if names
            .iter()
            .chain(&rest)
            .any(|&name| !is_identifier(&world.heap, name))
        {
            return Err(self.malformed(world, form));
        }
        Ok((names, rest, expression))
    }

    /// Code that collects the values of an expression in a list of the expected length.
    fn values_list(
        &mut self,
        world: &mut World,
        expression: Value,
        names: usize,
        rest: bool,
        scope: ScopeId,
    ) -> Fallible<Node> {
        let value = self.expression(world, expression, scope)?;
        let count = Node::Const(Value::fixnum(i64::try_from(names).unwrap_or(0)));
        let rest = Node::Const(Value::boolean(rest));
        self.standard_call(world, "%values->list", vec![value, count, rest])
    }

    /// Code that takes one part of the list of values.
    fn part(&mut self, world: &mut World, list: Var, index: usize, rest: bool) -> Fallible<Node> {
        let list = self.reference(list);
        let index = Node::Const(Value::fixnum(i64::try_from(index).unwrap_or(0)));
        let name = if rest { "list-tail" } else { "list-ref" };
        self.standard_call(world, name, vec![list, index])
    }

    fn top_define_values(
        &mut self,
        world: &mut World,
        form: Value,
        scope: ScopeId,
    ) -> Fallible<Node> {
        let (names, rest, expression) = self.formals(world, form)?;
        let values = self.values_list(world, expression, names.len(), rest.is_some(), scope)?;
        let list = self.new_variable();
        let mut nodes = Vec::new();
        for (index, &name) in names.iter().chain(&rest).enumerate() {
            let global = self.define_global(world, name, scope)?;
            let part = self.part(world, list, index, index == names.len())?;
            nodes.push(Node::Define(global, Box::new(part)));
        }
        nodes.push(Node::unspecified());
        Ok(Node::Let(vec![(list, values)], Box::new(Node::Seq(nodes))))
    }

    /// Expands a body in a scope that may already hold parameters.
    pub(crate) fn body(
        &mut self,
        world: &mut World,
        forms: &[Value],
        scope: ScopeId,
    ) -> Fallible<Node> {
        let scope = self.scopes.inner(scope);
        let mut items = Vec::new();
        let mut pending: Vec<Value> = forms.iter().rev().copied().collect();
        let mut definitions = false;
        while let Some(form) = pending.pop() {
            let before = self.enter(form);
            definitions |= self.body_form(world, form, scope, &mut items, &mut pending)?;
            self.here = before;
        }
        self.body_items(world, items, scope, definitions)
    }

    /// Classifies one form of a body; answers whether it defines a variable.
    fn body_form(
        &mut self,
        world: &mut World,
        form: Value,
        scope: ScopeId,
        items: &mut Vec<Item>,
        pending: &mut Vec<Value>,
    ) -> Fallible<bool> {
        world.charge(1)?;
        match self.head(world, form, scope) {
            Head::Macro(index) => {
                let expanded = self.use_macro(world, index, form, scope)?;
                if let Some(here) = self.here
                    && expanded.as_pair().is_some()
                {
                    self.positions.entry(expanded).or_insert(here);
                }
                pending.push(expanded);
                Ok(false)
            }
            Head::Special(Special::Begin) => {
                let list = self.list(world, form)?;
                pending.extend(list[1..].iter().rev());
                Ok(false)
            }
            Head::Special(Special::CondExpand) => {
                let list = self.list(world, form)?;
                let chosen = self.cond_expand(world, &list[1..], scope)?;
                pending.extend(chosen.iter().rev());
                Ok(false)
            }
            Head::Special(Special::Define) => {
                let (identifier, initial) = self.define_parts(world, form)?;
                let variable = self.body_variable(world, scope, identifier)?;
                items.push(Item {
                    variable: Some(variable),
                    initial,
                });
                Ok(true)
            }
            Head::Special(Special::DefineSyntax) => {
                let list = self.list(world, form)?;
                let [_, keyword, rules] = list[..] else {
                    return Err(self.malformed(world, form));
                };
                let binding = self.transformer(world, rules, scope)?;
                self.scopes.bind(scope, keyword, binding);
                Ok(false)
            }
            Head::Special(Special::DefineValues) => {
                let (names, rest, expression) = self.formals(world, form)?;
                let mut variables = Vec::new();
                for &name in names.iter().chain(&rest) {
                    variables.push(self.body_variable(world, scope, name)?);
                }
                let list = self.new_variable();
                let initial = Initial::Values(expression, names.len(), rest.is_some());
                items.push(Item {
                    variable: Some(list),
                    initial,
                });
                for (index, variable) in variables.into_iter().enumerate() {
                    let initial = Initial::Part(list, index, index == names.len());
                    items.push(Item {
                        variable: Some(variable),
                        initial,
                    });
                }
                Ok(true)
            }
            Head::Special(Special::DefineRecordType) => {
                for (identifier, value) in self.record_type(world, form)? {
                    let variable = self.body_variable(world, scope, identifier)?;
                    let initial = Initial::Ready(Node::Const(value));
                    items.push(Item {
                        variable: Some(variable),
                        initial,
                    });
                }
                Ok(true)
            }
            _ => {
                items.push(Item {
                    variable: None,
                    initial: Initial::Form(form),
                });
                Ok(false)
            }
        }
    }

    fn body_variable(
        &mut self,
        world: &mut World,
        scope: ScopeId,
        identifier: Value,
    ) -> Fallible<Var> {
        if !is_identifier(&world.heap, identifier) {
            return Err(self.syntax(format!(
                "{} is not an identifier",
                world.describe(identifier)
            )));
        }
        if let Some(Binding::Local(_)) = self.scopes.own(scope, identifier) {
            return Err(self.syntax(format!("{} is defined twice", world.describe(identifier))));
        }
        Ok(self.bind_variable(scope, identifier))
    }

    fn body_items(
        &mut self,
        world: &mut World,
        mut items: Vec<Item>,
        scope: ScopeId,
        definitions: bool,
    ) -> Fallible<Node> {
        // The expressions after the last definition are the body proper.
        let last = items.iter().rposition(|item| item.variable.is_some());
        let rest = items.split_off(last.map_or(0, |last| last + 1));
        if rest.is_empty() && !definitions {
            return Err(self.syntax("an empty body"));
        }
        let steps = self.letrec_items(world, items, scope)?;
        let mut nodes = Vec::with_capacity(rest.len());
        for item in rest {
            nodes.push(self.initial(world, item.initial, scope)?);
        }
        let body = Node::sequence(nodes);
        Ok(if steps.is_empty() {
            body
        } else {
            Node::Letrec(steps, Box::new(body))
        })
    }

    /// Expands definitions in order and decides which variables need a cell.
    ///
    /// A procedure can be patched into its siblings after all of them exist. Any other value, and
    /// a procedure that something evaluated earlier refers to, must be seen through a cell.
    fn letrec_items(
        &mut self,
        world: &mut World,
        items: Vec<Item>,
        scope: ScopeId,
    ) -> Fallible<Vec<(Option<Var>, Node)>> {
        let variables: Vec<Option<Var>> = items.iter().map(|item| item.variable).collect();
        let mut steps = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let node = self.initial(world, item.initial, scope)?;
            let is_procedure = matches!(node, Node::Lambda(_));
            if let Some(variable) = item.variable {
                let known = &mut self.variables[variable as usize];
                if !is_procedure && known.references > 0 {
                    known.in_cell = true;
                }
            }
            if !is_procedure && !matches!(node, Node::Const(_)) {
                // Evaluating this may call what was defined so far, and thereby look ahead.
                for &later in variables[index + 1..].iter().flatten() {
                    let known = &mut self.variables[later as usize];
                    if known.references > 0 {
                        known.in_cell = true;
                    }
                }
            }
            steps.push((item.variable, node));
        }
        Ok(steps)
    }

    pub(crate) fn letrec(
        &mut self,
        world: &mut World,
        form: Value,
        items: &[Value],
        scope: ScopeId,
    ) -> Fallible<Node> {
        let [_, bindings, _, ..] = items[..] else {
            return Err(self.malformed(world, form));
        };
        let inner = self.scopes.inner(scope);
        let mut steps = Vec::new();
        for binding in self.list(world, bindings)? {
            let [identifier, value] = self.list(world, binding)?[..] else {
                return Err(self.malformed(world, binding));
            };
            self.check_parameter(world, inner, identifier)?;
            let variable = self.bind_variable(inner, identifier);
            steps.push(Item {
                variable: Some(variable),
                initial: Initial::Form(value),
            });
        }
        let steps = self.letrec_items(world, steps, inner)?;
        let body = self.body(world, &items[2..], inner)?;
        Ok(Node::Letrec(steps, Box::new(body)))
    }

    pub(crate) fn case_lambda(
        &mut self,
        world: &mut World,
        clauses: &[Value],
        scope: ScopeId,
    ) -> Fallible<Node> {
        let mut lambdas: Vec<Lambda> = Vec::new();
        for &clause in clauses {
            let parts = self.list(world, clause)?;
            let [parameters, _, ..] = parts[..] else {
                return Err(self.malformed(world, clause));
            };
            lambdas.push(self.lambda(world, parameters, &parts[1..], scope)?);
        }
        Ok(Node::CaseLambda(lambdas))
    }
}
