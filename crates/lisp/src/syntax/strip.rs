//! Data without the marks of macros.
//!
//! Owns turning the identifiers that macros inserted back into the symbols of the source.

use crate::error::Fallible;
use crate::object::Object;
use crate::syntax::expand::Expander;
use crate::syntax::scopes::{base_symbol, is_identifier};
use crate::value::Value;
use crate::world::World;

impl Expander {
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
