//! Every limit, at the limit.

use std::io::Write as _;
use std::time::Duration;

use attache_client::protocol::Ending;
use attache_client::{Error, Limits};
use attache_testkit::http::{Answer, HttpScript, On};
use serde_json::json;

use crate::{balanced, echo, fails_at_once, server};

const FRAME: usize = 20_000;

async fn limited(
    limits: Limits,
    script: HttpScript,
) -> (attache_testkit::http::HttpServer, attache_client::Client) {
    let web = script.start().await.unwrap();
    let client = server(web.url()).limits(limits).connect().await.unwrap();
    (web, client)
}

fn frame_limit() -> Limits {
    Limits {
        frame: FRAME,
        ..Limits::default()
    }
}

fn padded(length: usize) -> Vec<u8> {
    let start = r#"{"jsonrpc":"2.0","id":"$id","result":{"content":[{"type":"text","text":""#;
    let end = r#""}]}}"#;
    // The place for the id is longer than the id.
    let fill = length + "\"$id\"".len() - 1 - start.len() - end.len();
    format!("{start}{}{end}", "x".repeat(fill)).into_bytes()
}

fn zipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn fault_61_a_body_at_the_limit_passes_and_one_beyond_is_refused() {
    for (length, passes) in [(FRAME, true), (FRAME + 1, false), (50 * FRAME, false)] {
        let body = Answer::text("application/json", padded(length));
        let event = Answer::events().raw(&format!(
            "data: {}\n\n",
            String::from_utf8(padded(length)).unwrap()
        ));
        for answer in [body, event] {
            let script = HttpScript::modern().on(On::tool("echo").nth(1), answer);
            let (_web, client) = limited(frame_limit(), script).await;
            match echo(&client).await {
                Ok(_) => assert!(passes, "{length}"),
                Err(error) => {
                    assert!(!passes, "{length}: {error}");
                    assert_eq!(error.ending(), Some(Ending::ProtocolError), "{error}");
                }
            }
            echo(&client).await.unwrap();
            assert!(balanced(&client));
        }
    }
}

#[tokio::test]
async fn fault_61_a_body_without_end_is_refused_at_the_limit() {
    for answer in [
        Answer::endless("application/json", *b"{\"jsonrpc\": \"2.0\", "),
        Answer::endless("text/event-stream", *b"data: x\n"),
        Answer::endless("text/html", *b"<p>").with_status(400),
    ] {
        let script = HttpScript::modern().on(On::tool("echo").nth(1), answer);
        let (web, client) = limited(frame_limit(), script).await;
        fails_at_once(echo(&client)).await;
        web.wait_until(|web| web.abandoned() == 1).await;
        echo(&client).await.unwrap();
        assert!(balanced(&client));
    }
}

#[tokio::test]
async fn fault_61_a_compressed_body_is_measured_unpacked() {
    for (length, passes) in [(FRAME - 10, true), (100 * FRAME, false)] {
        let json = String::from_utf8(padded(length)).unwrap();
        // The third request: the probe and nothing else came before.
        let body = zipped(json.replace("\"$id\"", "2").as_bytes());
        assert!(body.len() < FRAME / 2);
        let answer = Answer::text("application/json", body).header("Content-Encoding", "gzip");
        let script = HttpScript::modern().on(On::tool("echo").nth(1), answer);
        let (_web, client) = limited(frame_limit(), script).await;
        match echo(&client).await {
            Ok(answer) => assert!(passes && answer.text().starts_with("xxx")),
            Err(error) => {
                assert!(!passes, "{error}");
                assert_eq!(error.ending(), Some(Ending::ProtocolError), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn requests_wait_for_room_at_the_limit() {
    let limits = Limits {
        requests_at_once: 3,
        ..Limits::default()
    };
    let held = Answer::events().comment("working").hold();
    let (web, client) = limited(limits, HttpScript::modern().on(On::tool("slow"), held)).await;
    let calls: Vec<_> = (0..3)
        .map(|_| tokio::spawn(client.call("slow", json!({})).into_future()))
        .collect();
    web.wait_until(|web| web.count_of("tools/call") == 3).await;
    let waiting = client
        .call("echo", json!({}))
        .timeout(Duration::from_millis(200));
    let error = waiting.await.unwrap_err();
    assert!(matches!(error, Error::TimedOut { .. }), "{error}");
    assert_eq!(web.count_of("tools/call"), 3, "the fourth was never sent");
    calls[0].abort();
    web.wait_until(|web| web.abandoned() == 1).await;
    echo(&client).await.unwrap();
}

#[tokio::test]
async fn questions_beyond_the_limit_are_dropped_and_counted() {
    let ping = |n: u32| json!({"jsonrpc": "2.0", "id": format!("p{n}"), "method": "ping"});
    let mut stream = Answer::events();
    for n in 0..200 {
        stream = stream.message(&ping(n));
    }
    let slow = Answer::status(202).after(Duration::from_secs(5));
    let script = HttpScript::legacy("2025-11-25")
        .on(
            On::verb("POST").with_header("mcp-session-id", "session-1"),
            slow,
        )
        .on(On::rpc("notifications/initialized"), Answer::status(202))
        .on(On::verb("GET"), stream.hold());
    let (web, client) = limited(Limits::default(), script).await;
    web.wait_until(|web| web.requests().iter().any(|it| it.message()["id"] == "p0"))
        .await;
    tokio::time::timeout(Duration::from_secs(5), async {
        while client.statistics().violations < 100 {
            tokio::task::yield_now().await;
        }
    })
    .await
    .unwrap();
    assert!(web.requests_by("POST").len() <= 3 + 64);
}
