//! The login of a person, from the first refusal to the first admitted request.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use attache_auth::{
    AuthorizationError, ClientIdentity, ClientProof, LoginEvent, MemoryStore, OAuth, Preregistered,
    Secret,
};
use attache_testkit::http::Answer;
use serde_json::json;
use url::Url;

use crate::web::{self, Fields as _};
use crate::world::{Knobs, World, admitted, fetch, refused};

/// A login to a server by a person who agrees to everything, with nothing stored yet.
fn visiting(server: &Url) -> OAuth {
    OAuth::new(
        server.clone(),
        ClientIdentity::new("Test client"),
        Arc::new(fetch(server)),
        Arc::new(MemoryStore::new()),
    )
    .user_agent(Arc::new(crate::world::Visitor))
}

/// C-AUTH-03, C-AUTH-18, C-AUTH-20, C-AUTH-22, C-AUTH-25, C-AUTH-26, C-AUTH-28, C-AUTH-31.
#[tokio::test]
async fn a_refusal_leads_to_a_login_and_a_repetition() {
    let world = World::new().await;
    let oauth = world.oauth();
    admitted(&oauth, &world.server()).await;
    admitted(&oauth, &world.server()).await;

    let registered = world.issuer.requests_at("/register");
    assert_eq!(registered.len(), 1);
    let registration = registered[0].message();
    assert_eq!(registration["application_type"], "native");
    assert_eq!(registration["token_endpoint_auth_method"], "none");
    assert_eq!(
        registration["grant_types"],
        json!(["authorization_code", "refresh_token"])
    );

    let visited = world.issuer.requests_at("/authorize");
    assert_eq!(visited.len(), 1);
    let query = visited[0].query_fields();
    assert_eq!(
        query["redirect_uri"],
        registration["redirect_uris"][0].as_str().unwrap()
    );
    assert_eq!(query["resource"], world.server().as_str());
    assert_eq!(query["code_challenge_method"], "S256");
    assert_eq!(query["scope"], "basic");

    let exchanged = world.issuer.requests_at("/token");
    assert_eq!(exchanged.len(), 1);
    let form = exchanged[0].form_fields();
    assert_eq!(form["resource"], world.server().as_str());
    assert_eq!(form["code"], "the-code");
    assert_eq!(form["client_id"], "registered");
    assert!(!form["code_verifier"].is_empty());

    let asked = world.resource.requests_at("/mcp");
    let headers: Vec<_> = asked
        .iter()
        .map(|asked| asked.header("authorization"))
        .collect();
    assert_eq!(
        headers,
        [None, Some("Bearer token-1"), Some("Bearer token-1")]
    );
}

// C-AUTH-05.
#[tokio::test]
async fn metadata_requests_name_the_revision() {
    let world = World::new().await;
    admitted(&world.oauth(), &world.server()).await;
    let mut metadata = world.resource.requests();
    metadata.extend(world.issuer.requests());
    metadata.retain(|asked| asked.path.starts_with("/.well-known/"));
    assert!(metadata.len() >= 2);
    for asked in metadata {
        assert_eq!(asked.header("mcp-protocol-version"), Some("2026-07-28"));
        assert_eq!(asked.header("authorization"), None);
    }
}

/// C-AUTH-04: servers of revision 2025-03-26 are their own authorization server.
#[tokio::test]
async fn a_server_without_metadata_has_default_endpoints() {
    let web = web::serve(|asked| match asked.path.as_str() {
        "/mcp" if asked.header("authorization") == Some("Bearer t") => Answer::status(200),
        "/mcp" => Answer::status(401),
        "/register" => Answer::json(&json!({"client_id": "i"})).with_status(201),
        "/authorize" => {
            let mut back = Url::parse(&asked.query_fields()["redirect_uri"]).unwrap();
            back.query_pairs_mut()
                .append_pair("code", "c")
                .append_pair("state", &asked.query_fields()["state"]);
            Answer::status(302).header("Location", back.as_str())
        }
        "/token" => Answer::json(&json!({"access_token": "t", "token_type": "Bearer"})),
        _ => Answer::status(404),
    })
    .await;
    let server = web::at(&web, "/mcp");
    let oauth = visiting(&server);
    admitted(&oauth, &server).await;
    let searched: Vec<String> = web
        .requests()
        .into_iter()
        .map(|asked| asked.path)
        .filter(|path| path.contains("well-known"))
        .collect();
    assert_eq!(
        searched,
        [
            "/.well-known/oauth-protected-resource/mcp",
            "/.well-known/oauth-protected-resource",
            "/.well-known/oauth-authorization-server",
            "/.well-known/openid-configuration",
        ]
    );
}

