//! The plain writer: documents made of what is there, without a model.
//!
//! It structures a description, a specification and the look of the project. What only a person or
//! a model can decide it marks with [`TO_DECIDE`], or as a question where spec-kit has a mark for
//! it. The same input gives the same text.

mod layout;
mod plan;
mod spec;
mod statements;
mod tasks;

pub(super) use layout::Layout;
pub(super) use plan::plan;
pub(super) use spec::{checklist, questions, specification};
pub(super) use tasks::tasks;

/// Marks what the plain writer cannot know.
const TO_DECIDE: &str = "TO DECIDE";

/// Which feature a document is about.
#[derive(Clone, Debug)]
pub(super) struct Feature {
    /// The name of its folder.
    pub(super) name: String,
    /// The folder, from the project on.
    pub(super) shown: String,
    /// Today.
    pub(super) date: String,
}
