//! The guard of OAuth requests over real sockets (S6, S8): what a server names is not fetched just
//! because it names it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use attache_auth::{
    Authorizer, Fetch, FetchRequest, HttpFetch, MAX_BODY, MAX_REDIRECTS, Reach, RequestLine,
};
use attache_testkit::http::Answer;
use http::Method;
use url::Url;

use crate::web;
use crate::world::{World, admitted};

async fn fetched(fetch: &HttpFetch, url: &Url) -> String {
    match fetch.fetch(FetchRequest::get(url.clone())).await {
        Ok(answer) => format!("status {}", answer.status.as_u16()),
        Err(error) => error.to_string(),
    }
}

/// A server out in the world may not point to this machine, by address, by name or by redirect.
/// C-SEC-07.
/// S6.
#[tokio::test]
async fn a_public_server_cannot_reach_this_machine() {
    let web = web::serve(|_| Answer::status(200)).await;
    let public = HttpFetch::new(&Url::parse("https://mcp.example/mcp").unwrap());
    let port = web::at(&web, "/").port().unwrap();
    for address in [
        format!("http://127.0.0.1:{port}/"),
        format!("http://localhost:{port}/"),
        format!("https://127.0.0.1:{port}/"),
        format!("https://[::1]:{port}/"),
    ] {
        let problem = fetched(&public, &Url::parse(&address).unwrap()).await;
        assert!(
            problem.contains("on this machine, but the server is not"),
            "{problem}"
        );
    }
    assert!(web.requests().is_empty());
}

/// Each redirect is checked like the first address.
/// C-SEC-07.
/// S6.
#[tokio::test]
async fn redirects_are_checked_one_by_one() {
    let cases = [
        ("http://169.254.169.254/latest", "must begin with https"),
        ("https://169.254.169.254/latest", "reserved"),
        ("https://10.0.0.1/", "private network"),
        ("file:///etc/passwd", "must begin with https"),
        ("http://user:pass@127.0.0.1/", "user name or password"),
        ("http://[", "redirects to no address"),
    ];
    for (target, expected) in cases {
        let web = web::serve(move |_| Answer::status(302).header("Location", target)).await;
        let problem = fetched(&HttpFetch::new(&web::at(&web, "/")), &web::at(&web, "/")).await;
        assert!(problem.contains(expected), "{target}: {problem}");
        assert_eq!(web.requests().len(), 1);
    }
}

#[tokio::test]
async fn redirects_have_a_limit() {
    let left = Arc::new(AtomicUsize::new(MAX_REDIRECTS));
    let counter = Arc::clone(&left);
    let web = web::serve(move |_| {
        let more = counter
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            })
            .is_ok();
        match more {
            true => Answer::status(307).header("Location", "/again"),
            false => Answer::status(204),
        }
    })
    .await;
    let fetch = HttpFetch::new(&web::at(&web, "/"));
    assert_eq!(fetched(&fetch, &web::at(&web, "/")).await, "status 204");
    left.store(MAX_REDIRECTS + 1, Ordering::SeqCst);
    assert!(
        fetched(&fetch, &web::at(&web, "/"))
            .await
            .contains("too many redirects")
    );
}

#[tokio::test]
async fn bodies_and_time_have_limits() {
    let web = web::serve(|asked| match asked.path.as_str() {
        "/fits" => Answer::text("text/plain", "x".repeat(MAX_BODY)),
        "/long" => Answer::text("text/plain", "x".repeat(MAX_BODY + 1)),
        _ => Answer::silence(),
    })
    .await;
    let fetch = HttpFetch::new(&web::at(&web, "/")).timeout(Duration::from_millis(500));
    assert_eq!(fetched(&fetch, &web::at(&web, "/fits")).await, "status 200");
    assert!(
        fetched(&fetch, &web::at(&web, "/long"))
            .await
            .contains("longer than")
    );
    assert!(
        fetched(&fetch, &web::at(&web, "/silent"))
            .await
            .contains("no answer within")
    );
}

/// C-AUTH-23, S8: a token goes to the origin it was issued for.
#[tokio::test]
async fn a_token_goes_nowhere_else() {
    let world = World::new().await;
    let oauth = world.oauth();
    admitted(&oauth, &world.server()).await;
    let elsewhere = [
        web::at(&world.issuer, "/mcp"),
        Url::parse("https://evil.example/mcp").unwrap(),
    ];
    for url in elsewhere {
        let line = RequestLine {
            method: &Method::POST,
            url: &url,
        };
        assert!(oauth.headers(line).await.unwrap().is_empty(), "{url}");
    }
}

#[test]
fn the_private_network_is_opened_on_request() {
    let url = Url::parse("https://10.1.2.3/").unwrap();
    assert!(Reach::Public.check(&url).is_err());
    assert!(Reach::Private.check(&url).is_ok());
}
