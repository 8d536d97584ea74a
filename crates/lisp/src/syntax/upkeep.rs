//! Scopes and macros that nothing can mean any more.
//!
//! Owns finding and dropping them between evaluations. What is left is what the two top-level
//! scopes and the exports of libraries lead to: local macros and the scopes of their forms have
//! done their work when the form is compiled.

use std::collections::HashSet;

use crate::heap::Heap;
use crate::object::Object;
use crate::syntax::expand::Expander;
use crate::syntax::scopes::{Binding, SYSTEM, ScopeId, USER};
use crate::value::Value;

/// What was found so far.
struct Search<'a> {
    expander: &'a Expander,
    heap: &'a Heap,
    scopes: Vec<bool>,
    macros: Vec<bool>,
    seen: HashSet<Value>,
    pending: Vec<Found>,
}

enum Found {
    Scope(ScopeId),
    Macro(u32),
    Datum(Value),
}

impl Search<'_> {
    fn run(&mut self) {
        while let Some(found) = self.pending.pop() {
            match found {
                Found::Scope(id) => self.scope(id),
                Found::Macro(index) => self.rules(index),
                Found::Datum(value) => self.datum(value),
            }
        }
    }

    fn scope(&mut self, id: ScopeId) {
        if std::mem::replace(&mut self.scopes[id as usize], true) {
            return;
        }
        let scopes = &self.expander.scopes;
        self.pending.extend(scopes.parent(id).map(Found::Scope));
        for (identifier, binding) in scopes.bindings(id) {
            self.pending.push(Found::Datum(identifier));
            self.pending.extend(bound_macro(binding));
        }
    }

    fn rules(&mut self, index: u32) {
        if std::mem::replace(&mut self.macros[index as usize], true) {
            return;
        }
        let rules = &self.expander.macros[index as usize];
        self.pending.push(Found::Scope(rules.scope));
        self.pending.extend(rules.values().map(Found::Datum));
    }

    /// Identifiers that a macro inserted name the scope of that macro.
    fn datum(&mut self, value: Value) {
        if let Some([car, cdr]) = self.heap.pair(value) {
            if self.seen.insert(value) {
                self.pending.extend([Found::Datum(cdr), Found::Datum(car)]);
            }
            return;
        }
        match self.heap.get(value) {
            Some(Object::Vector(items)) if self.seen.insert(value) => {
                self.pending.extend(items.iter().copied().map(Found::Datum));
            }
            Some(&Object::Alias { name, scope }) if self.seen.insert(value) => {
                self.pending
                    .extend([Found::Scope(scope), Found::Datum(name)]);
            }
            _ => {}
        }
    }
}

fn bound_macro(binding: Binding) -> Option<Found> {
    match binding {
        Binding::Macro(index) => Some(Found::Macro(index)),
        _ => None,
    }
}

impl Expander {
    /// Drops what no later form can refer to; answers the bytes that macros were charged.
    pub(crate) fn drop_unreachable(&mut self, heap: &mut Heap) -> usize {
        let mut search = Search {
            expander: self,
            heap,
            scopes: vec![false; self.scopes.len()],
            macros: vec![false; self.macros.len()],
            seen: HashSet::new(),
            pending: vec![Found::Scope(SYSTEM), Found::Scope(USER)],
        };
        let exported = self.libraries.bindings().filter_map(bound_macro);
        search.pending.extend(exported);
        search.run();
        let (scopes, macros) = (renumber(&search.scopes), renumber(&search.macros));

        let mut freed = 0;
        let mut index = 0;
        self.macros.retain_mut(|rules| {
            let kept = macros[index].is_some();
            index += 1;
            if kept {
                rules.scope = scopes[rules.scope as usize].unwrap_or(SYSTEM);
            } else {
                freed += rules.bytes();
            }
            kept
        });
        let moved = |binding: &mut Binding| {
            if let Binding::Macro(index) = binding {
                *index = macros[*index as usize].unwrap_or(0);
            }
        };
        self.libraries.bindings_mut().for_each(moved);
        self.scopes.renumber(&scopes, moved);
        for object in &mut heap.objects {
            if let Object::Alias { scope, .. } = object {
                // One without its scope is garbage that the next collection finds.
                *scope = scopes[*scope as usize].unwrap_or(SYSTEM);
            }
        }
        freed
    }
}

/// The new numbers of what stays.
fn renumber(kept: &[bool]) -> Vec<Option<u32>> {
    let mut next = 0;
    kept.iter()
        .map(|&kept| {
            kept.then(|| {
                next += 1;
                next - 1
            })
        })
        .collect()
}
