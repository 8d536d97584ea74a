//! `attache web`: the console in a browser, and its API.
//!
//! Owns who may reach it: this machine, unless the user says otherwise in so many words. The page
//! and the API are the business of `attache-web`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use attache::authorization::{SystemBrowser, UserAgent as _};
use attache::host::Host;
use attache::protocol::LogLevel;
use attache_web::{Exposure, KEPT_EVENTS, Listeners, Server, Tls, Token};
use serde::Serialize;
use url::Url;

use super::serve::parse_address;
use super::{Context, Known, Typed, Verb};
use crate::args::ServerArgs;
use crate::ask;
use crate::failure::Failure;
use crate::interrupt::Interrupts;
use crate::output::{Format, Output, Style, Text, json};
use crate::recording::HostRecording;
use crate::selection::ServerSelection;

/// How long requests may go on after a signal.
const END_GRACE: Duration = Duration::from_secs(2);

/// Open the console: every server in one page of the browser, and an HTTP API
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The link that is printed holds the token of this launch; who has it may do what you may. Without
--listen only this machine can reach the console.

Example:
  attache web --open
  attache web --listen 127.0.0.1:8090
  CONSOLE_TOKEN=… attache web --listen 0.0.0.0:8443 --allow-remote --host box.example \\
    --token-env CONSOLE_TOKEN --tls-cert cert.pem --tls-key key.pem")]
pub(crate) struct Web {
    /// The server's name or URL; all servers if there is none
    #[arg(value_name = "SERVER")]
    name: Option<String>,
    /// Open it in the browser
    #[arg(long)]
    open: bool,
    /// Listen at this address: 127.0.0.1:8090, :8090 or 8090; any free port of this machine if
    /// there is none
    #[arg(long, value_name = "ADDR", value_parser = parse_address)]
    listen: Option<SocketAddr>,
    /// Let other machines reach it
    #[arg(long, requires = "listen", requires = "token_env")]
    allow_remote: bool,
    /// Take the token from this environment variable instead of a random one
    #[arg(long, value_name = "VAR")]
    token_env: Option<String>,
    /// A name by which browsers ask for it; may be repeated
    #[arg(long = "host", value_name = "NAME", requires = "allow_remote")]
    hosts: Vec<String>,
    /// The certificate for TLS, in PEM
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls_key",
        requires = "allow_remote"
    )]
    tls_cert: Option<PathBuf>,
    /// Its key
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// A proxy before it speaks TLS to browsers
    #[arg(long, conflicts_with = "tls_cert", requires = "allow_remote")]
    proxy_terminates_tls: bool,
    #[command(flatten)]
    servers: ServerArgs,
}

/// Where the console is, for `--json`.
#[derive(Serialize)]
struct Opened<'a> {
    url: &'a str,
}

impl Verb for Web {
    /// Serves until a signal.
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        let interrupts = Interrupts::listen()?;
        let exposure = self.exposure()?;
        let token = self.token()?;
        let listeners = self.listeners().await?;
        let selection = self.servers.named(self.name)?.selection()?.1.kept();
        let log_level = selection.log_level();
        note_what_is_missing(&selection, output);
        let recording = HostRecording::of(&selection)?;
        let builder = selection.host()?.askable(ask::ASKABLE);
        let host = builder.keep_events(KEPT_EVENTS).start();
        let recording = recording.map(|recording| recording.follow(host.frames()));
        if let Some(level) = log_level {
            tokio::spawn(set_log_levels(host.clone(), level));
        }
        let is_remote = listeners.are_remote();
        let server = Server::new(host.clone(), token, listeners, exposure, &self.hosts);
        let link = server.link();
        tell(&link, is_remote, output)?;
        if self.open {
            // An argument of the browser is seen by every user of this machine: no token goes there.
            let link = server.opening_link();
            let link = link.map_err(|error| Failure::unexpected(error.to_string()))?;
            tokio::spawn(open(link, output.clone()));
            // The page asks for tools first: their servers start while the browser does.
            let tools = host.list_tools();
            tokio::spawn(async move { tools.await });
        }
        let first = interrupts.clone();
        let stop = async move { first.raised().await };
        tokio::select! {
            () = server.serve(stop) => {}
            // A request that goes on does not keep the console.
            () = async {
                interrupts.raised().await;
                tokio::time::sleep(END_GRACE).await;
            } => {}
        }
        host.close().await;
        if let Some(recording) = recording {
            recording.finish(output).await;
        }
        Ok(())
    }

    fn complete(typed: &Typed, known: &Known) -> Vec<String> {
        known.servers_at_first(typed)
    }
}

