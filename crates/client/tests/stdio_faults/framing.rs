//! Bytes on stdout that are hard to cut into messages, or are none.

use std::time::Duration;

use attache_client::protocol::{Ending, ListTools};
use attache_client::{CloseReason, Event, ExitReason, Limits};
use attache_testkit::chaos::{Action, Emit, Reply, Until, When, Writing};
use serde_json::json;

use crate::support::{
    BOTH_ERAS, Peer, at_once, each, exit_of, problem_of, script, sent, unknown_because,
};

/// What servers print on stdout besides messages.
const BABBLE: [&str; 11] = [
    "Server running on stdio",
    "\u{1b}[32mready\u{1b}[0m",
    "[info] listening",
    r#"{"level":"info","msg":"listening","id":1}"#,
    r#"{"level":"info","method":"GET","path":"/","id":2}"#,
    r#"{"level":"error","error":"connection refused"}"#,
    r#"{"result":"ok","took":3}"#,
    r#""a string""#,
    "42",
    "null",
    "[]",
];

fn babble() -> impl Iterator<Item = Action> {
    BABBLE.into_iter().map(Action::line)
}

#[test]
fn fault_18_banners_and_logs_on_stdout_are_skipped_counted_and_shown() {
    each(BOTH_ERAS, async |revision| {
        let script = script(revision)
            .on(When::start(), babble())
            .on(When::tool("chatty"), babble().chain([Action::text("done")]));
        let peer = Peer::start(revision, &script).await;
        let before = peer.client.statistics();
        assert_eq!(before.stray_lines, BABBLE.len() as u64);
        // The first three are kept, as nobody could listen for them yet.
        assert_eq!(peer.client.first_stray_lines(), BABBLE[..3]);
        let mut events = peer.client.events();
        assert_eq!(peer.text("chatty").await.unwrap(), "done");
        for expected in BABBLE {
            let event = at_once("an event", events.next()).await.unwrap();
            let Event::Stray { line, .. } = &*event else {
                panic!("{event:?}");
            };
            assert_eq!(line, expected);
        }
        let after = peer.client.statistics();
        assert_eq!(after.stray_lines, 2 * BABBLE.len() as u64);
        assert_eq!((after.unknown_answers, after.late_answers), (0, 0));
        peer.echoes().await;
        // Nothing was said to the server but what was asked of it.
        let received = peer.launch.received().unwrap();
        let methods: Vec<_> = received.iter().map(|message| &message["method"]).collect();
        let calls = methods.iter().filter(|method| **method == "tools/call");
        assert_eq!(calls.count(), 2);
        assert!(
            methods.iter().all(|method| method.is_string()),
            "{methods:?}"
        );
        peer.finish().await;
    });
}

#[test]
fn fault_18_a_long_log_line_is_shown_shortened() {
    each(BOTH_ERAS, async |revision| {
        let long = |quote: &str| {
            let body = Emit::text("x".repeat(1000)).times(1000);
            [Action::raw(quote), body.into(), Action::line(quote)]
        };
        let lines = [long(""), long("\"")].into_iter().flatten();
        let script = script(revision).on(When::tool("chatty"), lines.chain([Action::text("done")]));
        let peer = Peer::start(revision, &script).await;
        let mut events = peer.client.events();
        assert_eq!(peer.text("chatty").await.unwrap(), "done");
        for _ in 0..2 {
            let event = at_once("an event", events.next()).await.unwrap();
            let Event::Stray { line, reason } = &*event else {
                panic!("{event:?}");
            };
            assert!(line.contains("xxx") && line.len() < 1000, "{line}");
            assert!(reason.len() < 1000, "{reason}");
        }
        peer.finish().await;
    });
}

