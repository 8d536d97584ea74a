//! Starting, crashing, parking, restarting, reloading.

use std::time::Duration;

use attache_host::client::protocol::{Implementation, LogLevel};
use attache_host::client::{CloseReason, EraChoice, Error as ClientError, ExitReason, Server};
use attache_host::config::{ServerConfig, Start, Transport};
use attache_host::snapshot::ServerState;
use attache_host::{Cause, Error};
use attache_testkit::chaos::{Action, Grandchild, When};
use serde_json::json;
use tokio::task::JoinSet;

use crate::support::{
    Fleet, PATIENCE, config, config_of, eventually, guarded, kill, script, within,
};

#[test]
fn a_server_is_started_by_its_first_use_or_at_once_if_it_is_eager() {
    guarded(async || {
        let lazy = Fleet::one(&script());
        assert_eq!(lazy.server("one").state, ServerState::Configured);
        lazy.echoes("one").await;
        assert_eq!(lazy.server("one").state, ServerState::Ready);
        lazy.finish().await;

        let eager = |config: &mut ServerConfig| config.start = Start::Eager;
        let eager = Fleet::with([("one", script())], eager, |builder| builder);
        eager.comes_to("one", ServerState::Ready).await;
        eager.finish().await;
    });
}

#[test]
fn the_log_level_is_told_to_every_connection() {
    guarded(async || {
        let warning =
            |config: &mut ServerConfig| config.server.settings.log_level = Some(LogLevel::Warning);
        let configured = Fleet::with([("one", script())], warning, |builder| builder);
        configured.echoes("one").await;
        within("restart", configured.host.restart("one"))
            .await
            .unwrap();
        configured.echoes("one").await;
        let levels = configured
            .launch()
            .wait_received_of("logging/setLevel", 2, PATIENCE);
        for request in levels.unwrap() {
            assert_eq!(request["params"]["level"], "warning");
        }
        configured.finish().await;

        // A level that is chosen while the server runs outlives the connection too.
        let chosen = Fleet::one(&script());
        let set = chosen.host.set_log_level("one", LogLevel::Error);
        within("level", set).await.unwrap();
        kill(chosen.server("one").process_id.unwrap()).await;
        chosen.echoes("one").await;
        let levels = chosen
            .launch()
            .wait_received_of("logging/setLevel", 2, PATIENCE);
        for request in levels.unwrap() {
            assert_eq!(request["params"]["level"], "error");
        }
        chosen.finish().await;
    });
}

#[test]
fn servers_are_told_the_name_that_the_program_or_the_file_gives() {
    guarded(async || {
        let own = |config: &mut ServerConfig| {
            if config.name.as_str() == "own" {
                config.client = Some(Implementation::new("smolcode", "2"));
            }
        };
        let scripts = [("common", script()), ("own", script())];
        let identity = Implementation::new("project_chat", "1.0");
        let fleet = Fleet::with(scripts, own, |builder| builder.identity(identity));
        for (server, launch, expected) in [
            (
                "common",
                0,
                json!({"name": "project_chat", "version": "1.0"}),
            ),
            ("own", 1, json!({"name": "smolcode", "version": "2"})),
        ] {
            fleet.echoes(server).await;
            let handshakes = fleet.launches[launch].received_of("initialize").unwrap();
            assert_eq!(handshakes[0]["params"]["clientInfo"], expected);
        }
        fleet.finish().await;
    });
}

// H-BASE-18.
#[test]
fn fault_15_a_hundred_first_calls_are_one_start() {
    guarded(async || {
        let fleet = Fleet::one(&script().on(When::start(), [Action::wait_ms(100)]));
        let mut calls = JoinSet::new();
        for number in 0..100 {
            let call = fleet
                .host
                .call("one/echo", json!({"message": number.to_string()}))
                .origin(attache_host::policy::CallOrigin::Person);
            calls.spawn(async move { (number, call.await.unwrap().text()) });
        }
        for (number, text) in within("calls", calls.join_all()).await {
            assert_eq!(text, number.to_string());
        }
        assert_eq!(fleet.launch().starts().unwrap().len(), 1);
        assert_eq!(fleet.server("one").starts, 1);
        fleet.finish().await;
    });
}

// C-STDIO-14.
#[test]
fn a_server_killed_between_two_calls_answers_the_second() {
    guarded(async || {
        let fleet = Fleet::one(&script());
        fleet.echoes("one").await;
        kill(fleet.server("one").process_id.unwrap()).await;
        fleet.echoes("one").await;
        assert_eq!(fleet.server("one").starts, 2);
        let failure = fleet.server("one").last_failure.unwrap();
        assert!(failure.cause.contains("SIGKILL"), "{failure:?}");
        fleet.finish().await;
    });
}

