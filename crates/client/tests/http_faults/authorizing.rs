//! The seam to authorization: credentials on every request, refusals handed over, repeats bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use attache_auth::{AuthorizationError, Authorizer, BoxFuture, Challenge, RequestLine, Verdict};
use attache_client::{ConnectError, Error, HttpError};
use attache_testkit::http::{Answer, On};
use http::{HeaderName, HeaderValue};

use crate::{balanced, connected, echo, fails_at_once, legacy, server};

/// Shows a number; a challenge makes it the next one.
#[derive(Default)]
struct Numbers {
    current: AtomicU32,
    challenges: AtomicU32,
    unrelated: bool,
}

impl Authorizer for Numbers {
    fn headers<'a>(
        &'a self,
        _request: RequestLine<'a>,
    ) -> BoxFuture<'a, Result<Vec<(HeaderName, HeaderValue)>, AuthorizationError>> {
        let current = self.current.load(Ordering::SeqCst);
        let value = HeaderValue::from_str(&format!("Bearer {current}")).unwrap();
        Box::pin(async { Ok(vec![(http::header::AUTHORIZATION, value)]) })
    }

    fn challenged<'a>(
        &'a self,
        challenge: Challenge<'a>,
    ) -> BoxFuture<'a, Result<Verdict, AuthorizationError>> {
        let seen = self.challenges.fetch_add(1, Ordering::SeqCst);
        assert!(challenge.attempt <= seen);
        self.current.fetch_add(1, Ordering::SeqCst);
        let verdict = if self.unrelated {
            Verdict::Unrelated
        } else {
            Verdict::Retry
        };
        Box::pin(async move { Ok(verdict) })
    }
}

fn refused() -> Answer {
    Answer::status(401).header("WWW-Authenticate", "Bearer realm=\"x\"")
}

#[tokio::test]
async fn without_credentials_a_refusal_names_the_remedy() {
    let web = legacy().on(On::any(), refused()).start().await.unwrap();
    let error = server(web.url()).connect().await.unwrap_err();
    let expected = matches!(
        &error,
        Error::Connect(ConnectError::Http(HttpError::Authorization(
            AuthorizationError::Required { .. }
        )))
    );
    assert!(expected, "{error}");
    assert!(error.to_string().contains("configure a login"), "{error}");
    assert_eq!(
        web.connections(),
        1,
        "the era is still open; nothing else is tried"
    );
}

#[tokio::test]
async fn a_refused_request_is_repeated_with_better_credentials() {
    let script = legacy().on(
        On::tool("echo").with_header("authorization", "Bearer 0"),
        refused(),
    );
    let web = script.start().await.unwrap();
    let numbers = Arc::new(Numbers::default());
    let client = server(web.url())
        .authorizer(numbers.clone())
        .connect()
        .await
        .unwrap();
    echo(&client).await.unwrap();
    let calls = web.requests_of("tools/call");
    let shown: Vec<_> = calls.iter().map(|it| it.header("authorization")).collect();
    assert_eq!(shown, [Some("Bearer 0"), Some("Bearer 1")]);
    assert_eq!(
        calls[0].message()["id"],
        calls[1].message()["id"],
        "it is the same request"
    );
    client.close().await;
    let goodbye = &web.requests_by("DELETE")[0];
    assert_eq!(
        goodbye.header("authorization"),
        Some("Bearer 1"),
        "C-AUTH-03"
    );
    assert!(balanced(&client));
}

#[tokio::test]
async fn a_server_that_is_never_satisfied_is_given_up() {
    let web = legacy()
        .on(On::tool("echo"), refused())
        .start()
        .await
        .unwrap();
    let numbers = Arc::new(Numbers::default());
    let client = server(web.url())
        .authorizer(numbers.clone())
        .connect()
        .await
        .unwrap();
    let error = fails_at_once(echo(&client)).await;
    let expected = matches!(
        &error,
        Error::Http {
            problem: HttpError::Authorization(_),
            ..
        }
    );
    assert!(expected, "{error}");
    assert_eq!(numbers.challenges.load(Ordering::SeqCst), 5);
    assert_eq!(web.count_of("tools/call"), 6);
    assert!(balanced(&client));
}

#[tokio::test]
async fn a_refusal_that_is_not_about_credentials_is_reported_as_it_is() {
    for with_authorizer in [true, false] {
        let answer = Answer::text("text/plain", "not you").with_status(403);
        let web = legacy().on(On::tool("echo"), answer).start().await.unwrap();
        let mut server = server(web.url());
        if with_authorizer {
            let numbers = Numbers {
                unrelated: true,
                ..Numbers::default()
            };
            server = server.authorizer(Arc::new(numbers));
        }
        let client = server.connect().await.unwrap();
        let error = fails_at_once(echo(&client)).await;
        let text = "not you".to_owned();
        let Error::Http { problem, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(*problem, HttpError::Status { status: 403, text });
    }
}

#[tokio::test]
async fn a_refusal_by_a_good_server_costs_one_call_only() {
    let (_web, client) = connected(legacy().on(On::tool("echo").nth(1), refused())).await;
    fails_at_once(echo(&client)).await;
    echo(&client).await.unwrap();
    assert!(balanced(&client));
}