// X-BASE-09.
#[test]
fn fault_19_invalid_utf_8_fails_its_own_call_and_no_other() {
    each(BOTH_ERAS, async |revision| {
        let script = script(revision)
            .on(
                When::tool("front"),
                [Action::raw_bytes(
                    *b"{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":{\"t\":\"\xff\xfe\"}}\n",
                )],
            )
            .on(
                When::tool("behind"),
                [Action::raw_bytes(
                    *b"{\"jsonrpc\":\"2.0\",\"result\":{\"t\":\"\xc3\x28\"},\"id\":\"$id\"}\n",
                )],
            )
            .on(
                When::tool("noise"),
                [
                    Action::raw_bytes(*b"\xff\xfe started\n"),
                    Action::text("answered"),
                ],
            );
        let peer = Peer::start(revision, &script).await;
        for tool in ["front", "behind"] {
            let problem = problem_of(peer.text(tool).await);
            assert!(problem.contains("UTF-8"), "{tool}: {problem}");
            peer.echoes().await;
        }
        assert_eq!(peer.client.statistics().stray_lines, 0);
        assert_eq!(peer.text("noise").await.unwrap(), "answered");
        assert_eq!(peer.client.statistics().stray_lines, 1);
        assert_eq!(peer.ended(Ending::ProtocolError), 2);
        peer.finish().await;
    });
}

#[test]
fn fault_20_byte_order_marks_crlf_and_blank_lines_are_tolerated() {
    each(BOTH_ERAS, async |revision| {
        let script = script(revision)
            .writing(Writing::crlf())
            .on(When::start(), [Action::raw("\u{feff}")])
            .on(
                When::tool("blank"),
                [
                    Action::line(""),
                    Action::line("  \t "),
                    Action::raw("\n\r\n\n"),
                    Action::raw("\u{feff}"),
                    Action::text("after"),
                ],
            );
        let peer = Peer::start(revision, &script).await;
        peer.echoes().await;
        assert_eq!(peer.text("blank").await.unwrap(), "after");
        assert_eq!(peer.client.statistics().stray_lines, 0);
        peer.finish().await;
    });
}

#[test]
fn fault_21_one_byte_at_a_time_is_assembled() {
    each(BOTH_ERAS, async |revision| {
        let text = "naïve café ☃ 😀";
        let dribble = Writing::chunks(1).pausing(Duration::from_micros(50));
        let script = script(revision).on(
            When::tool("dribble"),
            [
                dribble.into(),
                Action::text(text),
                Writing::default().into(),
            ],
        );
        let peer = Peer::start(revision, &script).await;
        assert_eq!(peer.text("dribble").await.unwrap(), text);
        peer.echoes().await;
        assert_eq!(peer.client.statistics().stray_lines, 0);
        peer.finish().await;
    });
}

#[test]
fn fault_22_two_frames_in_one_chunk_the_first_at_the_limit_are_both_delivered() {
    each(BOTH_ERAS, async |revision| {
        let frame = 64 * 1024;
        // The first call waits for the second, so both answers leave in one write.
        let both = Action::Wait(Until::Received {
            method: "tools/call".to_owned(),
            count: 2,
        });
        let script =
            script(revision).on(When::tool("first"), [both, Reply::frame_of(frame).into()]);
        let peer = Peer::start_with(revision, &script, |server| {
            server.limits(Limits {
                frame,
                ..Limits::default()
            })
        })
        .await;
        let mut first = peer.client.call("first", json!({})).into_future();
        sent(&mut first).await;
        peer.received("tools/call", 1);
        peer.echoes().await;
        let first = at_once("first", first).await.unwrap();
        assert!(first.text().len() > frame - 1000);
        peer.finish().await;
    });
}

#[test]
fn fault_24_a_legal_frame_of_five_megabytes_arrives_whole() {
    each(BOTH_ERAS, async |revision| {
        let peer = Peer::start(revision, &script(revision)).await;
        let bytes = json!({"bytes": 5_000_000});
        let typed = peer.client.call("big", &bytes).await.unwrap();
        assert_eq!(typed.text().len(), 5_000_000);
        let raw = peer.client.call("big", &bytes).raw().await.unwrap();
        assert!(raw.as_bytes().len() > 5_000_000);
        peer.echoes().await;
        peer.finish().await;
    });
}

#[test]
fn fault_25_what_the_end_of_output_cuts_off_is_discarded() {
    each(BOTH_ERAS, async |revision| {
        let half = r#"{"jsonrpc":"2.0","id":"$id","result":{"content":["#;
        let unended = r#"{"jsonrpc":"2.0","id":"$id","result":{"content":[]}}"#;
        for fragment in [half, unended] {
            for ending in [Action::exit(0), Action::close_stdout()] {
                let exits = ending == Action::exit(0);
                let script = script(revision)
                    .on(When::tool("hang"), [Action::never()])
                    .on(When::tool("half"), [Action::raw(fragment), ending]);
                let peer = Peer::start(revision, &script).await;
                let mut hang = peer.client.call("hang", json!({})).into_future();
                sent(&mut hang).await;
                let half = unknown_because(peer.text("half").await);
                let hang = unknown_because(at_once("hang", hang).await);
                assert_eq!(half, hang);
                if exits {
                    assert_eq!(exit_of(half), (ExitReason::Code(0), vec![]));
                } else {
                    assert_eq!(half, CloseReason::EndOfStream);
                }
                assert_eq!(peer.ended(Ending::OutcomeUnknown), 2);
                assert!(peer.client.page::<ListTools>(None).await.is_err());
                peer.is_gone();
                peer.finish().await;
            }
        }
    });
}
