//! Forms made of JSON Schema (2020-12, and older spellings of the same).
//!
//! A [`Form`] holds a schema. With a value it gives a tree of [`Field`]s, in which each field knows
//! its kind of widget; [`Form::check`] tells what is wrong with a value; [`State`] is a form being
//! filled in; [`assign`] fills one in from the words of a shell. The value is the only truth: fields
//! are a view of it, so that a form and a JSON editor beside it edit the same thing, and what the
//! schema does not describe survives.
//!
//! A hostile schema costs no more than [`limits`] allow and never reaches out of itself (S14).

mod begin;
mod carried;
mod expand;
mod field;
mod layers;
pub mod limits;
mod naming;
mod shell;
mod signature;
mod state;
mod typed;
mod widgets;

use attache_protocol::{Json, Tool};

pub use attache_schema::{Path, Problem, Report, Step};
pub use carried::CarriedState;
pub use field::{Choice, Field, Kind, Members, PatternMembers, Place, Range, TextShape, Variant};
pub use shell::{Assignment, Notation, assign};
pub use state::{Picks, State};

use attache_schema::{Checker, Schema};
use expand::Expansion;

use crate::{Object, Value};

/// A schema, ready to be shown as a form.
#[derive(Debug)]
pub struct Form {
    schema: Schema,
}

impl Form {
    /// Makes a form of any schema; one that cannot be read becomes a JSON editor that says why.
    pub fn new(schema: &Json) -> Self {
        Self {
            schema: Schema::new(schema),
        }
    }

    /// The form of a tool's arguments.
    pub fn of_tool(tool: &Tool) -> Self {
        Self {
            schema: Schema::of(Value::parse(&tool.schema())),
        }
    }

    /// A form without fields.
    pub fn empty() -> Self {
        let kind = Value::String("object".to_owned());
        let schema = Value::Object([("type", kind)].into_iter().collect());
        Self {
            schema: Schema::of(Ok(schema)),
        }
    }

    /// The answer of a person who changes nothing: all defaults (C-ELIC-06).
    pub fn defaults(&self) -> Json {
        let mut state = State::new(Some(Value::Object(Object::default())));
        state.use_defaults(self);
        state.to_json().unwrap_or_default()
    }

    /// A form that takes anything.
    pub fn any() -> Self {
        Self {
            schema: Schema::of(Ok(Value::Bool(true))),
        }
    }

    /// The tree of fields for a value, or for none yet. `picks` tells the variants that a person
    /// picked; others are found by the value.
    pub fn field(&self, value: Option<&Value>, picks: &Picks) -> Field {
        self.expand(&Place::root(), &Path::default(), value, picks)
    }

    /// The tree of fields below one place: for a deferred field, for a new item or member.
    pub fn expand(
        &self,
        place: &Place,
        path: &Path,
        value: Option<&Value>,
        picks: &Picks,
    ) -> Field {
        Expansion::new(&self.schema, picks).field(place, path, value)
    }

    /// Checks a value: problems by field.
    pub fn check(&self, value: &Value) -> Report {
        self.schema.check(value)
    }

    /// Checks a value against one place, such as a single field while it is typed.
    pub fn check_at(&self, place: &Place, path: &Path, value: &Value) -> Report {
        let mut checker = Checker::new(&self.schema);
        let mut report = Report::default();
        for part in place
            .schemas()
            .filter_map(|pointer| self.schema.at(pointer))
        {
            report.merge(checker.report(part, value, path));
        }
        report
    }

    /// The members that the schema describes at the end of a path: names as they are, and titles.
    pub fn members_at(&self, steps: &[Step]) -> Vec<(String, Option<String>)> {
        let picks = Picks::default();
        let mut expansion = Expansion::new(&self.schema, &picks);
        let mut place = Place::root();
        for step in steps {
            let layers = expansion.layers(&place, None);
            place = Place::of(match step {
                Step::Key(name) => layers.member(&mut expansion.checker, name),
                Step::Index(index) => layers.item(*index),
            });
        }
        let field = expansion.field(&place, &Path::default(), None);
        let members = field.members().map_or(&[][..], |members| &members.fields);
        let named = members
            .iter()
            .filter_map(|member| Some((member.key()?.to_owned(), member.title.clone())));
        named.collect()
    }
}
