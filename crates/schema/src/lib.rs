//! JSON Schema: exact JSON values, and checks that tell problems by place.
//!
//! A [`Schema`] is read once and checks any number of [`Value`]s, by the rules of the dialect that it
//! names (2020-12 unless it names one). It never reaches out of itself (S14): what it refers to
//! elsewhere, and what is not known here, is told as unchecked, never guessed. Numbers are compared
//! as they are written, never as floats.

mod check;
mod evaluated;
mod formats;
pub mod limits;
mod number;
mod path;
mod pattern;
mod report;
mod rules;
mod schema;
mod types;
mod uri;
mod value;
mod well_formed;

pub use check::Checker;
pub use number::Number;
pub use path::{Path, Step};
pub use report::{Problem, Report, Verdict};
pub use rules::{limit, names};
pub use schema::{Schema, child_pointer};
pub use types::Types;
pub use value::{Object, Value};

use attache_protocol::Json;

/// Checks an object that answers a form; the error tells the first problem (X-ELIC-07).
pub fn check_answer(schema: &Json, answer: &Json) -> Result<(), String> {
    let answer = Value::of_json(answer).map_err(|error| error.to_string())?;
    if answer.as_object().is_none() {
        return Err("the answer is no object".to_owned());
    }
    let report = Schema::new(schema).check(&answer);
    match report.problems.into_iter().next() {
        Some(problem) => Err(problem.message),
        None => Ok(()),
    }
}
