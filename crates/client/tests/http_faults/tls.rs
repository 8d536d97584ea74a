//! Servers behind TLS: roots, names, dates, and HTTP/2 over it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use attache_auth::{AuthorizationError, Fetch as _, FetchRequest, HttpFetch};
use attache_client::protocol::Revision;
use attache_client::{
    Client, CloseReason, ConnectError, Error, Event, Server, Unreachable, UnreachableKind,
};
use attache_testkit::http::{Answer, HttpScript, HttpServer, On};
use attache_testkit::scratch::Scratch;
use attache_testkit::tls::{Authority, Offer, TlsDoor, Validity};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::{balanced, echo, legacy, server};

/// A private root, and where its certificate is kept.
pub(crate) struct Root {
    authority: Authority,
    ca_file: PathBuf,
    _folder: Scratch,
}

impl Root {
    pub(crate) fn new() -> Self {
        let authority = Authority::new().unwrap();
        let folder = Scratch::new("root").unwrap();
        let ca_file = folder.path().join("root.pem");
        std::fs::write(&ca_file, authority.pem()).unwrap();
        Self {
            authority,
            ca_file,
            _folder: folder,
        }
    }

    /// A door with a certificate for an address of this machine.
    pub(crate) async fn door(&self, web: &HttpServer, offer: Offer) -> TlsDoor {
        self.door_of(web, "127.0.0.1", Validity::Now, offer).await
    }

    pub(crate) async fn door_of(
        &self,
        web: &HttpServer,
        name: &str,
        validity: Validity,
        offer: Offer,
    ) -> TlsDoor {
        let identity = self.authority.identity(name, validity).unwrap();
        TlsDoor::open(web.address(), identity, offer).await.unwrap()
    }

    /// A door to whatever listens at an address.
    pub(crate) async fn door_to(&self, upstream: SocketAddr, offer: Offer) -> TlsDoor {
        let identity = self.authority.identity("127.0.0.1", Validity::Now).unwrap();
        TlsDoor::open(upstream, identity, offer).await.unwrap()
    }

    /// A server that is known by this root.
    pub(crate) fn server(&self, url: &str) -> Server {
        server(url).ca_file(&self.ca_file)
    }
}

/// Why there is no connection.
pub(crate) async fn unreachable(server: Server) -> Unreachable {
    match server.connect().await.unwrap_err() {
        Error::Connect(ConnectError::Lost(CloseReason::Unreachable(unreachable))) => *unreachable,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_ca_file_makes_a_private_root_good_and_without_it_the_root_is_named() {
    let root = Root::new();
    let web = legacy().start().await.unwrap();
    let door = root.door(&web, Offer::Http1).await;
    let client = root.server(&door.url()).connect().await.unwrap();
    echo(&client).await.unwrap();
    assert!(door.chosen().iter().all(|chosen| chosen == "http/1.1"));
    let before = web.requests().len();

    let found = unreachable(server(door.url())).await;
    assert_eq!(found.kind, UnreachableKind::UnknownRoot, "{found}");
    assert_eq!(found.server, door.address().to_string());
    assert!(found.remedy().contains("`ca_file`"), "{found}");
    let other_root = Root::new();
    let found = unreachable(other_root.server(&door.url())).await;
    assert_eq!(found.kind, UnreachableKind::UnknownRoot, "{found}");
    assert_eq!(web.requests().len(), before, "nothing was sent in vain");
}

#[tokio::test]
async fn what_is_wrong_with_a_certificate_is_named() {
    let root = Root::new();
    let web = legacy().start().await.unwrap();
    for (name, validity, expected, part) in [
        (
            "elsewhere.example",
            Validity::Now,
            UnreachableKind::OtherName,
            "elsewhere.example",
        ),
        (
            "127.0.0.1",
            Validity::Over,
            UnreachableKind::Expired,
            "has expired",
        ),
        (
            "127.0.0.1",
            Validity::NotYet,
            UnreachableKind::NotYetValid,
            "clock",
        ),
    ] {
        let door = root.door_of(&web, name, validity, Offer::Http2).await;
        let found = unreachable(root.server(&door.url())).await;
        assert_eq!(found.kind, expected, "{found}");
        assert!(found.to_string().contains(part), "{found}");
    }
    assert_eq!(web.connections(), 0);
}

#[tokio::test]
async fn a_port_without_tls_is_told_from_a_bad_certificate() {
    // A web server that says in plain text what it thinks of TLS.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut hello = [0; 5];
            stream.read_exact(&mut hello).await.unwrap();
            let refusal = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n";
            stream.write_all(refusal).await.unwrap();
            // The rest is read, lest the answer be lost in a reset.
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
        }
    });
    let root = Root::new();
    let found = unreachable(root.server(&format!("https://{address}/mcp"))).await;
    assert_eq!(found.kind, UnreachableKind::NoTls, "{found}");
    assert!(found.remedy().contains("http:"), "{found}");
    serving.abort();

    // One that hangs up at the first strange byte.
    let web = legacy().start().await.unwrap();
    let found = unreachable(root.server(&format!("https://{}/mcp", web.address()))).await;
    assert_eq!(found.kind, UnreachableKind::Tls, "{found}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_silent_in_the_handshake_of_tls_is_given_up() {
    // The kernel takes the connection, and nobody ever answers.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let root = Root::new();
    let silent = root.server(&format!("https://{address}/mcp"));
    let silent = silent.start_timeout(Duration::from_secs(600));
    let found = unreachable(silent).await;
    assert_eq!(found.kind, UnreachableKind::TimedOut, "{found}");
}

