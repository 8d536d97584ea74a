//! `define-record-type`.
//!
//! Owns the procedures that a record type defines; where they are bound is for `body`.

use crate::error::Fallible;
use crate::object::{Object, RecordProcedure, RecordRole, RecordType};
use crate::syntax::expand::Expander;
use crate::syntax::scopes::{base_symbol, is_identifier};
use crate::value::Value;
use crate::world::World;

impl Expander {
    /// The identifiers that `define-record-type` defines, with their values.
    pub(crate) fn record_type(
        &mut self,
        world: &mut World,
        form: Value,
    ) -> Fallible<Vec<(Value, Value)>> {
        let items = self.list(world, form)?;
        let [_, name, constructor, predicate, ..] = items[..] else {
            return Err(self.malformed(world, form));
        };
        let identifier = world.heap.pair(name).map_or(name, |[car, _]| car);
        let mut specs = Vec::new();
        for &field in &items[4..] {
            specs.push(if is_identifier(&world.heap, field) {
                vec![field]
            } else {
                self.list(world, field)?
            });
        }
        let fields: Vec<Value> = specs
            .iter()
            .filter_map(|spec| spec.first().copied())
            .collect();
        if fields.len() != specs.len() {
            return Err(self.malformed(world, form));
        }
        let symbol = base_symbol(&world.heap, identifier);
        let shown = world.heap.symbols.name(symbol);
        let shown = shown
            .trim_start_matches('<')
            .trim_end_matches('>')
            .to_owned();
        let record = RecordType {
            name: shown.clone(),
            fields: fields
                .iter()
                .map(|&field| base_symbol(&world.heap, field))
                .collect(),
        };
        let kind = world.heap.object(Object::RecordType(Box::new(record)))?;
        let mut defined = vec![(identifier, kind)];
        let mut add = |world: &mut World, identifier: Value, role: RecordRole| -> Fallible<()> {
            let symbol = base_symbol(&world.heap, identifier);
            let name = world.heap.symbols.name(symbol).to_string();
            let procedure = RecordProcedure { name, kind, role };
            let value = world
                .heap
                .object(Object::RecordProcedure(Box::new(procedure)))?;
            defined.push((identifier, value));
            Ok(())
        };
        let number = |field: Value| {
            fields
                .iter()
                .position(|&known| known == field)
                .and_then(|at| u32::try_from(at).ok())
        };
        if constructor.as_pair().is_some() {
            let parts = world.heap.list_items(constructor).unwrap_or_default();
            let numbers: Option<Vec<u32>> = parts[1..].iter().map(|&f| number(f)).collect();
            let Some(numbers) = numbers else {
                return Err(self.malformed(world, constructor));
            };
            add(world, parts[0], RecordRole::Construct(numbers.into()))?;
        } else if is_identifier(&world.heap, constructor) {
            let numbers: Vec<u32> = fields.iter().filter_map(|&field| number(field)).collect();
            add(world, constructor, RecordRole::Construct(numbers.into()))?;
        }
        if is_identifier(&world.heap, predicate) {
            add(world, predicate, RecordRole::Test)?;
        }
        for spec in &specs {
            let Some(index) = number(spec[0]) else {
                continue;
            };
            if let Some(&accessor) = spec.get(1) {
                add(world, accessor, RecordRole::Get(index))?;
            }
            if let Some(&modifier) = spec.get(2) {
                add(world, modifier, RecordRole::Set(index))?;
            }
        }
        if defined
            .iter()
            .any(|(identifier, _)| !is_identifier(&world.heap, *identifier))
        {
            return Err(self.malformed(world, form));
        }
        Ok(defined)
    }
}