#[test]
fn a_server_killed_during_a_call_ends_it_with_the_truth_and_is_not_asked_twice() {
    guarded(async || {
        let effect_and_silence = [Action::effect(), Action::never()];
        let fleet = Fleet::one(&script().on(When::tool("pay"), effect_and_silence));
        fleet.echoes("one").await;
        let call = fleet.call("one/pay", json!({"key": "order-7"}));
        let process = fleet.server("one").process_id.unwrap();
        let murder = async {
            let launch = fleet.launch();
            eventually(|| launch.effects().unwrap().len(), |count| *count == 1).await;
            kill(process).await;
        };
        let (answer, ()) = tokio::join!(call, murder);
        let Err(Error::Request {
            error: ClientError::OutcomeUnknown { reason, .. },
            ..
        }) = answer
        else {
            panic!("expected an unknown outcome, got {answer:?}");
        };
        let killed = matches!(
            reason,
            CloseReason::Exited {
                exit: ExitReason::Signal(9),
                ..
            }
        );
        assert!(killed, "{reason:?}");
        // The server comes back by itself, and the payment was made once.
        fleet.comes_to("one", ServerState::Ready).await;
        fleet.echoes("one").await;
        assert_eq!(fleet.launch().effects().unwrap(), ["order-7"]);
        fleet.finish().await;
    });
}

#[test]
fn fault_14_a_crash_loop_ends_parked_with_the_reason_and_leaves_others_alone() {
    guarded(async || {
        let crashing = script().on(
            When::start(),
            [Action::stderr_line("no licence found"), Action::exit(3)],
        );
        // Its era is known, so that every start is one process.
        let legacy = |config: &mut ServerConfig| config.server.settings.era = EraChoice::Legacy;
        let scripts = [("bad", crashing), ("good", script())];
        let fleet = Fleet::with(scripts, legacy, |builder| builder);
        let failed = fleet.call("bad/echo", json!({})).await;
        let Err(Error::Parked { failure, .. }) = failed else {
            panic!("expected a parked server, got {failed:?}");
        };
        assert_eq!(failure.stderr, ["no licence found"]);
        assert!(failure.cause.to_string().contains("exited with code 3"));
        // Promise 3, with a real clock: five starts, then none.
        assert_eq!(fleet.launches[0].starts().unwrap().len(), 5);
        fleet.echoes("good").await;
        let parked = fleet.server("bad");
        assert_eq!(parked.state, ServerState::Parked);
        assert_eq!(parked.last_failure.unwrap().stderr, ["no licence found"]);
        assert!(fleet.call("bad/echo", json!({})).await.is_err());
        assert_eq!(fleet.launches[0].starts().unwrap().len(), 5);
        fleet.finish().await;
    });
}

#[test]
fn promise_3_processes_of_a_probe_count_as_starts() {
    guarded(async || {
        let crashing = script().on(When::start(), [Action::exit(3)]);
        let fleet = Fleet::one(&crashing);
        assert!(fleet.call("one/echo", json!({})).await.is_err());
        assert_eq!(fleet.server("one").state, ServerState::Parked);
        let processes = fleet.launch().starts().unwrap().len();
        assert!((2..=5).contains(&processes), "{processes}");
        fleet.finish().await;
    });
}

#[test]
fn fault_13_a_missing_command_is_parked_at_once_and_a_restart_gives_it_another_chance() {
    guarded(async || {
        let folder = attache_testkit::scratch::Scratch::new("missing").unwrap();
        let program = folder.path().join("server");
        let launch = script().launch().unwrap();
        let mut server = config_of("one", &launch);
        if let Transport::Stdio(launch) = server.server.transport_mut() {
            launch.program = program.clone().into();
        }
        let host = attache_host::Host::builder()
            .config(config([server]))
            .start();
        let fleet = Fleet {
            host,
            launches: vec![launch],
        };
        let failed = fleet.call("one/echo", json!({})).await;
        let Err(Error::Parked { failure, .. }) = failed else {
            panic!("expected a parked server, got {failed:?}");
        };
        assert!(matches!(failure.cause, Cause::Start(ClientError::Spawn(_))));
        assert_eq!(fleet.server("one").starts, 1);

        #[cfg(unix)]
        std::os::unix::fs::symlink(&fleet.launch().program, &program).unwrap();
        fleet.host.restart("one").await.unwrap();
        within("ready", fleet.host.ready("one")).await.unwrap();
        fleet.echoes("one").await;
        fleet.finish().await;
    });
}

