//! The seeds' own conversations, byte for byte: with a pinned revision the client says exactly
//! what they show (seeds row 9), and the dialect of seed 003 is spoken where it is set.

use attache_client::protocol::{Content, CreateMessageResult, Revision};
use attache_client::{Client, Error, Meaning, Quirks, SamplingTools, Server};
use serde_json::{Value, json};

use crate::opening::{assert_balanced, finish, start};
use crate::peer::Peer;

/// Begins a conversation with these words of the client and this result of the server.
async fn opened(server: Server, peer: &mut Peer, words: Value, result: Value) -> Client {
    let connecting = start(async move { server.connect().await });
    assert_eq!(peer.next().await, words);
    peer.answer(&words, result).await;
    // Seed 000 does not name it and has to bear it (row 4).
    let notice = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(peer.next().await, notice);
    connecting.await.unwrap().unwrap()
}

async fn meditation() -> (Client, Peer) {
    let (server, stream) = Server::memory();
    let mut peer = Peer::new(stream, Revision::V2024_11_05);
    let server = server
        .protocol(Revision::V2024_11_05)
        .identity("project_chat", "1.0");
    let words = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2024-11-05", "capabilities": {},
            "clientInfo": {"name": "project_chat", "version": "1.0"},
        },
    });
    let result = json!({
        "protocolVersion": "2024-11-05", "capabilities": {"resources": {}, "tools": {}},
        "serverInfo": {"name": "meditation-mcp", "version": "1.0"},
    });
    let client = opened(server, &mut peer, words, result).await;
    (client, peer)
}

const NOTE: &str = "meditation://note/morning-meditation-2024-12-01";

#[tokio::test(start_paused = true)]
async fn seed_000_is_spoken_as_written() {
    let (client, mut peer) = meditation().await;
    assert_eq!(client.server().unwrap().name, "meditation-mcp");

    let listed = start({
        let client = client.clone();
        async move { client.list_resources().await }
    });
    let words = json!({"jsonrpc": "2.0", "id": 2, "method": "resources/list"});
    assert_eq!(peer.next().await, words);
    let note = json!({
        "uri": NOTE, "name": "Morning", "description": "A note", "mimeType": "text/markdown",
    });
    peer.answer(&words, json!({"resources": [note]})).await;
    assert_eq!(listed.await.unwrap().unwrap()[0].uri, NOTE);

    let read = start(client.read(NOTE));
    let words = json!({
        "jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": {"uri": NOTE},
    });
    assert_eq!(peer.next().await, words);
    let contents = json!({"uri": NOTE, "mimeType": "text/markdown", "text": "# Morning"});
    peer.answer(&words, json!({"contents": [contents]})).await;
    assert_eq!(read.await.unwrap().unwrap().contents.len(), 1);

    let listed = start({
        let client = client.clone();
        async move { client.list_tools().await }
    });
    let words = json!({"jsonrpc": "2.0", "id": 4, "method": "tools/list"});
    assert_eq!(peer.next().await, words);
    peer.answer(&words, json!({"tools": [{"name": "sync_repository"}]}))
        .await;
    assert_eq!(
        listed.await.unwrap().unwrap()[0].schema(),
        r#"{"type":"object"}"#
    );

    let call = start(client.call("search_notes", json!({"query": "morning", "limit": 10})));
    let words = json!({
        "jsonrpc": "2.0", "id": 5, "method": "tools/call",
        "params": {"name": "search_notes", "arguments": {"query": "morning", "limit": 10}},
    });
    assert_eq!(peer.next().await, words);
    peer.answer_text(&words, "3 notes").await;
    assert_eq!(call.await.unwrap().unwrap().text(), "3 notes");
    finish(client, peer).await;
}

// Row 25: that seed's way to say that a resource is not there.
#[tokio::test(start_paused = true)]
async fn seed_000_says_not_found_in_its_own_way() {
    let (client, mut peer) = meditation().await;
    let missing = "meditation://note/non-existent";
    let read = start(client.read(missing));
    let request = peer.request("resources/read").await;
    peer.refuse(&request, -32000, json!({"uri": missing})).await;
    match read.await.unwrap() {
        Err(Error::Server(error)) => {
            assert_eq!(
                (error.code, error.meaning),
                (-32000, Meaning::ResourceNotFound)
            );
        }
        other => panic!("{other:?}"),
    }
    finish(client, peer).await;
}

#[tokio::test(start_paused = true)]
async fn seed_004_is_spoken_as_written() {
    let (server, stream) = Server::memory();
    let mut peer = Peer::new(stream, Revision::V2024_11_05);
    let server = server
        .protocol(Revision::V2024_11_05)
        .identity("smolcode", "1.0.0");
    let words = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2024-11-05", "capabilities": {},
            "clientInfo": {"name": "smolcode", "version": "1.0.0"},
        },
    });
    let result = json!({
        "protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
        "serverInfo": {"name": "fetch", "version": "1"},
    });
    let client = opened(server, &mut peer, words, result).await;
    // Rows 19 and 20: ids are counted on, where the seed uses one twice.
    let call = start(client.call("get_weather", json!({"location": "New York"})));
    let words = json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "get_weather", "arguments": {"location": "New York"}},
    });
    assert_eq!(peer.next().await, words);
    // Row 50: what the seed shows damaged arrives whole.
    peer.answer_text(&words, "72°F").await;
    assert_eq!(call.await.unwrap().unwrap().text(), "72°F");
    finish(client, peer).await;
}

#[tokio::test(start_paused = true)]
async fn seed_003_is_spoken_in_its_dialect() {
    let (server, stream) = Server::memory();
    let mut peer = Peer::new(stream, Revision::V2025_11_25);
    let server = server
        .protocol(Revision::V2025_11_25)
        .identity("spec-tui", "0.1.0")
        .quirks(Quirks::lsp())
        .on_sampling(SamplingTools::Refused, |_| async {
            Ok(CreateMessageResult::new("none", Content::text("")))
        });
    let words = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25", "capabilities": {"sampling": {}},
            "clientInfo": {"name": "spec-tui", "version": "0.1.0"},
        },
    });
    let result = json!({
        "protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": "claude-code", "version": "1.0.0"},
    });
    let client = opened(server, &mut peer, words, result).await;

    let arguments = json!({"feature_description": "search", "spec_directory": "/specs/001"});
    let call = start(client.call("speckit.specify", arguments.clone()));
    let words = json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "speckit.specify", "arguments": arguments},
    });
    assert_eq!(peer.next().await, words);
    // Row 13: progress that nobody asked for is no answer.
    let params = json!({"progressToken": "tool-2", "progress": 50, "total": 100});
    peer.notify("notifications/progress", params).await;
    call.abort();
    peer.cancellation(&words).await;
    let words = json!({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 2}});
    assert_eq!(peer.next().await, words);
    // Row 26: the answer of that seed to a cancelled request comes too late to matter.
    peer.refuse(&json!({"id": 2}), -32002, Value::Null).await;

    let closing = start({
        let client = client.clone();
        async move { client.close().await }
    });
    let words = json!({"jsonrpc": "2.0", "id": 3, "method": "shutdown"});
    assert_eq!(peer.next().await, words);
    peer.say(json!({"jsonrpc": "2.0", "id": 3, "result": null}))
        .await;
    assert_eq!(
        peer.next().await,
        json!({"jsonrpc": "2.0", "method": "exit"})
    );
    peer.hears_the_end().await;
    drop(peer);
    closing.await.unwrap();
    assert_balanced(&client);
    assert_eq!(client.statistics().late_answers, 1);
}
