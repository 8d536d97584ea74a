//! The `attache` command.
//!
//! The command line becomes a verb with its arguments in one step; the verb runs and prints its
//! result, or one cause and one remedy. The way of a run: `invocation` → `commands` → `output`, with
//! `args` for what verbs share, `selection` for which servers there are and `command_host` between a
//! verb and its servers.

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
mod recording;
mod selection;
mod target;

use std::process::ExitCode;

use crate::failure::Failure;
use crate::invocation::Invocation;

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
    // One thread is enough to wait on one server, and the fastest to start.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => {
            let exit = runtime.block_on(commands::run(invocation));
            // A thread may still wait for the answer to a question, which has no use any more.
            runtime.shutdown_background();
            exit.into()
        }
        Err(error) => {
            let failure = Failure::unexpected(format!("cannot start the runtime: {error}"));
            invocation.output.output().conclude(Err(failure)).into()
        }
    }
}