#[tokio::test]
async fn a_name_without_an_address_and_a_port_without_a_listener_are_told_apart() {
    let found = unreachable(server("http://no-such-host.invalid:81/mcp")).await;
    assert_eq!(found.kind, UnreachableKind::NameNotResolved, "{found}");
    assert_eq!(found.server, "no-such-host.invalid:81");
    let gone = HttpScript::nothing().start().await.unwrap().address();
    let root = Root::new();
    for scheme in ["http", "https"] {
        let found = unreachable(root.server(&format!("{scheme}://{gone}/mcp"))).await;
        assert_eq!(found.kind, UnreachableKind::Refused, "{found}");
    }
}

#[tokio::test]
async fn what_authorization_fetches_is_told_of_in_the_same_words() {
    let root = Root::new();
    let web = legacy().start().await.unwrap();
    let door = root.door(&web, Offer::Http1).await;
    let url: url::Url = door.url().parse().unwrap();
    let fetch = HttpFetch::new(&url).ca_file(&root.ca_file);
    fetch.fetch(FetchRequest::get(url.clone())).await.unwrap();
    let fetch = HttpFetch::new(&url);
    let answer = fetch.fetch(FetchRequest::get(url)).await;
    let Err(AuthorizationError::Fetch { problem, .. }) = answer else {
        panic!("the certificate was accepted, or something else failed");
    };
    assert!(problem.contains("`ca_file`"), "{problem}");
}

/// A server behind HTTP/2, and its door.
async fn over_http2(script: HttpScript) -> (HttpServer, TlsDoor, Client) {
    let root = Root::new();
    let web = script.start().await.unwrap();
    let door = root.door(&web, Offer::Http2).await;
    let client = root.server(&door.url()).connect().await.unwrap();
    (web, door, client)
}

#[tokio::test]
async fn http2_is_agreed_on_and_carries_calls_and_streams() {
    let streamed = Answer::events()
        .message(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}))
        .usual_message();
    let script = legacy().on(On::tool("streamed"), streamed);
    let (_web, door, client) = over_http2(script).await;
    assert_eq!(client.revision(), Revision::V2025_11_25);
    let mut events = client.events();
    let calls: Vec<_> = (0..8)
        .map(|_| tokio::spawn(client.call("echo", json!({"say": "hello"})).into_future()))
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap().text(), r#"{"say":"hello"}"#);
    }
    client.call("streamed", json!({})).await.unwrap();
    let event = tokio::time::timeout(crate::LONG, events.next()).await;
    assert!(matches!(
        event.unwrap().as_deref(),
        Some(Event::ToolsChanged { .. })
    ));
    // Eight calls at once needed no second connection.
    assert_eq!(door.chosen(), ["h2"]);
    assert!(balanced(&client));
}

#[tokio::test]
async fn giving_up_a_call_closes_its_stream_of_http2_and_no_other() {
    let held = Answer::events().comment("working").hold();
    let script = HttpScript::modern().on(On::tool("slow"), held);
    let (web, door, client) = over_http2(script).await;
    let slow = tokio::spawn(client.call("slow", json!({})).into_future());
    web.wait_until(|web| web.count_of("tools/call") == 1).await;
    slow.abort();
    web.wait_until(|web| web.abandoned() == 1).await;
    echo(&client).await.unwrap();
    assert_eq!(
        door.chosen(),
        ["h2"],
        "C-CANC-06: the stream, not the connection"
    );
    assert!(balanced(&client));
}
