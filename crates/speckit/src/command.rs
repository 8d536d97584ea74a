//! The five commands of the workflow and what each needs.

use crate::listing::Spec;
use crate::{PLAN, SPEC, TASKS};

/// A command of the workflow, in the order of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Command {
    /// Writes the specification.
    Specify,
    /// Asks about what is open in it.
    Clarify,
    /// Writes the plan.
    Plan,
    /// Writes the tasks.
    Tasks,
    /// Works through them.
    Implement,
}

/// Why a command cannot run yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {missing} yet; run {first} first")]
pub struct Unmet {
    /// The file that is missing.
    pub missing: &'static str,
    /// The command that writes it.
    pub first: &'static str,
}

impl Command {
    /// All, in the order of the work.
    pub const ALL: [Self; 5] = [
        Self::Specify,
        Self::Clarify,
        Self::Plan,
        Self::Tasks,
        Self::Implement,
    ];

    /// Its one word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Specify => "specify",
            Self::Clarify => "clarify",
            Self::Plan => "plan",
            Self::Tasks => "tasks",
            Self::Implement => "implement",
        }
    }

    /// The tool that does it.
    pub const fn tool(self) -> &'static str {
        match self {
            Self::Specify => "speckit.specify",
            Self::Clarify => "speckit.clarify",
            Self::Plan => "speckit.plan",
            Self::Tasks => "speckit.tasks",
            Self::Implement => "speckit.implement",
        }
    }

    /// The command that a tool is.
    pub fn of_tool(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.tool() == name)
    }

    /// Whether its prerequisites are there.
    ///
    /// # Errors
    /// [`Unmet`] names the missing file and the command that writes it.
    pub fn check(self, spec: &Spec) -> Result<(), Unmet> {
        let needs: &[(&str, bool, Self)] = match self {
            Self::Specify => &[],
            Self::Clarify | Self::Plan => &[(SPEC, spec.has_spec, Self::Specify)],
            Self::Tasks => &[
                (SPEC, spec.has_spec, Self::Specify),
                (PLAN, spec.has_plan, Self::Plan),
            ],
            Self::Implement => &[(TASKS, spec.tasks.is_some(), Self::Tasks)],
        };
        match needs.iter().find(|(_, is_there, _)| !is_there) {
            None => Ok(()),
            Some((missing, _, first)) => Err(Unmet {
                missing,
                first: first.word(),
            }),
        }
    }
}