#[tokio::test]
async fn nobody_to_ask_is_an_error_that_says_so() {
    let world = World::new().await;
    let server = world.server();
    let oauth = OAuth::new(
        server.clone(),
        ClientIdentity::new("Test client"),
        Arc::new(fetch(&server)),
        Arc::new(MemoryStore::new()),
    );
    let error = refused(&oauth, &server).await;
    assert!(
        matches!(error, AuthorizationError::LoginRequired { .. }),
        "{error}"
    );
    assert!(world.issuer.requests().is_empty());
}

/// C-AUTH-15: an id agreed upon beforehand goes first; C-AUTH-14: only to its own issuer.
/// C-AUTH-19.
#[tokio::test]
async fn a_preregistered_client_is_used_at_its_issuer_only() {
    let world = World::with(Knobs {
        metadata: Some(json!({"token_endpoint_auth_methods_supported": ["client_secret_basic"]})),
        ..Knobs::default()
    })
    .await;
    let server = world.server();
    let oauth = |issuer: &str| {
        let identity = ClientIdentity {
            preregistered: Some(Preregistered {
                issuer: Some(issuer.to_owned()),
                client_id: "mine".to_owned(),
                proof: ClientProof::Secret(Secret::new("secret")),
            }),
            ..ClientIdentity::new("Test client")
        };
        let store = Arc::new(MemoryStore::new());
        OAuth::new(server.clone(), identity, Arc::new(fetch(&server)), store)
            .user_agent(Arc::new(crate::world::Visitor))
    };
    let error = refused(&oauth("https://other.example"), &server).await;
    assert!(
        matches!(error, AuthorizationError::ForeignClient { .. }),
        "{error}"
    );
    assert!(world.issuer.requests_at("/authorize").is_empty());

    admitted(&oauth(&world.issuer.origin()), &server).await;
    let exchanged = &world.issuer.requests_at("/token")[0];
    assert_eq!(
        exchanged.header("authorization"),
        Some("Basic bWluZTpzZWNyZXQ=")
    );
    assert!(world.issuer.requests_at("/register").is_empty());
}

/// C-AUTH-15, C-AUTH-16.
#[tokio::test]
async fn a_metadata_document_goes_before_registration() {
    let world = World::with(Knobs {
        metadata: Some(json!({"client_id_metadata_document_supported": true})),
        ..Knobs::default()
    })
    .await;
    let server = world.server();
    let document = "https://client.example/metadata.json";
    let identity = ClientIdentity {
        metadata_document: Some(Url::parse(document).unwrap()),
        ..ClientIdentity::new("Test client")
    };
    let store = Arc::new(MemoryStore::new());
    let oauth = OAuth::new(server.clone(), identity, Arc::new(fetch(&server)), store)
        .user_agent(Arc::new(crate::world::Visitor));
    admitted(&oauth, &server).await;
    assert_eq!(
        world.issuer.requests_at("/authorize")[0].query_fields()["client_id"],
        document
    );
    assert!(world.issuer.requests_at("/register").is_empty());
}

/// C-AUTH-13: another authorization server means another registration, and no old credential goes
/// there.
#[tokio::test]
async fn a_new_authorization_server_gets_nothing_of_the_old_one() {
    let (first, second) = (World::new().await, World::new().await);
    let issuers = [first.issuer.origin(), second.issuer.origin()];
    let moved = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let (current, ledgers) = (
        Arc::clone(&moved),
        [first.ledger.clone(), second.ledger.clone()],
    );
    let resource = web::serve(move |asked| {
        let which = current.load(std::sync::atomic::Ordering::SeqCst);
        let own = format!("http://{}/mcp", asked.header("host").unwrap());
        let token = asked
            .header("authorization")
            .unwrap_or_default()
            .replace("Bearer ", "");
        match asked.path.as_str() {
            "/mcp" if ledgers[which].lock().unwrap().tokens.contains_key(&token) => {
                Answer::status(200)
            }
            "/mcp" => Answer::status(401),
            "/.well-known/oauth-protected-resource/mcp" => {
                Answer::json(&json!({"resource": own, "authorization_servers": [issuers[which]]}))
            }
            _ => Answer::status(404),
        }
    })
    .await;
    let server = web::at(&resource, "/mcp");
    let oauth = visiting(&server);
    admitted(&oauth, &server).await;
    moved.store(1, std::sync::atomic::Ordering::SeqCst);
    // The second world numbers its tokens afresh, so one is spent to tell them apart.
    second.ledger.lock().unwrap().tokens.clear();
    admitted(&oauth, &server).await;
    assert_eq!(second.issuer.requests_at("/register").len(), 1);
    assert!(
        second
            .grants()
            .iter()
            .all(|grant| grant == "authorization_code")
    );
}

