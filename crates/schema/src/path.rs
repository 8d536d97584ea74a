//! Where something stands in a value.

use std::fmt;

use attache_protocol::safe_text;
use serde::{Deserialize, Serialize};

use crate::Value;

/// One step into a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Step {
    /// To a member of an object.
    Key(String),
    /// To an item of a list.
    Index(usize),
}

/// The way from the root of a value to a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Path(pub Vec<Step>);

impl Path {
    /// One step further.
    pub fn join(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// A member of what is here.
    pub fn key(&self, name: &str) -> Self {
        self.join(Step::Key(name.to_owned()))
    }

    /// An item of what is here.
    pub fn index(&self, index: usize) -> Self {
        self.join(Step::Index(index))
    }

    /// What the way leads to.
    pub fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(value, |value, step| match step {
            Step::Key(name) => value.get(name),
            Step::Index(index) => value.as_array()?.get(*index),
        })
    }

    /// The subject of a sentence about what is here.
    pub fn subject(&self) -> String {
        match self.0.is_empty() {
            true => "the value".to_owned(),
            false => format!("\"{self}\""),
        }
    }
}

impl fmt::Display for Path {
    /// As it is typed at a shell: `place.lines[0]`; safe to show.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(name) => {
                    let dot = if at == 0 { "" } else { "." };
                    write!(formatter, "{dot}{}", safe_text::one_line(name))?;
                }
                Step::Index(index) => write!(formatter, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// Where a check is. Paths are made only of those places that have a problem.
pub(crate) enum Here<'a> {
    Root(&'a Path),
    Key(&'a Here<'a>, &'a str),
    Index(&'a Here<'a>, usize),
}

impl Here<'_> {
    pub(crate) fn path(&self) -> Path {
        match self {
            Self::Root(path) => (*path).clone(),
            Self::Key(parent, name) => parent.path().key(name),
            Self::Index(parent, index) => parent.path().index(*index),
        }
    }

    /// How many steps it is from the root.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Self::Root(path) => path.0.len(),
            Self::Key(parent, _) | Self::Index(parent, _) => parent.depth() + 1,
        }
    }
}
