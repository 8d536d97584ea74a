//! Answers that are none: wrong types, statuses, bodies that break off.

use std::time::Duration;

use attache_client::protocol::Ending;
use attache_client::{CloseReason, Error, HttpError};
use attache_testkit::http::{Answer, On};
use attache_testkit::proxy::{Cut, FaultProxy, Harm};
use serde_json::json;

use crate::{balanced, connected, echo, endings, fails_at_once, legacy, server};

#[tokio::test]
async fn fault_34_a_wrong_content_type_is_told_at_once() {
    for (answer, found) in [
        (Answer::usual().content_type("text/html"), Some("text/html")),
        (Answer::usual().no_content_type(), None),
    ] {
        let (_web, client) = connected(legacy().on(On::tool("echo").nth(1), answer)).await;
        let error = fails_at_once(echo(&client)).await;
        let Error::Http { problem, .. } = &error else {
            panic!("{error}");
        };
        let expected = HttpError::ContentType {
            status: 200,
            found: found.map(str::to_owned),
        };
        assert_eq!(*problem, expected);
        assert_eq!(error.ending(), Some(Ending::ProtocolError));
        echo(&client).await.unwrap();
        assert!(balanced(&client));
    }
}

#[tokio::test]
async fn fault_55_a_stream_without_an_answer_fails_its_call_at_once() {
    let silent = Answer::events().comment("working").comment("done");
    for script in [legacy(), attache_testkit::http::HttpScript::modern()] {
        let (web, client) = connected(script.on(On::tool("echo").nth(1), silent.clone())).await;
        let error = fails_at_once(echo(&client)).await;
        let expected = matches!(
            error,
            Error::OutcomeUnknown {
                reason: CloseReason::EndOfStream,
                ..
            }
        );
        assert!(expected, "{error}");
        echo(&client).await.unwrap();
        assert_eq!(
            web.count_of("tools/call"),
            2,
            "nothing is repeated by itself"
        );
        assert!(balanced(&client));
    }
}

#[tokio::test]
async fn an_accepted_request_without_an_answer_fails_at_once() {
    let script = legacy().on(On::tool("echo").nth(1), Answer::status(202));
    let (_web, client) = connected(script).await;
    let error = fails_at_once(echo(&client)).await;
    assert!(matches!(error, Error::Protocol { .. }), "{error}");
}

#[tokio::test]
async fn a_body_that_answers_something_else_fails_at_once() {
    let other = json!({"jsonrpc": "2.0", "id": 999, "result": {}});
    let script = legacy().on(On::tool("echo").nth(1), Answer::json(&other));
    let (_web, client) = connected(script).await;
    let error = fails_at_once(echo(&client)).await;
    assert!(matches!(error, Error::Protocol { .. }), "{error}");
    assert_eq!(client.statistics().unknown_answers, 1, "fault 40");
}

// C-SHM-22.
#[tokio::test]
async fn fault_57_a_failing_server_fails_one_call_only() {
    for (status, ending) in [
        (400, Ending::ServerError),
        (413, Ending::ServerError),
        (429, Ending::ServerError),
        (431, Ending::ServerError),
        (500, Ending::ServerError),
        // A gateway cannot know what became of the request.
        (502, Ending::OutcomeUnknown),
        (503, Ending::OutcomeUnknown),
        (504, Ending::OutcomeUnknown),
    ] {
        let answer = Answer::text("text/plain", "no luck").with_status(status);
        let (web, client) = connected(legacy().on(On::tool("echo").nth(1), answer)).await;
        let before = endings(&client, ending);
        let error = fails_at_once(echo(&client)).await;
        let text = "no luck".to_owned();
        let Error::Http { problem, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(*problem, HttpError::Status { status, text });
        assert_eq!(error.ending(), Some(ending), "{status}");
        assert_eq!(endings(&client, ending), before + 1, "{status}");
        echo(&client).await.unwrap();
        assert_eq!(web.count_of("tools/call"), 2);
        assert!(balanced(&client));
    }
}

#[tokio::test]
async fn fault_57_a_storm_of_statuses_ends_every_call_once() {
    let mut script = legacy();
    for (n, status) in [500, 502, 404, 503, 418, 504, 400].into_iter().enumerate() {
        let nth = On::tool("echo").nth(2 * n + 1);
        script = script.on(nth, Answer::status(status));
    }
    let (_web, client) = connected(script).await;
    let calls: Vec<_> = (0..40)
        .map(|_| tokio::spawn(client.call("echo", json!({})).into_future()))
        .collect();
    let mut succeeded = 0;
    for call in calls {
        succeeded += usize::from(call.await.unwrap().is_ok());
    }
    assert_eq!(succeeded, 33, "seven storms");
    assert!(balanced(&client));
}

#[tokio::test]
async fn errors_of_the_protocol_count_at_any_status() {
    let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32602, "message": "no"}});
    for status in [200, 400, 404, 500] {
        let answer = Answer::json(&error).with_status(status);
        let (_web, client) = connected(
            attache_testkit::http::HttpScript::modern().on(On::tool("echo").nth(1), answer),
        )
        .await;
        let error = fails_at_once(echo(&client)).await;
        let Error::Server(error) = &error else {
            panic!("{status}: {error}");
        };
        assert_eq!(error.code, -32602, "{status}");
    }
}

