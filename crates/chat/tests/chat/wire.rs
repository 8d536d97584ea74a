//! The model client over real HTTP: streaming, time limits, repeats, what is sent.

use std::time::Duration;

use attache_chat::{Error, StopReason};
use attache_testkit::http::Answer;
use attache_testkit::model::{ModelReply, WireFormat};
use serde_json::json;

use crate::support::{BOTH, ask, endpoint, impatient, scripted};

#[tokio::test]
async fn text_streams_in_pieces_with_usage_however_it_is_cut() {
    for format in BOTH {
        for slice in [None, Some(1), Some(7)] {
            let reply = ModelReply::saying("Three minutes are enough.");
            let reply = match slice {
                Some(bytes) => reply.sliced(bytes),
                None => reply,
            };
            let server = scripted(format, [reply]).await;
            let (reply, pieces, outcome) = ask(endpoint(&server.base(), format)).await;
            outcome.unwrap();
            assert_eq!(
                pieces,
                ["Three ", "minutes ", "are ", "enough."],
                "{format:?}"
            );
            assert_eq!(reply.stop, StopReason::Done);
            assert_eq!(
                (reply.usage.input, reply.usage.output),
                (Some(120), Some(7))
            );
            assert_eq!(reply.model.as_deref(), Some("scripted"));
        }
    }
}

#[tokio::test]
async fn parallel_calls_are_put_together_from_their_pieces() {
    for format in BOTH {
        let calls = [("a", "n__one", r#"{"q":"é"}"#), ("b", "n__two", "{}")];
        let server = scripted(format, [ModelReply::calling(&calls).sliced(3)]).await;
        let (reply, _, outcome) = ask(endpoint(&server.base(), format)).await;
        outcome.unwrap();
        let got = reply.answer.calls.iter();
        let got: Vec<_> = got
            .map(|call| {
                (
                    call.id.as_str(),
                    call.name.as_str(),
                    call.arguments.as_str(),
                )
            })
            .collect();
        assert_eq!(got, calls, "{format:?}");
        assert_eq!(reply.stop, StopReason::Tools);
    }
}

#[tokio::test]
async fn the_key_is_sent_as_each_format_wants_it_and_no_debug_output_shows_it() {
    for (format, header, value) in [
        (
            WireFormat::Completions,
            "authorization",
            "Bearer sk-test-1234567890",
        ),
        (WireFormat::Anthropic, "x-api-key", "sk-test-1234567890"),
    ] {
        let server = scripted(format, [ModelReply::saying("x")]).await;
        let endpoint = endpoint(&server.base(), format);
        assert!(!format!("{endpoint:?}").contains("sk-test"), "S12");
        ask(endpoint).await.2.unwrap();
        let requests = server.http.requests_by("POST");
        assert_eq!(requests[0].header(header), Some(value));
    }
}

#[tokio::test]
async fn a_busy_endpoint_is_asked_again_before_anything_was_shown() {
    for format in BOTH {
        let busy =
            |status| Answer::json(&json!({"error": {"message": "slow down"}})).with_status(status);
        let server = scripted(
            format,
            [
                ModelReply::http(busy(429).header("retry-after", "0")),
                ModelReply::http(busy(503).header("retry-after", "0")),
                ModelReply::saying("ok"),
            ],
        )
        .await;
        let (_, pieces, outcome) = ask(endpoint(&server.base(), format)).await;
        outcome.unwrap();
        assert_eq!(pieces, ["<waiting>", "<waiting>", "ok"]);
        assert_eq!(server.asked().len(), 3);
    }
}

#[tokio::test]
async fn an_answer_that_broke_off_after_words_were_shown_is_not_asked_again() {
    for format in BOTH {
        let whole = ModelReply::saying("one two three four five six");
        let server = scripted(format, [whole.cut_after(900), ModelReply::saying("never")]).await;
        let (reply, pieces, outcome) = ask(endpoint(&server.base(), format)).await;
        if pieces.is_empty() {
            continue;
        }
        // Where the end of the connection is the end of the answer, what came is the answer.
        assert!(!reply.answer.text.contains("never"), "{outcome:?}");
        assert_eq!(server.asked().len(), 1, "{outcome:?}");
    }
}

#[tokio::test]
async fn a_long_wait_is_told_instead_of_being_waited() {
    let busy = Answer::status(429).header("retry-after", "3600");
    let server = scripted(WireFormat::Completions, [ModelReply::http(busy)]).await;
    let (_, _, outcome) = ask(endpoint(&server.base(), WireFormat::Completions)).await;
    let Err(Error::Busy { retry_after, .. }) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(retry_after, Some(Duration::from_secs(3600)));
}

#[tokio::test]
async fn silence_ends_by_a_time_limit() {
    for format in BOTH {
        for (reply, words) in [
            (ModelReply::http(Answer::silence()), "before it answered"),
            (ModelReply::saying("half ").hold(), "in the middle"),
        ] {
            let server = scripted(format, [reply]).await;
            let mut endpoint = endpoint(&server.base(), format);
            endpoint.patience = impatient();
            let (_, _, outcome) = ask(endpoint).await;
            let error = outcome.unwrap_err();
            assert!(matches!(error, Error::TimedOut { .. }), "{error:?}");
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}

#[tokio::test]
async fn refusals_have_kinds() {
    let refusal =
        |status, body: serde_json::Value| ModelReply::http(Answer::json(&body).with_status(status));
    let message = json!({"error": {"message": "no such key"}});
    for (reply, part, check) in [
        (refusal(401, message.clone()), "no such key", "Key"),
        (
            refusal(404, json!({"detail": "no such model"})),
            "no such model",
            "Refused",
        ),
        (
            refusal(400, json!({"error": "prompt is too long: 9 > 8"})),
            "too long",
            "TooLong",
        ),
        (
            ModelReply::http(Answer::text("text/html", "<html>")),
            "web page",
            "NotAModel",
        ),
        (
            ModelReply::http(Answer::status(302).header("location", "http://x.example/")),
            "not followed",
            "Refused",
        ),
        (
            ModelReply::http(Answer::text("text/event-stream", "")),
            "empty",
            "NotAModel",
        ),
    ] {
        let server = scripted(WireFormat::Completions, [reply]).await;
        let (_, _, outcome) = ask(endpoint(&server.base(), WireFormat::Completions)).await;
        let error = outcome.unwrap_err();
        assert!(format!("{error:?}").starts_with(check), "{error:?}");
        assert!(error.to_string().contains(part), "{error}");
    }
    let (_, _, outcome) = ask(endpoint("http://127.0.0.1:9/v1", WireFormat::Completions)).await;
    assert!(matches!(outcome, Err(Error::Unreachable(_))), "{outcome:?}");
}
