//! Faults of HTTP servers, over real sockets (faults 34 and 55 to 61, promise 9).

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

mod answers;
mod authorizing;
mod cancelling;
mod connecting;
mod frames;
mod limits;
mod modern;
mod proxying;
mod reconnecting;
mod sessions;
mod streams;
mod tls;
mod websocket;

use std::time::Duration;

use attache_client::protocol::{CallToolResult, Ending};
use attache_client::{Client, Error, Server, Timeouts};
use attache_testkit::http::{HttpScript, HttpServer};
use serde_json::json;

/// What a test never reaches on purpose.
const LONG: Duration = Duration::from_secs(20);
/// What counts as "at once" on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(2);

fn timeouts() -> Timeouts {
    Timeouts {
        call: LONG,
        request: LONG,
        read: LONG,
        ..Timeouts::default()
    }
}

fn server(url: impl AsRef<str>) -> Server {
    Server::http(url).timeouts(timeouts())
}

/// A client of the server a script describes.
async fn connected(script: HttpScript) -> (HttpServer, Client) {
    let web = script.start().await.unwrap();
    let client = server(web.url()).connect().await.unwrap();
    (web, client)
}

fn legacy() -> HttpScript {
    HttpScript::legacy("2025-11-25")
}

async fn echo(client: &Client) -> Result<CallToolResult, Error> {
    client.call("echo", json!({"say": "hello"})).await
}

/// Runs what should fail at once, and gives the error.
async fn fails_at_once<T: std::fmt::Debug>(
    call: impl IntoFuture<Output = Result<T, Error>>,
) -> Error {
    let call = call.into_future();
    let ended = tokio::time::timeout(AT_ONCE, call).await;
    let Ok(ended) = ended else {
        panic!("it should fail at once");
    };
    ended.unwrap_err()
}

/// Every call has ended, and the books balance.
fn balanced(client: &Client) -> bool {
    let calls = client.statistics().calls;
    calls.open == 0 && calls.issued == calls.ended()
}

fn endings(client: &Client, ending: Ending) -> u64 {
    client.statistics().calls.count(ending)
}
