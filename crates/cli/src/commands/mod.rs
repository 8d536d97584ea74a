//! The commands, one file each.
//!
//! A command asks its session for something and gives it to the output. Knows nothing of signals,
//! processes and terminals.

mod auth;
mod call;
mod complete;
mod completions;
mod config;
mod config_exchange;
mod config_import;
mod config_reference;
mod doctor;
mod listing;
mod logs;
mod ls;
mod man;
mod overview;
mod prompt;
mod prompts;
mod read;
mod resources;
mod save;
mod serve;
mod tools;
mod trust;
mod watch;

pub(crate) use config_reference::Reference;

use crate::args::ManualPage;
use crate::command_host::CommandHost;
use crate::configuration::Configuration;
use crate::failure::{Exit, Failure};
use crate::invocation::{Action, Completeness, Invocation};
use crate::output::Output;
use crate::overrides::Overrides;
use crate::selection::ServerSelection;
use crate::target::Target;

/// Runs what was asked for, says how it went, and closes the connections, in this order: nobody
/// waits for a server to leave before they learn what happened.
pub(crate) async fn run(invocation: Invocation, output: &Output) -> Exit {
    let Invocation {
        config,
        completeness,
        target,
        overrides,
        action,
        ..
    } = invocation;
    let action = match action {
        // A server has no use for the servers of others.
        Action::Serve(asked) => return output.conclude(serve::run(asked, output).await),
        action => action,
    };
    let configuration = match Configuration::new(config) {
        Ok(configuration) => configuration,
        Err(failure) => return output.conclude(Err(failure)),
    };
    let action = match without_servers(action, &target, &configuration, &overrides, output).await {
        Ok(Remaining::Done) => return Exit::Done,
        Ok(Remaining::ForServers(action)) => action,
        Err(failure) => return output.conclude(Err(failure)),
    };
    match open(&action, &target, &configuration, &overrides, output).await {
        Ok(session) => {
            let done = perform(action, completeness, &session, output).await;
            let exit = output.conclude(done);
            session.close().await;
            exit
        }
        Err(failure) => output.conclude(Err(failure)),
    }
}

/// What is left to do of an action.
enum Remaining {
    Done,
    ForServers(Action),
}

/// Does what needs no session.
async fn without_servers(
    action: Action,
    target: &Target,
    configuration: &Configuration,
    overrides: &Overrides,
    output: &Output,
) -> Result<Remaining, Failure> {
    match action {
        Action::Logs { follow, lines } => {
            logs::run(target, configuration, follow, lines, output).await
        }
        Action::Doctor => doctor::run(target, configuration, overrides, output).await,
        Action::Trust { approval, lock } => {
            trust::run(target, configuration, approval, lock, output).await
        }
        Action::AuthStatus => auth::status(target, configuration, output).await,
        Action::AuthLogin => auth::login(target, configuration, output).await,
        Action::AuthLogout => auth::logout(target, configuration, output).await,
        Action::ConfigPath => config::path(configuration, output),
        Action::ConfigCheck => config::check(configuration, output),
        Action::ConfigReference(asked) => config_reference::run(&asked, output),
        Action::ConfigDiscover => config_exchange::discover(configuration, output),
        Action::ConfigImport(import) => config_import::run(&import, configuration, output).await,
        Action::ConfigExport(form) => config_exchange::export(form, configuration, output),
        Action::Completions(shell) => completions::run(shell, output),
        Action::Complete { words, quoting } => {
            complete::run(&words, quoting, configuration, output)
        }
        Action::Man(ManualPage::Attache) => man::run(output),
        Action::Man(ManualPage::AttacheToml) => output.ready_made(&config_reference::manual_page()),
        action => return Ok(Remaining::ForServers(action)),
    }
    .map(|()| Remaining::Done)
}

/// Makes ready the servers that an action is about.
async fn open(
    action: &Action,
    target: &Target,
    configuration: &Configuration,
    overrides: &Overrides,
    output: &Output,
) -> Result<CommandHost, Failure> {
    let selection = ServerSelection::of(target, configuration, overrides)?;
    let selection = match action {
        Action::Call(call) => selection.narrowed_by(&call.tool)?.approved(call.approval),
        Action::Prompt { name, .. } => selection.narrowed_by(name)?,
        _ => selection,
    };
    let session = CommandHost::open(selection, overrides.log_level, output)?;
    if let Some(level) = overrides.log_level
        && let Err(failure) = session.set_log_level(level).await
    {
        session.close().await;
        return Err(failure);
    }
    Ok(session)
}

async fn perform(
    action: Action,
    completeness: Completeness,
    session: &CommandHost,
    output: &Output,
) -> Result<(), Failure> {
    match action {
        Action::Overview => overview::run(completeness, session, output).await,
        Action::Ls => ls::run(completeness, session, output).await,
        Action::Tools => tools::run(completeness, session, output).await,
        Action::Resources => resources::run(completeness, session, output).await,
        Action::Prompts => prompts::run(completeness, session, output).await,
        Action::Call(call) => call::run(call, session, output).await,
        Action::Read { uri, progress, out } => {
            read::run(&uri, progress, out.as_deref(), session, output).await
        }
        Action::Prompt {
            name,
            arguments,
            progress,
        } => prompt::run(&name, arguments, progress, session, output).await,
        Action::Watch { filter, reread } => watch::run(filter, reread, session, output).await,
        // Done without a session.
        _ => Ok(()),
    }
}
