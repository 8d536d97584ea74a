//! Real servers over HTTP: both transports of server-everything, and a server of fastmcp.

use attache_client::protocol::{Era, Revision};
use attache_client::{Client, EraChoice, HttpFlavor, Server};
use attache_testkit::real_servers::{EverythingTransport, Listening};
use serde_json::json;

use crate::START;

async fn connect(running: &Listening, server: impl FnOnce(Server) -> Server) -> Client {
    let server = server(Server::http(running.url()).start_timeout(START));
    server.connect().await.unwrap()
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
    let running = Listening::everything(EverythingTransport::StreamableHttp).unwrap();
    for flavor in [HttpFlavor::Detect, HttpFlavor::Streamable] {
        let client = connect(&running, |server| server.http_flavor(flavor)).await;
        assert_eq!(client.revision(), Revision::V2025_11_25);
        use_everything(&client).await;
        client.close().await;
    }
}

#[tokio::test]
async fn everything_over_http_with_sse() {
    let running = Listening::everything(EverythingTransport::Sse).unwrap();
    for flavor in [HttpFlavor::Detect, HttpFlavor::Sse] {
        let client = connect(&running, |server| server.http_flavor(flavor)).await;
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
}

#[tokio::test]
async fn fastmcp_over_http_in_both_eras() {
    let running = Listening::fastmcp().unwrap();
    for (era, expected) in [
        (EraChoice::Auto, None),
        (EraChoice::Legacy, Some(Era::Legacy)),
    ] {
        let client = connect(&running, |server| server.era(era)).await;
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
