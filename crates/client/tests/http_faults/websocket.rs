//! WebSockets: what travels in them, and what their servers get wrong.

use std::net::SocketAddr;

use attache_client::protocol::Era;
use attache_client::{Error, Server};
use attache_testkit::tls::Offer;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{Request, Response};

use crate::tls::Root;
use crate::{balanced, echo, fails_at_once, server};

/// How a server sends an answer.
#[derive(Clone, Copy, Debug)]
enum Manner {
    Plain,
    /// Over several lines, in a binary message, between pings.
    Odd,
    /// Longer than a message may be.
    TooLong,
    /// The socket is closed instead.
    Closing,
}

/// A legacy server behind a WebSocket that names the subprotocol it is given.
async fn listening(subprotocol: Option<&'static str>, manner: Manner) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(converse(stream, subprotocol, manner));
        }
    });
    address
}

#[expect(clippy::result_large_err, reason = "the signature is the library's")]
async fn converse(stream: TcpStream, subprotocol: Option<&'static str>, manner: Manner) {
    let name = |request: &Request, mut response: Response| {
        let asked = request.headers().get("sec-websocket-protocol").unwrap();
        assert_eq!(asked, "mcp");
        if let Some(name) = subprotocol {
            let name = name.parse().unwrap();
            response
                .headers_mut()
                .insert("sec-websocket-protocol", name);
        }
        Ok(response)
    };
    let Ok(mut socket) = tokio_tungstenite::accept_hdr_async(stream, name).await else {
        return;
    };
    while let Some(Ok(message)) = socket.next().await {
        let Message::Text(text) = message else {
            continue;
        };
        assert!(!text.contains('\n'), "one message in each frame: {text}");
        let request: Value = serde_json::from_str(&text).unwrap();
        if answer(&mut socket, &request, manner).await.is_none() {
            return;
        }
    }
}

async fn answer(
    socket: &mut WebSocketStream<TcpStream>,
    request: &Value,
    manner: Manner,
) -> Option<()> {
    let Some(id) = request.get("id").cloned() else {
        return Some(());
    };
    let answer = match request["method"].as_str()? {
        "initialize" => json!({"jsonrpc": "2.0", "id": id, "result": {
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "socket", "version": "1"}}}),
        "tools/call" => {
            let result = json!({"content": [{"type": "text", "text": "hello"}]});
            let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
            return in_manner(socket, &answer, manner).await;
        }
        _ => json!({"jsonrpc": "2.0", "id": id,
            "error": {"code": -32601, "message": "not known"}}),
    };
    socket.send(answer.to_string().into()).await.ok()
}

async fn in_manner(
    socket: &mut WebSocketStream<TcpStream>,
    answer: &Value,
    manner: Manner,
) -> Option<()> {
    match manner {
        Manner::Plain => socket.send(answer.to_string().into()).await.ok(),
        Manner::Odd => {
            socket.send(Message::Ping("there?".into())).await.ok()?;
            let pretty = serde_json::to_vec_pretty(answer).unwrap();
            socket.send(Message::Binary(pretty.into())).await.ok()
        }
        Manner::TooLong => socket.send("x".repeat(5000).into()).await.ok(),
        Manner::Closing => {
            socket.close(None).await.ok()?;
            None
        }
    }
}

fn address(of: SocketAddr) -> String {
    format!("ws://{of}/ws")
}

#[tokio::test]
async fn messages_of_any_manner_arrive() {
    for (subprotocol, manner) in [
        (Some("mcp"), Manner::Plain),
        (Some("mcp"), Manner::Odd),
        (None, Manner::Plain),
    ] {
        let at = listening(subprotocol, manner).await;
        let client = server(address(at)).connect().await.unwrap();
        assert_eq!(client.revision().era(), Era::Legacy);
        for _ in 0..3 {
            assert_eq!(echo(&client).await.unwrap().text(), "hello", "{manner:?}");
        }
        assert!(balanced(&client));
        client.close().await;
    }
}

#[tokio::test]
async fn a_socket_that_ends_says_what_is_known_of_the_call() {
    for manner in [Manner::Closing, Manner::TooLong] {
        let at = listening(Some("mcp"), manner).await;
        let limits = attache_client::Limits {
            frame: 4096,
            ..attache_client::Limits::default()
        };
        let server = server(address(at)).limits(limits);
        let client = server.connect().await.unwrap();
        let error = fails_at_once(client.call("echo", json!({}))).await;
        assert!(matches!(error, Error::OutcomeUnknown { .. }), "{error:?}");
        assert!(balanced(&client));
    }
}

#[tokio::test]
async fn what_is_no_socket_for_this_protocol_is_refused() {
    let other = listening(Some("soap"), Manner::Plain).await;
    let error = server(address(other)).connect().await.unwrap_err();
    assert!(error.to_string().contains("soap"), "{error}");

    // A server that agrees to anything without having understood it.
    let parrot = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = parrot.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = parrot.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
            let answer = "HTTP/1.1 101 Yes\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
                          sec-websocket-accept: yes\r\n\r\n";
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    let error = server(address(at)).connect().await.unwrap_err();
    assert!(error.to_string().contains("no WebSocket"), "{error}");
}

#[tokio::test]
async fn a_socket_behind_tls_is_opened_in_http_1() {
    let root = Root::new();
    let at = listening(Some("mcp"), Manner::Plain).await;
    let door = root.door_to(at, Offer::Http2).await;
    let url = door.url().replace("https:", "wss:");
    let client = root.server(&url).connect().await.unwrap();
    assert_eq!(echo(&client).await.unwrap().text(), "hello");
    client.close().await;
    // Without the root it is not trusted.
    let error = Server::http(&url).connect().await.unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
}
