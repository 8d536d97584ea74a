//! What a hostile server can make a client hold (P4), each time in a process of its own.
//!
//! Owns the measuring: a test runs this executable again with only itself selected, so that
//! the peak of the process is the peak of that one connection. Linux only, like `/proc`.

use std::process::Command;

use attache_client::protocol::{DEFAULT_MAX_FRAME, Revision};
use attache_client::{CloseReason, Limits};
use attache_testkit::chaos::{Action, Emit, Reply, Script, When, Writing};
use attache_testkit::processes::{Usage, usage};
use serde_json::json;

use crate::support::{Peer, at_once, eventually, guarded, problem_of, script, unknown_because};

/// Says which test a process is for.
const ONLY: &str = "ATTACHE_MEMORY_TEST";
const REVISION: Revision = Revision::V2026_07_28;
const MEBIBYTE: u64 = 1024 * 1024;
const FRAME: u64 = DEFAULT_MAX_FRAME as u64;
/// What one server may cost at most.
const ALLOWED: u64 = 2 * FRAME + MEBIBYTE;

/// Runs `test` in a fresh process: this executable with only the test `name` selected.
fn in_fresh_process(name: &str, test: impl AsyncFnOnce() + Send + 'static) {
    if std::env::var(ONLY).is_ok_and(|only| only == name) {
        return guarded(test);
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(ONLY, name)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let complained = String::from_utf8_lossy(&output.stderr);
    // An unknown name selects nothing and succeeds.
    let passed = output.status.success() && said.contains("1 passed");
    assert!(passed, "{said}\n{complained}");
}

fn own() -> Usage {
    usage(std::process::id()).unwrap()
}

/// Connects, and makes sure that all that every connection needs is there before the
/// measuring begins.
async fn start(script: Script) -> Peer {
    let peer = Peer::start(REVISION, &script).await;
    peer.echoes().await;
    peer
}

/// The peak has risen by no more than allowed since `before`.
#[track_caller]
fn assert_bounded(before: &Usage, allowed: u64) {
    let rise = own().peak_resident - before.peak_resident;
    assert!(rise <= allowed, "it took {rise} bytes of {allowed}");
}

/// A string of nearly a frame, between two pieces of a message.
fn long_string(before: &str, behind: &str) -> [Action; 3] {
    let kilobytes = FRAME / 1024 - 1;
    [
        Action::raw(before),
        Emit::text("x".repeat(1024)).times(kilobytes).into(),
        Action::line(behind),
    ]
}

/// The processor time this process has used, in seconds.
fn processor_time() -> f64 {
    const TICKS_PER_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: u32 = ticks.map(|field| field.parse::<u32>().unwrap()).sum();
    f64::from(ticks) / TICKS_PER_SECOND
}

#[test]
fn fault_23_p4_an_endless_line_takes_bounded_memory_and_gives_it_back() {
    in_fresh_process(
        "memory::fault_23_p4_an_endless_line_takes_bounded_memory_and_gives_it_back",
        async || {
            let endless = [Action::endless_line()];
            let peer = start(script(REVISION).on(When::tool("flood"), endless)).await;
            let before = own();
            let call = peer.client.call("flood", json!({}));
            let reason = CloseReason::FrameTooLong {
                limit: DEFAULT_MAX_FRAME,
            };
            assert_eq!(unknown_because(call.await), reason);
            assert_bounded(&before, ALLOWED);
            let resident = || own().resident;
            let rest = before.resident + 2 * MEBIBYTE;
            eventually(resident, |resident| *resident <= rest).await;
            peer.is_gone();
            peer.finish().await;
        },
    );
}

#[test]
fn fault_23_an_endless_line_is_searched_in_linear_time() {
    in_fresh_process(
        "memory::fault_23_an_endless_line_is_searched_in_linear_time",
        async || {
            // Small pieces make many reads, and the line is long: searching all of it again
            // with each read takes ten seconds and more, each piece once a fraction of one.
            let pieces = Writing::chunks(4096).into();
            let frame = 4 * DEFAULT_MAX_FRAME;
            let script = script(REVISION).on(When::tool("flood"), [pieces, Action::endless_line()]);
            let peer = Peer::start_with(REVISION, &script, |server| {
                server.limits(Limits {
                    frame,
                    ..Limits::default()
                })
            })
            .await;
            let begun = processor_time();
            let reason = unknown_because(peer.client.call("flood", json!({})).await);
            assert_eq!(reason, CloseReason::FrameTooLong { limit: frame });
            let spent = processor_time() - begun;
            assert!(spent < 3.0, "{spent} s of processor time");
            peer.finish().await;
        },
    );
}

#[test]
fn p4_the_longest_legal_frame_takes_two_frames_when_decoded() {
    in_fresh_process(
        "memory::p4_the_longest_legal_frame_takes_two_frames_when_decoded",
        async || {
            let longest = Reply::frame_of(DEFAULT_MAX_FRAME).into();
            let peer = start(script(REVISION).on(When::tool("long"), [longest])).await;
            let before = own();
            let result = peer.client.call("long", json!({})).await.unwrap();
            assert_bounded(&before, ALLOWED);
            assert!(result.content[0].as_text().unwrap().len() as u64 > FRAME - 1000);
            peer.echoes().await;
            peer.finish().await;
        },
    );
}

#[test]
fn p4_a_long_malformed_error_takes_two_frames_at_most() {
    in_fresh_process(
        "memory::p4_a_long_malformed_error_takes_two_frames_at_most",
        async || {
            let error = long_string(r#"{"jsonrpc":"2.0","id":"$id","error":""#, r#""}"#);
            let peer = start(script(REVISION).on(When::tool("error"), error)).await;
            let before = own();
            problem_of(peer.client.call("error", json!({})).await);
            assert_bounded(&before, ALLOWED);
            peer.echoes().await;
            peer.finish().await;
        },
    );
}

#[test]
fn p4_a_long_malformed_result_takes_two_frames_at_most() {
    in_fresh_process(
        "memory::p4_a_long_malformed_result_takes_two_frames_at_most",
        async || {
            let before = r#"{"jsonrpc":"2.0","id":"$id","result":{"tools":""#;
            let tools = long_string(before, r#""}}"#);
            let peer = start(script(REVISION).on("tools/list", tools)).await;
            let before = own();
            problem_of(peer.client.list_tools().await);
            assert_bounded(&before, ALLOWED);
            peer.echoes().await;
            peer.finish().await;
        },
    );
}

#[test]
fn p4_the_stderr_tail_costs_little_more_than_its_bytes() {
    in_fresh_process(
        "memory::p4_the_stderr_tail_costs_little_more_than_its_bytes",
        async || {
            let empty_lines = Emit::text("\n".repeat(1024)).times(1024).on_stderr();
            let peer = start(script(REVISION).on(
                When::tool("mutter"),
                [empty_lines.into(), Action::text("done")],
            ))
            .await;
            let before = own();
            assert_eq!(peer.text("mutter").await.unwrap(), "done");
            let stderr = peer.client.stderr();
            let read = || stderr.dropped_bytes();
            eventually(read, |dropped| *dropped == MEBIBYTE - 64 * 1024).await;
            assert_bounded(&before, MEBIBYTE);
            assert_eq!(stderr.tail().len(), 64 * 1024);
            peer.finish().await;
        },
    );
}

#[test]
fn p4_a_peer_that_only_babbles_takes_less_than_a_mebibyte() {
    in_fresh_process(
        "memory::p4_a_peer_that_only_babbles_takes_less_than_a_mebibyte",
        async || {
            let babble = [
                Emit::line("no message at all").times(20_000).into(),
                Action::flood(20_000, "notifications/x", json!({"n": "$n"})),
                Emit::line(r#"{"jsonrpc":"2.0","id":999999,"result":{}}"#)
                    .times(20_000)
                    .into(),
                Action::text("done"),
            ];
            let peer = start(script(REVISION).on(When::tool("babble"), babble)).await;
            // A reader that does not read.
            let _events = peer.client.events();
            let before = own();
            let call = peer.client.call("babble", json!({}));
            assert_eq!(at_once("babble", call).await.unwrap().text(), "done");
            assert_bounded(&before, MEBIBYTE);
            let counted = peer.client.statistics();
            assert_eq!(
                (counted.stray_lines, counted.unknown_answers),
                (20_000, 20_000)
            );
            assert_eq!(counted.missed_events, 40_000 - 1024);
            peer.finish().await;
        },
    );
}
