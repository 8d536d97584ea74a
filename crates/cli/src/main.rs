//! The `attache` command.
//!
//! The command line becomes a verb with its arguments in one step; the verb runs and prints its
//! result, or one cause and one remedy. The way of a run: `invocation` → `commands` → `output`, with
//! `args` for what verbs share, `selection` for which servers there are and `command_host` between a
//! verb and its servers.

mod args;
mod arguments;
mod ask;
mod attached;
mod base64;
mod caller;
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

/// The fewest threads that serve clients over HTTP.
const MIN_SERVING_THREADS: usize = 4;

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
    match runtime(&invocation).enable_all().build() {
        Ok(runtime) => {
            let exit = runtime.block_on(commands::run(invocation));
            // Everything that matters is closed. The system frees the rest in one go, also a thread
            // that still waits for the answer to a question.
            std::process::exit(exit as i32)
        }
        Err(error) => {
            let failure = Failure::unexpected(format!("cannot start the runtime: {error}"));
            invocation.output.output().conclude(Err(failure)).into()
        }
    }
}

/// One thread is enough to wait on one server, and the fastest to start. Many clients share several:
/// what one of them sends holds up one. On few cores the system divides them better than we can.
fn runtime(invocation: &Invocation) -> tokio::runtime::Builder {
    if !invocation.serves_many_clients() {
        return tokio::runtime::Builder::new_current_thread();
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(cores.max(MIN_SERVING_THREADS));
    runtime
}
