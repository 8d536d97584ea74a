//! The server that the official conformance suite expects: every feature once, in the suite's own
//! words. It is a test program and no part of the product.
//!
//! `PORT=8001 conformance-server` serves HTTP on loopback at `/mcp`; `conformance-server --stdio`
//! serves stdio.

mod asking;
mod content;
mod tasks;
mod telling;

use std::error::Error;
use std::time::Duration;

use attache_server::http::{self, HttpSettings};
use attache_server::{Caching, Server, ServerBuilder};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = server().build()?;
    if std::env::args().any(|argument| argument == "--stdio") {
        server.serve_stdio().await?;
        return Ok(());
    }
    let port: u16 = match std::env::var("PORT") {
        Ok(port) => port.parse()?,
        Err(_) => 8001,
    };
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    // Port 0 lets the system choose; whoever started this reads which one it is.
    announce(&listener)?;
    http::serve(
        listener,
        server,
        HttpSettings::default(),
        std::future::pending(),
    )
    .await?;
    Ok(())
}

#[expect(
    clippy::print_stdout,
    reason = "a program that a test reads the address of"
)]
fn announce(listener: &TcpListener) -> std::io::Result<()> {
    println!("http://{}/mcp", listener.local_addr()?);
    Ok(())
}

fn server() -> ServerBuilder {
    let builder = Server::builder("attache-conformance-server", "1.0.0")
        .instructions("Every tool here does what its name says, for the official suite.")
        .logging()
        .list_changes()
        .subscriptions()
        .caching(Caching::private(Duration::from_secs(1)));
    tasks::register(asking::register(telling::register(content::register(
        builder,
    ))))
}
