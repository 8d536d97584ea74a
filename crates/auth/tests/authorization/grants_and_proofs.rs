//! Grants that need no person, and proofs of possession.

use std::sync::Arc;

use attache_auth::{
    AuthorizationError, ClientIdentity, ClientProof, EnterpriseManaged, Grant, MemoryStore, OAuth,
    Preregistered, Secret, SigningKey, TokenFile, WorkloadIdentity,
};
use attache_testkit::http::{Answer, HttpRequest};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::{Value, json};

use crate::web::{self, Fields as _};
use crate::world::{Knobs, World, admitted, fetch, never_enough, refused};

fn oauth(world: &World, proof: ClientProof, grant: Grant) -> OAuth {
    let server = world.server();
    let identity = ClientIdentity {
        preregistered: Some(Preregistered {
            issuer: None,
            client_id: "machine".to_owned(),
            proof,
        }),
        ..ClientIdentity::new("Test client")
    };
    let store = Arc::new(MemoryStore::new());
    OAuth::new(server.clone(), identity, Arc::new(fetch(&server)), store).grant(grant)
}

fn claims(token: &str) -> Value {
    let part = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

fn pem() -> Secret {
    let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let key = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new()).unwrap();
    let body = STANDARD.encode(key.as_ref());
    Secret::new(format!(
        "-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"
    ))
}

#[tokio::test]
async fn a_client_speaks_for_itself_with_a_secret() {
    let world = World::with(Knobs {
        metadata: Some(json!({"token_endpoint_auth_methods_supported": ["client_secret_post"]})),
        ..Knobs::default()
    })
    .await;
    let proof = ClientProof::Secret(Secret::new("hush"));
    admitted(
        &oauth(&world, proof, Grant::ClientCredentials),
        &world.server(),
    )
    .await;
    let form = world.issuer.requests_at("/token")[0].form_fields();
    assert_eq!(form["grant_type"], "client_credentials");
    assert_eq!(form["client_secret"], "hush");
    assert_eq!(form["scope"], "basic");
    assert_eq!(form["resource"], world.server().as_str());
    assert!(world.issuer.requests_at("/authorize").is_empty());
}

