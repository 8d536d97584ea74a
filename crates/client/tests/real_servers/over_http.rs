//! Real servers over HTTP: both transports of server-everything, and a server of fastmcp.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use attache_client::protocol::{Era, Revision};
use attache_client::{Client, EraChoice, Server};
use serde_json::json;

use crate::{START, installed};

/// A server of fastmcp with one tool; the port is its argument.
const FASTMCP: &str = "
import sys
from fastmcp import FastMCP
server = FastMCP('adder')
@server.tool
def add(a: int, b: int) -> int:
    return a + b
server.run(transport='http', host='127.0.0.1', port=int(sys.argv[1]), show_banner=False)
";

/// A server process that ends with the test.
struct Running {
    child: Child,
    address: String,
}

impl Running {
    /// Starts a command that listens on a port of its own.
    fn start(path: &str, command: impl FnOnce(u16) -> Command) -> Self {
        // The port is free now; nobody else is likely to take it within a second.
        let port = {
            let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
            listener.local_addr().unwrap().port()
        };
        let child = command(port)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < START, "the server does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Self {
            child,
            address: format!("http://127.0.0.1:{port}{path}"),
        }
    }

    async fn connect(&self, server: impl FnOnce(Server) -> Server) -> Client {
        let server = server(Server::http(&self.address).start_timeout(START));
        server.connect().await.unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn everything(transport: &str, path: &str) -> Running {
    let script = "npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js";
    let script = installed(script);
    Running::start(path, |port| {
        let mut command = Command::new("node");
        command
            .arg(script)
            .arg(transport)
            .env("PORT", port.to_string());
        command
    })
}

async fn use_everything(client: &Client) {
    let tools = client.list_tools().await.unwrap();
    assert!(tools.len() >= 8 && tools.rejected.is_empty());
    let answer = client
        .call("echo", json!({"message": "over HTTP"}))
        .await
        .unwrap();
    assert!(answer.text().contains("over HTTP"), "{}", answer.text());
    let sum = client
        .call("get-sum", json!({"a": 2, "b": 3}))
        .await
        .unwrap();
    assert!(sum.text().contains('5'), "{}", sum.text());
    let resources = client.list_resources().await.unwrap();
    client.read(&resources[0].uri).await.unwrap();
    let notes = std::sync::Arc::new(std::sync::Mutex::new(0));
    client
        .call(
            "trigger-long-running-operation",
            json!({"duration": 0.5, "steps": 3}),
        )
        .on_progress({
            let notes = notes.clone();
            move |_| *notes.lock().unwrap() += 1
        })
        .await
        .unwrap();
    assert_eq!(
        *notes.lock().unwrap(),
        3,
        "progress comes on the stream of its call"
    );
    let calls: Vec<_> = (0..20)
        .map(|n| {
            tokio::spawn(
                client
                    .call("get-sum", json!({"a": n, "b": 1}))
                    .into_future(),
            )
        })
        .collect();
    for (n, call) in calls.into_iter().enumerate() {
        let text = call.await.unwrap().unwrap().text();
        assert!(text.contains(&(n + 1).to_string()), "{text}");
    }
}

#[tokio::test]
async fn everything_over_streamable_http() {
    let running = everything("streamableHttp", "/mcp");
    let client = running.connect(|server| server).await;
    assert_eq!(client.revision(), Revision::V2025_11_25);
    use_everything(&client).await;
    client.close().await;
}

#[tokio::test]
async fn everything_over_http_with_sse() {
    let running = everything("sse", "/sse");
    let client = running.connect(|server| server).await;
    assert_eq!(client.revision().era(), Era::Legacy);
    use_everything(&client).await;
    client.close().await;
    assert!(
        client
            .call("echo", json!({"message": "late"}))
            .await
            .is_err()
    );
}

#[tokio::test]
async fn fastmcp_over_http_in_both_eras() {
    let python = installed("python-fastmcp/bin/python");
    let running = Running::start("/mcp", |port| {
        let mut command = Command::new(python);
        command.args(["-c", FASTMCP, &port.to_string()]);
        command
    });
    for (era, expected) in [
        (EraChoice::Auto, None),
        (EraChoice::Legacy, Some(Era::Legacy)),
    ] {
        let client = running.connect(|server| server.era(era)).await;
        if let Some(expected) = expected {
            assert_eq!(client.revision().era(), expected);
        }
        let tools = client.list_tools().await.unwrap();
        assert!(tools.by_name("add").is_some());
        let sum = client.call("add", json!({"a": 2, "b": 3})).await.unwrap();
        assert_eq!(sum.text(), "5");
        client.close().await;
    }
}
