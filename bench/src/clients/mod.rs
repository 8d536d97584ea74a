//! The clients that are compared.
//!
//! Owns the list of clients and the two shapes a client can have here: one that
//! blocks and one that is asynchronous. Refuses to know how long anything takes.

pub(crate) mod attache;
pub(crate) mod blocking;
pub(crate) mod external;
pub(crate) mod raw_pipe;
pub(crate) mod rmcp;

use std::future::Future;

use crate::Result;
use crate::control::ServerCommand;

/// The message that `echo` is called with.
pub(crate) const MESSAGE: &str = "hello";
/// The text that must come back.
pub(crate) const ECHO: &str = "Echo: hello";

/// One column of the table.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum ClientKind {
    RawPipe,
    Blocking,
    Rmcp,
    TypeScript,
    Python,
    AttacheRaw,
    AttacheTyped,
    AttacheObserved,
}

impl ClientKind {
    pub(crate) const ALL: [Self; 8] = [
        Self::RawPipe,
        Self::Blocking,
        Self::Rmcp,
        Self::TypeScript,
        Self::Python,
        Self::AttacheRaw,
        Self::AttacheTyped,
        Self::AttacheObserved,
    ];

    /// The name in the table, in the JSON and on the worker's command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::RawPipe => "raw pipe",
            Self::Blocking => "blocking",
            Self::Rmcp => "rmcp",
            Self::TypeScript => "typescript",
            Self::Python => "python",
            Self::AttacheRaw => "attache raw",
            Self::AttacheTyped => "attache typed",
            Self::AttacheObserved => "attache observed",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A connection whose calls block the one thread there is.
pub(crate) trait BlockingConnection: Sized {
    fn open(server: &ServerCommand) -> Result<Self>;
    /// One call of `echo`, answer checked.
    fn echo(&mut self) -> Result<()>;
    /// This many calls of `echo` at once, all answered on return.
    fn echo_together(&mut self, width: usize) -> Result<()>;
    /// One call of `text`, length checked.
    fn text(&mut self, bytes: usize) -> Result<()>;
    /// One complete list of tools, count checked.
    fn list(&mut self, tools: usize) -> Result<()>;
    /// Ends the connection and waits for the server to leave.
    fn close(self) -> Result<()>;
}

/// A connection that many tasks share through its clones.
pub(crate) trait AsyncConnection: Clone + Send + Sync + Sized + 'static {
    fn open(server: &ServerCommand) -> impl Future<Output = Result<Self>> + Send;
    /// One call of `echo`, answer checked.
    fn echo(&self) -> impl Future<Output = Result<()>> + Send;
    /// One call of `text`, length checked.
    fn text(&self, bytes: usize) -> impl Future<Output = Result<()>> + Send;
    /// One complete list of tools, count checked.
    fn list(&self, tools: usize) -> impl Future<Output = Result<()>> + Send;
    /// Ends the connection and waits for the server to leave.
    fn close(self) -> impl Future<Output = Result<()>> + Send;
}

/// Checks what came back against what must come back.
pub(crate) fn expect<T: PartialEq + std::fmt::Debug>(found: &T, expected: &T) -> Result<()> {
    if found == expected {
        Ok(())
    } else {
        Err(format!("the answer is {found:?} where {expected:?} was expected").into())
    }
}
