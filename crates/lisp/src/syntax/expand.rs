//! The expander: its state and the walk over expressions.
//!
//! Owns globals, local variables and nesting; special forms, bodies, quasiquotation and libraries
//! have modules of their own that extend the same type.

use crate::error::{ErrorKind, Fallible, Fault, Position};
use crate::prims;
use crate::reader::Positions;
use crate::stack;
use crate::syntax::library::Libraries;
use crate::syntax::rules::{Macro, Use};
use crate::syntax::scopes::{
    Binding, Meaning, SPECIALS, SYSTEM, ScopeId, Scopes, Special, base_symbol, is_identifier,
};
use crate::syntax::{Node, Var, Variable};
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
