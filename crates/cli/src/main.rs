//! The `attache` command.
//!
//! Raw arguments become an [`Invocation`](invocation::Invocation) in one step; a command runs it
//! and prints its result, or one cause and one remedy. The way of a run: `args` → `invocation` →
//! `commands` → `output`, with `selection` for which servers there are and `command_host` between a
//! command and its servers.

mod args;
mod arguments;
mod ask;
mod base64;
mod command_host;
mod commands;
mod configuration;
mod failure;
mod interrupt;
mod invocation;
mod names;
mod output;
mod overrides;
mod selection;
mod target;

use std::process::ExitCode;

use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::output::Output;

fn main() -> ExitCode {
    // Servers run as the same user, and the environment holds more than each may know. Guardians
    // come by here as well.
    attache::process::guardian::forbid_inspection();
    // Before anything else: this process may have been started to guard a server, or to evaluate
    // for one.
    attache::process::guardian::enable();
    attache_builtin::lisp::enable();
    let invocation = match Invocation::parse(std::env::args_os()) {
        Ok(invocation) => invocation,
        Err(refusal) => return output::refusal(&refusal).into(),
    };
    let output = Output::new(invocation.format, invocation.verbosity);
    // One thread is enough to wait on one server, and the fastest to start.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => {
            let exit = runtime.block_on(commands::run(invocation, &output));
            // Somebody may still be looking at a question; nobody waits for the answer.
            runtime.shutdown_background();
            exit.into()
        }
        Err(error) => {
            let failure = Failure::unexpected(format!("cannot start the runtime: {error}"));
            output.conclude(Err(failure)).into()
        }
    }
}
