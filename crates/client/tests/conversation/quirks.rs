//! Each quirk of a server shows its deviating bytes, and the default shows the standard ones
//! (docs/seeds.md; the row numbers are of that page).

use std::collections::BTreeMap;
use std::time::Duration;

use attache_client::protocol::frame::EmptyParams;
use attache_client::protocol::{Ending, Revision};
use attache_client::{
    CancelForm, Client, ErrorAlias, Event, InitializedNotice, Meaning, MissingInputSchema,
    ProgressTokenForm, Quirks, Server, ServerError, ShutdownForm,
};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::opening::{
    ERAS, assert_balanced, assert_elapsed, connected, everything, finish, finish_with_liberties,
    initialized, plain, soon, start,
};
use crate::peer::Peer;

const REVISION: Revision = Revision::V2025_11_25;

async fn quirky(quirks: Quirks) -> (Client, Peer) {
    connected(REVISION, |server| server.quirks(quirks)).await
}

// Row 1: the standard form of cancelling, the form of language servers, or both in that order.
#[tokio::test(start_paused = true)]
async fn a_request_is_cancelled_in_the_form_the_server_knows() {
    let standard = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"cancelled by the caller"}}"#;
    let lsp = r#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":2}}"#;
    for (form, expected) in [
        (CancelForm::Standard, vec![standard]),
        (CancelForm::Lsp, vec![lsp]),
        (CancelForm::Both, vec![standard, lsp]),
    ] {
        let (client, mut peer) = quirky(Quirks {
            cancel: form,
            ..Quirks::default()
        })
        .await;
        let call = start(client.call("slow", json!({})));
        peer.request("tools/call").await;
        call.abort();
        for line in expected {
            assert_eq!(peer.line().await.unwrap(), line, "{form:?}");
        }
        finish_with_liberties(client, peer).await;
    }
    assert_eq!(Quirks::default().cancel, CancelForm::Standard);
    assert_eq!(Quirks::lsp().cancel, CancelForm::Both);
}

// Row 13: the token of seed 003, and none where no caller listens (X-PROG-01).
#[tokio::test(start_paused = true)]
async fn progress_is_asked_for_by_the_token_the_server_expects() {
    for (form, token) in [
        (ProgressTokenForm::Number, json!(2)),
        (ProgressTokenForm::Tool, json!("tool-2")),
    ] {
        let (client, mut peer) = quirky(Quirks {
            progress_token: form,
            ..Quirks::default()
        })
        .await;
        let (notes, mut heard) = tokio::sync::mpsc::unbounded_channel();
        let call = client.call("index", json!({}));
        let call = start(call.on_progress(move |note| notes.send(note.progress).unwrap()));
        let request = peer.request("tools/call").await;
        assert_eq!(request["params"]["_meta"]["progressToken"], token);
        peer.progress(&request, 50.0).await;
        peer.answer_text(&request, "done").await;
        call.await.unwrap().unwrap();
        assert_eq!(heard.recv().await, Some(50.0), "{form:?}");

        let call = start(client.call("index", json!({})));
        let request = peer.request("tools/call").await;
        assert_eq!(request["params"]["_meta"], Value::Null);
        peer.answer_text(&request, "done").await;
        call.await.unwrap().unwrap();
        finish(client, peer).await;
    }
    assert_eq!(Quirks::lsp().progress_token, ProgressTokenForm::Tool);
}

// Seed 004: a tool without a schema works, and it is said once that it has none.
#[tokio::test(start_paused = true)]
async fn a_repaired_schema_is_told_once() {
    let (client, mut peer) = quirky(Quirks::default()).await;
    let mut events = client.events();
    for _ in 0..2 {
        let listing = start({
            let client = client.clone();
            async move { client.list_tools().await }
        });
        let request = peer.request("tools/list").await;
        let tools = json!({"tools": [{"name": "a"}, {"name": "b"}]});
        peer.answer(&request, tools).await;
        assert_eq!(listing.await.unwrap().unwrap().len(), 2);
    }
    assert_eq!(client.statistics().violations, 1);
    let told = soon(events.next()).await.unwrap();
    let expected = "no inputSchema, so any object is taken for arguments: a, b";
    assert_eq!(*told, Event::Violation(expected.to_owned()));
    finish_with_liberties(client, peer).await;
}

