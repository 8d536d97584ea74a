//! What can go wrong: the public failure and the faults that travel inside the crate.
//!
//! Owns kinds, positions and messages; knows nothing of how Scheme code catches them.

use std::fmt;

use crate::value::Value;

/// The kind of a failure, stable for programs that react to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The text is not a sequence of data.
    Read,
    /// A form is malformed.
    Syntax,
    /// A variable has no value.
    Unbound,
    /// An argument is of the wrong type.
    Type,
    /// A procedure got the wrong number of arguments.
    Arity,
    /// An index or number is out of range.
    Range,
    /// An exact division by zero.
    DivideByZero,
    /// The program raised an object that nothing caught.
    Raised,
    /// The step limit was reached.
    Steps,
    /// The heap or integer size limit was reached.
    Memory,
    /// The limit of pending calls or nesting was reached.
    Depth,
    /// The deadline passed or the evaluation was cancelled.
    Time,
    /// The output limit was reached.
    Output,
    /// A defect of the evaluator itself.
    Internal,
}

impl ErrorKind {
    /// Every kind.
    pub const ALL: [Self; 14] = [
        Self::Read,
        Self::Syntax,
        Self::Unbound,
        Self::Type,
        Self::Arity,
        Self::Range,
        Self::DivideByZero,
        Self::Raised,
        Self::Steps,
        Self::Memory,
        Self::Depth,
        Self::Time,
        Self::Output,
        Self::Internal,
    ];

    /// The kind of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The name of the kind as programs see it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Syntax => "syntax",
            Self::Unbound => "unbound",
            Self::Type => "type",
            Self::Arity => "arity",
            Self::Range => "range",
            Self::DivideByZero => "divide-by-zero",
            Self::Raised => "raised",
            Self::Steps => "steps",
            Self::Memory => "memory",
            Self::Depth => "depth",
            Self::Time => "time",
            Self::Output => "output",
            Self::Internal => "internal",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A place in the source text; both numbers start at one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column, counted in characters.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// An evaluation that did not end in a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What kind of failure it is.
    pub kind: ErrorKind,
    /// What happened, in words.
    pub message: String,
    /// Where, when it is known.
    pub position: Option<Position>,
    /// What the program wrote before it failed.
    pub output: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some(position) => write!(f, "{} error at {position}: {}", self.kind, self.message),
            None => write!(f, "{} error: {}", self.kind, self.message),
        }
    }
}

impl std::error::Error for Failure {}

/// A fault on its way to the machine, which decides whether Scheme code may see it.
#[derive(Debug)]
pub(crate) enum FaultCause {
    /// An allocation did not fit; a collection may make room.
    Full,
    /// A limit was reached; no Scheme code runs after it.
    Limit(ErrorKind, String),
    /// An error that a handler may catch.
    Error(ErrorKind, String),
    /// A program raised this object.
    Raise(Value),
}

/// A boxed cause, so that results of hot paths stay two words.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) cause: Box<FaultCause>,
    pub(crate) position: Option<Position>,
}

pub(crate) type Fallible<T> = Result<T, Fault>;

impl Fault {
    fn new(cause: FaultCause) -> Self {
        Self {
            cause: Box::new(cause),
            position: None,
        }
    }

    #[cold]
    pub(crate) fn full() -> Self {
        Self::new(FaultCause::Full)
    }

    #[cold]
    pub(crate) fn limit(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::new(FaultCause::Limit(kind, message.into()))
    }

    #[cold]
    pub(crate) fn error(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::new(FaultCause::Error(kind, message.into()))
    }

    #[cold]
    pub(crate) fn raise(object: Value) -> Self {
        Self::new(FaultCause::Raise(object))
    }

    pub(crate) fn is_full(&self) -> bool {
        matches!(*self.cause, FaultCause::Full)
    }

    pub(crate) fn at(mut self, position: Option<Position>) -> Self {
        if self.position.is_none() {
            self.position = position;
        }
        self
    }
}
