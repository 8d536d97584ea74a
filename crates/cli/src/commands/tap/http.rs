//! The tap before a server behind a URL.

use std::net::SocketAddr;
use std::time::Duration;

use attache::Proxy;
use attache_record::Transport;
use attache_record::tap::http::HttpTap;
use tokio::net::TcpListener;
use url::Url;

use super::TapeArgs;
use crate::failure::Failure;
use crate::interrupt::Interrupts;
use crate::output::Output;

/// How long open requests may go on after a signal.
const END_GRACE: Duration = Duration::from_secs(2);

pub(super) async fn run(
    address: SocketAddr,
    target: &str,
    name: Option<String>,
    tape: &TapeArgs,
    output: &Output,
) -> Result<(), Failure> {
    // Nothing is encrypted, and no client has to say who it is (S1).
    if !address.ip().is_loopback() {
        let message = format!("{address} can be reached from other machines");
        return Err(Failure::usage(message).hint("use a loopback address, like 127.0.0.1:8080"));
    }
    let target = match Url::parse(target) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => url,
        _ => {
            let message = format!("\"{target}\" is no URL of an MCP server");
            return Err(Failure::usage(message).hint("write it like https://example.org/mcp"));
        }
    };
    let interrupts = Interrupts::listen()?;
    let cannot = |error: std::io::Error| {
        Failure::unexpected(format!("cannot listen at {address}: {error}"))
            .hint("choose another port, or 0 for any that is free")
    };
    let listener = TcpListener::bind(address).await.map_err(cannot)?;
    let bound = listener.local_addr().map_err(cannot)?;
    let name = name.as_deref().or(target.host_str()).unwrap_or("server");
    let taped = tape.begin(Transport::Http, name, target.as_str(), output)?;
    let origin = format!("http://{bound}");
    let tap = HttpTap::new(target.clone(), origin, &Proxy::Environment, taped.tape());
    let tap = tap.map_err(Failure::usage)?;
    output.note(&format!("tapping at http://{bound}{}", target.path()));
    if let Some(recorder) = &taped.recorder {
        output.note(&format!("recording into {}", recorder.path().display()));
    }
    let first = interrupts.clone();
    let stop = async move { first.raised().await };
    tokio::select! {
        () = tap.serve(listener, stop) => {}
        // A client that keeps a stream open does not keep the tap.
        () = async {
            interrupts.raised().await;
            tokio::time::sleep(END_GRACE).await;
        } => {}
    }
    taped.conclude(output);
    Ok(())
}