impl Web {
    /// Who can reach it. Other machines only if that was said, with a token that the user chose and
    /// TLS somewhere (S1).
    fn exposure(&self) -> Result<Exposure, Failure> {
        let Some(address) = self.listen.filter(|address| !address.ip().is_loopback()) else {
            if self.allow_remote {
                return Err(
                    Failure::usage("--allow-remote is for an address of other machines").hint(
                        "name it with --listen, like 0.0.0.0:8443, or leave --allow-remote out",
                    ),
                );
            }
            return Ok(Exposure::Loopback);
        };
        if !self.allow_remote {
            return Err(
                Failure::usage(format!("{address} can be reached from other machines")).hint(
                    "use a loopback address, or say --allow-remote with --token-env VAR and TLS",
                ),
            );
        }
        if address.ip().is_unspecified() && self.hosts.is_empty() {
            return Err(
                Failure::usage(format!("{address} is every address of this machine"))
                    .hint("say by which name browsers ask for it, with --host NAME"),
            );
        }
        match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Tls::from_files(certificate, key)
                .map(Exposure::Tls)
                .map_err(|error| Failure::config(error.to_string())),
            _ if self.proxy_terminates_tls => Ok(Exposure::ProxyTerminatesTls),
            _ => Err(
                Failure::usage("without TLS everybody on the way would see the token").hint(
                    "give --tls-cert and --tls-key, or say --proxy-terminates-tls if a proxy \
                     before it does",
                ),
            ),
        }
    }

    /// A token on the command line would be seen by everybody on the machine.
    fn token(&self) -> Result<Token, Failure> {
        let Some(variable) = &self.token_env else {
            return Token::random().map_err(|error| Failure::unexpected(error.to_string()));
        };
        let given = std::env::var(variable).unwrap_or_default();
        if given.is_empty() {
            return Err(Failure::usage(format!(
                "the variable {variable} holds no token"
            )));
        }
        Token::given(&given)
            .map_err(|error| Failure::usage(format!("the variable {variable}: {error}")))
    }

    async fn listeners(&self) -> Result<Listeners, Failure> {
        let port = self.listen.map_or(0, |address| address.port());
        let both = match self.listen.map(|address| address.ip()) {
            None => true,
            // 127.0.0.1 and ::1 are what `localhost` may mean; other loopback addresses are meant.
            Some(IpAddr::V4(ip)) => ip == std::net::Ipv4Addr::LOCALHOST,
            Some(IpAddr::V6(ip)) => ip == std::net::Ipv6Addr::LOCALHOST,
        };
        let bound = match self.listen {
            Some(address) if !both => Listeners::at(address).await,
            _ => Listeners::loopback(port).await,
        };
        bound.map_err(|error| {
            Failure::unexpected(format!("cannot listen at port {port}: {error}"))
                .hint("choose another port, or leave --listen out for any that is free")
        })
    }
}

/// Tells where the console is: on stderr, because stdout belongs to programs.
fn tell(link: &str, is_remote: bool, output: &Output) -> Result<(), Failure> {
    if output.format == Format::Json {
        return output.document(&json::write(&Opened { url: link }));
    }
    let mut text = Text::new();
    text.plain("the console is at ")
        .add(Style::Name, link)
        .end_line();
    output.aside_text(&text);
    if is_remote {
        output.note("OTHER MACHINES CAN REACH THIS. Who has the link may do what you may.");
    }
    Ok(())
}

fn note_what_is_missing(selection: &ServerSelection, output: &Output) {
    if selection.is_empty() {
        output.note("no server is written down yet; `attache config add NAME -- COMMAND` adds one");
    }
    for (server, problem) in selection.misconfigured() {
        output.note(&format!("{server} is left out: {}", problem.message));
    }
}

async fn open(link: String, output: Output) {
    let Ok(url) = Url::parse(&link) else {
        return;
    };
    if let Err(problem) = SystemBrowser.open(&url).await {
        output.note(&format!(
            "the browser was not opened: {problem}; open the printed link yourself"
        ));
    }
}

async fn set_log_levels(host: Host, level: LogLevel) {
    for server in host.server_names() {
        // A server that cannot log, or does not start, shows it in the console.
        let _ = host.set_log_level(server.as_str(), level).await;
    }
}
