//! What passes on connections, as a face sees it: every message, in order, without secrets.

use std::collections::BTreeMap;

use attache_host::config::{AuthConfig, HttpFlavor, ServerConfig, Source};
use attache_host::frames::{Frame, FrameKind, Frames};
use attache_host::policy::CallOrigin;
use attache_host::snapshot::ServerState;
use attache_host::{Host, client};
use attache_testkit::chaos::{Action, When};
use attache_testkit::http::HttpScript;
use serde_json::{Value, json};

use crate::support::{Fleet, config, guarded, name, script, within};

/// Every frame until the host is gone.
async fn rest(frames: &mut Frames) -> Vec<Frame> {
    let mut all = Vec::new();
    while let Some(frame) = within("frame", frames.next()).await {
        all.push(frame);
    }
    all
}

fn messages(frames: &[Frame], is_sent: bool) -> Vec<Value> {
    let messages = frames.iter().filter_map(|frame| match &frame.kind {
        FrameKind::Sent(message) if is_sent => Some(message),
        FrameKind::Received(message) if !is_sent => Some(message),
        _ => None,
    });
    let messages = messages.filter(|message| !message.payload.as_bytes().is_empty());
    messages
        .map(|message| serde_json::from_slice(message.payload.as_bytes()).unwrap())
        .collect()
}

fn states(frames: &[Frame]) -> Vec<String> {
    let states = frames.iter().filter_map(|frame| match &frame.kind {
        FrameKind::Opened => Some("opened".to_owned()),
        FrameKind::Closed { .. } => Some("closed".to_owned()),
        FrameKind::State { state, .. } => Some(state.clone()),
        _ => None,
    });
    states.collect()
}

fn check_numbers(frames: &[Frame]) {
    let numbers: Vec<u64> = frames.iter().map(|frame| frame.seq).collect();
    let expected: Vec<u64> = (1..=frames.len() as u64).collect();
    assert_eq!(numbers, expected, "no gap and no repetition");
    for frame in frames {
        let text = serde_json::to_string(frame).unwrap();
        let read: Frame = serde_json::from_str(&text).unwrap();
        assert_eq!(read, *frame, "{text}");
    }
}

