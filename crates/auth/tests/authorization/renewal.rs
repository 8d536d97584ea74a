//! Renewal of tokens: one at a time, in one process and across many, and never by the loser of a
//! race at the cost of the winner.

use std::sync::Arc;

use attache_auth::{
    AuthorizationError, ClientIdentity, FileStore, HttpFetch, LoginStatus, MemoryStore, OAuth,
};
use attache_testkit::http::Answer;
use serde_json::json;
use url::Url;

use crate::web::Fields as _;
use crate::world::{Knobs, World, admitted, refused};

#[tokio::test]
async fn a_refused_token_is_renewed_without_a_person() {
    let world = World::new().await;
    let oauth = world.oauth();
    admitted(&oauth, &world.server()).await;
    world.expire_tokens();
    admitted(&oauth, &world.server()).await;
    assert_eq!(world.grants(), ["authorization_code", "refresh_token"]);
    let renewal = &world.issuer.requests_at("/token")[1].form_fields();
    assert_eq!(renewal["refresh_token"], "refresh-1");
    assert_eq!(renewal["resource"], world.server().as_str());
    assert_eq!(renewal["client_id"], "registered");
}

/// A token that is about to end is renewed before the server has to refuse it.
#[tokio::test]
async fn a_token_about_to_end_is_renewed_beforehand() {
    let world = World::with(Knobs {
        token: Some(|asked| {
            let first = asked.form_fields()["grant_type"] == "authorization_code";
            let answer = json!({"access_token": "short", "token_type": "Bearer", "expires_in": 5,
                "refresh_token": "refresh-short"});
            first.then(|| Answer::json(&answer))
        }),
        ..Knobs::default()
    })
    .await;
    {
        let mut ledger = world.ledger.lock().unwrap();
        ledger.tokens.insert("short".to_owned(), Vec::new());
        ledger.refresh.insert("refresh-short".to_owned());
    }
    let oauth = world.oauth();
    oauth.login().await.unwrap();
    admitted(&oauth, &world.server()).await;
    assert_eq!(world.grants(), ["authorization_code", "refresh_token"]);
    let asked = world.resource.requests_at("/mcp");
    let presented = asked.last().unwrap().header("authorization");
    assert_eq!(presented, Some("Bearer token-1"));
}

#[tokio::test]
async fn a_renewal_that_is_refused_for_good_leads_to_a_login() {
    let world = World::new().await;
    let oauth = world.oauth();
    admitted(&oauth, &world.server()).await;
    world.expire_tokens();
    world.ledger.lock().unwrap().refresh.clear();
    admitted(&oauth, &world.server()).await;
    assert_eq!(
        world.grants(),
        ["authorization_code", "refresh_token", "authorization_code"]
    );
}

/// An authorization server that is down for a moment costs nobody their login.
#[tokio::test]
async fn a_renewal_that_fails_for_now_keeps_the_credentials() {
    let world = World::with(Knobs {
        token: Some(|asked| {
            let is_renewal = asked.form_fields()["grant_type"] == "refresh_token";
            is_renewal.then(|| Answer::status(503))
        }),
        ..Knobs::default()
    })
    .await;
    let oauth = world.oauth();
    admitted(&oauth, &world.server()).await;
    world.expire_tokens();
    let error = refused(&oauth, &world.server()).await;
    assert!(
        matches!(error, AuthorizationError::BadAnswer { .. }),
        "{error}"
    );
    assert!(matches!(
        oauth.status().await.unwrap(),
        LoginStatus::LoggedIn(_)
    ));
    assert_eq!(world.issuer.requests_at("/authorize").len(), 1);
}

/// A renewed token that is refused again leads to a login, once.
#[tokio::test]
async fn a_renewed_token_that_is_refused_leads_to_a_login() {
    let world = World::with(Knobs {
        token: Some(|asked| {
            let is_renewal = asked.form_fields()["grant_type"] == "refresh_token";
            let answer = json!({"access_token": "worthless", "token_type": "Bearer"});
            is_renewal.then(|| Answer::json(&answer))
        }),
        ..Knobs::default()
    })
    .await;
    let oauth = world.oauth();
    admitted(&oauth, &world.server()).await;
    world.expire_tokens();
    admitted(&oauth, &world.server()).await;
    assert_eq!(
        world.grants(),
        ["authorization_code", "refresh_token", "authorization_code"]
    );
}

#[tokio::test]
async fn fault_62_parallel_refusals_in_one_process_renew_once() {
    let world = World::new().await;
    let oauth = Arc::new(world.oauth());
    admitted(&*oauth, &world.server()).await;
    world.expire_tokens();
    let mut requests = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let (oauth, server) = (Arc::clone(&oauth), world.server());
        requests.spawn(async move { admitted(&*oauth, &server).await });
    }
    requests.join_all().await;
    assert_eq!(world.grants(), ["authorization_code", "refresh_token"]);
}

/// Two connections of one program that do not know each other share a store.
#[tokio::test]
async fn fault_62_two_authorizers_with_one_store_renew_once() {
    let world = World::new().await;
    let store = Arc::new(MemoryStore::new());
    let (one, other) = (world.oauth_with(store.clone()), world.oauth_with(store));
    admitted(&one, &world.server()).await;
    admitted(&other, &world.server()).await;
    world.expire_tokens();
    let server = world.server();
    tokio::join!(admitted(&one, &server), admitted(&other, &server));
    assert_eq!(world.grants(), ["authorization_code", "refresh_token"]);
}

/// The role of the processes in the next test: this executable, run again for one request.
const RACER: &str = "ATTACHE_TEST_RACER";

#[tokio::test]
async fn racer() {
    // Without the variable this is no racer, and there is nothing to do.
    let Ok(text) = std::env::var(RACER) else {
        return;
    };
    let (folder, server) = text.split_once('|').unwrap();
    let server = Url::parse(server).unwrap();
    let oauth = OAuth::new(
        server.clone(),
        ClientIdentity::new("Test client"),
        Arc::new(HttpFetch::new(&server)),
        Arc::new(FileStore::new(folder)),
    );
    admitted(&oauth, &server).await;
}

#[tokio::test]
async fn fault_62_parallel_refusals_across_processes_renew_once() {
    let world = World::new().await;
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(FileStore::new(folder.path()));
    admitted(&world.oauth_with(store.clone()), &world.server()).await;
    world.expire_tokens();

    let role = format!("{}|{}", folder.path().display(), world.server());
    let mut racers = Vec::new();
    for _ in 0..6 {
        let racer = tokio::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "renewal::racer"])
            .env(RACER, &role)
            .kill_on_drop(true)
            .output();
        racers.push(tokio::spawn(racer));
    }
    for racer in racers {
        let output = racer.await.unwrap().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}");
    }
    assert_eq!(world.grants(), ["authorization_code", "refresh_token"]);
    let refused = world.resource.requests_at("/mcp");
    let old = refused
        .iter()
        .filter(|asked| asked.header("authorization") == Some("Bearer token-1"));
    // The login itself, and at least two racers that met the refusal: otherwise there was no race.
    assert!(old.count() >= 3);

    let status = world.oauth_with(store).status().await.unwrap();
    assert!(matches!(status, LoginStatus::LoggedIn(_)));
}
