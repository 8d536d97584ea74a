//! Forms made of JSON Schema (2020-12, and older spellings of the same).
//!
//! A [`Form`] holds a schema. With a value it gives a tree of [`Field`]s, in which each field knows
//! its kind of widget; [`Form::check`] tells what is wrong with a value; [`State`] is a form being
//! filled in; [`assign`] fills one in from the words of a shell. The value is the only truth: fields
//! are a view of it, so that a form and a JSON editor beside it edit the same thing, and what the
//! schema does not describe survives.
//!
//! A hostile schema costs no more than [`limits`] allow and never reaches out of itself (S14).

mod check;
mod check_rules;
mod expand;
mod field;
mod formats;
mod layers;
pub mod limits;
mod naming;
mod path;
mod schema;
mod shell;
mod state;
mod typed;
mod widgets;

use attache_protocol::Json;

pub use check::{Problem, Report};
pub use field::{Choice, Field, Kind, Members, PatternMembers, Place, Range, TextShape, Variant};
pub use path::{Path, Step};
pub use shell::{Assignment, Notation, assign};
pub use state::{Picks, State};

use check::Checker;
use expand::Expansion;
use schema::Document;

use crate::Value;

/// A schema, ready to be shown as a form.
#[derive(Debug)]
pub struct Form {
    document: Document,
}

impl Form {
    /// Makes a form of any schema; one that cannot be read becomes a JSON editor that says why.
    pub fn new(schema: &Json) -> Self {
        Self {
            document: Document::new(Value::of_json(schema)),
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
        Expansion::new(&self.document, picks).field(place, path, value)
    }

    /// Checks a value: problems by field.
    pub fn check(&self, value: &Value) -> Report {
        Checker::new(&self.document).report(&self.document.root, value, &Path::default())
    }

    /// Checks a value against one place, such as a single field while it is typed.
    pub fn check_at(&self, place: &Place, path: &Path, value: &Value) -> Report {
        let mut checker = Checker::new(&self.document);
        let mut report = Report::default();
        for part in place
            .schemas()
            .filter_map(|pointer| self.document.at(pointer))
        {
            let found = checker.report(part, value, path);
            report.problems.extend(found.problems);
            report.unchecked.extend(found.unchecked);
        }
        report
    }

    /// The members that the schema describes at the end of a path: names as they are, and titles.
    pub(crate) fn members_at(&self, steps: &[Step]) -> Vec<(String, Option<String>)> {
        let picks = Picks::default();
        let mut expansion = Expansion::new(&self.document, &picks);
        let mut place = Place::root();
        for step in steps {
            let layers = expansion.layers(&place, None);
            place = Place::of(match step {
                Step::Key(name) => layers.member(&mut expansion.checker, name),
                Step::Index(index) => layers.item(*index),
            });
        }
        let field = expansion.field(&place, &Path::default(), None);
        let members = field.children().into_iter();
        let named = members.filter_map(|member| match member.path.0.last()? {
            Step::Key(name) => Some((name.clone(), member.title.clone())),
            Step::Index(_) => None,
        });
        named.collect()
    }
}
