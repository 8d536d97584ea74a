//! Libraries: `import` and `define-library`.
//!
//! Owns library names and what they export. The standard bindings are always visible, so importing
//! a standard library only checks its name, or gives its bindings further names.

use crate::error::Fallible;
use crate::syntax::Node;
use crate::syntax::expand::{Expander, Head};
use crate::syntax::scopes::{
    Binding, Meaning, SYSTEM, ScopeId, Special, base_symbol, is_identifier,
};
use crate::value::Value;
use crate::world::World;

/// The standard libraries that exist here.
const STANDARD: [&str; 13] = [
    "(scheme base)",
    "(scheme case-lambda)",
    "(scheme char)",
    "(scheme cxr)",
    "(scheme eval)",
    "(scheme inexact)",
    "(scheme lazy)",
    "(scheme r5rs)",
    "(scheme read)",
    "(scheme repl)",
    "(scheme write)",
    "(srfi 1)",
    "(srfi 132)",
];

/// A library that a program defined.
#[derive(Debug)]
struct Library {
    name: String,
    /// Outer names and what they are bound to.
    exports: Vec<(Value, Binding)>,
}

impl Library {
    fn bytes(&self) -> usize {
        128 + self.exports.len() * 16
    }
}

/// The libraries of a session.
#[derive(Debug, Default)]
pub(crate) struct Libraries {
    defined: Vec<Library>,
    settled: usize,
}

impl Libraries {
    /// Says whether no library was defined since the last call.
    pub(crate) fn unchanged(&mut self) -> bool {
        let unchanged = self.settled == self.defined.len();
        self.settled = self.defined.len();
        unchanged
    }

    /// What libraries export.
    pub(crate) fn bindings(&self) -> impl Iterator<Item = Binding> + '_ {
        let exports = self.defined.iter().flat_map(|library| &library.exports);
        exports.map(|(_, binding)| *binding)
    }

    pub(crate) fn bindings_mut(&mut self) -> impl Iterator<Item = &mut Binding> + '_ {
        let exports = self.defined.iter_mut().flat_map(|l| &mut l.exports);
        exports.map(|(_, binding)| binding)
    }

    pub(crate) fn roots(&self) -> impl Iterator<Item = Value> + '_ {
        self.defined
            .iter()
            .flat_map(|library| library.exports.iter().map(|(name, _)| *name))
    }
}

/// What an import set brings in.
enum Imported {
    /// Every standard binding, which is visible anyway.
    Everything,
    Names(Vec<(Value, Binding)>),
}

impl Expander {
    pub(crate) fn library_exists(&mut self, world: &mut World, name: Value) -> Fallible<bool> {
        let name = self.strip(world, name)?;
        let name = world.describe(name);
        Ok(STANDARD.contains(&name.as_str())
            || self
                .libraries
                .defined
                .iter()
                .any(|library| library.name == name))
    }

    pub(crate) fn import(
        &mut self,
        world: &mut World,
        form: Value,
        scope: ScopeId,
    ) -> Fallible<Node> {
        for set in self.list(world, form)?.split_off(1) {
            let set = self.strip(world, set)?;
            if let Imported::Names(names) = self.import_set(world, set)? {
                for (name, binding) in names {
                    self.scopes.bind(scope, name, binding);
                }
            }
        }
        Ok(Node::unspecified())
    }

    fn import_set(&mut self, world: &mut World, set: Value) -> Fallible<Imported> {
        let parts = self.list(world, set)?;
        let first = parts.first().copied().unwrap_or(Value::NIL);
        let modifier = world.heap.symbols.name(first);
        let nested = parts.get(1).is_some_and(|part| part.as_pair().is_some());
        let imported = if nested && matches!(&*modifier, "only" | "except" | "prefix" | "rename") {
            let inner = parts[1];
            let inner = self.deeper(world, |expander, world| expander.import_set(world, inner))?;
            Imported::Names(self.modify_import(world, &modifier, inner, &parts[2..], set)?)
        } else {
            let name = world.describe(set);
            if STANDARD.contains(&name.as_str()) {
                Imported::Everything
            } else {
                let known = self
                    .libraries
                    .defined
                    .iter()
                    .find(|library| library.name == name);
                match known {
                    Some(library) => Imported::Names(library.exports.clone()),
                    None => return Err(self.syntax(format!("there is no library {name}"))),
                }
            }
        };
        Ok(imported)
    }