// Row 2: there is no shutdown message in any revision; the end of the stream says it.
#[tokio::test(start_paused = true)]
async fn a_session_ends_with_its_stream() {
    for revision in ERAS {
        let (client, mut peer) = plain(revision).await;
        let begun = Instant::now();
        let closing = start({
            let client = client.clone();
            async move { client.close().await }
        });
        peer.hears_the_end().await;
        assert_elapsed(begun, Duration::ZERO);
        drop(peer);
        closing.await.unwrap();
        assert_elapsed(begun, Duration::ZERO);
        assert_balanced(&client);
    }
}

/// What a server does about `shutdown`.
#[derive(Clone, Copy, Debug)]
enum OnShutdown {
    /// Row 3: the result of language servers.
    AnswersNull,
    AnswersEmpty,
    Refuses,
    SaysNothing,
}

// Row 2: `shutdown`, whatever the answer, `exit`, then the end of the stream.
#[tokio::test(start_paused = true)]
async fn a_session_may_be_shut_down_as_language_servers_are() {
    for reaction in [
        OnShutdown::AnswersNull,
        OnShutdown::AnswersEmpty,
        OnShutdown::Refuses,
        OnShutdown::SaysNothing,
    ] {
        let (client, mut peer) = quirky(Quirks {
            shutdown: ShutdownForm::Lsp,
            ..Quirks::default()
        })
        .await;
        let begun = Instant::now();
        let closing = start({
            let client = client.clone();
            async move { client.close().await }
        });
        let line = peer.line().await.unwrap();
        assert_eq!(line, r#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#);
        let request: Value = serde_json::from_str(&line).unwrap();
        match reaction {
            OnShutdown::AnswersNull => {
                peer.say(json!({"jsonrpc": "2.0", "id": 2, "result": null}))
                    .await;
            }
            OnShutdown::AnswersEmpty => peer.answer(&request, json!({})).await,
            OnShutdown::Refuses => peer.refuse(&request, -32601, Value::Null).await,
            OnShutdown::SaysNothing => peer.cancellation(&request).await,
        }
        let exit = r#"{"jsonrpc":"2.0","method":"exit"}"#;
        assert_eq!(peer.line().await.unwrap(), exit, "{reaction:?}");
        peer.hears_the_end().await;
        let waited = match reaction {
            OnShutdown::SaysNothing => Duration::from_secs(2),
            _ => Duration::ZERO,
        };
        assert_elapsed(begun, waited);
        drop(peer);
        closing.await.unwrap();
        assert_balanced(&client);
    }
}

// Row 3: a result is an object. Where it is an empty one null is read as that; a method that this
// client does not know has its answer handed on as it came.
#[tokio::test(start_paused = true)]
async fn fault_71_a_null_result_is_an_empty_one_where_the_result_is_empty() {
    let (client, mut peer) = plain(REVISION).await;
    let ping = start({
        let client = client.clone();
        async move { client.ping().await }
    });
    let request = peer.request("ping").await;
    peer.say(json!({"jsonrpc": "2.0", "id": request["id"], "result": null}))
        .await;
    ping.await.unwrap().unwrap();
    let raw = start({
        let client = client.clone();
        async move { client.request_raw("custom/method", json!({"a": 1})).await }
    });
    let request = peer.request("custom/method").await;
    assert_eq!(request["params"], json!({"a": 1}));
    peer.say(json!({"jsonrpc": "2.0", "id": request["id"], "result": null}))
        .await;
    assert_eq!(raw.await.unwrap().unwrap().as_bytes(), b"null");
    finish_with_liberties(client, peer).await;
}

// Row 4: `notifications/initialized` is sent unless the server breaks on it.
// C-INIT-06.
#[tokio::test(start_paused = true)]
async fn the_handshake_ends_with_a_notice_unless_told_otherwise() {
    for notice in [InitializedNotice::Send, InitializedNotice::Skip] {
        let (server, stream) = Server::memory();
        let server = server.protocol(REVISION).quirks(Quirks {
            initialized: notice,
            ..Quirks::default()
        });
        let connecting = start(async move { server.connect().await });
        let mut peer = Peer::new(stream, REVISION);
        let request = peer.request("initialize").await;
        peer.answer(&request, initialized("2025-11-25", everything(REVISION)))
            .await;
        let client = connecting.await.unwrap().unwrap();
        if notice == InitializedNotice::Send {
            let line = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
            assert_eq!(peer.line().await.unwrap(), line);
        }
        finish(client, peer).await;
    }
}

/// The bytes of a `tools/list` without a cursor.
async fn bytes_of_a_list(revision: Revision, quirks: Quirks) -> String {
    let (client, mut peer) = connected(revision, |server| server.quirks(quirks)).await;
    let list = start({
        let client = client.clone();
        async move { client.list_tools().await }
    });
    let line = peer.line().await.unwrap();
    peer.answer(&json!({"id": 2}), json!({"tools": []})).await;
    list.await.unwrap().unwrap();
    finish(client, peer).await;
    line
}

// Rows 17 and 18: empty params are left out, or written as an object; never as null.
#[tokio::test(start_paused = true)]
async fn empty_params_are_left_out_or_written() {
    let written = Quirks {
        empty_params: EmptyParams::Write,
        ..Quirks::default()
    };
    let bare = bytes_of_a_list(REVISION, Quirks::default()).await;
    assert_eq!(bare, r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
    let spelt = bytes_of_a_list(REVISION, written).await;
    assert_eq!(
        spelt,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#
    );
    // A modern request is never without params.
    let modern = bytes_of_a_list(Revision::V2026_07_28, Quirks::default()).await;
    let begins = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"#;
    assert!(modern.starts_with(begins), "{modern}");
}

// Row 18: null params of a server are read as none.
#[tokio::test(start_paused = true)]
async fn null_params_are_read_as_none() {
    let (client, mut peer) = connected(REVISION, |server| server.roots([])).await;
    let mut events = client.events();
    peer.notify("notifications/tools/list_changed", Value::Null)
        .await;
    let expected = attache_client::Event::ToolsChanged { subscription: None };
    assert_eq!(*soon(events.next()).await.unwrap(), expected);
    for (method, result) in [("ping", json!({})), ("roots/list", json!({"roots": []}))] {
        peer.ask(json!(method), method, Value::Null).await;
        assert_eq!(peer.next().await["result"], result);
    }
    finish(client, peer).await;
}

/// The error of a request that is answered with this code.
async fn refused(
    revision: Revision,
    quirks: Quirks,
    reads: bool,
    code: i64,
    data: Value,
) -> ServerError {
    let (client, mut peer) = connected(revision, |server| server.quirks(quirks)).await;
    let error = if reads {
        let read = start(client.read("note:1"));
        let request = peer.request("resources/read").await;
        peer.refuse(&request, code, data).await;
        read.await.unwrap().unwrap_err()
    } else {
        let call = start(client.call("work", json!({})));
        let request = peer.request("tools/call").await;
        peer.refuse(&request, code, data).await;
        call.await.unwrap().unwrap_err()
    };
    assert_eq!(client.statistics().calls.count(Ending::ServerError), 1);
    finish(client, peer).await;
    match error {
        attache_client::Error::Server(error) => error,
        other => panic!("{other:?}"),
    }
}

// Rows 25 to 29: the code is kept as it came; its meaning depends on the question, the era, and
// on what this server's settings say.
#[tokio::test(start_paused = true)]
async fn error_codes_mean_what_the_context_says() {
    let modern = Revision::V2026_07_28;
    let named = json!({"uri": "note:1"});
    let notes = || Quirks {
        error_aliases: BTreeMap::from([(-32000, ErrorAlias::ResourceNotFound)]),
        ..Quirks::default()
    };
    let standard = Quirks::default;
    let lsp = || Quirks {
        error_aliases: Quirks::lsp().error_aliases,
        ..Quirks::default()
    };
    let (reads, calls) = (true, false);
    for (revision, quirks, kind, code, data, expected) in [
        // Row 25.
        (
            REVISION,
            standard(),
            reads,
            -32002,
            Value::Null,
            Meaning::ResourceNotFound,
        ),
        (
            modern,
            standard(),
            reads,
            -32002,
            Value::Null,
            Meaning::ResourceNotFound,
        ),
        (
            modern,
            standard(),
            reads,
            -32602,
            Value::Null,
            Meaning::ResourceNotFound,
        ),
        (
            REVISION,
            standard(),
            reads,
            -32602,
            Value::Null,
            Meaning::InvalidParams,
        ),
        (
            REVISION,
            standard(),
            reads,
            -32000,
            named.clone(),
            Meaning::ResourceNotFound,
        ),
        (
            REVISION,
            standard(),
            reads,
            -32000,
            Value::Null,
            Meaning::Other,
        ),
        (
            REVISION,
            notes(),
            reads,
            -32000,
            Value::Null,
            Meaning::ResourceNotFound,
        ),
        // Row 26.
        (
            REVISION,
            lsp(),
            calls,
            -32002,
            Value::Null,
            Meaning::Cancelled,
        ),
        (
            REVISION,
            lsp(),
            reads,
            -32002,
            Value::Null,
            Meaning::ResourceNotFound,
        ),
        // Row 27: a time-out is a code on the wire in the dialect only.
        (
            REVISION,
            standard(),
            calls,
            -32001,
            Value::Null,
            Meaning::Other,
        ),
        (
            REVISION,
            lsp(),
            calls,
            -32001,
            Value::Null,
            Meaning::TimedOut,
        ),
        // Fault 73: only a read can miss a resource.
        (
            REVISION,
            standard(),
            calls,
            -32002,
            Value::Null,
            Meaning::Other,
        ),
        (
            REVISION,
            notes(),
            calls,
            -32000,
            Value::Null,
            Meaning::Other,
        ),
        // Rows 28 and 29.
        (
            REVISION,
            lsp(),
            calls,
            -32000,
            Value::Null,
            Meaning::ToolFailed,
        ),
        (REVISION, standard(), calls, -32000, named, Meaning::Other),
    ] {
        let error = refused(revision, quirks.clone(), kind, code, data.clone()).await;
        assert_eq!(
            error.meaning, expected,
            "{revision} {code} {data} {quirks:?}"
        );
        assert_eq!((error.code, error.message.as_str()), (code, "no"));
        let kept = error
            .data
            .map(|data| data.to_value().unwrap())
            .unwrap_or_default();
        assert_eq!(kept, data);
    }
}

// Row 28: a tool that fails says so in its result, in any dialect.
// C-TOOL-10.
#[tokio::test(start_paused = true)]
async fn a_failed_tool_is_a_result() {
    for quirks in [
        Quirks::default(),
        Quirks {
            shutdown: ShutdownForm::Close,
            ..Quirks::lsp()
        },
    ] {
        let (client, mut peer) = quirky(quirks).await;
        let call = start(client.call("work", json!({})));
        let request = peer.request("tools/call").await;
        peer.answer(&request, json!({"content": [], "isError": true}))
            .await;
        assert!(call.await.unwrap().unwrap().is_error);
        finish(client, peer).await;
    }
}

// Row 41: a tool without an input schema takes any object, or counts as malformed.
#[tokio::test(start_paused = true)]
async fn a_missing_input_schema_is_repaired_or_rejected() {
    for choice in [MissingInputSchema::Repair, MissingInputSchema::Reject] {
        let (client, mut peer) = quirky(Quirks {
            missing_input_schema: choice,
            ..Quirks::default()
        })
        .await;
        let list = start({
            let client = client.clone();
            async move { client.list_tools().await }
        });
        let request = peer.request("tools/list").await;
        let tools = json!([
            {"name": "sync_repository", "description": "Pull"},
            {"name": "search_notes", "inputSchema": {"type": "object"}},
        ]);
        peer.answer(&request, json!({"tools": tools})).await;
        let tools = list.await.unwrap().unwrap();
        if choice == MissingInputSchema::Repair {
            assert_eq!(
                tools.by_name("sync_repository").unwrap().schema(),
                r#"{"type":"object"}"#
            );
            assert_eq!((tools.len(), tools.rejected.len()), (2, 0));
        } else {
            assert!(tools.by_name("sync_repository").is_none());
            assert_eq!(tools.rejected[0].reason, "the tool has no inputSchema");
            let raw = r#"{"name":"sync_repository","description":"Pull"}"#;
            assert_eq!(tools.rejected[0].raw.as_str(), raw);
        }
        finish(client, peer).await;
    }
}
