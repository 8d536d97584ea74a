//! The files of spec-kit as values.
//!
//! Owns what a project with specs looks like on disk: folders, phases, the items of a
//! specification, tasks and their order, and how a document is written again without losing what a
//! person changed in it. The server that writes these files and the tab that shows them both stand
//! on it, so that they cannot disagree about a phase or a task. Knows nothing of MCP, models,
//! processes or terminals.

mod command;
mod date;
mod document;
mod folder;
mod listing;
mod merge;
mod tasks;

pub use command::{Command, Unmet};
pub use date::today;
pub use document::{Criterion, MAX_MARKERS, Requirement, Specification, Story, markers};
pub use folder::{FolderError, LARGEST_FILE, Project, SpecFolder, Working, replace};
pub use listing::{
    DOCUMENTS, Phase, Spec, SpecList, branch_of, list, next_number, short_name, spec_at,
};
pub use merge::{Merged, merge};
pub use tasks::{OrderError, Task, TaskList, Wave};

/// The specification of a feature.
pub const SPEC: &str = "spec.md";
/// How the feature is built.
pub const PLAN: &str = "plan.md";
/// The steps to build it.
pub const TASKS: &str = "tasks.md";
/// The folder of specs in a project, unless configured.
pub const SPECS_FOLDER: &str = "specs";