#[test]
fn fault_7_a_reload_stops_what_left_also_while_it_starts() {
    guarded(async || {
        // It has a grandchild of its own session already and never gets ready.
        let grandchild = Grandchild {
            setsid: false,
            ..Grandchild::default()
        };
        let starting = script().on(
            When::start(),
            [Action::spawn(grandchild), Action::wait_gate("never")],
        );
        let fleet = Fleet::new([("leaves", starting), ("stays", script())]);
        fleet.echoes("stays").await;
        let process = fleet.server("stays").process_id;
        let host = fleet.host.clone();
        let waiting = tokio::spawn(async move { host.ready("leaves").await });
        let tag = fleet.launches[0].tag().clone();
        let two = tokio::task::spawn_blocking(move || tag.wait(PATIENCE, |found| found.len() >= 2));
        two.await.unwrap().unwrap();
        assert_eq!(fleet.server("leaves").state, ServerState::Starting);

        let stays = config_of("stays", &fleet.launches[1]);
        within("reload", fleet.host.reload(config([stays]))).await;
        fleet.launches[0].tag().wait_until_gone(PATIENCE).unwrap();
        assert!(matches!(
            within("the start", waiting).await.unwrap(),
            Err(Error::Stopped { .. })
        ));
        let unknown = fleet.host.ready("leaves").await;
        assert!(matches!(unknown, Err(Error::UnknownServer { .. })));
        // What stayed was not touched.
        assert_eq!(fleet.server("stays").process_id, process);
        fleet.echoes("stays").await;
        fleet.finish().await;
    });
}

#[test]
fn a_reload_restarts_what_changed_and_adopts_what_needs_no_restart() {
    guarded(async || {
        let fleet = Fleet::new([("changes", script()), ("adopts", script())]);
        fleet.echoes("changes").await;
        fleet.echoes("adopts").await;
        let before = fleet.server("adopts").process_id;
        let mut changes = config_of("changes", &fleet.launches[0]);
        changes.server.settings.timeouts.call = Duration::from_secs(5);
        let mut adopts = config_of("adopts", &fleet.launches[1]);
        adopts.policy.deny = vec!["echo".into()];
        within("reload", fleet.host.reload(config([changes, adopts]))).await;

        assert_eq!(fleet.server("changes").state, ServerState::Configured);
        fleet.echoes("changes").await;
        assert_eq!(fleet.launches[0].starts().unwrap().len(), 2);
        let denied = fleet.call("adopts/echo", json!({"message": "x"})).await;
        assert!(matches!(denied, Err(Error::Refused { .. })), "{denied:?}");
        assert_eq!(fleet.server("adopts").process_id, before);
        fleet.finish().await;
    });
}

#[test]
fn a_host_that_is_dropped_stops_its_servers() {
    guarded(async || {
        let fleet = Fleet::one(&script());
        fleet.echoes("one").await;
        let Fleet { host, launches } = fleet;
        drop(host);
        for launch in &launches {
            launch.tag().wait_until_gone(PATIENCE).unwrap();
        }
    });
}

#[test]
fn servers_are_added_to_a_host_as_they_are_described_to_the_client() {
    guarded(async || {
        let launches = [script().launch().unwrap(), script().launch().unwrap()];
        let [one, two] = launches.each_ref().map(|launch| {
            let server = Server::stdio(&launch.program, &launch.args);
            let variables = launch.env.iter();
            variables.fold(server, |server, (name, value)| server.env(name, value))
        });
        let misplaced = Server::http("http://127.0.0.1:1/mcp").env("KEY", "value");
        let host = attache_host::Host::builder()
            .server("one", one.identity("described", "7"))
            .server("two", two)
            .server("misplaced", misplaced)
            .start();
        let fleet = Fleet {
            host,
            launches: launches.into(),
        };
        fleet.echoes("one").await;
        fleet.echoes("two").await;
        let config = fleet.host.config("one").unwrap();
        assert_eq!(config.settings().identity.name, "described");
        // It needs a person, so it is not tried again.
        let told = fleet.call("misplaced/echo", json!({})).await.unwrap_err();
        assert!(told.to_string().contains("\"env\""), "{told}");
        assert_eq!(fleet.server("misplaced").state, ServerState::Parked);
        fleet.finish().await;
    });
}
