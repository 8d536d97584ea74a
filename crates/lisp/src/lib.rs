//! A Scheme for sandboxes.
//!
//! R7RS-small as a documented subset (see `LANGUAGE.md` of this crate): exact integers without
//! bound, rationals, floats; hygienic `syntax-rules`; proper tail calls; re-entrant continuations;
//! `dynamic-wind`, exceptions, parameters, promises, records, libraries. There are no files, no
//! clock, no processes and no threads.
//!
//! Everything is bounded: steps, heap, depth, integer size, source and output (see [`Limits`]),
//! each charged before the work, and an [`Interrupt`] stops what takes too long. A limit cannot be
//! caught by the program it ends. The same source under the same limits gives the same result.
//!
//! ```
//! use attache_lisp::{Limits, Session, Uninterrupted};
//!
//! let mut session = Session::new(Limits::default());
//! session.evaluate("(define (square x) (* x x))", None, &Uninterrupted)?;
//! let outcome = session.evaluate("(square 1/3)", None, &Uninterrupted)?;
//! assert_eq!(outcome.value, "1/9");
//! # Ok::<(), attache_lisp::Failure>(())
//! ```
//!
//! The way of a program: `reader` makes data, `syntax` makes core forms of data, `compile` makes
//! code of core forms, `machine` runs code over the `heap`.

mod arena;
mod code;
mod collect;
mod compile;
mod compile_loops;
mod continuations;
mod control;
mod dispatch;
mod equal;
mod error;
mod faults;
mod heap;
mod inline;
mod limits;
mod machine;
mod number;
mod object;
mod prims;
mod print;
mod reader;
mod session;
mod stack;
mod storage;
mod symbols;
mod syntax;
mod tidy;
mod value;
mod world;

pub use error::{ErrorKind, Failure, Position};
pub use limits::{Interrupt, Limits, Stop, Uninterrupted, Watch};
pub use session::{Outcome, Session};
