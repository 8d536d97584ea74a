//! Finding out what is at an address (eras.md, section 2.2).

use std::time::{Duration, Instant};

use attache_client::protocol::Revision;
use attache_client::{CloseReason, ConnectError, EraChoice, Error, HttpError, HttpFlavor, Server};
use attache_testkit::http::{Answer, HttpScript, On};
use serde_json::json;

use crate::{AT_ONCE, connected, echo, legacy, server};

fn error(code: i64) -> Answer {
    error_to(serde_json::Value::Null, code)
}

fn error_to(id: impl Into<serde_json::Value>, code: i64) -> Answer {
    let error = json!({"code": code, "message": "no"});
    Answer::json(&json!({"jsonrpc": "2.0", "id": id.into(), "error": error}))
}

#[tokio::test]
async fn whatever_a_legacy_server_says_to_the_probe_leads_to_initialize() {
    for answer in [
        error(-32601),
        error(-32601).with_status(404),
        error(-32000).with_status(400),
        error(-32600).with_status(400),
        error(-32602).with_status(400),
        error(-32001).with_status(404),
        error(-32000).with_status(406),
        // Version 1 of the Python SDK refuses under an id of its own.
        error_to("server-error", -32600).with_status(400),
        error_to("server-error", -32600).with_status(406),
        error_to("server-error", -32600),
        error_to(0, -32600).with_status(400),
        Answer::json(&json!({"jsonrpc": "2.0", "id": "other", "result": {}})).with_status(400),
        Answer::status(400),
        Answer::status(405),
        Answer::text("text/plain", "Bad Request").with_status(400),
        Answer::text("text/html", "<p>hello").with_status(200),
        Answer::status(202),
    ] {
        let described = format!("{answer:?}");
        let answer = answer.header("Mcp-Session-Id", "of-the-probe");
        let (web, client) = connected(legacy().on(On::rpc("server/discover"), answer)).await;
        assert_eq!(client.revision(), Revision::V2025_11_25, "{described}");
        let initialize = &web.requests_of("initialize")[0];
        for absent in ["mcp-session-id", "mcp-method", "mcp-protocol-version"] {
            assert_eq!(initialize.header(absent), None, "{described}");
        }
        let probe = &web.requests_of("server/discover")[0];
        assert_eq!(
            probe.header("mcp-method"),
            Some("server/discover"),
            "C-SHM-05"
        );
        assert_eq!(
            probe.header("mcp-protocol-version"),
            Some("2026-07-28"),
            "C-SHM-04"
        );
    }
}

#[tokio::test]
async fn a_modern_refusal_stays_modern() {
    let refusal = json!({"jsonrpc": "2.0", "id": "$id", "error": {
        "code": -32022, "message": "no", "data": {"supported": ["2026-07-28"]},
    }});
    let answer = Answer::json(&refusal).with_status(400);
    let script = HttpScript::modern().on(On::rpc("server/discover").nth(1), answer);
    let (web, client) = connected(script).await;
    assert_eq!(client.revision(), Revision::V2026_07_28, "C-SHM-31");
    assert_eq!(web.count_of("initialize"), 0);
}

// A refusal under an id of the server's own ends the call it came for, with what it says.
#[tokio::test]
async fn an_error_under_a_foreign_id_is_the_answer_of_its_own_post() {
    let refusal = error_to("server-error", -32600).with_status(400);
    let script = legacy().on(On::rpc("tools/call"), refusal);
    let (_web, client) = connected(script).await;
    match echo(&client).await {
        Err(Error::Server(error)) => assert_eq!((error.code, &*error.message), (-32600, "no")),
        other => panic!("{other:?}"),
    }
    assert!(client.ping().await.is_ok(), "the connection goes on");
}

#[tokio::test]
async fn a_server_that_is_legacy_is_remembered_as_such() {
    let web = legacy().start().await.unwrap();
    let known = server(web.url());
    known.connect().await.unwrap();
    known.connect().await.unwrap();
    assert_eq!(web.count_of("server/discover"), 1, "C-MOD-16");
    assert_eq!(web.count_of("initialize"), 2);
}

#[tokio::test]
async fn a_failing_server_is_asked_again_and_then_reported() {
    let failing = On::rpc("server/discover");
    let script = HttpScript::modern().on(failing.clone().nth(1), Answer::status(503));
    let (web, client) = connected(script).await;
    assert_eq!(
        client.revision(),
        Revision::V2026_07_28,
        "5xx says nothing about the era"
    );
    assert_eq!(web.count_of("server/discover"), 2);
    assert_eq!(web.count_of("initialize"), 0);

    let web = HttpScript::modern()
        .on(failing, Answer::status(503))
        .start()
        .await
        .unwrap();
    let error = server(web.url()).connect().await.unwrap_err();
    let expected = matches!(
        &error,
        Error::Connect(ConnectError::Http(HttpError::Status { status: 503, .. }))
    );
    assert!(expected, "{error}");
    assert_eq!(web.count_of("server/discover"), 3);
}

