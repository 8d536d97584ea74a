//! `attache serve`: be one of the ready-made servers.
//!
//! Owns the choice of the server and of where it is served. Over stdio stdout belongs to the
//! protocol; over HTTP it stays empty and the address is told on stderr.

use std::net::SocketAddr;
use std::time::Duration;

use attache::server::http::{self, HttpSettings};
use attache::EraChoice;
use attache::protocol::{Era, Revision};
use attache::server::{BeforeInitialized, Principal, Server};
use attache_builtin::demo;
use attache_builtin::lisp::{self, Evaluator, Settings};
use clap::ValueEnum;
use tokio::net::TcpListener;

use super::{Context, Known, Typed, Verb};
use crate::failure::Failure;
use crate::interrupt::Interrupts;
use crate::output::Output;
use crate::overrides::era_parser;

/// How long open requests may go on after a signal.
const END_GRACE: Duration = Duration::from_secs(2);

/// Be one of the ready-made servers
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  attache tools -- attache serve lisp
  attache serve demo --http 127.0.0.1:8080 --era legacy")]
pub(crate) struct Serve {
    /// Which server
    #[arg(value_enum, value_name = "SERVER")]
    served: Served,
    /// Serve HTTP at this address instead of stdin and stdout
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// Let only those in over HTTP who bring the token in this environment variable; repeated, each
    /// token is somebody else's
    #[arg(long, value_name = "VAR", requires = "http")]
    token_env: Vec<String>,
    /// Refuse what a client asks before it has said that it is initialized, and a second initialize
    #[arg(long)]
    strict_initialized: bool,
    /// Speak this era only; auto speaks both
    #[arg(
        long,
        value_name = "auto|modern|legacy",
        value_parser = era_parser(),
        hide_possible_values = true
    )]
    era: Option<EraChoice>,
    /// Speak this revision only, like 2025-06-18
    #[arg(long, value_name = "DATE")]
    protocol: Option<Revision>,
}

impl Serve {
    pub(crate) fn is_over_http(&self) -> bool {
        self.http.is_some()
    }
}

/// The ready-made servers.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Served {
    /// A few tools, resources and a prompt to try things out
    Demo,
    /// Evaluates Scheme programs with every resource bounded
    Lisp,
}

impl Serve {
    /// The revisions to speak.
    fn revisions(&self) -> Result<Vec<Revision>, Failure> {
        let era = match self.era {
            None | Some(EraChoice::Auto) => None,
            Some(EraChoice::Modern) => Some(Era::Modern),
            Some(EraChoice::Legacy) => Some(Era::Legacy),
        };
        let only = self.protocol;
        let is_spoken = |it: &Revision| {
            era.is_none_or(|era| it.era() == era) && only.is_none_or(|only| *it == only)
        };
        let revisions = Revision::NEWEST_FIRST.iter().copied().filter(is_spoken);
        let revisions: Vec<Revision> = revisions.collect();
        match only {
            Some(only) if revisions.is_empty() => {
                let message = format!("{only} is a revision of the {} era", only.era());
                Err(Failure::usage(message).hint("leave out --era or --protocol"))
            }
            _ => Ok(revisions),
        }
    }
}

impl Verb for Serve {
    /// Serves until the client leaves, or over HTTP until a signal.
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let revisions = self.revisions()?;
        let builder = match self.served {
            Served::Demo => demo::builder(),
            Served::Lisp => {
                let evaluator = Evaluator::new(Settings::default());
                // The first call shall find a worker, and serving does not wait for it to start.
                let early = evaluator.clone();
                tokio::spawn(async move { early.warm_up().await });
                lisp::builder(evaluator)
            }
        };
        let server = builder
            .revisions(revisions)
            .before_initialized(match self.strict_initialized {
                true => BeforeInitialized::Refuse,
                false => BeforeInitialized::Accept,
            })
            .build()
            .map_err(|error| Failure::unexpected(format!("cannot build the server: {error}")))?;
        match self.http {
            Some(address) => {
                let settings = settings(&self.token_env)?;
                over_http(server, address, settings, &context.output).await
            }
            None => match server.serve_stdio().await {
                Ok(_) => Ok(()),
                Err(error) => Err(Failure::unexpected(format!(
                    "cannot serve stdin and stdout: {error}"
                ))),
            },
        }
    }

    fn complete(_: &Typed, _: &Known) -> Vec<String> {
        Vec::new()
    }
}

/// Who may come in: each token stands for a principal of its own, named by its variable. A token on
/// the command line would be seen by everybody on the machine.
fn settings(variables: &[String]) -> Result<HttpSettings, Failure> {
    let mut known = Vec::new();
    for name in variables {
        match std::env::var(name) {
            Ok(token) if !token.is_empty() => known.push((Principal::named(name), token)),
            _ => {
                let message = format!("the variable {name} holds no token");
                return Err(Failure::usage(message));
            }
        }
    }
    if known.is_empty() {
        return Ok(HttpSettings::default());
    }
    Ok(HttpSettings::default().authenticate(move |given| {
        let mut found = None;
        for (principal, token) in &known {
            if is_same(token.as_bytes(), given.as_bytes()) {
                found = Some(principal.clone());
            }
        }
        found
    }))
}

/// Compares in a time that tells nothing about the token but its length.
fn is_same(token: &[u8], given: &[u8]) -> bool {
    let differences = token.iter().zip(given).fold(0, |all, (a, b)| all | (a ^ b));
    token.len() == given.len() && differences == 0
}

async fn over_http(
    server: Server,
    address: SocketAddr,
    settings: HttpSettings,
    output: &Output,
) -> Result<(), Failure> {
    // Nothing is encrypted, so only this machine may ask (S1).
    if !address.ip().is_loopback() {
        let message = format!("{address} can be reached from other machines");
        return Err(Failure::usage(message).hint("use a loopback address, like 127.0.0.1:8080"));
    }
    let interrupts = Interrupts::listen()?;
    let cannot = |error: std::io::Error| {
        Failure::unexpected(format!("cannot serve at {address}: {error}"))
            .hint("choose another port, or 0 for any that is free")
    };
    let listener = TcpListener::bind(address).await.map_err(cannot)?;
    let bound = listener.local_addr().map_err(cannot)?;
    output.note(&format!("serving at http://{bound}{}", settings.path));
    let first = interrupts.clone();
    let stop = async move { first.raised().await };
    tokio::select! {
        served = http::serve(listener, server, settings, stop) => served.map_err(cannot),
        // A client that keeps a stream open does not keep the server.
        () = async {
            interrupts.raised().await;
            tokio::time::sleep(END_GRACE).await;
        } => Ok(()),
    }
}
