//! The expander: top-level forms, expressions and the primitive special forms.
//!
//! Owns the walk over forms; bodies, derived forms, quasiquotation and libraries have modules of
//! their own that extend the same type.

use crate::error::{ErrorKind, Fallible, Fault, Position};
use crate::object::Object;
use crate::prims;
use crate::reader::Positions;
use crate::stack;
use crate::syntax::library::Libraries;
use crate::syntax::rules::{Macro, Use};
use crate::syntax::scopes::{
    Binding, Meaning, SPECIALS, SYSTEM, ScopeId, Scopes, Special, base_symbol, is_identifier,
};
use crate::syntax::{Lambda, Node, Var, Variable};
use crate::value::Value;
use crate::world::{Global, World};

/// Bytes that an expression takes while its form is expanded and compiled: nodes, scopes, slots.
const EXPRESSION_BYTES: usize = 96;
/// Levels of nesting that cost a step more at every expression.
const LEVELS_PER_STEP: usize = 16;
/// Bytes charged for a global variable.
const GLOBAL_BYTES: usize = 64;

/// What the expander knows between forms.
pub(crate) struct Expander {
    pub(crate) scopes: Scopes,
    pub(crate) macros: Vec<Macro>,
    pub(crate) libraries: Libraries,
    /// The local variables of the form being expanded.
    pub(crate) variables: Vec<Variable>,
    pub(crate) positions: Positions,
    /// The innermost form with a known place.
    pub(crate) here: Option<Position>,
    nesting: usize,
    /// Bytes of heap that the form being expanded gives back when it is compiled.
    pub(crate) borrowed: usize,
    /// The form being expanded needed the second stack.
    pub(crate) deep: bool,
}

/// A special form or macro use taken apart.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Head {
    Special(Special),
    Macro(u32),
    Other,
}

impl Expander {
    pub(crate) fn new() -> Self {
        Self {
            scopes: Scopes::new(),
            macros: Vec::new(),
            libraries: Libraries::default(),
            variables: Vec::new(),
            positions: Positions::new(),
            here: None,
            nesting: 0,
            borrowed: 0,
            deep: false,
        }
    }

    /// Binds the special forms and the primitives.
    pub(crate) fn bind_standard(&mut self, world: &mut World) -> Fallible<()> {
        for (name, special) in SPECIALS {
            let symbol = world.heap.intern(name)?;
            self.scopes.bind(SYSTEM, symbol, Binding::Special(special));
        }
        for (index, name) in prims::names().enumerate() {
            let symbol = world.heap.intern(name)?;
            let global = self.new_global(world, symbol)?;
            world.globals[global as usize].value = prims::value(index);
            self.scopes.bind(SYSTEM, symbol, Binding::Global(global));
        }
        Ok(())
    }

