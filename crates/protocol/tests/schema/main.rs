//! Checks against the official schemas and examples.
//!
//! They are found through `MCP_SCHEMA_DIR`, a folder with `<revision>/schema.json`. Without it these
//! tests have nothing to check, and fail.

#![cfg(test)]

mod official_schemas;

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;

use attache_protocol::Revision;
use jsonschema::Validator;
use serde_json::Value;

/// The folder with the official schemas. A test that needs them must not pass without.
fn schema_dir() -> PathBuf {
    let named = std::env::var_os("MCP_SCHEMA_DIR");
    PathBuf::from(named.expect("MCP_SCHEMA_DIR must name the folder with the official schemas"))
}

/// The official schema of one revision.
struct Schema {
    revision: Revision,
    root: Value,
    /// The member with the definitions: it depends on the dialect.
    definitions: &'static str,
    /// Compiled definitions by name.
    validators: RefCell<HashMap<String, Rc<Validator>>>,
}

impl Schema {
    /// The schemas of all revisions.
    fn all() -> Vec<Self> {
        let dir = schema_dir();
        let read = |revision: Revision| {
            let path = dir.join(revision.as_str()).join("schema.json");
            let text = fs::read_to_string(&path).unwrap_or_else(|error| {
                panic!("{} cannot be read: {error}", path.display());
            });
            let root: Value = serde_json::from_str(&text).unwrap();
            let definitions = ["$defs", "definitions"]
                .into_iter()
                .find(|member| root.get(member).is_some())
                .unwrap();
            Self {
                revision,
                root,
                definitions,
                validators: RefCell::default(),
            }
        };
        Revision::NEWEST_FIRST.map(read).into()
    }

    /// The definition of that name.
    fn definition(&self, name: &str) -> Option<&Value> {
        self.root[self.definitions].get(name)
    }

    fn validator(&self, name: &str) -> Rc<Validator> {
        let mut validators = self.validators.borrow_mut();
        let compile = || {
            let mut schema = self.root.clone();
            schema["$ref"] = format!("#/{}/{name}", self.definitions).into();
            Rc::new(jsonschema::validator_for(&schema).unwrap())
        };
        let validator = validators.entry(name.to_owned()).or_insert_with(compile);
        Rc::clone(validator)
    }

    /// Fails unless `value` is what the definition of that name says.
    #[track_caller]
    fn check(&self, name: &str, value: &Value) {
        let revision = self.revision;
        assert!(
            self.definition(name).is_some(),
            "{revision} defines no {name}"
        );
        let complaints: Vec<_> = self
            .validator(name)
            .iter_errors(value)
            .map(|error| format!("{error} at {}", error.instance_path()))
            .collect();
        assert!(
            complaints.is_empty(),
            "{value}\n  is no {name} of {revision}: {complaints:#?}"
        );
    }
}
