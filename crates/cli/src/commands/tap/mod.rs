//! `attache tap`: stand between a client and a server, and record what they say.
//!
//! Owns the choice between pipes and HTTP. The client must not notice the tap, so over pipes this
//! command prints nothing of its own unless the server could not be started.

mod http;
mod stdio;
#[cfg(unix)]
mod streams;

use std::ffi::OsString;
use std::net::SocketAddr;

use attache_record::{Recorder, Tape, Transport};

use super::show::live::Live;
use super::{Context, Known, Typed, Verb};
use crate::failure::Failure;
use crate::output::Output;
use crate::recording::{RecordArgs, conclude};

verbs! {
    defer = false;
    install::Install,
    uninstall::Uninstall,
}

/// Stand between a client and a server, and record what they say
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Put `attache tap --` before the server's command in a client's configuration, or have
`attache tap install` do it. Every byte passes unchanged; the server's exit code is the tap's.
Without --record the recording goes to the state folder; `attache show` lists those, and
`attache show FILE --follow` shows one while it is made, from another terminal.

Example:
  attache tap --record s.mcprec -- uvx mcp-server-time
  attache tap --http 127.0.0.1:8080 --target https://example.org/mcp
  attache tap install time --client cursor"
)]
pub(crate) struct Tap {
    #[command(subcommand)]
    verb: Option<AnyVerb>,
    #[command(flatten)]
    record: RecordArgs,
    /// What recordings call the server; its program by default
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Print each message to stderr as it passes
    #[arg(long)]
    show: bool,
    /// Listen at this address, and pass on to --target
    #[arg(
        long,
        value_name = "ADDR",
        requires = "target",
        conflicts_with = "command"
    )]
    http: Option<SocketAddr>,
    /// The URL of the server to pass on to
    #[arg(long, value_name = "URL", requires = "http")]
    target: Option<String>,
    /// The server's command and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

impl Tap {
    pub(crate) fn is_over_http(&self) -> bool {
        self.http.is_some()
    }
}

/// What becomes of what passes.
struct TapeArgs {
    record: RecordArgs,
    is_shown: bool,
}

impl TapeArgs {
    fn begin(
        &self,
        transport: Transport,
        name: &str,
        target: &str,
        output: &Output,
    ) -> Result<Taped, Failure> {
        let recorder = self.record.begin(transport, name, target, output)?;
        let live = self.is_shown;
        Ok(Taped {
            live: live.then(|| Live::begin(recorder.as_ref(), output)),
            recorder,
        })
    }
}

/// A recording, perhaps shown while it is made.
struct Taped {
    recorder: Option<Recorder>,
    live: Option<Live>,
}

impl Taped {
    fn tape(&self) -> Option<Tape> {
        self.recorder.as_ref().map(Recorder::tape)
    }

    /// Ends it, and says what is missing in it.
    fn conclude(self, output: &Output) {
        conclude(self.recorder, output);
        if let Some(live) = self.live {
            live.finish();
        }
    }
}

impl Verb for Tap {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        if let Some(verb) = self.verb {
            return verb.run(context).await;
        }
        let tape = TapeArgs {
            record: self.record,
            is_shown: self.show,
        };
        match (self.http, self.target) {
            (Some(address), Some(target)) => {
                http::run(address, &target, self.name, &tape, &context.output).await
            }
            _ => stdio::run(self.command, self.name, &tape, &context.output).await,
        }
    }

    fn complete(typed: &Typed, known: &Known) -> Vec<String> {
        let verb = typed.verbs.get(1).map_or("", String::as_str);
        AnyVerb::complete(verb, typed, known)
    }
}
