//! The verbs, one file each: its arguments, what it does and what completes it.
//!
//! A verb asks its servers for something and gives it to the output. Knows nothing of signals,
//! processes and terminals.

use std::cell::OnceCell;

use attache::host::{Cause, Error};
use attache::protocol::LogLevel;
use attache::{ConnectError, Error as ClientError, HttpError};
use attache_attach::RemoteHost;

pub(crate) use self::complete::{Known, Typed};
#[cfg(any(feature = "chat", feature = "ui"))]
use crate::ask::Asker;
use crate::command_host::CommandHost;
use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use crate::output::{Output, Verbosity};
use crate::selection::ServerSelection;

/// A verb. Its fields are its arguments; what it needs shows in the groups it flattens.
pub(crate) trait Verb: clap::Args {
    async fn run(self, context: &Context) -> Result<(), Failure>;

    /// What the word being typed could become. Options, and words that the table of arguments
    /// enumerates, need no mention.
    fn complete(typed: &Typed, known: &Known) -> Vec<String>;
}

/// The list of verbs becomes their modules, the enum that the command line is parsed into, and both
/// ways from there to a verb. One that begins with `?"NAME"` is there with the feature NAME only.
/// Where `defer` is true, what a verb takes is worked out when it is chosen: the table of all verbs
/// takes longer to make than most commands to run. The list of verbs in help is then without words
/// until the table is built.
macro_rules! verbs {
    (defer = $defer:tt; $($(?$feature:literal)? $(#[$attribute:meta])* $module:ident::$verb:ident,)*) => {
        $($(#[cfg(feature = $feature)])? mod $module;)*

        #[derive(Debug, clap::Subcommand)]
        #[command(defer = $defer)]
        pub(crate) enum AnyVerb {
            $($(#[cfg(feature = $feature)])? $(#[$attribute])* $verb($module::$verb),)*
        }

        impl AnyVerb {
            pub(super) async fn run(
                self,
                context: &$crate::commands::Context,
            ) -> Result<(), $crate::failure::Failure> {
                match self {
                    $($(#[cfg(feature = $feature)])? Self::$verb(verb) => $crate::commands::Verb::run(verb, context).await,)*
                }
            }

            /// A verb is called like its module.
            pub(super) fn complete(
                name: &str,
                typed: &$crate::commands::Typed,
                known: &$crate::commands::Known,
            ) -> Vec<String> {
                match name {
                    $($(#[cfg(feature = $feature)])? stringify!($module) => {
                        <$module::$verb as $crate::commands::Verb>::complete(typed, known)
                    })*
                    _ => Vec::new(),
                }
            }
        }
    };
}

verbs! {
    defer = true;
    ls::Ls,
    tools::Tools,
    resources::Resources,
    prompts::Prompts,
    call::Call,
    batch::Batch,
    read::Read,
    prompt::Prompt,
    watch::Watch,
    ?"web" web::Web,
    ?"chat" chat::Chat,
    ?"ui" #[command(alias = "tui")]
    ui::Ui,
    serve::Serve,
    up::Up,
    down::Down,
    tap::Tap,
    record::Record,
    show::Show,
    diff::Diff,
    replay::Replay,
    mock::Mock,
    logs::Logs,
    history::History,
    doctor::Doctor,
    verify::Verify,
    trust::Trust,
    auth::Auth,
    config::Config,
    completions::Completions,
    man::Man,
    help::Help,
    #[command(name = "__complete", hide = true)]
    complete::Complete,
}

mod listing;
mod load;
mod one_tool;
mod overview;
mod save;
#[cfg(feature = "notes")]
mod serve_notes;
mod serve_speckit;
mod shape;
mod waiting;

pub(crate) use overview::Overview;

/// What a verb runs with: where its output goes, and its servers once it has opened them.
pub(crate) struct Context {
    pub(crate) output: Output,
    host: OnceCell<CommandHost>,
}

/// Runs what was asked for, says how it went, and closes the connections, in this order: the user
/// learns what happened without waiting for a server to leave.
pub(crate) async fn run(invocation: Invocation) -> Exit {
    let context = Context::new(invocation.output.output());
    let done = context.run(invocation).await;
    let exit = context.output.conclude(done);
    if let Some(host) = context.host.into_inner() {
        host.close().await;
    }
    exit
}

impl Context {
    pub(crate) fn new(output: Output) -> Self {
        Self {
            output,
            host: OnceCell::new(),
        }
    }

    pub(crate) async fn run(&self, invocation: Invocation) -> Result<(), Failure> {
        match invocation.verb {
            Some(verb) => verb.run(self).await,
            None => invocation.overview.run(self).await,
        }
    }

    /// Makes the servers ready that the verb is about, once in its run.
    pub(crate) async fn open(&self, selection: ServerSelection) -> Result<&CommandHost, Failure> {
        let log_level = selection.log_level();
        if selection.is_empty() {
            self.output.note(
                "no server is written down yet; `attache config add NAME -- COMMAND` adds one",
            );
        }
        // What servers write to stderr is seen only where they are started.
        let attached = match selection.shared() {
            Some(place) if self.output.verbosity == Verbosity::Normal => {
                RemoteHost::begin(place).await
            }
            _ => None,
        };
        let opened = match selection.at_usual_path() {
            Some((usual, url, path)) => self.reached(selection, usual, [&url, &path]).await?,
            None => CommandHost::open(selection, attached, &self.output)?,
        };
        self.opened(opened, log_level).await
    }

    /// The same, asking another than the person at the terminal.
    #[cfg(any(feature = "chat", feature = "ui"))]
    pub(crate) async fn open_with(
        &self,
        selection: ServerSelection,
        asker: Asker,
    ) -> Result<&CommandHost, Failure> {
        let log_level = selection.log_level();
        let opened = CommandHost::open_with(selection, None, &self.output, asker)?;
        self.opened(opened, log_level).await
    }

    async fn opened(
        &self,
        opened: CommandHost,
        log_level: Option<LogLevel>,
    ) -> Result<&CommandHost, Failure> {
        let host = self.host.get_or_init(|| opened);
        if let Some(level) = log_level {
            host.set_log_level(level).await?;
        }
        Ok(host)
    }

    /// The server at an address that was typed without a path: there, or at the usual path.
    async fn reached(
        &self,
        typed: ServerSelection,
        usual: ServerSelection,
        [url, path]: [&str; 2],
    ) -> Result<CommandHost, Failure> {
        let opened = CommandHost::open(typed, None, &self.output)?;
        let Err(first) = opened.ready_alone().await? else {
            return Ok(opened);
        };
        if !speaks_no_mcp(&first) {
            // The verb meets the same failure, and tells it in its own way.
            return Ok(opened);
        }
        opened.close().await;
        let other = CommandHost::open(usual, None, &self.output)?;
        match other.ready_alone().await? {
            Err(second) if speaks_no_mcp(&second) => {
                other.close().await;
                let told = Failure::from(second);
                let message = format!("no MCP server answers at {url} or {path}: {told}");
                Err(Failure { message, ..told }.hint("give the whole address, with its path"))
            }
            Err(_) => Ok(other),
            Ok(()) => {
                self.output
                    .note(&format!("{url} speaks no MCP; {path} does, and is used"));
                Ok(other)
            }
        }
    }
}

/// Whether something answers at an address that is no MCP server.
fn speaks_no_mcp(error: &Error) -> bool {
    let (Error::Parked { failure, .. } | Error::Unreachable { failure, .. }) = error else {
        return false;
    };
    match &failure.cause {
        Cause::Start(ClientError::Connect(error)) => match error {
            ConnectError::NoServer { .. } | ConnectError::Protocol(_) => true,
            ConnectError::Http(HttpError::Status { status, .. }) => {
                (400..500).contains(status) && !matches!(status, 401 | 403 | 429)
            }
            ConnectError::Http(HttpError::Authorization(_)) => false,
            ConnectError::Http(_) => true,
            _ => false,
        },
        _ => false,
    }
}
