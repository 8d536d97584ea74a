//! `attache serve`: be one of the ready-made servers.
//!
//! Owns the choice of the server and of where it is served. Over stdio stdout belongs to the
//! protocol; over HTTP it stays empty and the address is told on stderr.

use std::net::SocketAddr;
use std::time::Duration;

use attache::server::http::{self, HttpSettings};
use attache::server::{Principal, Server};
use attache_builtin::demo;
use attache_builtin::lisp::{self, Evaluator, Settings};
use tokio::net::TcpListener;

use crate::args::RawServed;
use crate::failure::Failure;
use crate::interrupt::Interrupts;
use crate::invocation::Serve;
use crate::output::Output;

/// How long open requests may go on after a signal.
const END_GRACE: Duration = Duration::from_secs(2);

/// Serves until the client leaves, or over HTTP until a signal.
pub(crate) async fn run(asked: Serve, output: &Output) -> Result<(), Failure> {
    let builder = match asked.served {
        RawServed::Demo => demo::builder(),
        RawServed::Lisp => {
            let evaluator = Evaluator::new(Settings::default());
            // The first call shall find a worker; nobody waits for it to start.
            let early = evaluator.clone();
            tokio::spawn(async move { early.warm_up().await });
            lisp::builder(evaluator)
        }
    };
    let server = builder
        .revisions(asked.revisions)
        .before_initialized(asked.before_initialized)
        .build()
        .map_err(|error| Failure::unexpected(format!("cannot build the server: {error}")))?;
    match asked.http {
        Some(address) => {
            let settings = settings(&asked.token_env)?;
            over_http(server, address, settings, output).await
        }
        None => match server.serve_stdio().await {
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::unexpected(format!(
                "cannot serve stdin and stdout: {error}"
            ))),
        },
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