/// C-AUTH-28: what strangers send to the redirect address changes nothing.
#[tokio::test]
async fn strangers_at_the_redirect_address_are_turned_away() {
    struct Crowd;
    impl attache_auth::UserAgent for Crowd {
        fn open<'a>(&'a self, url: &'a Url) -> attache_auth::BoxFuture<'a, Result<(), String>> {
            Box::pin(async move {
                let fields: std::collections::HashMap<String, String> =
                    url.query_pairs().into_owned().collect();
                let back = Url::parse(&fields["redirect_uri"]).unwrap();
                // A connection that a browser opens in advance and leaves idle.
                let address = back.socket_addrs(|| None).unwrap()[0];
                let _idle = tokio::net::TcpStream::connect(address).await.unwrap();
                let statuses = [
                    ("code=evil&state=wrong", 400),
                    ("code=evil", 400),
                    ("error=evil&state=", 400),
                ];
                for (query, status) in statuses {
                    let mut url = back.clone();
                    url.set_query(Some(query));
                    let answer = web::get(&url, &[]).await;
                    assert_eq!(answer.status, status);
                    assert!(!answer.body.contains("evil"));
                }
                let mut elsewhere = back.clone();
                elsewhere.set_path("/favicon.ico");
                assert_eq!(web::get(&elsewhere, &[]).await.status, 404);
                crate::world::Visitor.open(url).await
            })
        }
    }
    let world = World::new().await;
    let oauth = world.oauth().user_agent(Arc::new(Crowd));
    admitted(&oauth, &world.server()).await;
    assert_eq!(
        world.issuer.requests_at("/token")[0].form_fields()["code"],
        "the-code"
    );
}

/// A person who does not come back is not waited for, and the face hears what to show.
#[tokio::test]
async fn a_page_that_cannot_be_opened_is_told_and_waited_for_in_bounds() {
    struct NoBrowser;
    impl attache_auth::UserAgent for NoBrowser {
        fn open<'a>(&'a self, _url: &'a Url) -> attache_auth::BoxFuture<'a, Result<(), String>> {
            Box::pin(async { Err("no display".to_owned()) })
        }
    }
    let world = World::new().await;
    let told: Arc<Mutex<Vec<LoginEvent>>> = Arc::default();
    let log = Arc::clone(&told);
    let patience = Duration::from_millis(200);
    let oauth = world
        .oauth()
        .user_agent(Arc::new(NoBrowser))
        .login_patience(patience)
        .on_event(move |event| log.lock().unwrap().push(event));
    let error = refused(&oauth, &world.server()).await;
    assert_eq!(error, AuthorizationError::LoginTimedOut { after: patience });
    let told = told.lock().unwrap();
    let shown = told.iter().find_map(|event| match event {
        LoginEvent::NotOpened { url, problem } => Some((url, problem)),
        _ => None,
    });
    let (url, problem) = shown.unwrap();
    assert!(url.as_str().starts_with(&world.issuer.origin()));
    assert_eq!(problem, "no display");
}

/// A registration is used again as long as its address is free.
/// C-AUTH-17.
#[tokio::test]
async fn a_registration_is_kept_per_issuer() {
    let world = World::new().await;
    let store = Arc::new(MemoryStore::new());
    let oauth = world.oauth_with(store.clone());
    oauth.login().await.unwrap();
    oauth.login().await.unwrap();
    assert_eq!(world.issuer.requests_at("/register").len(), 1);
    let visits = world.issuer.requests_at("/authorize");
    assert_eq!(
        visits[0].query_fields()["redirect_uri"],
        visits[1].query_fields()["redirect_uri"]
    );

    // Its port is taken now, so another registration is needed.
    let taken = Url::parse(&visits[0].query_fields()["redirect_uri"]).unwrap();
    let _taken = tokio::net::TcpListener::bind(taken.socket_addrs(|| None).unwrap()[0])
        .await
        .unwrap();
    oauth.login().await.unwrap();
    assert_eq!(world.issuer.requests_at("/register").len(), 2);
}
