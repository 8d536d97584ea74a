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
mod tools;
mod watch;

use crate::failure::Failure;
use crate::invocation::{Action, Invocation};
use crate::output::Output;
use crate::session::Session;

/// Runs what was asked for and closes the connection, however it went.
pub(crate) async fn run(invocation: Invocation, output: &Output) -> Result<(), Failure> {
    let Invocation {
        target,
        connection,
        action,
        ..
    } = invocation;
    let session = match Session::open(&target, connection, output).await {
        Ok(session) => session,
        Err(failure) => {
            if let Action::Ls | Action::Overview = action {
                ls::unreachable(&target.name(), &failure, output)?;
            }
            return Err(failure);
        }
    };
    let result = perform(action, &session, output).await;
    session.close().await;
    result
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
        // `main` has taken this way already.
        Action::ServeBuiltIn => Ok(()),
    }
}
