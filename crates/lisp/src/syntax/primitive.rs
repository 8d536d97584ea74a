//! The primitive special forms.
//!
//! Owns the choice of the form by its keyword, conditionals, assignment, procedures and the making
//! of macros; the walk over expressions is in `expand`.

use crate::error::{Fallible, Fault};
use crate::syntax::expand::{Expander, Head};
use crate::syntax::rules::Macro;
use crate::syntax::scopes::{Binding, Meaning, SYSTEM, ScopeId, Special, USER, is_identifier};
use crate::syntax::{Lambda, Node};
use crate::value::Value;
use crate::world::World;

impl Expander {
    pub(crate) fn special(
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
        let mut top = USER;
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
}
