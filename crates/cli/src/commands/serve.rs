//! `attache serve`: be one of the ready-made servers.
//!
//! Owns the choice of the server and of where it is served. Over stdio stdout belongs to the
//! protocol; over HTTP it stays empty and the address is told on stderr.

use std::io::IsTerminal as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use attache::server::http::{self, HttpSettings};
use attache::EraChoice;
use attache::protocol::{Era, Revision};
use attache::server::{BeforeInitialized, Principal, Server, ServerBuilder};
use attache_builtin::demo;
use attache_builtin::lisp::{self, Evaluator, Settings};
use attache_builtin::speckit;
use clap::ValueEnum;
use tokio::net::TcpListener;

#[cfg(feature = "notes")]
use super::serve_notes as notes;
use super::serve_speckit::SpeckitArguments;
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
  attache serve demo --http 8080 --era legacy
  attache call search_notes query=morning -- attache serve notes --dir ~/notes
  attache tools -- attache serve speckit -- claude -p")]
pub(crate) struct Serve {
    /// Which server
    #[arg(value_enum, value_name = "SERVER")]
    served: Served,
    /// Serve HTTP at this address instead of stdin and stdout: 127.0.0.1:8080, :8080 or 8080
    #[arg(long, value_name = "ADDR", value_parser = parse_address)]
    http: Option<SocketAddr>,
    /// Let only those in over HTTP who bring the token in this environment variable; repeated, each
    /// token is somebody else's
    #[arg(long, value_name = "VAR", requires = "http")]
    token_env: Vec<String>,
    /// A name by which other machines ask for it; may be repeated
    #[arg(long = "host", value_name = "NAME", requires = "http")]
    hosts: Vec<String>,
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
    #[cfg(feature = "notes")]
    #[command(flatten)]
    notes: notes::NotesArguments,
    #[command(flatten)]
    speckit: SpeckitArguments,
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
    /// A folder of Markdown: every note a resource, search, sync by git
    #[cfg(feature = "notes")]
    Notes,
    /// From an idea to a specification, a plan, tasks and their implementation
    Speckit,
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
        #[cfg(feature = "notes")]
        if !matches!(self.served, Served::Notes) {
            self.notes.refuse()?;
        }
        if !matches!(self.served, Served::Speckit) {
            self.speckit.refuse()?;
        }
        let before_initialized = match self.strict_initialized {
            true => BeforeInitialized::Refuse,
            false => BeforeInitialized::Accept,
        };
        let restrict = |builder: ServerBuilder| {
            builder
                .revisions(revisions)
                .before_initialized(before_initialized)
        };
        let mut workers = None;
        let built = match self.served {
            Served::Demo => restrict(demo::builder()).build(),
            Served::Lisp => {
                let evaluator = Evaluator::new(Settings::default());
                // The first call shall find a worker, and serving does not wait for it to start.
                let early = evaluator.clone();
                let warm = tokio::spawn(async move { early.warm_up().await });
                workers = Some((evaluator.clone(), warm));
                restrict(lisp::builder(evaluator)).build()
            }
            Served::Speckit => restrict(speckit::builder(self.speckit.settings()?)).build(),
            #[cfg(feature = "notes")]
            Served::Notes => self.notes.server()?.with(restrict).build(),
        };
        let server = built
            .map_err(|error| Failure::unexpected(format!("cannot build the server: {error}")))?;
        let served = match self.http {
            Some(address) => {
                let settings = settings(&self.token_env)?;
                let settings = reachable_by(address, settings, &self.token_env, &self.hosts)?;
                over_http(server, address, settings, &context.output).await
            }
            None => match at_stdio(server, &context.output).await {
                Ok(_) => Ok(()),
                Err(error) => Err(Failure::unexpected(format!(
                    "cannot serve stdin and stdout: {error}"
                ))),
            },
        };
        if let Some((evaluator, warm)) = workers {
            // A worker that is just being started is also one to wait for.
            let _ = warm.await;
            evaluator.close().await;
        }
        served
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

/// Serves stdin and stdout. A person who typed this at a terminal is told what it waits for.
async fn at_stdio(server: Server, output: &Output) -> std::io::Result<()> {
    if std::io::stdin().is_terminal() {
        output.note(
            "this is a server: it reads JSON-RPC messages from stdin, one per line, and ends with \
             Ctrl-D; to use it, run `attache tools -- attache serve \u{2026}` or give it --http 8080",
        );
    }
    server.serve_stdio().await.map(drop)
}

/// An address as people write it: this machine unless they say another.
pub(super) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text);
    if let Ok(port) = port.parse() {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    let named = text.strip_prefix("localhost:");
    if let Some(port) = named.and_then(|port| port.parse().ok()) {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    text.parse().map_err(|_| {
        format!("\"{text}\" is not an address like 127.0.0.1:8080, localhost:8080, :8080 or 8080")
    })
}

/// Nothing is encrypted, so other machines may ask only with a token, by the address that is served
/// (S1).
fn reachable_by(
    address: SocketAddr,
    mut settings: HttpSettings,
    tokens: &[String],
    hosts: &[String],
) -> Result<HttpSettings, Failure> {
    if address.ip().is_loopback() {
        return Ok(settings);
    }
    if tokens.is_empty() {
        let message = format!("{address} can be reached from other machines, and nobody is asked \
                               for a token");
        return Err(Failure::usage(message).hint(
            "use a loopback address, like 127.0.0.1:8080, or require a token with --token-env VAR",
        ));
    }
    match address.ip() {
        ip if ip.is_unspecified() && hosts.is_empty() => {
            let message = format!("{address} is every address of this machine");
            return Err(Failure::usage(message).hint(
                "say by which name or address others ask for it, with --host NAME; pages in \
                 browsers could reach it otherwise",
            ));
        }
        ip if ip.is_unspecified() => {}
        IpAddr::V4(ip) => settings.allowed_hosts = vec![ip.to_string()],
        IpAddr::V6(ip) => settings.allowed_hosts = vec![format!("[{ip}]")],
    }
    settings.allowed_hosts.extend_from_slice(hosts);
    Ok(settings)
}

async fn over_http(
    server: Server,
    address: SocketAddr,
    settings: HttpSettings,
    output: &Output,
) -> Result<(), Failure> {
    let interrupts = Interrupts::listen()?;
    let cannot = |error: std::io::Error| {
        Failure::unexpected(format!("cannot serve at {address}: {error}"))
            .hint("choose another port, or 0 for any that is free")
    };
    let listener = TcpListener::bind(address).await.map_err(cannot)?;
    let bound = listener.local_addr().map_err(cannot)?;
    output.note(&format!("serving at http://{bound}{}", settings.path));
    if !bound.ip().is_loopback() {
        output.note(
            "OTHER MACHINES CAN REACH THIS. Nothing is encrypted: whoever sees the traffic sees the \
             token and may use it. Put TLS before it, or serve a loopback address.",
        );
    }
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
