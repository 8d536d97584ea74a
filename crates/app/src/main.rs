//! The `attache` command.
//!
//! Raw arguments become an [`Invocation`](invocation::Invocation) in one step; a command runs it
//! and either prints its result or fails with one cause and one remedy. `ARCHITECTURE` in short:
//! `args` → `invocation` → `commands` → `output`, with `session` between a command and its server.

mod args;
mod arguments;
mod ask;
mod base64;
mod builtin_server;
mod commands;
mod failure;
mod interrupt;
mod invocation;
mod names;
mod output;
mod session;
mod target;

use std::process::ExitCode;

use crate::failure::{Exit, Failure};
use crate::invocation::{Action, Invocation};
use crate::output::Output;

fn main() -> ExitCode {
    // Before anything else: this process may have been started to guard a server.
    attache::process::guardian::enable();
    let invocation = match Invocation::parse(std::env::args_os()) {
        Ok(invocation) => invocation,
        Err(refusal) => return output::refusal(&refusal).into(),
    };
    let invocation = match invocation.action {
        Action::ServeBuiltIn => return builtin_server::run(),
        _ => invocation,
    };
    let output = Output::new(invocation.format, invocation.verbosity);
    match run(invocation, &output) {
        Ok(()) => Exit::Done.into(),
        Err(failure) => {
            output.failure(&failure);
            failure.exit.into()
        }
    }
}

fn run(invocation: Invocation, output: &Output) -> Result<(), Failure> {
    // One thread is enough to wait on one server, and the fastest to start.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::unexpected(format!("cannot start the runtime: {error}")))?;
    let result = runtime.block_on(commands::run(invocation, output));
    // Somebody may still be looking at a question; nobody waits for the answer.
    runtime.shutdown_background();
    result
}
