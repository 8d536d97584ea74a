//! What stops a login, and where repeating it ends.

use std::collections::HashMap;

use attache_auth::{AuthorizationError, Step};
use attache_testkit::http::{Answer, HttpRequest};
use serde_json::{Value, json};

use crate::web::Fields as _;
use crate::world::{Knobs, World, admitted, never_enough, refused, request};

/// Every failure stops the login before a token is asked for, and says what it is.
#[tokio::test]
async fn a_login_that_is_not_safe_does_not_happen() {
    let resource = |change: Value| Knobs {
        resource: Some(change),
        ..Knobs::default()
    };
    let metadata = |change: Value| Knobs {
        metadata: Some(change),
        ..Knobs::default()
    };
    let register = |reply: fn(&HttpRequest) -> Answer| Knobs {
        register: Some(reply),
        ..Knobs::default()
    };
    let answer = |change: fn(&mut HashMap<String, String>)| Knobs {
        answer: Some(change),
        ..Knobs::default()
    };
    let cases: Vec<(Knobs, &str)> = vec![
        // RFC 9728 section 3.3.
        (
            resource(json!({"resource": "https://evil.example/mcp"})),
            "speaks for https://evil.example/mcp",
        ),
        // S6: a server on this machine may name others on it, but no metadata services.
        (
            resource(json!({"authorization_servers": ["http://169.254.169.254"]})),
            "must begin with https",
        ),
        (
            resource(json!({"authorization_servers": ["https://169.254.169.254"]})),
            "reserved",
        ),
        (
            resource(json!({"authorization_servers": ["https://10.0.0.1"]})),
            "private network",
        ),
        (
            resource(json!({"authorization_servers": ["file:///etc/passwd"]})),
            "must begin with https",
        ),
        (
            resource(json!({"authorization_servers": ["nonsense"]})),
            "nonsense is no address",
        ),
        // S13: nothing hides in the name of an issuer.
        (
            resource(json!({"authorization_servers": ["http://127.0.0.1:9/\u{1b}[31m"]})),
            "http://127.0.0.1:9/[31m is no address",
        ),
        // C-AUTH-12.
        (
            metadata(json!({"issuer": "https://attacker.example"})),
            "names https://attacker.example",
        ),
        (metadata(json!({"issuer": null})), "as its issuer"),
        // C-AUTH-21.
        (
            metadata(json!({"code_challenge_methods_supported": null})),
            "PKCE with S256",
        ),
        (
            metadata(json!({"code_challenge_methods_supported": ["plain"]})),
            "PKCE with S256",
        ),
        // S5.
        (
            metadata(json!({"authorization_endpoint": "javascript:alert(1)"})),
            "must begin with https",
        ),
        (
            metadata(json!({"authorization_endpoint": null})),
            "no authorization endpoint",
        ),
        (
            metadata(json!({"token_endpoint": null})),
            "no token endpoint",
        ),
        (
            metadata(json!({"registration_endpoint": null})),
            "configure its client id",
        ),
        (metadata(json!(null)), "publishes no metadata"),
        (
            register(|_| Answer::json(&json!({"error": "invalid_redirect_uri"})).with_status(400)),
            "registering this client was refused: invalid_redirect_uri",
        ),
        (
            register(|_| Answer::json(&json!({})).with_status(201)),
            "no client id",
        ),
        // C-AUTH-26, C-AUTH-27.
        (
            answer(|answer| {
                answer.insert("iss".to_owned(), "https://evil.example".to_owned());
            }),
            "does not come from",
        ),
        (
            answer(|answer| {
                answer.remove("iss");
            }),
            "does not come from",
        ),
        (
            answer(|answer| {
                answer.insert("error".to_owned(), "access_denied".to_owned());
            }),
            "the login was refused: access_denied",
        ),
        (
            answer(|answer| {
                answer.remove("code");
            }),
            "neither code nor error",
        ),
    ];
    for (knobs, expected) in cases {
        let world = World::with(knobs).await;
        let error = refused(&world.oauth(), &world.server()).await.to_string();
        assert!(error.contains(expected), "expected {expected}, got {error}");
        assert!(world.issuer.requests_at("/token").is_empty(), "{expected}");
    }
}

