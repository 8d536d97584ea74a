//! Who and what is refused (S1, S24, S27), over real sockets.

use std::time::Duration;

use attache_testkit::chaos::Script;
use attache_testkit::guard::{guarded, within};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::support::{Answer, Options, Rig, answer, request};

/// Headers that are otherwise than usual, or left out.
type Headers<'a> = &'a [(&'a str, Option<&'a str>)];

/// A request like the page's own, with some headers otherwise.
async fn ask(rig: &Rig, method: &str, path: &str, other: &[(&str, Option<&str>)]) -> Answer {
    let mut headers = rig.usual();
    headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
    for (name, value) in other {
        headers.retain(|(known, _)| known != name);
        headers.extend(value.map(|value| ((*name).to_owned(), value.to_owned())));
    }
    let body = (method != "GET").then_some("{}");
    request(rig.address(), method, path, &headers, body).await
}

#[test]
fn s1_s27_the_table_of_refusals() {
    guarded(async || {
        let rig = Rig::new(&[]).await;
        let port = rig.address().port();
        let own = format!("http://127.0.0.1:{port}");
        let other_port = format!("http://127.0.0.1:{}", if port == 9 { 10 } else { 9 });
        let evil = format!("evil.example:{port}");
        let table: &[(&str, Headers<'_>, u16)] = &[
            (
                "as the page does",
                &[
                    ("Origin", Some(&own)),
                    ("Sec-Fetch-Site", Some("same-origin")),
                ],
                200,
            ),
            ("as curl does", &[], 200),
            (
                "typed into the address bar",
                &[("Sec-Fetch-Site", Some("none"))],
                200,
            ),
            ("a rebound name", &[("Host", Some(&evil))], 403),
            (
                "another port in Host",
                &[("Host", Some("127.0.0.1:9"))],
                403,
            ),
            ("no port in Host", &[("Host", Some("127.0.0.1"))], 403),
            ("an empty Host", &[("Host", Some(""))], 403),
            ("a sandboxed page", &[("Origin", Some("null"))], 403),
            (
                "a page of another site",
                &[("Origin", Some("https://evil.example"))],
                403,
            ),
            (
                "a page of another local port",
                &[("Origin", Some(&other_port))],
                403,
            ),
            (
                "the same name over https",
                &[("Origin", Some(&own.replace("http:", "https:")))],
                403,
            ),
            ("same-site", &[("Sec-Fetch-Site", Some("same-site"))], 403),
            ("cross-site", &[("Sec-Fetch-Site", Some("cross-site"))], 403),
            ("no token", &[("Authorization", None)], 401),
            (
                "another scheme",
                &[("Authorization", Some("Basic YTpi"))],
                401,
            ),
            (
                "a wrong token",
                &[("Authorization", Some("Bearer 0123"))],
                401,
            ),
            (
                "a token as a cookie",
                &[
                    ("Authorization", None),
                    ("Cookie", Some(&format!("token={}", rig.token))),
                ],
                401,
            ),
        ];
        for (case, headers, status) in table {
            let answer = ask(&rig, "GET", "/api/v1/snapshot", headers).await;
            assert_eq!(answer.status, *status, "{case}: {answer:?}");
            if *status != 200 {
                assert_eq!(answer.failure().1, "console", "{case}");
            }
        }
        let in_query = format!("/api/v1/snapshot?token={}", rig.token);
        assert_eq!(
            ask(&rig, "GET", &in_query, &[("Authorization", None)])
                .await
                .status,
            401
        );
        for (kind, status) in [
            (Some("text/plain"), 415),
            (Some("application/x-www-form-urlencoded"), 415),
            (Some("multipart/form-data; boundary=x"), 415),
            (None, 415),
            (Some("application/json; charset=utf-8"), 400),
        ] {
            let answer = ask(
                &rig,
                "POST",
                "/api/v1/use_mcp_tool",
                &[("Content-Type", kind)],
            )
            .await;
            assert_eq!(answer.status, status, "{kind:?}: {answer:?}");
        }
        let preflight = [
            ("Origin", Some("https://evil.example")),
            ("Access-Control-Request-Method", Some("POST")),
            ("Authorization", None),
        ];
        let answer = ask(&rig, "OPTIONS", "/api/v1/use_mcp_tool", &preflight).await;
        assert_eq!(answer.status, 403);
        assert_eq!(answer.header("access-control-allow-origin"), None);
        rig.close().await;
    });
}

#[test]
fn s1_everything_carries_the_headers_and_nothing_sets_a_cookie() {
    guarded(async || {
        let rig = Rig::new(&[]).await;
        let page = ask(&rig, "GET", "/", &[("Authorization", None)]).await;
        assert_eq!(page.status, 200);
        assert!(!page.body.contains(&rig.token));
        let script = page
            .body
            .split('"')
            .find(|it| it.ends_with(".js"))
            .unwrap()
            .to_owned();
        let answers = [
            page,
            ask(&rig, "GET", &script, &[("Authorization", None)]).await,
            ask(&rig, "GET", "/api/v1/snapshot", &[]).await,
            ask(
                &rig,
                "GET",
                "/api/v1/snapshot",
                &[("Host", Some("evil.example"))],
            )
            .await,
            ask(&rig, "GET", "/nothing/here", &[]).await,
            ask(&rig, "PATCH", "/api/v1/snapshot", &[]).await,
        ];
        let statuses: Vec<u16> = answers.iter().map(|it| it.status).collect();
        assert_eq!(statuses, [200, 200, 200, 403, 404, 405]);
        for answer in &answers {
            let header = |name: &str| answer.header(name).unwrap_or_default();
            assert_eq!(
                header("content-security-policy"),
                "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                 img-src 'self' blob: data:; media-src blob: data:; base-uri 'none'; \
                 form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
            );
            assert_eq!(header("x-content-type-options"), "nosniff");
            assert_eq!(header("referrer-policy"), "no-referrer");
            assert_eq!(header("cross-origin-opener-policy"), "same-origin");
            assert_eq!(header("cross-origin-resource-policy"), "same-origin");
            assert_eq!(answer.header("set-cookie"), None);
            assert_eq!(answer.header("access-control-allow-origin"), None);
        }
        let cached: Vec<_> = answers
            .iter()
            .map(|it| it.header("cache-control").unwrap())
            .collect();
        let for_ever = "public, max-age=31536000, immutable";
        assert_eq!(cached[..4], ["no-cache", for_ever, "no-store", "no-store"]);
        rig.close().await;
    });
}

#[test]
fn s1_many_wrong_tokens_are_slowed_down_and_lock_nobody_out() {
    guarded(async || {
        let rig = Rig::new(&[]).await;
        let wrong = [(
            "Authorization",
            Some("Bearer 00000000000000000000000000000000"),
        )];
        // All at once, so that they fall into one second on any machine.
        let burst = (0..24).map(|_| ask(&rig, "GET", "/api/v1/calls", &wrong));
        let mut statuses = Vec::new();
        for answer in join_all(burst).await {
            statuses.push(answer.status);
        }
        assert!(statuses.contains(&429), "{statuses:?}");
        assert!(
            statuses.iter().all(|it| matches!(it, 401 | 429)),
            "{statuses:?}"
        );
        assert_eq!(rig.get("/calls").await.status, 200);
        rig.close().await;
    });
}

async fn join_all<T>(work: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut pending: Vec<_> = work.map(|it| (Box::pin(it), None)).collect();
    std::future::poll_fn(move |context| {
        let mut is_done = true;
        for (work, done) in &mut pending {
            if done.is_none() {
                match work.as_mut().poll(context) {
                    std::task::Poll::Ready(value) => *done = Some(value),
                    std::task::Poll::Pending => is_done = false,
                }
            }
        }
        match is_done {
            true => std::task::Poll::Ready(pending.drain(..).filter_map(|it| it.1).collect()),
            false => std::task::Poll::Pending,
        }
    })
    .await
}

#[test]
fn both_families_of_loopback_have_one_port() {
    guarded(async || {
        let rig = Rig::new(&[]).await;
        let ports: Vec<u16> = rig.addresses.iter().map(|it| it.port()).collect();
        assert!(
            ports.iter().all(|port| *port == ports[0]),
            "{:?}",
            rig.addresses
        );
        for address in rig.addresses.clone() {
            for host in [address.to_string(), format!("localhost:{}", address.port())] {
                let mut headers = rig.usual();
                headers[0].1 = host;
                let answer = request(address, "GET", "/api/v1/calls", &headers, None).await;
                assert_eq!(answer.status, 200, "{address}");
            }
        }
        rig.close().await;
    });
}

/// A rig that loses patience soon, and a connection to it with the head of a POST.
async fn half(body_length: &str) -> (Rig, TcpStream) {
    let options = Options {
        patience: Some(Duration::from_millis(300)),
        ..Options::default()
    };
    let rig = Rig::with(&[("chaos", Script::legacy("2025-06-18"))], options).await;
    let mut stream = TcpStream::connect(rig.address()).await.unwrap();
    let mut head = "POST /api/v1/form HTTP/1.1\r\nConnection: close\r\n".to_owned();
    for (name, value) in rig.usual() {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!(
        "Content-Type: application/json\r\nContent-Length: {body_length}\r\n\r\n"
    ));
    stream.write_all(head.as_bytes()).await.unwrap();
    (rig, stream)
}

#[test]
fn s24_a_huge_body_is_refused_before_it_is_read() {
    guarded(async || {
        let (rig, mut stream) = half(&(16 * 1024 * 1024 + 1).to_string()).await;
        let refused = within("the refusal", answer(&mut stream)).await;
        assert_eq!(
            (refused.status, refused.failure().0),
            (413, "too_large".to_owned())
        );
        rig.close().await;
    });
}

#[test]
fn s24_a_slow_body_is_given_up() {
    guarded(async || {
        let (rig, mut stream) = half("1000").await;
        stream.write_all(b"{\"of\":").await.unwrap();
        let refused = within("the refusal", answer(&mut stream)).await;
        assert_eq!(
            (refused.status, refused.failure().0),
            (408, "too_slow".to_owned())
        );
        assert_eq!(rig.get("/calls").await.status, 200);
        rig.close().await;
    });
}

#[test]
fn s24_a_half_open_request_is_cut() {
    guarded(async || {
        let (rig, _) = half("0").await;
        let mut stream = TcpStream::connect(rig.address()).await.unwrap();
        stream
            .write_all(b"GET /api/v1/calls HTTP/1.1\r\nHost: 127")
            .await
            .unwrap();
        let cut = within("the cut", answer(&mut stream)).await;
        assert!(matches!(cut.status, 0 | 408), "{cut:?}");
        assert_eq!(rig.get("/calls").await.status, 200);
        rig.close().await;
    });
}

#[test]
fn s23_bodies_that_cannot_be_meant_are_refused_by_name() {
    guarded(async || {
        let rig = Rig::new(&[("chaos", Script::legacy("2025-06-18"))]).await;
        let (open, close) = (r#"{"a":"#.repeat(200), "}".repeat(200));
        let deep =
            format!(r#"{{"server_name":"chaos","tool_name":"echo","arguments":{open}1{close}}}"#);
        for (body, kind, word) in [
            (
                r#"{"server_name":"chaos","tool":"echo"}"#,
                "unknown_field",
                "`tool`",
            ),
            (r#"{"server_name":"chaos"}"#, "bad_request", "tool_name"),
            (
                r#"{"server_name":"chaos","tool_name":"echo","arguments":[1]}"#,
                "bad_request",
                "object",
            ),
            (
                r#"{"server_name":"chaos","tool_name":"echo""#,
                "bad_request",
                "EOF",
            ),
            (deep.as_str(), "bad_request", "deep"),
            ("[]", "bad_request", ""),
        ] {
            let answer = rig.post("/use_mcp_tool", body).await;
            assert_eq!(
                (answer.status, answer.failure().0.as_str()),
                (400, kind),
                "{answer:?}"
            );
            assert!(answer.body.contains(word), "{answer:?}");
        }
        let slip = rig.get("/tools?servers=chaos").await;
        assert_eq!(
            (slip.status, slip.failure().0),
            (400, "unknown_field".to_owned())
        );
        rig.close().await;
    });
}