    /// Expands a top-level form.
    pub(crate) fn top(&mut self, world: &mut World, form: Value, scope: ScopeId) -> Fallible<Node> {
        self.variables.clear();
        self.nesting = 0;
        self.deep = false;
        let scopes = self.scopes.len();
        let macros = self.macros.len();
        let result = self.definition_or_expression(world, form, scope);
        if self.macros.len() == macros && self.libraries.unchanged() {
            // Nothing that outlives the form can refer to its scopes.
            self.scopes.truncate(scopes);
        }
        result.map_err(|fault| fault.at(self.here))
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the heap limit bounds globals"
    )]
    pub(crate) fn new_global(&mut self, world: &mut World, name: Value) -> Fallible<u32> {
        world.heap.charge_permanent(GLOBAL_BYTES)?;
        world.globals.push(Global {
            name,
            value: Value::UNDEFINED,
        });
        Ok((world.globals.len() - 1) as u32)
    }

    /// The global that a definition of this identifier binds.
    pub(crate) fn define_global(
        &mut self,
        world: &mut World,
        identifier: Value,
        scope: ScopeId,
    ) -> Fallible<u32> {
        let symbol = base_symbol(&world.heap, identifier);
        if let Some(Binding::Global(global)) = self.scopes.own(scope, symbol) {
            return Ok(global);
        }
        let global = self.new_global(world, symbol)?;
        self.scopes.bind(scope, symbol, Binding::Global(global));
        Ok(global)
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the source limit bounds variables"
    )]
    pub(crate) fn new_variable(&mut self) -> Var {
        self.variables.push(Variable::default());
        (self.variables.len() - 1) as Var
    }

    pub(crate) fn bind_variable(&mut self, scope: ScopeId, identifier: Value) -> Var {
        let variable = self.new_variable();
        self.scopes
            .bind(scope, identifier, Binding::Local(variable));
        variable
    }

    pub(crate) fn reference(&mut self, variable: Var) -> Node {
        self.variables[variable as usize].references += 1;
        Node::Local(variable)
    }

    #[cold]
    pub(crate) fn syntax(&self, message: impl Into<String>) -> Fault {
        Fault::error(ErrorKind::Syntax, message).at(self.here)
    }

    #[cold]
    pub(crate) fn malformed(&self, world: &World, form: Value) -> Fault {
        self.syntax(format!("malformed {}", world.describe(form)))
    }

    /// The elements of a form, which must be a proper list.
    pub(crate) fn list(&mut self, world: &mut World, form: Value) -> Fallible<Vec<Value>> {
        match world.heap.list_items(form) {
            Some(items) => {
                world.charge(1 + items.len())?;
                Ok(items)
            }
            None => Err(self.malformed(world, form)),
        }
    }

    pub(crate) fn head(&self, world: &World, form: Value, scope: ScopeId) -> Head {
        let Some([car, _]) = world.heap.pair(form) else {
            return Head::Other;
        };
        if !is_identifier(&world.heap, car) {
            return Head::Other;
        }
        match self.scopes.lookup(&world.heap, car, scope) {
            Meaning::Bound(Binding::Special(special)) => Head::Special(special),
            Meaning::Bound(Binding::Macro(index)) => Head::Macro(index),
            _ => Head::Other,
        }
    }

    pub(crate) fn is_special(
        &self,
        world: &World,
        form: Value,
        scope: ScopeId,
        special: Special,
    ) -> bool {
        is_identifier(&world.heap, form)
            && self.scopes.lookup(&world.heap, form, scope)
                == Meaning::Bound(Binding::Special(special))
    }

    /// Expands one macro use.
    pub(crate) fn use_macro(
        &mut self,
        world: &mut World,
        index: u32,
        form: Value,
        scope: ScopeId,
    ) -> Fallible<Value> {
        world.charge(1)?;
        let arguments = world.heap.pair(form).map_or(Value::NIL, |[_, cdr]| cdr);
        let rules = &self.macros[index as usize];
        let expanded = Use {
            world,
            scopes: &self.scopes,
            rules,
            scope,
        }
        .expand(arguments)
        .map_err(|fault| fault.at(self.here))?;
        expanded.ok_or_else(|| {
            self.syntax(format!(
                "no rule of the macro matches {}",
                world.describe(form)
            ))
        })
    }

    /// Remembers where a form stands; answers what to restore afterwards.
    pub(crate) fn enter(&mut self, form: Value) -> Option<Position> {
        let before = self.here;
        if let Some(&position) = self.positions.get(&form) {
            self.here = Some(position);
        }
        before
    }

    /// Works one level deeper, on the second stack where the first may end.
    pub(crate) fn deeper<T: Send>(
        &mut self,
        world: &mut World,
        work: impl FnOnce(&mut Self, &mut World) -> Fallible<T> + Send,
    ) -> Fallible<T> {
        let most = stack::MAX_NESTING.min(world.limits.depth);
        if self.nesting >= most {
            let message = format!("forms nest deeper than {most}");
            return Err(Fault::limit(ErrorKind::Depth, message).at(self.here));
        }
        self.nesting += 1;
        let result = if self.nesting == stack::SHALLOW {
            world.charge(stack::STEPS)?;
            self.deep = true;
            stack::deep(|| work(self, world))
        } else {
            work(self, world)
        };
        self.nesting -= 1;
        result
    }

    /// Expands an expression.
    pub(crate) fn expression(
        &mut self,
        world: &mut World,
        form: Value,
        scope: ScopeId,
    ) -> Fallible<Node> {
        // A name is looked for through as many scopes as there are levels.
        world.charge(1 + self.nesting / LEVELS_PER_STEP)?;
        world.heap.charge(EXPRESSION_BYTES)?;
        self.borrowed += EXPRESSION_BYTES;
        let before = self.enter(form);
        let node = if is_identifier(&world.heap, form) {
            self.variable(world, form, scope)?
        } else if form.as_pair().is_none() {
            self.constant(world, form)?
        } else {
            self.deeper(world, |expander, world| {
                expander.combination(world, form, scope)
            })?
        };
        self.here = before;
        Ok(node)
    }

    /// Expands a special form, a macro use or a call.
    fn combination(&mut self, world: &mut World, form: Value, scope: ScopeId) -> Fallible<Node> {
        match self.head(world, form, scope) {
            Head::Special(special) => self.special(world, special, form, scope),
            Head::Macro(index) => {
                let mut form = self.use_macro(world, index, form, scope)?;
                self.enter(form);
                while let Head::Macro(index) = self.head(world, form, scope) {
                    form = self.use_macro(world, index, form, scope)?;
                    self.enter(form);
                }
                self.expression(world, form, scope)
            }
            Head::Other => self.call(world, form, scope),
        }
    }

    pub(crate) fn expressions(
        &mut self,
        world: &mut World,
        forms: &[Value],
        scope: ScopeId,
    ) -> Fallible<Vec<Node>> {
        let mut nodes = Vec::with_capacity(forms.len());
        for &form in forms {
            nodes.push(self.expression(world, form, scope)?);
        }
        Ok(nodes)
    }

    pub(crate) fn sequence(
        &mut self,
        world: &mut World,
        forms: &[Value],
        scope: ScopeId,
    ) -> Fallible<Node> {
        Ok(Node::sequence(self.expressions(world, forms, scope)?))
    }

    fn constant(&mut self, world: &mut World, form: Value) -> Fallible<Node> {
        if form == Value::NIL {
            return Err(self.syntax("an empty combination"));
        }
        Ok(Node::Const(self.strip(world, form)?))
    }

    fn variable(&mut self, world: &mut World, id: Value, scope: ScopeId) -> Fallible<Node> {
        match self.scopes.lookup(&world.heap, id, scope) {
            Meaning::Bound(Binding::Local(variable)) => Ok(self.reference(variable)),
            Meaning::Bound(Binding::Global(global)) => Ok(self.global(world, global)),
            Meaning::Bound(_) => {
                Err(self.syntax(format!("the keyword {} is not a value", world.describe(id))))
            }
            Meaning::Free(symbol, top) => {
                let global = self.define_global(world, symbol, top)?;
                Ok(Node::Global(global, self.here))
            }
        }
    }

    /// A reference to a global; primitives, which cannot change, become constants.
    pub(crate) fn global(&self, world: &World, global: u32) -> Node {
        let value = world.globals[global as usize].value;
        let own = Some(Binding::Global(global));
        if value.as_primitive().is_some()
            && self.scopes.own(SYSTEM, world.globals[global as usize].name) == own
        {
            return Node::Const(value);
        }
        Node::Global(global, self.here)
    }

    /// A reference to a standard procedure, whatever the program calls by its name.
    pub(crate) fn standard(&mut self, world: &mut World, name: &str) -> Fallible<Node> {
        let symbol = world.heap.intern(name)?;
        match self.scopes.own(SYSTEM, symbol) {
            Some(Binding::Global(global)) => Ok(self.global(world, global)),
            _ => Err(Fault::error(
                ErrorKind::Internal,
                format!("{name} is not defined"),
            )),
        }
    }

    pub(crate) fn standard_call(
        &mut self,
        world: &mut World,
        name: &str,
        arguments: Vec<Node>,
    ) -> Fallible<Node> {
        let procedure = self.standard(world, name)?;
        Ok(Node::Call(Box::new(procedure), arguments, self.here))
    }

    fn call(&mut self, world: &mut World, form: Value, scope: ScopeId) -> Fallible<Node> {
        let here = self.here;
        let items = self.list(world, form)?;
        let mut nodes = self.expressions(world, &items, scope)?;
        let operator = nodes.remove(0);
        let mut operator = operator;
        match &mut operator {
            Node::Lambda(lambda)
                if lambda.rest.is_none() && lambda.required.len() == nodes.len() =>
            {
                let body = std::mem::replace(&mut lambda.body, Node::unspecified());
                let bindings = lambda.required.iter().copied().zip(nodes).collect();
                Ok(Node::Let(bindings, Box::new(body)))
            }
            _ => Ok(Node::Call(Box::new(operator), nodes, here)),
        }
    }

    fn special(
        &mut self,
        world: &mut World,
        special: Special,
        form: Value,
        scope: ScopeId,
    ) -> Fallible<Node> {
        let items = self.list(world, form)?;
        match special {
            Special::Quote => match items[..] {
                [_, datum] => Ok(Node::Const(self.strip(world, datum)?)),
                _ => Err(self.malformed(world, form)),
            },
            Special::If => self.conditional(world, form, &items, scope),
            Special::Set => self.assignment(world, form, &items, scope),
            Special::Lambda => match items[..] {
                [_, parameters, _, ..] => {
                    let lambda = self.lambda(world, parameters, &items[2..], scope)?;
                    Ok(Node::Lambda(Box::new(lambda)))
                }
                _ => Err(self.malformed(world, form)),
            },
            Special::Begin => self.sequence(world, &items[1..], scope),
            Special::And => Ok(Node::And(self.expressions(world, &items[1..], scope)?)),
            Special::Or => Ok(Node::Or(self.expressions(world, &items[1..], scope)?)),
            Special::When | Special::Unless => self.one_armed(world, special, form, &items, scope),
            Special::Cond => self.cond(world, &items[1..], scope),
            Special::Case => self.case(world, form, &items, scope),
            Special::Let => self.let_form(world, form, &items, scope),
            Special::LetStar => self.let_star(world, form, &items, scope),
            Special::Letrec | Special::LetrecStar => self.letrec(world, form, &items, scope),
            Special::LetSyntax | Special::LetrecSyntax => {
                self.let_syntax(world, special, form, &items, scope)
            }
            Special::Do => self.do_loop(world, form, &items, scope),
            Special::CaseLambda => self.case_lambda(world, &items[1..], scope),
            Special::Quasiquote => match items[..] {
                [_, template] => self.quasiquote(world, template, scope),
                _ => Err(self.malformed(world, form)),
            },
            Special::CondExpand => {
                let chosen = self.cond_expand(world, &items[1..], scope)?;
                self.sequence(world, &chosen, scope)
            }
            Special::SyntaxError => Err(self.syntax_error(world, &items[1..])),
            Special::Define
            | Special::DefineValues
            | Special::DefineSyntax
            | Special::DefineRecordType
            | Special::DefineLibrary
            | Special::Import => Err(self.syntax(format!(
                "a definition in an expression: {}",
                world.describe(form)
            ))),
            Special::Arrow
            | Special::Ellipsis
            | Special::Else
            | Special::SyntaxRules
            | Special::Underscore
            | Special::Unquote
            | Special::UnquoteSplicing => Err(self.malformed(world, form)),
        }
    }

    fn syntax_error(&mut self, world: &mut World, items: &[Value]) -> Fault {
        let words: Vec<String> = items
            .iter()
            .map(|&item| match world.heap.as_text(item) {
                Some(text) => text.iter().collect(),
                None => world.describe(item),
            })
            .collect();
        self.syntax(words.join(" "))
    }

    fn conditional(
        &mut self,
        world: &mut World,
        form: Value,
        items: &[Value],
        scope: ScopeId,
    ) -> Fallible<Node> {
        if !(3..=4).contains(&items.len()) {
            return Err(self.malformed(world, form));
        }
        let test = self.expression(world, items[1], scope)?;
        let then = self.expression(world, items[2], scope)?;
        let otherwise = match items.get(3) {
            Some(&form) => self.expression(world, form, scope)?,
            None => Node::unspecified(),
        };
        Ok(Node::branch(test, then, otherwise))
    }

    fn assignment(
        &mut self,
        world: &mut World,
        form: Value,
        items: &[Value],
        scope: ScopeId,
    ) -> Fallible<Node> {
        let [_, identifier, expression] = items[..] else {
            return Err(self.malformed(world, form));
        };
        if !is_identifier(&world.heap, identifier) {
            return Err(self.malformed(world, form));
        }
        let here = self.here;
        let value = Box::new(self.expression(world, expression, scope)?);
        match self.scopes.lookup(&world.heap, identifier, scope) {
            Meaning::Bound(Binding::Local(variable)) => {
                let known = &mut self.variables[variable as usize];
                known.in_cell = true;
                known.references += 1;
                Ok(Node::SetLocal(variable, value))
            }
            Meaning::Bound(Binding::Global(global)) => {
                let symbol = world.globals[global as usize].name;
                let global = if self.scopes.own(SYSTEM, symbol) == Some(Binding::Global(global)) {
                    self.shadow_standard(world, symbol, scope)?
                } else {
                    global
                };
                Ok(Node::SetGlobal(global, value, here))
            }
            Meaning::Free(symbol, top) => {
                let global = self.define_global(world, symbol, top)?;
                Ok(Node::SetGlobal(global, value, here))
            }
            Meaning::Bound(_) => Err(self.syntax("a keyword cannot be assigned")),
        }
    }

    /// Gives a program its own variable of a standard name, with the standard value.
    ///
    /// The standard library keeps the variable it was written with, so that no program can break
    /// `map` by defining `reverse`.
    pub(crate) fn shadow_standard(
        &mut self,
        world: &mut World,
        symbol: Value,
        scope: ScopeId,
    ) -> Fallible<u32> {
        let mut top = crate::syntax::scopes::USER;
        if self.scopes.is_top(scope) {
            top = scope;
        }
        let standard = match self.scopes.own(SYSTEM, symbol) {
            Some(Binding::Global(global)) if top != SYSTEM => world.globals[global as usize].value,
            _ => Value::UNDEFINED,
        };
        let known = self.scopes.own(top, symbol).is_some();
        let global = self.define_global(world, symbol, top)?;
        if !known {
            world.globals[global as usize].value = standard;
        }
        Ok(global)
    }

    pub(crate) fn lambda(
        &mut self,
        world: &mut World,
        parameters: Value,
        body: &[Value],
        scope: ScopeId,
    ) -> Fallible<Lambda> {
        let inner = self.scopes.inner(scope);
        let mut required = Vec::new();
        let mut rest = parameters;
        while let Some([car, cdr]) = world.heap.pair(rest) {
            world.charge(1)?;
            self.check_parameter(world, inner, car)?;
            required.push(self.bind_variable(inner, car));
            rest = cdr;
        }
        let rest = if rest == Value::NIL {
            None
        } else {
            self.check_parameter(world, inner, rest)?;
            Some(self.bind_variable(inner, rest))
        };
        if required.len() > usize::from(u16::MAX) {
            return Err(self.syntax("too many parameters"));
        }
        let body = self.body(world, body, inner)?;
        Ok(Lambda {
            required,
            rest,
            body,
        })
    }

    pub(crate) fn check_parameter(
        &self,
        world: &World,
        scope: ScopeId,
        identifier: Value,
    ) -> Fallible<()> {
        if !is_identifier(&world.heap, identifier) {
            return Err(self.syntax(format!(
                "{} is not an identifier",
                world.describe(identifier)
            )));
        }
        if self.scopes.own(scope, identifier).is_some() {
            return Err(self.syntax(format!("{} is bound twice", world.describe(identifier))));
        }
        Ok(())
    }

    /// Makes a macro of a `syntax-rules` form.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the heap limit bounds macros"
    )]
    pub(crate) fn transformer(
        &mut self,
        world: &mut World,
        form: Value,
        scope: ScopeId,
    ) -> Fallible<Binding> {
        if is_identifier(&world.heap, form) {
            // A second name for an existing keyword.
            return match self.scopes.lookup(&world.heap, form, scope) {
                Meaning::Bound(binding @ (Binding::Special(_) | Binding::Macro(_))) => Ok(binding),
                _ => Err(self.malformed(world, form)),
            };
        }
        let Head::Special(Special::SyntaxRules) = self.head(world, form, scope) else {
            if let Head::Macro(index) = self.head(world, form, scope) {
                let expanded = self.use_macro(world, index, form, scope)?;
                return self.deeper(world, |expander, world| {
                    expander.transformer(world, expanded, scope)
                });
            }
            return Err(self.syntax("a macro is made with syntax-rules"));
        };
        let items = self.list(world, form)?;
        let mut parts = &items[1..];
        let mut ellipsis = None;
        if let [chosen, rest @ ..] = parts
            && is_identifier(&world.heap, *chosen)
        {
            ellipsis = Some(*chosen);
            parts = rest;
        }
        let [literals, rules @ ..] = parts else {
            return Err(self.malformed(world, form));
        };
        let literals = self.list(world, *literals)?;
        let mut compiled = Vec::with_capacity(rules.len());
        for &rule in rules {
            let [pattern, template] = self.list(world, rule)?[..] else {
                return Err(self.malformed(world, rule));
            };
            let Some([_, arguments]) = world.heap.pair(pattern) else {
                return Err(self.malformed(world, pattern));
            };
            compiled.push((arguments, template));
        }
        let rules = Macro {
            scope,
            ellipsis,
            literals,
            rules: compiled,
        };
        world.heap.charge_permanent(rules.bytes())?;
        self.macros.push(rules);
        Ok(Binding::Macro((self.macros.len() - 1) as u32))
    }

    /// Turns aliases inside a datum back into symbols.
    pub(crate) fn strip(&mut self, world: &mut World, datum: Value) -> Fallible<Value> {
        if !contains_alias(world, datum)? {
            return Ok(datum);
        }
        if is_identifier(&world.heap, datum) {
            return Ok(base_symbol(&world.heap, datum));
        }
        self.deeper(world, |expander, world| expander.strip_inside(world, datum))
    }

    fn strip_inside(&mut self, world: &mut World, datum: Value) -> Fallible<Value> {
        if let Some(items) = world.heap.as_vector(datum).cloned() {
            let mut stripped = Vec::with_capacity(items.len());
            for item in items {
                stripped.push(self.strip(world, item)?);
            }
            return world.heap.vector(stripped);
        }
        let mut items = Vec::new();
        let mut rest = datum;
        while let Some([car, cdr]) = world.heap.pair(rest) {
            items.push(self.strip(world, car)?);
            rest = cdr;
        }
        let tail = self.strip(world, rest)?;
        world.heap.list_onto(&items, tail)
    }

    /// Values that the collector must keep for the expander.
    pub(crate) fn roots(&self) -> impl Iterator<Item = Value> + '_ {
        let macros = self.macros.iter();
        macros
            .flat_map(Macro::values)
            .chain(self.scopes.identifiers())
            .chain(self.libraries.roots())
            .chain(self.positions.keys().copied())
    }
}

/// Says whether a macro inserted anything into a datum, without recursion and also on cycles.
fn contains_alias(world: &mut World, datum: Value) -> Fallible<bool> {
    let mut pending = vec![datum];
    let mut seen = std::collections::HashSet::new();
    while let Some(value) = pending.pop() {
        if let Some([car, cdr]) = world.heap.pair(value) {
            world.charge(1)?;
            if seen.insert(value) {
                pending.push(cdr);
                pending.push(car);
            }
            continue;
        }
        match world.heap.get(value) {
            Some(Object::Alias { .. }) => return Ok(true),
            Some(Object::Vector(items)) if seen.insert(value) => pending.extend(items),
            _ => {}
        }
    }
    Ok(false)
}
