//! The real binary against real servers.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

mod builtin;
#[cfg(all(unix, feature = "chat"))]
mod chat;
mod completion;
mod configured;
mod doctor;
mod exchange;
mod failures;
mod forms;
mod harness;
mod help;
mod hostile;
#[cfg(target_os = "linux")]
mod privacy;
#[cfg(unix)]
mod project_files;
mod real_servers;
mod reference;
mod remembered;
mod remote;
mod serve;
mod serve_lisp;
mod several;
#[cfg(unix)]
mod signals;
#[cfg(unix)]
mod terminal;
mod trust;