#[tokio::test]
async fn answers_in_slices_are_put_together() {
    for answer in [
        Answer::usual().sliced(1),
        Answer::events().usual_message().sliced(1),
        Answer::usual().sliced(7).after(Duration::from_millis(20)),
        Answer::events()
            .raw("\u{feff}: hi\r\n\r\n")
            .usual_message()
            .sliced(3),
    ] {
        let (_web, client) = connected(legacy().on(On::tool("echo"), answer)).await;
        let answer = echo(&client).await.unwrap();
        assert_eq!(answer.text(), "{\"say\":\"hello\"}");
    }
}

#[tokio::test]
async fn a_request_that_was_sent_and_not_answered_is_unknown() {
    for answer in [
        Answer::close(),
        Answer::reset(),
        Answer::usual().cut_after(20),
        Answer::usual().cut_after(120),
        Answer::usual().reset_after(120),
        Answer::events().usual_message().cut_after(130),
    ] {
        let described = format!("{answer:?}");
        let (web, client) = connected(legacy().on(On::tool("echo").nth(1), answer)).await;
        let error = fails_at_once(echo(&client)).await;
        assert_eq!(
            error.ending(),
            Some(Ending::OutcomeUnknown),
            "{described}: {error}"
        );
        echo(&client).await.unwrap();
        assert_eq!(
            web.count_of("tools/call"),
            2,
            "{described}: nothing is replayed"
        );
        assert!(balanced(&client));
    }
}

#[tokio::test]
async fn a_request_that_never_left_was_not_sent() {
    let (web, client) = connected(legacy()).await;
    let gone = web.address();
    drop(web);
    // The pooled connection may still look alive; the second call certainly finds none.
    let _ = echo(&client).await;
    let error = fails_at_once(echo(&client)).await;
    assert_eq!(error.ending(), Some(Ending::NotSent), "{gone}: {error}");
    assert!(error.to_string().contains("cannot be reached"), "{error}");
    assert!(balanced(&client));
}

#[tokio::test]
async fn a_bad_line_between_cuts_calls_and_spares_the_rest() {
    let web = legacy().start().await.unwrap();
    let harm = Harm {
        latency: Duration::from_millis(1),
        slice: Some(50),
        cut_after: Some(2_000),
        cut: Cut::Reset,
    };
    let proxy = FaultProxy::start(web.address(), harm).await.unwrap();
    let url = format!("http://{}/mcp", proxy.address());
    let client = server(url).connect().await.unwrap();
    let mut succeeded = 0;
    for _ in 0..60 {
        match echo(&client).await {
            Ok(_) => succeeded += 1,
            Err(error) => {
                assert_eq!(error.ending(), Some(Ending::OutcomeUnknown), "{error}");
            }
        }
    }
    assert!(succeeded > 30, "{succeeded}");
    assert!(proxy.connections() > 5);
    assert!(balanced(&client));
}

/// Wakes a thread that sleeps until its future can go on.
struct Unpark(std::thread::Thread);

impl std::task::Wake for Unpark {
    fn wake(self: std::sync::Arc<Self>) {
        self.0.unpark();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_call_can_be_awaited_by_any_executor() {
    let (web, client) = connected(legacy()).await;
    let calling = client.clone();
    let waiting = std::thread::spawn(move || {
        let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
        let mut context = std::task::Context::from_waker(&waker);
        let mut call = std::pin::pin!(echo(&calling).into_future());
        loop {
            if let std::task::Poll::Ready(answer) = call.as_mut().poll(&mut context) {
                return answer.map(drop);
            }
            std::thread::park();
        }
    });
    let answered = tokio::task::spawn_blocking(move || waiting.join().unwrap()).await;
    answered.unwrap().unwrap();
    assert_eq!(web.count_of("tools/call"), 1);
    assert!(balanced(&client));
}
