//! A conversation on a terminal, and in a pipe.
//!
//! Owns how answers, calls and notes look, and the line that a person types. There is no alternate
//! screen: everything stays in the scrollback and can be copied. Every text of a model or a server
//! is made safe before it is written (S13).

mod completion;
mod draw;
mod face;
mod lines;
mod live;
mod pipe;
mod screen;

pub use completion::Candidates;
pub use face::TerminalFace;
pub use lines::{Lines, Typed};
pub use pipe::{JsonFace, PipeFace};
pub use screen::{SavedTerminal, hidden_line, size};

/// Whether colours and redrawing are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// They are.
    Rich,
    /// Plain text only.
    Plain,
}