#[tokio::test]
async fn an_address_where_nothing_listens_is_told_at_once() {
    let gone = {
        let web = HttpScript::nothing().start().await.unwrap();
        web.url()
    };
    let begun = Instant::now();
    let error = server(&gone).connect().await.unwrap_err();
    let expected = matches!(
        &error,
        Error::Connect(ConnectError::Lost(CloseReason::Unreachable(_)))
    );
    assert!(expected, "{error}");
    assert!(begun.elapsed() < AT_ONCE);
}

#[tokio::test]
async fn an_address_without_mcp_is_reported_with_all_its_answers() {
    let web = HttpScript::nothing().start().await.unwrap();
    let error = server(web.url()).connect().await.unwrap_err();
    let Error::Connect(ConnectError::NoServer { answers }) = &error else {
        panic!("{error}");
    };
    let [probe, initialize, get] = answers.as_slice() else {
        panic!("{answers:?}");
    };
    assert!(
        probe.starts_with("POST server/discover: status 404"),
        "{probe}"
    );
    assert!(
        initialize.starts_with("POST initialize: status 404"),
        "{initialize}"
    );
    assert!(get.starts_with("GET: status 404"), "{get}");
}

/// What a server of HTTP+SSE says first.
fn older_stream() -> Answer {
    Answer::events()
        .raw("event: endpoint\ndata: /messages\n\n")
        .hold()
}

#[tokio::test]
async fn a_server_that_must_be_streamable_is_never_taken_for_an_older_one() {
    let web = HttpScript::nothing()
        .on(On::verb("GET"), older_stream())
        .start()
        .await
        .unwrap();
    let streamable = server(web.url()).http_flavor(HttpFlavor::Streamable);
    let error = streamable.connect().await.unwrap_err();
    let expected = matches!(
        &error,
        Error::Connect(ConnectError::Http(HttpError::Status { status: 404, .. }))
    );
    assert!(expected, "{error}");
    assert!(
        web.requests_by("GET").is_empty(),
        "C-SHM-32 is switched off"
    );
    assert_eq!(web.count_of("initialize"), 1);
}

// C-SSE-03.
#[tokio::test]
async fn a_server_that_must_be_older_is_never_probed() {
    let web = HttpScript::nothing()
        .on(On::verb("GET"), older_stream())
        .on(On::rpc("initialize"), Answer::status(202))
        .start()
        .await
        .unwrap();
    let older = server(web.url()).http_flavor(HttpFlavor::Sse);
    let connecting = tokio::spawn(async move { older.connect().await });
    web.wait_until(|web| web.count_of("initialize") == 1).await;
    connecting.abort();
    let requests = web.requests();
    let seen: Vec<_> = requests
        .iter()
        .map(|it| (it.verb.as_str(), it.path.as_str(), it.method()))
        .collect();
    assert_eq!(
        seen,
        [
            ("GET", "/mcp", String::new()),
            ("POST", "/messages", "initialize".to_owned())
        ]
    );
}

#[tokio::test]
async fn what_is_there_instead_of_an_older_server_is_told() {
    let failing = Answer::status(503);
    let to_log_in = Answer::status(401).header("WWW-Authenticate", "Bearer");
    let nowhere = Answer::events().raw("data: {}\n\n").hold();
    for (answer, asked, expected) in [
        (Answer::status(404), 1, "GET: status 404, no content type"),
        (failing, 3, "HTTP status 503"),
        (to_log_in, 1, "answered 401"),
        (nowhere, 1, "names no address"),
        (Answer::close(), 1, "no session"),
    ] {
        let web = HttpScript::nothing().on(On::any(), answer).start().await;
        let web = web.unwrap();
        let older = server(web.url()).http_flavor(HttpFlavor::Sse);
        let error = older.connect().await.unwrap_err();
        assert!(matches!(error, Error::Connect(_)), "{error:?}");
        assert!(error.to_string().contains(expected), "{error}");
        let verbs: Vec<_> = web.requests().into_iter().map(|it| it.verb).collect();
        assert_eq!(verbs, vec!["GET"; asked], "{expected}");
    }

    // The two wishes exclude each other, and nobody is asked.
    let web = HttpScript::modern().start().await.unwrap();
    let never = server(web.url()).http_flavor(HttpFlavor::Sse);
    let error = never.era(EraChoice::Modern).connect().await.unwrap_err();
    assert!(matches!(error, Error::Input(_)), "{error:?}");
    assert_eq!(web.connections(), 0);
}

