//! The commands, one file each.
//!
//! A command asks its session for something and gives it to the output. Knows nothing of signals,
//! processes and terminals.

mod call;
mod listing;
mod ls;
mod overview;
mod prompt;
mod prompts;
mod read;
mod resources;
mod save;
mod serve;
mod tools;
mod watch;

use crate::failure::{Exit, Failure};
use crate::invocation::{Action, Invocation};
use crate::output::Output;
use crate::session::Session;

/// Runs what was asked for, says how it went, and closes the connection, in this order: nobody
/// waits for a server to leave before they learn what happened.
pub(crate) async fn run(invocation: Invocation, output: &Output) -> Exit {
    let Invocation {
        target,
        connection,
        action,
        ..
    } = invocation;
    if let Action::Serve(asked) = action {
        return output.conclude(serve::run(asked, output).await);
    }
    match Session::open(&target, connection, output).await {
        Ok(session) => {
            let exit = output.conclude(perform(action, &session, output).await);
            session.close().await;
            exit
        }
        Err(failure) => output.conclude(match action {
            Action::Ls | Action::Overview => {
                ls::unreachable(&target.name(), &failure, output).and(Err(failure))
            }
            _ => Err(failure),
        }),
    }
}

async fn perform(action: Action, session: &Session, output: &Output) -> Result<(), Failure> {
    match action {
        Action::Overview => overview::run(session, output).await,
        Action::Ls => ls::run(session, output).await,
        Action::Tools => tools::run(session, output).await,
        Action::Resources => resources::run(session, output).await,
        Action::Prompts => prompts::run(session, output).await,
        Action::Call(call) => call::run(call, session, output).await,
        Action::Read { uri, out } => read::run(&uri, out.as_deref(), session, output).await,
        Action::Prompt { name, arguments } => prompt::run(&name, arguments, session, output).await,
        Action::Watch { filter, reread } => watch::run(filter, reread, session, output).await,
        // These ways were taken already.
        Action::Serve(_) | Action::ServeBuiltIn => Ok(()),
    }
}