#[tokio::test]
async fn bad_token_answers_are_told_apart() {
    let check = async |token: fn(&HttpRequest) -> Option<Answer>, expected: &str| {
        let world = World::with(Knobs {
            token: Some(token),
            ..Knobs::default()
        })
        .await;
        let error = refused(&world.oauth(), &world.server()).await.to_string();
        assert!(error.contains(expected), "expected {expected}, got {error}");
    };
    check(
        |_| {
            Some(
                Answer::json(&json!({"error": "invalid_grant", "error_description": "used"}))
                    .with_status(400),
            )
        },
        "the token request was refused: invalid_grant (used)",
    )
    .await;
    check(|_| Some(Answer::status(500)), "status 500").await;
    check(
        |_| Some(Answer::json(&json!({"token_type": "Bearer"}))),
        "no access token",
    )
    .await;
    check(
        |_| Some(Answer::status(302).header("Location", "http://127.0.0.1:9/")),
        "redirects what is meant for it alone",
    )
    .await;
    check(
        |_| {
            let body = " ".repeat(attache_auth::MAX_BODY + 1);
            Some(Answer::text("application/json", body))
        },
        "longer than",
    )
    .await;
}

/// A token that the server does not accept does not lead round in circles.
#[tokio::test]
async fn a_fresh_token_that_is_refused_ends_it() {
    let world = World::with(Knobs {
        token: Some(|_| {
            let answer =
                json!({"access_token": "worthless", "token_type": "Bearer", "refresh_token": "r"});
            Some(Answer::json(&answer))
        }),
        ..Knobs::default()
    })
    .await;
    let error = refused(&world.oauth(), &world.server()).await;
    assert!(
        matches!(error, AuthorizationError::StillRefused { .. }),
        "{error}"
    );
    assert_eq!(world.issuer.requests_at("/authorize").len(), 1);
}

/// C-AUTH-32: a step up asks for the union, once; what is refused after that is not asked for again.
#[tokio::test]
async fn more_scopes_are_asked_for_once() {
    fn needs_write(_: &HttpRequest, scopes: &[String]) -> Option<Answer> {
        let challenge = "Bearer error=\"insufficient_scope\", scope=\"write\"";
        let enough = scopes.iter().any(|scope| scope == "write");
        (!enough).then(|| Answer::status(403).header("WWW-Authenticate", challenge))
    }
    let world = World::with(Knobs {
        admit: Some(needs_write),
        ..Knobs::default()
    })
    .await;
    admitted(&world.oauth(), &world.server()).await;
    let scopes: Vec<String> = world
        .issuer
        .requests_at("/authorize")
        .iter()
        .map(|asked| asked.query_fields()["scope"].clone())
        .collect();
    assert_eq!(scopes, ["basic", "basic write"]);

    let world = World::with(Knobs {
        admit: Some(never_enough),
        ..Knobs::default()
    })
    .await;
    let oauth = world.oauth();
    for _ in 0..2 {
        let error = refused(&oauth, &world.server()).await;
        assert!(
            matches!(error, AuthorizationError::InsufficientScope { .. }),
            "{error}"
        );
        assert_eq!(world.issuer.requests_at("/authorize").len(), 2);
    }
}

/// However inventive the server, one request asks for a bounded number of logins.
#[tokio::test]
async fn repetitions_have_a_limit() {
    fn inventive(asked: &HttpRequest, _: &[String]) -> Option<Answer> {
        let token = asked
            .header("authorization")
            .unwrap()
            .replace("Bearer ", "");
        let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"more-{token}\"");
        Some(Answer::status(403).header("WWW-Authenticate", &challenge))
    }
    let world = World::with(Knobs {
        admit: Some(inventive),
        ..Knobs::default()
    })
    .await;
    let error = refused(&world.oauth(), &world.server()).await;
    assert_eq!(error, AuthorizationError::StillRefused { repetitions: 3 });
    assert_eq!(world.issuer.requests_at("/authorize").len(), 3);
}

#[tokio::test]
async fn a_refusal_that_is_not_about_tokens_stays_what_it_is() {
    let world = World::with(Knobs {
        challenge: Some("Basic realm=\"x\"".to_owned()),
        ..Knobs::default()
    })
    .await;
    let answer = request(&world.oauth(), &world.server()).await.unwrap();
    assert_eq!(answer.status, 401);
    assert!(world.issuer.requests().is_empty());
}

#[tokio::test]
async fn errors_name_the_step() {
    let error = AuthorizationError::Refused {
        step: Step::Refresh,
        error: "invalid_grant".to_owned(),
        description: None,
    };
    assert_eq!(
        error.to_string(),
        "renewing the token was refused: invalid_grant"
    );
}
