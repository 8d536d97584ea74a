//! What keeps a worker from doing harm, as data.
//!
//! Owns the words; how it is set up is the worker's business.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How far one means of confinement holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    /// Everything that was asked for.
    Whole,
    /// As much as this kernel knows.
    Partly,
    /// Nothing: this system has no such thing, or refused it.
    #[default]
    Not,
}

/// What the operating system lets a worker do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Limits of memory and processor time; no files, no core.
    pub limits: Holds,
    /// Landlock: no path and no port can be reached, whatever is opened.
    pub landlock: Holds,
    /// Seccomp: only the system calls that evaluating takes.
    pub seccomp: Holds,
}

impl fmt::Display for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let means = [
            ("resource limits", self.limits),
            ("Landlock", self.landlock),
            ("seccomp", self.seccomp),
        ];
        let named = |wanted: Holds| {
            let names = means.iter().filter(|(_, holds)| *holds == wanted);
            names.map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
        };
        let mut separator = "";
        for (holds, words) in [
            (Holds::Whole, ""),
            (Holds::Partly, " in part"),
            (Holds::Not, " not available"),
        ] {
            let names = named(holds);
            if !names.is_empty() {
                write!(f, "{separator}{names}{words}")?;
                separator = "; ";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Confinement, Holds};

    #[test]
    fn what_holds_is_said_first() {
        let mut confinement = Confinement {
            limits: Holds::Whole,
            landlock: Holds::Partly,
            seccomp: Holds::Whole,
        };
        let expected = "resource limits, seccomp; Landlock in part";
        assert_eq!(confinement.to_string(), expected);
        confinement.landlock = Holds::Not;
        let expected = "resource limits, seccomp; Landlock not available";
        assert_eq!(confinement.to_string(), expected);
        let expected = "resource limits, Landlock, seccomp not available";
        assert_eq!(Confinement::default().to_string(), expected);
    }
}
