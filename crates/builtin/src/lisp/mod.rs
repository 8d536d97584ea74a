//! The server that evaluates Lisp.
//!
//! [`Evaluator`] takes a [`Request`] and always comes back with an [`Answer`]. The evaluation
//! itself runs in a worker process with resource limits of the operating system, so that the wall
//! limit can be a kill and no defect can take the server down.
//!
//! A session is found by its name and by who asks: the principal, as far as the face could tell.
//! Over stdio that is the one client there is. Over HTTP it is whoever a bearer token stands for,
//! and without tokens everybody on this machine. It is not the connection and not the session of
//! MCP: a modern client has neither, and a legacy one gets a new session whenever it comes back,
//! without its user knowing. So an agent finds its definitions again for as long as it names them,
//! and those who share credentials keep out of each other's way by their choice of names.
//!
//! The parts:
//!
//! - `limits` and `request`: what is asked and answered, as plain data;
//! - `recent`: sessions by owner and name, a bounded number, the oldest of the fullest owner dropped;
//! - `turns`: whose evaluation runs next;
//! - `worker`: the process, on its own side of the pipe;
//! - `confinement`: what the operating system lets it do, as data;
//! - `wire`: what goes through the pipe;
//! - `process`: a worker as its owner sees it;
//! - `evaluator`: which worker gets which request;
//! - `tools`: all of it as an MCP server with one tool.

mod confinement;
mod evaluator;
mod limits;
mod process;
mod recent;
mod request;
mod tools;
mod turns;
mod wire;
mod worker;

pub use confinement::{Confinement, Holds};
pub use evaluator::{Evaluator, Settings};
pub use limits::{Limits, LowerLimits, TooHigh};
pub use process::Executable;
pub use request::{Answer, Evaluated, Failed, Progress, Request, RequestError, SessionState};
pub use tools::{TOOL, builder, server, tool};
pub use worker::enable;
