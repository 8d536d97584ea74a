//! Faults 30, 33 and 35 with a real server process: starts, deadlines, and what is remembered.

#![cfg(target_os = "linux")]

use std::time::Duration;

use attache_client::protocol::{Era, Revision};
use attache_client::{Client, ConnectError, Error, Server, Timeouts};
use attache_testkit::chaos::{Action, BeforeInitialize, Launch, Script, When};
use serde_json::{Value, json};

use crate::opening::assert_balanced;

/// More than anything here takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// A probe that is given up soon.
const SHORT: Duration = Duration::from_millis(50);

fn server_of(launch: &Launch) -> Server {
    let server = Server::stdio(launch.program.clone(), launch.args.clone());
    let named = launch.env.iter().cloned();
    named.fold(server, |server, (name, value)| server.env(name, value))
}

fn hasty() -> Timeouts {
    Timeouts {
        probe: SHORT,
        start_grace: SHORT,
        start: PATIENCE,
        ..Timeouts::default()
    }
}

async fn finish(client: Client, launch: &Launch) {
    client.close().await;
    assert_balanced(&client);
    launch.tag().wait_until_gone(PATIENCE).unwrap();
}

fn methods(launch: &Launch) -> Vec<String> {
    let received = launch.received().unwrap();
    let name = |message: &Value| message["method"].as_str().unwrap_or("").to_owned();
    received.iter().map(name).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn fault_30_a_server_that_exits_on_the_probe_is_started_once_more_and_remembered() {
    let launch = Script::legacy("2025-06-18")
        .before_initialize(BeforeInitialize::Exit(1))
        .launch()
        .unwrap();
    let server = server_of(&launch);
    let client = server.connect().await.unwrap();
    assert_eq!(client.revision(), Revision::V2025_06_18);
    let answer = client.call("echo", json!({"message": "hi"})).await.unwrap();
    assert_eq!(answer.text(), "hi");
    assert_eq!(launch.starts().unwrap().len(), 2);
    finish(client, &launch).await;

    // C-MOD-16: the next connection, also of a clone, begins with `initialize`.
    let client = server.clone().connect().await.unwrap();
    assert_eq!(launch.starts().unwrap().len(), 3);
    assert_eq!(launch.received_of("server/discover").unwrap().len(), 1);
    assert_eq!(launch.received_of("initialize").unwrap().len(), 2);
    finish(client, &launch).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn fault_30_a_server_that_always_exits_is_started_twice_and_no_more() {
    let launch = Script::legacy("2025-06-18")
        .before_initialize(BeforeInitialize::Exit(3))
        .on(
            "initialize",
            [Action::stderr_line("no database"), Action::exit(3)],
        )
        .launch()
        .unwrap();
    let error = server_of(&launch).connect().await.unwrap_err();
    assert!(
        matches!(error, Error::Connect(ConnectError::Lost(_))),
        "{error:?}"
    );
    assert_eq!(
        error.to_string(),
        "no session came about: the server exited with code 3; its last words: no database"
    );
    assert_eq!(launch.starts().unwrap().len(), 2);
    launch.tag().wait_until_gone(PATIENCE).unwrap();
}

// C-MOD-16: what was remembered and proves wrong is forgotten.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn fault_30_a_memory_that_proves_wrong_is_dropped() {
    let launch = Script::legacy("2025-06-18").launch().unwrap();
    let server = server_of(&launch);
    let client = server.connect().await.unwrap();
    finish(client, &launch).await;
    assert_eq!(methods(&launch)[..2], ["server/discover", "initialize"]);

    // The same command is another server now.
    let refusing = Script::legacy("2025-06-18")
        .on("initialize", [Action::error(-32601, "no such method")])
        .launch()
        .unwrap();
    let script =
        |launch: &Launch| std::path::Path::new(launch.args.last().unwrap()).join("script.json");
    let original = std::fs::read(script(&launch)).unwrap();
    std::fs::copy(script(&refusing), script(&launch)).unwrap();
    let error = server.connect().await.unwrap_err();
    assert!(
        matches!(error, Error::Connect(ConnectError::Refused(_))),
        "{error:?}"
    );

    std::fs::write(script(&launch), original).unwrap();
    let client = server.connect().await.unwrap();
    assert_eq!(launch.received_of("server/discover").unwrap().len(), 2);
    finish(client, &launch).await;
}

// X-INIT-18.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn fault_33_a_server_that_never_answers_initialize_is_stopped_at_the_deadline() {
    let launch = Script::legacy("2025-06-18")
        .ignores_eof()
        .ignores_term()
        .on(
            "initialize",
            [
                Action::line("Listening on port 3000"),
                Action::stderr_line("thinking"),
                Action::never(),
            ],
        )
        .launch()
        .unwrap();
    let deadline = Duration::from_secs(2);
    let begun = std::time::Instant::now();
    let error = server_of(&launch).start_timeout(deadline).connect().await;
    let took = begun.elapsed();
    match error.unwrap_err() {
        Error::Connect(ConnectError::TimedOut {
            after,
            strays,
            stderr,
        }) => {
            assert_eq!(after, deadline);
            assert_eq!(strays, ["Listening on port 3000"]);
            assert_eq!(stderr, ["thinking"]);
        }
        other => panic!("{other:?}"),
    }
    assert!(took >= deadline && took < PATIENCE, "{took:?}");
    launch.tag().wait_until_gone(PATIENCE).unwrap();
    assert_eq!(launch.starts().unwrap().len(), 1);
}

