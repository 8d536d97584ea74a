//! The table of eras.md 2.1, row by row: what a server answers to the probe and to `initialize`,
//! and what becomes of the connection.

use std::time::Duration;

use attache_client::protocol::{Era, Revision};
use attache_client::{Client, ConnectError, EraChoice, Error, Server, Timeouts};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::opening::{LEGACY, assert_elapsed, discovered, everything, finish, initialized, start};
use crate::peer::Peer;

type Connecting = JoinHandle<Result<Client, Error>>;

/// A client that connects with the given choice, and its server.
fn connecting(era: EraChoice) -> (Connecting, Peer) {
    let (server, stream) = Server::memory();
    let server = server.era(era).identity("tester", "1.0");
    let peer = Peer::new(stream, Revision::V2026_07_28);
    (start(async move { server.connect().await }), peer)
}

async fn refused(connecting: Connecting) -> ConnectError {
    match connecting.await.unwrap() {
        Err(Error::Connect(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// The server is legacy from here on.
async fn finish_legacy(connecting: Connecting, mut peer: Peer, offered: &str, agreed: Revision) {
    let request = peer.request("initialize").await;
    assert_eq!(request["params"]["protocolVersion"], offered);
    let result = initialized(agreed.as_str(), everything(agreed));
    peer.revision = agreed;
    peer.answer(&request, result).await;
    peer.notification("notifications/initialized").await;
    let client = connecting.await.unwrap().unwrap();
    assert_eq!(client.revision(), agreed);
    finish(client, peer).await;
}

// C-MOD-01, C-MOD-02, C-MOD-03, C-MOD-13: the probe comes first and says everything.
#[tokio::test(start_paused = true)]
async fn a_discover_result_makes_the_server_modern() {
    let (connecting, mut peer) = connecting(EraChoice::Auto);
    let probe = peer.request("server/discover").await;
    assert_eq!(
        probe,
        json!({
            "jsonrpc": "2.0", "id": 1, "method": "server/discover",
            "params": {"_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1.0"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }},
        })
    );
    let mut result = discovered(
        &["2025-06-18", "2026-07-28", "2099-01-01"],
        json!({"tools": {}}),
    );
    result["instructions"] = json!("Ask kindly.");
    result["_meta"] = json!({
        "io.modelcontextprotocol/serverInfo": {"name": "sage", "version": "3"},
    });
    peer.answer(&probe, result).await;
    let client = connecting.await.unwrap().unwrap();
    assert_eq!(client.revision(), Revision::V2026_07_28);
    assert!(client.capabilities().tools.is_some());
    assert!(client.capabilities().prompts.is_none());
    assert_eq!(client.server().unwrap().name, "sage");
    assert_eq!(client.instructions(), Some("Ask kindly."));
    finish(client, peer).await;
}

// C-MOD-10, C-MOD-14: an unsupported version is no reason to fall back.
#[tokio::test(start_paused = true)]
async fn fault_32_an_unsupported_version_is_changed_once() {
    for second_answer_is_a_result in [true, false] {
        let (connecting, mut peer) = connecting(EraChoice::Auto);
        let probe = peer.request("server/discover").await;
        let supported = json!({"supported": ["2026-07-28"], "requested": "2026-07-28"});
        peer.refuse(&probe, -32022, supported.clone()).await;
        let again = peer.request("server/discover").await;
        assert_ne!(again["id"], probe["id"]);
        if second_answer_is_a_result {
            peer.answer(&again, discovered(&["2026-07-28"], json!({})))
                .await;
            finish(connecting.await.unwrap().unwrap(), peer).await;
        } else {
            peer.refuse(&again, -32022, supported).await;
            let error = refused(connecting).await;
            assert!(
                matches!(error, ConnectError::NoCommonRevision { .. }),
                "{error:?}"
            );
            assert_eq!(peer.rest().await, [""; 0]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_modern_server_without_a_common_modern_version_may_name_a_legacy_one() {
    for by_result in [true, false] {
        let (connecting, mut peer) = connecting(EraChoice::Auto);
        let probe = peer.request("server/discover").await;
        let versions = ["2027-01-01", "2025-03-26", "2025-06-18"];
        if by_result {
            peer.answer(&probe, discovered(&versions, json!({}))).await;
        } else {
            peer.refuse(&probe, -32022, json!({"supported": versions}))
                .await;
        }
        finish_legacy(connecting, peer, "2025-06-18", Revision::V2025_06_18).await;
    }
}

// X-INIT-18.
#[tokio::test(start_paused = true)]
async fn nothing_in_common_is_said_with_both_sides() {
    let (connecting, mut peer) = connecting(EraChoice::Auto);
    let probe = peer.request("server/discover").await;
    peer.refuse(&probe, -32022, json!({"supported": ["2027-01-01"]}))
        .await;
    let error = refused(connecting).await;
    assert_eq!(
        error.to_string(),
        "the server and this client have no protocol revision in common: the server offers \
         2027-01-01, and this client may speak 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, \
         2024-11-05"
    );
    peer.hears_the_end().await;
}

// C-MOD-14: modern errors are reported, and `initialize` is not tried.
#[tokio::test(start_paused = true)]
async fn fault_32_a_modern_refusal_is_reported() {
    let required = json!({"requiredCapabilities": {"sampling": {}}});
    // -32003 is what drafts had for -32021.
    for (code, data) in [
        (-32020, Value::Null),
        (-32021, required.clone()),
        (-32003, required),
    ] {
        let (connecting, mut peer) = connecting(EraChoice::Auto);
        let probe = peer.request("server/discover").await;
        peer.refuse(&probe, code, data).await;
        match refused(connecting).await {
            ConnectError::Refused(error) => assert_eq!(error.code, code),
            other => panic!("{code}: {other:?}"),
        }
        peer.hears_the_end().await;
    }
}

// C-MOD-15: no code is evidence of a legacy server by itself; everything that is not modern is.
#[tokio::test(start_paused = true)]
async fn fault_32_any_other_answer_to_the_probe_means_legacy() {
    let error = |code: i64, data: Value| {
        let mut error = json!({"code": code, "message": "no"});
        if !data.is_null() {
            error["data"] = data;
        }
        json!({"error": error})
    };
    let answers = [
        error(-32601, Value::Null),
        error(-32602, Value::Null),
        error(-32600, Value::Null),
        error(-32000, json!({"supported": ["2026-07-28"]})),
        error(-32001, Value::Null),
        error(-32603, Value::Null),
        error(-32700, Value::Null),
        error(0, Value::Null),
        // Codes of drafts count only with the data of drafts.
        error(-32004, Value::Null),
        error(-32003, Value::Null),
        json!({"result": {}}),
        json!({"result": {"protocolVersion": "2025-11-25"}}),
        json!({"result": null}),
        json!({"result": {}, "error": {"code": 1, "message": "both"}}),
        json!({"error": "malformed"}),
    ];
    for mut answer in answers {
        let (connecting, mut peer) = connecting(EraChoice::Auto);
        let probe = peer.request("server/discover").await;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = probe["id"].clone();
        peer.say(answer).await;
        finish_legacy(connecting, peer, "2025-11-25", Revision::V2025_11_25).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_draft_server_that_names_its_versions_is_modern() {
    let (connecting, mut peer) = connecting(EraChoice::Auto);
    let probe = peer.request("server/discover").await;
    peer.refuse(&probe, -32004, json!({"supported": ["2026-07-28"]}))
        .await;
    let again = peer.request("server/discover").await;
    peer.answer(&again, discovered(&["2026-07-28"], json!({})))
        .await;
    finish(connecting.await.unwrap().unwrap(), peer).await;
}

/// When the client gives up on the probe, if the server shows a sign of life after `sign`.
async fn patience_with_the_probe(sign: Option<Duration>) -> Duration {
    let (connecting, mut peer) = connecting(EraChoice::Auto);
    let begun = Instant::now();
    let probe = peer.request("server/discover").await;
    if let Some(after) = sign {
        sleep(after).await;
        peer.say_raw("Resolving packages\n").await;
    }
    let request = peer.request("initialize").await;
    let patience = begun.elapsed();
    peer.answer(&request, initialized("2025-11-25", json!({})))
        .await;
    peer.revision = Revision::V2025_11_25;
    peer.notification("notifications/initialized").await;
    peer.cancellation(&probe).await;
    finish(connecting.await.unwrap().unwrap(), peer).await;
    patience
}

// A second from the start, or 300 milliseconds from the first sign of life.
#[tokio::test(start_paused = true)]
async fn fault_67_a_silent_server_is_greeted_after_a_short_wait() {
    let milliseconds = Duration::from_millis;
    for (sign, expected) in [
        (None, milliseconds(1000)),
        (Some(milliseconds(100)), milliseconds(400)),
        (Some(milliseconds(900)), milliseconds(1000)),
    ] {
        let patience = patience_with_the_probe(sign).await;
        assert!(
            patience >= expected && patience < expected + Duration::from_millis(10),
            "sign after {sign:?}: {patience:?}"
        );
    }
}

// No chatter puts the fall-back off: the clock starts once.
#[tokio::test(start_paused = true)]
async fn fault_31_a_chatty_server_gains_no_time() {
    let (connecting, mut peer) = connecting(EraChoice::Auto);
    let begun = Instant::now();
    let probe = peer.request("server/discover").await;
    let request = loop {
        tokio::select! {
            request = peer.request("initialize") => break request,
            () = sleep(Duration::from_millis(50)) => {}
        }
        let params = json!({"level": "info", "data": "still starting"});
        peer.notify("notifications/message", params).await;
    };
    assert_elapsed(begun, Duration::from_millis(350));
    peer.revision = Revision::V2025_11_25;
    peer.answer(&request, initialized("2025-11-25", json!({})))
        .await;
    peer.notification("notifications/initialized").await;
    peer.cancellation(&probe).await;
    finish(connecting.await.unwrap().unwrap(), peer).await;
}

// C-INIT-11: `initialize` is not taken back when the probe is answered after all. Version 2 of the
// Python SDK refuses it then, before or after that answer.
#[tokio::test(start_paused = true)]
async fn fault_31_a_late_discover_result_wins_over_initialize() {
    for (refused_before, refused_after) in [(false, false), (false, true), (true, false)] {
        let (connecting, mut peer) = connecting(EraChoice::Auto);
        let probe = peer.request("server/discover").await;
        let request = peer.request("initialize").await;
        let supported = json!({"supported": ["2026-07-28"]});
        if refused_before {
            peer.refuse(&request, -32022, supported.clone()).await;
        }
        peer.answer(&probe, discovered(&["2026-07-28"], json!({})))
            .await;
        if refused_after {
            peer.refuse(&request, -32022, supported).await;
        }
        let client = connecting.await.unwrap().unwrap();
        assert_eq!(client.revision().era(), Era::Modern);
        finish(client, peer).await;
    }
}

// S-MOD-17: version 2 of the TypeScript SDK answers the probe, then takes `initialize` for the
// choice of the legacy era and answers accordingly from there on. Others go on in both.
#[tokio::test(start_paused = true)]
async fn fault_67_a_server_that_accepts_both_greetings_is_asked_which_it_means() {
    for (era, revision) in [
        (Era::Modern, Revision::V2026_07_28),
        (Era::Legacy, Revision::V2025_11_25),
    ] {
        let (connecting, mut peer) = connecting(EraChoice::Auto);
        let probe = peer.request("server/discover").await;
        let request = peer.request("initialize").await;
        let modern = discovered(&["2026-07-28"], json!({}));
        peer.answer(&probe, modern.clone()).await;
        peer.answer(&request, initialized("2025-11-25", json!({})))
            .await;
        let again = peer.request("server/discover").await;
        peer.revision = revision;
        if era == Era::Modern {
            peer.answer(&again, modern).await;
        } else {
            peer.refuse(&again, -32601, Value::Null).await;
            peer.notification("notifications/initialized").await;
        }
        let client = connecting.await.unwrap().unwrap();
        assert_eq!(client.revision(), revision);
        finish(client, peer).await;
    }
}

// A late answer that names other revisions keeps the server modern.
#[tokio::test(start_paused = true)]
async fn fault_32_a_late_refusal_of_the_version_stays_modern() {
    let (connecting, mut peer) = connecting(EraChoice::Auto);
    let probe = peer.request("server/discover").await;
    peer.request("initialize").await;
    peer.refuse(&probe, -32022, json!({"supported": ["2026-07-28"]}))
        .await;
    let again = peer.request("server/discover").await;
    peer.answer(&again, discovered(&["2026-07-28"], json!({})))
        .await;
    let client = connecting.await.unwrap().unwrap();
    assert_eq!(client.revision().era(), Era::Modern);
    finish(client, peer).await;
}

#[tokio::test(start_paused = true)]
async fn fault_31_a_late_error_to_the_probe_changes_nothing() {
    let (connecting, mut peer) = connecting(EraChoice::Auto);
    let probe = peer.request("server/discover").await;
    let request = peer.request("initialize").await;
    peer.refuse(&probe, -32601, Value::Null).await;
    peer.hears_nothing().await;
    peer.revision = Revision::V2025_11_25;
    peer.answer(&request, initialized("2025-11-25", json!({})))
        .await;
    peer.notification("notifications/initialized").await;
    finish(connecting.await.unwrap().unwrap(), peer).await;
}

// X-PING-01, S-INIT-08: what a server may say before the handshake is over.
#[tokio::test(start_paused = true)]
async fn logs_and_pings_during_the_handshake_are_no_answer_to_it() {
    let (connecting, mut peer) = connecting(EraChoice::Legacy);
    peer.revision = Revision::V2025_11_25;
    let request = peer.request("initialize").await;
    peer.notify(
        "notifications/message",
        json!({"level": "info", "data": "hello"}),
    )
    .await;
    peer.say(json!({"jsonrpc": "2.0", "id": "early", "method": "ping"}))
        .await;
    let pong = json!({"jsonrpc": "2.0", "id": "early", "result": {}});
    assert_eq!(peer.next().await, pong);
    peer.answer(&request, initialized("2025-11-25", json!({})))
        .await;
    peer.notification("notifications/initialized").await;
    finish(connecting.await.unwrap().unwrap(), peer).await;
}

// C-INIT-02, S-INIT-03: the newest is asked for, and any known one accepted.
#[tokio::test(start_paused = true)]
async fn a_server_may_answer_with_any_legacy_revision() {
    for agreed in LEGACY {
        let (connecting, peer) = connecting(EraChoice::Legacy);
        finish_legacy(connecting, peer, "2025-11-25", agreed).await;
    }
}

// S-INIT-19: a refusal that names versions is tried once more.
#[tokio::test(start_paused = true)]
async fn a_refused_version_is_asked_for_again_once() {
    let supported = json!({"supported": ["2024-11-05", "2025-03-26"], "requested": "2025-11-25"});
    let (connecting_first, mut peer) = connecting(EraChoice::Legacy);
    let request = peer.request("initialize").await;
    peer.refuse(&request, -32602, supported.clone()).await;
    finish_legacy(connecting_first, peer, "2025-03-26", Revision::V2025_03_26).await;

    let (connecting_second, mut peer) = connecting(EraChoice::Legacy);
    for _ in 0..2 {
        let request = peer.request("initialize").await;
        peer.refuse(&request, -32602, supported.clone()).await;
    }
    match refused(connecting_second).await {
        ConnectError::Refused(error) => {
            assert_eq!((error.code, error.method.as_str()), (-32602, "initialize"))
        }
        other => panic!("{other:?}"),
    }
    peer.hears_the_end().await;
}

// C-INIT-05: a version nobody here knows ends the connection.
#[tokio::test(start_paused = true)]
async fn an_unknown_version_ends_the_connection() {
    for offered in ["2099-01-01", "2026-07-28", "1.0"] {
        let (connecting, mut peer) = connecting(EraChoice::Legacy);
        let request = peer.request("initialize").await;
        peer.say(json!({
            "jsonrpc": "2.0", "id": request["id"], "result": initialized(offered, json!({})),
        }))
        .await;
        match refused(connecting).await {
            ConnectError::NoCommonRevision {
                offered: named,
                wanted,
            } => {
                assert_eq!(named, [offered]);
                assert_eq!(wanted, [LEGACY[3], LEGACY[2], LEGACY[1], LEGACY[0]]);
            }
            other => panic!("{other:?}"),
        }
        peer.hears_the_end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_no_handshake_is_a_protocol_error() {
    let (connecting, mut peer) = connecting(EraChoice::Legacy);
    let request = peer.request("initialize").await;
    peer.say(json!({"jsonrpc": "2.0", "id": request["id"], "result": {"tools": []}}))
        .await;
    let error = refused(connecting).await;
    assert!(matches!(error, ConnectError::Protocol(_)), "{error:?}");
    peer.hears_the_end().await;
}

#[tokio::test(start_paused = true)]
async fn a_modern_only_client_leaves_a_legacy_server() {
    let (connecting_first, mut peer) = connecting(EraChoice::Modern);
    let probe = peer.request("server/discover").await;
    peer.refuse(&probe, -32601, Value::Null).await;
    match refused(connecting_first).await {
        ConnectError::NoCommonRevision { offered, wanted } => {
            assert_eq!((offered.len(), wanted), (0, vec![Revision::V2026_07_28]));
        }
        other => panic!("{other:?}"),
    }
    peer.hears_the_end().await;

    let (connecting_second, mut peer) = connecting(EraChoice::Modern);
    let probe = peer.request("server/discover").await;
    peer.answer(&probe, discovered(&["2025-11-25"], json!({})))
        .await;
    let error = refused(connecting_second).await;
    assert!(
        matches!(error, ConnectError::NoCommonRevision { .. }),
        "{error:?}"
    );
    peer.hears_the_end().await;
}

#[tokio::test(start_paused = true)]
async fn a_modern_only_client_says_how_long_it_waited() {
    let begun = Instant::now();
    let (connecting, mut peer) = connecting(EraChoice::Modern);
    peer.request("server/discover").await;
    let whole = Timeouts::default().start;
    match refused(connecting).await {
        ConnectError::TimedOut { after, .. } => assert_eq!(after, whole),
        other => panic!("{other:?}"),
    }
    assert_elapsed(begun, whole);
    let rest = peer.rest().await.concat();
    assert!(!rest.contains("initialize"), "{rest}");
}

// With a fixed era there is nothing to fall back to, so a slow server has all the time to start.
#[tokio::test(start_paused = true)]
async fn a_modern_only_client_waits_for_a_slow_server_until_the_start_is_over() {
    let (connecting, mut peer) = connecting(EraChoice::Modern);
    let probe = peer.request("server/discover").await;
    sleep(Timeouts::default().start - Duration::from_secs(1)).await;
    peer.answer(&probe, discovered(&["2026-07-28"], json!({})))
        .await;
    let client = connecting.await.unwrap().unwrap();
    assert_eq!(client.revision(), Revision::V2026_07_28);
    finish(client, peer).await;
}

// Nor does a server become legacy by thinking about a second question of the modern era.
#[tokio::test(start_paused = true)]
async fn a_server_that_named_modern_versions_may_think_about_the_second_question() {
    let (connecting, mut peer) = connecting(EraChoice::Auto);
    let probe = peer.request("server/discover").await;
    peer.refuse(&probe, -32022, json!({"supported": ["2026-07-28"]}))
        .await;
    let again = peer.request("server/discover").await;
    sleep(Duration::from_secs(30)).await;
    peer.answer(&again, discovered(&["2026-07-28"], json!({})))
        .await;
    let client = connecting.await.unwrap().unwrap();
    assert_eq!(client.revision(), Revision::V2026_07_28);
    finish(client, peer).await;
}

// `initialize` never carries a modern version.
// C-INIT-01.
#[tokio::test(start_paused = true)]
async fn a_legacy_client_begins_with_initialize_at_once() {
    let (server, stream) = Server::memory();
    let server = server
        .era(EraChoice::Legacy)
        .protocol(Revision::V2026_07_28);
    let connecting = start(async move { server.connect().await });
    let peer = Peer::new(stream, Revision::V2025_11_25);
    finish_legacy(connecting, peer, "2025-11-25", Revision::V2025_11_25).await;
}

#[tokio::test(start_paused = true)]
async fn a_pinned_revision_is_asked_for_without_a_probe() {
    for revision in LEGACY {
        let (server, stream) = Server::memory();
        let server = server.protocol(revision);
        let connecting = start(async move { server.connect().await });
        let peer = Peer::new(stream, revision);
        finish_legacy(connecting, peer, revision.as_str(), revision).await;
    }
}

// Streams cannot be opened a second time, so a server that hangs up on the probe is lost.
#[tokio::test(start_paused = true)]
async fn fault_30_streams_that_end_on_the_probe_are_lost() {
    let (server, stream) = Server::memory();
    let connecting = start({
        let server = server.clone();
        async move { server.connect().await }
    });
    let mut peer = Peer::new(stream, Revision::V2026_07_28);
    peer.request("server/discover").await;
    drop(peer);
    let error = refused(connecting).await;
    assert!(matches!(error, ConnectError::Lost(_)), "{error:?}");
    let again = server.connect().await.unwrap_err();
    assert!(
        matches!(again, Error::Connect(ConnectError::StreamsUsedUp)),
        "{again:?}"
    );
}
