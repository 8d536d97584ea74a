//! Interned names.
//!
//! Owns the table from names to symbols; knows nothing of bindings. Symbols that nothing refers to
//! are dropped by a collection, so a flood of names is only garbage.

use std::collections::HashMap;
use std::sync::Arc;

use crate::value::Value;

/// The symbol table.
pub(crate) struct Symbols {
    by_name: HashMap<Arc<str>, u32>,
    names: Vec<Option<Arc<str>>>,
    marks: Vec<bool>,
    free: Vec<u32>,
}

impl Symbols {
    pub(crate) fn new() -> Self {
        Self {
            by_name: HashMap::new(),
            names: Vec::new(),
            marks: Vec::new(),
            free: Vec::new(),
        }
    }

    /// What a symbol of this name costs.
    pub(crate) fn bytes(name: &str) -> usize {
        name.len() + 80
    }

    pub(crate) fn find(&self, name: &str) -> Option<Value> {
        self.by_name.get(name).map(|&index| Value::symbol(index))
    }

    /// Adds a name that is not in the table.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the heap limit keeps indices in u32"
    )]
    pub(crate) fn add(&mut self, name: &str) -> Value {
        let name: Arc<str> = name.into();
        let index = if let Some(index) = self.free.pop() {
            self.names[index as usize] = Some(Arc::clone(&name));
            index
        } else {
            self.names.push(Some(Arc::clone(&name)));
            self.marks.push(false);
            (self.names.len() - 1) as u32
        };
        self.by_name.insert(name, index);
        Value::symbol(index)
    }

    /// The name of a symbol, empty for other values.
    pub(crate) fn name(&self, symbol: Value) -> Arc<str> {
        symbol
            .as_symbol()
            .and_then(|index| self.names[index as usize].clone())
            .unwrap_or_else(|| "".into())
    }

    pub(crate) fn clear_marks(&mut self) {
        self.marks.fill(false);
    }

    pub(crate) fn mark(&mut self, index: u32) {
        self.marks[index as usize] = true;
    }

    /// Drops unmarked symbols; answers the bytes of the others.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the heap limit keeps indices in u32"
    )]
    pub(crate) fn sweep(&mut self) -> usize {
        let mut live = 0;
        for (index, slot) in self.names.iter_mut().enumerate() {
            let Some(name) = slot else { continue };
            if self.marks[index] {
                live += Self::bytes(name);
            } else {
                self.by_name.remove(name);
                *slot = None;
                self.free.push(index as u32);
            }
        }
        live
    }
}