/// Waits for ever where over a pipe a short wait is enough.
fn patient() -> Timeouts {
    Timeouts {
        probe: Duration::MAX,
        start_grace: Duration::MAX,
        start: PATIENCE,
        ..Timeouts::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn fault_67_a_silent_server_is_greeted_beside_the_probe_and_remembered() {
    let launch = Script::legacy("2025-06-18")
        .on("server/discover", [Action::never()])
        .launch()
        .unwrap();
    let server = server_of(&launch).timeouts(patient());
    let client = server.connect().await.unwrap();
    assert_eq!(client.revision(), Revision::V2025_06_18);
    assert_eq!(methods(&launch)[..2], ["server/discover", "initialize"]);
    assert!(server.is_probed_in_vain());
    finish(client, &launch).await;

    // A caller that kept that in mind saves the probe.
    let told = server_of(&launch).timeouts(patient()).unprobed();
    let client = told.connect().await.unwrap();
    assert!(told.is_probed_in_vain());
    assert_eq!(launch.received_of("server/discover").unwrap().len(), 1);
    finish(client, &launch).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn fault_67_a_memory_of_another_program_that_is_wrong_costs_one_start() {
    let launch = Script::modern().launch().unwrap();
    let told = server_of(&launch).timeouts(patient()).unprobed();
    assert_eq!(told.max_processes_per_connect(), 2);
    let client = told.connect().await.unwrap();
    assert_eq!(client.revision().era(), Era::Modern);
    assert_eq!(launch.starts().unwrap().len(), 2);
    assert!(!told.is_probed_in_vain());
    finish(client, &launch).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn fault_67_a_server_that_answers_the_probe_needs_no_memory() {
    for script in [Script::legacy("2025-06-18"), Script::dual()] {
        let launch = script.launch().unwrap();
        let server = server_of(&launch).timeouts(patient());
        let client = server.connect().await.unwrap();
        assert!(!server.is_probed_in_vain());
        finish(client, &launch).await;
    }
}

// The server reads nothing for a while, as when a package runner downloads it first. The wait for
// an answer begins when it reads, so that one of the modern era never sees `initialize`.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn fault_35_a_slow_cold_start_ends_in_the_right_era() {
    for (script, era) in [
        (Script::modern(), Era::Modern),
        (Script::dual(), Era::Modern),
        (Script::legacy("2025-11-25"), Era::Legacy),
    ] {
        let launch = script
            .on(When::start(), [Action::wait(14 * SHORT)])
            .launch()
            .unwrap();
        let client = server_of(&launch)
            .timeouts(patient())
            .connect()
            .await
            .unwrap();
        assert_eq!(client.revision().era(), era);
        let greeted = usize::from(era == Era::Legacy);
        assert_eq!(launch.received_of("initialize").unwrap().len(), greeted);
        assert_eq!(launch.starts().unwrap().len(), 1);
        finish(client, &launch).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn fault_35_a_late_success_still_registers() {
    let launch = Script::dual()
        .on(
            "server/discover",
            [Action::wait_received("initialize"), Action::usual()],
        )
        .on("initialize", [Action::never()])
        .launch()
        .unwrap();
    let client = server_of(&launch)
        .timeouts(hasty())
        .connect()
        .await
        .unwrap();
    assert_eq!(client.revision(), Revision::V2026_07_28);
    let answer = client.call("add", json!({"a": 2, "b": 2})).await.unwrap();
    assert_eq!(answer.text(), "4");
    finish(client, &launch).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn fault_35_the_deadline_for_starting_is_the_servers_own() {
    let launch = Script::modern()
        .on(When::start(), [Action::never()])
        .launch()
        .unwrap();
    let impatient = server_of(&launch).start_timeout(10 * SHORT);
    let error = impatient.connect().await.unwrap_err();
    assert!(
        matches!(error, Error::Connect(ConnectError::TimedOut { after, .. }) if after == 10 * SHORT),
        "{error:?}"
    );
    launch.tag().wait_until_gone(PATIENCE).unwrap();
}