#[tokio::test]
async fn fault_34_a_web_page_in_place_of_the_handshake_is_told_at_once() {
    let page = Answer::text("text/html", "<h1>Welcome</h1>");
    let web = HttpScript::nothing()
        .on(On::any(), page)
        .start()
        .await
        .unwrap();
    let begun = Instant::now();
    let error = server(web.url()).connect().await.unwrap_err();
    assert!(
        matches!(&error, Error::Connect(ConnectError::NoServer { .. })),
        "{error}"
    );
    assert!(begun.elapsed() < AT_ONCE);

    let modern = server(web.url())
        .era(EraChoice::Modern)
        .connect()
        .await
        .unwrap_err();
    assert!(
        matches!(
            modern,
            Error::Connect(ConnectError::NoCommonRevision { .. })
        ),
        "{modern}"
    );
}

#[tokio::test]
async fn fault_33_a_silent_server_ends_connecting_at_its_deadline() {
    let web = HttpScript::nothing()
        .on(On::any(), Answer::stalled())
        .start()
        .await
        .unwrap();
    let silent = Server::http(web.url()).start_timeout(Duration::from_millis(300));
    let error = silent.connect().await.unwrap_err();
    assert!(
        matches!(error, Error::Connect(ConnectError::TimedOut { .. })),
        "{error}"
    );
    web.wait_until(|web| web.abandoned() == web.connections())
        .await;
}

#[tokio::test]
async fn a_redirect_within_the_origin_is_followed_and_no_other() {
    let slash = Answer::status(307).header("Location", "/mcp/");
    let script = legacy().on(On::any().at("/mcp"), slash);
    let (web, client) = connected(script).await;
    echo(&client).await.unwrap();
    assert!(
        web.requests()
            .iter()
            .any(|it| it.path == "/mcp/" && it.method() == "tools/call")
    );

    let elsewhere = legacy().start().await.unwrap();
    let away = Answer::status(307).header("Location", &elsewhere.url());
    let web = HttpScript::nothing()
        .on(On::any(), away)
        .start()
        .await
        .unwrap();
    let error = server(web.url())
        .header("X-Key", "secret")
        .connect()
        .await
        .unwrap_err();
    let expected = matches!(
        &error,
        Error::Connect(ConnectError::Http(HttpError::Redirected {
            status: 307,
            ..
        }))
    );
    assert!(expected, "{error}");
    assert_eq!(
        elsewhere.connections(),
        0,
        "S8: no other origin sees a header"
    );
}

#[tokio::test]
async fn the_users_headers_go_with_every_request() {
    let web = legacy().start().await.unwrap();
    let client = server(web.url())
        .header("X-Key", "secret")
        .connect()
        .await
        .unwrap();
    echo(&client).await.unwrap();
    client.close().await;
    for request in web.requests() {
        assert_eq!(
            request.header("x-key"),
            Some("secret"),
            "{} {}",
            request.verb,
            request.method()
        );
    }
}

#[tokio::test]
async fn what_is_wrong_with_an_address_or_header_is_told_when_connecting() {
    for (wrong, part) in [
        (Server::http("ftp://example.org"), "ftp"),
        (Server::http("http://127.0.0.1/").header("a b", "c"), "a b"),
        (
            Server::http("https://127.0.0.1/").ca_file("/no/such/file"),
            "/no/such/file",
        ),
    ] {
        let error = wrong.connect().await.unwrap_err();
        assert!(matches!(error, Error::Input(_)), "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[tokio::test]
async fn requests_travel_through_the_proxy_that_was_named() {
    let web = legacy().start().await.unwrap();
    let proxy = attache_client::Proxy::Address(format!("http://{}", web.address()));
    // The name has no address; only a proxy can know what to do with it.
    let client = server("http://nowhere.invalid/mcp")
        .proxy(proxy)
        .connect()
        .await
        .unwrap();
    echo(&client).await.unwrap();
    assert!(
        web.requests()
            .iter()
            .all(|it| it.path == "http://nowhere.invalid/mcp")
    );
}

#[tokio::test]
async fn what_a_transport_does_not_have_is_told_before_anything_is_opened() {
    let stdio = || Server::stdio("no-such-program", [""; 0]);
    let http = || Server::http("http://127.0.0.1:1/mcp");
    for (server, setting, transport) in [
        (stdio().header("X-Key", "v"), "header", "stdio"),
        (stdio().allow_plain_http(), "allow_plain_http", "stdio"),
        (http().env("KEY", "v"), "env", "http"),
        (http().current_dir("/"), "current_dir", "http"),
        (Server::memory().0.env("KEY", "v"), "env", "streams"),
    ] {
        let error = server.connect().await.unwrap_err();
        let Error::Connect(ConnectError::Misplaced {
            setting: found,
            transport: over,
        }) = &error
        else {
            panic!("{error}");
        };
        assert_eq!((*found, *over), (setting, transport));
        assert!(error.to_string().contains("leave it out"), "{error}");
    }
}