#[test]
fn every_message_of_a_pipe_is_seen_in_both_directions_without_secrets() {
    guarded(async || {
        let script = script()
            .on(
                When::start(),
                [Action::stderr_line("key is hunter2\"secret")],
            )
            .on(
                When::tool("leak"),
                [Action::text("it is hunter2\"secret, you know")],
            );
        let secret = |config: &mut ServerConfig| {
            config.server = config.server.clone().env("API_KEY", "hunter2\"secret");
        };
        let fleet = Fleet::with([("one", script)], secret, |builder| builder);
        let mut frames = fleet.host.frames();
        fleet.call("one/leak", json!({"a": 1})).await.unwrap();
        let received = fleet.launch().received().unwrap();
        let Fleet { host, launches } = fleet;
        within("close", host.close()).await;
        drop(host);
        let frames = rest(&mut frames).await;
        check_numbers(&frames);

        assert_eq!(messages(&frames, true), received);
        let answers = messages(&frames, false);
        let last = answers.last().unwrap();
        assert_eq!(last["result"]["content"][0]["text"], "it is ***, you know");
        let expected = [
            "starting", "opened", "ready", "stopping", "closed", "stopped",
        ];
        assert_eq!(states(&frames), expected);
        let marked = frames.iter().filter(|frame| frame.redacted).count();
        assert_eq!(marked, 2, "the line and the answer");
        let text = serde_json::to_string(&frames).unwrap();
        assert!(!text.contains("hunter2"), "{text}");
        assert!(
            text.contains(r#"{"stderr":{"line":"key is ***"}}"#),
            "{text}"
        );
        drop(launches);
    });
}

fn remote(url: String, flavor: HttpFlavor) -> Host {
    let server = client::Server::http(url).http_flavor(flavor);
    let server = ServerConfig {
        auth: AuthConfig::default(),
        ..ServerConfig::new(name("far"), server, Source::program())
    };
    Host::builder().config(config([server])).start()
}

#[test]
fn http_is_seen_with_its_status_and_headers_and_no_session() {
    guarded(async || {
        for script in [HttpScript::legacy("2025-11-25"), HttpScript::modern()] {
            let web = script.start().await.unwrap();
            let host = remote(web.url(), HttpFlavor::Streamable);
            let mut frames = host.frames();
            let call = host.call("far/echo", json!({"message": "m"}));
            within("call", call.origin(CallOrigin::Person))
                .await
                .unwrap();
            within("close", host.close()).await;
            drop(host);
            let frames = rest(&mut frames).await;
            check_numbers(&frames);
            let posted = web.requests_by("POST");
            let posted: Vec<Value> = posted.iter().map(|it| it.message()).collect();
            assert_eq!(messages(&frames, true), posted);
            assert!(messages(&frames, false).len() >= 2);

            // Each message has its answer, and what belongs to MCP in the heads is there. Closing may
            // cut short a stream that is listened to.
            let mut open = BTreeMap::new();
            let mut statuses = Vec::new();
            for frame in &frames {
                let (FrameKind::Sent(message) | FrameKind::Received(message)) = &frame.kind else {
                    continue;
                };
                let Some(http) = &message.http else { continue };
                match http.status {
                    None => _ = open.insert(http.exchange, http.method.as_str()),
                    Some(_) => assert!(open.remove(&http.exchange).is_some(), "{http:?}"),
                }
                statuses.extend(http.status);
                for (name, value) in &http.headers {
                    assert!(name.starts_with("mcp-"), "{name}");
                    let is_hidden = value == "***";
                    assert_eq!(is_hidden, name == "mcp-session-id", "{name}: {value}");
                }
            }
            assert!(open.values().all(|method| *method != "POST"), "{open:?}");
            assert!(statuses.contains(&200), "{statuses:?}");
            let text = serde_json::to_string(&frames).unwrap();
            let revision = text.contains(r#"["mcp-protocol-version","#);
            assert!(revision, "{text}");
        }
    });
}

/// Fault 49, P5: an observer that does not keep up loses frames, is told how many, and slows
/// no reader down. Counted, not timed.
#[test]
fn fault_49_a_slow_observer_loses_frames_and_slows_no_reader() {
    const FLOOD: u64 = 50_000;
    guarded(async || {
        let flood = script().on(
            When::tool("flood"),
            [
                Action::flood(FLOOD, "notifications/x", Value::Null),
                Action::text("done"),
            ],
        );
        let fleet = Fleet::one(&flood);
        let mut frames = fleet.host.frames();
        let first = async {
            let call = fleet.call("one/flood", json!({})).await;
            assert_eq!(call.unwrap(), "done");
        };
        // The observer reads one frame and then nothing, until all has passed.
        let seen = within("frame", async { tokio::join!(frames.next(), first).0 }).await;
        assert_eq!(seen.unwrap().seq, 1);
        let client = fleet.host.running("one").unwrap();
        assert!(client.statistics().messages_in > FLOOD);
        assert_eq!(fleet.server("one").state, ServerState::Ready);
        drop(client);
        let Fleet { host, launches } = fleet;
        within("close", host.close()).await;
        drop(host);
        let (mut read, mut missed, mut last) = (1, 0, 1);
        for frame in rest(&mut frames).await {
            match frame.kind {
                FrameKind::Missed { count } => missed += count,
                _ => read += 1,
            }
            last = frame.seq;
        }
        assert!(missed > FLOOD / 2, "{missed}");
        assert_eq!(
            read + missed,
            last,
            "every frame was read or counted as lost"
        );
        assert!(last > FLOOD, "{last}");
        drop(launches);
    });
}
