//! `attache serve`: be one of the ready-made servers.
//!
//! Owns the choice of the server and of where it is served. Stdout belongs to the protocol.

use attache_servers::lisp::{self, Evaluator, Settings};

use crate::args::RawServed;
use crate::failure::Failure;

/// Serves until the client leaves.
pub(crate) async fn run(served: RawServed) -> Result<(), Failure> {
    let server = match served {
        RawServed::Lisp => {
            let evaluator = Evaluator::new(Settings::default());
            // The first call shall find a worker; nobody waits for it to start.
            let early = evaluator.clone();
            tokio::spawn(async move { early.warm_up().await });
            lisp::server(evaluator)
        }
    };
    let server =
        server.map_err(|error| Failure::unexpected(format!("cannot build the server: {error}")))?;
    match server.serve_stdio().await {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::unexpected(format!(
            "cannot serve stdin and stdout: {error}"
        ))),
    }
}
