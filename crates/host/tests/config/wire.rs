//! Profiles and quirks show the seeds' bytes on the wire.

use attache_client::{Client, Server};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

use crate::read;

/// A server in memory with the settings of a configured one.
fn configured(text: &str) -> (Server, BufReader<DuplexStream>) {
    let config = read(text);
    assert_eq!(config.problems, []);
    let settings = config.servers.into_values().next().unwrap().settings();
    let (server, stream) = Server::memory();
    (server.settings(settings), BufReader::new(stream))
}

async fn next(stream: &mut BufReader<DuplexStream>) -> Value {
    let mut line = String::new();
    stream.read_line(&mut line).await.unwrap();
    serde_json::from_str(&line).unwrap()
}

async fn answer(stream: &mut BufReader<DuplexStream>, request: &Value, result: Value) {
    let message = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
    let line = format!("{message}\n");
    stream.get_mut().write_all(line.as_bytes()).await.unwrap();
}

/// Connects, playing a server of that revision; gives the client's first message too.
async fn connected(
    server: &Server,
    stream: &mut BufReader<DuplexStream>,
    revision: &str,
) -> (Client, Value) {
    let play = async {
        let first = next(stream).await;
        let mut request = first.clone();
        // A server of seed 003 does not know the modern era; the client falls back.
        while request["method"] != "initialize" {
            let error = json!({"jsonrpc": "2.0", "id": request["id"],
                               "error": {"code": -32601, "message": "Method not found"}});
            let line = format!("{error}\n");
            stream.get_mut().write_all(line.as_bytes()).await.unwrap();
            request = next(stream).await;
        }
        let result = json!({"protocolVersion": revision, "capabilities": {"tools": {}},
                            "serverInfo": {"name": "seed", "version": "1"}});
        answer(stream, &request, result).await;
        assert_eq!(next(stream).await["method"], "notifications/initialized");
        first
    };
    let (client, first) = tokio::join!(server.connect(), play);
    (client.unwrap(), first)
}

/// Seeds row 9: with the pin the first bytes are the seed's own, apart from the name.
#[tokio::test]
async fn interactive_begins_with_the_handshake_of_its_seed() {
    let (server, mut stream) = configured("[servers.a]\ncommand = 'x'\nprofile = 'interactive'\n");
    let (_client, first) = connected(&server, &mut stream, "2024-11-05").await;
    assert_eq!(first["method"], "initialize");
    assert_eq!(first["params"]["protocolVersion"], "2024-11-05");
    assert_eq!(first["params"]["capabilities"], json!({}));
}

/// Seeds rows 35 and 36: a call of the `interactive` profile ends after a second.
#[tokio::test(start_paused = true)]
async fn interactive_calls_end_after_a_second() {
    let (server, mut stream) = configured("[servers.a]\ncommand = 'x'\nprofile = 'interactive'\n");
    let (client, _) = connected(&server, &mut stream, "2024-11-05").await;
    let begun = tokio::time::Instant::now();
    client.call("slow", json!({})).await.unwrap_err();
    assert_eq!(begun.elapsed().as_millis(), 1000);
}

/// Seeds rows 35 and 40: signs of progress put the end off, so that a long sync is not cut off.
#[tokio::test(start_paused = true)]
async fn interactive_calls_go_on_while_there_is_progress() {
    let (server, mut stream) = configured("[servers.a]\ncommand = 'x'\nprofile = 'interactive'\n");
    let (client, _) = connected(&server, &mut stream, "2024-11-05").await;
    let begun = tokio::time::Instant::now();
    let call = client.call("slow", json!({})).on_progress(|_| {});
    let play = async {
        let call = next(&mut stream).await;
        let token = &call["params"]["_meta"]["progressToken"];
        for step in 1..=10 {
            tokio::time::sleep(std::time::Duration::from_millis(900)).await;
            let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": token, "progress": step}});
            let line = format!("{progress}\n");
            stream.get_mut().write_all(line.as_bytes()).await.unwrap();
        }
        answer(&mut stream, &call, json!({"content": []})).await;
    };
    let (answered, ()) = tokio::join!(call, play);
    answered.unwrap();
    assert_eq!(begun.elapsed().as_millis(), 9000);
}

/// Seeds rows 1 and 2: `workflow` cancels and leaves in both manners; the default does not.
#[tokio::test(start_paused = true)]
async fn workflow_cancels_and_leaves_like_a_language_server() {
    for (profile, cancels, leaves) in [
        (
            "workflow",
            &["notifications/cancelled", "$/cancelRequest"][..],
            &["shutdown", "exit"][..],
        ),
        ("standard", &["notifications/cancelled"], &[]),
    ] {
        let text = format!("[servers.a]\ncommand = 'x'\nprofile = '{profile}'\n");
        let (server, mut stream) = configured(&text);
        let (client, _) = connected(&server, &mut stream, "2025-11-25").await;
        client.call("slow", json!({})).await.unwrap_err();
        let call = next(&mut stream).await;
        assert_eq!(call["method"], "tools/call");
        for cancel in cancels {
            let message = next(&mut stream).await;
            assert_eq!(message["method"], *cancel);
            let params = &message["params"];
            let named = [&params["id"], &params["requestId"]];
            assert!(named.contains(&&call["id"]), "{message}");
        }
        let play = async {
            let mut methods = Vec::new();
            loop {
                let mut line = String::new();
                if stream.read_line(&mut line).await.unwrap() == 0 {
                    return methods;
                }
                let message: Value = serde_json::from_str(&line).unwrap();
                methods.push(message["method"].as_str().unwrap().to_owned());
                if message["id"] != Value::Null {
                    // Row 3: the seed's server answers with null.
                    answer(&mut stream, &message, Value::Null).await;
                }
            }
        };
        let (_, methods) = tokio::join!(client.close(), play);
        assert_eq!(methods, leaves, "{profile}");
    }
}