    fn modify_import(
        &mut self,
        world: &mut World,
        modifier: &str,
        inner: Imported,
        operands: &[Value],
        set: Value,
    ) -> Fallible<Vec<(Value, Binding)>> {
        let find = |expander: &Self, world: &World, name: Value| match &inner {
            Imported::Names(names) => names.iter().find(|(known, _)| *known == name).copied(),
            Imported::Everything => {
                expander
                    .scopes
                    .own(SYSTEM, name)
                    .map(|binding| (name, binding))
            }
            .filter(|_| !world.heap.symbols.name(name).starts_with('%')),
        };
        let mut names = Vec::new();
        match modifier {
            "only" => {
                for &name in operands {
                    let found = find(self, world, name);
                    names.push(found.ok_or_else(|| self.malformed(world, set))?);
                }
            }
            "rename" => {
                if let Imported::Names(all) = &inner {
                    names.clone_from(all);
                }
                for &operand in operands {
                    let [from, to] = self.list(world, operand)?[..] else {
                        return Err(self.malformed(world, set));
                    };
                    let Some((_, binding)) = find(self, world, from) else {
                        return Err(self.malformed(world, set));
                    };
                    names.retain(|(name, _)| *name != from);
                    names.push((to, binding));
                }
            }
            "prefix" => {
                let prefix = world
                    .heap
                    .symbols
                    .name(operands.first().copied().unwrap_or(Value::NIL));
                let all = match inner {
                    Imported::Names(all) => all,
                    Imported::Everything => self.standard_bindings(),
                };
                for (name, binding) in all {
                    let longer = format!("{prefix}{}", world.heap.symbols.name(name));
                    names.push((world.heap.intern(&longer)?, binding));
                }
            }
            _ => {
                if let Imported::Names(all) = inner {
                    names = all;
                    names.retain(|(name, _)| !operands.contains(name));
                }
            }
        }
        Ok(names)
    }

    fn standard_bindings(&self) -> Vec<(Value, Binding)> {
        let mut all: Vec<(Value, Binding)> = self
            .scopes
            .identifiers()
            .filter_map(|name| self.scopes.own(SYSTEM, name).map(|binding| (name, binding)))
            .collect();
        all.sort_by_key(|(name, _)| *name);
        all.dedup_by_key(|(name, _)| *name);
        all
    }

    pub(crate) fn define_library(&mut self, world: &mut World, form: Value) -> Fallible<Node> {
        let items = self.list(world, form)?;
        let [_, name, ..] = items[..] else {
            return Err(self.malformed(world, form));
        };
        let name = self.strip(world, name)?;
        let name = world.describe(name);
        if STANDARD.contains(&name.as_str()) {
            return Err(self.syntax(format!("{name} is a standard library")));
        }
        let scope = self.scopes.library();
        let mut exports = Vec::new();
        let mut nodes = Vec::new();
        self.library_declarations(world, &items[2..], scope, &mut exports, &mut nodes)?;
        let mut bound = Vec::new();
        for export in exports {
            let (inner, outer) = self.export(world, export)?;
            let binding = match self.scopes.lookup(&world.heap, inner, scope) {
                Meaning::Bound(binding) => binding,
                Meaning::Free(..) => {
                    let shown = world.describe(inner);
                    return Err(self.syntax(format!("{name} exports {shown} without defining it")));
                }
            };
            bound.push((outer, binding));
        }
        let library = Library {
            name,
            exports: bound,
        };
        world.heap.charge_permanent(library.bytes())?;
        self.libraries.defined.retain(|known| {
            let replaced = known.name == library.name;
            if replaced {
                world.heap.release_permanent(known.bytes());
            }
            !replaced
        });
        self.libraries.settled = usize::MAX;
        self.libraries.defined.push(library);
        nodes.push(Node::unspecified());
        Ok(Node::Seq(nodes))
    }

    /// Declarations of a library; `cond-expand` may hold any of them.
    fn library_declarations(
        &mut self,
        world: &mut World,
        declarations: &[Value],
        scope: ScopeId,
        exports: &mut Vec<Value>,
        nodes: &mut Vec<Node>,
    ) -> Fallible<()> {
        for &declaration in declarations {
            let parts = self.list(world, declaration)?;
            let keyword = parts.first().copied().unwrap_or(Value::NIL);
            let symbol = base_symbol(&world.heap, keyword);
            if &*world.heap.symbols.name(symbol) == "export" {
                exports.extend_from_slice(&parts[1..]);
                continue;
            }
            match self.head(world, declaration, SYSTEM) {
                Head::Special(Special::Begin) => {
                    nodes.push(self.top_sequence(world, &parts[1..], scope)?);
                }
                Head::Special(Special::Import) => {
                    nodes.push(self.import(world, declaration, scope)?);
                }
                Head::Special(Special::CondExpand) => {
                    let chosen = self.cond_expand(world, &parts[1..], SYSTEM)?;
                    self.deeper(world, |expander, world| {
                        expander.library_declarations(world, &chosen, scope, exports, nodes)
                    })?;
                }
                _ => return Err(self.malformed(world, declaration)),
            }
        }
        Ok(())
    }

    /// The inner and outer name of an export.
    fn export(&mut self, world: &mut World, spec: Value) -> Fallible<(Value, Value)> {
        if is_identifier(&world.heap, spec) {
            let symbol = base_symbol(&world.heap, spec);
            return Ok((symbol, symbol));
        }
        match self.list(world, spec)?[..] {
            [_, inner, outer] => Ok((
                base_symbol(&world.heap, inner),
                base_symbol(&world.heap, outer),
            )),
            _ => Err(self.malformed(world, spec)),
        }
    }
}
