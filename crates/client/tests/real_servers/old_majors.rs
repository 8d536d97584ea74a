//! What people run is mostly not the newest: old versions of the SDKs, over every transport they
//! have, reached without being told what they speak.

use std::path::PathBuf;
use std::process::Command;

use attache_client::protocol::Era;
use attache_client::{Client, Server};
use attache_testkit::real_servers::{Listening, installed};
use serde_json::json;

use crate::{START, script};

/// The ways in which an SDK answers over Streamable HTTP.
const MODES: [&[&str]; 4] = [&[], &["stateless"], &["json"], &["stateless", "json"]];

/// A server of ours, written with one version of one SDK.
#[derive(Clone)]
struct Adder {
    program: PathBuf,
    /// What comes before the transport.
    words: Vec<PathBuf>,
    /// What it calls Streamable HTTP.
    http: &'static str,
}

impl Adder {
    fn python(environment: &str, file: &str, http: &'static str) -> Self {
        Self {
            program: installed(&format!("{environment}/bin/python")),
            words: vec![script(file)],
            http,
        }
    }

    fn node(modules: &str) -> Self {
        Self {
            program: "node".into(),
            words: vec![script("adder_v1.mjs"), installed(modules)],
            http: "http",
        }
    }

    fn listening(&self, transport: &str, path: &str, modes: &[&str]) -> Listening {
        let started = Listening::start(path, |port| {
            let mut command = Command::new(&self.program);
            command.args(&self.words).arg(transport);
            command.arg(port.to_string()).args(modes);
            command
        });
        started.unwrap()
    }

    async fn check(&self) {
        let words = self.words.iter().map(|word| word.as_os_str());
        let words = words.chain(std::iter::once("stdio".as_ref()));
        adds(Server::stdio(&self.program, words), "stdio").await;
        for modes in MODES {
            let running = self.listening(self.http, "/mcp", modes);
            adds(Server::http(running.url()), &format!("HTTP {modes:?}")).await;
        }
        let running = self.listening("sse", "/sse", &[]);
        adds(Server::http(running.url()), "SSE").await;
    }
}

/// Connects, lists, calls, and calls many times at once.
async fn adds(server: Server, described: &str) {
    let client = connected(server, described).await;
    assert_eq!(client.revision().era(), Era::Legacy, "{described}");
    uses_add(&client, described).await;
    client.close().await;
}

async fn connected(server: Server, described: &str) -> Client {
    match server.start_timeout(START).connect().await {
        Ok(client) => client,
        Err(error) => panic!("{described}: {error}"),
    }
}

async fn uses_add(client: &Client, described: &str) {
    let tools = client.list_tools().await;
    let tools = tools.unwrap_or_else(|error| panic!("{described}: {error}"));
    assert!(tools.by_name("add").is_some(), "{described}");
    let calls: Vec<_> = (0..8)
        .map(|n| tokio::spawn(client.call("add", json!({"a": n, "b": 1})).into_future()))
        .collect();
    for (n, call) in calls.into_iter().enumerate() {
        let answer = call.await.unwrap();
        let text = answer.unwrap_or_else(|error| panic!("{described}: {error}"));
        assert_eq!(text.text(), (n + 1).to_string(), "{described}");
    }
    match client.call("add", json!({"a": "no number"})).await {
        Ok(answer) => assert!(answer.is_error, "{described}: {answer:?}"),
        Err(error) => assert!(
            matches!(error, attache_client::Error::Server(_)),
            "{described}: {error}"
        ),
    }
}

#[tokio::test]
async fn python_sdk_1_12() {
    Adder::python("python-1.12", "adder.py", "streamable-http")
        .check()
        .await;
}

#[tokio::test]
async fn python_sdk_1_30() {
    Adder::python("python-legacy", "adder.py", "streamable-http")
        .check()
        .await;
}

// Seed 001 names WebSockets among the transports; version 1 of the Python SDK has them.
#[tokio::test]
async fn python_sdk_1_30_over_a_websocket() {
    let running = Listening::start("/alive", |port| {
        let mut command = Command::new(installed("python-legacy/bin/python"));
        command
            .arg(script("websocket_adder.py"))
            .arg(port.to_string());
        command
    });
    let running = running.unwrap();
    let url = running.url().replace("http:", "ws:");
    adds(Server::http(url.replace("/alive", "/ws")), "WebSocket").await;
    // An address that takes no WebSocket says so.
    let error = Server::http(&url).connect().await.unwrap_err();
    assert!(error.to_string().contains("WebSocket"), "{error}");
}

#[tokio::test]
async fn fastmcp_2_14() {
    Adder::python("python-fastmcp2", "fastmcp_adder.py", "http")
        .check()
        .await;
}

#[tokio::test]
async fn typescript_sdk_1_12() {
    Adder::node("npm-1.12/node_modules").check().await;
}

#[tokio::test]
async fn typescript_sdk_1_32() {
    Adder::node("npm/node_modules").check().await;
}

// Given both greetings, version 2 of the TypeScript SDK takes `initialize` for the choice of the
// legacy era. However slowly it starts and answers, it is spoken to in the era it is in: the answer
// to `server/discover` is what tells.
#[tokio::test]
async fn fault_67_typescript_sdk_2_is_spoken_to_in_the_era_it_is_in() {
    for starting in ["0", "2500"] {
        let words = [
            script("adder_v2.mjs"),
            installed("conformance/node_modules"),
            starting.into(),
        ];
        let client = connected(Server::stdio("node", words), starting).await;
        let knows = client
            .request_raw("server/discover", json!({}))
            .await
            .is_ok();
        assert_eq!(knows, client.revision().era() == Era::Modern, "{starting}");
        uses_add(&client, starting).await;
        client.close().await;
    }
}

#[tokio::test]
async fn fault_67_fastmcp_4_is_modern_over_stdio() {
    let python = installed("python-fastmcp/bin/python");
    let words = [script("fastmcp_adder.py"), "stdio".into()];
    let client = connected(Server::stdio(python, words), "FastMCP 4").await;
    assert_eq!(client.revision().era(), Era::Modern);
    uses_add(&client, "FastMCP 4").await;
    client.close().await;
}