#[tokio::test]
async fn a_client_speaks_for_itself_with_a_key() {
    let world = World::new().await;
    let key = SigningKey::from_pem(&pem()).unwrap();
    let proof = ClientProof::Key(Arc::new(key));
    admitted(
        &oauth(&world, proof, Grant::ClientCredentials),
        &world.server(),
    )
    .await;
    let form = world.issuer.requests_at("/token")[0].form_fields();
    assert_eq!(
        form["client_assertion_type"],
        "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    );
    let claims = claims(&form["client_assertion"]);
    assert_eq!(claims["iss"], "machine");
    assert_eq!(claims["sub"], "machine");
    assert_eq!(claims["aud"], world.issuer.origin());
    assert!(claims["exp"].as_u64() > claims["iat"].as_u64());
}

/// An access token of a machine is obtained anew when it ends; there is nobody to ask for more.
#[tokio::test]
async fn a_machine_is_not_stepped_up() {
    let world = World::with(Knobs {
        admit: Some(never_enough),
        ..Knobs::default()
    })
    .await;
    let oauth = oauth(&world, ClientProof::None, Grant::ClientCredentials);
    let error = refused(&oauth, &world.server()).await;
    let scopes = vec!["write".to_owned()];
    assert_eq!(error, AuthorizationError::InsufficientScope { scopes });
    assert_eq!(world.grants(), ["client_credentials"]);
}

#[tokio::test]
async fn a_platform_vouches_for_a_workload() {
    let world = World::new().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    std::fs::write(&path, "the.workload.token\n").unwrap();
    let assertion = Arc::new(TokenFile(path));
    let grant = Grant::WorkloadIdentity(WorkloadIdentity { assertion });
    admitted(&oauth(&world, ClientProof::None, grant), &world.server()).await;
    let form = world.issuer.requests_at("/token")[0].form_fields();
    assert_eq!(
        form["grant_type"],
        "urn:ietf:params:oauth:grant-type:jwt-bearer"
    );
    assert_eq!(form["assertion"], "the.workload.token");
    assert_eq!(form["client_id"], "machine");

    let missing = Arc::new(TokenFile(folder.path().join("missing")));
    let grant = Grant::WorkloadIdentity(WorkloadIdentity { assertion: missing });
    let error = refused(&oauth(&world, ClientProof::None, grant), &world.server()).await;
    assert!(error.to_string().contains("missing"), "{error}");
}

/// A refused assertion is neither sent again nor replaced by another grant.
#[tokio::test]
async fn a_refused_assertion_ends_it() {
    let world = World::with(Knobs {
        token: Some(|_| {
            Some(Answer::json(&json!({"error": "unauthorized_client"})).with_status(400))
        }),
        ..Knobs::default()
    })
    .await;
    let assertion = Arc::new(Secret::new("a.b.c"));
    let grant = Grant::WorkloadIdentity(WorkloadIdentity { assertion });
    let error = refused(&oauth(&world, ClientProof::None, grant), &world.server()).await;
    assert!(error.to_string().contains("unauthorized_client"), "{error}");
    assert_eq!(world.grants().len(), 1);
}

#[tokio::test]
async fn an_organisation_vouches_for_a_person() {
    let provider = web::serve(|asked| {
        let form = asked.form_fields();
        match form["subject_token"].as_str() {
            "identity" => Answer::json(&json!({"access_token": "the-id-jag", "token_type": "N_A",
                    "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag"})),
            "odd" => Answer::json(&json!({"access_token": "x", "token_type": "Bearer",
                    "issued_token_type": "urn:ietf:params:oauth:token-type:access_token"})),
            _ => Answer::json(&json!({"error": "invalid_grant"})).with_status(400),
        }
    })
    .await;
    let world = World::new().await;
    let enterprise = |identity: &str| {
        let grant = Grant::EnterpriseManaged(EnterpriseManaged {
            token_endpoint: web::at(&provider, "/token"),
            client_id: "at-the-provider".to_owned(),
            proof: ClientProof::None,
            identity_token: Arc::new(Secret::new(identity)),
        });
        oauth(&world, ClientProof::None, grant)
    };
    admitted(&enterprise("identity"), &world.server()).await;
    let exchange = provider.requests_at("/token")[0].form_fields();
    assert_eq!(exchange["audience"], world.issuer.origin());
    assert_eq!(exchange["resource"], world.server().as_str());
    assert_eq!(exchange["client_id"], "at-the-provider");
    let form = world.issuer.requests_at("/token")[0].form_fields();
    assert_eq!(form["assertion"], "the-id-jag");
    assert_eq!(form["client_id"], "machine");

    for (identity, expected) in [("odd", "id-jag"), ("expired", "invalid_grant")] {
        let error = refused(&enterprise(identity), &world.server())
            .await
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(world.grants().len(), 1);
}

/// RFC 9449: a bound token, a fresh proof for each request, and the nonces of both servers.
#[tokio::test]
async fn proofs_carry_the_nonces_of_their_servers() {
    fn nonce_of(asked: &HttpRequest) -> Value {
        claims(asked.header("dpop").unwrap())["nonce"].clone()
    }
    let world = World::with(Knobs {
        challenge: Some("DPoP algs=\"ES256\"".to_owned()),
        metadata: Some(json!({"dpop_signing_alg_values_supported": ["ES256"]})),
        token: Some(|asked| {
            let challenge = Answer::json(&json!({"error": "use_dpop_nonce"})).with_status(400);
            let challenge = challenge.header("DPoP-Nonce", "of-the-issuer");
            (nonce_of(asked) != "of-the-issuer").then_some(challenge)
        }),
        admit: Some(|asked, _| {
            let challenge = Answer::status(401)
                .header("WWW-Authenticate", "DPoP error=\"use_dpop_nonce\"")
                .header("DPoP-Nonce", "of-the-resource");
            (nonce_of(asked) != "of-the-resource").then_some(challenge)
        }),
        ..Knobs::default()
    })
    .await;
    let oauth = world.oauth();
    admitted(&oauth, &world.server()).await;
    admitted(&oauth, &world.server()).await;
    // The token is bound, so its renewal is proven with the same key.
    world.expire_tokens();
    admitted(&oauth, &world.server()).await;

    let mut seen = Vec::new();
    let mut asked = world.issuer.requests_at("/token");
    asked.extend(world.resource.requests_at("/mcp"));
    asked.retain(|asked| asked.header("dpop").is_some());
    for asked in &asked {
        let claims = claims(asked.header("dpop").unwrap());
        assert_eq!(claims["htm"], asked.verb.as_str());
        assert!(!seen.contains(&claims["jti"]));
        seen.push(claims["jti"].clone());
        if asked.path == "/mcp" {
            assert!(asked.header("authorization").unwrap().starts_with("DPoP "));
            assert!(claims["ath"].is_string());
        }
    }
    let keys: std::collections::HashSet<String> = asked
        .iter()
        .map(|asked| {
            let header = asked.header("dpop").unwrap().split('.').next().unwrap();
            let header: Value =
                serde_json::from_slice(&URL_SAFE_NO_PAD.decode(header).unwrap()).unwrap();
            header["jwk"].to_string()
        })
        .collect();
    assert_eq!(keys.len(), 1);
    assert_eq!(
        world.grants(),
        ["authorization_code", "authorization_code", "refresh_token"]
    );
}

/// A server that wants a nonce but names none new is not asked for ever.
#[tokio::test]
async fn a_nonce_that_never_satisfies_ends_it() {
    let world = World::with(Knobs {
        challenge: Some("DPoP".to_owned()),
        admit: Some(|_, _| {
            let reply = Answer::status(401)
                .header("WWW-Authenticate", "DPoP error=\"use_dpop_nonce\"")
                .header("DPoP-Nonce", "always-the-same");
            Some(reply)
        }),
        ..Knobs::default()
    })
    .await;
    let error = refused(&world.oauth(), &world.server()).await;
    assert!(
        matches!(error, AuthorizationError::StillRefused { .. }),
        "{error}"
    );
    assert!(world.resource.requests_at("/mcp").len() <= 4);
}
