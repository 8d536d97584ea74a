//! A whole connection to a protected MCP server: the login happens in the middle of the handshake.

use std::sync::Arc;
use std::time::Duration;

use attache_auth::{AuthorizationError, BoxFuture, ClientIdentity, MemoryStore, OAuth, UserAgent};
use attache_client::{ConnectError, Error, HttpError, Server, Timeouts};
use attache_testkit::http::{Answer, HttpRequest};
use serde_json::json;
use url::Url;

use crate::world::{Knobs, Visitor, World, fetch};

/// How long the person takes: far longer than every time-out of the connection.
const THINKING: Duration = Duration::from_millis(1500);

struct SlowVisitor;

impl UserAgent for SlowVisitor {
    fn open<'a>(&'a self, url: &'a Url) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            tokio::time::sleep(THINKING).await;
            Visitor.open(url).await
        })
    }
}

/// A modern server with an empty list of tools.
fn modern(asked: &HttpRequest, _scopes: &[String]) -> Option<Answer> {
    let message = asked.message();
    let result = match message["method"].as_str()? {
        "server/discover" => json!({"resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}}, "serverInfo": {"name": "n", "version": "1"},
            "ttlMs": 0, "cacheScope": "private"}),
        "tools/list" => json!({"resultType": "complete", "tools": [], "ttlMs": 0,
            "cacheScope": "private"}),
        _ => return None,
    };
    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    Some(Answer::json(&answer))
}

fn impatient() -> Timeouts {
    Timeouts {
        probe: Duration::from_millis(200),
        start_grace: Duration::from_millis(100),
        start: Duration::from_millis(700),
        ..Timeouts::default()
    }
}

/// P6: nobody's patience ends while a person logs in, and the server is not taken for an old one.
#[tokio::test]
async fn a_person_may_take_longer_than_the_handshake() {
    let world = World::with(Knobs {
        admit: Some(modern),
        ..Knobs::default()
    })
    .await;
    let oauth = world.oauth().user_agent(Arc::new(SlowVisitor));
    let server = Server::http(world.server())
        .timeouts(impatient())
        .authorizer(Arc::new(oauth));
    let client = server.connect().await.unwrap();
    assert_eq!(client.list_tools().await.unwrap().iter().count(), 0);
    client.close().await;
    let methods: Vec<String> = world
        .resource
        .requests_at("/mcp")
        .iter()
        .filter(|asked| asked.verb == "POST")
        .map(HttpRequest::method)
        .collect();
    assert_eq!(
        methods,
        ["server/discover", "server/discover", "tools/list"]
    );
}

/// Without anyone to ask, connecting says what is needed instead of trying other transports.
#[tokio::test]
async fn a_login_that_nobody_can_make_is_the_error() {
    let world = World::new().await;
    let server = world.server();
    let identity = ClientIdentity::new("Test client");
    let store = Arc::new(MemoryStore::new());
    let oauth = OAuth::new(server.clone(), identity, Arc::new(fetch(&server)), store);
    let connected = Server::http(server)
        .authorizer(Arc::new(oauth))
        .connect()
        .await;
    let Err(Error::Connect(ConnectError::Http(HttpError::Authorization(error)))) = connected else {
        panic!(
            "connected, or failed for another reason: {:?}",
            connected.err()
        );
    };
    assert!(
        matches!(error, AuthorizationError::LoginRequired { .. }),
        "{error}"
    );
}
