//! Programs that put a server of one transport behind another. Two clients use each, one after the
//! other and side by side.

use std::path::PathBuf;
use std::process::Command;

use attache_client::Server;
use attache_client::protocol::Era;
use attache_testkit::real_servers::{Listening, installed};
use serde_json::json;

use crate::START;

fn time_server() -> PathBuf {
    installed("python-legacy/bin/mcp-server-time")
}

async fn check(running: &Listening) {
    let server = Server::http(running.url()).start_timeout(START);
    let first = server.connect().await.unwrap();
    let second = server.connect().await.unwrap();
    for client in [&first, &second, &first] {
        assert_eq!(client.revision().era(), Era::Legacy);
        assert!(
            client
                .list_tools()
                .await
                .unwrap()
                .by_name("convert_time")
                .is_some()
        );
        let arguments = json!({
            "source_timezone": "Europe/Berlin", "time": "12:00", "target_timezone": "Etc/UTC"
        });
        let answer = client.call("convert_time", arguments).await.unwrap();
        assert!(answer.text().contains("Etc/UTC"), "{}", answer.text());
    }
    first.close().await;
    second.close().await;
}

fn mcp_proxy(path: &str, options: &[&str]) -> Listening {
    let started = Listening::start(path, |port| {
        let mut command = Command::new(installed("python-legacy/bin/mcp-proxy"));
        command.args(["--port", &port.to_string()]).args(options);
        command.arg(time_server());
        command
    });
    started.unwrap()
}

#[tokio::test]
async fn mcp_proxy_over_every_transport() {
    check(&mcp_proxy("/mcp", &[])).await;
    check(&mcp_proxy("/mcp", &["--stateless"])).await;
    check(&mcp_proxy("/sse", &[])).await;
}

fn supergateway(path: &str, options: &[&str]) -> Listening {
    let started = Listening::start(path, |port| {
        let mut command = Command::new(installed("conformance/node_modules/.bin/node"));
        command.arg(installed(
            "conformance/node_modules/supergateway/dist/index.js",
        ));
        command.arg("--stdio").arg(time_server()).args(options);
        command.args(["--port", &port.to_string()]);
        command
    });
    started.unwrap()
}

#[tokio::test]
async fn supergateway_over_streamable_http() {
    check(&supergateway(
        "/mcp",
        &["--outputTransport", "streamableHttp"],
    ))
    .await;
    let stateful = ["--outputTransport", "streamableHttp", "--stateful"];
    check(&supergateway("/mcp", &stateful)).await;
}

// It reads an address from its stream that it calls by another name than we do.
#[tokio::test]
async fn supergateway_over_sse() {
    check(&supergateway("/sse", &["--outputTransport", "sse"])).await;
}
